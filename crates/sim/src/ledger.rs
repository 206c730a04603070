//! A ledger of a sweep's runs: some are done elsewhere, some were done before.

use crate::{Combination, Outcome};

/// A run of a sweep.
#[derive(Clone, Copy, Debug)]
pub struct Cell<'a> {
    /// The number of its settings.
    pub settings: usize,
    /// The number of its volume.
    pub volume: usize,
    /// The scheme with its victim policy.
    pub run: &'a Combination,
}

/// Decides which runs of a sweep are to be done, and keeps their outcomes. `()` wants all runs, and
/// keeps nothing.
pub trait Ledger: Sync {
    /// False if the run is not part of this sweep. `number` counts the runs, settings by settings
    /// and volume by volume.
    fn is_wanted(&self, number: usize) -> bool {
        let _ = number;
        true
    }

    /// The outcome of a run, if it was done before.
    fn known(&self, cell: Cell<'_>) -> Option<Outcome> {
        let _ = cell;
        None
    }

    /// Takes the outcome of a run that has just been done.
    fn finished(&self, cell: Cell<'_>, outcome: &Outcome) {
        let _ = (cell, outcome);
    }
}

impl Ledger for () {}
