//! The way down a tree, without latches.

use super::Trees;
use crate::DbError;
use crate::mvcc::Lookup;
use crate::node::{Expected, Node, PageBytes};
use crate::pool::{CachedFrame, OptimisticGuard};

impl Trees {
    /// The leaf that a key belongs to.
    #[inline]
    pub(super) fn leaf(&self, tree: u32, key: &[u8]) -> Result<OptimisticGuard<'_>, DbError> {
        let weight = self.pool.sample();
        loop {
            if let Some((_, leaf)) = self.descend(tree, key, 0, weight)? {
                return Ok(leaf);
            }
        }
    }

    /// The leaf in a cached frame, if it is still there and the key belongs to it; else as
    /// [`Trees::leaf`]. The leaf can be written to: an error if its fences do not include the key,
    /// as may be in a damaged tree.
    #[inline]
    pub(super) fn leaf_at(
        &self,
        cached: Option<CachedFrame>,
        tree: u32,
        key: &[u8],
    ) -> Result<OptimisticGuard<'_>, DbError> {
        if let Some(seen) = cached.and_then(|cached| self.pool.look_at(cached)) {
            let node = seen.node();
            let is_it = node.tree() == tree && node.level() == 0 && node.covers(key);
            if is_it && seen.is_unchanged() {
                return Ok(seen);
            }
        }
        let seen = self.leaf(tree, key)?;
        if !seen.node().covers(key) && seen.is_unchanged() {
            let (page, what) = (seen.cached_frame().page(), "has keys in no order above it");
            return Err(DbError::Page { page, what });
        }
        Ok(seen)
    }

    /// The node of a level that a key belongs to, and the one above unless it is the root. None
    /// if something changed on the way, or had to be read.
    #[inline]
    pub(super) fn descend(
        &self,
        tree: u32,
        key: &[u8],
        level: usize,
        weight: u32,
    ) -> Result<Option<(Option<OptimisticGuard<'_>>, OptimisticGuard<'_>)>, DbError> {
        self.descend_by(tree, level, weight, |node| node.child_index(key))
    }

    /// The way down to a level, by the children that `choose` names.
    #[inline]
    fn descend_by(
        &self,
        tree: u32,
        level: usize,
        weight: u32,
        choose: impl Fn(Node<'_>) -> usize,
    ) -> Result<Option<(Option<OptimisticGuard<'_>>, OptimisticGuard<'_>)>, DbError> {
        let Some(mut seen) = self.root(tree)? else { return Ok(None) };
        let (mut parent, mut passed) = (None, 1);
        loop {
            let node = seen.node();
            if node.level() <= level {
                let is_unchanged = seen.is_unchanged();
                if is_unchanged {
                    self.pool.count_descent(passed, weight);
                }
                return Ok(is_unchanged.then_some((parent, seen)));
            }
            let Some(child) = self.child(&seen, choose(node))? else { return Ok(None) };
            if weight > 0 {
                seen.accessed(weight);
            }
            parent = Some(seen);
            passed += 1;
            seen = child;
        }
    }

    /// The root of a tree. None if it changed, or had to be read.
    #[inline]
    pub(super) fn root(&self, tree: u32) -> Result<Option<OptimisticGuard<'_>>, DbError> {
        let Some(root) = self.pool.look(tree)? else { return Ok(None) };
        match root.agrees_as_root() {
            true => Ok(Some(root)),
            false => compare(tree, None, root),
        }
    }

    /// A child of a node. None if something changed, or had to be read.
    #[inline]
    pub(super) fn child<'t>(
        &'t self,
        parent: &OptimisticGuard<'t>,
        index: usize,
    ) -> Result<Option<OptimisticGuard<'t>>, DbError> {
        let page = parent.node().child(index);
        if !parent.is_unchanged() {
            return Ok(None);
        }
        let child = self.pool.look(page);
        if !parent.is_unchanged() {
            // The child may have been freed meanwhile, so an error of the look does not count.
            return Ok(None);
        }
        let Some(child) = child? else { return Ok(None) };
        match child.agrees_with(parent) {
            true => Ok(Some(child)),
            false => compare(parent.node().tree(), Some((parent, index)), child),
        }
    }

    /// Puts the value that `snapshot` sees of a key into `value`, or the reference to its pieces,
    /// and returns the frame of the key's leaf.
    #[inline]
    pub fn get(
        &self,
        tree: u32,
        key: &[u8],
        snapshot: u64,
        value: &mut Vec<u8>,
    ) -> Result<(Lookup, CachedFrame), DbError> {
        loop {
            let seen = self.leaf(tree, key)?;
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
            if position > snapshot {
                found = self.versions.find(tree, key, snapshot, value).unwrap_or(found);
                self.versions.check(snapshot)?;
            }
            return Ok((found, seen.cached_frame()));
        }
    }

    /// Copies the leaf that a key belongs to, or with `before` the leaf that the greatest smaller
    /// key belongs to.
    pub fn copy_leaf(
        &self,
        tree: u32,
        key: &[u8],
        before: bool,
        copy: &mut PageBytes,
    ) -> Result<(), DbError> {
        loop {
            let seen = match before {
                false => self.leaf(tree, key)?,
                true => self.leaf_before(tree, key)?,
            };
            copy.become_copy_of(seen.node().page());
            if seen.is_unchanged() {
                seen.accessed(1);
                return Ok(());
            }
        }
    }

    /// The leaf that keys just below `key`, which is not the smallest of all, belong to. An empty
    /// key stands for infinity.
    fn leaf_before(&self, tree: u32, key: &[u8]) -> Result<OptimisticGuard<'_>, DbError> {
        let weight = self.pool.sample();
        let last_before = |node: Node<'_>| {
            // A key that is the node's upper fence lies behind all its children.
            let behind = match key.is_empty() || !node.covers(key) {
                true => node.count(),
                false => node.search(key).0,
            };
            behind.saturating_sub(1)
        };
        loop {
            if let Some((_, leaf)) = self.descend_by(tree, 0, weight, last_before)? {
                return Ok(leaf);
            }
        }
    }
}

/// Compares a page that came into memory, or has a new parent, with the entry of that parent: the
/// store may have lost the newest version of either. A root has no parent, and is compared with the
/// fields that all roots have. None if one of the pages changed meanwhile.
#[cold]
fn compare<'t>(
    tree: u32,
    place: Option<(&OptimisticGuard<'t>, usize)>,
    child: OptimisticGuard<'t>,
) -> Result<Option<OptimisticGuard<'t>>, DbError> {
    let expected = match place {
        Some((parent, index)) => Expected::of_child(parent.node(), index),
        None => Expected::of_root(tree),
    };
    let parent = place.map(|(parent, _)| parent);
    let contradiction = expected.contradiction(child.node());
    if !child.is_unchanged() || !parent.is_none_or(OptimisticGuard::is_unchanged) {
        return Ok(None);
    }
    let Some(what) = contradiction else {
        child.note_agreement(parent);
        return Ok(Some(child));
    };
    let parent = parent.map(|parent| parent.cached_frame().page());
    Err(DbError::Misplaced { page: child.cached_frame().page(), tree, parent, what })
}
