//! Room in a node, for a change or for those that waited: its ghosts are removed, or it is split in
//! two.

use std::ops::Range;

use super::descent::Descent;
use super::{Fresh, Trees};
use crate::DbError;
use crate::layout::OVERFLOW_TREE;
use crate::mvcc::Change;
use crate::node::{
    Fences, LONGEST_KEY, Node, NodeMut, PageBytes, Record, SLOT, Slot, append_image,
};
use crate::pool::{ExclusiveGuard, OptimisticGuard};
use crate::record::{PAGES, PageChanges, SPLIT, Split};

/// Consecutive insertions in ascending order after which more are expected; fewer if the node has
/// fewer records on their left.
const ASCENDING: usize = 8;

/// A node may be cut this part of its bytes beside its middle.
const NEAR: usize = 16;

/// Room that a node above must have for one more child, in bytes.
pub(super) const CHILD_ROOM: usize = LONGEST_KEY + 16;

impl Trees {
    /// Makes room for a record in the leaf that its key belongs to, and for `spare` bytes beside
    /// it.
    pub(super) fn make_room(
        &self,
        tree: u32,
        key: &[u8],
        change: Change<'_>,
        spare: usize,
    ) -> Result<(), DbError> {
        self.split(tree, key, 0, key.len() + change.value.len() + 16 + spare)
    }

    /// Bytes that a leaf is to have free beside a record that is put before slot `index`: none
    /// unless it is a new one behind all others, they came in ascending order, and another like it
    /// has room in the spare. Between the pieces of long values none ever comes.
    pub(super) fn spare_beside(
        &self,
        held: &mut ExclusiveGuard<'_>,
        index: usize,
        (key, slot, change): (&[u8], Option<Slot>, Change<'_>),
    ) -> usize {
        let node = held.node();
        let is_last = slot.is_none() && index == node.count() && node.tree() != OVERFLOW_TREE;
        let is_short = SLOT + key.len() + change.value.len() <= self.spare;
        let leaves = is_last && is_short && are_ascending(held.edit().ascending(index), index);
        if leaves { self.spare } else { 0 }
    }

    /// Splits the node of a level that `key` belongs to, unless it has room for `room` bytes. If
    /// the node above has to be split first, only that is done: the caller that needs the room
    /// tries again.
    pub(super) fn split(
        &self,
        tree: u32,
        key: &[u8],
        level: usize,
        room: usize,
    ) -> Result<(), DbError> {
        loop {
            let (parent, node) = match self.descend(tree, key, level)? {
                Descent::To(parent, node) => (parent, node),
                Descent::Again => continue,
                // The caller finds the leaf again, and it is split for what waited for it.
                Descent::Overfull(..) => return Ok(()),
            };
            // After all pages on the way are in memory: a thread that waits for a frame holds none,
            // or threads that split could hold all frames and wait for each other.
            let fresh = self.fresh()?;
            let Some(parent) = parent else {
                match self.grow(node, fresh)? {
                    true => return Ok(()),
                    false => continue,
                }
            };
            let Some((parent, node)) = hold_both(parent, node) else { continue };
            if node.node().room() >= room {
                return Ok(());
            }
            if self.drop_ghosts(&node, room) {
                self.tidy(node);
                return Ok(());
            }
            if parent.node().room() < CHILD_ROOM {
                drop((parent, node, fresh));
                return self.split(tree, key, level + 1, CHILD_ROOM);
            }
            return self.split_held(parent, node, fresh, key);
        }
    }

    /// Gives a leaf the changes that it had no room for, or splits it. The caller tries again.
    #[cold]
    pub(super) fn give_rows<'t>(
        &'t self,
        parent: OptimisticGuard<'t>,
        leaf: OptimisticGuard<'t>,
    ) -> Result<(), DbError> {
        let page = leaf.cached_frame().page();
        let Some(mut held) = leaf.lock() else { return Ok(()) };
        if self.pool.give_rows(&mut held)? {
            return Ok(());
        }
        let (mut lower, tree) = (Vec::new(), held.node().tree());
        held.node().lower(&mut lower);
        drop(held);
        let fresh = self.fresh()?;
        // The leaf may have left memory for the frame. It must not be read by a thread that has one.
        let Some(leaf) = self.pool.look_in_memory(page) else { return Ok(()) };
        let Some((parent, leaf)) = hold_both(parent, leaf) else { return Ok(()) };
        if !self.pool.lacks_rows(page) {
            return Ok(());
        }
        if parent.node().room() < CHILD_ROOM {
            drop((parent, leaf, fresh));
            return self.split(tree, &lower, 1, CHILD_ROOM);
        }
        self.split_held(parent, leaf, fresh, &lower)
    }

