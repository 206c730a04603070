//! The direction of a scan.

use std::ops::Range;

/// The direction of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// To greater keys.
    Forward,
    /// To smaller keys.
    Backward,
}

impl Direction {
    /// True if a scan meets `key` before `other`.
    pub(crate) fn is_before(self, key: &[u8], other: &[u8]) -> bool {
        match self {
            Direction::Forward => key < other,
            Direction::Backward => key > other,
        }
    }

    /// Takes the next index of a range.
    pub(crate) fn next_of(self, range: &mut Range<usize>) -> Option<usize> {
        match self {
            Direction::Forward => range.next(),
            Direction::Backward => range.next_back(),
        }
    }
}
