//! Leaves of the map come into memory as their pages are used, and leave it when the map takes more
//! than it may.

use frostline_log::{Extent, Map, Slot};
use frostline_placement::Scheme;
use frostline_zone::{AlignedBuf, DeviceError};

use crate::StoreError;
use crate::format::LeafAt;
use crate::inner::{Guard, Inner};
use crate::leaves::Leaves;
use crate::map_cache::Evicted;
use crate::mapped_page::MappedPage;
use crate::meta::MetaLog;
use crate::state::State;

impl Inner {
    /// A page with its entry of the map. The lock is let go while the leaf is read, if it is not in
    /// memory.
    pub fn mapped<'a>(
        &'a self,
        mut state: Guard<'a>,
        lba: u32,
    ) -> Result<MappedPage<Guard<'a>>, StoreError> {
        loop {
            state = match MappedPage::of(state, lba) {
                Ok(page) => return Ok(page),
                Err(state) => {
                    let (leaf, _) = state.volume.map().leaves().find(lba);
                    self.load(state, leaf)?
                }
            };
        }
    }

    /// Reads a leaf that is not in memory. It may still not be there afterwards: another thread may
    /// have written it elsewhere meanwhile.
    pub fn load<'a>(&'a self, mut state: Guard<'a>, leaf: u32) -> Result<Guard<'a>, StoreError> {
        let at = state.volume.map().at(leaf);
        let bytes = match at.page {
            0 => None,
            _ => {
                drop(state);
                let read = self.read_leaf(leaf, at);
                state = self.state()?;
                if state.volume.map().has(leaf) || state.volume.map().at(leaf) != at {
                    return Ok(state);
                }
                Some(self.check_leaf(&state, leaf, read?)?)
            }
        };
        let now = state.time();
        let (scheme, map) = state.volume.scheme_and_map();
        map.insert(leaf, bytes.as_deref(), now, |page, at| scheme.clamp(page, at));
        Ok(state)
    }

    /// The records whose places a leaf has: the LBA, the place and the sum of each. The place of one whose content
    /// is lost is in zone 0. A leaf that is not in memory is read, and let go of again: most walks over the map
    /// need a leaf once.
    pub fn records_of_leaf(&self, leaf: u32) -> Result<Vec<(u32, Extent, u32)>, StoreError> {
        let records = |state: &State, bytes: &[u8]| {
            let entries = state.volume.map().entries(leaf, bytes);
            let place = |slot, units| Extent { slot: state.volume.slot(slot), units };
            entries.map(|(lba, slot, units, sum)| (lba, place(slot, units), sum)).collect()
        };
        loop {
            let state = self.state()?;
            let (map, at) = (state.volume.map(), state.volume.map().at(leaf));
            match map.get(leaf) {
                Some(bytes) => return Ok(records(&state, bytes)),
                None if at.page == 0 => return Ok(Vec::new()),
                None => drop(state),
            }
            let read = self.read_leaf(leaf, at);
            let state = self.state()?;
            // It may have been loaded, or written elsewhere, meanwhile.
            if !state.volume.map().has(leaf) && state.volume.map().at(leaf) == at {
                return Ok(records(&state, &self.check_leaf(&state, leaf, read?)?));
            }
        }
    }

    /// Gives back a leaf that was read, unless it has places that no record can have.
    fn check_leaf(
        &self,
        state: &State,
        leaf: u32,
        bytes: AlignedBuf,
    ) -> Result<AlignedBuf, StoreError> {
        let (zones, zone_units) = (state.zones.len(), self.layout.zone_units());
        let most = self.layout.sizes.page_units();
        let is_possible = |(lba, slot, units, _)| {
            let Slot { zone, offset } = state.volume.slot(slot);
            lba < state.volume.map().space()
                && (zone == 0
                    || (zone as usize) < zones
                        && (1..=most).contains(&units)
                        && offset.saturating_add(units) <= zone_units)
        };
        let is_sound = state.volume.map().entries(leaf, &bytes).all(is_possible);
        match is_sound {
            true => Ok(bytes),
            false => {
                let at = state.volume.map().at(leaf);
                Err(self.damaged_leaf(leaf, at, "has places that no record can have"))
            }
        }
    }

    /// Reads a leaf from the metadata log.
    pub fn read_leaf(&self, leaf: u32, at: LeafAt) -> Result<AlignedBuf, StoreError> {
        let pages = self.layout.columns.leaf_pages();
        let sound = |bytes: &[u8]| crc32c::crc32c(bytes) == at.sum;
        match MetaLog::read(&*self.device, &self.layout, at.page, pages, &sound) {
            Ok(bytes) if sound(&bytes) => return Ok(bytes),
            Ok(_) => {}
            // The zone lost its end.
            Err(StoreError::Device(error))
                if matches!(*error, DeviceError::ReadBeyondPointer { .. }) => {}
            Err(error) => return Err(error),
        }
        Err(self.damaged_leaf(leaf, at, "is not what was written there"))
    }

    fn damaged_leaf(&self, leaf: u32, at: LeafAt, what: &str) -> StoreError {
        let capacity = self.layout.fixed.device_pages;
        let zone = self.layout.meta[(at.page / capacity) as usize];
        let tells = Leaves::of(self.layout.sizes).tells(leaf);
        let why = format!("a leaf of the map {what}; {tells}");
        StoreError::Damaged { zone, page: at.page % capacity, why }
    }

    /// Keeps the map within its memory.
    pub fn shrink_map(&self) -> Result<(), StoreError> {
        if self.most_leaves >= self.layout.leaves() as usize {
            return Ok(());
        }
        // The thread that holds it is writing leaves, and comes by here afterwards.
        let Ok(one) = self.checkpointer.try_lock() else { return Ok(()) };
        loop {
            let mut state = self.state()?;
            if state.volume.map().resident() <= self.most_leaves {
                return Ok(());
            }
            if self.meta_usage.is_low() {
                // The rest of the metadata log is for a checkpoint.
                drop((state, one));
                return self.checkpoint_if_due();
            }
            let time = state.time();
            match state.volume.map_mut().evict() {
                Evicted::Gone => {}
                Evicted::Nothing => return Ok(()),
                Evicted::Changed(leaf, image) => {
                    drop(state);
                    let written = self.write_leaves(&[(leaf, image)], time);
                    let places = written.map_err(|error| self.fail(error))?;
                    let mut state = self.state()?;
                    places.into_iter().for_each(|(leaf, at)| {
                        state.volume.map_mut().written(leaf, at);
                    });
                }
            }
        }
    }

    /// Keeps the map within its memory as far as that needs no writing.
    pub fn drop_clean_leaves(&self) -> Result<(), StoreError> {
        let mut state = self.state()?;
        let above = state.volume.map().resident().saturating_sub(self.most_leaves);
        // Looking for them costs a pass over all leaves.
        if above > self.layout.leaves() as usize / 64 {
            state.volume.map_mut().drop_clean(above);
        }
        Ok(())
    }
}