    /// True if no snapshot sees the ghosts of a leaf, and it has room enough without them.
    fn drop_ghosts(&self, held: &ExclusiveGuard<'_>, room: usize) -> bool {
        let node = held.node();
        if node.ghosts() == 0 || node.position() > self.oldest_seen() {
            return false;
        }
        let ghosts = (0..node.count()).map(|index| node.slot(index)).filter(|s| s.is_ghost());
        node.room() + ghosts.map(|slot| slot.bytes() + SLOT).sum::<usize>() >= room
    }

    fn tidy(&self, mut held: ExclusiveGuard<'_>) {
        let room = held.node().room();
        for index in (0..held.node().count()).rev() {
            if held.node().slot(index).is_ghost() {
                held.edit().remove(index);
            }
        }
        held.changed();
        held.changed_unlogged();
        self.visits.note_sunk(&held, room);
    }

    /// Puts a new level between a root and its content; false if the root changed meanwhile.
    fn grow(&self, root: OptimisticGuard<'_>, fresh: Fresh<'_>) -> Result<bool, DbError> {
        let Some(mut root) = root.lock() else { return Ok(false) };
        root.leave_unchanged();
        let (tree, child_page) = (root.page(), fresh.page);
        let above = root.bytes().clone();
        let level = root.node().level() + 1;
        let mut node = NodeMut::format(&above, tree, level, Fences { lower: &[], upper: None });
        node.push(&[], Record { value: &child_page.to_le_bytes(), flags: 0 });
        let mut child = fresh.create()?;
        child.bytes().copy_from(root.node().page());
        child.edit().begin_records();
        child.edit().include(self.window.included());
        let changes = PageChanges { changed: vec![child_page, tree], ..PageChanges::default() };
        let mut images = Vec::new();
        append_image(child.bytes(), &mut images);
        append_image(&above, &mut images);
        let logged = match self.log(PAGES, &[&changes.head(), &images]) {
            Ok(logged) => logged,
            Err(error) => return Err(self.undo_create(child, error)),
        };
        root.bytes().copy_from(&above);
        root.changed();
        for held in [&mut child, &mut root] {
            held.changed_by(logged.position());
        }
        Ok(true)
    }

    /// A page that was made is not needed, because of an error.
    fn undo_create(&self, held: ExclusiveGuard<'_>, error: DbError) -> DbError {
        let page = held.page();
        self.pool.drop_held(held, |_| ());
        self.pages.give_back(page);
        error
    }

    pub(super) fn split_held<'t>(
        &'t self,
        mut parent: ExclusiveGuard<'t>,
        mut node: ExclusiveGuard<'t>,
        fresh: Fresh<'t>,
        key: &[u8],
    ) -> Result<(), DbError> {
        let halves = Halves::of(&mut node, key).filter(|halves| {
            // In a damaged tree this may not be so.
            [parent.node(), node.node()].iter().all(|node| node.covers(&halves.separator))
        });
        let Some(halves) = halves else {
            return Err(DbError::Page { page: node.page(), what: "can't be split" });
        };
        for half in [&halves.left, &halves.right] {
            NodeMut::of(half).include(self.pool.included_in(node.page()));
        }
        let mut right = fresh.create()?;
        right.bytes().copy_from(&halves.right);
        right.edit().begin_records();
        let mut images = Vec::new();
        append_image(right.bytes(), &mut images);
        match can_be_cut(node.node(), &halves.separator) {
            true => NodeMut::of(&halves.left).be_part_of(node.node()),
            false => append_image(&halves.left, &mut images),
        }
        let split = Split {
            left: node.page(),
            right: right.page(),
            parent: parent.page(),
            separator: &halves.separator,
            images: &images,
        };
        let logged = match self.log(SPLIT, &[&split.head(), &images]) {
            Ok(logged) => logged,
            Err(error) => return Err(self.undo_create(right, error)),
        };
        right.changed_by(logged.position());
        node.replace(&halves.left, logged.position());
        self.pool.split_rows(&mut node, &halves.separator, &mut right)?;
        add_child(&mut parent, &halves.separator, right.page());
        parent.changed();
        parent.changed_by(logged.position());
        Ok(())
    }
}

/// Holds a node and the one above it, if neither changed.
pub(super) fn hold_both<'p>(
    parent: OptimisticGuard<'p>,
    node: OptimisticGuard<'p>,
) -> Option<(ExclusiveGuard<'p>, ExclusiveGuard<'p>)> {
    let mut parent = parent.lock()?;
    parent.leave_unchanged();
    let mut node = node.lock()?;
    node.leave_unchanged();
    Some((parent, node))
}

