//! The chunks in memory: one that is being filled for each class, and those on their way to the
//! device.

use std::collections::BTreeMap;
use std::sync::Arc;

use frostline_log::{Extent, LogError, Placed, Slot};
use frostline_placement::Hotness;
use frostline_zone::AlignedBuf;

use crate::format::layout::Layout;
use crate::format::records::Record;
use crate::format::{Group, PAGE, Witness};
use crate::state::chunk::Chunk;
use crate::state::zone_pool::DataZone;

/// The chunks in memory.
pub(crate) struct ChunkTable {
    layout: Arc<Layout>,
    store: u64,
    /// The chunk that is being filled, by class.
    open: Vec<Option<Chunk>>,
    /// Number of the next chunk that is sealed.
    next_seq: u64,
    /// All chunks up to this number are durable.
    durable: u64,
    /// The place of the last sealed chunk, as the next one's header tells it.
    last: Witness,
    /// The group that is not known to be durable.
    group: Option<Group>,
    /// Sealed chunks that are not yet written, by number.
    unwritten: BTreeMap<u64, Arc<Chunk>>,
    /// Of these, those that no thread has taken to write.
    outgoing: Vec<Arc<Chunk>>,
    /// Memory of chunks that were written.
    buffers: Vec<AlignedBuf>,
}

impl ChunkTable {
    /// No chunks.
    pub(crate) fn new(layout: Arc<Layout>, store: u64, classes: usize) -> Self {
        ChunkTable {
            layout,
            store,
            open: (0..classes).map(|_| None).collect(),
            next_seq: 1,
            durable: 0,
            last: Witness::default(),
            group: None,
            unwritten: BTreeMap::new(),
            outgoing: Vec::new(),
            buffers: Vec::new(),
        }
    }

    /// All chunks up to this number were found durable; the next one bears the number behind it.
    pub(crate) fn restore(&mut self, last: u64) {
        assert!(self.unwritten.is_empty() && self.open.iter().all(Option::is_none));
        self.next_seq = last + 1;
        self.durable = last;
    }

    /// Number of the next chunk that is sealed.
    pub(crate) fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// The next `pages` pages that the user writes, after `time` others, are a group. The lock is
    /// not let go before all are placed and all chunks are sealed.
    pub(crate) fn begin_group(&mut self, time: u64, pages: u32) {
        assert!(self.group.is_none(), "a group before the last one is durable");
        self.group = Some(Group { from: self.next_seq, time, pages, unit: 0 });
    }

    /// True if a group was begun and is not durable yet.
    pub(crate) fn has_group(&self) -> bool {
        self.group.is_some()
    }

    /// All chunks up to this number are durable.
    pub(crate) fn durable(&self) -> u64 {
        self.durable
    }

    /// The content of a record in whole units, if it is in memory.
    pub(crate) fn content(&self, at: Extent) -> Option<&[u8]> {
        let sealed = self.unwritten.values().map(|chunk| &**chunk);
        let mut chunks =
            self.open.iter().flatten().chain(sealed).filter(|c| c.zone == at.slot.zone);
        chunks.find_map(|chunk| chunk.content(at))
    }

    /// The class whose chunk is being filled for a zone.
    pub(crate) fn class_of(&self, zone: u32) -> Option<usize> {
        self.open.iter().position(|chunk| chunk.as_ref().is_some_and(|c| c.zone == zone))
    }

    /// Puts a placed record into the chunk of its class. A chunk that is begun for it goes to page
    /// `start` of the device's zone.
    pub(crate) fn push(
        &mut self,
        placed: Placed,
        start: u32,
        (record, hotness, bytes): (Record, Hotness, &[u8]),
    ) -> Result<(), LogError> {
        let Placed { class, slot, .. } = placed;
        let chunk = match self.open[class].take() {
            Some(chunk) => chunk,
            None => self.begin(slot, start),
        };
        let chunk = self.open[class].insert(chunk);
        // It does not, if the checkpoint from which the zone goes on contradicts itself.
        if (chunk.zone, chunk.next()) != (slot.zone, slot.offset) {
            let why = format!("zone {} goes on elsewhere than its chunk", slot.zone);
            return Err(LogError::Image { why });
        }
        chunk.push(record, hotness, bytes);
        Ok(())
    }

