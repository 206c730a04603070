//! Reads and changes of rows whose page is absent.

use std::sync::atomic::Ordering::*;

use super::absent::Room;
use super::frames::{CachedFrame, OptimisticGuard};
use super::loading::Loader;
use super::page_table::Known;
use super::{Memory, PoolCounters, Residency, misses};
use crate::direction::Direction;
use crate::mvcc::{Change, Lookup};

/// A leaf that is absent, as the node above it says.
pub(crate) struct AbsentLeaf<'g, 'p> {
    loader: &'p Loader,
    counters: &'p PoolCounters,
    parent: &'g OptimisticGuard<'p>,
    index: usize,
    page: u32,
}

impl<'g, 'p> AbsentLeaf<'g, 'p> {
    /// The page that a node has as this child, if it is absent. It is a leaf if the node is just
    /// above leaves.
    #[inline]
    pub(crate) fn below(
        loader: &'p Loader,
        counters: &'p PoolCounters,
        parent: &'g OptimisticGuard<'p>,
        index: usize,
    ) -> Option<Self> {
        let page = parent.node().child(index);
        let is_absent = loader.residency().table().is_absent(page);
        is_absent.then_some(AbsentLeaf { loader, counters, parent, index, page })
    }

    fn residency(&self) -> &'p Residency {
        self.loader.residency()
    }

    /// What the table tells of the leaf. Nothing if it is in a frame by now, or another leaf has its
    /// keys.
    fn known(&self) -> Option<Known> {
        let known = self.residency().table().known(self.page);
        known.filter(|_| self.parent.is_unchanged())
    }

    /// The room that the leaf has; none as above.
    fn room(&self) -> Option<Room> {
        let is_replay = self.loader.evictor().writeback().is_replaying();
        Some(Room::of(self.known()?.room, is_replay))
    }

    /// Puts the value of a record of the leaf into `value`, and returns what it found, and the log
    /// position of its last change, or a later one; none if the leaf is needed for it.
    pub(crate) fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Option<(Lookup, u64)> {
        let absent = self.residency().absent();
        let found = absent.get(self.page, key, || self.room().is_some(), value)?;
        self.count();
        Some(found)
    }

    /// Makes the change of a record of the leaf that the log has at `position`, after `keep` got a
    /// function that appends the old value, or says that only the leaf has it. None if the leaf is
    /// needed for it.
    pub(crate) fn change(
        &self,
        key: &[u8],
        change: Change<'_>,
        position: u64,
        keep: impl FnOnce(&mut dyn FnMut(&mut Vec<u8>) -> Option<Lookup>),
    ) -> Option<Memory> {
        let (absent, change) = (self.residency().absent(), (change, position));
        let mut is_unread = false;
        let keep = |append: &mut dyn FnMut(&mut Vec<u8>) -> Option<Lookup>| {
            keep(&mut |value| {
                append(value).or_else(|| {
                    is_unread = true;
                    None
                })
            });
        };
        let memory = absent.change(self.page, key, || self.room(), change, keep)?;
        self.count();
        self.counters.unread.fetch_add(is_unread.into(), Relaxed);
        Some(memory)
    }

    /// The bytes that the leaf has free, without what waits for it; none if that is unknown.
    pub(crate) fn bytes_free(&self) -> Option<usize> {
        let known = self.known().filter(|known| known.room > 0)?;
        Some(known.room as usize)
    }

    /// True if a change of a record waits for the leaf.
    pub(crate) fn has_waiting(&self, key: &[u8]) -> bool {
        self.residency().absent().has_waiting(self.page, key) && self.room().is_some()
    }

    /// True if a record of the leaf has no reference to a long value: neither in the leaf nor in
    /// what waits for it.
    pub(crate) fn has_no_reference(&self, key: &[u8]) -> bool {
        let tree = self.parent.node().tree();
        self.known().is_some_and(|known| !known.references.may_have(tree, key))
    }

    /// The frame of the node above.
    pub(crate) fn above(&self) -> CachedFrame {
        self.parent.cached_frame()
    }

    /// The page.
    pub(crate) fn page(&self) -> u32 {
        self.page
    }

    /// True if [`Self::get`] needs no leaf, as it is now.
    pub(crate) fn can_get(&self, key: &[u8]) -> bool {
        self.residency().absent().can_get(self.page, key)
    }

    /// True if [`Self::change`] needs no leaf, as it is now.
    pub(crate) fn can_change(&self, key: &[u8], change: Change<'_>) -> bool {
        self.residency().absent().can_change(self.page, key, change, self.room())
    }

    /// Loads the leaf, together with the next ones of the node above: so many in all.
    pub(crate) fn load(&self, direction: Direction, leaves: usize) {
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
            let (table, ghosts) = (self.residency().table(), self.residency().ghosts());
            pages.retain(|&page| table.is_absent(page));
            if misses::note(pages.iter().copied()) {
                return;
            }
            pages.iter().for_each(|&page| ghosts.note_miss(page));
            self.loader.load_together(pages);
        }
    }

    fn count(&self) {
        self.counters.without_page.fetch_add(1, Relaxed);
        self.residency().ghosts().note_row_hit();
        self.residency().ghosts().note_miss(self.page);
    }
}
