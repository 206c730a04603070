//! The state of the store in memory, under one lock: its parts, and the effect of each event on
//! them.
//!
//! Nothing here does I/O, so that every event can be tried without a device.

pub(crate) mod chunk;
pub(crate) mod chunk_table;
pub(crate) mod copies;
pub(crate) mod counters;
pub(crate) mod failures;
pub(crate) mod map_cache;
pub(crate) mod mapped_page;
pub(crate) mod notes;
pub(crate) mod observer;
pub(crate) mod promises;
pub(crate) mod room;
pub(crate) mod space_target;
#[cfg(test)]
mod tests;
mod valid;
pub(crate) mod volume;
pub(crate) mod written;
pub(crate) mod zone_pool;

use std::collections::BTreeMap;
use std::sync::Arc;

use frostline_log::{Placed, ZoneImage};
use frostline_placement::{Hotness, Scheme};

use crate::StoreError;
use crate::format::image::ZeroRun;
use crate::format::layout::Layout;
use crate::format::packing::Told;
use crate::format::records::{Record, RecordKind};
use crate::format::{Mark, PAGE};
use crate::state::chunk::Chunk;
use crate::state::chunk_table::ChunkTable;
use crate::state::copies::{Copied, Copies};
use crate::state::failures::Failures;
use crate::state::notes::Notes;
use crate::state::observer::{Observer, StoreEvent};
use crate::state::promises::Promises;
use crate::state::room::ChangeUnits;
use crate::state::space_target::SpaceTarget;
use crate::state::volume::Volume;
use crate::state::written::{DeltaCounts, Written};
use crate::state::zone_pool::{DataZone, ZonePool};

/// The state of the store in memory.
pub(crate) struct State {
    /// The volume, and the map with it.
    pub volume: Volume,
    /// The division of the device.
    pub layout: Arc<Layout>,
    /// Number of the store.
    pub store: u64,
    /// The data zones.
    pub zones: ZonePool,
    /// The chunks in memory.
    pub chunks: ChunkTable,
    /// The notes in memory.
    pub notes: Notes,
    /// User writes so far.
    time: u64,
    /// Pages written, but for those of the metadata log, which counts its own.
    written: Written,
    /// Deltas and tails since the store was opened.
    pub deltas: DeltaCounts,
    /// Deltas and tails in the map.
    valid_deltas: u64,
    /// Units of deltas and tails.
    changes: ChangeUnits,
    /// Space over data that the store may take.
    space_target: Option<SpaceTarget>,
    /// Pages that engines have yet to write.
    pub promises: Promises,
    /// Zones that failed, but for those of the metadata log, which counts its own.
    failures: Failures,
    copies: Option<Copies>,
    /// Sees every event.
    pub observer: Option<Arc<dyn Observer>>,
    /// Pages placed since the last checkpoint.
    since_checkpoint: u64,
    /// Number of the first chunk that the checkpoint before the last one does not cover, and of the
    /// first that the last one does not.
    covered: [u64; 2],
    /// Numbers that engines keep with the store: the position that is durable of a log of theirs,
    /// say.
    marks: BTreeMap<u32, u64>,
    /// The one that was set last.
    last_mark: (u32, u64),
    /// A zone failed since the last checkpoint: recovery can no longer go by what that
    /// one says of zones.
    zone_failed: bool,
    /// The error after which the store can no longer be written.
    failed: Option<StoreError>,
    /// The store is being closed.
    closing: bool,
    /// The cleaner waits to be woken.
    pub cleaner_sleeps: bool,
    /// The last cleaning found no victim, and no page was written or trimmed since.
    nothing_to_clean: bool,
}

/// A store as recovery found it.
pub(crate) struct Restored {
    /// User writes.
    pub time: u64,
    /// Pages written.
    pub written: Written,
    /// Valid records: pages, deltas and tails.
    pub valid: u64,
    /// Of these, deltas and tails.
    pub deltas: u64,
    /// Units of deltas and tails.
    pub changes: ChangeUnits,
    /// The zones that hold pages, as the volume knows them, in the order in which they were sealed.
    pub images: Vec<ZoneImage>,
    /// The same zones, by number in the volume.
    pub zones: Vec<(u32, DataZone)>,
    /// Number of the last chunk.
    pub last_seq: u64,
    /// Number of the first chunk that the checkpoint does not cover.
    pub covered: u64,
    /// Number of the next opening.
    pub next_opening: u64,
    /// Number of the next note.
    pub next_serial: u64,
    /// The engines' marks.
    pub marks: BTreeMap<u32, u64>,
}

