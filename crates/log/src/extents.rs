//! Records of variable size in a volume that keeps its whole map, as the simulator does.
//!
//! Each record is placed by the steps that a store takes ([`Volume::place_user`],
//! [`Volume::place_relocation`]), one by one: runs are only for pages of one slot.

use std::ops::Range;

use bytemuck::Zeroable;
use frostline_placement::{Request, Scheme};

use crate::deltas::{MergeUnits, takes_delta};
use crate::map::{MapEntry, PageEntry};
use crate::memory::Array;
use crate::places::{Extent, Units};
use crate::steps::Write;
use crate::volume::Volume;
use crate::writes::Writes;
use crate::{LogError, MAX_LBA, WORD_LAST};

impl<S: Scheme> Volume<S> {
    /// Units of the record at a slot number of the map; 0 if there is none.
    pub(crate) fn units_at(&self, slot: u32) -> u32 {
        match slot >> self.shift {
            0 => 0,
            _ => self.lengths.get(self.place_of(slot)).map_or(1, |&length| u32::from(length)),
        }
    }

    /// The entry of an LBA, as the steps take it: that of a page that was never written if it is
    /// beyond the volume.
    pub fn entry_of(&self, lba: u32) -> PageEntry<S::Page> {
        let entry = self.map.get(lba as usize).copied();
        let MapEntry { slot, page } = entry.unwrap_or_else(MapEntry::zeroed);
        PageEntry { slot: self.slot(slot), page }
    }

    /// Changes the entry of an LBA, as a step left it.
    ///
    /// # Panics
    /// The LBA is beyond the volume.
    pub fn set_entry(&mut self, lba: u32, PageEntry { slot, page }: PageEntry<S::Page>) {
        let slot = (slot.zone << self.shift) + slot.offset;
        self.map[lba as usize] = MapEntry { slot, page };
    }

    /// Trims a page, its delta and its tail: see [`Volume::trim_entry`]. False if the page has no
    /// slot.
    ///
    /// # Errors
    /// The LBA is beyond the volume.
    pub fn trim(&mut self, page: u32) -> Result<bool, LogError> {
        self.trim_changes(page, true)?;
        self.trim_record(page)
    }

    /// Trims a page's tail, and if so said its delta, if pages have deltas.
    fn trim_changes(&mut self, page: u32, delta: bool) -> Result<(), LogError> {
        let delta = self.options.delta_of(page).filter(|_| delta);
        let lbas = delta.into_iter().chain(self.options.tail_of(page));
        lbas.into_iter().try_for_each(|lba| self.trim_record(lba).map(drop))
    }

    fn trim_record(&mut self, lba: u32) -> Result<bool, LogError> {
        self.check_lba(lba.into())?;
        let units = self.units_at(self.map[lba as usize].slot);
        let mut entry = self.entry_of(lba);
        let trimmed = self.trim_entry(lba.into(), &mut entry, units);
        self.set_entry(lba, entry);
        trimmed
    }

    /// The index of a slot number of the map in the reverse map.
    fn place_of(&self, slot: u32) -> usize {
        let at = self.slot(slot);
        self.base(at.zone) + at.offset as usize
    }

    /// Writes `range` of `writes`, cleaning when the trigger asks.
    pub(crate) fn write_all_records(
        &mut self,
        writes: &Writes<'_>,
        range: Range<usize>,
    ) -> Result<(), LogError> {
        if !writes.merges().is_empty() && self.merges.is_empty() {
            self.merges = Array::zeroed(self.options.space as usize)?;
        }
        for i in range {
            self.write_record(writes, i)?;
            self.clean_records(writes)?;
        }
        Ok(())
    }

