//! The header of a page in memory.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};

use super::latch::Latch;
use super::usage::{Earlier, Last, Usage};

/// No page: the frame is free.
pub(crate) const NO_PAGE: u32 = u32::MAX;

/// Not changed since it was written.
pub(crate) const CLEAN: u64 = u64::MAX;

/// Changed since it was written, and no log is needed to make the change again.
pub(super) const UNLOGGED: u64 = u64::MAX - 1;

/// In place of a parent's stay: the page agrees with what is known of the root of a tree.
pub(super) const AS_ROOT: u32 = 1;

/// The number of the first stay; as numbers do not end, they begin here again.
pub(super) const FIRST_STAY: u32 = 2;

/// The worth of avoiding a write of a page, where avoiding a read is worth 1: a write wears the
/// device.
pub(super) const CHANGE: f32 = 2.0;

/// A frame's header; its page lies apart. An access to the page touches only the first cache line.
#[repr(C, align(64))]
pub(crate) struct Frame {
    /// Protects the page's content, and `page`.
    pub latch: Latch,
    page: AtomicU32,
    last_read: Last,
    /// Accesses and modifications since the page was read or written.
    pub usage: Usage,
    last_change: Last,
    /// Used since the replacement's hand passed last.
    pub referenced: AtomicBool,
    /// The number of this stay of the page in memory, unlike that of any other stay.
    stay: AtomicU32,
    /// The stay of the parent with which the page agrees, [`AS_ROOT`], or 0: not compared yet.
    agrees_with: AtomicU32,
    earlier_reads: Earlier,
    earlier_changes: Earlier,
    /// Log position of the first change that is not on the device, [`CLEAN`] if there is none.
    dirty_from: AtomicU64,
    /// The same of the version that is being written.
    writing_from: AtomicU64,
}

impl Frame {
    /// A free frame.
    pub(crate) fn free() -> Self {
        Frame {
            latch: Latch::default(),
            page: AtomicU32::new(NO_PAGE),
            referenced: AtomicBool::new(false),
            stay: AtomicU32::new(0),
            agrees_with: AtomicU32::new(0),
            dirty_from: AtomicU64::new(CLEAN),
            writing_from: AtomicU64::new(CLEAN),
            usage: Usage::default(),
            last_read: Last::default(),
            last_change: Last::default(),
            earlier_reads: Earlier::default(),
            earlier_changes: Earlier::default(),
        }
    }

    /// The page in the frame.
    #[inline]
    pub(crate) fn page(&self) -> u32 {
        self.page.load(Relaxed)
    }

    /// Puts a page into the frame, as it is on the device, for a stay of this number. The latch is
    /// held.
    pub(crate) fn occupy(&self, page: u32, stay: u32) {
        assert!(page != NO_PAGE && self.page() == NO_PAGE, "a free frame gets a page");
        self.reset(page, stay);
    }

    /// Removes the page from the frame. The latch is held.
    pub(crate) fn clear(&self) {
        assert_ne!(self.page(), NO_PAGE, "a frame with a page becomes free");
        self.reset(NO_PAGE, 0);
    }

    fn reset(&self, page: u32, stay: u32) {
        self.page.store(page, Relaxed);
        self.stay.store(stay, Relaxed);
        self.agrees_with.store(0, Relaxed);
        self.dirty_from.store(CLEAN, Relaxed);
        self.writing_from.store(CLEAN, Relaxed);
        self.usage.reset();
        self.last_read.reset(&self.earlier_reads);
        self.last_change.reset(&self.earlier_changes);
        self.referenced.store(true, Relaxed);
    }

    /// The number of the page's stay in memory.
    #[inline]
    pub(crate) fn stay(&self) -> u32 {
        self.stay.load(Relaxed)
    }

    /// The stay of the parent that the page was compared with; 0 if it was not compared yet.
    #[inline]
    pub(crate) fn agrees_with(&self) -> u32 {
        self.agrees_with.load(Relaxed)
    }

    /// Notes that the page agrees with its parent in this stay. The latch is held.
    pub(crate) fn note_agreement(&self, parent: u32) {
        self.agrees_with.store(parent, Relaxed);
    }

    /// Notes a read of the page, for write-aware replacement.
    #[inline]
    pub(crate) fn note_read(&self, turn: u32) {
        self.last_read.note(&self.earlier_reads, turn);
    }

    /// Notes a change of the page, for write-aware replacement.
    #[inline]
    pub(crate) fn note_change(&self, turn: u32) {
        self.last_change.note(&self.earlier_changes, turn);
    }

    /// The worth of keeping the page: how often it was read and changed lately. Reading it
    /// again costs a read. A change costs a write as well, which wears the device.
    pub(crate) fn worth(&self, now: u32) -> f32 {
        self.last_read.frequency(&self.earlier_reads, now)
            + CHANGE * self.last_change.frequency(&self.earlier_changes, now)
    }

    /// The page was changed by the log record at `position`. The latch is held.
    #[inline]
    pub(crate) fn changed(&self, position: u64) {
        if self.dirty_from.load(Relaxed) > position {
            self.dirty_from.store(position, Release);
        }
    }

    /// True if the page differs from that on the device.
    #[inline]
    pub(crate) fn is_dirty(&self) -> bool {
        self.dirty_from.load(Relaxed) != CLEAN
    }

    /// True if a version of the page is on its way to the device.
    pub(crate) fn is_being_written(&self) -> bool {
        self.writing_from.load(Relaxed) != CLEAN
    }

    /// The log position from which recovery would redo the page's changes; [`CLEAN`] if there are
    /// none.
    pub(crate) fn needs_log_from(&self) -> u64 {
        // A position that moves from one field to the other meanwhile, or back, is seen at least
        // once.
        let dirty = self.dirty_from.load(Acquire);
        let writing = self.writing_from.load(Acquire);
        dirty.min(writing).min(self.dirty_from.load(Acquire))
    }

    /// A version is on its way to the device. The latch is held.
    pub(crate) fn begin_write(&self) {
        assert!(self.is_dirty() && !self.is_being_written(), "one write of a changed page");
        self.writing_from.store(self.dirty_from.load(Relaxed), Release);
        self.dirty_from.store(CLEAN, Release);
    }

    /// The version arrived, or did not. The latch is held.
    pub(crate) fn end_write(&self, arrived: bool) {
        assert!(self.is_being_written(), "a write ends once");
        if !arrived {
            self.changed(self.writing_from.load(Relaxed));
        }
        self.writing_from.store(CLEAN, Release);
    }
}
