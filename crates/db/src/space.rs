//! The pages of one database on a store that may hold several.

use std::borrow::Cow;
use std::sync::Arc;

use frostline_placement::Hotness;
use frostline_store::{PageWrite, Store};

use crate::DbError;
use crate::node::{PAGE_BYTES, put_middle_back, used_bytes, without_middle};

/// Sees every page that reaches the store, in order.
pub trait Observer: Send + Sync {
    /// A page was written, of which so many bytes are in use: all but its empty middle.
    fn written(&self, lba: u32, hotness: &Hotness, bytes: u16);

    /// A page was trimmed.
    fn trimmed(&self, lba: u32);
}

/// A node as a store keeps it: in units without its empty middle.
pub fn record<'a>(store: &Store, page: &'a [u8; PAGE_BYTES]) -> Cow<'a, [u8]> {
    match store.unit() {
        Some(_) => Cow::Owned(without_middle(page)),
        None => Cow::Borrowed(page),
    }
}

/// A range of a store's LBAs.
#[derive(Clone)]
pub struct PageSpace {
    /// The store.
    pub store: Arc<Store>,
    /// The first LBA.
    pub first: u32,
    /// The number of LBAs.
    pub pages: u32,
    /// Sees every page that reaches the store.
    pub observer: Option<Arc<dyn Observer>>,
}

/// A page on its way to the store.
pub struct Outgoing<'a> {
    /// Its number.
    pub page: u32,
    /// Its content.
    pub bytes: &'a [u8; PAGE_BYTES],
    /// The log position of its last change.
    pub position: u64,
    /// Its hotness record.
    pub hotness: Hotness,
}

impl PageSpace {
    /// Reads a page; false if there is none.
    pub fn read(&self, page: u32, into: &mut [u8]) -> Result<bool, DbError> {
        let found = self.store.read(self.first + page, into)?;
        if found && self.store.unit().is_some() {
            put_middle_back(into);
        }
        Ok(found)
    }

    /// Writes pages, in order.
    pub fn write(&self, pages: &[Outgoing<'_>]) -> Result<(), DbError> {
        let records: Vec<_> = pages.iter().map(|out| record(&self.store, out.bytes)).collect();
        let writes = pages.iter().zip(&records).map(|(out, record)| PageWrite {
            lba: self.first + out.page,
            page: record,
            hotness: Some(out.hotness),
        });
        self.store.write_batch(&writes.collect::<Vec<_>>())?;
        pages.iter().for_each(|out| self.observe(out));
        Ok(())
    }

    /// Tells the observer of a page that reached the store.
    pub fn observe(&self, out: &Outgoing<'_>) {
        if let Some(observer) = &self.observer {
            observer.written(self.first + out.page, &out.hotness, used_bytes(out.bytes));
        }
    }

    /// Forgets a page.
    pub fn trim(&self, page: u32) -> Result<(), DbError> {
        if self.store.trim(self.first + page)?
            && let Some(observer) = &self.observer
        {
            observer.trimmed(self.first + page);
        }
        Ok(())
    }
}
