//! What tables tell of a request besides its place and time.

#![cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "no table is read or written"))]

use frostline_placement::Hotness;

use crate::kinds::RecordKind;
use crate::request::Op;

/// What is known of a request besides.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Told {
    /// The hotness record of a write.
    pub hotness: Hotness,
    /// The bytes of the pages of a write, or of a merged image.
    pub bytes: u16,
    /// The record that a write made.
    pub kind: RecordKind,
    /// Pages of the same request that are in later rows.
    pub following: u8,
}

/// The optional columns of a table.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OptionalColumns {
    /// True for the columns of hotness records.
    pub hotness: bool,
    /// True for the column of the bytes of pages.
    pub bytes: bool,
    /// True for the column of the kinds of records.
    pub kinds: bool,
    /// True for the column of the pages that follow in the same request.
    pub following: bool,
}

/// True if bytes are known of an operation: of the record that it wrote, or would have written.
pub(crate) fn has_bytes(op: Op) -> bool {
    matches!(op, Op::Write | Op::Merge)
}
