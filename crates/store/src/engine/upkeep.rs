//! Upkeep decides what is due: cleaning, a checkpoint, a smaller map. Nothing else does.
//!
//! Each operation of a user is followed by upkeep. With [`Cleaning::Inline`] the user's thread then
//! does what is due; otherwise it wakes the store's own threads.

use std::sync::Arc;

use frostline_log::ZoneImage;

use crate::engine::checkpointer::Checkpointer;
use crate::engine::cleaner::{self, Cleaner};
use crate::engine::core::Core;
use crate::engine::map_loader::MapLoader;
use crate::engine::metadata::Metadata;
use crate::state::State;
use crate::sync::Instant;
use crate::{Cleaning, Open, StoreError};

/// A store that is closed cleans open zones of which less than one in so many pages is valid,
const LITTLE: u32 = 8;

/// unless no more pages than these were written to them.
const WORTH_TIDYING: u32 = 16;

/// Does what is due.
pub(crate) struct Upkeep {
    core: Arc<Core>,
    metadata: Arc<Metadata>,
    loader: Arc<MapLoader>,
    cleaner: Arc<Cleaner>,
    checkpointer: Arc<Checkpointer>,
    cleaning: Cleaning,
    /// Pages placed between two checkpoints, at most.
    checkpoint_writes: u64,
    /// True if the map may take less memory than it can.
    is_map_bounded: bool,
}

impl Upkeep {
    /// The upkeep of a store that is opened with these options.
    pub(crate) fn new(
        core: Arc<Core>,
        metadata: Arc<Metadata>,
        loader: Arc<MapLoader>,
        cleaner: Arc<Cleaner>,
        checkpointer: Arc<Checkpointer>,
        open: &Open,
    ) -> Self {
        let layout = &core.layout;
        // Recovery has the leaves of what was written since in memory.
        let most_leaves = (open.map_bytes / layout.leaf.images()).max(64) as u64;
        let checkpoint_writes = layout.fixed.checkpoint_writes.min(most_leaves);
        let is_map_bounded = open.map_bytes < layout.most_map_bytes();
        let cleaning = open.cleaning;
        Upkeep {
            core,
            metadata,
            loader,
            cleaner,
            checkpointer,
            cleaning,
            checkpoint_writes,
            is_map_bounded,
        }
    }

    /// Before a write or trim of a user. What is left of the metadata log when it is low is for a
    /// checkpoint: the notes of users wait for that.
    pub(crate) fn before_write(&self) -> Result<(), StoreError> {
        if self.metadata.usage().is_low() { self.checkpoint_if_due() } else { Ok(()) }
    }

    /// After a write of a user, whether it succeeded or not.
    pub(crate) fn after_write<T>(&self, written: Result<T, StoreError>) -> Result<T, StoreError> {
        let cleaned = match self.cleaning {
            Cleaning::Inline => self.clean_while_due(),
            Cleaning::Background => Ok(()),
        };
        let kept = cleaned.and_then(|()| self.after_trim());
        written.and_then(|written| kept.map(|()| written))
    }

    /// After a trim of a user.
    pub(crate) fn after_trim(&self) -> Result<(), StoreError> {
        match self.cleaning {
            Cleaning::Inline => self.checkpoint_if_due()?,
            Cleaning::Background => {
                let state = self.core.state()?;
                let cleans = state.cleaner_sleeps() && state.log().cleaning_due();
                if cleans || self.is_checkpoint_due(&state) {
                    drop(state);
                    self.core.wake();
                }
            }
        }
        self.shrink_map()
    }

    fn clean_while_due(&self) -> Result<(), StoreError> {
        while self.core.state()?.log().cleaning_due() && self.clean()? {}
        Ok(())
    }

    /// Cleans, or waits for that, so that a group of so many pages may fit.
    pub(crate) fn make_room(&self, pages: usize) -> Result<(), StoreError> {
        let state = self.core.state()?;
        let (pages, most) = (pages as u64, state.group_room());
        if pages <= most {
            return Ok(());
        }
        if !state.log().cleaning_due() || state.nothing_to_clean() {
            return Err(StoreError::GroupTooLarge { pages, most });
        }
        match self.cleaning {
            Cleaning::Inline => {
                drop(state);
                self.clean().map(drop)
            }
            Cleaning::Background => {
                self.core.wake();
                self.core.wait(state).map(drop)
            }
        }
    }

    /// Cleans once: the victims of one choice. False if there are none.
    pub(crate) fn clean(&self) -> Result<bool, StoreError> {
        let cleaning = self.cleaner.lock()?;
        let all = || {
            let victims = self.cleaner.choose(&cleaning)?;
            victims.iter().try_for_each(|&zone| self.clean_zone(&cleaning, zone))?;
            Ok(!victims.is_empty())
        };
        let cleaned = all().inspect_err(|error| self.core.end_writing(error))?;
        self.core.changed();
        Ok(cleaned)
    }

