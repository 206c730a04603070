//! The places of a set's blocks: blocks are dealt to its data zones in turn.

use crate::geometry::BLOCK_BYTES;

/// Bytes of a block.
pub(super) const BLOCK: usize = BLOCK_BYTES as usize;

/// The division of a set.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    /// Data zones.
    pub data: u64,
    /// Blocks of a zone.
    pub count: u64,
}

impl Rows {
    /// Blocks of the set, those of parity not counted.
    pub(super) fn blocks(self) -> u64 {
        self.data * self.count
    }

    /// The data zone and the row of a block.
    pub(super) fn place(self, block: u64) -> (u64, u64) {
        (block % self.data, block / self.data)
    }

    /// Blocks of a data zone that are among the first `blocks` of the set.
    pub(super) fn of_zone(self, column: u64, blocks: u64) -> u64 {
        assert!(column < self.data, "only data zones share the blocks of a set");
        (blocks + self.data - 1 - column) / self.data
    }

    /// Blocks of the set up to the last one of a data zone that has `rows` blocks.
    pub(super) fn end(self, column: u64, rows: u64) -> u64 {
        assert!(column < self.data && rows <= self.count, "a row of a data zone");
        match rows {
            0 => 0,
            rows => (rows - 1) * self.data + column + 1,
        }
    }

    /// Rows in which the first `blocks` of the set have every block.
    pub(super) fn whole(self, blocks: u64) -> u64 {
        blocks / self.data
    }
}

/// The offset of a row in its zone, and the bytes of rows.
pub(super) fn bytes(rows: u64) -> u64 {
    rows * BLOCK as u64
}

/// Adds bytes to a sum.
pub(super) fn xor(sum: &mut [u8], bytes: &[u8]) {
    assert!(bytes.len() <= sum.len(), "a sum has a place for each byte that is added");
    sum.iter_mut().zip(bytes).for_each(|(sum, byte)| *sum ^= byte);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_dealt_in_turn() {
        let rows = Rows { data: 3, count: 4 };
        for blocks in 0..=rows.blocks() {
            let mut of_zone = [0; 3];
            for block in 0..blocks {
                let (column, row) = rows.place(block);
                assert_eq!(row, of_zone[column as usize]);
                of_zone[column as usize] += 1;
            }
            assert_eq!([0, 1, 2].map(|column| rows.of_zone(column, blocks)), of_zone);
            let ends = (0..).zip(of_zone).map(|(column, has)| rows.end(column, has));
            assert_eq!(ends.max(), Some(blocks));
        }
    }
}
