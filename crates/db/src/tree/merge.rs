//! Merges of sparse nodes with a neighbour, and of a root with its only child.

use super::Trees;
use super::descent::Descent;
use super::split::{hold_both, remove_child};
use crate::DbError;
use crate::node::{Fences, Node, NodeMut, PAGE_BYTES, PageBytes, SLOTS, append_image};
use crate::pool::{ExclusiveGuard, OptimisticGuard};
use crate::record::{PAGES, PageChanges};

/// Room that a merged node must have left, in bytes, so that it is not split again soon.
const SPARE: usize = 512;

/// The answer to whether two neighbours can be merged.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// They do not fit into one page.
    Not,
    /// They fit, but the content of one would have to be logged for an empty one. Perhaps it will
    /// soon be empty as well, as in a queue, or the empty one filled again, as at the end of a
    /// stack.
    Later,
    /// They fit, and leave so much room.
    Now(usize),
}

impl Trees {
    /// True if the rest of the log is left to commits: none needs a merge.
    pub(crate) fn log_is_short(&self) -> bool {
        let wal = self.wal();
        wal.used_bytes() > wal.capacity_bytes() / 4 * 3
    }

    /// Merges the node of a level that `key` belongs to with its neighbours, as long as it is
    /// sparse and they fit. The last visit puts nothing off. True if it merged any.
    pub(super) fn merge(
        &self,
        tree: u32,
        key: &[u8],
        level: usize,
        is_last: bool,
    ) -> Result<bool, DbError> {
        let mut is_merged = false;
        'again: loop {
            let (parent, node) = match self.descend(tree, key, level)? {
                Descent::To(parent, node) => (parent, node),
                Descent::Again => continue,
                Descent::Overfull(parent, leaf) => {
                    self.give_rows(parent, leaf)?;
                    continue;
                }
            };
            let Some(parent) = parent else {
                return if level == 0 { Ok(is_merged) } else { self.shrink(tree) };
            };
            let (index, count) = (parent.node().child_index(key), parent.node().count());
            let (page, is_sparse) = (node.cached_frame().page(), node.node().is_sparse());
            if !parent.is_unchanged() || !node.is_unchanged() {
                continue;
            }
            if !is_sparse {
                return Ok(is_merged);
            }
            if level == 0 && self.log_is_short() {
                self.visits.note(page);
                return Ok(is_merged);
            }
            if count < 2 {
                // Its neighbours are below another parent.
                match self.merge(tree, key, level + 1, is_last)? {
                    true => continue,
                    false => return Ok(is_merged),
                }
            }
            let mut best: Option<(Fit, _, _)> = None;
            for other in index.saturating_sub(1)..(index + 2).min(count) {
                if other == index || level == 0 && self.has_no_room(&parent, other, node.node()) {
                    continue;
                }
                let Some(seen) = self.child(&parent, other)? else { continue 'again };
                let (left, right) = if other < index { (seen, node) } else { (node, seen) };
                let fit = fit(left.node(), right.node(), is_last);
                if !left.is_unchanged() || !right.is_unchanged() {
                    continue 'again;
                }
                if best.is_none_or(|(before, ..)| before < fit) {
                    best = Some((fit, left, right));
                }
            }
            match best {
                Some((Fit::Now(_), left, right)) => {
                    let Some((parent, left)) = hold_both(parent, left) else { continue };
                    let Some(mut right) = right.lock() else { continue };
                    right.leave_unchanged();
                    let Some(has_sunk) = self.merge_held(parent, left, right)? else {
                        return Ok(is_merged);
                    };
                    is_merged = true;
                    if has_sunk {
                        self.merge(tree, key, level + 1, is_last)?;
                    }
                }
                Some((Fit::Later, ..)) => {
                    self.visits.put_off(page, self.pages.used());
                    return Ok(is_merged);
                }
                _ => return Ok(is_merged),
            }
        }
    }