impl State {
    /// The state of a store that holds nothing.
    pub(crate) fn new(volume: Volume, layout: Arc<Layout>, store: u64) -> Self {
        let classes = volume.log().scheme().classes();
        State {
            time: 0,
            zones: ZonePool::new(layout.data.len(), layout.fixed.spare as usize),
            chunks: ChunkTable::new(layout.clone(), store, classes),
            notes: Notes::new(),
            written: Written::default(),
            deltas: DeltaCounts::default(),
            valid_deltas: 0,
            changes: ChangeUnits::default(),
            space_target: None,
            promises: Promises::default(),
            failures: Failures::default(),
            copies: None,
            observer: None,
            since_checkpoint: 0,
            covered: [0; 2],
            marks: BTreeMap::new(),
            last_mark: (0, 0),
            zone_failed: false,
            failed: None,
            closing: false,
            cleaner_sleeps: false,
            nothing_to_clean: false,
            volume,
            layout,
            store,
        }
    }

    /// The store goes on from what recovery found.
    pub(crate) fn restore(&mut self, found: Restored) -> Result<(), StoreError> {
        self.volume.restore(found.time as u32, found.valid, &found.images)?;
        self.time = found.time;
        self.written = found.written;
        self.valid_deltas = found.deltas;
        self.changes = found.changes.at_least_none();
        self.zones.restore(found.zones, found.next_opening);
        self.chunks.restore(found.last_seq);
        self.notes.restore(found.next_serial);
        self.marks = found.marks;
        self.covered = [found.covered; 2];
        self.withhold();
        Ok(())
    }

    /// The store was as a checkpoint says when it was this old.
    pub(crate) fn set_time(&mut self, time: u64) {
        self.time = time;
    }

    /// User writes so far.
    pub(crate) fn time(&self) -> u64 {
        self.time
    }

    /// Pages written since the store was formatted, `metadata` of them by the metadata log.
    pub(crate) fn written(&self, metadata: u64) -> Written {
        Written { checkpoints: metadata, ..self.written }
    }

    /// Zones that failed since the store was opened, `metadata` of them of the metadata log.
    pub(crate) fn failures(&self, metadata: u64) -> Failures {
        Failures { metadata, ..self.failures }
    }

    /// Copies are counted from now on.
    pub(crate) fn count_copies(&mut self) {
        self.copies = Some(Copies::new(self.layout.fixed.logical_pages));
    }

    /// Copies since they are counted.
    pub(crate) fn copied(&self) -> Option<Copied> {
        self.copies.as_ref().map(|copies| copies.sum)
    }

    /// A page written by the user was placed, and its map entry changed.
    pub(crate) fn user_page_placed(
        &mut self,
        placed: Placed,
        record: Record,
        Told { hotness, following }: Told,
        bytes: &[u8],
    ) -> Result<(), StoreError> {
        assert_eq!(record.time, self.time + 1, "a user write has a time of its own");
        self.time = record.time;
        self.written.user += 1;
        self.written.user_bytes += self.unit_bytes(bytes.len());
        if self.layout.sizes.is_delta(record.lba) {
            self.deltas.written += 1;
            self.deltas.tails += u64::from(self.layout.sizes.kind(record.lba) == RecordKind::Tail);
            self.deltas.bytes += u64::from(record.bytes);
        }
        self.nothing_to_clean = false;
        self.forget_copies(record.lba);
        if self.observer.is_some() {
            let sizes = self.layout.sizes;
            // Of a page that is written whole, what smaller units would have left of it.
            let hole = if bytes.len() == PAGE { ZeroRun::of(bytes, 1) } else { None };
            let bytes = hole.map_or(record.bytes, |hole| hole.bytes() as u16);
            let (lba, kind) = (sizes.page_of(record.lba), sizes.kind(record.lba));
            self.observe(StoreEvent::Written { lba, hotness, bytes, kind, following });
        }
        self.append(placed, (record, hotness, bytes))
    }