/// Adds a child whose smallest key is `separator`, unless it is there. The node has room.
pub(super) fn add_child(parent: &mut ExclusiveGuard<'_>, separator: &[u8], child: u32) {
    if let (index, false) = parent.node().search(separator) {
        let record = Record { value: &child.to_le_bytes(), flags: 0 };
        let fits = parent.edit().insert(index, separator, record);
        debug_assert!(fits, "the parent was asked before");
    }
}

/// Takes a child from a node, by its smallest key; false if the node has no such child, or no other
/// before it.
pub(super) fn remove_child(held: &mut ExclusiveGuard<'_>, separator: &[u8]) -> bool {
    let node = held.node();
    if node.level() == 0 || !node.covers(separator) {
        return false;
    }
    let (index, found) = node.search(separator);
    if found && index > 0 {
        held.edit().remove(index);
    }
    found && index > 0
}

/// The two halves of a node.
struct Halves {
    left: PageBytes,
    right: PageBytes,
    /// The smallest key that may be on the right.
    separator: Vec<u8>,
}

impl Halves {
    /// Cuts a node in the middle, unless the records on the left of the new one came in ascending
    /// order. Then more are expected there, so the records on its right move to the new node; if
    /// there are none, the new record begins the new node. So ascending loads leave full nodes
    /// behind, anywhere in the tree, and also if many of them run side by side.
    fn of(held: &mut ExclusiveGuard<'_>, key: &[u8]) -> Option<Halves> {
        let (index, _) = held.node().search(key);
        let steps = held.edit().ascending(index);
        let node = held.node();
        let in_order = match are_ascending(steps, index) {
            true if node.level() > 0 => Self::of_children(node, index),
            true if index < node.count() => {
                Self::at(node, index, between(key, &key_of(node, index)))
            }
            true => Self::at(node, index, between(&key_of(node, index - 1), key)),
            false => None,
        };
        let (at, halves) = in_order.map(|halves| (index, halves)).or_else(|| {
            let (at, separator) = near_middle(node);
            Some((at, Self::at(node, at, separator)?))
        })?;
        match index.checked_sub(at + 1) {
            Some(last) => NodeMut::of(&halves.right).set_ascending(last, steps.min(last)),
            None => NodeMut::of(&halves.left).set_ascending(index.saturating_sub(1), steps),
        }
        Some(halves)
    }

    /// Moves the last child alone; more will follow it.
    fn of_children(node: Node<'_>, index: usize) -> Option<Halves> {
        let last = index.checked_sub(1).filter(|&last| last > 0 && index == node.count())?;
        Self::at(node, last, key_of(node, last))
    }

    /// Cuts a node before a slot; none if a half does not fit, as fences need room as well.
    fn at(node: Node<'_>, at: usize, separator: Vec<u8>) -> Option<Halves> {
        let (mut lower, mut upper) = (Vec::new(), Vec::new());
        node.lower(&mut lower);
        let has_upper = node.upper(&mut upper);
        let upper = has_upper.then_some(&upper[..]);
        let left = part(node, 0..at, Fences { lower: &lower, upper: Some(&separator) })?;
        let right = part(node, at..node.count(), Fences { lower: &separator, upper })?;
        Some(Halves { left, right, separator })
    }
}

/// A node with some of the records of another; none if they do not fit, as fences need room as
/// well.
fn part(node: Node<'_>, slots: Range<usize>, fences: Fences<'_>) -> Option<PageBytes> {
    let page = node.page().clone();
    let mut part = NodeMut::format(&page, node.tree(), node.level(), fences);
    part.push_all(node, slots.start, slots.end, true).then_some(page)
}

/// An older state of a node without its records from `separator` on. Recovery redoes a split so.
/// None if the records do not fit, or the node does not cover the separator.
pub(super) fn cut(node: Node<'_>, separator: &[u8]) -> Option<PageBytes> {
    if !node.covers(separator) {
        return None;
    }
    let (at, _) = node.search(separator);
    let mut lower = Vec::new();
    node.lower(&mut lower);
    let page = part(node, 0..at, Fences { lower: &lower, upper: Some(separator) })?;
    NodeMut::of(&page).include(node.included());
    NodeMut::of(&page).be_part_of(node);
    Some(page)
}

/// True if any older state of a node that recovery may find can be [`cut`] at `separator`: so no
/// image of the half is logged. A node that has not shrunk had no other records below the separator
/// than the half has. One that has may have had any. A fence may be longer than the one before.
/// Three records fit beside any fences; if there are more, the keys of four have to become as much
/// shorter.
fn can_be_cut(node: Node<'_>, separator: &[u8]) -> bool {
    !node.has_shrunk() || has_room_for_fence(node, separator)
}

