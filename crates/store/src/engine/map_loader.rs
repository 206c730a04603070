//! Leaves of the map come into memory as their pages are used, and leave it when the map takes more
//! than it may.

use std::ops::Range;
use std::sync::Arc;

use frostline_log::{Extent, Map};
use frostline_placement::Scheme;
use frostline_zone::{AlignedBuf, DeviceError};

use crate::StoreError;
use crate::engine::core::{Core, Guard, lock};
use crate::engine::meta::MetaLog;
use crate::engine::metadata::Metadata;
use crate::format::LeafAt;
use crate::format::leaf::Leaf;
use crate::state::State;
use crate::state::map_cache::{Evicted, MapCache, MappedRecord, Position};
use crate::state::mapped_page::MappedPage;
use crate::sync::{Mutex, MutexGuard};

/// Loads leaves of the map, and drops them.
pub(crate) struct MapLoader {
    core: Arc<Core>,
    metadata: Arc<Metadata>,
    /// Bytes of the map that may be in memory.
    most_bytes: usize,
    /// Locked before the metadata log.
    leaves: Mutex<()>,
}

/// Held by the thread that writes leaves of the map, or needs them to stay in memory: no leaf that
/// changed leaves it meanwhile.
pub(crate) struct LeavesStay<'a>(
    #[expect(dead_code, reason = "dropped with it")] MutexGuard<'a, ()>,
);

impl MapLoader {
    /// Loads leaves of a map that may take so many bytes of memory.
    pub(crate) fn new(core: Arc<Core>, metadata: Arc<Metadata>, most_bytes: usize) -> Self {
        MapLoader { core, metadata, most_bytes, leaves: Mutex::new(()) }
    }

