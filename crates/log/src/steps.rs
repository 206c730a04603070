//! The log step by step, for a driver that keeps the map.
//!
//! The driver passes a page's map entry and puts it back with the new slot; the copy in the old
//! slot is then garbage at once. So the decisions about classes and victims are those of the log in
//! runs, however long the driver takes to write a page. Until the page is written, its old copy may
//! be the only one on the medium: the driver must not erase a released zone before.

use bytemuck::Zeroable;
use frostline_placement::{FOLLOWING_MOST, Hotness, NEVER, Pages, Request, Scheme, UserWrite};

use crate::cleaning::relocation;
use crate::map::{Map, PageEntry};
use crate::places::{Extent, Slot, Units};
use crate::survey::sees_others;
use crate::volume::Volume;
use crate::{LogError, MAX_LBA, WORD_LAST};

impl Units {
    /// Units of pages that take one slot each.
    pub const PAGE: Units = Units { before: 1, after: 1 };
}

/// The LBA that a scheme sees for this one: a driver may have more than 31 bits number, and then
/// some share one.
pub fn scheme_lba(lba: u64) -> u32 {
    lba as u32 & MAX_LBA
}

/// A page write of the user that is being placed.
pub(crate) struct Write<'a> {
    /// The LBA.
    pub lba: u64,
    /// True if this version lives to the end of the trace.
    pub last: bool,
    /// User writes until the LBA is written again or trimmed; [`NEVER`] if that is not known.
    pub lifespan: u32,
    /// The units of its record.
    pub units: Units,
    /// The request that begins with this write, if one does.
    pub request: Option<Request>,
    /// Pages of the same request that follow.
    pub following: u8,
    /// The hotness record, if the engine gave one.
    pub hotness: Option<&'a Hotness>,
}

/// The new place of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Its class.
    pub class: usize,
    /// Its slot, which its map entry now has.
    pub slot: Slot,
    /// True if it is the last record of its chunk.
    pub ends_chunk: bool,
}

impl<S: Scheme, M: Map<S::Page>> Volume<S, M> {
    /// Places a page written by the user, a request of its own for schemes that go by requests,
    /// with the number of pages that follow in its request, and its hotness record if the engine
    /// gave one. Does not clean: see [`Volume::begin_cleaning`].
    ///
    /// # Errors
    /// The LBA is beyond the volume, the record is longer than a page, or the volume already holds
    /// its logical pages or has no room. The driver must then not put the entry back.
    pub fn place_user(
        &mut self,
        lba: u64,
        entry: &mut PageEntry<S::Page>,
        units: Units,
        following: u8,
        hotness: Option<&Hotness>,
    ) -> Result<Placed, LogError> {
        let (now, valid) = (self.now, self.valid);
        let request = Some(Request { lba: scheme_lba(lba), pages: 1, now, valid });
        let (last, lifespan) = (false, NEVER);
        let write = Write { lba, last, lifespan, units, request, following, hotness };
        self.place_write(entry, &write)
    }

