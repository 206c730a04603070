//! The log step by step, for a driver that keeps the map.
//!
//! The driver hands in a page's entry of the map and puts it back: it has the new slot at once, and
//! the copy in the old slot is garbage. Decisions about classes and victims are so those of the log
//! in runs, however long the driver takes to write a page down. Until then the old copy may be all
//! that the medium has: the driver does not erase a released zone before.

use bytemuck::Zeroable;
use frostline_placement::{Hotness, NEVER, Pages, Request, Scheme, UserWrite};

use crate::cleaning::relocation;
use crate::map::{Map, MapEntry};
use crate::volume::Volume;
use crate::{LogError, WORD_LAST};

/// A physical page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    /// Zone, from 1.
    pub zone: u32,
    /// Page in the zone, from 0.
    pub offset: u32,
}

/// The new place of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Its class.
    pub class: usize,
    /// Its slot, which its entry names from now on.
    pub slot: Slot,
}

impl<S: Scheme, M: Map<S::Page>> Volume<S, M> {
    /// Places a page written by the user, a request of its own, with its hotness record if the
    /// engine gave one. Does not clean: see [`Volume::begin_cleaning`].
    ///
    /// # Errors
    /// An LBA beyond the volume; a volume that already holds its logical pages, or has no slot. The
    /// entry is then not to be put back.
    pub fn place_user(
        &mut self,
        lba: u32,
        entry: &mut MapEntry<S::Page>,
        hotness: Option<&Hotness>,
    ) -> Result<Placed, LogError> {
        self.check_lba(lba)?;
        let old = entry.slot >> self.shift;
        let first = old == 0;
        if !self.has_room() || first && self.valid >= self.options.logical_pages {
            return Err(self.full());
        }
        if S::PER_REQUEST {
            let (now, valid) = (self.now, self.valid);
            self.scheme.on_request(&Request { lba, pages: 1, now, valid });
        }
        self.now = self.now.wrapping_add(1);
        if self.sweep_if_due() {
            // The sweep passed the driver's map, not this copy of an entry.
            self.scheme.clamp(&mut entry.page, self.now);
        }
        self.show_others(lba);
        let write = UserWrite {
            lba,
            now: self.now,
            first,
            zone: old,
            offset: entry.slot - (old << self.shift),
            class: self.zones.class(old),
            valid: self.valid,
            last: false,
            lifespan: NEVER,
            hotness,
        };
        let class = self.scheme.place_user(&write, &mut entry.page);
        let class = self.class_for_user(class)?;
        self.counts.user_writes += 1;
        self.counts.classes[class].user_writes += 1;
        let slot = self.take_slot(lba, class);
        match first {
            true => self.valid += 1,
            false => self.discard(old),
        }
        self.move_to(slot, class, entry)
    }

    /// The page is no longer needed: its slot is garbage, and it is as if it had never been
    /// written: its next write is a first one. Takes no time, and cleaning waits for the next write.
    /// False if the page has no slot.
    ///
    /// # Errors
    /// An LBA beyond the volume.
    pub fn trim_entry(
        &mut self,
        lba: u32,
        entry: &mut MapEntry<S::Page>,
    ) -> Result<bool, LogError> {
        self.check_lba(lba)?;
        self.scheme.on_trim(lba);
        let slot = entry.slot;
        *entry = MapEntry::zeroed();
        if slot >> self.shift != 0 {
            self.valid -= 1;
            self.discard(slot >> self.shift);
        }
        Ok(slot != 0)
    }

    /// Chooses victims, if cleaning is due and there are any. Their valid pages are to be placed
    /// with [`Volume::place_relocation`], and then each is to be released.
    pub fn begin_cleaning(&mut self) -> Vec<u32> {
        if !self.cleaning_due() {
            return Vec::new();
        }
        self.choose_victims();
        for i in 0..self.choice.victims.len() {
            let zone = self.choice.victims[i];
            let victim = self.event(zone);
            self.scheme.on_victim(&victim, &self.zones.view(self.now));
        }
        if self.choice.victims.is_empty() {
            self.counts.stalls += 1;
        }
        self.choice.victims.clone()
    }

