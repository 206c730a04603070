//! Cleaning: the valid records of victims are given one by one, or merged with their changes.

use frostline_placement::Scheme;

use super::{RecordReplay, Replay};
use crate::places::{Extent, Slot};
use crate::steps::{Given, MergeUnits};
use crate::writes::Writes;
use crate::{LogError, MAX_LBA, WORD_LAST};

impl<S: Scheme> RecordReplay<S> {
    /// Cleans until the trigger is satisfied, or nothing is left to clean.
    pub(super) fn clean_while_due(&mut self, writes: &Writes<'_>) -> Result<(), LogError> {
        while self.log().cleaning_due() {
            self.log_mut().end_stale();
            let victims = self.log_mut().begin_cleaning();
            if victims.is_empty() {
                break;
            }
            for zone in victims {
                self.relocate_records(zone, writes)?;
                self.reset_if_due();
                let emptied = self.log_mut().release(zone);
                assert!(emptied, "zone {zone} holds records");
            }
        }
        Ok(())
    }

    /// A zone was cleaned. If as many wait to be reset as there are spare ones, a sync makes their
    /// copies durable, and they are reset.
    fn reset_if_due(&mut self) {
        if self.options().chunks.is_some() && self.unreset >= self.options().spare.max(1) {
            self.sync();
            self.unreset = 0;
        }
        self.unreset += 1;
    }

    /// Copies the valid records of a victim.
    fn relocate_records(&mut self, zone: u32, writes: &Writes<'_>) -> Result<(), LogError> {
        let mut records = std::mem::take(&mut self.records);
        self.valid_records(zone, &mut records);
        self.batch.clear();
        if self.steps.offers_batch(zone) {
            self.ask_about(zone, &records);
        }
        let given = records.iter().enumerate().try_for_each(|(i, &(lba, from))| {
            let class = self.batch.classes.get(i).copied().flatten();
            self.relocate_record(lba, from, class, writes)
        });
        self.records = records;
        given
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
        let word = self.reverse.word(self.log().place(from.slot));
        let given = Given { class, last: word & WORD_LAST != 0 };
        let mut entry = self.entry_of(lba);
        let (placed, units) = match self.merge_of(lba, from.units, writes) {
            Some((lbas, units)) => {
                let [mut delta, mut tail] = lbas.map(|lba| self.entry_of(lba));
                let parts = [(lbas[0].into(), &mut delta), (lbas[1].into(), &mut tail)];
                let base = (lba.into(), &mut entry);
                let placed = self.steps.place_merged(base, parts, from, units, given)?;
                self.set_entry(lbas[0], delta);
                self.set_entry(lbas[1], tail);
                (placed, units.merged)
            }
            None => {
                let units = from.units;
                (self.steps.place_relocation(lba.into(), &mut entry, from, units, given)?, units)
            }
        };
        self.set_entry(lba, entry);
        placed.map_or(Ok(()), |placed| self.note(placed, word, units))
    }

    /// The LBAs of delta and tail, and the units, if the record that cleaning moves is a base to be
    /// merged.
    fn merge_of(
        &mut self,
        lba: u32,
        base: u32,
        writes: &Writes<'_>,
    ) -> Option<([u32; 2], MergeUnits)> {
        if self.options().is_delta(lba.into()) {
            return None;
        }
        let lbas = [self.options().delta_of(lba)?, self.options().tail_of(lba)?];
        let [delta, tail] = lbas.map(|lba| self.units_of(lba));
        if delta == 0 || !self.steps.may_merge() {
            return None;
        }
        let most = self.options().page_units;
        let merges = self.merges.as_mut();
        let merged = merges.and_then(|merges| merges.next(lba, writes, most)).unwrap_or(base);
        let units = MergeUnits { base, delta, tail, merged };
        units.fit().then_some((lbas, units))
    }

    /// Lets the scheme place all valid records of a victim at once.
    fn ask_about(&mut self, zone: u32, records: &[(u32, Extent)]) {
        for &(lba, from) in records {
            let word = self.reverse.word(self.log().place(from.slot));
            self.batch.add(word, self.steps.map()[lba as usize].page, self.hotness.of(lba));
        }
        let victim = self.log().victim(zone);
        self.batch.ask(self.steps.log_mut().scheme_mut(), &victim);
    }

    /// Finds the valid records of a zone, in order.
    fn valid_records(&self, zone: u32, into: &mut Vec<(u32, Extent)>) {
        into.clear();
        let (mut offset, mut valid) = (0, 0);
        while offset < self.log().zone_units() {
            let slot = Slot { zone, offset };
            let place = self.log().place(slot);
            let units = self.reverse.units(place);
            let lba = self.reverse.word(place) & MAX_LBA;
            if units > 0 && self.slot_of(lba) == Some(slot) {
                into.push((lba, Extent { slot, units }));
                valid += units;
            }
            // Padding of a chunk or of the zone is passed unit by unit.
            offset += units.max(1);
        }
        assert_eq!(valid, self.log().valid_in(zone), "valid units of zone {zone}");
    }
}
