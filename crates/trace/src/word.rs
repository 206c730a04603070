//! The word that a page write is in a replay: its LBA, and whether it lives for ever.

/// The bit of [`Prepared::words`](crate::Prepared::words) that marks the last write of an LBA that
/// is not trimmed after it: the page is then frozen.
pub const FINAL: u32 = 1 << 31;