    /// The classes that the scheme gives the valid pages of a victim at once: of some, of all, or of
    /// none if it is not asked about batches ([`Scheme::BATCHED`]).
    pub fn place_batch(&mut self, zone: u32, pages: &Pages<'_, S::Page>) -> Vec<Option<u8>> {
        let mut classes = vec![None; pages.lbas.len()];
        let event = self.event(zone);
        if self.scheme.is_batched() && self.scheme.destination(&event).is_none() {
            let victim = self.victim(zone);
            self.scheme.place_batch(&victim, pages, &mut classes);
        }
        classes
    }

    /// Places a valid page of a victim, which has the class that [`Volume::place_batch`] gave it, if it
    /// gave one; none if the page is no longer in this slot.
    ///
    /// # Errors
    /// No slot is left.
    pub fn place_relocation(
        &mut self,
        lba: u32,
        entry: &mut MapEntry<S::Page>,
        from: Slot,
        class: Option<u8>,
    ) -> Result<Option<Placed>, LogError> {
        if entry.slot != self.number(from) {
            return Ok(None);
        }
        let victim = self.event(from.zone);
        let class = match class.map(usize::from).or_else(|| self.scheme.destination(&victim)) {
            Some(class) => class,
            None => self.scheme.place_relocation(&relocation(&victim, lba), &mut entry.page),
        };
        let class = self.class_with_room(class)?;
        let place = self.base(from.zone) + from.offset as usize;
        let word = self.words.get(place).copied().unwrap_or(lba);
        self.counts.relocations += 1;
        self.counts.frozen_relocations += u64::from(word / WORD_LAST);
        self.counts.classes[class].relocations += 1;
        let slot = self.take_slot(word, class);
        self.discard(from.zone);
        self.move_to(slot, class, entry).map(Some)
    }

    /// The victim's pages are all copied: it is free again. False, and nothing happens, while it
    /// holds a valid page.
    pub fn release(&mut self, zone: u32) -> bool {
        let all_garbage = self.zones.garbage(zone) == self.options.zone_pages;
        let emptied = all_garbage && self.zones.is_sealed(zone);
        if emptied {
            self.reclaim(zone);
            self.check_totals();
        }
        emptied
    }

    /// Takes the next slot of a class that has room, and that has counted the page.
    fn take_slot(&mut self, word: u32, class: usize) -> u32 {
        self.settle(class);
        let cursor = &mut self.open[class];
        let slot = cursor.slot;
        debug_assert!(slot < cursor.end, "class {class} has room");
        if let Some(place) = self.words.get_mut(cursor.place()) {
            *place = word;
        }
        cursor.slot += 1;
        cursor.counted = cursor.slot;
        self.written += 1;
        slot
    }

    /// Points a page to the slot that was taken for it, and seals the zone if that was its last.
    fn move_to(
        &mut self,
        slot: u32,
        class: usize,
        entry: &mut MapEntry<S::Page>,
    ) -> Result<Placed, LogError> {
        entry.slot = slot;
        if self.is_full(class) {
            self.close_zone(class)?;
        }
        Ok(Placed { class, slot: self.slot(slot) })
    }

    /// The number of a slot, as it stands in the map.
    pub fn number(&self, slot: Slot) -> u32 {
        (slot.zone << self.shift) + slot.offset
    }

    /// A copy in this zone became garbage.
    fn discard(&mut self, zone: u32) {
        self.zones.discard(zone, 1);
        self.garbage += 1;
    }
}

impl<S: Scheme> Volume<S> {
    /// The page is no longer needed: see [`Volume::trim_entry`].
    ///
    /// # Errors
    /// An LBA beyond the volume.
    pub fn trim(&mut self, lba: u32) -> Result<bool, LogError> {
        self.check_lba(lba)?;
        let mut entry = self.map[lba as usize];
        let trimmed = self.trim_entry(lba, &mut entry);
        self.map[lba as usize] = entry;
        trimmed
    }
}
