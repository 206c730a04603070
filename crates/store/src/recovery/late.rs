//! Late chunks, those written since the checkpoint, and how far their pages can be trusted.

use std::collections::{BTreeMap, BTreeSet};

use frostline_zone::{AlignedBuf, ZoneInfo, ZoneRead, ZoneState};

use super::log::first_missing;
use super::run::{Gap, Recovery};
use super::zone_epoch::{PostCheckpointChunk, ZoneEpoch};
use crate::engine::other_copy::read_verified;
use crate::error::of_zone;
use crate::format::chunk_place::ChunkPlace;
use crate::format::head::ChunkHead;
use crate::format::layout::MOST_RECORDS;
use crate::format::records::{NO_LBA, Sizes};
use crate::format::{Group, MOST_MARKS, Note, PAGE, Witness};
use crate::{Loss, StoreError};

/// Headers that are read together, at most.
const TOGETHER: usize = 64;

/// A chunk in a zone that nothing names.
struct UnnamedChunk {
    device_zone: u32,
    page: u32,
    head: ChunkHead,
}

impl Recovery<'_> {
    /// The chunks written since the checkpoint, in every zone that could hold one.
    pub(super) fn late_chunks(&mut self) -> Result<Vec<PostCheckpointChunk>, StoreError> {
        let mut chunks = Vec::new();
        self.scan_together(&mut chunks)?;
        for epoch in 0..self.epochs.len() {
            if !self.epochs[epoch].ended {
                self.scan_zone(epoch, &mut chunks)?;
            }
        }
        chunks.sort_by_key(|chunk| (chunk.epoch, chunk.start));
        // A chunk that is not known to have been durable may be torn: a page counts if it is whole.
        let unnamed = match self.salvage {
            None => self.chunks_of_unnamed_zones()?,
            Some(_) => Vec::new(),
        };
        let heads = chunks.iter().map(|chunk| &chunk.head).chain(unnamed.iter().map(|c| &c.head));
        let known = heads.map(|head| head.durable).max().unwrap_or(0);
        let known = known.max(self.last_seq).max(self.durable.chunks);
        if self.salvage.is_none() {
            self.check_missing(&chunks, &unnamed, known)?;
            self.find_missing_chunks(&chunks, known);
        }
        self.sort_gaps(&chunks, known);
        let damaged = self.salvage.as_ref().map(|s| s.damaged.clone()).unwrap_or_default();
        let unsure =
            |c: &&mut PostCheckpointChunk| c.head.seq > known || damaged.contains(&c.epoch);
        for chunk in chunks.iter_mut().filter(unsure) {
            self.verify(chunk)?;
        }
        self.drop_cut_groups(&mut chunks, known)?;
        let last = chunks.iter().map(|c| c.head.seq).max().unwrap_or(0);
        // A chunk up to that number may be gone with its zone, and the number is given to no other.
        self.last_seq = self.last_seq.max(last).max(known);
        for Witness { slot, mark, .. } in chunks.iter().map(|chunk| chunk.witness) {
            if slot < MOST_MARKS && mark > 0 {
                let known = self.marks.entry(slot).or_default();
                *known = mark.max(*known);
            }
        }
        Ok(chunks)
    }

    /// Finds what was durable and is missing now: notes before those that chunks tell of, and
    /// headers before a chunk up to number `known`.
    fn check_missing(
        &self,
        chunks: &[PostCheckpointChunk],
        unnamed: &[UnnamedChunk],
        known: u64,
    ) -> Result<(), StoreError> {
        let damaged = |zone, page, why: &str| StoreError::Damaged { zone, page, why: why.into() };
        // Notes that a zone took which is offline are known to be missing.
        let is_known =
            self.missing.iter().any(|loss| self.engine.core.layout.meta.contains(&loss.zone));
        let found = first_missing(&self.notes, self.head.next_serial);
        if self.durable.notes > found && !is_known {
            let at = self.engine.metadata.log()?.position().unwrap_or_default();
            let pages = self.engine.core.layout.fixed.device_pages;
            let zone = self.engine.core.layout.meta.get((at / pages) as usize);
            let why =
                "notes of zones or trims that were durable are missing, behind this or before";
            return Err(damaged(zone.copied().unwrap_or_default(), at % pages, why));
        }
        let found = found as u32;
        let tells = |head: &ChunkHead| !is_known && (head.noted.wrapping_sub(found) as i32) > 0;
        let late = chunks.iter().find(|chunk| tells(&chunk.head));
        let late = late.map(|chunk| (self.epochs[chunk.epoch].device_zone, chunk.start));
        let unnamed = unnamed.iter().find(|chunk| tells(&chunk.head));
        let unnamed = unnamed.map(|chunk| (chunk.device_zone, chunk.page));
        if let Some((zone, page)) = late.or(unnamed) {
            let why = "notes of zones or trims that were durable before this chunk are missing";
            return Err(damaged(zone, page, why));
        }
        match self.epochs.iter().find(|epoch| epoch.behind.is_some_and(|seq| seq <= known)) {
            None => Ok(()),
            Some(epoch) => {
                let why = "the header of a chunk is damaged, and what its pages are is not known";
                Err(damaged(epoch.device_zone, epoch.pages, why))
            }
        }
    }

    /// Finds chunks up to number `known`, all of which were durable, that are missing and were not
    /// given up, or that end behind the end of their zone. Those that are there say where the chunk
    /// before lies.
    fn find_missing_chunks(&mut self, chunks: &[PostCheckpointChunk], known: u64) {
        let given_up = self.notes.iter().flat_map(Note::given_up);
        let mut found: BTreeMap<u64, Witness> =
            given_up.map(|seq| (seq, Witness::default())).collect();
        let mut cut = BTreeMap::new();
        let mut miss = |zone: u32, page: u32| {
            let first = cut.entry(zone).or_insert(page);
            *first = page.min(*first);
        };
        for PostCheckpointChunk { epoch, start, head, is_cut, .. } in chunks {
            if *is_cut && head.seq <= known && !found.contains_key(&head.seq) {
                miss(self.epochs[*epoch].device_zone, *start);
            }
        }
        found.extend(chunks.iter().map(|chunk| (chunk.head.seq, chunk.witness)));
        let (mut next, mut elsewhere) = (self.head.next_seq, None);
        for (&seq, witness) in found.range(next..) {
            match seq.min(known.saturating_add(1)).checked_sub(next) {
                Some(1..) if seq - 1 <= known && witness.opening != 0 => {
                    miss(witness.zone, witness.page);
                }
                Some(1..) => elsewhere = elsewhere.or(Some((next, known.min(seq - 1)))),
                _ => {}
            }
            next = seq.saturating_add(1);
        }
        if next <= known {
            elsewhere = elsewhere.or(Some((next, known)));
        }
        let is_offline =
            |info: Option<&ZoneInfo>| info.is_none_or(|i| i.state == ZoneState::Offline);
        for (zone, page) in cut {
            let is_known = self.missing.iter().any(|loss| loss.zone == zone);
            if !is_known && !is_offline(self.info.get(zone as usize)) {
                let what = format!("has lost what lay there from page {page} on");
                self.missing.push(Loss::new(zone, what));
            }
        }
        // A zone that is offline, or otherwise named, may have held them.
        let may_hold = |epoch: &ZoneEpoch| {
            let is_late = epoch.row.is_none_or(|row| !row.is_sealed());
            is_late && is_offline(self.info.get(epoch.device_zone as usize))
        };
        if let Some((first, last)) = elsewhere
            && self.missing.is_empty()
            && !self.epochs.iter().any(may_hold)
        {
            let what = match first == last {
                true => format!("or another zone has lost chunk {first}, which was durable"),
                false => {
                    format!("or another zone has lost chunks {first} to {last}, which were durable")
                }
            };
            self.missing.push(Loss::new(self.zone_with_more(), what));
        }
    }

    /// The zone that most likely held a chunk which is missing: one that goes on behind the last
    /// chunk that can be read there, or the one that took the last chunk.
    fn zone_with_more(&self) -> u32 {
        let goes_on = |epoch: &&ZoneEpoch| {
            let info = self.info[epoch.device_zone as usize];
            !epoch.late.is_empty() && info.write_pointer > u64::from(epoch.pages) * PAGE as u64
        };
        let last = || self.epochs.iter().max_by_key(|epoch| epoch.late.last().copied());
        let epoch = self.epochs.iter().find(goes_on).or_else(last);
        epoch
            .map(|epoch| epoch.device_zone)
            .or(self.engine.core.layout.data.first().copied())
            .unwrap_or_default()
    }

    /// The chunks in zones that neither the table nor a note names. A crash leaves such zones if it
    /// takes the note of their opening; closing leaves one if no zone was open. What these chunks
    /// tell was durable all the same.
    fn chunks_of_unnamed_zones(&self) -> Result<Vec<UnnamedChunk>, StoreError> {
        let written = |zone: u32| (self.info[zone as usize].write_pointer / PAGE as u64) as u32;
        // Another opening of a named zone may lie there, if it was reset since.
        let is_there = |epoch: &&ZoneEpoch| match epoch.row {
            Some(row) => written(epoch.device_zone) >= row.pages,
            None => epoch.pages > 0,
        };
        let named = self.epochs.iter().filter(is_there).map(|epoch| epoch.device_zone);
        let named: BTreeSet<u32> = named.collect();
        let mut bytes = AlignedBuf::zeroed(PAGE);
        let mut chunks = Vec::new();
        for &zone in self.engine.core.layout.data.iter().filter(|zone| !named.contains(zone)) {
            let (info, written) = (self.info[zone as usize], written(zone));
            let mut page = 0;
            while page < written && info.state != ZoneState::Offline {
                let at = u64::from(page) * PAGE as u64;
                let read = of_zone(self.engine.core.device.read(zone, at, &mut bytes))?;
                let found = || ChunkHead::at(&bytes, self.engine.core.store, zone, page);
                // The chunks of an opening that the table covers can't tell of later notes.
                let later = |head: &ChunkHead| head.opening >= self.head.next_opening;
                let head = read.ok().and_then(|()| found()).map(|(head, _)| head);
                let Some(head) = head.filter(later) else { break };
                let next = page.saturating_add(head.pages).saturating_add(1);
                chunks.push(UnnamedChunk { device_zone: zone, page, head });
                page = next;
            }
        }
        Ok(chunks)
    }

    /// The first chunk behind one whose header can't be read, if there is one: its page and head.
    /// Usually it is near; headers of a zone that is to be salvaged may be damaged one after
    /// another.
    fn chunk_behind(
        &self,
        epoch: &ZoneEpoch,
        written: u32,
    ) -> Result<Option<(u32, ChunkHead)>, StoreError> {
        let mut bytes = AlignedBuf::zeroed(PAGE);
        let near = epoch.pages + 2 + self.engine.core.layout.chunk_shape().pages;
        let end = if self.salvage.is_some() { written } else { written.min(near) };
        for page in epoch.pages + 1..end {
            let at = u64::from(page) * PAGE as u64;
            let read = of_zone(self.engine.core.device.read(epoch.device_zone, at, &mut bytes))?;
            let found = || ChunkHead::at(&bytes, self.engine.core.store, epoch.device_zone, page);
            match read.ok().and_then(|()| found()) {
                Some((head, _)) if head.opening == epoch.opening => return Ok(Some((page, head))),
                _ => {}
            }
        }
        Ok(None)
    }

    fn scan_zone(
        &mut self,
        index: usize,
        chunks: &mut Vec<PostCheckpointChunk>,
    ) -> Result<(), StoreError> {
        let fixed = self.engine.core.layout.fixed;
        let info = self.info[self.epochs[index].device_zone as usize];
        let written = self.written(index);
        if info.state == ZoneState::Offline {
            self.epochs[index].ended = true;
            return Ok(());
        }
        loop {
            self.scan_chunks(index, chunks)?;
            let behind = self.chunk_behind(&self.epochs[index], written)?;
            match behind {
                Some((page, head)) if self.pass_over(index, page, &head) => {}
                _ => {
                    self.epochs[index].behind = behind.map(|(_, head)| head.seq);
                    break;
                }
            }
        }
        let epoch = &mut self.epochs[index];
        let even = info.write_pointer == u64::from(epoch.pages) * PAGE as u64;
        let room = fixed.device_pages.saturating_sub(epoch.pages) >= 2;
        let more = info.state.is_writable() && even && room && epoch.used < fixed.zone_pages;
        epoch.ended = !more;
        if self.salvage.is_some() {
            // A zone that is rebuilt is not finished: it must not seem to have lost its end.
            epoch.pages = epoch.pages.min(written);
        }
        Ok(())
    }

    /// Takes the chunks of all zones side by side, each zone's up to the first one whose header is
    /// not sound as it is read first.
    fn scan_together(&mut self, chunks: &mut Vec<PostCheckpointChunk>) -> Result<(), StoreError> {
        let mut bytes = AlignedBuf::zeroed(TOGETHER * PAGE);
        let (mut zones, mut waiting) = (Vec::new(), 0..self.epochs.len());
        loop {
            let more = TOGETHER - zones.len();
            zones.extend(waiting.by_ref().filter(|&index| self.has_more(index)).take(more));
            if zones.is_empty() {
                return Ok(());
            }
            let place = |index: usize| (self.epochs[index].device_zone, self.epochs[index].pages);
            let mut reads: Vec<_> = zones
                .iter()
                .map(|&index| place(index))
                .zip(bytes.chunks_mut(PAGE))
                .map(|((zone, page), buffer)| ZoneRead {
                    zone,
                    offset: u64::from(page) * PAGE as u64,
                    buffer,
                })
                .collect();
            // `scan_zone` reads them again, one by one, and finds the one that can't be read.
            if of_zone(self.engine.core.device.read_all(&mut reads))?.is_err() {
                return Ok(());
            }
            let mut pages = bytes.chunks(PAGE);
            zones.retain(|&index| {
                let page = pages.next().expect("one for each zone");
                self.take_chunk(index, page, chunks) && self.has_more(index)
            });
        }
    }

    /// Pages of a zone's device that are written.
    fn written(&self, index: usize) -> u32 {
        let info = self.info[self.epochs[index].device_zone as usize];
        (info.write_pointer / PAGE as u64) as u32
    }

    /// True if there may be a chunk behind those of a zone that were taken.
    fn has_more(&self, index: usize) -> bool {
        let epoch = &self.epochs[index];
        let is_there = self.info[epoch.device_zone as usize].state != ZoneState::Offline;
        !epoch.ended && is_there && epoch.pages < self.written(index)
    }

    /// Takes the chunks of a zone, up to the first one whose header can't be read.
    fn scan_chunks(
        &mut self,
        index: usize,
        chunks: &mut Vec<PostCheckpointChunk>,
    ) -> Result<(), StoreError> {
        let engine = self.engine;
        let mut page = AlignedBuf::zeroed(PAGE);
        while self.epochs[index].pages < self.written(index) {
            let (zone, start) = (self.epochs[index].device_zone, self.epochs[index].pages);
            let at = u64::from(start) * PAGE as u64;
            let sound = |page: &[u8]| self.header(index, page).is_some();
            let read = of_zone(read_verified(&*engine.core.device, zone, at, &mut page, &sound))?;
            if let Err(error) = &read {
                self.missing.push(Loss::new(zone, format!("can't be read: {error}")));
            }
            if read.is_err() || !self.take_chunk(index, &page, chunks) {
                break;
            }
        }
        Ok(())
    }

    /// The header of the next chunk of a zone, if this page is it, and what is behind it in the
    /// page.
    fn header<'p>(&self, index: usize, page: &'p [u8]) -> Option<(ChunkHead, &'p [u8])> {
        let (epoch, core) = (&self.epochs[index], &self.engine.core);
        let before = epoch.late.last().copied().unwrap_or(0);
        let found = ChunkHead::at(page, core.store, epoch.device_zone, epoch.pages);
        found.filter(|(head, _)| {
            (head.opening, head.first) == (epoch.opening, epoch.used)
                && head.seq > before
                && (1..=MOST_RECORDS).contains(&head.records)
                && (1..=core.layout.sizes.page_units()).contains(&head.header)
        })
    }

    /// Takes the next chunk of a zone; false if this page is not its header.
    fn take_chunk(
        &mut self,
        index: usize,
        page: &[u8],
        chunks: &mut Vec<PostCheckpointChunk>,
    ) -> bool {
        let Some((head, body)) = self.header(index, page) else { return false };
        let written = self.written(index);
        let layout = &self.engine.core.layout;
        let (sizes, hotness) = (layout.sizes, layout.has_hotness());
        let Some((mut records, _)) = head.records(body, sizes, hotness) else {
            if let Some(salvage) = &mut self.salvage {
                salvage.beyond = salvage.beyond.max(page_beyond(&head, body, sizes, hotness));
            }
            return false;
        };
        let units: u32 = records.iter().map(|record| sizes.units_of(record.bytes.into())).sum();
        let pages = units.div_ceil(sizes.page_units());
        let epoch = &mut self.epochs[index];
        if pages > layout.fixed.zone_pages - epoch.used {
            return false;
        }
        let there = (written - epoch.pages) * sizes.page_units() - head.header;
        let ends = sizes.extents(0, 0, &records).map(|(at, _)| at.slot.offset + at.units);
        let whole = ends.take_while(|&end| end <= there).count();
        let beyond = records.split_off(whole);
        self.time = beyond.iter().map(|row| row.time).fold(self.time, u64::max);
        self.dropped.extend(beyond.iter().map(|row| row.lba));
        let (start, is_cut) = (epoch.pages, !beyond.is_empty());
        let (group, witness) = (Group::of(body), Witness::of(body));
        chunks.push(PostCheckpointChunk {
            epoch: index,
            start,
            head,
            group,
            is_cut,
            witness,
            records,
        });
        epoch.chunks.push(ChunkPlace { first: head.first, start, header: head.header });
        epoch.late.push(head.seq);
        epoch.pages += 1 + head.pages;
        epoch.used += pages;
        // At the end of a zone, where a record did not fit, it may have counted as garbage.
        epoch.padding += pages * sizes.page_units() - units;
        true
    }

    /// Goes on behind damaged headers of a zone that is to be salvaged. In their place are chunks
    /// that reach up to the next one: as many as take its pages of the device, and one at least.
    fn pass_over(&mut self, index: usize, page: u32, next: &ChunkHead) -> bool {
        let (epoch, Some(salvage)) = (&mut self.epochs[index], &mut self.salvage) else {
            return false;
        };
        let (fixed, header) =
            (&self.engine.core.layout.fixed, self.engine.core.layout.sizes.page_units());
        // A header of some units may take no page of its own.
        let least = u32::from(header == 1);
        let later =
            next.first >= epoch.used && page - epoch.pages >= next.first - epoch.used + least;
        if !later || next.first >= fixed.zone_pages {
            return false;
        }
        let unknown = next.first - epoch.used;
        let what = format!("has a damaged header in page {}, of {unknown} pages", epoch.pages);
        let last = epoch.late.last().copied();
        let unneeded = salvage.unneeded.get(&epoch.device_zone).copied();
        let after = last.or(unneeded).unwrap_or(0);
        let loss = Loss::new(epoch.device_zone, what);
        salvage.gaps.push(Gap { loss, after });
        let headers = (page - epoch.pages - unknown).max(1);
        let first = epoch.used;
        let starts = epoch.pages..epoch.pages + headers;
        epoch.chunks.extend(starts.map(|start| ChunkPlace { first, start, header }));
        (epoch.pages, epoch.used) = (page, next.first);
        salvage.damaged.insert(index);
        true
    }

    /// Leaves only those records of a chunk that are whole.
    fn verify(&mut self, chunk: &mut PostCheckpointChunk) -> Result<(), StoreError> {
        let zone = self.epochs[chunk.epoch].device_zone;
        let sizes = self.engine.core.layout.sizes;
        let extents = sizes.extents(0, 0, &chunk.records).map(|(at, _)| at);
        let slot = sizes.unit() as usize;
        let places: Vec<_> = extents
            .map(|at| {
                let begin = (chunk.head.header + at.slot.offset) as usize * slot;
                begin..begin + at.units as usize * slot
            })
            .collect();
        let end = places.last().map_or(0, |place| place.end);
        let mut bytes = AlignedBuf::zeroed(end.next_multiple_of(PAGE));
        let at = u64::from(chunk.start) * PAGE as u64;
        match of_zone(self.engine.core.device.read(zone, at, &mut bytes))? {
            Err(error) => {
                chunk.records.clear();
                self.missing.push(Loss::new(zone, format!("can't be read: {error}")));
            }
            Ok(()) => {
                for (record, place) in chunk.records.iter_mut().zip(places) {
                    if crc32c::crc32c(&bytes[place]) != record.sum {
                        self.dropped.push(std::mem::replace(&mut record.lba, NO_LBA));
                    }
                }
            }
        }
        Ok(())
    }
}

/// The largest page in a chunk, if it lies beyond the store as these sizes have it.
fn page_beyond(head: &ChunkHead, body: &[u8], sizes: Sizes, hotness: bool) -> Option<u32> {
    let unknown = sizes.with_unknown_pages();
    let (records, _) = head.records(body, unknown, hotness)?;
    let pages = records.iter().map(|record| unknown.page_of(record.lba));
    pages.filter(|&page| sizes.is_delta(page.into())).max()
}