    fn begin(&mut self, slot: Slot, start: u32) -> Chunk {
        let (shape, sizes) = (self.layout.chunk_shape(), self.layout.sizes);
        let size = (1 + shape.pages as usize) * PAGE;
        let bytes = self.buffers.pop().unwrap_or_else(|| AlignedBuf::zeroed(size));
        debug_assert!(slot.offset.is_multiple_of(sizes.page_units()), "a chunk begins with a page");
        let first = slot.offset / sizes.page_units();
        Chunk::new((slot.zone, first, start), sizes, shape, self.layout.has_hotness(), bytes)
    }

    /// Seals the chunk of a class, if it holds pages; `zone` is where it goes. All notes before
    /// number `noted` are durable, and `mark` is the engine's last one.
    pub(crate) fn seal(
        &mut self,
        class: usize,
        zone: &DataZone,
        noted: u64,
        mark: (u32, u64),
    ) -> Option<Arc<Chunk>> {
        let mut chunk = self.open[class].take()?;
        assert!(!chunk.records.is_empty(), "a chunk is begun for a record");
        assert_eq!(chunk.start, zone.pages, "no other chunk went to its zone");
        chunk.seq = self.next_seq;
        self.next_seq += 1;
        let place = (zone.device_zone, zone.opening);
        let witness = self.witness(mark);
        chunk.seal(self.store, place, (self.durable, noted), self.group, witness);
        let (zone, opening) = (zone.device_zone, zone.opening as u32);
        self.last = Witness { zone, opening, page: chunk.start, ..Witness::default() };
        let chunk = Arc::new(chunk);
        let other = self.unwritten.insert(chunk.seq, chunk.clone());
        assert!(other.is_none(), "the number of a chunk is given away once");
        self.outgoing.push(chunk.clone());
        Some(chunk)
    }

    /// The witness in the header of the next chunk.
    pub(crate) fn witness(&self, (slot, mark): (u32, u64)) -> Witness {
        Witness { mark, slot, ..self.last }
    }

    /// The zone of the volume for which the class's chunk is being filled.
    pub(crate) fn zone_of(&self, class: usize) -> Option<u32> {
        self.open[class].as_ref().map(|chunk| chunk.zone)
    }

    /// The sealed chunks that no thread has taken yet, to be written by the caller.
    pub(crate) fn take_outgoing(&mut self) -> Vec<Arc<Chunk>> {
        std::mem::take(&mut self.outgoing)
    }

    /// A sealed chunk is on the device, or its pages are elsewhere.
    pub(crate) fn remove(&mut self, chunk: Arc<Chunk>) {
        let known = self.unwritten.remove(&chunk.seq);
        assert!(known.is_some(), "chunk {} is not on its way", chunk.seq);
        drop(known);
        if let Ok(chunk) = Arc::try_unwrap(chunk)
            && self.buffers.len() < 2 * self.open.len()
        {
            self.buffers.push(chunk.into_bytes());
        }
    }

    /// True if all sealed chunks up to this number are written.
    pub(crate) fn is_written(&self, seq: u64) -> bool {
        self.unwritten.first_key_value().is_none_or(|(&first, _)| first > seq)
    }

    /// True if all sealed chunks of a zone are written.
    pub(crate) fn is_zone_written(&self, zone: u32) -> bool {
        self.unwritten.values().all(|chunk| chunk.zone != zone)
    }

    /// All chunks up to this number are durable.
    pub(crate) fn made_durable(&mut self, seq: u64) {
        assert!(self.is_written(seq), "a chunk is durable that is not written");
        assert!(seq < self.next_seq, "a chunk is durable that is not sealed");
        self.durable = self.durable.max(seq);
        // All its chunks were sealed under one hold of the lock, `seq` before them or behind.
        self.group = self.group.filter(|group| group.from > seq);
    }
}
