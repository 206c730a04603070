//! Inspection of a volume, for reports and for tests of its invariants.

use frostline_placement::{Hotness, Scheme};

use crate::map::{Map, MapEntry};
use crate::volume::{Cursor, Volume};
use crate::{Counts, LogError, Slot, ZoneTable};

impl<S: Scheme, M: Map<S::Page>> Volume<S, M> {
    /// Counts since they were last reset.
    pub fn counts(&mut self) -> &Counts {
        (0..self.open.len()).for_each(|class| self.settle(class));
        &self.counts
    }

    /// Sets all counts to 0, for example after a load phase or a warm-up.
    pub fn reset_counts(&mut self) {
        (0..self.open.len()).for_each(|class| self.settle(class));
        self.counts = Counts::new(self.zone_units, self.open.len());
    }

    /// The scheme.
    pub fn scheme(&self) -> &S {
        &self.scheme
    }

    /// The scheme, for a driver that changes it.
    pub fn scheme_mut(&mut self) -> &mut S {
        &mut self.scheme
    }

    /// The map.
    pub fn map(&self) -> &M {
        &self.map
    }

    /// The map, for its driver.
    pub fn map_mut(&mut self) -> &mut M {
        &mut self.map
    }

    /// The scheme and the map, for a driver that loads pages' states into the map, which the scheme
    /// must then [clamp](Scheme::clamp).
    pub fn scheme_and_map(&mut self) -> (&S, &mut M) {
        (&self.scheme, &mut self.map)
    }

    /// The zones.
    pub fn zones(&self) -> &ZoneTable {
        &self.zones
    }

    /// The number of free zones.
    pub fn free_zones(&self) -> usize {
        self.free.len()
    }

    /// True if a zone takes more pages.
    pub fn is_open(&self, zone: u32) -> bool {
        let cursor = self.open.get(self.zones.class(zone));
        cursor.is_some_and(|c| !c.is_closed() && self.open_zones[self.zones.class(zone)] == zone)
    }

    /// Units of a zone that pad its chunks.
    pub(crate) fn padding_of(&self, zone: u32) -> u32 {
        self.padding.get(zone as usize).copied().unwrap_or(0)
    }

    /// User writes so far, modulo 2^32.
    pub fn now(&self) -> u32 {
        self.now
    }

    /// Garbage proportion: garbage pages over all pages in zones that hold any, without padding; 0
    /// if there are none.
    pub fn garbage_proportion(&self) -> f64 {
        match self.written {
            0 => 0.0,
            written => self.garbage as f64 / written as f64,
        }
    }

    /// The number of valid pages.
    pub fn valid_pages(&self) -> u64 {
        self.valid
    }

    /// Units of valid records.
    pub fn valid_units(&self) -> u64 {
        self.written - self.garbage
    }

    /// Checks that a page's LBA is within the volume.
    pub(crate) fn check_lba(&self, lba: u64) -> Result<(), LogError> {
        match lba < self.map.space() {
            true => Ok(()),
            false => {
                let last = self.map.space().saturating_sub(1);
                Err(LogError::BadLba { lba, last })
            }
        }
    }
}

impl<S: Scheme> Volume<S> {
    /// The slot with this number in the map.
    pub(crate) fn slot(&self, slot: u32) -> Slot {
        Slot { zone: slot >> self.shift, offset: slot & ((1 << self.shift) - 1) }
    }

    /// The place of a page; `None` if the page is not valid.
    pub fn slot_of(&self, lba: u32) -> Option<Slot> {
        self.check_lba(lba.into()).ok()?;
        let slot = self.map[lba as usize].slot;
        (slot != 0).then(|| self.slot(slot))
    }

