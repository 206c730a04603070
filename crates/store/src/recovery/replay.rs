//! Of each page the newest state, and where that leaves the zones.

use std::collections::BTreeMap;

use frostline_log::{Extent, Slot};
use frostline_zone::ZoneState;

use super::newest::{KINDS, LateRecords, Latest, newest};
use super::run::Recovery;
use super::zone_epoch::{PostCheckpointChunk, ZoneEpoch};
use crate::format::records::{NO_LBA, Record, RecordKind};
use crate::format::{Note, OPENED, PAGE, TRIMMED};
use crate::{Loss, StoreError};

impl Recovery<'_> {
    /// Adds the zones that were opened since the checkpoint.
    pub(super) fn add_opened(&mut self) {
        let data = &self.engine.core.layout.data;
        let opened: Vec<Note> = self.notes.iter().filter(|n| n.tag == OPENED).copied().collect();
        let is_possible = |n: &&Note| {
            data.contains(&n.device_zone) && (n.target as usize) <= data.len() && n.opening > 0
        };
        for note in opened.iter().filter(is_possible) {
            let Note { device_zone, target, opening, class, time, .. } = *note;
            self.epochs.push(ZoneEpoch::opened(device_zone, target, opening, class, time as u32));
        }
    }

    /// Finds the newest state of every page that was written, copied or trimmed.
    pub(super) fn replay(&mut self, chunks: Vec<PostCheckpointChunk>) -> Result<(), StoreError> {
        let mut late = LateRecords::default();
        for note in self.notes.iter().filter(|n| n.tag == TRIMMED) {
            self.time = self.time.max(note.time);
            late.add(note.target, RecordKind::Image, Latest::ended(note.time));
        }
        for chunk in chunks {
            self.found.headers += 1;
            let sizes = self.engine.core.layout.sizes;
            let (mut used, slot) = (chunk.head.header, u64::from(sizes.unit()));
            self.found.header_bytes += u64::from(used) * slot;
            for (at, &Record { lba, sum, time, other, .. }) in
                sizes.extents(0, chunk.head.first, &chunk.records)
            {
                used += at.units;
                let bytes = u64::from(at.units) * slot;
                self.time = self.time.max(time);
                match time > self.head.time {
                    true => {
                        self.found.user += 1;
                        self.found.user_bytes += bytes;
                    }
                    false => {
                        self.found.relocations += 1;
                        self.found.relocated_bytes += bytes;
                    }
                }
                if lba == NO_LBA {
                    continue;
                }
                let to = Some((chunk.epoch as u32, at.slot.offset));
                let (seq, units) = (chunk.head.seq, at.units);
                let record = Latest { time, seq, to, units, sum, other };
                late.add(sizes.page_of(lba), sizes.kind(lba), record);
            }
            let padding = ((1 + chunk.head.pages) * sizes.page_units()).saturating_sub(used);
            self.found.padding_bytes += u64::from(padding) * slot;
        }
        late.sort();
        self.take_newest(&late)
    }

    /// Finds the newest records of every page, and counts those of the table's zones that they
    /// replace as garbage there.
    fn take_newest(&mut self, late: &LateRecords) -> Result<(), StoreError> {
        let (engine, checkpoint) = (self.engine, self.head.time);
        let mut of_table = vec![None; engine.core.layout.data.len() + 1];
        for (index, epoch) in self.epochs.iter().enumerate().filter(|(_, e)| e.row.is_some()) {
            of_table[epoch.zone as usize] = Some(index);
        }
        let logical_pages = engine.core.layout.fixed.logical_pages;
        let is_page = |page: u32| u64::from(page) < logical_pages;
        if let Some(salvage) = &mut self.salvage {
            salvage.beyond = salvage.beyond.max(late.last_page().filter(|&page| !is_page(page)));
        }
        engine.loader.each_mapped(
            late.by_page().take_while(|&(page, _)| is_page(page)),
            |&(page, _)| page,
            |mapped, (page, late)| {
                let before = mapped.places();
                let newest = newest(late, before, checkpoint);
                let had = before.map(|place| place.map_or(0, |(at, _)| at.units));
                let has: [u32; 3] = std::array::from_fn(|kind| match newest[kind] {
                    Some(latest) if latest.to.is_some() => latest.units,
                    Some(_) => 0,
                    None => had[kind],
                });
                let [had, has] = [had, has].map(|units| mapped.change_units_of(units));
                self.changes.update(had, has);
                for ((kind, latest), before) in KINDS.into_iter().zip(newest).zip(before) {
                    let Some(latest) = latest else { continue };
                    let of_table = |zone: u32| of_table.get(zone as usize).copied().flatten();
                    if let Some((at, _)) = before
                        && let Some(index) = of_table(at.slot.zone)
                    {
                        self.epochs[index].valid -= i64::from(at.units);
                        self.count_valid(kind, -1);
                    }
                    if let Some((index, _)) = latest.to {
                        self.epochs[index as usize].valid += i64::from(latest.units);
                        self.count_valid(kind, 1);
                    }
                    self.latest.push((page, kind, latest));
                }
            },
        )
    }

    /// Drops epochs that hold nothing any more. Returns zones of the table whose pages are gone.
    pub(super) fn drop_dead_epochs(&mut self) -> BTreeMap<u32, Loss> {
        let mut lost = BTreeMap::new();
        let holders: BTreeMap<u32, u64> = self
            .epochs
            .iter()
            .filter(|epoch| !epoch.chunks.is_empty())
            .map(|epoch| (epoch.device_zone, epoch.opening))
            .collect();
        for epoch in &mut self.epochs {
            let info = self.info[epoch.device_zone as usize];
            let written = info.write_pointer / PAGE as u64;
            // Of what came later a crash may have torn the end.
            let durable = epoch.row.map_or(0, |row| u64::from(row.pages));
            // A later opening that left chunks has the zone now.
            let newer = holders.get(&epoch.device_zone).is_some_and(|&o| o > epoch.opening);
            let gone = match info.state {
                ZoneState::Offline => "is offline".to_string(),
                _ if written < durable => format!("ends at page {written} of {durable}"),
                _ if newer => "was written anew".to_string(),
                _ => continue,
            };
            if epoch.valid > 0 && epoch.row.is_some() {
                lost.insert(epoch.zone, Loss::new(epoch.device_zone, gone));
            } else if info.state == ZoneState::Offline
                && epoch.row.is_none_or(|row| !row.is_sealed())
            {
                let what = format!("{gone}, and may hold what came after the last checkpoint");
                self.missing.push(Loss::new(epoch.device_zone, what));
            }
            epoch.valid = epoch.valid.min(0);
        }
        lost
    }

    /// Gives zones opened since the checkpoint a number that no other epoch has.
    pub(super) fn number_epochs(&mut self) {
        let live = |epoch: &&ZoneEpoch| epoch.valid > 0;
        let mut taken = vec![false; self.engine.core.layout.data.len() + 1];
        taken[0] = true;
        let of_table = |epoch: &&ZoneEpoch| epoch.row.is_some();
        self.epochs
            .iter()
            .filter(live)
            .filter(of_table)
            .for_each(|l| taken[l.zone as usize] = true);
        for epoch in self.epochs.iter_mut().filter(|l| l.valid > 0 && l.row.is_none()) {
            let own = taken.get(epoch.zone as usize).is_some_and(|taken| !taken);
            let free = taken.iter().position(|taken| !taken).unwrap_or(0) as u32;
            epoch.zone = if own { epoch.zone } else { free };
            taken[epoch.zone as usize] = true;
        }
    }

    /// Points the map to the newest copies.
    pub(super) fn point_pages(&mut self) -> Result<(), StoreError> {
        let Recovery { engine, latest, epochs, .. } = self;
        let by_page = latest.chunk_by(|(page, ..), (other, ..)| page == other);
        engine.loader.each_mapped(
            by_page,
            |of_page| of_page[0].0,
            |mapped, of_page| {
                for (_, kind, latest) in of_page {
                    let to = latest.to.map(|(index, offset)| {
                        let slot = Slot { zone: epochs[index as usize].zone, offset };
                        (Extent { slot, units: latest.units }, latest.sum)
                    });
                    mapped.point(*kind, to);
                }
            },
        )
    }

    /// Marks the pages that lay in zones which are gone, and which no newer copy was found of.
    pub(super) fn lose_pages(&mut self, zones: &mut BTreeMap<u32, Loss>) -> Result<(), StoreError> {
        let mut next = 0;
        while let Some(leaf) = self.engine.loader.next_leaf(next)? {
            next = leaf + 1;
            for (lba, at, _) in self.engine.loader.records_of_leaf(leaf)? {
                let sizes = self.engine.core.layout.sizes;
                let (record, kind) = ((sizes.page_of(lba), sizes.kind(lba)), sizes.kind(lba));
                if let Some(loss) = zones.get_mut(&at.slot.zone)
                    && self.latest.binary_search_by_key(&record, |r| (r.0, r.1)).is_err()
                {
                    loss.add(record.0);
                    self.count_valid(kind, -1);
                    let mut page = self.engine.loader.mapped(self.engine.core.state()?, lba)?;
                    let before = page.change_units();
                    page.lose();
                    self.changes.update(before, page.change_units());
                }
            }
            self.engine.loader.drop_clean_leaves()?;
        }
        Ok(())
    }

    /// Counts a valid record more or less.
    fn count_valid(&mut self, kind: RecordKind, change: i64) {
        self.valid += change;
        if kind != RecordKind::Image {
            self.deltas += change;
        }
    }
}