    /// Copies all pages of a zone of the device elsewhere.
    pub(crate) fn move_away(&self, device_zone: u32) -> Result<(), StoreError> {
        // There must be room for the pages of a zone.
        while self.clean()? {}
        let cleaning = self.cleaner.lock()?;
        if let Some(zone) = self.cleaner.end_zone(&cleaning, device_zone)? {
            let cleaned = self.clean_zone(&cleaning, zone);
            cleaned.inspect_err(|error| self.core.end_writing(error))?;
            self.core.changed();
        }
        Ok(())
    }

    /// Before a store is closed: cleans open zones that hold little but garbage. No policy chooses
    /// an open zone, so they would be most of what an emptied store takes.
    pub(crate) fn tidy(&self) -> Result<(), StoreError> {
        let layout = &self.core.layout;
        let state = self.core.state()?;
        let least = WORTH_TIDYING * layout.sizes.page_units();
        let is_little = |image: &&ZoneImage| {
            image.sealed_at.is_none() && image.used > least && image.valid() < image.used / LITTLE
        };
        let images = state.log().images();
        let little = images.iter().filter(is_little);
        let zones: Vec<_> = little.map(|image| state.zones().get(image.zone).device_zone).collect();
        // The valid pages of each may need another zone.
        let has_room = state.log().free_zones() > layout.fixed.reserve as usize + zones.len();
        drop(state);
        if zones.is_empty() || !has_room {
            return Ok(());
        }
        zones.into_iter().try_for_each(|zone| self.move_away(zone))?;
        let _cleaning = self.cleaner.lock()?;
        self.cleaner.reset_pending().inspect_err(|error| self.core.end_writing(error))
    }

    /// Cleans a zone. The pages of each chunk may bring leaves of the map into memory.
    fn clean_zone(&self, cleaning: &cleaner::Cleaning<'_>, zone: u32) -> Result<(), StoreError> {
        let mut victim = self.cleaner.open(cleaning, zone)?;
        self.shrink_map()?;
        while self.cleaner.copy_next(&mut victim)? {
            self.shrink_map()?;
        }
        self.cleaner.release(victim)
    }

    /// Writes a checkpoint if one is due.
    fn checkpoint_if_due(&self) -> Result<(), StoreError> {
        if !self.is_checkpoint_due(&*self.core.state()?) {
            return Ok(());
        }
        let leaves = self.loader.hold()?;
        // The thread that held them may have written it.
        let is_due = self.is_checkpoint_due(&*self.core.state()?);
        if is_due { self.checkpointer.write(&leaves, false) } else { Ok(()) }
    }

    fn is_checkpoint_due(&self, state: &State) -> bool {
        state.checkpoints().is_due(self.checkpoint_writes) || self.metadata.usage().is_low()
    }

    /// Keeps the map within its memory.
    pub(crate) fn shrink_map(&self) -> Result<(), StoreError> {
        if !self.is_map_bounded {
            return Ok(());
        }
        // The thread that holds them is writing leaves, and comes by here afterwards.
        let Some(leaves) = self.loader.try_hold() else { return Ok(()) };
        while self.loader.is_map_large(&*self.core.state()?) {
            if self.metadata.usage().is_low() {
                // The rest of the metadata log is for a checkpoint.
                drop(leaves);
                return self.checkpoint_if_due();
            }
            if !self.loader.evict(&leaves)? {
                break;
            }
        }
        Ok(())
    }

    /// Cleans whenever that is due, until the store ends.
    pub(crate) fn run_cleaner(&self) -> Result<(), StoreError> {
        let core = &self.core;
        loop {
            let mut state = core.state()?;
            while !state.has_ended() && (!state.log().cleaning_due() || state.nothing_to_clean()) {
                state.set_cleaner_sleeps(true);
                state = core.sleep(state)?;
                state.set_cleaner_sleeps(false);
            }
            if state.has_ended() {
                return Ok(());
            }
            let before = state.log().free_zones();
            drop(state);
            let begun = Instant::now();
            let cleaned = self.clean()?;
            let freed = core.state()?.log().free_zones().saturating_sub(before) as u32;
            if cleaned {
                let zone_pages = core.layout.fixed.zone_pages;
                let pages = freed.saturating_mul(zone_pages).max(zone_pages / 8).max(1);
                core.counters.set_pace(begun.elapsed() / pages);
            }
        }
    }

    /// Writes a checkpoint whenever one is due, until the store ends.
    pub(crate) fn run_checkpointer(&self) -> Result<(), StoreError> {
        loop {
            let mut state = self.core.state()?;
            while !state.has_ended() && !self.is_checkpoint_due(&state) {
                state = self.core.sleep(state)?;
            }
            if state.has_ended() {
                return Ok(());
            }
            drop(state);
            self.checkpoint_if_due()?;
        }
    }
}
