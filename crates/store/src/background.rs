//! The store's own threads, and how writers are slowed to the pace of cleaning.

use std::time::Duration;

use crate::inner::{Guard, Inner};
use crate::sync::Instant;
use crate::{Cleaning, StoreError};

/// Writers are slowed with so many zones more than those below which the store is cleaned.
const SLOWER_BEFORE: usize = 3;

impl Inner {
    /// Locks the state for `pages` user writes. As free zones run out, writers are slowed to the
    /// pace at which cleaning frees pages.
    pub fn admit(&self, pages: usize) -> Result<Guard<'_>, StoreError> {
        let mut state = self.state()?;
        if let Some(error) = &state.failed {
            return Err(StoreError::Failed(Box::new(error.clone())));
        }
        if self.cleaning == Cleaning::Inline {
            return Ok(state);
        }
        let slow = self.layout.fixed.reserve as usize + SLOWER_BEFORE;
        if state.placer.free_zones() < slow {
            let begun = Instant::now();
            let behind = (slow - state.placer.free_zones()) as u32;
            if state.cleaner_sleeps {
                self.wake();
            }
            // The pace of cleaning itself with two zones left, and none at all below.
            let debt = self.counters.pace() * behind * pages as u32 / (slow - 2) as u32;
            if debt > Duration::ZERO {
                drop(state);
                self.counters.pay(debt);
                state = self.state()?;
            }
            // The last zones are the cleaner's.
            while state.placer.free_zones() < 2 && state.stuck != Some(state.time) {
                self.wake();
                state = self.wait(state)?;
            }
            self.counters.stalled(begun.elapsed());
        }
        Ok(state)
    }

    /// The cleaner's life.
    pub fn clean_always(&self) -> Result<(), StoreError> {
        loop {
            let mut state = self.state()?;
            while !(state.closing || state.failed.is_some())
                && (!state.placer.cleaning_due() || state.stuck == Some(state.time))
            {
                state.cleaner_sleeps = true;
                state = self.sleep(state)?;
                state.cleaner_sleeps = false;
            }
            if state.closing || state.failed.is_some() {
                return Ok(());
            }
            let before = state.placer.free_zones();
            drop(state);
            let begun = Instant::now();
            let cleaned = self.clean()?;
            let state = self.state()?;
            let zone_pages = self.layout.fixed.zone_pages;
            let freed = (state.placer.free_zones().saturating_sub(before)) as u32 * zone_pages;
            drop(state);
            if cleaned {
                self.counters.set_pace(begun.elapsed() / freed.max(zone_pages / 8).max(1));
            }
        }
    }

    /// The keeper's life.
    pub fn keep_always(&self) -> Result<(), StoreError> {
        loop {
            let mut state = self.state()?;
            while !(state.closing || state.failed.is_some() || self.is_checkpoint_due(&state)) {
                state = self.sleep(state)?;
            }
            if state.closing || state.failed.is_some() {
                return Ok(());
            }
            drop(state);
            self.checkpoint()?;
        }
    }
}
