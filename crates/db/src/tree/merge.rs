//! Merges of sparse nodes with a neighbour, and of a root with its only child.

use super::Trees;
use super::split::hold_both;
use crate::DbError;
use crate::node::{Fences, Node, NodeMut, PageBytes, append_image};
use crate::pool::ExclusiveGuard;
use crate::record::{PAGES, pages_head};

/// Room that a merged node must have left, in bytes, so that it is not split again soon.
const SPARE: usize = 512;

impl Trees {
    /// Merges the node of a level that `key` belongs to with a neighbour, if both fit into one.
    pub(super) fn merge(&self, tree: u32, key: &[u8], level: usize) -> Result<(), DbError> {
        // No commit needs a merge: when the log is short, its rest is left to commits.
        let wal = self.wal();
        if wal.used_bytes() > wal.capacity_bytes() / 4 * 3 {
            return Ok(());
        }
        loop {
            let Some((parent, node)) = self.descend(tree, key, level)? else { continue };
            let Some(parent) = parent else {
                return if level == 0 { Ok(()) } else { self.shrink(tree) };
            };
            // The neighbour on the right, or on the left for the last one.
            let above = parent.node();
            let index = above.child_index(key);
            let left_index =
                if index + 1 < above.count() { index } else { index.saturating_sub(1) };
            let other_index = if left_index == index { index + 1 } else { left_index };
            let is_alone = above.count() < 2;
            if !parent.is_unchanged() {
                continue;
            }
            if is_alone {
                return self.merge(tree, key, level + 1);
            }
            let Some(other) = self.child(&parent, other_index)? else { continue };
            let Some((parent, node)) = hold_both(parent, node) else { continue };
            let Some(mut other) = other.lock() else { continue };
            other.leave_unchanged();
            let is_left = left_index == index;
            let (left, right) = if is_left { (node, other) } else { (other, node) };
            let (done, is_sparse) = self.merge_held(parent, left, right, left_index)?;
            return if done && is_sparse { self.merge(tree, key, level + 1) } else { Ok(()) };
        }
    }

    /// Merges two neighbours if they fit; whether they did, and whether the parent is sparse now.
    fn merge_held(
        &self,
        mut parent: ExclusiveGuard<'_>,
        mut left: ExclusiveGuard<'_>,
        right: ExclusiveGuard<'_>,
        left_index: usize,
    ) -> Result<(bool, bool), DbError> {
        let Some(merged) = merged(left.node(), right.node()) else {
            return Ok((false, false));
        };
        NodeMut::of(&merged).include(self.window.included());
        let above = parent.bytes().clone();
        NodeMut::of(&above).remove(left_index + 1);
        let mut images = pages_head(&[right.page()], &[left.page(), parent.page()]);
        append_image(&merged, &mut images);
        append_image(&above, &mut images);
        let logged = self.log(PAGES, &[&images])?;
        left.replace(&merged, logged.position());
        parent.replace(&above, logged.position());
        self.free(right, logged.position());
        Ok((true, parent.node().is_sparse() || parent.node().count() == 1))
    }

    /// Frees a held page, by the log record at `position`.
    fn free(&self, held: ExclusiveGuard<'_>, position: u64) {
        let page = held.page();
        self.pool.drop_held(held);
        self.pages.free(position, page);
    }

    /// A root that has one child only takes its content.
    fn shrink(&self, tree: u32) -> Result<(), DbError> {
        loop {
            let Some(root) = self.root(tree)? else { continue };
            let (count, level) = (root.node().count(), root.node().level());
            if !root.is_unchanged() {
                continue;
            }
            if level == 0 || count > 1 {
                return Ok(());
            }
            let Some(child) = self.child(&root, 0)? else { continue };
            let Some((mut root, child)) = hold_both(root, child) else { continue };
            let content = child.node().page().clone();
            NodeMut::of(&content).include(self.window.included());
            let mut images = pages_head(&[child.page()], &[tree]);
            append_image(&content, &mut images);
            let logged = self.log(PAGES, &[&images])?;
            root.replace(&content, logged.position());
            self.free(child, logged.position());
        }
    }
}

/// Two neighbours in one page, if they fit.
fn merged(left: Node<'_>, right: Node<'_>) -> Option<Box<PageBytes>> {
    let (mut lower, mut upper) = (Vec::new(), Vec::new());
    right.lower(&mut lower);
    if !left.upper(&mut upper) || lower != upper {
        // They are no neighbours: the tree is damaged.
        return None;
    }
    left.lower(&mut lower);
    let has_upper = right.upper(&mut upper);
    let fences = Fences { lower: &lower, upper: has_upper.then_some(&upper[..]) };
    let page = Box::new(left.page().clone());
    let mut node = NodeMut::format(&page, left.tree(), left.level(), fences);
    let fits =
        node.push_all(left, 0, left.count(), true) && node.push_all(right, 0, right.count(), true);
    node.raise_position(left.position().max(right.position()));
    (fits && node.node().room() >= SPARE).then_some(page)
}
