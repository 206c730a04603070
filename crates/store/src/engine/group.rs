//! Groups: pages that are durable all together or not at all.
//!
//! All pages of a group are placed under one hold of the lock, so their times follow one another, no
//! sync comes between them, and whatever is durable before or after the group is so for all of it.
//! The chunks name the group until it is known to be durable, and recovery counts its pages.
//! Meanwhile no user writes or trims anything: a page of the group that is superseded could be missed.

use std::collections::BTreeMap;
use std::sync::Arc;

use frostline_log::{LogError, Slot};

use crate::engine::inner::{Guard, Inner};
use crate::format::layout::sure_images;
use crate::format::packing::{PackedPage, following};
use crate::state::State;
use crate::state::chunk::Chunk;
use crate::state::mapped_page::MappedPage;
use crate::{Cleaning, PageWrite, StoreError};

impl Inner {
    /// Writes pages as a group, and makes it durable with everything before. Of a page that is there
    /// more than once the last content counts.
    pub fn write_group(&self, pages: &[PageWrite<'_>]) -> Result<(), StoreError> {
        for write in pages {
            self.check_write(write)?;
        }
        if pages.is_empty() {
            return self.sync();
        }
        let mut newest: BTreeMap<u32, PageWrite<'_>> = BTreeMap::new();
        for &write in pages {
            // An earlier content is not written, so a later one can't be its difference to that.
            let last = PageWrite { changed: None, ..write };
            newest.entry(write.lba).and_modify(|known| *known = last).or_insert(write);
        }
        let sizes = self.layout.sizes;
        let newest: Vec<_> = newest.into_values().collect();
        let pack =
            |(i, write)| PackedPage::of(write, following(&newest, i), sizes, &self.compressor);
        let pages = newest.iter().enumerate().map(pack).collect();
        let (last, outgoing) = self.place_group(pages)?;
        self.write_out(outgoing)?;
        self.make_durable(last)?;
        self.leave(self.state()?)
    }

    /// Pages that a group may have now.
    pub fn group_room(&self) -> Result<u64, StoreError> {
        Ok(self.state()?.group_room())
    }

    /// Places the pages of a group, which has only one of each LBA. Returns the number of the last
    /// chunk, and the chunks that are to be written.
    fn place_group(
        &self,
        pages: Vec<PackedPage<'_>>,
    ) -> Result<(u64, Vec<Arc<Chunk>>), StoreError> {
        loop {
            self.make_room(pages.len())?;
            // No leaf leaves memory while this is held.
            let _leaves_stay = self.lock_checkpointer()?;
            let mut state = self.with_leaves(&pages)?;
            state.check_writable()?;
            if state.chunks.has_group() || state.group_room() < pages.len() as u64 {
                // The lock was let go in between.
                continue;
            }
            state.check_new(&pages)?;
            let placed = state.place_group(pages);
            let outgoing = state.chunks.take_outgoing();
            drop(state);
            // Behind an error pages are missing: nothing more may become durable.
            let last = placed.inspect_err(|error| self.end_writing(error.clone()))?;
            return Ok((last, outgoing));
        }
    }

    /// Waits until a group of this size fits, and cleans for it.
    fn make_room(&self, pages: usize) -> Result<(), StoreError> {
        loop {
            let mut state = self.admit(pages)?;
            let most = state.group_room();
            if pages as u64 <= most {
                return Ok(());
            }
            if !state.volume.cleaning_due() || state.nothing_to_clean() {
                return Err(StoreError::GroupTooLarge { pages: pages as u64, most });
            }
            match self.cleaning {
                Cleaning::Inline => {
                    drop(state);
                    self.clean()?;
                }
                Cleaning::Background => {
                    self.wake();
                    state = self.wait(state)?;
                    drop(state);
                }
            }
        }
    }

    /// Locks the state with the leaves of all these pages in memory.
    fn with_leaves(&self, pages: &[PackedPage<'_>]) -> Result<Guard<'_>, StoreError> {
        let mut state = self.state()?;
        while let Some(absent) =
            pages.iter().find(|page| state.volume.map().position(page.lba).is_none())
        {
            let (leaf, _) = self.layout.leaf.place_in_leaf(absent.lba);
            state = self.load(state, leaf)?;
        }
        Ok(state)
    }
}

impl State {
    /// Pages that a group may have: what fits into the free zones but one, which is cleaning's.
    pub fn group_room(&self) -> u64 {
        let zones = self.volume.free_zones().saturating_sub(1) as u64;
        zones * u64::from(sure_images(&self.layout.fixed, self.layout.sizes))
    }

    /// Checks that the store may hold these pages.
    fn check_new(&self, pages: &[PackedPage<'_>]) -> Result<(), StoreError> {
        let map = self.volume.map();
        let is_new =
            |lba: u32| map.position(lba).is_none_or(|at| map.row(at).entry.slot == Slot::NONE);
        let new = pages.iter().filter(|page| is_new(page.lba)).count() as u64;
        let (valid, slots) = (self.valid_pages(), self.layout.fixed.logical_pages);
        match valid + new > slots {
            true => Err(LogError::Full { valid, slots }.into()),
            false => self.check_pages(pages.len()),
        }
    }

    /// Places the pages of a group, and seals all chunks. Returns the number of the last one.
    fn place_group(&mut self, pages: Vec<PackedPage<'_>>) -> Result<u64, StoreError> {
        self.chunks.begin_group(self.time(), pages.len() as u32);
        for write in pages {
            let mapped = MappedPage::of(&mut *self, write.lba.into());
            let Ok(mut page) = mapped else { unreachable!("its leaf is in memory") };
            page.write(write)?;
        }
        Ok(self.sync())
    }
}