/// True if a node can be cut at `separator` whatever records it has.
fn has_room_for_fence(node: Node<'_>, separator: &[u8]) -> bool {
    let (mut lower, mut upper) = (Vec::new(), Vec::new());
    node.lower(&mut lower);
    node.upper(&mut upper);
    let prefix = lower.iter().zip(separator).take_while(|(a, b)| a == b).count();
    let shorter = prefix.saturating_sub(node.prefix_len());
    separator.len() <= upper.len() + 4 * shorter
}

/// True if more insertions in ascending order are expected after so many that end before slot
/// `index`.
fn are_ascending(steps: usize, index: usize) -> bool {
    steps > 0 && steps >= ASCENDING.min(index.saturating_sub(1))
}

fn key_of(node: Node<'_>, index: usize) -> Vec<u8> {
    let mut key = Vec::new();
    node.key(index, &mut key);
    key
}

/// The slot before which about half of the node's bytes lie, and the separator there: the shortest
/// of those near the middle. A short one needs no image of the left half of a node that has shrunk,
/// and leaves room above.
/// A node that is split has two slots at least: it has no room for a record, and would have for the
/// second.
fn near_middle(node: Node<'_>) -> (usize, Vec<u8>) {
    let bytes = |index: usize| node.slot(index).bytes() + SLOT;
    let all = (0..node.count()).map(bytes).sum::<usize>();
    let ends = (0..node.count()).scan(0, |end, index| {
        *end += bytes(index);
        Some(*end)
    });
    let from_middle = (1..node.count()).zip(ends.map(|end: usize| end.abs_diff(all / 2)));
    let nearest = from_middle.clone().map(|(_, distance)| distance).min().unwrap_or(0);
    let near = from_middle.filter(|&(_, distance)| distance <= nearest.max(all / NEAR));
    let cuts = near.map(|(at, distance)| (distance, at, separator_before(node, at)));
    let shortest = cuts.min_by_key(|(distance, _, separator)| (separator.len(), *distance));
    shortest.map(|(_, at, separator)| (at, separator)).unwrap_or_default()
}

/// The separator of a node that is cut before a slot.
fn separator_before(node: Node<'_>, at: usize) -> Vec<u8> {
    match node.level() {
        0 => between(&key_of(node, at - 1), &key_of(node, at)),
        _ => key_of(node, at),
    }
}

