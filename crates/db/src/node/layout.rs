//! The layout of a page.
//!
//! ```text
//!   0  position u64      of the log record that changed the page last
//!   8  written u64       write time of the version before the one in memory
//!  16  activity [u8;16]  of the page up to that write; as it was in the page's base after a delta
//!  32  tree u32          the page number of its tree's root
//!  36  level u16         0 is a leaf
//!  38  count u16         slots
//!  40  heap u16          where the heap begins
//!  42  live u16          bytes of the heap that are in use
//!  44  prefix u16        bytes that all keys of the page begin with
//!  46  ghosts u16        records that were deleted, and are still there for older snapshots
//!  48  lower u16 u16     offset and length of the lower fence: no key is smaller
//!  52  upper u16 u16     of the upper fence: all keys are smaller; offset 0 means infinity
//!  56  ascending u16 u16 where the last record was inserted, and how many came in order there
//!  60  behind u32        how far before the position all records of the log are in the page, for
//!                        sure: those between were perhaps on their way. The largest: not known
//!  64  hints [u32;16]    heads of evenly spaced slots
//! 128  slots [10]        head u32, offset u16, key length u16, value length u16 with flags
//!      ...
//!      heap              the key without its prefix, then the value; fences
//! 4096
//! ```

use std::ops::Range;

/// Offset of the log position.
pub const POSITION: usize = 0;
/// Offset of the last write time.
pub const WRITTEN: usize = 8;
/// Offset of the last activity.
pub const ACTIVITY: usize = 16;
/// Words of the last activity.
pub const ACTIVITY_WORDS: Range<usize> = ACTIVITY / 8..TREE / 8;
/// Offset of the root's page number.
pub const TREE: usize = 32;
/// Offset of the level.
pub const LEVEL: usize = 36;
/// Offset of the number of slots.
pub const COUNT: usize = 38;
/// Offset of the heap's beginning.
pub const HEAP: usize = 40;
/// Offset of the heap's bytes in use.
pub const LIVE: usize = 42;
/// Offset of the prefix's length.
pub const PREFIX: usize = 44;
/// Offset of the number of ghosts.
pub const GHOSTS: usize = 46;
/// Offset of the lower fence's offset and length.
pub const LOWER: usize = 48;
/// Offset of the upper fence's offset and length.
pub const UPPER: usize = 52;
/// Offset of the last insertion's slot and of the number of insertions in order.
pub const ASCENDING: usize = 56;
/// Offset of how far behind the position all records are in the page.
pub const BEHIND: usize = 60;
/// Offset of the hints.
pub const HINTS: usize = 64;
/// The number of hints. A search takes steps of halves of it.
pub const HINT_COUNT: usize = 16;
/// Offset of the slots.
pub const SLOTS: usize = 128;
/// Bytes of a slot.
pub const SLOT: usize = 10;

/// In a slot's value length: the record was deleted.
pub const GHOST: u16 = 1 << 15;
/// In a slot's value length: the value is the reference to pieces that are kept elsewhere.
pub const OVERFLOW: u16 = 1 << 14;
/// In a slot's value length: the length.
pub const LENGTH: u16 = (1 << 13) - 1;

/// The longest key, in bytes.
pub const LONGEST_KEY: usize = 512;
/// The longest record in a page: key and value together, in bytes. A page holds three of them
/// even if its fences are as long as they can be, so that one of two halves has room for a third.
pub const LONGEST_RECORD: usize = 900;