    /// Peak memory of the volume in bytes: map, reverse map, hotness records, zones and the
    /// scheme's memory.
    pub fn peak_bytes(&self) -> usize {
        let slots = (self.most_zones + 1) * self.zone_units as usize;
        self.map.len() * size_of::<MapEntry<S::Page>>()
            + slots.min(self.words.len()) * size_of::<u32>()
            + slots.min(self.lengths.len())
            + self.hotness.len() * size_of::<Hotness>()
            + self.zones.bytes()
            + self.scheme.bytes()
    }

    /// Checks every invariant that is visible from outside: each written LBA has one valid slot
    /// whose reverse entry names the LBA, the rest of each zone is garbage, and the totals agree.
    /// Costs a pass over map and zones.
    ///
    /// # Errors
    /// A sentence that names the violated invariant.
    pub fn verify(&self) -> Result<(), String> {
        let books = Books {
            zones: &self.zones,
            words: &self.words,
            lengths: &self.lengths,
            padding: &self.padding,
            open: &self.open,
            open_zones: &self.open_zones,
            shift: self.shift,
            zone_units: self.zone_units,
            totals: (self.valid, self.written, self.garbage),
        };
        books.verify(&mut self.map.iter().map(|entry| entry.slot))
    }
}

/// The zones and counts of a volume, without the type of its scheme, so that checks are compiled
/// once.
struct Books<'a> {
    zones: &'a ZoneTable,
    words: &'a [u32],
    lengths: &'a [u8],
    padding: &'a [u32],
    open: &'a [Cursor],
    open_zones: &'a [u32],
    shift: u32,
    zone_units: u32,
    /// Valid pages, units written, garbage units.
    totals: (u64, u64, u64),
}

impl Books<'_> {
    /// See [`Volume::verify`]; `slots` has those of all LBAs in turn, 0 where there is none.
    fn verify(&self, slots: &mut dyn Iterator<Item = u32>) -> Result<(), String> {
        let mut valid = vec![0u32; self.zones.len()];
        let mut mapped = 0u64;
        for (lba, slot) in slots.enumerate().filter(|(_, slot)| *slot != 0) {
            let (zone, offset) = (slot >> self.shift, slot & ((1 << self.shift) - 1));
            let place = zone as usize * self.zone_units as usize + offset as usize;
            let word = self.words[place];
            if (word & crate::MAX_LBA) as usize != lba {
                let slot = Slot { zone, offset };
                return Err(format!("LBA {lba} points to {slot:?}, which holds {word:#x}"));
            }
            valid[zone as usize] += self.lengths.get(place).map_or(1, |&length| u32::from(length));
            mapped += 1;
        }
        if mapped != self.totals.0 {
            return Err(format!("{mapped} pages are mapped, {} counted", self.totals.0));
        }
        self.verify_zones(&valid)
    }

    fn verify_zones(&self, valid: &[u32]) -> Result<(), String> {
        let pages = self.zone_units;
        let mut used = vec![pages; self.zones.len()];
        let open = self.open.iter().zip(self.open_zones);
        for (cursor, &zone) in open.filter(|(cursor, _)| !cursor.is_closed()) {
            used[zone as usize] = pages - (cursor.end - cursor.slot);
        }
        let (mut written, mut garbage) = (0u64, 0u64);
        for zone in 1..self.zones.len() as u32 {
            let z = zone as usize;
            let have = if self.zones.is_free(zone) { 0 } else { used[z] };
            let garbage_here = self.zones.garbage(zone);
            let padding = self.padding.get(z).copied().unwrap_or(0);
            let counted = i64::from(garbage_here + padding);
            let expected = i64::from(have) - i64::from(valid[z]);
            if counted != expected {
                return Err(format!("zone {zone}: {counted} garbage counted, {expected} found"));
            }
            written += u64::from(have - padding);
            garbage += u64::from(garbage_here);
        }
        let (_, w, g) = self.totals;
        if (written, garbage) != (w, g) {
            return Err(format!("{garbage} of {written} are garbage, {g} of {w} counted"));
        }
        Ok(())
    }
}
