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
    keys: Vec<[u8; 12]>,
    most: usize,
}

impl PieceLeaves {
    /// None yet, and so many at most.
    pub(crate) fn at_most(trees: &Trees, most: usize) -> Self {
        PieceLeaves { keys: Vec::new(), most: most.min(trees.records_together()) }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.keys.len()
    }

    /// True if no more are added.
    pub(crate) fn are_enough(&self) -> bool {
        self.count() >= self.most
    }

    /// Adds those of some pieces of a value, unless it has pages of its own.
    pub(crate) fn add(&mut self, number: u64, pieces: Range<usize>) {
        if number & IN_PAGES == 0 {
            let (first, last) = (pieces.start, pieces.end.saturating_sub(1));
            let is_needed = |n: &usize| (n - first).is_multiple_of(OF_LEAF) || *n == last;
            let some = pieces.filter(is_needed).map(|n| piece_key(number, n));
            self.keys.extend(some.take(self.most - self.count()));
        }
    }

    /// Adds all leaves of a value of so many bytes.
    pub(crate) fn add_value(&mut self, number: u64, bytes: usize) {
        self.add(number, 0..bytes.div_ceil(PIECE));
    }

    /// Loads those that are not in memory, as far as pieces are not known without.
    pub(crate) fn load(&self, trees: &Trees) {
        if self.count() > 1 {
            let wanted = |index: usize| Wanted { tree: OVERFLOW_TREE, key: &self.keys[index] };
            let is_known =
                |index: usize, leaf: &AbsentLeaf<'_, '_>| leaf.can_get(&self.keys[index]);
            trees.load_leaves(self.count(), wanted, is_known, |_, _| ());
        }
    }
}
