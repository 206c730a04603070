//! Writers are let in at the pace of cleaning and of checkpoints.

use std::time::Duration;

use crate::engine::inner::{Guard, Inner};
use crate::sync::Instant;
use crate::{Cleaning, StoreError};

/// Free zones above the cleaning threshold at which writers begin to be slowed.
const SLOWER_BEFORE: usize = 3;

impl Inner {
    /// Locks the state for a write or trim of the user, once no group is on its way to the device.
    /// What is left of the metadata log when it is low is for a checkpoint: the notes of users wait
    /// for that.
    pub fn ungrouped(&self) -> Result<Guard<'_>, StoreError> {
        if self.meta_usage.is_low() {
            self.checkpoint_if_due()?;
        }
        let mut state = self.state()?;
        state.check_writable()?;
        while state.chunks.has_group() {
            state = self.wait(state)?;
        }
        Ok(state)
    }

    /// Locks the state for `pages` user writes. As free zones run out, writers are slowed to the
    /// pace at which cleaning frees pages.
    pub fn admit(&self, pages: usize) -> Result<Guard<'_>, StoreError> {
        let mut state = self.ungrouped()?;
        if self.cleaning == Cleaning::Inline {
            return Ok(state);
        }
        let slow = self.layout.fixed.reserve as usize + SLOWER_BEFORE;
        if state.volume.free_zones() < slow {
            let begun = Instant::now();
            let behind = (slow - state.volume.free_zones()) as u32;
            if state.cleaner_sleeps {
                self.wake();
            }
            // The pace of cleaning itself with two zones left, and none at all below.
            let debt = self.counters.pace() * behind * pages as u32 / (slow - 2) as u32;
            if debt > Duration::ZERO {
                drop(state);
                self.counters.pay(debt);
                state = self.ungrouped()?;
            }
            // The last zones are the cleaner's.
            while state.volume.free_zones() < 2 && !state.nothing_to_clean() {
                self.wake();
                drop(self.wait(state)?);
                state = self.ungrouped()?;
            }
            self.counters.stalled(begun.elapsed());
        }
        Ok(state)
    }
}
