//! Records of variable size in a volume that keeps its whole map, as the simulator does.
//!
//! Each record is placed by the steps that a store takes ([`Volume::place_user`],
//! [`Volume::place_relocation`]), one by one: runs are only for pages of one slot.

use std::ops::Range;

use frostline_placement::{Request, Scheme};

use crate::places::{Extent, Units};
use crate::run::Writes;
use crate::steps::Write;
use crate::volume::Volume;
use crate::{LogError, MAX_LBA, WORD_LAST};

impl<S: Scheme> Volume<S> {
    /// Units of the record at a slot number of the map; 0 if there is none.
    pub(crate) fn units_at(&self, slot: u32) -> u32 {
        let at = self.slot(slot);
        let place = self.base(at.zone) + at.offset as usize;
        match at.zone {
            0 => 0,
            _ => self.lengths.get(place).map_or(1, |&length| u32::from(length)),
        }
    }

    /// Writes `range` of `writes`, cleaning when the trigger asks. It is a function of its own,
    /// because in the function with the loop of runs it would take registers from that loop.
    #[inline(never)]
    pub(crate) fn write_records(
        &mut self,
        writes: &Writes<'_>,
        range: Range<usize>,
    ) -> Result<(), LogError> {
        for i in range {
            let word = writes.words[i];
            let lba = word & MAX_LBA;
            self.check_lba(lba)?;
            let mut entry = self.map[lba as usize];
            let units = Units {
                before: self.units_at(entry.slot),
                after: writes.units(i, self.options.page_units),
            };
            let begins = S::PER_REQUEST && writes.begins(i);
            let request = begins.then(|| Request {
                lba,
                pages: (writes.request_end(i) - i) as u32,
                now: self.now,
                valid: self.valid,
            });
            let (lifespan, hotness) = (writes.lifespan(i), writes.hotness(i));
            self.place_write(&mut entry, &Write { word, lifespan, units, request, hotness })?;
            self.map[lba as usize] = entry;
            if S::BATCHED {
                self.hear(writes, i..i + 1);
            }
            self.clean_records()?;
        }
        Ok(())
    }

    /// Cleans until the trigger is satisfied, or nothing is left to clean.
    fn clean_records(&mut self) -> Result<(), LogError> {
        while self.cleaning_due() {
            self.end_stale();
            let victims = self.begin_cleaning();
            if victims.is_empty() {
                break;
            }
            for zone in victims {
                self.relocate_records(zone)?;
                let emptied = self.release(zone);
                debug_assert!(emptied, "zone {zone} holds records");
            }
        }
        Ok(())
    }

    /// Copies the valid records of a victim.
    fn relocate_records(&mut self, zone: u32) -> Result<(), LogError> {
        let mut records = std::mem::take(&mut self.records);
        self.valid_records(zone, &mut records);
        self.batch.classes.clear();
        if self.scheme.is_batched() && self.scheme.destination(&self.event(zone)).is_none() {
            self.ask_about(zone, &records);
        }
        let copied = records.iter().enumerate().try_for_each(|(i, &(lba, from))| {
            let mut entry = self.map[lba as usize];
            let class = self.batch.classes.get(i).copied().flatten();
            self.place_relocation(lba, &mut entry, from, from.units, class)?;
            self.map[lba as usize] = entry;
            Ok(())
        });
        self.records = records;
        copied
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
