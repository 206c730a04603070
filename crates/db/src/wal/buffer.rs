//! Records that are appended and not yet durable, and the rules by which they are admitted.
//!
//! A record is admitted only if it can be made durable at once. So only appends ever wait for a
//! release of records; a wait for an appended record never does. An owner that must make records
//! durable before it can release others does not deadlock.

use super::batch::{BLOCK, BODY, RECORD, record_bytes};
use super::error::WalError;
use super::lsn::Lsn;
use super::writer::{Mark, Writer};
use crate::number::put_number;

/// Blocks that records leave to batches which say what was released; of small zones half of one.
/// So many times in a row a crash may tear such a batch in a full log, each time it is opened.
const RESERVE: u64 = 64;

/// State shared by appends and flushes, under one lock.
pub(super) struct Buffer {
    /// Records that no flush has taken, or whose end it left.
    pub pending: Vec<u8>,
    /// Bytes of the first of them that are on the device: it is not durable, and counts as a whole.
    pub begun: usize,
    /// The other buffer: what a flush has taken is cleared and comes back.
    pub spare: Vec<u8>,
    /// Bytes of records after which appends wait.
    pub most_pending: usize,
    /// The end of the last record.
    pub end: Lsn,
    /// Records that end here or before are not needed.
    pub keep_from: Lsn,
    /// The position up to which records must be released for a zone to become free.
    pub frees_at: Lsn,
    /// True if a batch is to be written that records the release.
    pub is_release_due: bool,
    /// The end of the records that threads wait for.
    pub wanted: Lsn,
    /// A flush is under way.
    pub is_flushing: bool,
    /// A thread waits for room that a flush would make.
    pub is_short: bool,
    /// Blocks that records may take, pending ones not counted.
    pub free: u64,
    /// Blocks of the log that records may take at most.
    pub capacity: u64,
    /// Where the zones in use begin, oldest first, and the end of what is written.
    marks: Vec<Mark>,
    /// Blocks of a zone: of their mean, if they differ.
    pub zone: u64,
    /// Bytes of the longest payload that the log holds: with its head a quarter of the log, so
    /// that one zone which still holds other records is never in its way.
    pub largest_record: usize,
    /// The error after which the log can no longer be written.
    pub failed: Option<WalError>,
    /// Nothing more is appended.
    pub is_closing: bool,
    /// Records appended.
    pub records: u64,
    /// Blocks written.
    pub blocks: u64,
    /// Blocks saved by compression.
    pub blocks_saved: u64,
    /// Flushes of the device.
    pub flushes: u64,
    /// Zones that the log does without, as they could not be reset.
    pub zones_lost: u64,
}

impl Buffer {
    /// Nothing pending, in a log that ends at `end`.
    pub(super) fn new(most_pending: usize, end: Lsn, keep_from: Lsn, writer: &Writer) -> Self {
        let most_pending = most_pending.min((writer.blocks() * BLOCK) as usize).max(BLOCK as usize);
        let mut buffer = Buffer {
            pending: Vec::with_capacity(most_pending),
            begun: 0,
            spare: Vec::with_capacity(most_pending),
            most_pending,
            end,
            keep_from,
            frees_at: Lsn::MAX,
            is_release_due: false,
            wanted: 0,
            is_flushing: false,
            is_short: false,
            free: 0,
            capacity: 0,
            marks: Vec::new(),
            zone: 0,
            largest_record: 0,
            failed: None,
            is_closing: false,
            records: 0,
            blocks: 0,
            blocks_saved: 0,
            flushes: 0,
            zones_lost: 0,
        };
        buffer.measure(writer);
        buffer
    }