    /// Keeps leaves in memory.
    pub(crate) fn hold(&self) -> Result<LeavesStay<'_>, StoreError> {
        lock(&self.leaves).map(LeavesStay)
    }

    /// The same, unless another thread does.
    pub(crate) fn try_hold(&self) -> Option<LeavesStay<'_>> {
        self.leaves.try_lock().ok().map(LeavesStay)
    }

    /// A page with its entry of the map. The lock is let go while the leaf is read, if it is not in
    /// memory.
    pub(crate) fn mapped<'a>(
        &'a self,
        mut state: Guard<'a>,
        lba: impl Into<u64>,
    ) -> Result<MappedPage<Guard<'a>>, StoreError> {
        let lba = lba.into();
        loop {
            state = match MappedPage::of(state, lba) {
                Ok(page) => return Ok(page),
                Err(state) => {
                    let (leaf, _) =
                        self.core.layout.leaf.place_in_leaf(self.core.layout.sizes.page_of(lba));
                    self.load(state, leaf)?
                }
            };
        }
    }

    /// The page of an LBA at a position that was found before, which saves a look-up if its leaf
    /// stayed in memory.
    pub(crate) fn mapped_again<'a>(
        &'a self,
        state: Guard<'a>,
        lba: u64,
        at: Position,
    ) -> Result<MappedPage<Guard<'a>>, StoreError> {
        match MappedPage::again(state, lba, at) {
            Ok(page) => Ok(page),
            Err(state) => self.mapped(state, lba),
        }
    }

    /// Calls `visit` with the page of each item, which come in ascending order. Leaves that it does
    /// not change leave memory behind it, as far as the map must take less.
    pub(crate) fn each_mapped<T>(
        &self,
        items: impl Iterator<Item = T>,
        page: impl Fn(&T) -> u32,
        mut visit: impl FnMut(&mut MappedPage<Guard<'_>>, T),
    ) -> Result<(), StoreError> {
        let (mut state, mut last) = (self.core.state()?, None);
        for item in items {
            let page = page(&item);
            let leaf = Some(self.core.layout.leaf.place_in_leaf(page).0);
            if leaf != last {
                drop(state);
                self.drop_clean_leaves()?;
                (state, last) = (self.core.state()?, leaf);
            }
            let mut mapped = self.mapped(state, page)?;
            visit(&mut mapped, item);
            state = mapped.into_state();
        }
        drop(state);
        self.drop_clean_leaves()
    }

    /// Locks the state with the leaves of all these pages in memory.
    pub(crate) fn with_leaves(
        &self,
        _: &LeavesStay<'_>,
        pages: impl Iterator<Item = u32> + Clone,
    ) -> Result<Guard<'_>, StoreError> {
        let mut state = self.core.state()?;
        while let Some(absent) = pages.clone().find(|&page| state.map().position(page).is_none()) {
            let (leaf, _) = self.core.layout.leaf.place_in_leaf(absent);
            state = self.load(state, leaf)?;
        }
        Ok(state)
    }

    /// The first leaf from this one on that lies on the device or is in memory.
    pub(crate) fn next_leaf(&self, from: u32) -> Result<Option<u32>, StoreError> {
        Ok(self.core.state()?.map().next_leaf(from))
    }

    /// Reads a leaf that is not in memory. It may still not be there afterwards: another thread may
    /// have written it elsewhere meanwhile.
    fn load<'a>(&'a self, mut state: Guard<'a>, leaf: u32) -> Result<Guard<'a>, StoreError> {
        let at = state.map().at(leaf);
        let bytes = match at.page {
            0 => None,
            _ => {
                drop(state);
                let read = self.read_leaf(leaf, at);
                state = self.core.state()?;
                if state.map().has(leaf) || state.map().at(leaf) != at {
                    return Ok(state);
                }
                Some(self.check_leaf(&state, leaf, read?)?)
            }
        };
        let now = state.time();
        let (scheme, map) = state.scheme_and_map();
        map.insert(leaf, bytes, now, |page, at| scheme.clamp(page, at));
        Ok(state)
    }

    /// The records whose places a leaf has: the LBA, the place and the sum of each. The place of
    /// one whose content is lost is in zone 0.
    pub(crate) fn records_of_leaf(&self, leaf: u32) -> Result<Vec<(u64, Extent, u32)>, StoreError> {
        self.look_into(leaf, |map, bytes| {
            let of_record =
                |MappedRecord { lba, slot, units, sum }| (lba, Extent { slot, units }, sum);
            map.records(leaf, bytes).map(of_record).collect()
        })
    }

    /// Leaves from one on up to before another, and how many pages each has, if that is known. None
    /// is read.
    pub(crate) fn counts(&self, leaves: Range<u32>) -> Result<Vec<(u32, Option<u32>)>, StoreError> {
        let state = self.core.state()?;
        let counts = state.map().counts_from(leaves.start);
        Ok(counts.take_while(|(leaf, _)| *leaf < leaves.end).collect())
    }

    /// The pages that a leaf has, in order.
    pub(crate) fn pages_of_leaf(&self, leaf: u32) -> Result<Vec<u32>, StoreError> {
        self.look_into(leaf, |map, bytes| map.pages(leaf, bytes).collect())
    }

    /// Calls `look` with a leaf. A leaf that is not in memory is read, and does not stay there: most
    /// walks over the map need a leaf once.
    fn look_into<T: Default>(
        &self,
        leaf: u32,
        look: impl Fn(&MapCache, &Leaf) -> T,
    ) -> Result<T, StoreError> {
        loop {
            let state = self.core.state()?;
            let (map, at) = (state.map(), state.map().at(leaf));
            match map.get(leaf) {
                Some(bytes) => return Ok(look(map, bytes)),
                None if at.page == 0 => return Ok(T::default()),
                None => drop(state),
            }
            let read = self.read_leaf(leaf, at);
            let state = self.core.state()?;
            // It may have been loaded, or written elsewhere, meanwhile.
            if !state.map().has(leaf) && state.map().at(leaf) == at {
                return Ok(look(state.map(), &self.check_leaf(&state, leaf, read?)?));
            }
        }
    }

    /// The leaf that was read, unless it has places that no record can have.
    fn check_leaf(&self, state: &State, leaf: u32, bytes: AlignedBuf) -> Result<Leaf, StoreError> {
        let (zones, zone_units) = (state.zones().len(), self.core.layout.zone_units());
        let (map, most) = (state.map(), self.core.layout.sizes.page_units());
        let is_possible = |MappedRecord { lba, slot, units, .. }| {
            lba < map.space()
                && (slot.zone == 0
                    || (slot.zone as usize) < zones
                        && (1..=most).contains(&units)
                        && slot.offset.saturating_add(units) <= zone_units)
        };
        let read = map.leaf_of_pages(&bytes);
        let read = read.filter(|read| map.records(leaf, read).all(is_possible));
        let at = map.at(leaf);
        let why = "has places that no record can have";
        let read = read.ok_or_else(|| self.damaged_leaf(leaf, at, why))?;
        let count = map.pages(leaf, &read).count() as u32;
        let has_all = at.count().is_none_or(|expected| count == expected);
        let why = "has other pages than the table counts";
        has_all.then_some(read).ok_or_else(|| self.damaged_leaf(leaf, at, why))
    }

    /// Reads a leaf from the metadata log.
    pub(crate) fn read_leaf(&self, leaf: u32, at: LeafAt) -> Result<AlignedBuf, StoreError> {
        let pages = usize::from(at.pages).min(self.core.layout.leaf.most_pages());
        let sound = |bytes: &[u8]| crc32c::crc32c(bytes) == at.sum;
        match MetaLog::read(&*self.core.device, &self.core.layout, at.page, pages, &sound) {
            Ok(bytes) if sound(&bytes) => return Ok(bytes),
            Ok(_) => {}
            // The zone lost its end.
            Err(StoreError::Device(error))
                if matches!(*error, DeviceError::ReadBeyondPointer { .. }) => {}
            Err(error) => return Err(error),
        }
        Err(self.damaged_leaf(leaf, at, "is not what was written there"))
    }

    /// The error of a leaf that is not what it should be.
    pub(crate) fn damaged_leaf(&self, leaf: u32, at: LeafAt, what: &str) -> StoreError {
        let capacity = self.core.layout.fixed.device_pages;
        let zone = self.core.layout.meta[(at.page / capacity) as usize];
        let why = format!("a leaf of the map {what}; {}", self.core.layout.leaf.tells(leaf));
        StoreError::Damaged { zone, page: at.page % capacity, why }
    }

    /// True if leaves are to leave memory. One may always stay.
    pub(crate) fn is_map_large(&self, state: &State) -> bool {
        let map = state.map();
        map.resident_bytes() > self.most_bytes && map.resident() > 1
    }

    /// Drops a leaf, which is written first if it changed. False if all are in use.
    pub(crate) fn evict(&self, _: &LeavesStay<'_>) -> Result<bool, StoreError> {
        let mut state = self.core.state()?;
        let time = state.time();
        match state.map_mut().evict() {
            Evicted::Gone => Ok(true),
            Evicted::Nothing => Ok(false),
            Evicted::Changed(leaf, image) => {
                drop(state);
                let written = self.metadata.write_leaves(&mut std::iter::once((leaf, image)), time);
                let places = written.map_err(|error| self.core.fail(error))?;
                let mut state = self.core.state()?;
                for (leaf, at) in places {
                    state.map_mut().written(leaf, at);
                }
                Ok(true)
            }
        }
    }

    /// Keeps the map within its memory as far as that needs no writing.
    pub(crate) fn drop_clean_leaves(&self) -> Result<(), StoreError> {
        let mut state = self.core.state()?;
        // Looking for them costs a pass over those in memory.
        if state.map().resident_bytes() > self.most_bytes.saturating_add(self.most_bytes / 64) {
            state.map_mut().drop_clean(self.most_bytes);
        }
        Ok(())
    }
}
