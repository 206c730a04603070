//! Optimistic and exclusive guards of pages.

use super::Frames;
use super::frame::{AS_ROOT, Frame, UNLOGGED};
use crate::node::{Node, NodeMut, PageBytes};

/// A view of a page that others may change: reads count only if [`OptimisticGuard::is_unchanged`]
/// holds afterwards.
#[derive(Clone, Copy)]
pub(crate) struct OptimisticGuard<'p> {
    frames: &'p Frames,
    frame: u32,
    version: u64,
}

/// The frame in which a page was last seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CachedFrame {
    pub(super) frame: u32,
    pub(super) page: u32,
}

impl CachedFrame {
    /// The page.
    pub(crate) fn page(self) -> u32 {
        self.page
    }
}

impl<'p> OptimisticGuard<'p> {
    /// The page's frame, to find it there again.
    #[inline]
    pub(crate) fn cached_frame(&self) -> CachedFrame {
        CachedFrame { frame: self.frame, page: self.header().page() }
    }

    pub(super) fn new(frames: &'p Frames, frame: u32, version: u64) -> Self {
        OptimisticGuard { frames, frame, version }
    }

    #[inline]
    fn header(&self) -> &'p Frame {
        self.frames.header(self.frame)
    }

    /// The node.
    #[inline]
    pub(crate) fn node(&self) -> Node<'p> {
        Node::of(self.frames.bytes(self.frame))
    }

    /// True if all reads since the guard was made saw one state of the page.
    #[inline]
    pub(crate) fn is_unchanged(&self) -> bool {
        self.header().latch.is_unchanged(self.version)
    }

    /// True if the page was compared with this parent since both came into memory.
    #[inline]
    pub(crate) fn agrees_with(&self, parent: &OptimisticGuard<'_>) -> bool {
        self.header().agrees_with() == parent.header().stay()
    }

    /// True if the page was compared with the fields that all roots have.
    #[inline]
    pub(crate) fn agrees_as_root(&self) -> bool {
        self.header().agrees_with() == AS_ROOT
    }

    /// Notes that the page agrees with its parent, or without one that it is a root. If either
    /// changed meanwhile this has no effect, and the page is compared again.
    pub(crate) fn note_agreement(self, parent: Option<&OptimisticGuard<'_>>) {
        let stay = parent.map_or(AS_ROOT, |parent| parent.header().stay());
        let Some(mut held) = self.lock() else { return };
        held.leave_unchanged();
        if parent.is_none_or(OptimisticGuard::is_unchanged) {
            held.header().note_agreement(stay);
        }
    }

    /// Takes the latch; none if the page changed since the guard was made.
    #[inline]
    pub(crate) fn lock(self) -> Option<ExclusiveGuard<'p>> {
        let held = self.header().latch.lock_unchanged(self.version);
        held.then(|| ExclusiveGuard::new(self.frames, self.frame))
    }

    /// Counts accesses to the page.
    #[inline]
    pub(crate) fn accessed(&self, times: u32) {
        self.frames.count_access(self.frame, times);
    }
}

/// A page whose latch is held: no other thread changes it, and optimistic guards of it fail.
pub(crate) struct ExclusiveGuard<'p> {
    frames: &'p Frames,
    frame: u32,
    /// True if optimistic guards must fail.
    changed: bool,
}

impl<'p> ExclusiveGuard<'p> {
    /// A guard of a latch that is held. Dropping the guard releases it.
    pub(super) fn new(frames: &'p Frames, frame: u32) -> Self {
        ExclusiveGuard { frames, frame, changed: true }
    }

    /// The number of the frame.
    pub(crate) fn frame(&self) -> u32 {
        self.frame
    }

    /// The frame's header.
    pub(crate) fn header(&self) -> &'p Frame {
        self.frames.header(self.frame)
    }

    /// The page's number.
    pub(crate) fn page(&self) -> u32 {
        self.header().page()
    }

    /// The node.
    #[inline]
    pub(crate) fn node(&self) -> Node<'_> {
        Node::of(self.frames.bytes(self.frame))
    }

    /// The page's bytes.
    #[inline]
    pub(crate) fn bytes(&mut self) -> &PageBytes {
        self.frames.bytes(self.frame)
    }

    /// The node, to be changed.
    #[inline]
    pub(crate) fn edit(&mut self) -> NodeMut<'_> {
        NodeMut::of(self.bytes())
    }

    /// Notes that the log record at `position` changed the page.
    #[inline]
    pub(crate) fn changed_by(&mut self, position: u64) {
        self.edit().raise_position(position);
        let header = self.header();
        header.changed(position);
        self.frames.note_change(header);
    }

    /// Notes a change that has no log record, and need not survive a crash.
    pub(crate) fn changed_unlogged(&mut self) {
        self.header().changed(UNLOGGED);
    }

    /// Gives the page another content, as the log record at `position` says.
    pub(crate) fn replace(&mut self, content: &PageBytes, position: u64) {
        self.bytes().copy_from(content);
        self.changed();
        self.changed_by(position);
    }

    /// Optimistic guards must fail, after all.
    pub(crate) fn changed(&mut self) {
        self.changed = true;
    }

    /// Nothing was changed that readers see: optimistic guards stay valid.
    pub(crate) fn leave_unchanged(&mut self) {
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
