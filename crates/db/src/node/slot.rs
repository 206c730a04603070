//! A slot of a node: a word that says where a record lies.

use super::layout::*;
use super::page::PAGE_BYTES;

/// A record as it is put into a page: value and flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    /// The value, or the reference to its pieces.
    pub value: &'a [u8],
    /// [`OVERFLOW`], [`GHOST`] or none.
    pub flags: u16,
}

/// One slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(super) offset: usize,
    pub(super) key: usize,
    /// The value's length, [`GHOST`] or [`OVERFLOW`].
    pub(super) value: u16,
}

impl Slot {
    /// A slot of a record with this head.
    pub(super) fn new(offset: usize, key: usize, record: Record<'_>) -> Slot {
        debug_assert!(record.flags != OVERFLOW || record.value.len() == REFERENCE);
        let value = if record.flags == 0 { record.value.len() as u16 } else { record.flags };
        Slot { offset, key, value }
    }

    /// The slot of a word. An offset of 0 stands for the end of the page.
    #[inline(always)]
    pub(super) fn of_word(word: u64) -> Slot {
        let offset = (word as usize).wrapping_sub(1) % PAGE_BYTES + 1;
        Slot { offset, key: (word >> 12) as usize & 0x3ff, value: (word >> 22) as u16 & 0x7ff }
    }

    /// The word of a slot whose key has this head.
    pub(super) fn word(self, head: u32) -> u64 {
        let lengths = (self.key as u64) << 12 | u64::from(self.value) << 22;
        u64::from(head) << 33 | lengths | (self.offset % PAGE_BYTES) as u64
    }

    /// The same record at another offset.
    pub(super) fn at(self, offset: usize) -> Slot {
        Slot { offset, ..self }
    }

    /// The same key with another value of as many bytes, or with none if it is a ghost.
    pub(super) fn with_flags(self, flags: u16) -> Slot {
        Slot { value: if flags == 0 { self.value_len() as u16 } else { flags }, ..self }
    }

    /// True if the record was deleted.
    pub(crate) fn is_ghost(self) -> bool {
        self.value == GHOST
    }

    /// True if the value lies elsewhere, in overflow records.
    pub(crate) fn is_overflow(self) -> bool {
        self.value == OVERFLOW
    }

    /// Bytes of the value.
    pub(crate) fn value_len(self) -> usize {
        match self.value {
            GHOST => 0,
            OVERFLOW => REFERENCE,
            len => len.into(),
        }
    }

    /// Bytes of the key without the prefix.
    pub(crate) fn key_len(self) -> usize {
        self.key
    }

    /// Bytes in the heap.
    pub(crate) fn bytes(self) -> usize {
        self.key + self.value_len()
    }

    /// Offset of the record.
    pub(crate) fn offset(self) -> usize {
        self.offset
    }

    /// Offset of the value.
    pub(crate) fn value_at(self) -> usize {
        self.offset + self.key
    }

    /// [`GHOST`], [`OVERFLOW`] or 0.
    pub(crate) fn flags(self) -> u16 {
        if self.is_ghost() || self.is_overflow() { self.value } else { 0 }
    }
}
