//! B+-trees in pages: all trees of a database share one pool and one log.
//!
//! A tree is known by the page number of its root, which never changes. Readers and writers go
//! down without latches (`descent.rs`, `find.rs`); a writer latches the leaf alone (`apply.rs`). A
//! change of structure latches the pages that change, and logs them (`split.rs`, `merge.rs`), so
//! that it can be redone (`redo.rs`). Leaves that became emptier are visited (`visits.rs`).
//!
//! Calls go one way: `visits` and `apply`; `overfull`, `merge`, `together` and `ghosts`; `find`;
//! `split`; `descent`. A search that meets a leaf without room for what waited for it splits it, so
//! `find` is above `split`. A split searches for nothing: it descends, and ends at such a leaf.

mod apply;
mod build;
mod descent;
mod find;
mod ghosts;
pub(crate) mod leaf_cache;
mod merge;
mod overfull;
mod redo;
mod space_estimate;
mod split;
#[cfg(test)]
mod tests;
mod together;
mod visits;

pub(crate) use build::{Build, Place};
pub(crate) use space_estimate::SpaceEstimate;
pub(crate) use together::{RECORDS, Wanted};
pub(crate) use visits::Visits;

use std::ops::Range;
use std::sync::Arc;

use frostline_store::Store;

use crate::DbError;
use crate::mvcc::{CommitWindow, PendingCommit, Validated, Versions, WriteSet};
use crate::node::{Fences, NodeMut};
use crate::pages::{Pages, Take};
use crate::pool::{ExclusiveGuard, FreeFrame, Pool};
use crate::space::PageSpace;
use crate::wal::Wal;

/// All trees of a database.
pub(crate) struct Trees {
    /// Pages in memory.
    pub pool: Pool,
    /// The pages in use and the free ones.
    pub pages: Pages,
    /// The log records that are complete.
    pub window: Arc<CommitWindow>,
    /// Older versions of records, for snapshots that may see them.
    pub versions: Arc<Versions>,
    /// Leaves that are to be looked at again.
    pub visits: Visits,
    /// Bytes of a leaf that insertions in ascending order leave free.
    pub spare: usize,
}

impl Trees {
    /// The log.
    pub(crate) fn wal(&self) -> &Wal {
        self.pool.wal()
    }

    /// The pages on the store.
    pub(crate) fn space(&self) -> &PageSpace {
        self.pool.space()
    }

    /// The store.
    pub(crate) fn store(&self) -> &Arc<Store> {
        &self.space().store
    }

    /// The position of the oldest state that a transaction may see.
    pub(crate) fn oldest_seen(&self) -> u64 {
        self.versions.oldest_seen(&self.window)
    }

    /// Appends a record to the log. It is complete when the returned value is dropped.
    pub(crate) fn log(&self, kind: u8, parts: &[&[u8]]) -> Result<PendingCommit<'_>, DbError> {
        let (_, in_log) = self.wal().append(kind, parts, |lsn| self.window.enter(lsn))?;
        Ok(in_log)
    }

    /// Appends the record of a commit to the log, unless a commit since the transaction's snapshot
    /// changed what it read. It is complete when the returned value is dropped.
    pub(crate) fn log_commit(
        &self,
        kind: u8,
        parts: &[&[u8]],
        writes: &Arc<WriteSet>,
        reads: Option<Validated<'_>>,
    ) -> Result<PendingCommit<'_>, DbError> {
        let enter = |lsn| self.window.enter_commit(lsn, writes, reads);
        let (_, in_log) = self.wal().append_if(kind, parts, enter)?;
        Ok(in_log)
    }

    /// A page and a frame for it. No latch may be held.
    fn fresh(&self) -> Result<Fresh<'_>, DbError> {
        let frame = self.pool.free_frame()?;
        Ok(Fresh { trees: self, page: self.take_page()?, frame: Some(frame) })
    }

    /// A page that is not in use. If there is none, pages that were freed of late are trimmed
    /// first. No latch may be held.
    pub(crate) fn take_page(&self) -> Result<u32, DbError> {
        loop {
            match self.pages.take()? {
                Take::Page(page) => return Ok(page),
                Take::List(part) => self.list_pages(part)?,
                Take::Trim(position) => {
                    self.wal().wait(position)?;
                    self.trim_freed()?;
                }
            }
        }
    }

    /// Trims pages that were freed by records that are durable, so that they can be used again.
    pub(crate) fn trim_freed(&self) -> Result<(), DbError> {
        // The guard keeps pages from being written meanwhile: a page must not be trimmed after it
        // was used again.
        let _writer = self.pool.evictor();
        while let Some(freed) = self.pages.next_freed(self.wal().durable()) {
            if let Some(part) = self.pages.unlisted_part(freed.1) {
                self.list_pages(part)?;
            }
            self.space().trim(freed.1)?;
            self.pages.trimmed(freed);
        }
        Ok(())
    }

    /// Finds out which pages of a part are free.
    fn list_pages(&self, part: Range<u32>) -> Result<(), DbError> {
        self.pages.listed(&part, &self.space().stored(part.clone())?);
        Ok(())
    }

    /// Makes the root of a tree that is empty, as the log record at `position` says.
    pub(crate) fn create_root(&self, root: u32, position: u64) -> Result<(), DbError> {
        Self::begin_root(&mut self.pool.create(root, self.pool.free_frame()?)?, position);
        Ok(())
    }

    /// The held page is the root of an empty tree.
    fn begin_root(held: &mut ExclusiveGuard<'_>, position: u64) {
        let (root, fences) = (held.page(), Fences { lower: &[], upper: None });
        NodeMut::format(held.bytes(), root, 0, fences).begin_records();
        held.changed_by(position);
    }
}

/// A new page that no tree uses yet. Dropped unused, it becomes free again.
struct Fresh<'t> {
    trees: &'t Trees,
    page: u32,
    frame: Option<FreeFrame<'t>>,
}

impl<'t> Fresh<'t> {
    /// The page, in memory and held. It belongs to a tree from now on.
    fn create(mut self) -> Result<ExclusiveGuard<'t>, DbError> {
        let frame = self.frame.take();
        match frame {
            Some(frame) => self.trees.pool.create(self.page, frame),
            None => Err(DbError::Panicked),
        }
    }
}

impl Drop for Fresh<'_> {
    fn drop(&mut self) {
        if self.frame.is_some() {
            self.trees.pages.give_back(self.page);
        }
    }
}
