//! The records that a page store wrote pages as.

pub use frostline_placement::RecordKind;

use crate::bits::Bits;

/// The kinds of the records of writes, as the bitmaps that a replay reads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordKinds {
    deltas: Bits,
    tails: Bits,
}

impl RecordKinds {
    /// The kinds of so many images.
    pub fn images(writes: usize) -> RecordKinds {
        RecordKinds { deltas: Bits::zeros(writes), tails: Bits::zeros(writes) }
    }

    /// Appends the kind of a write.
    pub fn push(&mut self, kind: RecordKind) {
        self.deltas.push(kind != RecordKind::Image);
        self.tails.push(kind == RecordKind::Tail);
        debug_assert_eq!(self.deltas.len(), self.tails.len(), "each write has both bits");
    }

    /// Appends all kinds of `other`.
    pub fn extend(&mut self, other: &RecordKinds) {
        self.deltas.extend(&other.deltas);
        self.tails.extend(&other.tails);
    }

    /// Bit `i` is set if write `i` is a delta or a tail.
    pub fn deltas(&self) -> &Bits {
        &self.deltas
    }

    /// Bit `i` is set if write `i` is a tail.
    pub fn tails(&self) -> &Bits {
        &self.tails
    }
}
