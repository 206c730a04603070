//! Inspection of a log, for reports and for tests of its invariants.

use frostline_placement::Request;

use super::{Counts, Options, ZoneLog, ZoneTable};
use crate::LogError;

impl ZoneLog {
    /// Counts since they were last reset.
    pub fn counts(&mut self) -> &Counts {
        self.update_all_counts();
        &self.counts
    }

    /// Sets all counts to 0, for example after a load phase or a warm-up.
    pub fn reset_counts(&mut self) {
        self.update_all_counts();
        self.counts = Counts::new(self.zone_units, self.open.len());
    }

    /// Counts a base that was merged with its delta and tail.
    pub(crate) fn count_merge(&mut self) {
        self.counts.merges += 1;
    }

    /// The layout.
    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// Shows the scheme that the user reads pages.
    pub fn read(&mut self, lba: u32, pages: u32) {
        self.scheme.on_read(&Request { lba, pages, now: self.now, valid: self.valid });
    }

    /// The zones.
    pub fn zones(&self) -> &ZoneTable {
        &self.zones
    }

    /// Units in a zone, without those for the scheme's state.
    pub(crate) fn zone_units(&self) -> u32 {
        self.zone_units
    }

    /// The number of free zones.
    pub fn free_zones(&self) -> usize {
        self.free.len()
    }

    /// The zones that are open.
    pub fn open_zones(&self) -> impl Iterator<Item = u32> {
        self.open_zones.iter().copied().filter(|&zone| zone != 0)
    }

    /// True if a zone takes more pages.
    pub fn is_open(&self, zone: u32) -> bool {
        self.open_zones.get(self.zones.class(zone)) == Some(&zone)
    }

    /// Units of a zone that pad its chunks.
    pub(super) fn padding_of(&self, zone: u32) -> u32 {
        self.padding[zone as usize].units
    }

    /// Units of valid records in a zone.
    pub(crate) fn valid_in(&self, zone: u32) -> u32 {
        let (used, garbage) = (self.used(zone), self.zones.garbage(zone) + self.padding_of(zone));
        assert!(garbage <= used, "zone {zone}: {garbage} units are garbage of {used}");
        used - garbage
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

    /// Slots of a reverse map that were ever in use at once.
    pub(crate) fn most_slots(&self) -> usize {
        (self.most_zones + 1) * self.zone_units as usize
    }

    /// Bytes of the zones and of the scheme's memory.
    pub(crate) fn bytes(&self) -> usize {
        self.zones.bytes() + self.watch.bytes() + self.scheme.bytes()
    }

    /// Checks that an LBA is below `space`.
    pub(crate) fn check_lba(lba: u64, space: u64) -> Result<(), LogError> {
        match lba < space {
            true => Ok(()),
            false => Err(LogError::BadLba { lba, last: space.saturating_sub(1) }),
        }
    }

    /// Checks the zones against a map, which has so many records, and in each zone so many units:
    /// the rest of a zone is garbage or padding, and the totals agree.
    ///
    /// # Errors
    /// A sentence that names the violated invariant.
    pub fn verify(&self, records: u64, units: &[u32]) -> Result<(), String> {
        if records != self.valid {
            return Err(format!("{records} pages are mapped, {} counted", self.valid));
        }
        let (mut written, mut garbage) = (0u64, 0u64);
        for zone in 1..self.zones.len() as u32 {
            let used = self.used(zone);
            let (garbage_here, padding) = (self.zones.garbage(zone), self.padding_of(zone));
            let counted = i64::from(garbage_here + padding);
            let expected = i64::from(used) - i64::from(units[zone as usize]);
            if counted != expected {
                return Err(format!("zone {zone}: {counted} garbage counted, {expected} found"));
            }
            written += u64::from(used - padding);
            garbage += u64::from(garbage_here);
        }
        let (w, g) = (self.written, self.garbage);
        if (written, garbage) != (w, g) {
            return Err(format!("{garbage} of {written} are garbage, {g} of {w} counted"));
        }
        Ok(())
    }

    /// Units of a zone that were used, or can't be used any more.
    pub(super) fn used(&self, zone: u32) -> u32 {
        match (self.zones.is_free(zone), self.is_open(zone)) {
            (true, _) => 0,
            (_, true) => self.zone_units - self.room(self.zones.class(zone)),
            _ => self.zone_units,
        }
    }
}