    /// Tells the observer, if there is one.
    pub(crate) fn observe(&self, event: StoreEvent) {
        if let Some(observer) = &self.observer {
            observer.on(event);
        }
    }

    /// A copy of a page was placed, and its map entry changed.
    pub(crate) fn relocation_placed(
        &mut self,
        placed: Placed,
        record: Record,
        hotness: Hotness,
        bytes: &[u8],
    ) -> Result<(), StoreError> {
        self.written.relocations += 1;
        self.written.relocated_bytes += self.unit_bytes(record.bytes.into());
        if self.layout.sizes.is_delta(record.lba) {
            self.deltas.moved += 1;
            self.deltas.moved_bytes += u64::from(record.bytes);
        }
        if let Some(copies) = &mut self.copies {
            copies.add(self.layout.sizes.page_of(record.lba));
        }
        self.append(placed, (record, hotness, bytes))
    }

    /// The bytes of a record of so many, in whole units.
    fn unit_bytes(&self, bytes: usize) -> u64 {
        let sizes = self.layout.sizes;
        u64::from(sizes.units_of(bytes as u32)) * u64::from(sizes.unit())
    }

    /// A page was trimmed, and its map entry changed.
    pub(crate) fn page_trimmed(&mut self, lba: u32) {
        self.nothing_to_clean = false;
        self.forget_copies(lba.into());
        self.notes.page_trimmed(self.time, lba);
        self.observe(StoreEvent::Trimmed { lba });
    }

    fn forget_copies(&mut self, lba: u64) {
        if let Some(copies) = &mut self.copies {
            copies.forget(self.layout.sizes.page_of(lba));
        }
    }

    /// Puts a placed record into the chunk of its class.
    fn append(
        &mut self,
        placed: Placed,
        record: (Record, Hotness, &[u8]),
    ) -> Result<(), StoreError> {
        let Placed { class, slot, ends_chunk } = placed;
        assert!(slot.zone != 0, "zone 0 stands for records that are lost");
        self.since_checkpoint += 1;
        if self.chunks.zone_of(class).is_some_and(|zone| zone != slot.zone) {
            // The end of its zone was too short for this record.
            self.seal(class);
        }
        if slot.offset == 0 {
            let zone = self.zones.open(slot.zone)?;
            let place = (zone.device_zone, zone.opening);
            self.notes.zone_opened(self.time, slot.zone, class, place);
            self.follow_target()?;
        }
        let start = self.zones.get(slot.zone).pages;
        self.chunks.push(placed, start, record)?;
        if ends_chunk {
            self.seal(class);
        }
        Ok(())
    }

    /// Seals the chunk of a class, which the volume has ended, if it holds pages.
    fn seal(&mut self, class: usize) {
        let Some(zone) = self.chunks.zone_of(class) else { return };
        let noted = self.notes.durable();
        let chunk = self.chunks.seal(class, self.zones.get(zone), noted, self.last_mark);
        let Some(chunk) = chunk else { return };
        self.zones.add_chunk(&chunk);
        self.written.headers += 1;
        let header = chunk.header() * self.layout.sizes.unit();
        self.written.header_bytes += u64::from(header);
        let padding = u64::from(chunk.padding());
        self.written.padding_bytes += padding * u64::from(self.layout.sizes.unit());
    }

    /// Seals the chunk that is being filled for a zone that the volume has ended.
    fn seal_chunk_of(&mut self, zone: u32) {
        if let Some(class) = self.chunks.class_of(zone) {
            self.seal(class);
        }
    }

    /// Seals all chunks; returns the number of the last one.
    pub(crate) fn seal_all(&mut self) -> u64 {
        self.volume.log_mut().end_chunks();
        (0..self.volume.log().scheme().classes()).for_each(|class| self.seal(class));
        self.chunks.next_seq() - 1
    }

