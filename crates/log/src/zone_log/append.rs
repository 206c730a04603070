//! Records that are appended one by one.

use super::ZoneLog;
use crate::LogError;
use crate::places::{Extent, Slot, Units};

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

impl ZoneLog {
    /// Appends a record of the user. Its older copy, if the zone of that is not 0, is garbage.
    pub(crate) fn append_user(
        &mut self,
        lba: u64,
        class: usize,
        old: u32,
        units: Units,
    ) -> Result<Placed, LogError> {
        let class = self.class_for_user(class, units.after)?;
        self.counts.user_writes += 1;
        self.counts.delta_writes += u64::from(self.options.is_delta(lba));
        self.counts.user_units += self.counted_units(units.after);
        self.counts.classes[class].user_writes += 1;
        Ok(self.append(lba, class, old, units))
    }

    /// Appends the copy of a record in a victim. It is frozen, or not.
    pub(crate) fn append_relocation(
        &mut self,
        lba: u64,
        class: usize,
        victim: u32,
        units: Units,
        is_frozen: bool,
    ) -> Result<Placed, LogError> {
        let class = self.class_with_room(class, units.after)?;
        self.counts.relocations += 1;
        self.counts.relocated_units += self.counted_units(units.after);
        self.counts.frozen_relocations += u64::from(is_frozen);
        self.counts.classes[class].relocations += 1;
        Ok(self.append(lba, class, victim, units))
    }

    /// The record in this zone is trimmed.
    pub(crate) fn trim(&mut self, zone: u32, units: u32) {
        assert!(self.valid > 0, "a page is trimmed, and none is counted");
        self.valid -= 1;
        self.discard(zone, units);
    }

    /// Appends a record to a class that has room. Seals the zone if that was its last slot, and
    /// ends the chunk if it takes no more.
    fn append(&mut self, lba: u64, class: usize, old: u32, units: Units) -> Placed {
        assert_ne!(units.after, 0, "a record takes a unit at least");
        let slot = self.take_slot(class, units.after);
        match old {
            0 => self.valid += 1,
            zone => self.discard(zone, units.before),
        }
        let is_full = self.is_full(class);
        let ends_chunk = self.add_to_chunk(class, lba, units.after) || is_full;
        if is_full {
            self.close_zone(class);
        } else if ends_chunk {
            self.end_full_chunk(class);
        }
        Placed { class, slot, ends_chunk }
    }

    /// Takes the next slots of a class that has room.
    fn take_slot(&mut self, class: usize, units: u32) -> Slot {
        self.update_counts(class);
        let zone = self.open_zones[class];
        assert_ne!(zone, 0, "class {class} has no open zone");
        debug_assert_eq!(self.zones.class(zone), class, "zone {zone} is open for its class");
        let offset = self.zone_units - self.room(class);
        self.open[class].take(units);
        self.written += u64::from(units);
        Slot { zone, offset }
    }

    /// Turns a copy in this zone into garbage.
    fn discard(&mut self, zone: u32, units: u32) {
        self.zones.discard(zone, units);
        self.watch.bell().note(zone, self.zones.garbage_number(zone));
        self.garbage += u64::from(units);
        debug_assert!(self.garbage <= self.written, "more garbage than was written");
    }

    /// Units for the counts, which count none if every page takes one unit.
    fn counted_units(&self, units: u32) -> u64 {
        if self.options.page_units > 1 { u64::from(units) } else { 0 }
    }

    /// Checks that a zone counts a valid record like this and was written as far, before it becomes
    /// garbage: a driver's map may come from a medium.
    #[inline]
    pub(crate) fn check_valid(&self, Extent { slot, units }: Extent) -> Result<(), LogError> {
        let Slot { zone, offset } = slot;
        let holds = |zone: u32| {
            !self.zones.is_free(zone)
                && units <= self.valid_in(zone)
                && u64::from(offset) + u64::from(units) <= self.used(zone).into()
        };
        if (zone as usize) < self.zones.len() && self.valid > 0 && holds(zone) {
            return Ok(());
        }
        let why = format!(
            "the map has {units} valid slots from {offset} of zone {zone} that are not counted there"
        );
        Err(LogError::Image { why })
    }
}
