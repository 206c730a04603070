//! A page whose entry of the map is in memory: only such a page can be read, written or moved.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use frostline_log::{Extent, LOST, Slot, Units};
use frostline_placement::Hotness;

use crate::StoreError;
use crate::format::Row;
use crate::map_cache::{LEAF, Position, StoredState};
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
    /// In memory: it was copied.
    Copied,
    /// On the device.
    At {
        /// Zone of the device.
        zone: u32,
        /// Page in it.
        page: u32,
        /// Sum of its content.
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

    /// The slot of the page and the sum of its content; zone 0 if the content is lost.
    pub fn place(&self) -> Option<(Slot, u32)> {
        let map = self.state.volume.map();
        let slot = map.slot(self.at);
        (slot != 0).then(|| (self.state.volume.slot(slot), map.sum(self.at)))
    }

    /// True if a group is on its way to the device.
    pub fn has_group(&self) -> bool {
        self.state.chunks.has_group()
    }

    /// True if the page lies in this slot.
    pub fn is_at(&self, slot: Slot) -> bool {
        self.place().is_some_and(|(at, _)| at == slot)
    }

    /// The state that the scheme keeps of the page.
    pub fn page_state(&self) -> StoredState {
        self.state.volume.map().entry(self.at).page
    }

    /// The slots of all pages in the page's leaf that have one: (LBA, slot).
    pub fn slots_of_leaf(&self) -> Vec<(u32, Slot)> {
        let first = self.lba - self.lba % LEAF as u32;
        let slots = (first..).zip(self.state.volume.map().slots(self.at));
        let slots = slots.filter(|&(_, slot)| slot != 0);
        slots.map(|(lba, slot)| (lba, self.state.volume.slot(slot))).collect()
    }

    /// Finds the page's content: copies it if it is in memory. None if the page was never written.
    pub fn find(&self, into: &mut [u8]) -> Result<Option<PageLookup>, StoreError> {
        let Some((slot, sum)) = self.place() else { return Ok(None) };
        if slot.zone == 0 {
            return Err(StoreError::Lost { lba: self.lba });
        }
        if let Some(page) = self.state.chunks.page(slot) {
            into.copy_from_slice(page);
            return Ok(Some(PageLookup::Copied));
        }
        let zone = self.state.zones.get(slot.zone);
        let (page, pin) = (zone.page_of(slot.offset), zone.pin.clone());
        Ok(Some(PageLookup::At { zone: zone.device_zone, page, sum, pin }))
    }
}

impl<G: DerefMut<Target = State>> MappedPage<G> {
    /// Writes the page by the user; `sum` is that of its content.
    pub fn write(&mut self, sum: u32, hotness: Hotness, page: &[u8]) -> Result<(), StoreError> {
        let state = &mut *self.state;
        let mut entry = state.volume.map().entry(self.at);
        let known = state.layout.has_hotness().then_some(&hotness);
        let placed = state.volume.place_user(self.lba, &mut entry, Units::PAGE, known)?;
        state.volume.map_mut().set(self.at, entry);
        state.volume.map_mut().set_sum(self.at, sum);
        state.user_page_placed(placed, self.lba, sum, hotness, page)
    }

    /// Copies the page, whose content is at hand, out of the slot `from`, to the class that the
    /// scheme gave it when it saw the whole victim, if it gave one. Nothing happens if the page is no
    /// longer in that slot.
    pub fn relocate(
        &mut self,
        from: Slot,
        class: Option<u8>,
        (row, hotness, page): (Row, Hotness, &[u8]),
    ) -> Result<(), StoreError> {
        let state = &mut *self.state;
        let mut entry = state.volume.map().entry(self.at);
        match state.volume.place_relocation(self.lba, &mut entry, Extent::page(from), class)? {
            None => Ok(()),
            Some(placed) => {
                state.volume.map_mut().set(self.at, entry);
                state.relocation_placed(placed, row, hotness, page)
            }
        }
    }

    /// Forgets the page; true if there was one.
    pub fn trim(&mut self) -> Result<bool, StoreError> {
        let state = &mut *self.state;
        let mut entry = state.volume.map().entry(self.at);
        let had = state.volume.trim_entry(self.lba, &mut entry, Units::PAGE.before)?;
        state.volume.map_mut().set(self.at, entry);
        if had {
            state.page_trimmed(self.lba);
        }
        Ok(had)
    }

    /// Points the page to a slot and the sum of the content there, or to nothing, before the volume
    /// is restored.
    pub fn point(&mut self, to: Option<(Slot, u32)>) {
        let number = to.map_or(0, |(slot, _)| self.state.volume.number(slot));
        let map = self.state.volume.map_mut();
        map.set_slot(self.at, number);
        map.set_sum(self.at, to.map_or(0, |(_, sum)| sum));
    }

    /// Marks the page's content as lost.
    pub fn lose(&mut self) {
        self.state.volume.map_mut().set_slot(self.at, LOST);
    }
}
