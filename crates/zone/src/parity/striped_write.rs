//! The blocks of an append, dealt to the data zones.

use std::io::IoSlice;
use std::ops::Range;

use super::rows::{BLOCK, Rows, bytes};
use crate::AlignedBuf;

/// Blocks of an append, those of each data zone together.
pub(super) struct StripedWrite {
    pub bytes: AlignedBuf,
    /// For each data zone the first row, and the place of its blocks in `bytes`.
    pub columns: Vec<(u64, Range<usize>)>,
}

impl StripedWrite {
    pub(super) fn of(parts: &[IoSlice<'_>], first: u64, rows: Rows) -> Self {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        let blocks = (len / BLOCK) as u64;
        let (mut columns, mut begin) = (Vec::new(), 0);
        for column in 0..rows.data {
            let row = rows.of_zone(column, first);
            let end = begin + bytes(rows.of_zone(column, first + blocks) - row) as usize;
            columns.push((row, begin..end));
            begin = end;
        }
        assert_eq!(begin, len, "each block of an append has a place in a column");
        let mut dealt = AlignedBuf::zeroed(len);
        let mut at = 0;
        for part in parts {
            let mut part: &[u8] = part;
            while !part.is_empty() {
                let (column, row) = rows.place(first + (at / BLOCK) as u64);
                let (begun, range) = &columns[column as usize];
                let to = range.start + bytes(row - begun) as usize + at % BLOCK;
                let (now, later) = part.split_at(part.len().min(BLOCK - at % BLOCK));
                dealt[to..to + now.len()].copy_from_slice(now);
                at += now.len();
                part = later;
            }
        }
        StripedWrite { bytes: dealt, columns }
    }
}
