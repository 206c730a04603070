//! Reads and changes of records whose page is not in memory.

use std::sync::atomic::Ordering::*;

use frostline_store::StoreError;

use super::loading::TOGETHER;
use super::{ABSENT, OptimisticGuard, Pool, UNUSED};
use crate::DbError;
use crate::direction::Direction;
use crate::mvcc::{Change, Lookup};

/// A leaf that is not in memory, as the node above it tells.
pub struct AbsentLeaf<'g, 'p> {
    pool: &'p Pool,
    parent: &'g OptimisticGuard<'p>,
    index: usize,
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

    /// Reads the leaf into memory, together with the next ones of the node above: so many in all.
    pub fn load(&self, direction: Direction, leaves: usize) {
        let node = self.parent.node();
        let range = match direction {
            Direction::Forward => self.index..(self.index + leaves).min(node.count()),
            Direction::Backward => (self.index + 1).saturating_sub(leaves)..self.index + 1,
        };
        let mut pages: Vec<_> = range.map(|index| node.child(index)).collect();
        if direction == Direction::Backward {
            pages.reverse();
        }
        if self.parent.is_unchanged() {
            pages.retain(|&page| self.pool.is_absent(page));
            pages.iter().for_each(|&page| self.pool.note_miss(page));
            self.pool.load_together(pages);
        }
    }

    fn count(&self) {
        self.pool.counters.without_page.fetch_add(1, Relaxed);
        self.pool.savings.record_serves();
        self.pool.note_miss(self.page);
    }
}

impl Pool {
    /// A leaf that a node has as this child, if it is not in memory.
    pub fn absent_leaf<'g, 'p>(
        &'p self,
        parent: &'g OptimisticGuard<'p>,
        index: usize,
    ) -> Option<AbsentLeaf<'g, 'p>> {
        let page = parent.node().child(index);
        self.is_absent(page).then_some(AbsentLeaf { pool: self, parent, index, page })
    }

    pub(super) fn is_absent(&self, page: u32) -> bool {
        self.entry(page).is_ok_and(|entry| entry.load(Acquire) == ABSENT)
    }

    /// True if a page is not in use: it was freed.
    pub fn is_unused(&self, page: u32) -> bool {
        self.entry(page).is_ok_and(|entry| entry.load(Acquire) == UNUSED)
    }

    /// Notes that a page had to be read for a record, which stays in memory longer than the page.
    pub fn note_record(&self, page: u32, key: &[u8]) {
        self.records.note(page, key);
    }

    /// Drops records until the others take no more memory than they may. Pages that lack changes of these are read
    /// as long as there are free frames. One that can't be read keeps its changes here, until a checkpoint reports
    /// the error: who needs a frame has nothing to do with it.
    pub(super) fn drop_records(&self) {
        let needed = self.records.drop_excess();
        if !needed.is_empty() {
            self.savings.records_need(needed.len());
            self.load_together(needed);
        }
    }

    /// Brings pages into memory that lack changes which need the log from before `position`.
    pub(super) fn load_changed_before(&self, position: u64) -> Result<(), DbError> {
        let needed = self.records.changed_before(position);
        self.savings.records_need(needed.len());
        for pages in needed.chunks(TOGETHER) {
            self.load_together(pages.iter().copied());
            for &page in pages.iter().filter(|&&page| self.is_absent(page)) {
                let loaded = self.load(page);
                if is_lost(page, &loaded) {
                    self.records.forget(page);
                } else {
                    loaded?;
                }
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
