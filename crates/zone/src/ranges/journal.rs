//! The zones' write pointers and extents, kept in a small area at the beginning of a drive or file.
//!
//! The area has two halves. A half begins with a snapshot, which has a record of each zone that is
//! not empty, and goes on with blocks of changes. Once a half is full, a snapshot begins the other
//! one. Each block has a checksum, its place, and the epoch of its half; a half whose snapshot is
//! not whole does not count, and changes end at the first block that is not of the half's epoch.
//!
//! A block is durable before the next one is written, unless both belong to one call. So the last
//! call before a crash may be seen in part, which it may: it has not returned, and zones are
//! independent of each other. A record may also be durable before the bytes that it tells of, if it
//! was written with them: it has their sum, and the next opening compares it.

use std::io::{self, IoSlice};

use super::disk::Disk;
use crate::geometry::BLOCK_BYTES;
use crate::{AlignedBuf, Geometry};

const BLOCK: usize = BLOCK_BYTES as usize;
const MAGIC: &[u8; 8] = b"flzones2";
const HEAD: usize = 32;
/// Bytes of a record without extents.
const RECORD: usize = 20;
const _: () = assert!(HEAD.is_multiple_of(4) && HEAD + RECORD <= BLOCK);
/// The least number of blocks of changes in a half.
const CHANGES: u64 = 16;

/// The blocks for the records of so many zones that have as many extents, if a record ends with its
/// block.
fn blocks_for(zones: u64, extents: usize) -> u64 {
    zones.div_ceil(((BLOCK - HEAD) / (RECORD + 4 * extents)) as u64)
}

/// Places on a drive or in a file, in bytes: the first block describes the device, then come the
/// halves of the journal, then zones.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    /// Blocks of a half.
    half: u64,
    /// The most extents of a zone.
    most_extents: usize,
    /// The beginning of the first zone.
    pub zones_at: u64,
}

impl Layout {
    /// Zones begin at a multiple of `aligned` bytes, and have at most `most_extents`.
    pub(super) fn new(zones: u32, most_extents: usize, aligned: u64) -> Layout {
        let snapshot = blocks_for(zones.into(), most_extents);
        let half = snapshot + snapshot.max(CHANGES);
        let zones_at = ((1 + 2 * half) * BLOCK as u64).next_multiple_of(aligned);
        Layout { half, most_extents, zones_at }
    }

    fn at(&self, half: u64, block: u64) -> u64 {
        assert!(half < 2 && block <= self.half, "a block of one of the two halves");
        (1 + half * self.half + block) * BLOCK as u64
    }

    fn half_bytes(&self) -> usize {
        self.half as usize * BLOCK
    }

    /// The blocks of a half that are used while so many zones are not empty.
    pub(super) fn used_blocks(&self, zones: u64) -> u64 {
        let snapshot = blocks_for(zones, self.most_extents);
        (snapshot + snapshot.max(CHANGES)).min(self.half)
    }

    /// Reserves these blocks of both halves, from `from` on.
    pub(super) fn reserve(&self, disk: &dyn Disk, from: u64, to: u64) -> io::Result<()> {
        let bytes = to.saturating_sub(from) * BLOCK as u64;
        (0..2).try_for_each(|half| disk.reserve(self.at(half, from), bytes))
    }
}

/// What is recorded of a zone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ZoneRecord {
    /// The write pointer, in bytes.
    pub pointer: u64,
    /// Bytes of the zone that may not have been durable before the record: those from here up to
    /// the pointer. They have this sum if they are what was written.
    pub from: u64,
    pub sum: u32,
    /// The places of the zone's extents; none if zones have places of their own.
    pub extents: Vec<u32>,
}

/// A valid block.
struct Block {
    epoch: u64,
    /// Blocks of the same call from this one on.
    left: u32,
    records: Vec<(u32, ZoneRecord)>,
}

/// The zones as they were recorded, and the place of the next record.
pub(super) struct Journal {
    layout: Layout,
    /// Of each zone what a power cut leaves.
    zones: Vec<ZoneRecord>,
    epoch: u64,
    half: u64,
    /// The block of the half that comes next.
    next: u64,
    /// The blocks of the half that are used.
    end: u64,
    /// True from the beginning of a record until it is durable, and once a sync failed. Then it is
    /// not known what the next process will find, so nothing more is recorded.
    failed: bool,
}

/// The journal of a dead process, and the records of its last call, whose sums are to be compared.
pub(super) struct FoundJournal {
    pub journal: Journal,
    pub last: Vec<(u32, ZoneRecord)>,
}

