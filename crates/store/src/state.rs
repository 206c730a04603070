//! What the store knows in memory, under one lock, and what happens to it without any I/O.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, OnceLock};

use frostline_log::Slot;
use frostline_placement::{Hotness, Scheme};
use frostline_zone::AlignedBuf;

use crate::StoreError;
use crate::chunk::Chunk;
use crate::copies::Copies;
use crate::format::{LeafAt, Note, OPENED, PAGE, Row, TRIMMED};
use crate::layout::Layout;
use crate::placer::{Placed, Placer};

/// A zone of the volume that holds pages.
#[derive(Clone, Default)]
pub struct DataZone {
    /// Zone of the device.
    pub device_zone: u32,
    /// Number of its opening.
    pub opening: u64,
    /// Offset of each chunk's first page.
    pub firsts: Vec<u32>,
    /// Pages of the device's zone that are given away, headers included.
    pub pages: u32,
    /// Of these, written.
    pub written: u32,
    /// Chunks that are sealed and not yet written, oldest first.
    pub unwritten: VecDeque<Arc<Chunk>>,
    /// The page at which an append failed, once one did: nothing is written from there on. Shared
    /// with checkpoints that are under way.
    pub end: Arc<OnceLock<u32>>,
    /// Held by whoever reads from it: it is not reset before that.
    pub pin: Arc<()>,
}

impl DataZone {
    /// True if an append to it failed: no more are tried.
    pub fn is_sick(&self) -> bool {
        self.end.get().is_some()
    }

    /// Page of the device's zone where a page lies.
    pub fn page_of(&self, offset: u32) -> u32 {
        // Behind each chunk's header, and those of the chunks before.
        offset + self.firsts.partition_point(|&first| first <= offset) as u32
    }

    /// Page of the device's zone where the `index`-th chunk begins.
    pub fn start_of(&self, index: usize) -> u32 {
        self.firsts[index] + index as u32
    }
}

/// A zone of the device whose pages are all elsewhere, but not yet known to be durable there.
pub struct Limbo {
    /// Zone of the device.
    pub device_zone: u32,
    /// See [`DataZone::pin`].
    pub pin: Arc<()>,
}

/// Pages written since the store was formatted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// By the user.
    pub user: u64,
    /// By cleaning.
    pub relocations: u64,
    /// Headers of chunks.
    pub headers: u64,
    /// Checkpoints, notes and superblocks.
    pub checkpoints: u64,
}

/// Where a page is found.
pub enum Found {
    /// In memory: it was copied.
    Copied,
    /// On the device.
    At {
        /// Zone of the device.
        zone: u32,
        /// Page in it.
        page: u32,
        /// Sum of its content.
        sum: u32,
        /// Keeps the zone from being reset.
        pin: Arc<()>,
    },
}

/// What the store knows in memory.
pub struct State {
    /// The volume.
    pub placer: Placer,
    /// The division of the device.
    pub layout: Arc<Layout>,
    /// Number of the store.
    pub store: u64,
    /// User writes so far.
    pub time: u64,
    /// By zone of the volume.
    pub zones: Vec<DataZone>,
    /// The chunk that is being filled, by class.
    pub open: Vec<Option<Chunk>>,
    /// Empty zones of the device.
    pub empty: VecDeque<u32>,
    /// Zones of the device to be reset.
    pub limbo: VecDeque<Limbo>,
    /// Zones of the volume kept back, so that there is a zone of the device for each that it opens.
    pub withheld: usize,
    /// Numbers of the next chunk, opening and note.
    pub next_seq: u64,
    /// See `next_seq`.
    pub next_opening: u64,
    /// See `next_seq`.
    pub next_serial: u64,
    /// All chunks up to this number are durable.
    pub durable: u64,
    /// All notes before this number are durable.
    pub noted: u64,
    /// Sealed chunks that are not yet written.
    pub in_flight: BTreeSet<u64>,
    /// Sealed chunks for whoever holds the lock to write.
    pub outgoing: Vec<Arc<Chunk>>,
    /// Notes to be written.
    pub notes: Vec<Note>,
    /// Where the leaves lie.
    pub root: Vec<LeafAt>,
    /// Memory of chunks that were written.
    pub buffers: Vec<AlignedBuf>,
    /// Pages written.
    pub written: Written,
    /// Copies by page, if somebody asked for them.
    pub copies: Option<Copies>,
    /// Pages placed since the last checkpoint.
    pub since_checkpoint: u64,
    /// Why the store can no longer be written.
    pub failed: Option<StoreError>,
    /// The store is being closed.
    pub closing: bool,
    /// The cleaner waits to be woken.
    pub cleaner_sleeps: bool,
    /// Cleaning found no victim when it last looked, at this time.
    pub stuck: Option<u64>,
}