    /// True if a neighbour of a leaf is known to have no room for its records, and is not in memory.
    fn has_no_room(&self, parent: &OptimisticGuard<'_>, index: usize, leaf: Node<'_>) -> bool {
        let Some(absent) = self.pool.absent_child(parent, index) else { return false };
        let Some(room) = absent.bytes_free() else { return false };
        // The merged leaf needs no fence between them. Both leaves count it as taken.
        leaf.room() + room + leaf.fence_bytes() * 2 < PAGE_BYTES - SLOTS
    }

    /// Merges two neighbours, and tells whether the parent has sunk. None if they can't be, as in a
    /// damaged tree.
    fn merge_held(
        &self,
        mut parent: ExclusiveGuard<'_>,
        mut left: ExclusiveGuard<'_>,
        right: ExclusiveGuard<'_>,
    ) -> Result<Option<bool>, DbError> {
        let mut separator = Vec::new();
        right.node().lower(&mut separator);
        let above = parent.node();
        let is_child = above.covers(&separator) && above.search(&separator).1;
        let Some(merged) = merged(left.node(), right.node()).filter(|_| is_child) else {
            return Ok(None);
        };
        NodeMut::of(&merged).include(self.window.included());
        let changes = PageChanges {
            freed: vec![right.page()],
            changed: vec![left.page()],
            loses: Some((parent.page(), &separator)),
            images: &[],
        };
        let mut image = Vec::new();
        append_image(&merged, &mut image);
        let logged = self.log(PAGES, &[&changes.head(), &image])?;
        left.replace(&merged, logged.position());
        if left.node().ghosts() > 0 {
            // They were the other's: the visit that removed this one's ghosts has passed.
            self.visits.note(left.page());
        }
        let room = parent.node().room();
        remove_child(&mut parent, &separator);
        parent.changed();
        parent.changed_by(logged.position());
        self.free(right, logged.position());
        Ok(Some(parent.node().has_sunk(room)))
    }

    /// Frees a held page, by the log record at `position`.
    fn free(&self, held: ExclusiveGuard<'_>, position: u64) {
        let page = held.page();
        // On its way from the pool to the freed pages.
        self.pages.pin(position);
        self.pool.drop_held(held, |from| self.pages.keep_log(page, from));
        self.pages.free(position, page);
        self.pages.unpin(position);
    }

    /// A root that has one child only takes its content. True if it did.
    fn shrink(&self, tree: u32) -> Result<bool, DbError> {
        let mut is_merged = false;
        loop {
            let Some(root) = self.root(tree)? else { continue };
            let (count, level) = (root.node().count(), root.node().level());
            if !root.is_unchanged() {
                continue;
            }
            if level == 0 || count > 1 {
                return Ok(is_merged);
            }
            let Some(child) = self.child(&root, 0)? else { continue };
            let Some((mut root, child)) = hold_both(root, child) else { continue };
            let content = child.node().page().clone();
            NodeMut::of(&content).include(self.window.included());
            let (freed, changed) = (vec![child.page()], vec![tree]);
            let changes = PageChanges { freed, changed, ..PageChanges::default() };
            let mut image = Vec::new();
            append_image(&content, &mut image);
            let logged = self.log(PAGES, &[&changes.head(), &image])?;
            root.replace(&content, logged.position());
            self.free(child, logged.position());
            is_merged = true;
        }
    }
}

/// Tells whether two neighbours can be merged. They may change meanwhile.
fn fit(left: Node<'_>, right: Node<'_>, is_last: bool) -> Fit {
    let (mut lower, mut upper) = (Vec::new(), Vec::new());
    left.lower(&mut lower);
    right.upper(&mut upper);
    // An infinite fence is empty, and has no prefix in common either.
    let prefix = lower.iter().zip(&upper).take_while(|(a, b)| a == b).count();
    let records = left.bytes_with_prefix(prefix) + right.bytes_with_prefix(prefix);
    let taken = SLOTS + records + lower.len() + upper.len();
    let Some(room) = PAGE_BYTES.checked_sub(taken) else { return Fit::Not };
    let is_inner = left.level() > 0;
    match [left, right].into_iter().filter(|node| node.count() == 0).count() {
        0 if room >= SPARE || is_inner && is_last => Fit::Now(room),
        0 => Fit::Not,
        1 if !is_last => Fit::Later,
        _ => Fit::Now(room),
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
    fits.then_some(page)
}