/// The shortest key that is greater than `a`, and not greater than `b`.
pub(super) fn between(a: &[u8], b: &[u8]) -> Vec<u8> {
    let common = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    b[..(common + 1).min(b.len())].to_vec()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::node::LONGEST_RECORD;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        /// Keys, short and long ones, of which all, most or none begin alike.
        #[test]
        fn a_node_that_is_full_of_any_records_is_cut(
            mut keys in prop::collection::btree_set(
                (0..3usize, prop::collection::vec(0..3u8, 0..12), 0..2usize), 6..400
            ),
            common in 0..250usize, size in 0..LONGEST_RECORD, has_upper in any::<bool>(),
            at in any::<prop::sample::Index>()
        ) {
            let key = |(begin, middle, end): &(usize, Vec<u8>, usize)| {
                [&vec![1; common][..], &[*begin as u8], middle, &vec![9; end * 200]].concat()
            };
            let keys: std::collections::BTreeSet<_> = std::mem::take(&mut keys).iter().map(key).collect();
            let keys: Vec<_> = keys.into_iter().collect();
            let (last, inside) = keys.split_last().unwrap();
            let lower = inside[0].clone();
            let fences = Fences { lower: &lower, upper: has_upper.then_some(&last[..]) };
            let at = 1 + at.index(inside.len() - 1);
            let separator = between(&inside[at - 1], &inside[at]);
            // Below the separator as much as there is room for.
            let page = PageBytes::new();
            let mut node = NodeMut::format(&page, 7, 0, fences);
            for key in &inside[..at] {
                let value = vec![5; size.min(LONGEST_RECORD - key.len())];
                if !node.push(key, Record { value: &value, flags: 0 }) {
                    let room = node.node().room().saturating_sub(SLOT + key.len());
                    node.push(key, Record { value: &value[..room.min(value.len())], flags: 0 });
                    break;
                }
            }
            node.include(3);
            node.raise_position(5);
            if has_room_for_fence(Node::of(&page), &separator) {
                let left = cut(Node::of(&page), &separator);
                prop_assert!(left.is_some());
                let left = left.unwrap();
                let (left, of) = (Node::of(&left), Node::of(&page));
                prop_assert!(left.is_sound());
                prop_assert_eq!((left.included(), left.count()), (3, of.count()));
                prop_assert!((0..of.count()).all(|n| key_of(left, n) == key_of(of, n)));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        /// Numbers of records and their lengths. Those of the older state are the first.
        #[test]
        fn an_older_state_of_a_node_that_has_not_shrunk_is_cut(
            records in prop::collection::vec((0..400u32, 0..200usize), 20..400),
            older in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(),
            long in 0..LONGEST_KEY,
        ) {
            let key = |n: u32| [&vec![1; if n < 200 { 1 } else { long }], &n.to_be_bytes()[..]].concat();
            let page = PageBytes::new();
            let mut node = NodeMut::format(&page, 7, 0, Fences { lower: &[], upper: None });
            let (mut states, mut has_shrunk) = (vec![page.clone()], false);
            for (n, len) in records {
                let (key, value) = (key(n), vec![n as u8; len]);
                let (index, found) = node.node().search(&key);
                let before = if found { node.node().slot(index).value_len() } else { 0 };
                let record = Record { value: &value, flags: 0 };
                // A shorter one would make it shrink.
                let is_put = before <= len && match found {
                    true => node.set_value(index, &key, record),
                    false => node.insert(index, &key, record),
                };
                has_shrunk |= node.node().has_shrunk();
                states.extend(is_put.then(|| page.clone()));
            }
            prop_assert!(!has_shrunk);
            let count = node.node().count();
            prop_assume!(count > 1);
            let at = 1 + at.index(count - 1);
            let separator = separator_before(node.node(), at);
            if let Some(halves) = Halves::at(node.node(), at, separator) {
                prop_assert!(can_be_cut(node.node(), &halves.separator));
                let older = older.get(&states);
                let left = cut(Node::of(older), &halves.separator);
                prop_assert!(left.is_some());
                prop_assert!(!Node::of(&left.unwrap()).has_shrunk());
            }
        }
    }

    #[test]
    fn a_half_that_is_cut_has_shrunk_if_its_node_had() {
        let page = PageBytes::new();
        let mut node = NodeMut::format(&page, 7, 0, Fences { lower: &[], upper: None });
        for key in [b"a", b"b", b"c"] {
            node.push(key, Record { value: &[5; 40], flags: 0 });
        }
        node.set_all_hints();
        node.bury(0);
        let left = cut(node.node(), b"c").unwrap();
        assert!(node.node().has_shrunk() && Node::of(&left).has_shrunk());
        assert_eq!(Node::of(&left).level(), 0);
    }

    /// A leaf full of records whose keys are random, cut out of a row of a million such keys.
    fn leaf_of_random_keys(rng: &mut SmallRng) -> Box<PageBytes> {
        let mut keys: Vec<u64> = (0..69).map(|_| rng.random_range(0..u64::MAX / 15_000)).collect();
        let begin = rng.random_range(0..u64::MAX / 2);
        keys.sort_unstable();
        let keys: Vec<_> = keys.iter().map(|key| (begin + key).to_be_bytes()).collect();
        let lower = between(&keys[0], &keys[1]);
        let upper = between(&keys[67], &keys[68]);
        let page = PageBytes::zeroed();
        let fences = Fences { lower: &lower, upper: Some(&upper) };
        let mut node = NodeMut::format(&page, 7, 0, fences);
        for key in &keys[1..68] {
            assert!(node.push(key, Record { value: &[5; 40], flags: 0 }));
        }
        page
    }

    #[test]
    fn few_leaves_of_random_keys_need_an_image_of_their_left_half() {
        let mut rng = SmallRng::seed_from_u64(1);
        let (mut images, mut farthest) = (0, 0);
        for _ in 0..1000 {
            let page = leaf_of_random_keys(&mut rng);
            let (at, separator) = near_middle(Node::of(&page));
            images += u32::from(!has_room_for_fence(Node::of(&page), &separator));
            farthest = farthest.max(at.abs_diff(34));
        }
        assert!(images < 40, "{images} of 1,000");
        assert!(farthest <= 5, "{farthest} slots from the middle");
    }

    #[test]
    fn separators_are_short_and_lie_between() {
        for (a, b, expected) in [
            (&b"abc"[..], &b"abd"[..], &b"abd"[..]),
            (b"ab", b"abcdef", b"abc"),
            (b"", b"x", b"x"),
            (b"apple", b"banana", b"b"),
        ] {
            let found = between(a, b);
            assert_eq!(found, expected);
            assert!(a < &found[..] && &found[..] <= b);
        }
    }
}
