//! Changed words of a page apart from the page: an engine keeps them in memory when the page leaves it.

use frostline_placement::Hotness;

use crate::delta::{ChangedWords, apply, encode};
use crate::records::Sizes;

/// The words of a page that changed since its [base](crate::PageWrite::changed), and what they hold.
#[derive(Clone, Debug)]
pub struct PageDelta {
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
        sizes.unit()?;
        Some(PageDelta { record: encode(page, changed)?.into_boxed_slice() })
    }

    /// Bytes of memory that it takes besides its own size.
    pub fn heap_bytes(&self) -> usize {
        self.record.len()
    }

    /// Brings the base of the page, or the page as it is on the device, to the page that the delta was made
    /// of; returns the words that differ from the base. Words that were no longer in use then, and were
    /// left out, hold anything.
    pub fn apply(&self, page: &mut [u8]) -> ChangedWords {
        apply(page, &self.record).expect("it was encoded")
    }

    /// The record, without its time.
    pub(crate) fn record(&self) -> &[u8] {
        &self.record
    }
}
