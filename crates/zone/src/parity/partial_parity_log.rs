//! The last rows of open sets, which are not whole and have no parity yet: a log of what each flush
//! found of them, in two zones below that are written in turn.
//!
//! A record is a block of entries, and for each entry of a row that is not whole the XOR of its
//! blocks. It is written before the flush that it is for, and its sums say whether it is there. A
//! zone of the log begins with a record of all such rows, so the other zone can be reset when it is
//! full.

use std::collections::BTreeMap;

use super::rows::{BLOCK, bytes};
use crate::geometry::LOG_ZONES;
use crate::{AlignedBuf, Device, DeviceError};

/// Blocks of a zone that the log uses: opening reads them.
const MOST_BLOCKS: u64 = 1024;

const MAGIC: u64 = u64::from_le_bytes(*b"frosttls");
const HEAD: usize = 32;
const ENTRY: usize = 16;
const MOST_ENTRIES: usize = (BLOCK - HEAD) / ENTRY;
const _: () = assert!(HEAD + MOST_ENTRIES * ENTRY <= BLOCK, "a head is a block");

/// A row that is not whole.
#[derive(Clone)]
pub(super) struct Tail {
    /// Blocks of its set when it was flushed.
    pub blocks: u64,
    /// The XOR of the row.
    pub sum: Vec<u8>,
}

/// The log.
pub(super) struct PartialParityLog {
    zones: [u32; LOG_ZONES as usize],
    /// The zone that is written, and the blocks in it.
    current: usize,
    at: u64,
    /// Blocks that a zone takes.
    most: u64,
    /// Number of the next record.
    seq: u64,
    /// The rows, as they were flushed.
    pub live: BTreeMap<u32, Tail>,
    /// Both zones failed: rows that are not whole are not protected any more.
    has_failed: bool,
}

/// A record that was read.
struct Record {
    seq: u64,
    is_whole: bool,
    entries: Vec<(u32, Option<Tail>)>,
}

impl PartialParityLog {
    /// Reads the log.
    pub(super) fn read(below: &dyn Device) -> Result<Self, DeviceError> {
        let geometry = below.geometry();
        let first = geometry.zones.saturating_sub(LOG_ZONES);
        let most = (geometry.zone_capacity / BLOCK as u64).min(MOST_BLOCKS);
        let mut records = Vec::new();
        for zone in first..geometry.zones {
            records.extend(read_zone(below, zone, most)?);
        }
        records.sort_by_key(|(_, record)| record.seq);
        let (mut live, mut seq, mut last) = (BTreeMap::new(), 1, first);
        for (zone, record) in records {
            if record.is_whole {
                live.clear();
            }
            for (set, tail) in record.entries {
                match tail {
                    Some(tail) => _ = live.insert(set, tail),
                    None => _ = live.remove(&set),
                }
            }
            (seq, last) = (record.seq + 1, zone);
        }
        let zones = [first, first + 1];
        // The last record may be torn: the next one goes to the other zone.
        let current = (last - first) as usize;
        Ok(PartialParityLog { zones, current, at: most, most, seq, live, has_failed: false })
    }

    /// Appends what became of the last rows of some sets. It is durable after the next flush.
    pub(super) fn log(
        &mut self,
        below: &dyn Device,
        changes: Vec<(u32, Option<Tail>)>,
    ) -> Result<(), DeviceError> {
        let mut changed = Vec::new();
        for (set, tail) in changes {
            let is_tail = tail.is_some();
            let before = match tail {
                Some(tail) => self.live.insert(set, tail),
                None => self.live.remove(&set),
            };
            if is_tail || before.is_some() {
                changed.push(set);
            }
        }
        if changed.is_empty() || self.has_failed {
            return Ok(());
        }
        changed.truncate(MOST_ENTRIES);
        let record = self.record(&changed, false);
        if self.at + (record.len() / BLOCK) as u64 <= self.most {
            match self.append(below, &record) {
                Err(error) if error.is_of_zone() => {}
                appended => return appended,
            }
        }
        self.begin_zone(below)
    }