    /// Takes over how much room there is, while nothing is being written.
    pub(super) fn measure(&mut self, writer: &Writer) {
        self.zone = writer.blocks() / writer.zones().max(1) as u64;
        let reserve = RESERVE.min(self.zone / 2);
        self.free = writer.room().saturating_sub(reserve);
        self.capacity = writer.blocks().saturating_sub(reserve);
        let largest = (self.capacity / 4 * BODY as u64).min(u64::from(u32::MAX));
        self.largest_record = (largest as usize).saturating_sub(RECORD);
        self.frees_at = writer.frees_at();
        let end = self.end - self.pending.len() as u64;
        self.marks.clear();
        self.marks.extend(writer.marks(end));
        self.zones_lost = writer.zones_lost;
        // Records may have been released while the last batch was being written.
        self.is_release_due |= self.keep_from >= self.frees_at;
    }

    /// Bytes of the log's zones that are taken, pending records included.
    pub(super) fn used(&self) -> u64 {
        let free = self.free.saturating_sub(cost(self.pending.len()));
        (self.capacity - free.min(self.capacity)) * BLOCK
    }

    /// Bytes of what recovery would need without records that end at `upto` or before, pending ones
    /// included: of the records, or of the blocks that they take, whichever is more. Of a zone that
    /// is needed in part, blocks count by its share of positions. A record over several zones needs
    /// them all.
    pub(super) fn kept_from(&self, upto: Lsn) -> u64 {
        let behind = self.marks.partition_point(|mark| mark.at <= upto);
        let begun = behind.checked_sub(1).map(|at| self.marks[at]).unwrap_or_default();
        let end = self.marks.last().map_or(0, |mark| mark.blocks);
        let released = match self.marks.get(behind) {
            Some(next) if next.blocks - begun.blocks > self.zone => begun.blocks,
            Some(next) => {
                let (all, part) = (next.at - begun.at, upto - begun.at);
                let blocks = u128::from(next.blocks - begun.blocks);
                begun.blocks + (blocks * u128::from(part) / u128::from(all.max(1))) as u64
            }
            None => end,
        };
        let blocks = end - released + cost(self.pending.len());
        (blocks * BLOCK).max(self.end.saturating_sub(upto))
    }

    /// True if a record with `payload` bytes may be appended now.
    pub(super) fn admits(&self, payload: usize) -> bool {
        let bytes = self.pending.len() + record_bytes(payload);
        let fits = self.pending.is_empty() || self.begun + bytes <= self.most_pending;
        fits && payload <= self.largest_record
            && cost(bytes) <= self.free
            && self.failed.is_none()
            && !self.is_closing
    }

    /// The end of a record with a payload of `bytes`, if it is the next.
    pub(super) fn end_with(&self, bytes: usize) -> Lsn {
        self.end + record_bytes(bytes) as u64
    }

    /// Appends a record that was admitted, and ends at `end`.
    pub(super) fn push(&mut self, kind: u8, end: Lsn, bytes: usize, parts: &[&[u8]]) {
        assert!(self.failed.is_none() && !self.is_closing, "a record is added to an ended log");
        debug_assert_eq!(end, self.end_with(bytes), "records follow one another");
        debug_assert_eq!(
            bytes,
            parts.iter().map(|part| part.len()).sum::<usize>(),
            "a record's length"
        );
        self.pending.push(kind);
        put_number(bytes, &mut self.pending);
        parts.iter().for_each(|part| self.pending.extend_from_slice(part));
        self.end = end;
        self.records += 1;
    }

    /// Gives a buffer back that a flush has taken, without what a large record made it grow by.
    pub(super) fn give_back(&mut self, mut bytes: Vec<u8>) {
        debug_assert!(self.spare.is_empty(), "one buffer is spare");
        bytes.clear();
        bytes.shrink_to(self.most_pending);
        self.spare = bytes;
    }
}

/// Blocks that so many bytes of records take at most. However they are cut into batches, all but
/// the last of these are full, and a full batch holds at least [`BODY`] bytes a block.
pub(super) fn cost(bytes: usize) -> u64 {
    bytes.div_ceil(BODY) as u64
}
