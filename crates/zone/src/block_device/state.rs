//! The write pointers of a plain block device, kept in a small area at its beginning.
//!
//! The area has two halves. A half begins with a snapshot, which has the pointers of all zones,
//! and goes on with blocks of changes. Once a half is full, a snapshot begins the other one. Each
//! block has a checksum, its place, and the epoch of its half; a half whose snapshot is not whole
//! does not count, and changes end at the first block that is not of the half's epoch.
//!
//! A block is durable before the next one is written, unless both belong to one call. So the last
//! call before a crash may be seen in part, which it may: it has not returned, and zones are
//! independent of each other.

use std::io::{self, IoSlice};

use super::disk::Disk;
use crate::geometry::BLOCK_BYTES;
use crate::{AlignedBuf, Geometry};

const BLOCK: usize = BLOCK_BYTES as usize;
const MAGIC: &[u8; 8] = b"flzones1";
const HEAD: usize = 32;
const RECORD: usize = 16;
/// The records in a block.
const MOST: usize = (BLOCK - HEAD) / RECORD;
/// The least number of blocks of changes in a half.
const CHANGES: u64 = 64;

/// Places on a plain block device, in bytes: the first block describes the device, then come the
/// halves of the state, then zones.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    /// Blocks of a snapshot.
    snapshot: u64,
    /// Blocks of a half.
    half: u64,
    /// The beginning of the first zone: a multiple of the size of zones.
    pub zones_at: u64,
}

impl Layout {
    pub fn new(zones: u32, zone_bytes: u64) -> Layout {
        let snapshot = u64::from(zones).div_ceil(MOST as u64);
        let half = snapshot + snapshot.max(CHANGES);
        let zones_at = ((1 + 2 * half) * BLOCK as u64).next_multiple_of(zone_bytes);
        Layout { snapshot, half, zones_at }
    }

    /// The zones that fit on so many bytes.
    pub fn zones_on(bytes: u64, zone_bytes: u64) -> u64 {
        let fits = |zones: u64| {
            let zones = u32::try_from(zones).ok();
            let zones = zones.map(|z| (z, Layout::new(z, zone_bytes).zones_at));
            zones.is_some_and(|(z, at)| at.saturating_add(u64::from(z) * zone_bytes) <= bytes)
        };
        // The search ends soon: the state is small beside the zones.
        let most = (bytes / zone_bytes.max(1)).min(u64::from(u32::MAX));
        (0..=most).rev().find(|&zones| fits(zones)).unwrap_or(0)
    }

    fn at(&self, half: u64, block: u64) -> u64 {
        (1 + half * self.half + block) * BLOCK as u64
    }

    fn half_bytes(&self) -> usize {
        self.half as usize * BLOCK
    }
}

/// A valid block.
struct Block {
    epoch: u64,
    records: Vec<(u32, u64)>,
}

/// The write pointers as they were recorded, and the place of the next record.
pub(super) struct WritePointers {
    layout: Layout,
    /// The write pointer of each zone that a power cut leaves.
    pointers: Vec<u64>,
    epoch: u64,
    half: u64,
    /// The block of the half that comes next.
    next: u64,
    /// True from the beginning of a record until it is durable. If that failed, it is not known what
    /// the next process will find, so nothing more is recorded.
    failed: bool,
}

impl WritePointers {
    /// Makes the state of a device all of whose zones are empty. It is durable when this returns.
    pub fn make(disk: &dyn Disk, layout: Layout, zones: u32) -> io::Result<()> {
        let zeroes = AlignedBuf::zeroed(layout.half_bytes());
        for half in 0..2 {
            disk.write(layout.at(half, 0), &[IoSlice::new(&zeroes)], 0)?;
        }
        let pointers = vec![0; zones as usize];
        // Of the two halves, the first is written first.
        let mut state =
            WritePointers { layout, pointers, epoch: 0, half: 1, next: 0, failed: false };
        state.snapshot(disk)?;
        disk.sync()
    }