impl Journal {
    /// Makes the journal of a device all of whose zones are empty. It is durable when this returns.
    pub(super) fn make(disk: &dyn Disk, layout: Layout, zones: u32) -> io::Result<()> {
        layout.reserve(disk, 0, layout.used_blocks(0))?;
        let zones = vec![ZoneRecord::default(); zones as usize];
        // Of the two halves, the first is written first.
        let mut journal =
            Journal { layout, zones, epoch: 0, half: 1, next: 0, end: 0, failed: false };
        journal.snapshot(disk)?;
        disk.sync()
    }

    /// Makes all blocks zeroes.
    pub(super) fn clear(disk: &dyn Disk, layout: Layout) -> io::Result<()> {
        let zeroes = AlignedBuf::zeroed(layout.half_bytes());
        (0..2).try_for_each(|half| disk.write(layout.at(half, 0), &[IoSlice::new(&zeroes)], 0))
    }

    /// Reads the journal; `None` if it is damaged. Nothing is written.
    pub(super) fn read(
        disk: &dyn Disk,
        layout: Layout,
        geometry: &Geometry,
    ) -> io::Result<Option<FoundJournal>> {
        let mut best: Option<(u64, u64, Vec<Block>)> = None;
        for half in 0..2 {
            let mut bytes = AlignedBuf::zeroed(layout.half_bytes());
            disk.read(layout.at(half, 0), &mut bytes)?;
            let mut blocks: Vec<Block> =
                (0..).zip(bytes.chunks_exact(BLOCK)).map_while(parse).collect();
            let Some(&Block { epoch, left, .. }) = blocks.first() else { continue };
            let of_epoch = blocks.iter().take_while(|block| block.epoch == epoch).count();
            blocks.truncate(of_epoch);
            let is_whole = blocks.len() as u64 >= u64::from(left);
            if is_whole && best.as_ref().is_none_or(|&(other, ..)| other < epoch) {
                best = Some((epoch, half, blocks));
            }
        }
        let Some((epoch, half, mut blocks)) = best else { return Ok(None) };
        let mut last = 0;
        while let Some(next) = blocks.get(last).map(|block| last + block.left.max(1) as usize)
            && next < blocks.len()
        {
            last = next;
        }
        let last: Vec<_> = blocks.drain(last..).flat_map(|block| block.records).collect();
        let zones = vec![ZoneRecord::default(); geometry.zones as usize];
        // The next record begins the other half: behind the records of a dead process some may lie
        // of a call that a crash cut short.
        let (next, end) = (layout.half, layout.half);
        let mut journal = Journal { layout, zones, epoch, half, next, end, failed: false };
        let is_possible = |(zone, record): &(u32, ZoneRecord)| {
            *zone < geometry.zones
                && record.pointer <= geometry.zone_capacity
                && record.from <= record.pointer
                && (record.pointer | record.from).is_multiple_of(u64::from(geometry.block_bytes))
                && record.extents.len() <= layout.most_extents
        };
        for record in blocks.into_iter().flat_map(|block| block.records) {
            if !is_possible(&record) {
                return Ok(None);
            }
            journal.put(record.0, record.1);
        }
        Ok(last.iter().all(is_possible).then_some(FoundJournal { journal, last }))
    }

    /// Begins to record on a device that was just opened. What the last process left becomes
    /// durable first: it may have been killed before its half was.
    pub(super) fn take_over(&mut self, disk: &dyn Disk) -> io::Result<()> {
        disk.sync()?;
        self.record(disk, Vec::new())
    }

    /// What a power cut leaves of each zone.
    pub(super) fn zones(&self) -> &[ZoneRecord] {
        &self.zones
    }

    /// Takes what a zone is from now on, without recording it.
    pub(super) fn put(&mut self, zone: u32, record: ZoneRecord) {
        assert!(record.from <= record.pointer, "what is not durable yet lies before the pointer");
        self.zones[zone as usize] = ZoneRecord { from: 0, sum: 0, ..record };
    }

    /// Makes all writes durable that returned before. If that fails, nothing more is recorded.
    pub(super) fn sync(&mut self, disk: &dyn Disk) -> io::Result<()> {
        disk.sync().inspect_err(|_| self.failed = true)
    }

    /// True if the next record of so many zones can tell of bytes that are not durable yet: it goes
    /// behind others.
    pub(super) fn has_room_for(&self, zones: u64) -> bool {
        self.next + blocks_for(zones, self.layout.most_extents) <= self.end
    }

    /// Records what zones are. It is durable when this returns.
    ///
    /// # Errors
    /// An I/O error now or in an earlier call.
    pub(super) fn record(
        &mut self,
        disk: &dyn Disk,
        records: Vec<(u32, ZoneRecord)>,
    ) -> io::Result<()> {
        if self.failed {
            return Err(io::Error::other("an earlier record of write pointers failed"));
        }
        self.failed = true;
        let goes_on = !records.is_empty() && self.has_room_for(records.len() as u64);
        if goes_on {
            self.write(disk, &records)?;
        }
        for (zone, record) in records {
            self.put(zone, record);
        }
        if !goes_on {
            self.snapshot(disk)?;
        }
        disk.sync()?;
        self.failed = false;
        Ok(())
    }