    /// Seals all chunks by the wish of the user, or for a checkpoint; returns the number of the
    /// last one.
    pub(crate) fn sync(&mut self) -> u64 {
        let before = self.chunks.next_seq();
        let last = self.seal_all();
        if self.chunks.next_seq() > before {
            self.observe(StoreEvent::Synced);
        }
        last
    }

    /// True if a chunk is the last of its zone, which takes no more pages.
    pub(crate) fn is_last_of_zone(&self, chunk: &Chunk) -> bool {
        !self.volume.log().is_open(chunk.zone) && self.zones.get(chunk.zone).pages == chunk.end()
    }

    /// Ends the zones that hardly fill, if there are any and cleaning is due, and seals what was
    /// begun there. Returns them.
    pub(crate) fn end_stale(&mut self) -> Vec<u32> {
        let ended = self.volume.log_mut().end_stale();
        ended.iter().for_each(|&zone| self.seal_chunk_of(zone));
        ended
    }

    /// Chooses the victims of a cleaning; none if it is not due, or no zone holds garbage.
    pub(crate) fn begin_cleaning(&mut self) -> Vec<u32> {
        let victims = self.volume.log_mut().begin_cleaning();
        self.nothing_to_clean = victims.is_empty();
        victims
    }

    /// True if the last cleaning found no victim, and nothing became garbage since.
    pub(crate) fn nothing_to_clean(&self) -> bool {
        self.nothing_to_clean
    }

    /// A chunk is on the device.
    pub(crate) fn chunk_written(&mut self, chunk: Arc<Chunk>) {
        let written = self.zones.get(chunk.zone).written;
        assert_eq!(written, chunk.start, "chunks of a zone are written in order");
        self.zones.written(chunk.zone, chunk.end());
        self.chunks.remove(chunk);
    }

    /// The pages of a chunk that its zone did not take were placed elsewhere, and are on the
    /// device.
    pub(crate) fn chunk_moved(&mut self, chunk: Arc<Chunk>) {
        assert!(self.zones.get(chunk.zone).has_failed(), "only a failed zone gives up chunks");
        self.notes.chunks_given_up(&[chunk.seq]);
        self.chunks.remove(chunk);
    }

    /// An append to a zone of the volume failed: the zone ends where it is written. False if that
    /// was known.
    pub(crate) fn zone_failed(&mut self, zone: u32) -> bool {
        if !self.zones.fail(zone) {
            return false;
        }
        self.zone_failed = true;
        self.failures.appends += 1;
        let DataZone { device_zone, written, .. } = *self.zones.get(zone);
        tracing::warn!(zone = device_zone, page = written, "an append failed: the zone ends there");
        self.end_zone(zone);
        true
    }

    /// Ends a zone, if it is open, so that what it holds can be copied.
    pub(crate) fn end_zone(&mut self, zone: u32) {
        let open = |image: &&ZoneImage| image.zone == zone && image.sealed_at.is_none();
        if let Some(image) = self.volume.log().images().iter().find(open) {
            self.volume.log_mut().end_chunk(image.class as usize);
            self.volume.log_mut().end_early(image.class as usize);
        }
        self.seal_chunk_of(zone);
    }

    /// The valid pages of a victim were copied: the volume may use the zone again, and the device's
    /// zone waits to be reset.
    pub(crate) fn zone_cleaned(&mut self, zone: u32) {
        assert!(self.chunks.is_zone_written(zone), "a zone is cleaned before it is written");
        if self.volume.log_mut().release(zone) {
            // Durable before the zone is reset, and mostly beside other notes.
            let late = &self.zones.get(zone).late;
            let needed = late.partition_point(|&seq| seq < self.covered[0]);
            self.notes.chunks_given_up(&late[needed..]);
            self.zones.release(zone);
            self.withhold();
        } else {
            // It counts records that the map does not have there: it would be cleaned again and
            // again.
            let device_zone = self.zones.get(zone).device_zone;
            tracing::warn!(zone = device_zone, "a zone counts records that the map does not have");
            self.volume.log_mut().quarantine(zone);
        }
    }

