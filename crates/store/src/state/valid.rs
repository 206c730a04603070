//! What is valid: pages, their deltas and tails.

use frostline_log::LogError;

use crate::StoreError;
use crate::state::State;
use crate::state::room::ChangeUnits;

impl State {
    /// Valid pages.
    pub(crate) fn valid_pages(&self) -> u64 {
        self.volume.log().valid_pages().saturating_sub(self.valid_deltas)
    }

    /// Valid deltas and tails of pages.
    pub(crate) fn valid_deltas(&self) -> u64 {
        self.valid_deltas
    }

    /// A page got a delta or a tail, and had none.
    pub(crate) fn delta_begun(&mut self) {
        self.valid_deltas += 1;
    }

    /// A page has a delta or a tail no more.
    pub(crate) fn delta_ended(&mut self) -> Result<(), StoreError> {
        let left = self.valid_deltas.checked_sub(1);
        let why = || "the map has more deltas than are counted".to_string();
        self.valid_deltas = left.ok_or_else(|| LogError::Image { why: why() })?;
        Ok(())
    }

    /// Units of deltas and tails.
    pub(crate) fn changes(&self) -> ChangeUnits {
        self.changes
    }

    /// The deltas and tails of a page have so many units, and had as many `before`.
    pub(crate) fn changes_changed(&mut self, before: ChangeUnits, after: ChangeUnits) {
        self.changes.update(before, after);
        self.changes = self.changes.at_least_none();
    }
}
