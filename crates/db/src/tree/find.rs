//! The leaf of a key, with all changes that waited for it, and what it has.

use std::convert::Infallible;

use super::Trees;
use super::descent::{DescentPath, Step};
use crate::DbError;
use crate::direction::Direction;
use crate::mvcc::{Lookup, Seen};
use crate::node::{Node, PageBytes};
use crate::pool::{AbsentLeaf, CachedFrame, OptimisticGuard, misses};

/// The end of a way down to a leaf.
pub(super) enum Leaf<'t, T> {
    /// The leaf.
    InMemory(OptimisticGuard<'t>),
    /// It is not in memory, and this was done without it.
    Without(T),
}

impl Trees {
    /// The leaf that a key belongs to.
    #[inline]
    pub(super) fn leaf(&self, tree: u32, key: &[u8]) -> Result<OptimisticGuard<'_>, DbError> {
        self.leaf_by(tree, |node| node.child_index(key), |_| ())
    }

    /// The leaf to which those children lead that `choose` names. If it is not in memory, `load`
    /// may read it, and others with it; otherwise it is read.
    #[inline]
    fn leaf_by(
        &self,
        tree: u32,
        choose: impl Fn(Node<'_>) -> usize,
        load: impl Fn(AbsentLeaf<'_, '_>),
    ) -> Result<OptimisticGuard<'_>, DbError> {
        let load = |leaf: AbsentLeaf<'_, '_>| {
            load(leaf);
            None::<Infallible>
        };
        match self.find_leaf_or_row(tree, None, choose, load)? {
            Leaf::InMemory(leaf) => Ok(leaf),
            Leaf::Without(never) => match never {},
        }
    }

    /// The leaf that a key belongs to, unless it is not in memory and `without` does without it.
    #[inline]
    pub(super) fn leaf_unless<T>(
        &self,
        tree: u32,
        key: &[u8],
        without: impl FnMut(AbsentLeaf<'_, '_>) -> Option<T>,
    ) -> Result<Leaf<'_, T>, DbError> {
        self.find_leaf_or_row(tree, None, |node| node.child_index(key), without)
    }

    /// `above` is the node above the leaf, if that is known.
    #[inline]
    fn find_leaf_or_row<'t, T>(
        &'t self,
        tree: u32,
        mut above: Option<OptimisticGuard<'t>>,
        choose: impl Fn(Node<'_>) -> usize,
        mut without: impl FnMut(AbsentLeaf<'_, '_>) -> Option<T>,
    ) -> Result<Leaf<'t, T>, DbError> {
        let weight = self.pool.sample();
        loop {
            let way = match above.take() {
                Some(node) => Some(DescentPath { parent: None, node, pages: 1 }),
                None => self.descend_by(tree, 1, weight, &choose)?,
            };
            let Some(DescentPath { node: above, pages, .. }) = way else { continue };
            let node = above.node();
            if node.level() == 0 {
                self.pool.count_descent(pages, weight);
                return Ok(Leaf::InMemory(above));
            }
            let index = choose(node);
            let absent = self.pool.absent_child(&above, index);
            let found = match absent.and_then(&mut without) {
                Some(done) => Leaf::Without(done),
                None => match self.child(&above, index)? {
                    Some(leaf) => Leaf::InMemory(leaf),
                    None => continue,
                },
            };
            self.pool.count_descent(pages + 1, weight);
            return Ok(found);
        }
    }

    /// The leaf in a cached frame, if it is still there and the key belongs to it; else as
    /// [`Trees::leaf_unless`], below the node in that frame if it is one above leaves. The leaf can be written to: an error if its fences do not include
    /// the key, as may be in a damaged tree.
    #[inline]
    pub(super) fn leaf_at<T>(
        &self,
        cached: Option<CachedFrame>,
        tree: u32,
        key: &[u8],
        without: impl FnMut(AbsentLeaf<'_, '_>) -> Option<T>,
    ) -> Result<Leaf<'_, T>, DbError> {
        let cached = cached.and_then(|cached| self.cached_node(cached, tree, key, 1));
        let above = match cached {
            Some(seen) if seen.node().level() == 0 => return Ok(Leaf::InMemory(seen)),
            above => above,
        };
        let found = self.find_leaf_or_row(tree, above, |node| node.child_index(key), without)?;
        if let Leaf::InMemory(seen) = &found
            && !seen.node().covers(key)
            && seen.is_unchanged()
        {
            let (page, what) = (seen.cached_frame().page(), "has keys in no order above it");
            return Err(DbError::Page { page, what });
        }
        Ok(found)
    }

    /// The leaf in a cached frame, if it is still there and the key belongs to it.
    #[inline]
    pub(super) fn cached_leaf(
        &self,
        cached: CachedFrame,
        tree: u32,
        key: &[u8],
    ) -> Option<OptimisticGuard<'_>> {
        self.cached_node(cached, tree, key, 0)
    }

    /// The same of a node of this level or below.
    #[inline]
    fn cached_node(
        &self,
        cached: CachedFrame,
        tree: u32,
        key: &[u8],
        level: usize,
    ) -> Option<OptimisticGuard<'_>> {
        let seen = self.pool.look_at(cached)?;
        let node = seen.node();
        let is_it = node.tree() == tree && node.level() <= level && node.covers(key);
        (is_it && seen.is_unchanged()).then_some(seen)
    }

    /// A child of a node. A leaf gets the changes that it had no room for before. None if something
    /// changed, or had to be read.
    #[inline(always)]
    pub(super) fn child<'t>(
        &'t self,
        parent: &OptimisticGuard<'t>,
        index: usize,
    ) -> Result<Option<OptimisticGuard<'t>>, DbError> {
        match self.step(parent, index)? {
            Step::To(child) => Ok(Some(child)),
            Step::Again => Ok(None),
            Step::Overfull(leaf) => self.give_rows(*parent, leaf).map(|()| None),
        }
    }

    /// Puts the value that `snapshot` sees of a key into `value`, or the reference to its pieces,
    /// and returns the frame of the key's leaf, if that is in memory. `cached` is the frame in
    /// which the leaf was of late.
    #[inline]
    pub(crate) fn get(
        &self,
        tree: u32,
        key: &[u8],
        snapshot: u64,
        cached: Option<CachedFrame>,
        value: &mut Vec<u8>,
    ) -> Result<(Lookup, Option<CachedFrame>), DbError> {
        self.get_unless(tree, key, snapshot, cached, value, |_| false)
    }

    /// As [`Trees::get`], but finds nothing if `snapshot` sees the newest value of the key, which is
    /// known not to be a reference, and its leaf is not in memory.
    #[inline]
    pub(crate) fn get_reference(
        &self,
        tree: u32,
        key: &[u8],
        snapshot: u64,
        value: &mut Vec<u8>,
    ) -> Result<(Lookup, Option<CachedFrame>), DbError> {
        self.get_unless(tree, key, snapshot, None, value, |leaf| leaf.has_no_reference(key))
    }

    /// As [`Trees::get`], but finds nothing if the leaf is not in memory, and `is_needless` says
    /// that it need not be looked into.
    #[inline]
    fn get_unless(
        &self,
        tree: u32,
        key: &[u8],
        snapshot: u64,
        mut cached: Option<CachedFrame>,
        value: &mut Vec<u8>,
        is_needless: impl Fn(&AbsentLeaf<'_, '_>) -> bool,
    ) -> Result<(Lookup, Option<CachedFrame>), DbError> {
        let mut was_absent = false;
        loop {
            let cached = cached.take().and_then(|cached| self.cached_leaf(cached, tree, key));
            let leaf = match cached {
                Some(seen) => Leaf::InMemory(seen),
                None => self
                    .leaf_unless(tree, key, |leaf| {
                        was_absent = true;
                        if is_needless(&leaf) { Some(None) } else { leaf.get(key, value).map(Some) }
                    })
                    .map_err(|error| self.versions.why(snapshot, error))?,
            };
            let seen = match leaf {
                Leaf::InMemory(seen) => seen,
                Leaf::Without(None) => {
                    value.clear();
                    // An older one may be a reference. The position of the newest is not known.
                    let newest = (Lookup::Nothing, value);
                    return Ok((self.version(tree, key, snapshot, u64::MAX, newest)?, None));
                }
                Leaf::Without(Some((found, position))) => {
                    let newest = (found, value);
                    return Ok((self.version(tree, key, snapshot, position, newest)?, None));
                }
            };
            let node = seen.node();
            value.clear();
            let mut found = Lookup::Nothing;
            if let (index, true) = node.search(key) {
                let slot = node.slot(index);
                if !slot.is_ghost() {
                    node.value(slot, value);
                    found = if slot.is_overflow() { Lookup::Overflow } else { Lookup::Value };
                }
            }
            let position = node.position();
            if !seen.is_unchanged() {
                continue;
            }
            seen.accessed(1);
            let cached = seen.cached_frame();
            if was_absent || misses::was_missed(cached.page()) {
                self.pool.note_record(cached.page(), key);
            }
            let found = self.version(tree, key, snapshot, position, (found, value))?;
            return Ok((found, Some(cached)));
        }
    }

    /// Puts the version of a record that `snapshot` sees into `value`, which has the newest one, if
    /// the newest may have come at a later `position`.
    #[inline]
    fn version(
        &self,
        tree: u32,
        key: &[u8],
        snapshot: u64,
        position: u64,
        (found, value): (Lookup, &mut Vec<u8>),
    ) -> Result<Lookup, DbError> {
        match position > snapshot {
            true => Ok(self.older_version(tree, key, snapshot, value)?.unwrap_or(found)),
            false => Ok(found),
        }
    }

    /// Puts the version of a record that `snapshot` sees into `value`, if it is not the one in the
    /// tree.
    pub(crate) fn older_version(
        &self,
        tree: u32,
        key: &[u8],
        snapshot: u64,
        value: &mut Vec<u8>,
    ) -> Result<Option<Lookup>, DbError> {
        let mut seen = self.versions.find(tree, key, snapshot, value);
        if seen == Seen::InPage {
            // As it comes into memory, it fills the version.
            self.leaf(tree, key)?;
            seen = self.versions.find(tree, key, snapshot, value);
        }
        self.versions.check(snapshot)?;
        match seen {
            Seen::Newest => Ok(None),
            Seen::Older(found) => Ok(Some(found)),
            Seen::InPage => {
                let what = "is the root of a tree that lost a leaf, and what a snapshot sees of it";
                Err(DbError::Page { page: tree, what })
            }
        }
    }

    /// The tree of a page, and its smallest key; none if it is not in use.
    pub(super) fn place_of_leaf(&self, page: u32) -> Result<Option<(u32, Vec<u8>)>, DbError> {
        let mut lower = Vec::new();
        loop {
            if self.pool.is_unused(page) {
                return Ok(None);
            }
            let seen = match self.pool.look(page) {
                // It may have been freed meanwhile.
                Err(_) if self.pool.is_unused(page) => return Ok(None),
                seen => seen?,
            };
            let Some(seen) = seen else { continue };
            seen.node().lower(&mut lower);
            let tree = seen.node().tree();
            if seen.is_unchanged() {
                return Ok(Some((tree, lower)));
            }
        }
    }

    /// Copies a page that is a node.
    pub(crate) fn copy_page(&self, page: u32) -> Result<Box<PageBytes>, DbError> {
        let mut copy = PageBytes::zeroed();
        loop {
            let Some(seen) = self.pool.look(page)? else { continue };
            copy.become_copy_of(seen.node().page());
            if seen.is_unchanged() {
                return Ok(copy);
            }
        }
    }

    /// Copies the leaf that a key belongs to, or with `before` the leaf that the greatest smaller
    /// key belongs to; an empty key stands for infinity there. If it is not in memory, it is read
    /// with `ahead`: so many leaves at once, which a scan in this direction will need.
    pub(crate) fn copy_leaf(
        &self,
        tree: u32,
        key: &[u8],
        before: bool,
        ahead: Option<(Direction, usize)>,
        copy: &mut PageBytes,
    ) -> Result<(), DbError> {
        let choose = |node: Node<'_>| match before {
            false => node.child_index(key),
            true => last_before(node, key),
        };
        let load = |leaf: AbsentLeaf<'_, '_>| {
            if let Some((direction, leaves)) = ahead {
                leaf.load(direction, leaves);
            }
        };
        loop {
            let seen = self.leaf_by(tree, choose, load)?;
            copy.become_copy_of(seen.node().page());
            if seen.is_unchanged() {
                seen.accessed(1);
                let page = seen.cached_frame().page();
                self.visits.note_passed(Node::of(copy), page, || self.oldest_seen());
                return Ok(());
            }
        }
    }
}

/// The child of a node that keys just below `key`, which is not the smallest of all, belong to. An
/// empty key stands for infinity.
fn last_before(node: Node<'_>, key: &[u8]) -> usize {
    // A key that is the node's upper fence lies behind all its children.
    let behind = match key.is_empty() || !node.covers(key) {
        true => node.count(),
        false => node.search(key).0,
    };
    behind.saturating_sub(1)
}