    /// Reads the state; `None` if it is damaged. Nothing is written.
    pub fn read(
        disk: &dyn Disk,
        layout: Layout,
        geometry: &Geometry,
    ) -> io::Result<Option<WritePointers>> {
        let mut best: Option<(u64, u64, Vec<Option<Block>>)> = None;
        for half in 0..2 {
            let mut bytes = AlignedBuf::zeroed(layout.half_bytes());
            disk.read(layout.at(half, 0), &mut bytes)?;
            let blocks: Vec<_> = (0..).zip(bytes.chunks_exact(BLOCK)).map(parse).collect();
            let Some(epoch) = blocks[0].as_ref().map(|block| block.epoch) else { continue };
            let is_of = |block: &Option<Block>| block.as_ref().is_some_and(|b| b.epoch == epoch);
            let is_whole = blocks[..layout.snapshot as usize].iter().all(is_of);
            if is_whole && best.as_ref().is_none_or(|&(other, ..)| other < epoch) {
                best = Some((epoch, half, blocks));
            }
        }
        let Some((epoch, half, blocks)) = best else { return Ok(None) };
        let mut pointers = vec![0; geometry.zones as usize];
        let of_epoch = blocks.into_iter().map_while(|block| block.filter(|b| b.epoch == epoch));
        for (zone, pointer) in of_epoch.flat_map(|block| block.records) {
            let is_possible = pointer <= geometry.zone_capacity
                && pointer.is_multiple_of(u64::from(geometry.block_bytes));
            match pointers.get_mut(zone as usize) {
                Some(place) if is_possible => *place = pointer,
                _ => return Ok(None),
            }
        }
        // The next record begins the other half: behind the records of a dead process some may lie of a
        // call that a crash cut short.
        let next = layout.half;
        Ok(Some(WritePointers { layout, pointers, epoch, half, next, failed: false }))
    }

    /// Begins to record on a device that was just opened. What the last process left becomes durable
    /// first: it may have been killed before its half was.
    pub fn take_over(&mut self, disk: &dyn Disk) -> io::Result<()> {
        disk.sync()?;
        self.record(disk, &[])
    }

    /// The write pointers that a power cut leaves.
    pub fn pointers(&self) -> &[u64] {
        &self.pointers
    }

    /// Records write pointers. They are durable when this returns.
    ///
    /// # Errors
    /// An I/O error now or in an earlier call.
    pub fn record(&mut self, disk: &dyn Disk, changes: &[(u32, u64)]) -> io::Result<()> {
        if self.failed {
            return Err(io::Error::other("an earlier record of write pointers failed"));
        }
        self.failed = true;
        for &(zone, pointer) in changes {
            self.pointers[zone as usize] = pointer;
        }
        let blocks = changes.len().div_ceil(MOST) as u64;
        if self.next + blocks > self.layout.half || self.next == self.layout.half {
            self.snapshot(disk)?;
        } else {
            self.write(disk, changes)?;
        }
        disk.sync()?;
        self.failed = false;
        Ok(())
    }

    /// Begins the other half.
    fn snapshot(&mut self, disk: &dyn Disk) -> io::Result<()> {
        (self.half, self.epoch, self.next) = (1 - self.half, self.epoch + 1, 0);
        let all: Vec<_> = (0..).zip(self.pointers.iter().copied()).collect();
        self.write(disk, &all)
    }

    fn write(&mut self, disk: &dyn Disk, records: &[(u32, u64)]) -> io::Result<()> {
        let mut bytes = AlignedBuf::zeroed(records.len().div_ceil(MOST) * BLOCK);
        let blocks = bytes.chunks_exact_mut(BLOCK).zip(records.chunks(MOST));
        for ((block, records), place) in blocks.zip(self.next..) {
            seal(block, self.epoch, place, records);
        }
        disk.write(self.layout.at(self.half, self.next), &[IoSlice::new(&bytes)], 0)?;
        self.next += (bytes.len() / BLOCK) as u64;
        Ok(())
    }
}

fn seal(block: &mut [u8], epoch: u64, place: u64, records: &[(u32, u64)]) {
    block[..8].copy_from_slice(MAGIC);
    block[8..16].copy_from_slice(&epoch.to_le_bytes());
    block[16..20].copy_from_slice(&(place as u32).to_le_bytes());
    block[20..24].copy_from_slice(&(records.len() as u32).to_le_bytes());
    for (to, (zone, pointer)) in block[HEAD..].chunks_exact_mut(RECORD).zip(records) {
        to[..4].copy_from_slice(&zone.to_le_bytes());
        to[8..].copy_from_slice(&pointer.to_le_bytes());
    }
    let sum = crc32c::crc32c(block);
    block[24..28].copy_from_slice(&sum.to_le_bytes());
}

/// The content of a block that is whole and in its place.
fn parse((place, block): (u32, &[u8])) -> Option<Block> {
    let u32_at = |at: usize| Some(u32::from_le_bytes(block.get(at..at + 4)?.try_into().ok()?));
    let u64_at = |at: usize| Some(u64::from_le_bytes(block.get(at..at + 8)?.try_into().ok()?));
    if block.get(..8)? != MAGIC || u32_at(16)? != place {
        return None;
    }
    let sum = crc32c::crc32c_append(crc32c::crc32c(&block[..24]), &[0; 4]);
    if crc32c::crc32c_append(sum, &block[28..]) != u32_at(24)? {
        return None;
    }
    let count = u32_at(20)? as usize;
    if count > MOST {
        return None;
    }
    let record = |n: usize| Some((u32_at(HEAD + n * RECORD)?, u64_at(HEAD + n * RECORD + 8)?));
    Some(Block { epoch: u64_at(8)?, records: (0..count).map(record).collect::<Option<_>>()? })
}
