//! Optimistic and exclusive guards of pages.

use super::Pool;
use super::frame::{AS_ROOT, Frame, NO_PAGE, UNLOGGED};
use super::page_records::PageRecords;
use crate::DbError;
use crate::node::{Node, NodeMut, PageBytes, Record};

/// A view of a page that others may change: reads count only if [`OptimisticGuard::is_unchanged`]
/// holds afterwards.
#[derive(Clone, Copy)]
pub struct OptimisticGuard<'p> {
    pool: &'p Pool,
    frame: u32,
    version: u64,
}

/// The frame in which a page was of late.
#[derive(Clone, Copy, Debug)]
pub struct CachedFrame {
    pub(super) frame: u32,
    pub(super) page: u32,
}

impl CachedFrame {
    /// The page.
    pub fn page(self) -> u32 {
        self.page
    }
}

impl<'p> OptimisticGuard<'p> {
    /// The page's frame, to find it there again.
    #[inline]
    pub fn cached_frame(&self) -> CachedFrame {
        CachedFrame { frame: self.frame, page: self.header().page() }
    }

    pub(super) fn new(pool: &'p Pool, frame: u32, version: u64) -> Self {
        OptimisticGuard { pool, frame, version }
    }

    #[inline]
    fn header(&self) -> &'p Frame {
        &self.pool.frames[self.frame as usize]
    }

    /// The node.
    #[inline]
    pub fn node(&self) -> Node<'p> {
        Node::of(&self.pool.memory[self.frame as usize])
    }

    /// True if all reads since the guard was made saw one state of the page.
    #[inline]
    pub fn is_unchanged(&self) -> bool {
        self.header().latch.is_unchanged(self.version)
    }

    /// True if the page was compared with this parent since both came into memory.
    #[inline]
    pub fn agrees_with(&self, parent: &OptimisticGuard<'_>) -> bool {
        self.header().agrees_with() == parent.header().stay()
    }

    /// True if the page was compared with the fields that all roots have.
    #[inline]
    pub fn agrees_as_root(&self) -> bool {
        self.header().agrees_with() == AS_ROOT
    }

    /// Notes that the page agrees with its parent, or without one that it is a root. If either
    /// changed meanwhile this has no effect, and the page is compared again.
    pub fn note_agreement(self, parent: Option<&OptimisticGuard<'_>>) {
        let stay = parent.map_or(AS_ROOT, |parent| parent.header().stay());
        let Some(mut held) = self.lock() else { return };
        held.leave_unchanged();
        if parent.is_none_or(OptimisticGuard::is_unchanged) {
            held.header().note_agreement(stay);
        }
    }

    /// Takes the latch; none if the page changed since the guard was made.
    #[inline]
    pub fn lock(self) -> Option<ExclusiveGuard<'p>> {
        let held = self.header().latch.lock_unchanged(self.version);
        held.then(|| ExclusiveGuard::new(self.pool, self.frame))
    }

    /// Counts accesses to the page.
    #[inline]
    pub fn accessed(&self, times: u32) {
        self.pool.count_access(self.frame, times);
    }
}

/// A page whose latch is held: no other thread changes it, and optimistic guards of it fail.
pub struct ExclusiveGuard<'p> {
    pool: &'p Pool,
    frame: u32,
    /// True if optimistic guards must fail.
    changed: bool,
}

impl<'p> ExclusiveGuard<'p> {
    /// A guard of a latch that is held. Dropping the guard releases it.
    pub(super) fn new(pool: &'p Pool, frame: u32) -> Self {
        ExclusiveGuard { pool, frame, changed: true }
    }

    pub(super) fn frame(&self) -> u32 {
        self.frame
    }

    pub(super) fn header(&self) -> &'p Frame {
        &self.pool.frames[self.frame as usize]
    }

    /// The page's number.
    pub fn page(&self) -> u32 {
        self.header().page()
    }

    /// The node.
    #[inline]
    pub fn node(&self) -> Node<'_> {
        Node::of(&self.pool.memory[self.frame as usize])
    }

    /// The page's bytes.
    #[inline]
    pub fn bytes(&mut self) -> &PageBytes {
        &self.pool.memory[self.frame as usize]
    }

    /// The node, to be changed.
    #[inline]
    pub fn edit(&mut self) -> NodeMut<'_> {
        NodeMut::of(self.bytes())
    }

    /// Notes that the log record at `position` changed the page.
    #[inline]
    pub fn changed_by(&mut self, position: u64) {
        self.edit().raise_position(position);
        let header = self.header();
        header.changed(position);
        if self.pool.hotness {
            let now = self.pool.clock();
            header.usage.modified(now);
        }
        self.pool.note_change(header);
    }

    /// Writes to the page what changed of its records while it was not in memory. An error if it has them not, as may
    /// be in a damaged page; then the frame has no page.
    pub(super) fn take_back(&mut self, records: &PageRecords) -> Result<(), DbError> {
        for (key, value) in records.changed() {
            let (index, found) = self.node().search(key);
            if !found || !self.edit().set_value(index, key, Record { value, flags: 0 }) {
                let page = self.page();
                self.header().set_page(NO_PAGE, 0);
                return Err(DbError::Page { page, what: "lacks a record that changed meanwhile" });
            }
            self.changed_by(records.position);
        }
        self.header().changed(records.dirty_from);
        Ok(())
    }

    /// Notes a change that has no log record, and need not survive a crash.
    pub fn changed_unlogged(&mut self) {
        self.header().changed(UNLOGGED);
    }

    /// Gives the page another content, as the log record at `position` says.
    pub fn replace(&mut self, content: &PageBytes, position: u64) {
        self.bytes().copy_from(content);
        self.changed();
        self.changed_by(position);
    }

    /// Optimistic guards must fail, after all.
    pub fn changed(&mut self) {
        self.changed = true;
    }

    /// Nothing was changed that readers see: optimistic guards stay valid.
    pub fn leave_unchanged(&mut self) {
        self.changed = false;
    }
}

impl Drop for ExclusiveGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        match self.changed {
            true => self.header().latch.unlock(),
            false => self.header().latch.unlock_unchanged(),
        }
    }
}