    /// Places a page written by the user.
    pub(crate) fn place_write(
        &mut self,
        entry: &mut PageEntry<S::Page>,
        write: &Write<'_>,
    ) -> Result<Placed, LogError> {
        let &Write { lba, last, lifespan, units, request, following, hotness } = write;
        self.check_lba(lba)?;
        let most = self.options.page_units;
        if !(1..=most).contains(&units.after) {
            return Err(LogError::Units { units: units.after, most });
        }
        let Slot { zone: old, offset } = entry.slot;
        let first = old == 0;
        if !first {
            self.check_valid(old, units.before)?;
        }
        if !self.has_room() || first && self.valid >= self.options.records() {
            return Err(self.full());
        }
        if let Some(request) = request.filter(|_| S::PER_REQUEST) {
            self.scheme.on_request(&request);
        }
        self.now = self.now.wrapping_add(1);
        if self.sweep_if_due() {
            // The sweep clamped the driver's map, but not this copy of an entry.
            self.scheme.clamp(&mut entry.page, self.now);
        }
        self.show_others(lba);
        let write = UserWrite {
            lba: scheme_lba(lba),
            now: self.now,
            first,
            zone: old,
            offset: offset / self.options.page_units,
            class: self.zones.class(old),
            valid: self.valid,
            last,
            lifespan,
            following: following.min(FOLLOWING_MOST),
            hotness,
        };
        let class = self.scheme.place_user(&write, &mut entry.page);
        let class = self.class_for_user(class, units.after)?;
        self.counts.user_writes += 1;
        self.counts.delta_writes += u64::from(self.options.is_delta(lba));
        self.counts.user_units += self.counted_units(units.after);
        self.counts.classes[class].user_writes += 1;
        let word = scheme_lba(lba) | if last { WORD_LAST } else { 0 };
        let slot = self.take_slot(word, class, units.after);
        match first {
            true => self.valid += 1,
            false => self.discard(old, units.before),
        }
        Ok(self.move_to(slot, (lba, class, units.after), entry))
    }

    /// Trims a page whose record has `units` units: they become garbage, and the page counts as
    /// never written, so that its next write is a first one. The time does not advance, and
    /// cleaning waits for the next write. False if the page has no slot.
    ///
    /// # Errors
    /// The LBA is beyond the volume.
    pub fn trim_entry(
        &mut self,
        lba: u64,
        entry: &mut PageEntry<S::Page>,
        units: u32,
    ) -> Result<bool, LogError> {
        self.check_lba(lba)?;
        let slot = entry.slot;
        if slot.zone != 0 {
            self.check_valid(slot.zone, units)?;
        }
        self.scheme.on_trim(scheme_lba(lba));
        *entry = PageEntry::zeroed();
        if slot.zone != 0 {
            self.valid -= 1;
            self.discard(slot.zone, units);
        }
        Ok(slot != Slot::NONE)
    }

    /// Shows the scheme that the user reads pages.
    pub fn read(&mut self, lba: u32, pages: u32) {
        self.scheme.on_read(&Request { lba, pages, now: self.now, valid: self.valid });
    }

    /// Chooses victims, if cleaning is due and there are any. The driver must place their valid
    /// pages with [`Volume::place_relocation`], and then release each victim.
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

    /// The classes that the scheme gives the valid pages of a victim at once: to all, some or none
    /// of them. A scheme that does not place batches ([`Scheme::BATCHED`]) gives none.
    pub fn place_batch(&mut self, zone: u32, pages: &Pages<'_, S::Page>) -> Vec<Option<u8>> {
        let mut classes = vec![None; pages.lbas.len()];
        let event = self.event(zone);
        if self.scheme.is_batched() && self.scheme.destination(&event).is_none() {
            let victim = self.victim(zone);
            self.scheme.place_batch(&victim, pages, &mut classes);
        }
        classes
    }

    /// Places a valid page of a victim, in `class` if [`Volume::place_batch`] gave it one, as a
    /// record of so many units. `None` if the page is no longer in this slot.
    ///
    /// # Errors
    /// No slot is left.
    pub fn place_relocation(
        &mut self,
        lba: u64,
        entry: &mut PageEntry<S::Page>,
        from: Extent,
        units: u32,
        class: Option<u8>,
    ) -> Result<Option<Placed>, LogError> {
        let Extent { slot: from, units: before } = from;
        if entry.slot != from {
            return Ok(None);
        }
        self.check_valid(from.zone, before)?;
        let victim = self.event(from.zone);
        let place = self.base(from.zone) + from.offset as usize;
        let word = self.words.get(place).copied().unwrap_or(scheme_lba(lba));
        let class = match class.map(usize::from).or_else(|| self.scheme.destination(&victim)) {
            Some(class) => class,
            None => self.scheme.place_relocation(&relocation(&victim, word), &mut entry.page),
        };
        let class = self.class_with_room(class, units)?;
        self.counts.relocations += 1;
        self.counts.relocated_units += self.counted_units(units);
        self.counts.frozen_relocations += u64::from(word / WORD_LAST);
        self.counts.classes[class].relocations += 1;
        let slot = self.take_slot(word, class, units);
        self.discard(from.zone, before);
        Ok(Some(self.move_to(slot, (lba, class, units), entry)))
    }

