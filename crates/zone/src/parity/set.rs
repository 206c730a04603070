//! The state of a set, and what its zones tell of it.

use std::ops::Range;

use super::partial_parity_log::Tail;
use super::rows::{BLOCK, Rows, bytes, xor};
use crate::{ZoneInfo, ZoneState};

/// The state of a set in memory.
#[derive(Default)]
pub(super) struct SetState {
    /// Blocks of the set, those of parity not counted.
    pub blocks: u64,
    /// Rows whose parity is on the device below.
    pub protected: u64,
    /// The XOR of each row behind them, as far as it is written.
    pub pending: Vec<u8>,
    /// False if the zones have to be looked at before the set is written.
    pub is_known: bool,
    /// A zone of the set is lost, or takes no more.
    pub has_lost: bool,
    /// The first zone was reset, and the others are to be.
    pub is_reset: bool,
    /// The flush below that must be done before the set is written.
    pub after_flush: u64,
    /// Number of the set's opening, since the device was opened.
    pub opening: u64,
}

impl SetState {
    /// A set whose first zone was just reset.
    pub(super) fn reset(opening: u64) -> Self {
        SetState { opening, is_reset: true, ..SetState::default() }
    }

    /// A set as it was found when the device was opened: its last operations may not be durable.
    pub(super) fn unknown(found: &Found) -> Self {
        let (blocks, protected) = (found.blocks, found.protected);
        SetState { blocks, protected, after_flush: 1, ..SetState::default() }
    }

    /// The last row, if it is not whole.
    pub(super) fn tail(&self, rows: Rows) -> Option<Tail> {
        let is_whole = self.blocks.is_multiple_of(rows.data);
        assert!(self.pending.len().is_multiple_of(BLOCK), "sums of whole blocks");
        let sum =
            self.pending.rchunks_exact(BLOCK).next().filter(|_| self.is_known && !is_whole)?;
        Some(Tail { blocks: self.blocks, sum: sum.to_vec() })
    }

    /// Adds blocks that were appended to the parity of their rows.
    pub(super) fn add(&mut self, dealt: &[u8], columns: &[(u64, Range<usize>)], rows: Rows) {
        let open = rows.of_zone(0, self.blocks) - self.protected;
        assert_eq!(
            self.pending.len() as u64,
            bytes(open),
            "each row without parity has a sum that waits"
        );
        self.blocks += (dealt.len() / BLOCK) as u64;
        assert!(self.blocks <= rows.blocks(), "a set is written past its end");
        let end = rows.of_zone(0, self.blocks);
        self.pending.resize(bytes(end - self.protected) as usize, 0);
        for (row, range) in columns {
            let at = bytes(row - self.protected) as usize;
            if !range.is_empty() {
                xor(&mut self.pending[at..], &dealt[range.clone()]);
            }
        }
    }
}

/// What the write pointers and states of its zones tell of a set.
pub(super) struct Found {
    zones: Vec<ZoneInfo>,
    /// Blocks of the set; all if it is full or was finished.
    pub blocks: u64,
    /// Rows that have parity.
    pub protected: u64,
    /// A zone is lost, or takes no more, or is shorter than its parity says.
    pub has_lost: bool,
}

impl Found {
    pub(super) fn of(zones: Vec<ZoneInfo>, rows: Rows) -> Self {
        let of_zone = |info: &ZoneInfo| (info.write_pointer / BLOCK as u64).min(rows.count);
        let Some((parity, data)) = zones.split_last() else {
            return Found { zones, blocks: 0, protected: 0, has_lost: true };
        };
        let first = data[0];
        let gone = |info: &ZoneInfo| matches!(info.state, ZoneState::ReadOnly | ZoneState::Offline);
        let is_empty = first.state != ZoneState::Offline && first.write_pointer == 0;
        let protected = if is_empty { 0 } else { of_zone(parity) };
        let ends = (0..).zip(data).map(|(column, info)| rows.end(column, of_zone(info)));
        let blocks = ends.max().unwrap_or(0).max(protected * rows.data);
        let blocks = if is_empty { 0 } else { blocks };
        assert!(blocks <= rows.blocks(), "a set has no more blocks than its zones");
        let is_short = data.iter().any(|info| of_zone(info) < protected);
        let has_lost = zones.iter().any(gone) || is_short;
        Found { blocks, protected, has_lost, zones }
    }

    /// A block more was flushed, by what the log says, which lay in a zone that is lost.
    pub(super) fn extend(&mut self, blocks: u64, rows: Rows) {
        let (column, _) = rows.place(self.blocks);
        let is_lost = self.zones[column as usize].state == ZoneState::Offline;
        if is_lost && blocks == self.blocks + 1 {
            self.blocks = blocks;
        }
    }

    /// True if a row that has all its blocks has no parity, or a zone is shorter than it should be.
    pub(super) fn lacks_blocks(&self, rows: Rows) -> bool {
        let lacks = |column| self.of_zone(column) < rows.of_zone(column, self.blocks);
        let is_short = (0..rows.data).any(lacks);
        !self.has_lost && (is_short || rows.whole(self.blocks) > self.protected)
    }

    /// Blocks of a zone.
    pub(super) fn of_zone(&self, column: u64) -> u64 {
        self.zones[column as usize].write_pointer / BLOCK as u64
    }
}
