//! Records that were placed go to the chunks of their classes, and chunks are sealed.

use frostline_log::Placed;
use frostline_placement::{Hotness, Scheme};
use frostline_zone::AlignedBuf;

use crate::StoreError;
use crate::format::PAGE;
use crate::format::image::ZeroRun;
use crate::format::packing::{PackedPage, Told};
use crate::format::records::{Record, RecordKind};
use crate::state::State;
use crate::state::chunk::Chunk;
use crate::state::mapped_page::MappedPage;
use crate::state::observer::StoreEvent;

impl State {
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
        self.checkpoints.record_placed();
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
        let chunk = self.chunks.seal(class, self.zones.get(zone), noted, self.marks.last());
        let Some(chunk) = chunk else { return };
        assert!(chunk.end() <= self.layout.fixed.device_pages, "a chunk fits into its zone");
        self.zones.add_chunk(&chunk);
        self.written.headers += 1;
        let header = chunk.header() * self.layout.sizes.unit();
        self.written.header_bytes += u64::from(header);
        let padding = u64::from(chunk.padding());
        self.written.padding_bytes += padding * u64::from(self.layout.sizes.unit());
    }

    /// Seals the chunk that is being filled for a zone that the volume has ended.
    pub(super) fn seal_chunk_of(&mut self, zone: u32) {
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

    /// Places the pages of a group, and seals all chunks. Returns the number of the last one.
    pub(crate) fn place_group(&mut self, pages: Vec<PackedPage<'_>>) -> Result<u64, StoreError> {
        assert!(!pages.is_empty(), "a group has a page at least");
        self.chunks.begin_group(self.time(), pages.len() as u32);
        for write in pages {
            let mapped = MappedPage::of(&mut *self, write.lba.into());
            let Ok(mut page) = mapped else { unreachable!("its leaf is in memory") };
            page.write(write)?;
        }
        Ok(self.sync())
    }

    /// A chunk without records that tells what is durable, and the zone of the device where it
    /// goes; none if no zone is empty. That zone waits to be reset from now on.
    pub(crate) fn begin_witness(&mut self) -> Option<(u32, Chunk)> {
        let place = self.zones.take_for_witness()?;
        let (sizes, shape) = (self.layout.sizes, self.layout.chunk_shape());
        let mut chunk = Chunk::new((0, 0, 0), sizes, shape, false, AlignedBuf::zeroed(2 * PAGE));
        chunk.seq = self.chunks.next_seq();
        let durable = (self.chunks.durable(), self.notes.durable());
        chunk.seal(self.store, place, durable, None, self.chunks.witness(self.marks.last()));
        Some((place.0, chunk))
    }
}
