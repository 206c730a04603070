//! Pieces of long values that are read together, before they are looked for one by one.

use std::ops::Range;

use super::{PIECE, piece_key};
use crate::layout::{IN_PAGES, OVERFLOW_TREE};
use crate::pool::AbsentLeaf;
use crate::tree::{Trees, Wanted};

/// Pieces that fill a leaf.
pub(super) const OF_LEAF: usize = 3;

/// Leaves of the tree of pieces that are needed soon.
pub(crate) struct PieceLeaves {
    /// A piece of each.
    pieces: Vec<Piece>,
    most: usize,
}

struct Piece {
    key: [u8; 12],
    /// It stays in memory as a row if its leaf has to be read.
    leaves_row: bool,
}

impl PieceLeaves {
    /// None yet, and so many at most.
    pub(crate) fn at_most(trees: &Trees, most: usize) -> Self {
        PieceLeaves { pieces: Vec::new(), most: most.min(trees.records_together()) }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.pieces.len()
    }

    /// True if no more are added.
    pub(crate) fn are_enough(&self) -> bool {
        self.count() >= self.most
    }

    /// Adds those of some pieces of a value, unless it has pages of its own.
    pub(crate) fn add(&mut self, number: u64, pieces: Range<usize>, leave_rows: bool) {
        if number & IN_PAGES == 0 {
            let (first, last) = (pieces.start, pieces.end.saturating_sub(1));
            let is_needed = |n: &usize| (n - first).is_multiple_of(OF_LEAF) || *n == last;
            let piece = |n| Piece { key: piece_key(number, n), leaves_row: leave_rows };
            let some = pieces.filter(is_needed).map(piece);
            self.pieces.extend(some.take(self.most - self.count()));
        }
    }

    /// Adds all leaves of a value of so many bytes, which a scan passes.
    pub(crate) fn add_value(&mut self, number: u64, bytes: usize) {
        self.add(number, 0..bytes.div_ceil(PIECE), false);
    }

    /// Adds all leaves of a value of so many bytes, whose key was asked for.
    pub(crate) fn add_record(&mut self, number: u64, bytes: usize) {
        let count = bytes.div_ceil(PIECE);
        self.add(number, 0..count, count < OF_LEAF);
    }

    /// Loads those that are not in memory, as far as pieces are not known without.
    pub(crate) fn load(&self, trees: &Trees) {
        if self.count() > 1 {
            let key = |index: usize| &self.pieces[index].key;
            let wanted = |index: usize| Wanted { tree: OVERFLOW_TREE, key: key(index) };
            let is_known = |index: usize, leaf: &AbsentLeaf<'_, '_>| leaf.can_get(key(index));
            trees.load_leaves(self.count(), wanted, is_known, |index, leaf| {
                if leaf.was_absent && self.pieces[index].leaves_row {
                    trees.pool.note_record(leaf.frame.page(), key(index));
                }
            });
        }
    }
}
