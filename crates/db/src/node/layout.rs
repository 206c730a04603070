//! The layout of a page.
//!
//! ```text
//!   0  position u64      of the log record that changed the page last
//!   8  written u64       write time of the version before the one in memory
//!  16  activity [u8;16]  of the page up to that write; as it was in the page's base after a delta
//!  32  tree u32          the page number of its tree's root
//!  36  shifts u16        slots that were inserted and removed, ever: it tells what a delta may
//!                        find in its base
//!  38  count u16         slots
//!  40  heap u16          where the heap begins
//!  42  live u16          bytes of the heap that are in use
//!  44  prefix u16        bytes that all keys of the page begin with
//!  46  ghosts u16        records that were deleted, and are still there for older snapshots
//!  48  lower u16 u16     offset and length of the lower fence: no key is smaller
//!  52  upper u16 u16     of the upper fence: all keys are smaller; offset 0 means infinity
//!  56  ascending u16 u8  where the last record was inserted, and how many came in order there
//!  59  level u8          0 is a leaf; 128 more if records were removed or became shorter since the log
//!                        had the node as an image
//!  60  behind u32        how far before the position all records of the log are in the page, for
//!                        sure: those between were perhaps on their way. The largest: not known
//!  64  slots u64         from the lowest bit on: 12 bits of the offset, 10 of the key's length, 11 of
//!                        the value's, of which two stand for values that are deleted or elsewhere;
//!                        31 of the head
//!      ...
//!      heap              the key without its prefix, then the value; fences
//! 4096
//! ```

use std::ops::Range;

use frostline_store::SlotArray;

/// Offset of the log position.
pub(super) const POSITION: usize = 0;
/// Offset of the last write time.
pub(super) const WRITTEN: usize = 8;
/// Offset of the last activity.
pub(super) const ACTIVITY: usize = 16;
/// Words of the last activity.
pub(crate) const ACTIVITY_WORDS: Range<usize> = ACTIVITY / 8..TREE / 8;
/// Offset of the root's page number.
pub(super) const TREE: usize = 32;
/// Offset of the number of slots that were inserted and removed.
pub(super) const SHIFTS: usize = 36;
/// Offset of the number of slots.
pub(super) const COUNT: usize = 38;
/// Offset of the heap's beginning.
pub(super) const HEAP: usize = 40;
/// Offset of the heap's bytes in use.
pub(super) const LIVE: usize = 42;
/// Offset of the prefix's length.
pub(super) const PREFIX: usize = 44;
/// Offset of the number of ghosts.
pub(super) const GHOSTS: usize = 46;
/// Offset of the lower fence's offset and length.
pub(super) const LOWER: usize = 48;
/// Offset of the upper fence's offset and length.
pub(super) const UPPER: usize = 52;
/// Offset of the last insertion's slot.
pub(super) const ASCENDING: usize = 56;
/// Offset of the number of insertions in order, and in the byte behind it of the level.
pub(super) const STEPS_AND_LEVEL: usize = 58;
/// Beside the level: the node has [shrunk](super::Node::has_shrunk).
pub(super) const SHRUNK: u16 = 1 << 15;
/// Offset of how far behind the position all records are in the page.
pub(super) const BEHIND: usize = 60;
/// Offset of the slots.
pub(crate) const SLOTS: usize = 64;
/// Bytes of a slot.
pub(crate) const SLOT: usize = 8;

/// Where a store finds the slots.
pub(crate) const SLOT_ARRAY: SlotArray = SlotArray { at: SLOTS as u16, count_at: COUNT as u16 };

/// In place of a slot's value length: the record was deleted, and has no value.
pub(crate) const GHOST: u16 = 2047;
/// In place of a slot's value length: the value is the [reference](REFERENCE) to pieces that are
/// kept elsewhere.
pub(crate) const OVERFLOW: u16 = 2046;
/// Bytes of a reference.
pub(crate) const REFERENCE: usize = 12;

/// The longest key, in bytes.
pub(crate) const LONGEST_KEY: usize = 512;
/// The longest record in a page: key and value together, in bytes. A page holds three of them
/// even if its fences are as long as they can be, so that one of two halves has room for a third.
pub(crate) const LONGEST_RECORD: usize = 900;
