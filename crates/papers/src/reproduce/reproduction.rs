//! The size of evaluations, and the selection of their experiments.

use std::path::PathBuf;

use super::inputs::{Input, Workload};
use super::scale::Scale;

/// The size of evaluations, their seed, and the wanted experiments.
#[derive(Clone, Debug, PartialEq)]
pub struct Reproduction {
    /// The scale of databases and runs, more than 0. At 1 there are four warehouses of TPC-C and
    /// 400 MiB of YCSB.
    pub scale: f64,
    /// Seed of all random choices.
    pub seed: u64,
    /// True to measure times, too. Without times, equal runs give equal tables.
    pub timing: bool,
    /// Traces for experiments in addition to their own.
    pub traces: Vec<PathBuf>,
    /// The names of the wanted experiments; all if empty.
    pub only: Vec<String>,
}

impl Reproduction {
    /// The benches whose page writes are recorded and replayed.
    pub fn inputs(&self) -> Vec<Input> {
        let input = |workload| Input::recorded(workload, Scale(self.scale), self.seed);
        Workload::ALL.into_iter().map(input).collect()
    }
}