    /// Writes a page as the delta or tail that it was in the trace, if the page takes it, or else
    /// as an image.
    fn write_record(&mut self, writes: &Writes<'_>, i: usize) -> Result<(), LogError> {
        let (page, last) = (writes.words[i] & MAX_LBA, writes.words[i] & WORD_LAST);
        self.check_lba(page.into())?;
        let (lba, after) = self.record_of(page, writes, i);
        let mut entry = self.entry_of(lba);
        let units = Units { before: self.units_at(self.map[lba as usize].slot), after };
        let begins = S::PER_REQUEST && writes.begins(i);
        let request = begins.then(|| Request {
            lba,
            pages: (writes.request_end(i) - i) as u32,
            now: self.now,
            valid: self.valid,
        });
        let (lifespan, hotness) = (writes.lifespan(i), writes.hotness(i));
        let is_last = last != 0;
        let write = Write {
            lba: lba.into(),
            last: is_last,
            lifespan,
            units,
            request,
            following: writes.following(i),
            hotness,
        };
        self.place_write(&mut entry, &write)?;
        self.set_entry(lba, entry);
        self.find_merges(page, writes, i);
        if Some(lba) != self.options.tail_of(page) {
            self.trim_changes(page, lba == page)?;
        }
        if lba == page {
            if S::BATCHED {
                self.hear(writes, i..i + 1);
            }
        } else if is_last {
            // The page's base is part of this version, and so is its delta.
            let delta = self.options.delta_of(page).filter(|&delta| delta != lba);
            for part in delta.into_iter().chain([page]) {
                let place = self.place_of(self.map[part as usize].slot);
                self.words[place] |= last;
            }
        }
        Ok(())
    }

    /// The LBA and the units of the record that write `i` of a page is.
    fn record_of(&self, page: u32, writes: &Writes<'_>, i: usize) -> (u32, u32) {
        let units = writes.units(i, self.options.page_units);
        let Some(delta) = self.options.delta_of(page).filter(|_| writes.is_delta(i)) else {
            return (page, units);
        };
        match self.units_at(self.map[page as usize].slot) {
            0 => (page, units),
            base if takes_delta(base, units) => match self.options.tail_of(page) {
                Some(tail) if writes.is_tail(i) && self.map[delta as usize].slot != 0 => {
                    (tail, units)
                }
                _ => (delta, units),
            },
            // The image's length is not known; it is about that of the last one.
            base => (page, base),
        }
    }

    /// Cleans until the trigger is satisfied, or nothing is left to clean.
    fn clean_records(&mut self, writes: &Writes<'_>) -> Result<(), LogError> {
        while self.cleaning_due() {
            self.end_stale();
            let victims = self.begin_cleaning();
            if victims.is_empty() {
                break;
            }
            for zone in victims {
                self.relocate_records(zone, writes)?;
                self.reset_if_due();
                let emptied = self.release(zone);
                debug_assert!(emptied, "zone {zone} holds records");
            }
        }
        Ok(())
    }

    /// A zone was cleaned. If as many wait to be reset as there are spare ones, a sync makes their
    /// copies durable, and they are reset.
    fn reset_if_due(&mut self) {
        if self.options.chunks.is_some() && self.unreset >= self.options.spare.max(1) {
            self.end_chunks();
            self.unreset = 0;
        }
        self.unreset += 1;
    }

    /// Copies the valid records of a victim.
    fn relocate_records(&mut self, zone: u32, writes: &Writes<'_>) -> Result<(), LogError> {
        let mut records = std::mem::take(&mut self.records);
        self.valid_records(zone, &mut records);
        self.batch.classes.clear();
        if self.scheme.is_batched() && self.scheme.destination(&self.event(zone)).is_none() {
            self.ask_about(zone, &records);
        }
        let copied = records.iter().enumerate().try_for_each(|(i, &(lba, from))| {
            let class = self.batch.classes.get(i).copied().flatten();
            self.relocate_record(lba, from, class, writes)
        });
        self.records = records;
        copied
    }

