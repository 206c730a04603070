//! The word of a page write in a replay: its LBA, and whether this version lives for ever.

/// The bit of [`Prepared::words`](crate::Prepared::words) that marks a frozen version: the last
/// write of an LBA that is not trimmed later.
pub const FINAL: u32 = 1 << 31;