    /// A page of a victim can't be read: the zone stays as it is.
    pub(crate) fn zone_unreadable(&mut self, zone: u32) {
        self.failures.unreadable += 1;
        let zone_of_device = self.zones.get(zone).device_zone;
        tracing::warn!(zone = zone_of_device, "a page can't be read: the zone is not cleaned");
        self.volume.log_mut().quarantine(zone);
    }

    /// True if valid pages lie in a zone of the device.
    pub(crate) fn holds_pages(&self, device_zone: u32) -> bool {
        let images = self.volume.log().images();
        let mut holds = images.iter().filter(|image| image.valid() > 0);
        holds.any(|image| self.zones.get(image.zone).device_zone == device_zone)
    }

    /// A zone of the device was reset, and can be written again.
    pub(crate) fn zone_reset(&mut self, device_zone: u32) {
        self.zones.end_reset(device_zone);
        self.zones.add_empty(device_zone);
    }

    /// A zone of the device can't be reset. It is gone for good, and one of the volume with it.
    pub(crate) fn zone_lost(&mut self, device_zone: u32) {
        self.failures.resets += 1;
        tracing::warn!(zone = device_zone, "a reset failed: the zone is not used any more");
        // If it waited for that, the last checkpoint may say that it holds pages.
        self.zone_failed |= self.zones.end_reset(device_zone);
        if !self.volume.log_mut().retire() {
            self.zones.use_spare();
        }
    }

    /// Withholds zones from the volume until there are as many as the layout asks for.
    fn withhold(&mut self) {
        while self.zones.is_short() && self.volume.log_mut().retire() {
            self.zones.withhold();
        }
    }

    /// All chunks up to number `seq` and all notes before number `serial` are durable.
    pub(crate) fn made_durable(&mut self, seq: u64, serial: u64) {
        self.chunks.made_durable(seq);
        self.notes.made_durable(serial);
    }

    /// An engine's mark: the largest value that it was set to, 0 if it never was.
    pub(crate) fn mark(&self, slot: u32) -> u64 {
        self.marks.get(&slot).copied().unwrap_or_default()
    }

    /// The mark that was set last: its number and value.
    pub(crate) fn last_mark(&self) -> (u32, u64) {
        self.last_mark
    }

    /// Sets a mark, unless it is larger. Headers of chunks have the one that was set last.
    pub(crate) fn set_mark(&mut self, slot: u32, value: u64) {
        let mark = self.marks.entry(slot).or_default();
        *mark = value.max(*mark);
        self.last_mark = (slot, *mark);
    }

    /// All marks, as a checkpoint has them.
    pub(crate) fn marks(&self) -> Vec<Mark> {
        let mark = |(&slot, &value)| Mark { value, slot, unused: 0 };
        self.marks.iter().map(mark).collect()
    }

    /// A checkpoint takes everything that was placed so far.
    pub(crate) fn checkpoint_begun(&mut self) {
        self.since_checkpoint = 0;
        self.zone_failed = false;
    }

    /// A checkpoint is durable that covers the chunks before this number.
    pub(crate) fn checkpoint_ended(&mut self, next_seq: u64) {
        assert!(self.covered[1] <= next_seq, "a checkpoint covers less than the one before");
        self.covered = [self.covered[1], next_seq];
    }

    /// True if the next checkpoint should come after no more than `pages` placed pages, and those
    /// were placed or a zone failed.
    pub(crate) fn is_checkpoint_due(&self, pages: u64) -> bool {
        self.zone_failed || self.since_checkpoint >= pages
    }

    /// The store is being closed.
    pub(crate) fn close(&mut self) {
        self.closing = true;
    }

    /// Nothing more can be promised of writes, for this reason if it is the first.
    pub(crate) fn fail(&mut self, error: StoreError) {
        self.failed.get_or_insert(error);
    }

    /// True if the store's threads are to end.
    pub(crate) fn has_ended(&self) -> bool {
        self.closing || self.failed.is_some()
    }

    /// An error if the store can no longer be written.
    pub(crate) fn check_writable(&self) -> Result<(), StoreError> {
        match &self.failed {
            Some(error) => Err(StoreError::Failed(Box::new(error.clone()))),
            None => Ok(()),
        }
    }
}
