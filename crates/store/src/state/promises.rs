//! The room that engines were promised.

use std::collections::BTreeMap;

/// Pages that engines have yet to write, by the numbers of the engines.
#[derive(Default)]
pub(crate) struct Promises(BTreeMap<u32, u64>);

impl Promises {
    /// Replaces what an engine was promised.
    pub(crate) fn make(&mut self, engine: u32, pages: u64) {
        self.0.insert(engine, pages);
    }

    /// Pages of all engines but this one.
    pub(crate) fn of_others(&self, engine: u32) -> u64 {
        self.0.iter().filter(|&(&other, _)| other != engine).map(|(_, pages)| pages).sum()
    }
}
