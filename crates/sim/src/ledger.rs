//! Runs of a sweep that are done elsewhere, or were done before.

use crate::{Combination, Outcome};

/// Says which runs of a sweep are to be done, and keeps what comes of them. `()` wants all of them,
/// and keeps nothing.
pub trait Ledger: Sync {
    /// False if the run is none of this sweep's. `cell` counts the runs, volume by volume.
    fn is_wanted(&self, cell: usize) -> bool {
        let _ = cell;
        true
    }

    /// The outcome of a run over a volume that was done before.
    fn known(&self, volume: usize, run: &Combination) -> Option<Outcome> {
        let _ = (volume, run);
        None
    }

    /// A run over a volume is done.
    fn finished(&self, volume: usize, run: &Combination, outcome: &Outcome) {
        let _ = (volume, run, outcome);
    }
}

impl Ledger for () {}
