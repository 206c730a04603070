//! Changed words of a page apart from the page: an engine keeps them in memory when the page leaves
//! it.

use frostline_placement::Hotness;

use crate::format::delta::ChangedWords;
use crate::format::records::{RecordKind, Sizes};

/// The words of a page that changed since its [base](crate::PageWrite::changed) or its delta, and
/// what they hold.
#[derive(Clone, Debug)]
pub struct PageDelta {
    /// A delta or a tail.
    kind: RecordKind,
    /// As a record, without its time.
    record: Box<[u8]>,
}

/// A page to be written as its delta.
#[derive(Clone, Copy, Debug)]
pub struct DeltaWrite<'a> {
    /// The LBA of the page.
    pub lba: u32,
    /// What changed.
    pub delta: &'a PageDelta,
    /// The page's hotness record, if the engine gave one.
    pub hotness: Option<Hotness>,
}

impl PageDelta {
    /// The delta of a page; none if it would be too long, or the store has no deltas.
    pub(crate) fn of(page: &[u8], changed: &ChangedWords, sizes: Sizes) -> Option<PageDelta> {
        let kind = changed.kind();
        if kind == RecordKind::Image || !sizes.has_deltas() {
            return None;
        }
        let record = changed.encode(page, kind)?.into_boxed_slice();
        Some(PageDelta { kind, record })
    }

    /// Bytes of memory that it takes besides its own size.
    pub fn heap_bytes(&self) -> usize {
        self.record.len()
    }

    /// A delta or a tail.
    pub(crate) fn kind(&self) -> RecordKind {
        self.kind
    }

    /// The record, without its time.
    pub(crate) fn record(&self) -> &[u8] {
        &self.record
    }
}