impl State {
    /// The state of a store that holds nothing.
    pub fn new(placer: Placer, layout: Arc<Layout>, store: u64) -> Self {
        let classes = placer.scheme().classes();
        let zones = layout.data.len() + 1;
        State {
            time: 0,
            zones: vec![DataZone::default(); zones],
            open: (0..classes).map(|_| None).collect(),
            empty: VecDeque::new(),
            limbo: VecDeque::new(),
            withheld: 0,
            next_seq: 1,
            next_opening: 1,
            next_serial: 1,
            durable: 0,
            noted: 0,
            in_flight: BTreeSet::new(),
            outgoing: Vec::new(),
            notes: Vec::new(),
            root: vec![LeafAt::default(); layout.leaves() as usize],
            buffers: Vec::new(),
            written: Written::default(),
            copies: None,
            since_checkpoint: 0,
            failed: None,
            closing: false,
            cleaner_sleeps: false,
            stuck: None,
            placer,
            layout,
            store,
        }
    }

    /// Withholds zones of the volume until there are as many as the layout asks for.
    pub fn withhold(&mut self) {
        while self.withheld < self.layout.fixed.spare as usize && self.placer.retire() {
            self.withheld += 1;
        }
    }

    /// A zone of the device is gone for good, and one of the volume with it.
    pub fn lose_zone(&mut self) {
        if !self.placer.retire() {
            self.withheld = self.withheld.saturating_sub(1);
        }
    }

    /// Makes a checkpoint due: a zone of the device failed, and what the last one says of zones no
    /// longer serves recovery.
    pub fn want_checkpoint(&mut self) {
        self.since_checkpoint = u64::MAX / 2;
    }

    /// Writes a page by the user.
    pub fn write(
        &mut self,
        lba: u32,
        sum: u32,
        hotness: Hotness,
        page: &[u8],
    ) -> Result<(), StoreError> {
        let told = (self.layout.fixed.hotness == 1).then_some(&hotness);
        let placed = self.placer.place_user(lba, sum, told)?;
        self.time += 1;
        self.written.user += 1;
        self.forget_copies(lba);
        self.append(placed, Row { lba, sum, time: self.time }, hotness, page)
    }

    /// Writes a page that was copied by cleaning.
    pub fn relocate(
        &mut self,
        placed: Placed,
        row: Row,
        hotness: Hotness,
        page: &[u8],
    ) -> Result<(), StoreError> {
        self.written.relocations += 1;
        if let Some(copies) = &mut self.copies {
            copies.add(row.lba);
        }
        self.append(placed, row, hotness, page)
    }

    fn forget_copies(&mut self, lba: u32) {
        if let Some(copies) = &mut self.copies {
            copies.forget(lba);
        }
    }

    /// Puts a placed page into its class's chunk.
    fn append(
        &mut self,
        placed: Placed,
        row: Row,
        hotness: Hotness,
        page: &[u8],
    ) -> Result<(), StoreError> {
        let Placed { class, slot } = placed;
        self.since_checkpoint += 1;
        if self.open[class].is_none() {
            if slot.offset == 0 {
                self.bind(slot.zone, class)?;
            }
            self.open[class] = Some(self.begin_chunk(slot));
        }
        let Some(chunk) = &mut self.open[class] else { return Ok(()) };
        debug_assert_eq!(
            (chunk.zone, chunk.first + chunk.rows.len() as u32),
            (slot.zone, slot.offset)
        );
        chunk.push(row, hotness, page);
        if chunk.is_full() {
            self.seal(class);
        }
        Ok(())
    }

    /// Gives a zone of the volume one of the device.
    fn bind(&mut self, zone: u32, class: usize) -> Result<(), StoreError> {
        let Some(device_zone) = self.empty.pop_front() else {
            let why = "no empty zone is left, though one must be";
            return Err(StoreError::Damaged { zone, page: 0, why: why.to_string() });
        };
        let opening = self.next_opening;
        self.next_opening += 1;
        self.zones[zone as usize] = DataZone { device_zone, opening, ..DataZone::default() };
        self.note(Note {
            tag: OPENED,
            target: zone,
            device_zone,
            class: class as u32,
            opening,
            ..Note::default()
        });
        Ok(())
    }

