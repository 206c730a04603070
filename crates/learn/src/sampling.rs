//! The way in which samples are taken; a model's file says it.

use serde::{Deserialize, Serialize};

/// The samples that a model is evaluated on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Split {
    /// All of them; there are none to train on.
    All,
    /// One in four by chance, as in the paper. It is kind to models: they have seen what comes
    /// after the samples that they are evaluated on.
    Random,
    /// Those from the last quarter of the trace. A model is trained on the rest, of which
    /// it sees only what is known when the last quarter begins.
    Time,
}

/// The way in which samples are taken.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sampling {
    /// The samples that a model is evaluated on.
    pub split: Split,
    /// The share of the trace, from 0 to below 1, that must still follow a sample for it to count:
    /// a page looked at shortly before the end seems frozen, but its fate is unknown.
    pub horizon: f64,
    /// The age in user writes at which a page is looked at, if it is still valid then, and again
    /// whenever that has doubled, as by cleaning; 0 to look once, when it is written.
    pub age: u32,
    /// The most samples to train on; a third of it is the most to evaluate on. Of more, these are
    /// chosen by chance.
    pub most: usize,
    /// Seed of all chance.
    pub seed: u64,
}

impl Default for Sampling {
    fn default() -> Self {
        Sampling { split: Split::Random, horizon: 0.1, age: 0, most: 3_000_000, seed: 1 }
    }
}
