//! Writers are let in at the pace of cleaning.

use std::time::Duration;

use super::Writer;
use crate::engine::core::Guard;
use crate::sync::Instant;
use crate::{Cleaning, StoreError};

/// Free zones above the cleaning threshold at which writers begin to be slowed.
const SLOWER_BEFORE: usize = 3;

impl Writer {
    /// Locks the state for a write or trim of the user, once no group is on its way to the device.
    pub(super) fn ungrouped(&self) -> Result<Guard<'_>, StoreError> {
        let mut state = self.core.state()?;
        state.check_writable()?;
        while state.chunks().has_group() {
            state = self.core.wait(state)?;
        }
        Ok(state)
    }

    /// Locks the state for `pages` user writes. As free zones run out, writers are slowed to the
    /// pace at which cleaning frees pages.
    pub(super) fn admit(&self, pages: usize) -> Result<Guard<'_>, StoreError> {
        let mut state = self.ungrouped()?;
        if self.cleaning == Cleaning::Inline {
            return Ok(state);
        }
        let (core, counters) = (&self.core, &self.core.counters);
        let slow = core.layout.fixed.reserve as usize + SLOWER_BEFORE;
        if state.log().free_zones() < slow {
            let begun = Instant::now();
            let behind = (slow - state.log().free_zones()) as u32;
            if state.cleaner_sleeps() {
                core.wake();
            }
            // The pace of cleaning itself with two zones left, and none at all below.
            let debt = counters.pace() * behind * pages as u32 / (slow - 2) as u32;
            if debt > Duration::ZERO {
                drop(state);
                counters.pay(debt);
                state = self.ungrouped()?;
            }
            // The last zones are the cleaner's.
            while state.log().free_zones() < 2 && !state.nothing_to_clean() {
                core.wake();
                drop(core.wait(state)?);
                state = self.ungrouped()?;
            }
            counters.stalled(begun.elapsed());
        }
        Ok(state)
    }
}
