//! The way in which samples are taken, as a model's file records it.

use serde::{Deserialize, Serialize};

/// The samples that a model is evaluated on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SampleSplit {
    /// All samples; none are left for training.
    All,
    /// One in four at random, as in the paper. It favours models: in training they have seen what
    /// comes after the samples that they are evaluated on.
    Random,
    /// The samples of the last quarter of the trace. A model is trained on the rest, with only the
    /// knowledge that exists when the last quarter begins.
    Time,
}

/// The way in which samples are taken.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sampling {
    /// The samples that a model is evaluated on.
    pub split: SampleSplit,
    /// The share of the trace, from 0 to below 1, that must still follow a sample for it to count:
    /// shortly before the end of the trace every page seems frozen, but its fate is unknown.
    pub horizon: f64,
    /// The age in user writes at which a page is sampled if it is still valid, and again whenever
    /// its age has doubled, as cleaning would meet it; 0 to sample it once, when it is written.
    pub age: u32,
    /// The most samples for training; a third of it is the most for evaluation. If there are more,
    /// these are chosen at random.
    pub most: usize,
    /// Seed of all random choices.
    pub seed: u64,
}

impl Default for Sampling {
    fn default() -> Self {
        Sampling { split: SampleSplit::Random, horizon: 0.1, age: 0, most: 3_000_000, seed: 1 }
    }
}
