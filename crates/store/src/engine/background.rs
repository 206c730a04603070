//! The store's own threads.

use crate::StoreError;
use crate::engine::inner::Inner;
use crate::sync::Instant;

impl Inner {
    /// Cleans whenever that is due, until the store ends.
    pub fn run_cleaner(&self) -> Result<(), StoreError> {
        loop {
            let mut state = self.state()?;
            while !state.has_ended() && (!state.volume.cleaning_due() || state.nothing_to_clean()) {
                state.cleaner_sleeps = true;
                state = self.sleep(state)?;
                state.cleaner_sleeps = false;
            }
            if state.has_ended() {
                return Ok(());
            }
            let before = state.volume.free_zones();
            drop(state);
            let begun = Instant::now();
            let cleaned = self.clean()?;
            let state = self.state()?;
            let zone_pages = self.layout.fixed.zone_pages;
            let freed = state.volume.free_zones().saturating_sub(before) as u32;
            let freed = freed.saturating_mul(zone_pages);
            drop(state);
            if cleaned {
                self.counters.set_pace(begun.elapsed() / freed.max(zone_pages / 8).max(1));
            }
        }
    }

    /// Writes a checkpoint whenever one is due, until the store ends.
    pub fn run_checkpointer(&self) -> Result<(), StoreError> {
        loop {
            let mut state = self.state()?;
            while !state.has_ended() && !self.is_checkpoint_due(&state) {
                state = self.sleep(state)?;
            }
            if state.has_ended() {
                return Ok(());
            }
            drop(state);
            self.checkpoint_if_due()?;
        }
    }
}
