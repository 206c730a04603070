//! Numbers that engines keep with the store: the position up to which a log of theirs is durable,
//! say.

use std::collections::BTreeMap;

use crate::format::Mark;

/// The marks of all engines.
#[derive(Default)]
pub(crate) struct Marks {
    values: BTreeMap<u32, u64>,
    last: (u32, u64),
}

impl Marks {
    /// The marks that recovery found.
    pub(crate) fn found(values: BTreeMap<u32, u64>) -> Self {
        Marks { values, last: (0, 0) }
    }

    /// An engine's mark: the largest value that it was set to, 0 if it never was.
    pub(crate) fn get(&self, slot: u32) -> u64 {
        self.values.get(&slot).copied().unwrap_or_default()
    }

    /// The mark that was set last: its number and value. Headers of chunks have it.
    pub(crate) fn last(&self) -> (u32, u64) {
        self.last
    }

    /// Sets a mark, unless it is larger.
    pub(crate) fn set(&mut self, slot: u32, value: u64) {
        let mark = self.values.entry(slot).or_default();
        *mark = value.max(*mark);
        self.last = (slot, *mark);
    }

    /// All marks, as a checkpoint has them.
    pub(crate) fn all(&self) -> Vec<Mark> {
        let mark = |(&slot, &value)| Mark { value, slot, unused: 0 };
        self.values.iter().map(mark).collect()
    }
}
