//! Reads, and blocks that are made of the others in their row.

use std::ops::Range;
use std::sync::atomic::Ordering;

use super::rows::{BLOCK, bytes, xor};
use super::stripe_groups::StripeGroups;
use crate::{AlignedBuf, DeviceError, ZoneRead};

/// The blocks of a data zone that are read, and their place in the buffer for all of them.
struct Piece {
    column: u64,
    row: u64,
    range: Range<usize>,
}

impl StripeGroups {
    /// Reads blocks of a set.
    pub(super) fn read_blocks(
        &self,
        set: u32,
        first: u64,
        buffer: &mut [u8],
    ) -> Result<(), DeviceError> {
        let blocks = (buffer.len() / BLOCK) as u64;
        if blocks == 1 {
            let (column, row) = self.rows.place(first);
            return self.read_column(set, column, row, buffer);
        }
        let pieces = self.pieces(first, blocks);
        assert_eq!(
            pieces.iter().map(|piece| piece.range.len()).sum::<usize>(),
            buffer.len(),
            "the columns of a read share its buffer"
        );
        let mut together = AlignedBuf::zeroed(buffer.len());
        let mut rest = &mut together[..];
        let mut reads = Vec::with_capacity(pieces.len());
        for Piece { column, row, range } in &pieces {
            let (buffer, behind) = rest.split_at_mut(range.len());
            reads.push(ZoneRead { zone: self.zone(set, *column), offset: bytes(*row), buffer });
            rest = behind;
        }
        match self.below.read_all(&mut reads) {
            Err(error) if error.is_of_zone() => {
                for Piece { column, row, range } in &pieces {
                    self.read_column(set, *column, *row, &mut together[range.clone()])?;
                }
            }
            read => read?,
        }
        for (block, buffer) in (first..).zip(buffer.chunks_exact_mut(BLOCK)) {
            let (column, row) = self.rows.place(block);
            let piece = pieces.iter().find(|piece| piece.column == column);
            if let Some(Piece { row: begun, range, .. }) = piece {
                let at = range.start + bytes(row - begun) as usize;
                buffer.copy_from_slice(&together[at..at + BLOCK]);
            }
        }
        Ok(())
    }

    /// Reads several places; single blocks side by side.
    pub(super) fn read_places(
        &self,
        reads: &mut [ZoneRead<'_>],
    ) -> Result<(), (usize, DeviceError)> {
        if reads.iter().all(|read| read.buffer.len() == BLOCK) {
            let mut below = Vec::with_capacity(reads.len());
            for ZoneRead { zone, offset, buffer } in reads.iter_mut() {
                let (column, row) = self.rows.place(*offset / BLOCK as u64);
                let zone = self.zone(*zone, column);
                below.push(ZoneRead { zone, offset: bytes(row), buffer });
            }
            match self.below.read_all(&mut below) {
                Err(error) if error.is_of_zone() => {}
                read => return read.map_err(|error| (0, error)),
            }
        }
        for (index, ZoneRead { zone, offset, buffer }) in reads.iter_mut().enumerate() {
            let read = self.read_blocks(*zone, *offset / BLOCK as u64, buffer);
            read.map_err(|error| (index, error))?;
        }
        Ok(())
    }

    /// The parts of data zones that hold these blocks.
    fn pieces(&self, first: u64, blocks: u64) -> Vec<Piece> {
        let mut begin = 0;
        let piece = |column| {
            let row = self.rows.of_zone(column, first);
            let rows = self.rows.of_zone(column, first + blocks) - row;
            let range = begin..begin + bytes(rows) as usize;
            begin = range.end;
            Piece { column, row, range }
        };
        let all = (0..self.rows.data).map(piece);
        all.filter(|piece| !piece.range.is_empty()).collect()
    }

    /// Reads blocks of a data zone. Those that can't be read are made of the others in their rows,
    /// and those that no crash left are zeroes.
    fn read_column(
        &self,
        set: u32,
        column: u64,
        row: u64,
        buffer: &mut [u8],
    ) -> Result<(), DeviceError> {
        assert!(buffer.len().is_multiple_of(BLOCK), "whole blocks are read");
        let failed = match self.below.read(self.zone(set, column), bytes(row), buffer) {
            Err(error) if error.is_of_zone() => error,
            read => return read,
        };
        if buffer.len() > BLOCK {
            let mut each = (row..).zip(buffer.chunks_exact_mut(BLOCK));
            return each.try_for_each(|(row, block)| self.read_column(set, column, row, block));
        }
        if matches!(failed, DeviceError::ReadBeyondPointer { .. })
            && row >= self.state(set).protected
        {
            // A crash took it before it was flushed.
            buffer.fill(0);
            return Ok(());
        }
        match self.rebuild(set, column, row, buffer)? {
            true => {
                self.rebuilt.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            false => Err(failed),
        }
    }

    /// Makes a block of the others in its row; false if one is missing, or the row has no parity.
    pub(super) fn rebuild(
        &self,
        set: u32,
        column: u64,
        row: u64,
        block: &mut [u8],
    ) -> Result<bool, DeviceError> {
        assert_eq!(block.len(), BLOCK, "blocks are made of others one by one");
        let state = self.state(set);
        let (protected, mut blocks) = (row < state.protected, state.blocks);
        let at = bytes(row.saturating_sub(state.protected)) as usize;
        let waiting = state.pending.get(at..at + BLOCK).filter(|_| !protected);
        block.fill(0);
        if let Some(sum) = waiting {
            block.copy_from_slice(sum);
        }
        let has_sum = protected || waiting.is_some();
        drop(state);
        if !has_sum {
            let Some(tail) = self.tail(set) else { return Ok(false) };
            let is_in_it = row == self.rows.whole(tail.blocks);
            if !is_in_it || row * self.rows.data + column >= tail.blocks {
                return Ok(false);
            }
            block.copy_from_slice(&tail.sum);
            blocks = tail.blocks;
        }
        let mut other = AlignedBuf::zeroed(BLOCK);
        let parity = if protected { self.rows.data + 1 } else { self.rows.data };
        for from in (0..parity).filter(|&from| from != column) {
            if !protected && row * self.rows.data + from >= blocks {
                continue;
            }
            match self.below.read(self.zone(set, from), bytes(row), &mut other) {
                Err(error) if error.is_of_zone() => return Ok(false),
                read => read?,
            }
            xor(block, &other);
        }
        Ok(true)
    }
}