    /// Copies a record; a base with its delta and tail, if it has any, and their image is not too
    /// long.
    fn relocate_record(
        &mut self,
        lba: u32,
        from: Extent,
        class: Option<u8>,
        writes: &Writes<'_>,
    ) -> Result<(), LogError> {
        let mut entry = self.entry_of(lba);
        if let Some((lbas, units)) = self.merge_of(lba, from.units, writes) {
            let [mut delta, mut tail] = lbas.map(|lba| self.entry_of(lba));
            let parts = [(lbas[0].into(), &mut delta), (lbas[1].into(), &mut tail)];
            self.place_merged((lba.into(), &mut entry), parts, from, units, class)?;
            self.set_entry(lbas[0], delta);
            self.set_entry(lbas[1], tail);
        } else {
            self.place_relocation(lba.into(), &mut entry, from, from.units, class)?;
        }
        self.set_entry(lba, entry);
        Ok(())
    }

    /// The LBAs of delta and tail, and the units, if the record that cleaning moves is a base to be
    /// merged.
    fn merge_of(
        &mut self,
        lba: u32,
        base: u32,
        writes: &Writes<'_>,
    ) -> Option<([u32; 2], MergeUnits)> {
        if self.options.is_delta(lba.into()) {
            return None;
        }
        let lbas = [self.options.delta_of(lba)?, self.options.tail_of(lba)?];
        let [delta, tail] = lbas.map(|lba| self.units_at(self.map[lba as usize].slot));
        if delta == 0 || !self.may_merge() {
            return None;
        }
        let merged = self.next_merge(lba, writes).unwrap_or(base);
        let units = MergeUnits { base, delta, tail, merged };
        units.fit().then_some((lbas, units))
    }

    /// Finds the merges that the trace has of the version that write `i` is.
    fn find_merges(&mut self, page: u32, writes: &Writes<'_>, i: usize) {
        if let Some(next) = self.merges.get_mut(page as usize) {
            let first = writes.merges().partition_point(|merge| (merge.write as usize) < i);
            let found = writes.merges().get(first).is_some_and(|merge| merge.write as usize == i);
            *next = if found { first as u32 + 1 } else { 0 };
        }
    }

    /// Units of the image that a page's base, delta and tail made in the trace. A version may have
    /// been tried several times, because an image that is longer than all is not placed.
    fn next_merge(&mut self, page: u32, writes: &Writes<'_>) -> Option<u32> {
        let next = self.merges.get_mut(page as usize)?;
        let at = next.checked_sub(1)? as usize;
        let merge = writes.merges().get(at)?;
        let again = writes.merges().get(at + 1).is_some_and(|other| other.write == merge.write);
        *next += u32::from(again);
        // An image is no longer than a page, whatever a trace says.
        Some(writes.lengths?.units_of(merge.bytes).min(self.options.page_units))
    }

    /// Lets the scheme place all valid records of a victim at once.
    fn ask_about(&mut self, zone: u32, records: &[(u32, Extent)]) {
        self.batch.clear();
        for &(lba, from) in records {
            let place = self.base(from.slot.zone) + from.slot.offset as usize;
            self.batch.lbas.push(lba);
            self.batch.last.push(self.words[place] & WORD_LAST != 0);
            self.batch.states.push(self.map[lba as usize].page);
            self.batch.hotness.extend(self.hotness.get(lba as usize));
        }
        let victim = self.victim(zone);
        self.batch.ask(&mut self.scheme, &victim);
    }

    /// Finds the valid records of a zone, in order.
    fn valid_records(&self, zone: u32, into: &mut Vec<(u32, Extent)>) {
        into.clear();
        let (base, first) = (self.base(zone), zone << self.shift);
        let mut offset = 0;
        while offset < self.zone_units {
            let place = base + offset as usize;
            let units = u32::from(self.lengths[place]);
            if units == 0 {
                break;
            }
            let lba = self.words[place] & MAX_LBA;
            if self.map[lba as usize].slot == first + offset {
                into.push((lba, Extent { slot: self.slot(first + offset), units }));
            }
            offset += units;
        }
    }
}
