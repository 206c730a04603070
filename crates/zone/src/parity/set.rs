//! The state of a set, and what a crash or an error left of one.

use std::ops::Range;

use super::medium::Sets;
use super::rows::{BLOCK, Rows, bytes, xor};
use super::tails::Tail;
use crate::{AlignedBuf, DeviceError, Operation, ZoneInfo, ZoneState};

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
    pub fn reset(opening: u64) -> Self {
        SetState { opening, is_reset: true, ..SetState::default() }
    }

    /// A set as it was found when the device was opened: its last operations may not be durable.
    pub fn unknown(found: &Found) -> Self {
        let (blocks, protected) = (found.blocks, found.protected);
        SetState { blocks, protected, after_flush: 1, ..SetState::default() }
    }

    /// The last row, if it is not whole.
    pub fn tail(&self, rows: Rows) -> Option<Tail> {
        let is_whole = self.blocks.is_multiple_of(rows.data);
        let sum =
            self.pending.rchunks_exact(BLOCK).next().filter(|_| self.is_known && !is_whole)?;
        Some(Tail { blocks: self.blocks, sum: sum.to_vec() })
    }

    /// Adds blocks that were appended to the parity of their rows.
    pub fn add(&mut self, dealt: &[u8], columns: &[(u64, Range<usize>)], rows: Rows) {
        self.blocks += (dealt.len() / BLOCK) as u64;
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
    pub fn of(zones: Vec<ZoneInfo>, rows: Rows) -> Self {
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
        let is_short = data.iter().any(|info| of_zone(info) < protected);
        let has_lost = zones.iter().any(gone) || is_short;
        Found { blocks, protected, has_lost, zones }
    }

    /// A block more was flushed, by what the log says, which lay in a zone that is lost.
    pub fn extend(&mut self, blocks: u64, rows: Rows) {
        let (column, _) = rows.place(self.blocks);
        let is_lost = self.zones[column as usize].state == ZoneState::Offline;
        if is_lost && blocks == self.blocks + 1 {
            self.blocks = blocks;
        }
    }

    /// True if a row that has all its blocks has no parity, or a zone is shorter than it should be.
    pub fn lacks_blocks(&self, rows: Rows) -> bool {
        let lacks = |column| self.of_zone(column) < rows.of_zone(column, self.blocks);
        let is_short = (0..rows.data).any(lacks);
        !self.has_lost && (is_short || rows.whole(self.blocks) > self.protected)
    }

    /// Blocks of a zone.
    fn of_zone(&self, column: u64) -> u64 {
        self.zones[column as usize].write_pointer / BLOCK as u64
    }
}

/// Rows that are read together when parity is made anew.
const PIECE: u64 = 64;

impl Sets {
    /// Brings the zones of a set into line with each other: after a crash, or an append that failed, some
    /// may be shorter than they should be, or parity may be missing.
    pub fn settle(&self, set: u32, state: &mut SetState) -> Result<(), DeviceError> {
        if state.is_known {
            return Ok(());
        }
        // A crash must not take what is built upon here.
        self.flush_once(state)?;
        let found = self.find(set)?;
        if found.has_lost {
            // What waits in memory may be needed to read it.
            state.has_lost = true;
            let zone = self.zone(set, 0);
            return Err(DeviceError::ReadOnlyZone { operation: Operation::Append, zone });
        }
        state.blocks = found.blocks;
        state.protected = found.protected;
        state.pending.clear();
        if found.blocks == 0 {
            self.empty_rest(set, state, &found)?;
        } else {
            let blocks = state.blocks;
            let of_zone = |column| self.rows.of_zone(column, blocks);
            for column in 0..self.rows.data {
                let has = found.of_zone(column);
                self.pad(set, column, has, of_zone(column) - has)?;
            }
            let is_full = blocks == self.rows.blocks();
            let waiting = if is_full { 0 } else { PIECE };
            let end = self.rows.whole(blocks).saturating_sub(waiting);
            self.make_parity(set, state, end, &of_zone)?;
            let end = of_zone(0);
            state.pending = self.parity_of(set, state.protected, end, &of_zone)?;
        }
        (state.is_known, state.is_reset) = (true, false);
        Ok(())
    }

    /// Empties the other zones of a set whose first zone was reset.
    fn empty_rest(&self, set: u32, state: &mut SetState, found: &Found) -> Result<(), DeviceError> {
        let mut others =
            (1..=self.rows.data).filter(|&column| found.of_zone(column) > 0).peekable();
        if others.peek().is_some() {
            others.try_for_each(|column| self.below.reset(self.zone(set, column)))?;
            self.await_flush(state);
        }
        Ok(())
    }

    /// Makes parity of the rows before `end`, and appends it.
    pub fn make_parity(
        &self,
        set: u32,
        state: &mut SetState,
        end: u64,
        of_zone: &dyn Fn(u64) -> u64,
    ) -> Result<(), DeviceError> {
        if state.protected < end {
            self.flush_below()?;
        }
        while state.protected < end && !state.has_lost {
            let until = end.min(state.protected + PIECE);
            state.pending = self.parity_of(set, state.protected, until, of_zone)?;
            self.protect(set, state, until)?;
        }
        Ok(())
    }

    /// The XOR of rows, of data zones that have so many blocks each.
    fn parity_of(
        &self,
        set: u32,
        begin: u64,
        end: u64,
        of_zone: &dyn Fn(u64) -> u64,
    ) -> Result<Vec<u8>, DeviceError> {
        let mut sum = vec![0; bytes(end.saturating_sub(begin)) as usize];
        let mut read = AlignedBuf::zeroed(sum.len());
        for column in 0..self.rows.data {
            let has = bytes(of_zone(column).clamp(begin, end.max(begin)) - begin) as usize;
            if has > 0 {
                self.below.read(self.zone(set, column), bytes(begin), &mut read[..has])?;
                xor(&mut sum, &read[..has]);
            }
        }
        Ok(sum)
    }

    /// Appends zeroes to a data zone.
    pub fn pad(&self, set: u32, column: u64, from: u64, count: u64) -> Result<(), DeviceError> {
        let mut done = 0;
        let zeroes = AlignedBuf::zeroed(bytes(count.min(PIECE)) as usize);
        while done < count {
            let now = (count - done).min(PIECE);
            let zone = self.zone(set, column);
            self.below.append(zone, bytes(from + done), &zeroes[..bytes(now) as usize])?;
            done += now;
        }
        Ok(())
    }
}
