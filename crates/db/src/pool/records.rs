//! Reads and changes of records whose page is not in memory.

use std::sync::atomic::{AtomicU32, Ordering::*};

use frostline_store::StoreError;

use super::{ABSENT, LOADING, OptimisticGuard, Pool};
use crate::DbError;
use crate::mvcc::{Change, Lookup};

/// A leaf that is not in memory, as the node above it tells.
pub struct AbsentLeaf<'g, 'p> {
    pool: &'p Pool,
    parent: &'g OptimisticGuard<'p>,
    page: u32,
}

impl AbsentLeaf<'_, '_> {
    /// True if the leaf has not come into memory, and no other one has its keys.
    fn is_absent(&self) -> bool {
        self.pool.is_absent(self.page) && self.parent.is_unchanged()
    }

    /// Puts the value of a record of the leaf into `value`, and returns the log position of its last change, or a
    /// later one; none if the leaf is needed for it.
    pub fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Option<u64> {
        let position = self.pool.records.get(self.page, key, || self.is_absent(), value)?;
        self.count();
        Some(position)
    }

    /// Makes the change of a record of the leaf that the log has at `position`, after `keep` got a function that
    /// appends the old value. False if the leaf is needed for it.
    pub fn change(
        &self,
        key: &[u8],
        change: Change<'_>,
        position: u64,
        keep: impl FnOnce(&mut dyn FnMut(&mut Vec<u8>) -> Lookup),
    ) -> bool {
        let change = (change, position);
        let changed = self.pool.records.change(self.page, key, || self.is_absent(), change, keep);
        if changed {
            self.count();
        }
        changed
    }

    fn count(&self) {
        self.pool.counters.without_page.fetch_add(1, Relaxed);
        self.pool.savings.record_serves();
        self.pool.note_miss(self.page);
    }
}

impl Pool {
    /// A leaf that a node has as a child, if it is not in memory.
    pub fn absent_leaf<'g, 'p>(
        &'p self,
        parent: &'g OptimisticGuard<'p>,
        page: u32,
    ) -> Option<AbsentLeaf<'g, 'p>> {
        self.is_absent(page).then_some(AbsentLeaf { pool: self, parent, page })
    }

    pub(super) fn is_absent(&self, page: u32) -> bool {
        self.entry(page).is_ok_and(|entry| entry.load(Acquire) == ABSENT)
    }

    /// Notes that a page had to be read for a record, which stays in memory longer than the page.
    pub fn note_record(&self, page: u32, key: &[u8]) {
        self.records.note(page, key);
    }

    /// Drops records until the others take no more memory than they may. Pages that lack changes of these are read
    /// as long as there are free frames. One that can't be read keeps its changes here, until a checkpoint reports
    /// the error: who needs a frame has nothing to do with it.
    pub(super) fn drop_records(&self) {
        for page in self.records.drop_excess() {
            let Some(frame) = self.lock_free().take() else { return };
            let entry = self.entry(page);
            let begun = |entry: &&AtomicU32| {
                entry.compare_exchange(ABSENT, LOADING, AcqRel, Acquire).is_ok()
            };
            match entry.ok().filter(begun) {
                Some(entry) => {
                    self.savings.records_need_page();
                    drop(self.load_into(Ok(frame), page, entry));
                }
                None => self.give_free(frame),
            }
        }
    }

    /// Brings pages into memory that lack changes which need the log from before `position`.
    pub(super) fn load_changed_before(&self, position: u64) -> Result<(), DbError> {
        for page in self.records.changed_before(position) {
            self.savings.records_need_page();
            let loaded = self.load(page);
            if is_lost(page, &loaded) {
                self.records.forget(page);
            } else {
                loaded?;
            }
        }
        Ok(())
    }
}

/// True if a page could not be read as it is lost: changes of it that wait in memory are lost with it.
pub fn is_lost<T>(page: u32, read: &Result<T, DbError>) -> bool {
    let is_lost =
        matches!(read, Err(DbError::Store(error)) if matches!(**error, StoreError::Lost { .. }));
    if is_lost {
        tracing::error!(page, "a page is lost, and changes of it with it");
    }
    is_lost
}