    /// A page was trimmed.
    pub fn note_trim(&mut self, lba: u32) {
        self.forget_copies(lba);
        self.note(Note { tag: TRIMMED, target: lba, ..Note::default() });
    }

    fn note(&mut self, note: Note) {
        self.notes.push(Note { time: self.time, serial: self.next_serial, ..note });
        self.next_serial += 1;
    }

    fn begin_chunk(&mut self, slot: Slot) -> Chunk {
        let fixed = &self.layout.fixed;
        let start = self.zones[slot.zone as usize].pages;
        let room = fixed.chunk_pages.min(fixed.device_pages - start - 1);
        let room = room.min(fixed.zone_pages - slot.offset);
        let size = (1 + fixed.chunk_pages as usize) * PAGE;
        let bytes = self.buffers.pop().unwrap_or_else(|| AlignedBuf::zeroed(size));
        Chunk::new(slot.zone, slot.offset, start, room, fixed.hotness == 1, bytes)
    }

    /// Seals the chunk of a class, if it holds pages.
    pub fn seal(&mut self, class: usize) {
        let Some(mut chunk) = self.open[class].take() else { return };
        let seq = self.next_seq;
        self.next_seq += 1;
        chunk.seq = seq;
        let zone = &mut self.zones[chunk.zone as usize];
        let durable = (self.durable, self.noted);
        chunk.seal(self.store, (zone.device_zone, zone.opening), durable);
        zone.firsts.push(chunk.first);
        zone.pages += 1 + chunk.rows.len() as u32;
        let next = chunk.first + chunk.rows.len() as u32;
        let fixed = &self.layout.fixed;
        let no_room = zone.is_sick() || fixed.device_pages - zone.pages < 2;
        let chunk = Arc::new(chunk);
        zone.unwritten.push_back(chunk.clone());
        self.written.headers += 1;
        self.in_flight.insert(seq);
        self.outgoing.push(chunk);
        if no_room && next < fixed.zone_pages {
            self.placer.end_early(class);
        }
    }

    /// Ends the zones that hardly fill, if there are any and cleaning is due, and seals what was
    /// begun there. Returns them.
    pub fn end_stale(&mut self) -> Vec<u32> {
        let ended = self.placer.end_stale();
        for &zone in &ended {
            self.seal_chunk_of(zone);
        }
        ended
    }

    /// Seals the chunk that is being filled for a zone; false if there is none.
    pub fn seal_chunk_of(&mut self, zone: u32) -> bool {
        let of_zone = |chunk: &Option<Chunk>| chunk.as_ref().is_some_and(|c| c.zone == zone);
        let class = self.open.iter().position(of_zone);
        class.inspect(|&class| self.seal(class)).is_some()
    }

    /// Seals all chunks; returns the number of the last one.
    pub fn seal_all(&mut self) -> u64 {
        (0..self.open.len()).for_each(|class| self.seal(class));
        self.next_seq - 1
    }

    /// True if all chunks up to this number are written.
    pub fn is_written(&self, seq: u64) -> bool {
        self.in_flight.first().is_none_or(|&first| first > seq)
    }

    /// Finds a page: copies it if it is in memory. None if it was never written.
    pub fn find(&self, lba: u32, into: &mut [u8]) -> Result<Option<Found>, StoreError> {
        let Some((slot, sum)) = self.placer.find(lba) else { return Ok(None) };
        if slot.zone == 0 {
            return Err(StoreError::Lost { lba });
        }
        let zone = &self.zones[slot.zone as usize];
        let open = self.open.iter().flatten().filter(|chunk| chunk.zone == slot.zone);
        let sealed = zone.unwritten.iter().map(|chunk| &**chunk);
        if let Some(page) = open.chain(sealed).find_map(|chunk| chunk.page(slot.offset)) {
            into.copy_from_slice(page);
            return Ok(Some(Found::Copied));
        }
        let (page, pin) = (zone.page_of(slot.offset), zone.pin.clone());
        Ok(Some(Found::At { zone: zone.device_zone, page, sum, pin }))
    }
}