    /// Frees a victim whose pages are all copied. False, without effect, while it holds a valid
    /// page.
    pub fn release(&mut self, zone: u32) -> bool {
        let all_garbage = self.zones.garbage(zone) + self.padding_of(zone) == self.zone_units;
        let emptied = all_garbage && self.zones.is_sealed(zone);
        if emptied {
            self.reclaim(zone);
            self.check_totals();
        }
        emptied
    }

    /// Units for the counts, which count none if every page takes one unit.
    fn counted_units(&self, units: u32) -> u64 {
        if self.options.page_units > 1 { u64::from(units) } else { 0 }
    }

    /// Takes the next slots of a class that has room, and includes the page in the totals.
    fn take_slot(&mut self, word: u32, class: usize, units: u32) -> Slot {
        self.settle(class);
        let zone = self.open_zones[class];
        let first = self.first_slot(zone);
        let cursor = &mut self.open[class];
        let slot = cursor.slot;
        debug_assert!(units <= cursor.end - slot, "class {class} has room");
        if let Some(place) = self.words.get_mut(cursor.place()) {
            *place = word;
        }
        if let Some(length) = self.lengths.get_mut(cursor.place()) {
            *length = units as u8;
        }
        cursor.slot += units;
        cursor.counted = cursor.slot;
        self.written += u64::from(units);
        Slot { zone, offset: slot - first }
    }

    /// Points a page to its new slot; seals the zone if that was the zone's last slot, and ends the
    /// chunk if it takes no more.
    fn move_to(
        &mut self,
        slot: Slot,
        (lba, class, units): (u64, usize, u32),
        entry: &mut PageEntry<S::Page>,
    ) -> Placed {
        entry.slot = slot;
        let is_full = self.is_full(class);
        let ends_chunk = self.add_to_chunk(class, lba, units) || is_full;
        if is_full {
            self.close_zone(class);
        } else if ends_chunk {
            self.end_full_chunk(class);
        }
        Placed { class, slot, ends_chunk }
    }

    /// Checks that a zone counts a valid record of so many units, before it becomes garbage: a
    /// driver's map may come from a medium.
    #[inline]
    fn check_valid(&self, zone: u32, units: u32) -> Result<(), LogError> {
        let holds = |zone: u32| {
            let counted = self.zones.garbage(zone) + self.padding_of(zone);
            !self.zones.is_free(zone) && units <= self.zone_units.saturating_sub(counted)
        };
        if (zone as usize) < self.zones.len() && self.valid > 0 && holds(zone) {
            return Ok(());
        }
        let why =
            format!("the map has {units} valid slots in zone {zone} that are not counted there");
        Err(LogError::Image { why })
    }

    /// Turns a copy in this zone into garbage.
    fn discard(&mut self, zone: u32, units: u32) {
        self.zones.discard(zone, units);
        self.garbage += u64::from(units);
    }
}

impl<S: Scheme, M: Map<S::Page>> Volume<S, M> {
    /// Shows a scheme that sees others the neighbour of the page that the user writes now, and one
    /// page in turn.
    pub(crate) fn show_others(&mut self, lba: u64) {
        if !sees_others(&self.scheme) {
            return;
        }
        let map = &self.map;
        let at = |lba| if lba < map.space() { map.peek(lba) } else { None };
        self.survey.show(&mut self.scheme, lba, self.now, at, |_| ());
    }
}
