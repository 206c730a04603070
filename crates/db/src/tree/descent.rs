//! The way down a tree to a node, without latches.

use super::Trees;
use crate::DbError;
use crate::node::{Expected, Node};
use crate::pool::OptimisticGuard;

/// A way from the root of a tree down to a node.
pub(super) struct DescentPath<'t> {
    /// The node above, unless the node is the root.
    pub parent: Option<OptimisticGuard<'t>>,
    pub node: OptimisticGuard<'t>,
    /// Pages passed.
    pub pages: u32,
}

/// The end of a step from a node to a child.
pub(super) enum Step<'t> {
    /// The child.
    To(OptimisticGuard<'t>),
    /// Something changed, or had to be read: the way begins again.
    Again,
    /// A leaf that had no room for all changes that waited for it. Nothing passes to it before it
    /// has them.
    Overfull(OptimisticGuard<'t>),
}

/// The end of a way down to a node of a level.
pub(super) enum Descent<'t> {
    /// The node, and the one above it unless it is the root.
    To(Option<OptimisticGuard<'t>>, OptimisticGuard<'t>),
    /// Something changed, or had to be read: the way begins again.
    Again,
    /// The node above, and the leaf: see [`Step::Overfull`].
    Overfull(OptimisticGuard<'t>, OptimisticGuard<'t>),
}

impl Trees {
    /// The node of a level that a key belongs to.
    pub(super) fn descend(
        &self,
        tree: u32,
        key: &[u8],
        level: usize,
    ) -> Result<Descent<'_>, DbError> {
        let choose = |node: Node<'_>| node.child_index(key);
        let Some(way) = self.descend_by(tree, level + 1, 0, choose)? else {
            return Ok(Descent::Again);
        };
        let (above, node) = (way.node, way.node.node());
        if node.level() <= level {
            return Ok(Descent::To(way.parent, above));
        }
        Ok(match self.step(&above, choose(node))? {
            Step::To(node) if node.is_unchanged() => Descent::To(Some(above), node),
            Step::To(_) | Step::Again => Descent::Again,
            Step::Overfull(leaf) => Descent::Overfull(above, leaf),
        })
    }

    /// The way down to a level above leaves, by the children that `choose` names; to the root, if
    /// that is below the level. None if something changed on the way, or had to be read.
    #[inline]
    pub(super) fn descend_by(
        &self,
        tree: u32,
        level: usize,
        weight: u32,
        choose: impl Fn(Node<'_>) -> usize,
    ) -> Result<Option<DescentPath<'_>>, DbError> {
        let Some(mut seen) = self.root(tree)? else { return Ok(None) };
        let (mut parent, mut pages) = (None, 1);
        loop {
            let node = seen.node();
            if node.level() <= level {
                return Ok(seen.is_unchanged().then_some(DescentPath {
                    parent,
                    node: seen,
                    pages,
                }));
            }
            let Step::To(child) = self.step(&seen, choose(node))? else { return Ok(None) };
            if weight > 0 {
                seen.accessed(weight);
            }
            parent = Some(seen);
            pages += 1;
            seen = child;
        }
    }

    /// The root of a tree. None if it changed, or had to be read.
    #[inline]
    pub(super) fn root(&self, tree: u32) -> Result<Option<OptimisticGuard<'_>>, DbError> {
        let Some(root) = self.pool.look(tree)? else { return Ok(None) };
        match root.agrees_as_root() {
            true => Ok(Some(root)),
            false => match self.compare(tree, None, root)? {
                Step::To(root) => Ok(Some(root)),
                _ => Ok(None),
            },
        }
    }

    /// From a node to a child.
    #[inline(always)]
    pub(super) fn step<'t>(
        &'t self,
        parent: &OptimisticGuard<'t>,
        index: usize,
    ) -> Result<Step<'t>, DbError> {
        let page = parent.node().child(index);
        if !parent.is_unchanged() {
            return Ok(Step::Again);
        }
        let child = self.pool.look(page);
        if !parent.is_unchanged() {
            // The child may have been freed meanwhile, so an error of the look does not count.
            return Ok(Step::Again);
        }
        let Some(child) = child? else { return Ok(Step::Again) };
        match child.agrees_with(parent) {
            true => Ok(Step::To(child)),
            false => self.compare(parent.node().tree(), Some((parent, index)), child),
        }
    }

    /// Compares a page that came into memory, or has a new parent, with the entry of that parent:
    /// the store may have lost the newest version of either. A root has no parent, and is compared
    /// with the fields that all roots have.
    #[cold]
    fn compare<'t>(
        &'t self,
        tree: u32,
        place: Option<(&OptimisticGuard<'t>, usize)>,
        child: OptimisticGuard<'t>,
    ) -> Result<Step<'t>, DbError> {
        let expected = match place {
            Some((parent, index)) => Expected::of_child(parent.node(), index),
            None => Expected::of_root(tree),
        };
        let parent = place.map(|(parent, _)| parent);
        let contradiction = expected.contradiction(child.node());
        if !child.is_unchanged() || !parent.is_none_or(OptimisticGuard::is_unchanged) {
            return Ok(Step::Again);
        }
        let page = child.cached_frame().page();
        if let Some(what) = contradiction {
            let parent = parent.map(|parent| parent.cached_frame().page());
            return Err(DbError::Misplaced { page, tree, parent, what });
        }
        if parent.is_some() && self.pool.lacks_rows(page) {
            return Ok(Step::Overfull(child));
        }
        child.note_agreement(parent);
        Ok(Step::To(child))
    }
}
