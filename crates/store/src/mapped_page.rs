//! A page whose entry of the map is in memory: only such a page can be read, written or moved.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use frostline_log::{Extent, LOST, Units};
use frostline_placement::Hotness;

use crate::StoreError;
use crate::map_cache::{LEAF, Position, StoredState};
use crate::records::{Record, Span};
use crate::state::State;

/// A page and the locked state. The leaf of the map that has the page's entry is in memory, and
/// stays there while this exists: no leaf is dropped without the state.
pub struct MappedPage<G> {
    state: G,
    lba: u32,
    at: Position,
}

/// The place of a page's content.
pub enum PageLookup {
    /// In memory: so many bytes were copied.
    Copied(usize),
    /// On the device.
    At {
        /// Zone of the device.
        zone: u32,
        /// Where the record lies in it.
        span: Span,
        /// Sum of the record.
        sum: u32,
        /// Keeps the zone from being reset.
        pin: Arc<()>,
    },
}

impl<G: Deref<Target = State>> MappedPage<G> {
    /// The page, if its leaf is in memory; otherwise the state comes back.
    pub fn of(state: G, lba: u32) -> Result<Self, G> {
        match state.volume.map().position(lba) {
            Some(at) => Ok(MappedPage { state, lba, at }),
            None => Err(state),
        }
    }

    /// The state, whose leaves may be dropped again.
    pub fn into_state(self) -> G {
        self.state
    }

    /// The place of the page's record and its sum; zone 0 if the content is lost.
    pub fn place(&self) -> Option<(Extent, u32)> {
        let map = self.state.volume.map();
        let (slot, units) = (map.slot(self.at), map.units(self.at));
        let place = || (Extent { slot: self.state.volume.slot(slot), units }, map.sum(self.at));
        (slot != 0).then(place)
    }

    /// True if a group is on its way to the device.
    pub fn has_group(&self) -> bool {
        self.state.chunks.has_group()
    }

    /// True if the page lies there.
    pub fn is_at(&self, place: Extent) -> bool {
        self.place().is_some_and(|(at, _)| at == place)
    }

    /// The state that the scheme keeps of the page.
    pub fn page_state(&self) -> StoredState {
        self.state.volume.map().entry(self.at).page
    }

    /// The places of all pages in the page's leaf that have one: (LBA, place).
    pub fn places_of_leaf(&self) -> Vec<(u32, Extent)> {
        let first = self.lba - self.lba % LEAF as u32;
        let places = (first..).zip(self.state.volume.map().places(self.at));
        let places = places.filter(|&(_, (slot, _))| slot != 0);
        let extent = |(slot, units)| Extent { slot: self.state.volume.slot(slot), units };
        places.map(|(lba, place)| (lba, extent(place))).collect()
    }

    /// Finds the page's content: copies it if it is in memory, in whole units. None if the page was never
    /// written.
    pub fn find(&self, into: &mut [u8]) -> Result<Option<PageLookup>, StoreError> {
        let Some((place, sum)) = self.place() else { return Ok(None) };
        if place.slot.zone == 0 {
            return Err(StoreError::Lost { lba: self.lba });
        }
        if let Some(content) = self.state.chunks.content(place) {
            into[..content.len()].copy_from_slice(content);
            return Ok(Some(PageLookup::Copied(content.len())));
        }
        let zone = self.state.zones.get(place.slot.zone);
        let (span, pin) = (zone.span_of(place, self.state.layout.sizes), zone.pin.clone());
        Ok(Some(PageLookup::At { zone: zone.device_zone, span, sum, pin }))
    }
}

impl<G: DerefMut<Target = State>> MappedPage<G> {
    /// Writes the page by the user; `sum` is that of its record.
    pub fn write(&mut self, sum: u32, hotness: Hotness, bytes: &[u8]) -> Result<(), StoreError> {
        let state = &mut *self.state;
        let mut entry = state.volume.map().entry(self.at);
        let known = state.layout.has_hotness().then_some(&hotness);
        let units = Units {
            before: state.volume.map().units(self.at),
            after: state.layout.sizes.units_of(bytes.len() as u32),
        };
        let placed = state.volume.place_user(self.lba, &mut entry, units, known)?;
        let map = state.volume.map_mut();
        map.set(self.at, entry);
        map.set_sum(self.at, sum);
        map.set_units(self.at, units.after);
        state.user_page_placed(placed, self.lba, sum, hotness, bytes)
    }

    /// Copies the page, whose record is at hand, from where it lies to the class that the scheme gave it
    /// when it saw the whole victim, if it gave one. Nothing happens if the page no longer lies there.
    pub fn relocate(
        &mut self,
        from: Extent,
        class: Option<u8>,
        (record, hotness, bytes): (Record, Hotness, &[u8]),
    ) -> Result<(), StoreError> {
        let state = &mut *self.state;
        let mut entry = state.volume.map().entry(self.at);
        match state.volume.place_relocation(self.lba, &mut entry, from, class)? {
            None => Ok(()),
            Some(placed) => {
                state.volume.map_mut().set(self.at, entry);
                state.relocation_placed(placed, record, hotness, bytes)
            }
        }
    }

    /// Forgets the page; true if there was one.
    pub fn trim(&mut self) -> Result<bool, StoreError> {
        let state = &mut *self.state;
        let mut entry = state.volume.map().entry(self.at);
        let units = state.volume.map().units(self.at);
        let had = state.volume.trim_entry(self.lba, &mut entry, units)?;
        state.volume.map_mut().set(self.at, entry);
        if had {
            state.page_trimmed(self.lba);
        }
        Ok(had)
    }

    /// Points the page to a record and its sum, or to nothing, before the volume is restored.
    pub fn point(&mut self, to: Option<(Extent, u32)>) {
        let number = to.map_or(0, |(at, _)| self.state.volume.number(at.slot));
        let map = self.state.volume.map_mut();
        map.set_slot(self.at, number);
        map.set_sum(self.at, to.map_or(0, |(_, sum)| sum));
        map.set_units(self.at, to.map_or(0, |(at, _)| at.units));
    }

    /// Marks the page's content as lost.
    pub fn lose(&mut self) {
        self.state.volume.map_mut().set_slot(self.at, LOST);
    }
}
