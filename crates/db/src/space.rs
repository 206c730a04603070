//! The pages of one database on a store that may hold several.

use std::ops::Range;
use std::sync::Arc;

use frostline_placement::Hotness;
use frostline_store::{
    ChangedWords, DeltaWrite, PageDelta, PageRead, PageWrite, Store, StoreError,
};

use crate::DbError;
use crate::node::PAGE_BYTES;
use crate::wal::Lsn;

/// A range of a store's LBAs.
#[derive(Clone)]
pub(crate) struct PageSpace {
    /// The store.
    pub store: Arc<Store>,
    /// The first LBA.
    pub first: u32,
    /// The number of LBAs.
    pub pages: u32,
}

/// A page on its way to the store.
pub(crate) struct Outgoing<'a> {
    /// Its number.
    pub page: u32,
    /// Its content.
    pub bytes: &'a [u8; PAGE_BYTES],
    /// The log position of its last change.
    pub position: u64,
    /// Its hotness record.
    pub hotness: Hotness,
    /// The words that changed since its [base](PageWrite::changed). None: it is a new base.
    pub changed: Option<ChangedWords>,
}

/// Changes of a page on their way to the store.
pub(crate) struct OutgoingDelta<'a> {
    /// Its number.
    pub page: u32,
    /// What changed.
    pub delta: &'a PageDelta,
    /// Its hotness record.
    pub hotness: Hotness,
}

impl PageSpace {
    /// True if the store writes a page as the words that changed.
    pub(crate) fn has_deltas(&self) -> bool {
        self.store.has_deltas()
    }

    /// Number of the database among those that share the store.
    pub(crate) fn instance(&self) -> u32 {
        self.first / self.pages.max(1)
    }

    /// Tells the store up to where the log is durable, so that its next chunks and checkpoints say
    /// so.
    pub(crate) fn publish_durable(&self, durable: Lsn) -> Result<(), DbError> {
        Ok(self.store.set_mark(self.instance(), durable)?)
    }

    /// Reads a page, and finds the words in which it may differ from its
    /// [base](PageWrite::changed).
    pub(crate) fn read(&self, page: u32, into: &mut [u8]) -> Result<ChangedWords, DbError> {
        let mut changed = ChangedWords::NONE;
        let found = self.store.read_changed(self.first + page, into, &mut changed)?;
        Self::written(page, found).map(|()| changed)
    }

    /// Reads a page as changes of it make it that are not written, and finds the words in which it
    /// may differ from its base.
    pub(crate) fn read_with(
        &self,
        page: u32,
        kept: &PageDelta,
        into: &mut [u8],
    ) -> Result<ChangedWords, DbError> {
        let mut changed = ChangedWords::NONE;
        let found = self.store.read_with(self.first + page, kept, into, &mut changed)?;
        Self::written(page, found).map(|()| changed)
    }

    /// Reads pages of these LBAs side by side, and finds the words in which each may differ from
    /// its base.
    pub(crate) fn read_together(
        &self,
        reads: &mut [PageRead<'_>],
    ) -> Vec<Result<ChangedWords, DbError>> {
        let results = self.store.read_pages(reads);
        let found = |(read, found): (&PageRead<'_>, Result<bool, StoreError>)| {
            Self::written(read.lba - self.first, found?).map(|()| read.changed)
        };
        reads.iter().zip(results).map(found).collect()
    }

    fn written(page: u32, found: bool) -> Result<(), DbError> {
        let what = "is needed, and was never written";
        if found { Ok(()) } else { Err(DbError::Page { page, what }) }
    }

    /// Writes pages, in order.
    pub(crate) fn write(&self, pages: &[Outgoing<'_>]) -> Result<(), DbError> {
        let writes: Vec<_> = pages.iter().map(|out| self.page_write(out)).collect();
        Ok(self.store.write_batch(&writes)?)
    }

    /// Writes changes of pages, in order. Returns those pages whose base takes no delta.
    pub(crate) fn write_deltas(&self, deltas: &[OutgoingDelta<'_>]) -> Result<Vec<u32>, DbError> {
        let writes: Vec<_> = deltas
            .iter()
            .map(|out| DeltaWrite {
                lba: self.first + out.page,
                delta: out.delta,
                hotness: Some(out.hotness),
            })
            .collect();
        let refused = self.store.write_deltas(&writes)?;
        Ok(refused.into_iter().map(|lba| lba - self.first).collect())
    }

    /// A page as the store gets it.
    pub(crate) fn page_write<'a>(&self, out: &'a Outgoing<'_>) -> PageWrite<'a> {
        PageWrite {
            lba: self.first + out.page,
            page: out.bytes,
            hotness: Some(out.hotness),
            changed: out.changed.as_ref(),
        }
    }

    /// The pages of a range that the store has, in order.
    pub(crate) fn stored(&self, pages: Range<u32>) -> Result<Vec<u32>, DbError> {
        let mut stored = Vec::new();
        let lbas = self.first + pages.start..self.first + pages.end;
        self.store.mapped(lbas, &mut |lba| stored.push(lba - self.first))?;
        Ok(stored)
    }

    /// Forgets a page.
    pub(crate) fn trim(&self, page: u32) -> Result<(), DbError> {
        self.store.trim(self.first + page)?;
        Ok(())
    }
}
