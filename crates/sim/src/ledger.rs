//! A ledger of a sweep's runs: some are done elsewhere, some were done before.

use crate::{Combination, Outcome};

/// Decides which runs of a sweep are to be done, and keeps their outcomes. `()` wants all runs, and
/// keeps nothing.
pub trait Ledger: Sync {
    /// False if the run is not part of this sweep. `cell` numbers the runs, volume by volume.
    fn is_wanted(&self, cell: usize) -> bool {
        let _ = cell;
        true
    }

    /// The outcome of a run over a volume, if it was done before.
    fn known(&self, volume: usize, run: &Combination) -> Option<Outcome> {
        let _ = (volume, run);
        None
    }

    /// Takes the outcome of a run over a volume that has just been done.
    fn finished(&self, volume: usize, run: &Combination, outcome: &Outcome) {
        let _ = (volume, run, outcome);
    }
}

impl Ledger for () {}