    /// Begins the other half. All bytes that it tells of are durable already.
    fn snapshot(&mut self, disk: &dyn Disk) -> io::Result<()> {
        (self.half, self.epoch, self.next) = (1 - self.half, self.epoch + 1, 0);
        let zones = (0..).zip(&self.zones).filter(|(_, zone)| **zone != ZoneRecord::default());
        let durable = |zone: &ZoneRecord| ZoneRecord { from: zone.pointer, ..zone.clone() };
        let all: Vec<_> = zones.map(|(number, zone)| (number, durable(zone))).collect();
        self.end = self.layout.used_blocks(all.len() as u64);
        self.write(disk, &all)
    }

    fn write(&mut self, disk: &dyn Disk, records: &[(u32, ZoneRecord)]) -> io::Result<()> {
        let bytes = seal(self.epoch, self.next, records);
        let end = self.next + (bytes.len() / BLOCK) as u64;
        assert!(end <= self.end, "the records of a call fit in their half");
        disk.write(self.layout.at(self.half, self.next), &[IoSlice::new(&bytes)], 0)?;
        self.next = end;
        Ok(())
    }
}

/// The blocks of a call, from a place of the half on.
fn seal(epoch: u64, place: u64, records: &[(u32, ZoneRecord)]) -> AlignedBuf {
    let mut counts = vec![0];
    let mut room = BLOCK - HEAD;
    for (_, record) in records {
        let bytes = RECORD + 4 * record.extents.len();
        assert!(bytes <= BLOCK - HEAD, "a record ends with its block");
        if bytes > room {
            counts.push(0);
            room = BLOCK - HEAD;
        }
        room -= bytes;
        if let Some(count) = counts.last_mut() {
            *count += 1;
        }
    }
    let mut bytes = AlignedBuf::zeroed(counts.len() * BLOCK);
    let (mut records, mut left) = (records.iter(), counts.len() as u32);
    for ((block, count), place) in bytes.chunks_exact_mut(BLOCK).zip(counts).zip(place as u32..) {
        block[..8].copy_from_slice(MAGIC);
        block[8..16].copy_from_slice(&epoch.to_le_bytes());
        let words = records.by_ref().take(count).flat_map(|(zone, record)| {
            let in_blocks = |bytes: u64| {
                let block = u64::from(BLOCK_BYTES);
                assert!(bytes.is_multiple_of(block), "pointers are recorded in whole blocks");
                (bytes / block) as u32
            };
            let (pointer, from) = (in_blocks(record.pointer), in_blocks(record.from));
            let extents = record.extents.len() as u32;
            [*zone, pointer, from, record.sum, extents].into_iter().chain(record.extents.clone())
        });
        for (to, word) in block[HEAD..].chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        for (at, word) in [(16, place), (20, count as u32), (28, left)] {
            block[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        left -= 1;
        let sum = crc32c::crc32c(block);
        block[24..28].copy_from_slice(&sum.to_le_bytes());
    }
    assert!(left == 0 && records.next().is_none(), "each record is in a block");
    bytes
}

/// The content of a block that is whole and in its place.
fn parse((place, block): (u32, &[u8])) -> Option<Block> {
    let u32_at = |at: usize| Some(u32::from_le_bytes(block.get(at..at + 4)?.try_into().ok()?));
    if block.get(..8)? != MAGIC || u32_at(16)? != place {
        return None;
    }
    let sum = crc32c::crc32c_append(crc32c::crc32c(&block[..24]), &[0; 4]);
    if crc32c::crc32c_append(sum, &block[28..]) != u32_at(24)? {
        return None;
    }
    let mut words = block[HEAD..].chunks_exact(4).filter_map(|word| word.try_into().ok());
    let mut word = || words.next().map(u32::from_le_bytes);
    let mut record = || {
        let zone = word()?;
        let mut bytes = || Some(u64::from(word()?) * u64::from(BLOCK_BYTES));
        let (pointer, from) = (bytes()?, bytes()?);
        let (sum, extents) = (word()?, word()?);
        let extents = (0..extents).map(|_| word()).collect::<Option<_>>()?;
        Some((zone, ZoneRecord { pointer, from, sum, extents }))
    };
    let records = (0..u32_at(20)?).map(|_| record()).collect::<Option<_>>()?;
    let epoch = u64::from_le_bytes(block.get(8..16)?.try_into().ok()?);
    Some(Block { epoch, left: u32_at(28)?, records })
}
