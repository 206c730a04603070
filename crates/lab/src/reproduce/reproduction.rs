//! The size at which evaluations are done, and what of them is wanted.

use std::path::PathBuf;

use super::inputs::{Input, Workload};
use super::scale::Scale;

/// The size at which evaluations are done, and their seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Reproduction {
    /// Size of the databases and length of the runs, more than 0. At 1 there are four warehouses of
    /// TPC-C and 400 MiB of YCSB.
    pub scale: f64,
    /// Seed of all chance.
    pub seed: u64,
    /// Measure times, too. Without them, equal runs give equal tables.
    pub timing: bool,
    /// Traces on which experiments run beside their own.
    pub traces: Vec<PathBuf>,
    /// The experiments that are wanted; all if empty.
    pub only: Vec<String>,
}

impl Reproduction {
    /// The benches whose page writes are recorded and replayed.
    pub fn inputs(&self) -> Vec<Input> {
        let input = |workload| Input::recorded(workload, Scale(self.scale), self.seed);
        Workload::ALL.into_iter().map(input).collect()
    }
}
