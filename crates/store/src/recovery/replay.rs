//! Of each page the newest state, and where that leaves the zones.

use std::collections::BTreeMap;

use frostline_log::{Extent, Slot};
use frostline_zone::ZoneState;

use super::run::{Latest, Recovery};
use super::zone_epoch::{PostCheckpointChunk, ZoneEpoch};
use crate::format::records::{NO_LBA, Record, RecordKind};
use crate::format::{Note, OPENED, PAGE, TRIMMED};
use crate::{Loss, StoreError};

/// Deltas and tails that were written or copied since the checkpoint, each with its page. One list
/// takes a fifth of the memory of lists by page.
#[derive(Default)]
struct LateChanges {
    deltas: Vec<(u32, Latest)>,
    tails: Vec<(u32, Latest)>,
}

impl LateChanges {
    fn sort(&mut self) {
        [&mut self.deltas, &mut self.tails].into_iter().for_each(|all| all.sort_by_key(of_page));
    }

    fn pages(&self) -> impl Iterator<Item = u32> {
        self.deltas.iter().chain(&self.tails).map(of_page)
    }
}

fn of_page(&(page, _): &(u32, Latest)) -> u32 {
    page
}

/// Of a page's records in a list, which is sorted, the newest that is of this one, known by its sum
/// and its time.
fn newest_of(parent: Option<(u32, u64)>, page: u32, records: &[(u32, Latest)]) -> Option<Latest> {
    let (sum, time) = parent?;
    let of_page = records[records.partition_point(|&(other, _)| other < page)..]
        .iter()
        .take_while(|&&(other, _)| other == page)
        .map(|&(_, record)| record);
    let of_parent = of_page.filter(|record| record.other == sum && record.time > time);
    of_parent.max_by_key(|record| (record.time, record.seq))
}

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
        let (mut trims, mut late) = (Vec::new(), LateChanges::default());
        for note in self.notes.iter().filter(|n| n.tag == TRIMMED) {
            trims.push((note.target, Latest::trimmed(note.time)));
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
                let to = Some((chunk.epoch, at.slot.offset));
                let (seq, units) = (chunk.head.seq, at.units);
                let found = Latest { time, seq, to, units, sum, other };
                if lba == NO_LBA {
                    continue;
                }
                let page = sizes.page_of(lba);
                match sizes.kind(lba) {
                    RecordKind::Image => self.take(lba, found),
                    RecordKind::Delta => late.deltas.push((page, found)),
                    RecordKind::Tail => late.tails.push((page, found)),
                }
            }
            let padding = ((1 + chunk.head.pages) * sizes.page_units()).saturating_sub(used);
            self.found.padding_bytes += u64::from(padding) * slot;
        }
        for (lba, trim) in trims {
            self.time = self.time.max(trim.time);
            self.take(lba.into(), trim);
        }
        late.sort();
        self.take_changes(&late)
    }

    fn take(&mut self, lba: u64, found: Latest) {
        let latest = self.latest.entry(lba).or_insert(found);
        if (found.time, found.seq) > (latest.time, latest.seq) {
            *latest = found;
        }
    }

    /// Finds the newest delta of every page's newest image, and the newest tail of that. Records of
    /// others do not count: a crash may have taken the image that a delta is of, and left the
    /// delta.
    fn take_changes(&mut self, late: &LateChanges) -> Result<(), StoreError> {
        let sizes = self.engine.core.layout.sizes;
        if sizes.first_delta() == 0 {
            return Ok(());
        }
        let mut pages: Vec<u64> = self.latest.keys().copied().collect();
        pages.extend(late.pages().map(u64::from));
        pages.sort_unstable();
        pages.dedup();
        let logical_pages = self.engine.core.layout.fixed.logical_pages;
        for page in pages.into_iter().filter(|&page| page < logical_pages) {
            let page = page as u32;
            let lbas = sizes.delta_of(page).zip(sizes.tail_of(page));
            let Some((of_delta, of_tail)) = lbas else { continue };
            let mapped = self.engine.loader.mapped(self.engine.core.state()?, page)?;
            let before = mapped.place_of(RecordKind::Image).map(|(_, sum)| sum);
            let [delta, tail] = mapped.changes().map(|place| place.map(|(_, sum)| sum));
            drop(mapped);
            let image = self.latest.get(&page.into()).copied();
            // The table's delta is still one of a copy of its image, if cleaning did not merge
            // both.
            let stays = image.is_none_or(|image| {
                let is_copy = image.to.is_some() && image.time <= self.head.time;
                is_copy && before == Some(image.sum) && ![delta, tail].contains(&Some(image.other))
            });
            let delta_before = delta.filter(|_| stays);
            let parent = match image {
                Some(image) => image.to.is_some().then_some((image.sum, image.time)),
                None => before.map(|sum| (sum, 0)),
            };
            let newest = newest_of(parent, page, &late.deltas);
            self.take_change(of_delta, newest, delta.is_some() && !stays);
            // The newest delta, or the table's, of which a tail is.
            let parent = match newest {
                Some(delta) => Some((delta.sum, 0)),
                None => delta_before.map(|sum| (sum, 0)),
            };
            let stays = parent.is_some_and(|(sum, _)| delta_before == Some(sum));
            let newest = newest_of(parent, page, &late.tails);
            self.take_change(of_tail, newest, tail.is_some() && !stays);
            self.engine.loader.drop_clean_leaves()?;
        }
        Ok(())
    }

    /// Takes the newest delta or tail of a page; without one, that of the table counts no more if
    /// it `ended`.
    fn take_change(&mut self, lba: u64, newest: Option<Latest>, ended: bool) {
        let latest = newest.or(ended.then(|| Latest::trimmed(0)));
        if let Some(latest) = latest {
            self.latest.insert(lba, latest);
        }
    }

    /// Counts the pages of the table's zones that have a newer state as garbage there.
    pub(super) fn count_old(&mut self) -> Result<(), StoreError> {
        let by_zone: BTreeMap<u32, usize> = self
            .epochs
            .iter()
            .enumerate()
            .filter(|(_, epoch)| epoch.row.is_some())
            .map(|(index, epoch)| (epoch.zone, index))
            .collect();
        let lbas: Vec<u64> = self.latest.keys().copied().collect();
        for lba in lbas {
            let layout = &self.engine.core.layout;
            if lba >= layout.sizes.lbas(layout.fixed.logical_pages) {
                self.latest.remove(&lba);
                if let Some(salvage) = &mut self.salvage {
                    salvage.beyond = salvage.beyond.max(Some(layout.sizes.page_of(lba)));
                }
                continue;
            }
            let page = self.engine.loader.mapped(self.engine.core.state()?, lba)?;
            let old = page.place().map(|(at, _)| at);
            drop(page);
            if let Some(old) = old
                && let Some(&index) = by_zone.get(&old.slot.zone)
            {
                self.epochs[index].valid -= i64::from(old.units);
                self.count_valid(lba, -1);
            }
            self.engine.loader.drop_clean_leaves()?;
        }
        let latest = std::mem::take(&mut self.latest);
        for (&lba, state) in &latest {
            if let Some((index, _)) = state.to {
                self.epochs[index].valid += i64::from(state.units);
                self.count_valid(lba, 1);
            }
        }
        self.latest = latest;
        Ok(())
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
        for (&lba, latest) in &self.latest {
            let mut page = self.engine.loader.mapped(self.engine.core.state()?, lba)?;
            let to = latest.to.map(|(index, offset)| {
                let slot = Slot { zone: self.epochs[index].zone, offset };
                (Extent { slot, units: latest.units }, latest.sum)
            });
            let before = page.change_units();
            page.point(to);
            self.changes.update(before, page.change_units());
            drop(page);
            self.engine.loader.drop_clean_leaves()?;
        }
        Ok(())
    }

    /// Marks the pages that lay in zones which are gone, and which no newer copy was found of.
    pub(super) fn lose_pages(&mut self, zones: &mut BTreeMap<u32, Loss>) -> Result<(), StoreError> {
        let mut next = 0;
        while let Some(leaf) = self.engine.loader.next_leaf(next)? {
            next = leaf + 1;
            for (lba, at, _) in self.engine.loader.records_of_leaf(leaf)? {
                if let Some(loss) = zones.get_mut(&at.slot.zone)
                    && !self.latest.contains_key(&lba)
                {
                    loss.add(self.engine.core.layout.sizes.page_of(lba));
                    self.count_valid(lba, -1);
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
    fn count_valid(&mut self, lba: u64, change: i64) {
        self.valid += change;
        if self.engine.core.layout.sizes.is_delta(lba) {
            self.deltas += change;
        }
    }
}
