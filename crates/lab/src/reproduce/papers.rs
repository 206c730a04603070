//! The papers whose evaluations can be done again.

use super::inputs::{Input, Workload};
use super::report::PaperReport;
use super::scale::Scale;
use super::sepfrozen;
use super::tables::Table;
use crate::Result;
use crate::monitor::Monitor;

/// All of them, in the order in which they are listed.
pub static PAPERS: &[Paper] = &[sepfrozen::PAPER];

/// A paper whose evaluation can be done again.
#[derive(Debug)]
pub struct Paper {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its authors and its name, as in the report.
    pub title: &'static str,
    /// The idea of the paper, in a line.
    pub about: &'static str,
    /// Does the evaluation: a table for each of its figures.
    pub(super) tables: fn(&Reproduction, &dyn Monitor) -> Result<Vec<Table>>,
}

impl Paper {
    /// Does the evaluation again.
    ///
    /// # Errors
    /// [`Error::Stopped`](crate::Error::Stopped); what a bench, a replay or a model failed with.
    pub fn run(&self, how: &Reproduction, monitor: &dyn Monitor) -> Result<PaperReport> {
        Ok(PaperReport {
            frostline: env!("CARGO_PKG_VERSION"),
            paper: self.title,
            scale: how.scale,
            seed: how.seed,
            tables: (self.tables)(how, monitor)?,
        })
    }
}

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
}

impl Reproduction {
    /// The benches whose page writes are recorded and replayed.
    pub fn inputs(&self) -> Vec<Input> {
        let input = |workload| Input::recorded(workload, Scale(self.scale), self.seed);
        Workload::ALL.into_iter().map(input).collect()
    }
}
