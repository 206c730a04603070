//! The next slot of each class.

/// The open zone of a class: the number of its next slot, and the number behind its last. Both are
/// equal if no zone is open. Slots are numbered over all zones, modulo 2^32: a replay has no more
/// of them, and where a driver keeps the map, only differences of numbers have a meaning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor {
    pub slot: u32,
    pub end: u32,
    /// The first slot whose page is not yet in the counts.
    pub(super) counted: u32,
    /// Slot numbers leave a gap behind each zone whose size is not a power of two; a reverse map
    /// has no gaps: index = slot - gap.
    pub(super) gap: u32,
}

impl Cursor {
    /// A class without an open zone. Its place is beyond any reverse map, so that one comparison
    /// finds both a bad index and a closed class.
    pub(super) const CLOSED: Cursor = Cursor { slot: 0, end: 0, counted: 0, gap: 1 };

    /// Index of the next slot in a reverse map.
    #[inline(always)]
    pub(crate) fn place(&self) -> usize {
        self.slot.wrapping_sub(self.gap) as usize
    }

    /// Slots that are left.
    #[inline(always)]
    pub(crate) fn left(&self) -> u32 {
        debug_assert!(self.end.wrapping_sub(self.slot) <= 1 << 30, "{self:?} is past its end");
        self.end.wrapping_sub(self.slot)
    }

    /// True if no zone is open, or it is full.
    #[inline(always)]
    pub(crate) fn is_closed(&self) -> bool {
        self.slot == self.end
    }

    /// Uses slots that the counts have already.
    pub(super) fn take(&mut self, slots: u32) {
        assert!(slots <= self.left(), "{slots} slots of {self:?}");
        self.slot = self.slot.wrapping_add(slots);
        self.counted = self.slot;
    }
}