    /// Begins the other zone of the log with a record of all rows.
    fn begin_zone(&mut self, below: &dyn Device) -> Result<(), DeviceError> {
        self.current = 1 - self.current;
        self.at = 0;
        let room = (self.most as usize).saturating_sub(1).min(MOST_ENTRIES);
        let all: Vec<u32> = self.live.keys().copied().take(room).collect();
        let record = self.record(&all, true);
        let begun = below.reset(self.zones[self.current]);
        match begun.and_then(|()| self.append(below, &record)) {
            Err(error) if error.is_of_zone() => {
                self.has_failed = true;
                Ok(())
            }
            begun => begun,
        }
    }

    fn append(&mut self, below: &dyn Device, record: &[u8]) -> Result<(), DeviceError> {
        let blocks = (record.len() / BLOCK) as u64;
        assert!(self.at + blocks <= self.most, "opening reads what the log writes");
        below.append(self.zones[self.current], bytes(self.at), record)?;
        self.at += blocks;
        self.seq += 1;
        Ok(())
    }

    fn record(&self, sets: &[u32], is_whole: bool) -> AlignedBuf {
        assert!(sets.len() <= MOST_ENTRIES, "the entries of a record fit in its head");
        let tails = || sets.iter().filter_map(|set| self.live.get(set));
        let mut record = AlignedBuf::zeroed((1 + tails().count()) * BLOCK);
        let (head, rows) = record.split_at_mut(BLOCK);
        for (row, tail) in rows.chunks_exact_mut(BLOCK).zip(tails()) {
            row.copy_from_slice(&tail.sum);
        }
        head[..8].copy_from_slice(&MAGIC.to_le_bytes());
        head[8..16].copy_from_slice(&self.seq.to_le_bytes());
        head[16..20].copy_from_slice(&(sets.len() as u32).to_le_bytes());
        head[20..24].copy_from_slice(&u32::from(is_whole).to_le_bytes());
        for (entry, set) in head[HEAD..].chunks_exact_mut(ENTRY).zip(sets) {
            let tail = self.live.get(set);
            let sum = tail.map_or(0, |tail| crc32c::crc32c(&tail.sum));
            entry[..4].copy_from_slice(&set.to_le_bytes());
            entry[4..8].copy_from_slice(&sum.to_le_bytes());
            entry[8..].copy_from_slice(&tail.map_or(0, |tail| tail.blocks).to_le_bytes());
        }
        let sum = crc32c::crc32c(head);
        head[24..28].copy_from_slice(&sum.to_le_bytes());
        record
    }
}

/// The records of a zone of the log, up to the first one that a crash tore. None if it can't be
/// read.
fn read_zone(below: &dyn Device, zone: u32, most: u64) -> Result<Vec<(u32, Record)>, DeviceError> {
    let written = (below.zone(zone)?.write_pointer / BLOCK as u64).min(most);
    let mut content = AlignedBuf::zeroed(bytes(written) as usize);
    match below.read(zone, 0, &mut content) {
        Err(error) if error.is_of_zone() => return Ok(Vec::new()),
        read => read?,
    }
    let (mut records, mut rest) = (Vec::new(), &content[..]);
    while let Some((record, behind)) = parse(rest) {
        records.push((zone, record));
        rest = behind;
    }
    Ok(records)
}

/// The record at the beginning of these bytes, and what is behind it.
fn parse(content: &[u8]) -> Option<(Record, &[u8])> {
    let (head, mut rest) = content.split_at_checked(BLOCK)?;
    let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
    let mut unsealed = head.to_vec();
    unsealed[24..28].fill(0);
    let count = word(16) as usize;
    let sealed = long(0) == MAGIC && crc32c::crc32c(&unsealed) == word(24);
    if !sealed || count > MOST_ENTRIES {
        return None;
    }
    let mut entries = Vec::with_capacity(count);
    for at in (0..count).map(|entry| HEAD + entry * ENTRY) {
        let (set, sum, blocks) = (word(at), word(at + 4), long(at + 8));
        if blocks == 0 {
            entries.push((set, None));
            continue;
        }
        let (row, behind) = rest.split_at_checked(BLOCK)?;
        rest = behind;
        if crc32c::crc32c(row) != sum {
            return None;
        }
        entries.push((set, Some(Tail { blocks, sum: row.to_vec() })));
    }
    Some((Record { seq: long(8), is_whole: word(20) == 1, entries }, rest))
}
