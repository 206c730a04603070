//! Scans of records in order.

use std::cell::Cell;
use std::cmp::Ordering;

use crate::DbError;
use crate::direction::Direction;
use crate::mvcc::{Lookup, WriteKind};
use crate::node::{Node, PAGE_BYTES, PageBytes};
use crate::overflow::{PieceLeaves, parse_overflow};
use crate::pool::TOGETHER;
use crate::view::View;

/// In place of a root: the page of the label is none.
const NO_TREE: u32 = 0;

/// A scan: the records that a transaction sees, in order. It copies a leaf at a time, so that no
/// latch is held between two records.
pub struct Scan<'t, 'd> {
    view: &'t View<'d>,
    tree: u32,
    /// It scans nothing, for this reason.
    refused: Option<DbError>,
    direction: Direction,
    /// Its number among those of a serializable transaction.
    number: Option<usize>,
    leaf: Leaf,
    /// Slots of the leaf that are still to come.
    slots: std::ops::Range<usize>,
    /// The lower fence of the next leaf, or the upper one if the scan goes backward.
    fence: Vec<u8>,
    next_fence: Vec<u8>,
    more: More,
    /// Leaves that it has passed.
    leaves: usize,
    /// Leaves with pieces of the values that it has given, and of those to come that were loaded.
    piece_leaves: usize,
    piece_leaves_ahead: usize,
    /// The transaction's own writes to the tree that are still to come, of those in order.
    own_at: std::ops::Range<usize>,
    /// It began at the end of the table, and has given no record yet.
    is_at_end: bool,
    /// Own deletes that it has passed.
    deletes: usize,
    /// The next record of the tree, if one is known.
    next: Option<Lookup>,
    next_key: Vec<u8>,
    next_value: Vec<u8>,
    key: Vec<u8>,
    value: Vec<u8>,
}

thread_local! {
    static LEAF: Cell<Option<Box<PageBytes>>> = const { Cell::new(None) };
}

/// Memory for a leaf, which each thread keeps for its next scan.
struct Leaf(Option<Box<PageBytes>>);

impl Leaf {
    fn take() -> Self {
        Leaf(Some(LEAF.take().unwrap_or_else(PageBytes::zeroed)))
    }

    fn page(&self) -> &PageBytes {
        static EMPTY: PageBytes = PageBytes::new();
        // It is taken away only when this is dropped.
        self.0.as_deref().unwrap_or(&EMPTY)
    }

    fn page_mut(&mut self) -> &mut PageBytes {
        self.0.get_or_insert_with(PageBytes::zeroed)
    }
}

impl Drop for Leaf {
    fn drop(&mut self) {
        LEAF.set(self.0.take());
    }
}

/// The part of the scan behind the current leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum More {
    /// The leaf that has the bound, as it was given.
    First,
    /// The leaf at the fence.
    Leaf,
    /// Nothing.
    Nothing,
}

impl<'t, 'd> Scan<'t, 'd> {
    pub(crate) fn new(
        view: &'t View<'d>,
        tree: Result<Option<u32>, DbError>,
        bound: Option<&[u8]>,
        direction: Direction,
    ) -> Self {
        let writes = view.writes();
        let is_empty = matches!(tree, Ok(None));
        let (tree, refused) = tree
            .map_or_else(|error| (NO_TREE, Some(error)), |tree| (tree.unwrap_or(NO_TREE), None));
        let is_open = !is_empty && refused.is_none();
        let is_at_end = bound.is_none();
        // What the transaction deleted there is not passed again.
        let first = if is_at_end && is_open { writes.first(tree, direction) } else { None };
        let bound = bound.or(first.as_deref());
        let own_at = if is_open { writes.to_scan(tree, bound, direction) } else { 0..0 };
        let forward = direction == Direction::Forward;
        let reads = view.reads.as_ref().filter(|_| is_open);
        let number = reads.map(|reads| reads.scan(tree, bound, forward));
        let infinite = bound.is_none() && direction == Direction::Backward;
        Scan {
            view,
            tree,
            refused,
            direction,
            number,
            leaf: Leaf::take(),
            slots: 0..0,
            fence: bound.unwrap_or_default().to_vec(),
            next_fence: Vec::new(),
            // In the search for the leaf before a fence, an empty fence stands for infinity.
            more: match (is_empty, infinite) {
                (true, _) => More::Nothing,
                (false, true) => More::Leaf,
                (false, false) => More::First,
            },
            leaves: 0,
            piece_leaves: 0,
            piece_leaves_ahead: 0,
            own_at,
            is_at_end,
            deletes: 0,
            next: None,
            next_key: Vec::new(),
            next_value: Vec::new(),
            key: Vec::new(),
            value: Vec::new(),
        }
    }

    /// Another scan of the same table, from a bound (itself included) or from the end. It begins also
    /// if the table was deleted after this one began.
    #[must_use]
    pub fn beside(&self, bound: Option<&[u8]>, direction: Direction) -> Scan<'t, 'd> {
        let tree = match &self.refused {
            Some(error) => Err(error.clone()),
            None => Ok((self.tree != NO_TREE).then_some(self.tree)),
        };
        Scan::new(self.view, tree, bound, direction)
    }

    /// The next key and its value; none after the last.
    ///
    /// # Errors
    /// As for [`Transaction::get`](crate::Transaction::get).
    #[expect(clippy::should_implement_trait, reason = "what it gives is borrowed from it")]
    #[expect(clippy::type_complexity, reason = "a name would hide that it is a key and a value")]
    pub fn next(&mut self) -> Result<Option<(&[u8], &[u8])>, DbError> {
        let found = self.step()?;
        found.map(|found| self.give(found)).transpose()
    }

    /// The next key and the bytes of its value, which is not read if it is in pieces; none after
    /// the last.
    ///
    /// # Errors
    /// As for [`Transaction::get`](crate::Transaction::get).
    pub fn next_key(&mut self) -> Result<Option<(&[u8], usize)>, DbError> {
        let bytes = match self.step()? {
            None => return Ok(None),
            Some(Lookup::Overflow) => parse_overflow(&self.value)?.1,
            Some(_) => self.value.len(),
        };
        Ok(Some((&self.key, bytes)))
    }

    /// The next key, and its value unless that is too long for a page: it is not read then. None
    /// after the last.
    ///
    /// # Errors
    /// As for [`Transaction::get`](crate::Transaction::get).
    #[expect(clippy::type_complexity, reason = "a name would hide that it is a key and a value")]
    pub fn next_in_page(&mut self) -> Result<Option<(&[u8], Option<&[u8]>)>, DbError> {
        let found = self.step()?;
        Ok(found.map(|found| (&self.key[..], (found == Lookup::Value).then_some(&self.value[..]))))
    }

    /// Of a value that [`Self::next_in_page`] left out, what it is read from.
    pub(crate) fn left_out(&self) -> (&'t View<'d>, Vec<u8>) {
        (self.view, self.value.clone())
    }

    /// Puts the next record into `key` and `value`, and notes that it was read.
    fn step(&mut self) -> Result<Option<Lookup>, DbError> {
        let found = self.advance()?;
        if let (Some(reads), Some(number)) = (&self.view.reads, self.number) {
            reads.reach(number, found.is_some().then_some(&self.key));
        }
        if std::mem::take(&mut self.is_at_end) && self.deletes > 0 && found.is_some() {
            self.view.writes().note_first(self.tree, self.direction, &self.key);
        }
        Ok(found)
    }

    /// Puts the next record into `key` and `value`.
    fn advance(&mut self) -> Result<Option<Lookup>, DbError> {
        loop {
            if self.next.is_none() {
                self.next = self.next_of_tree()?;
            }
            let own = self.next_own();
            if own.is_none_or(|own| self.next.is_some() && self.order(own).is_lt()) {
                self.take_next();
                return Ok(self.next.take());
            }
            if let Some(found) = own.and_then(|own| self.merge_own(own)) {
                return Ok(Some(found));
            }
        }
    }

    fn next_own(&self) -> Option<u32> {
        let index = self.direction.next_of(&mut self.own_at.clone());
        index.map(|index| self.view.writes().ordered()[index])
    }

    /// Compares the tree's next record with an own write, in the scan's order.
    fn order(&self, own: u32) -> Ordering {
        let writes = self.view.writes();
        let order = self.next_key[..].cmp(writes.key(writes.get(own as usize)));
        if self.direction == Direction::Forward { order } else { order.reverse() }
    }

    /// Goes past an own write, and past the tree's record of the same key. Puts the visible record
    /// into `key` and `value`.
    fn merge_own(&mut self, own: u32) -> Option<Lookup> {
        let same = self.next.is_some() && self.order(own).is_eq();
        let below = if same { self.next.take() } else { None };
        match self.direction {
            Direction::Forward => self.own_at.start += 1,
            Direction::Backward => self.own_at.end -= 1,
        }
        let writes = self.view.writes();
        let write = writes.get(own as usize);
        let change = writes.change(write);
        self.key.clear();
        self.key.extend_from_slice(writes.key(write));
        self.value.clear();
        match change.kind {
            WriteKind::Delete => {
                self.deletes += 1;
                None
            }
            WriteKind::Put | WriteKind::Overwrite | WriteKind::PutOverflow => {
                self.value.extend_from_slice(change.value);
                let is_reference = change.kind == WriteKind::PutOverflow;
                Some(if is_reference { Lookup::Overflow } else { Lookup::Value })
            }
            WriteKind::Patch => {
                let found = below?;
                self.value.extend_from_slice(&self.next_value);
                change.patch(&mut self.value);
                Some(found)
            }
        }
    }

    fn take_next(&mut self) {
        std::mem::swap(&mut self.key, &mut self.next_key);
        std::mem::swap(&mut self.value, &mut self.next_value);
    }

    fn give(&mut self, found: Lookup) -> Result<(&[u8], &[u8]), DbError> {
        if found == Lookup::Overflow {
            self.load_pieces()?;
            self.view.join(&mut self.value)?;
        }
        Ok((&self.key, &self.value))
    }

    /// Loads the pieces of the value, with those of some that come behind it in the leaf.
    fn load_pieces(&mut self) -> Result<(), DbError> {
        let trees = self.view.trees;
        // An eighth of those that it has passed: so a short scan reads few in vain.
        let mut leaves = PieceLeaves::at_most(trees, self.piece_leaves / 8);
        let (number, bytes) = parse_overflow(&self.value)?;
        leaves.add_value(number, bytes);
        let own = leaves.count();
        self.piece_leaves += bytes.div_ceil(PAGE_BYTES);
        if leaves.are_enough() || self.piece_leaves_ahead >= own {
            self.piece_leaves_ahead = self.piece_leaves_ahead.saturating_sub(own);
            return Ok(());
        }
        let node = Node::of(self.leaf.page());
        let (mut slots, mut value) = (self.slots.clone(), Vec::new());
        while !leaves.are_enough()
            && let Some(index) = self.direction.next_of(&mut slots)
        {
            let slot = node.slot(index);
            if slot.is_overflow() {
                value.clear();
                node.value(slot, &mut value);
                // A wrong one fails as it is given.
                if let Ok((number, bytes)) = parse_overflow(&value) {
                    leaves.add_value(number, bytes);
                }
            }
        }
        self.piece_leaves_ahead = leaves.count() - own;
        leaves.load(trees);
        Ok(())
    }

    /// The next record of the tree that the snapshot sees, in `next_key` and `next_value`.
    fn next_of_tree(&mut self) -> Result<Option<Lookup>, DbError> {
        loop {
            let Some(index) = self.direction.next_of(&mut self.slots) else {
                if self.more == More::Nothing {
                    return Ok(None);
                }
                self.next_leaf()?;
                continue;
            };
            let found = self.see(index).inspect_err(|_| match self.direction {
                // It is looked at again by who goes on after the error.
                Direction::Forward => self.slots.start = index,
                Direction::Backward => self.slots.end = index + 1,
            })?;
            if found != Lookup::Nothing {
                return Ok(Some(found));
            }
        }
    }

    /// Puts the version of a slot that the snapshot sees into `next_key` and `next_value`.
    fn see(&mut self, index: usize) -> Result<Lookup, DbError> {
        let node = Node::of(self.leaf.page());
        let slot = node.slot(index);
        self.next_key.clear();
        node.key(index, &mut self.next_key);
        let (trees, snapshot) = (self.view.trees, self.view.position());
        if node.position() > snapshot {
            let value = &mut self.next_value;
            if let Some(found) = trees.older_version(self.tree, &self.next_key, snapshot, value)? {
                return Ok(found);
            }
        }
        if slot.is_ghost() {
            return Ok(Lookup::Nothing);
        }
        self.next_value.clear();
        node.value(slot, &mut self.next_value);
        Ok(if slot.is_overflow() { Lookup::Overflow } else { Lookup::Value })
    }

    fn next_leaf(&mut self) -> Result<(), DbError> {
        if let Some(refused) = &self.refused {
            return Err(refused.clone());
        }
        let trees = self.view.trees;
        let before = self.direction == Direction::Backward && self.more == More::Leaf;
        // A quarter of those that it has passed: so a short scan reads none in vain.
        let leaves = (self.leaves / 4).min(TOGETHER);
        let ahead = (leaves > 1).then_some((self.direction, leaves));
        self.leaves += 1;
        let snapshot = self.view.position();
        trees
            .copy_leaf(self.tree, &self.fence, before, ahead, self.leaf.page_mut())
            .map_err(|error| trees.versions.why(snapshot, error))?;
        let node = Node::of(self.leaf.page());
        if node.position() > snapshot {
            // Ghosts of deleted records may have gone with their versions.
            trees.versions.check(snapshot)?;
        }
        let first = self.more == More::First;
        self.slots = match self.direction {
            Direction::Forward => node.search(&self.fence).0..node.count(),
            Direction::Backward if first => {
                let (index, found) = node.search(&self.fence);
                0..index + usize::from(found)
            }
            Direction::Backward => {
                // The fence may be the leaf's own upper fence, which is no valid key for a search.
                let mut upper = Vec::new();
                let inside = node.upper(&mut upper) && self.fence < upper;
                let is_bound = !self.fence.is_empty() && (inside || upper.is_empty());
                0..if is_bound { node.search(&self.fence).0 } else { node.count() }
            }
        };
        self.go_on()
    }

    /// Finds the fence of the next leaf. A damaged tree must not lead in circles.
    fn go_on(&mut self) -> Result<(), DbError> {
        let node = Node::of(self.leaf.page());
        let (has_more, goes_on) = match self.direction {
            Direction::Forward => {
                let has_more = node.upper(&mut self.next_fence);
                (has_more, self.next_fence > self.fence)
            }
            Direction::Backward => {
                node.lower(&mut self.next_fence);
                let begins = self.more == More::First || self.fence.is_empty();
                (!self.next_fence.is_empty(), begins || self.next_fence < self.fence)
            }
        };
        if has_more && !goes_on {
            let what = "is the root of a tree whose leaves do not follow each other";
            return Err(DbError::Page { page: self.tree, what });
        }
        std::mem::swap(&mut self.fence, &mut self.next_fence);
        self.more = if has_more { More::Leaf } else { More::Nothing };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use frostline_zone::{Device, Shape, in_memory};

    use super::*;
    use crate::{Create, Db, Options, Table, Transaction};

    const RECORDS: u32 = 3000;

    fn database() -> (Db, Table) {
        let shape = Shape { bytes: 64 << 20, ..Shape::default() };
        let device = in_memory(&shape).unwrap() as Arc<dyn Device>;
        Db::create(&device, &Create::default()).unwrap();
        let db = Db::open(&device, &Options { background: false, ..Options::default() }).unwrap();
        let table = db.create_table("t").unwrap();
        let mut fill = db.begin().unwrap();
        (0..RECORDS).for_each(|n| fill.put(table, &n.to_be_bytes(), b"v").unwrap());
        fill.commit().unwrap();
        (db, table)
    }

    /// Deletes the first record that a scan gives; own deletes that the scan passed.
    fn pop(change: &mut Transaction<'_>, table: Table, direction: Direction) -> (u32, usize) {
        let mut scan = change.scan_all(table, direction);
        let key = scan.next().unwrap().unwrap().0.to_vec();
        let passed = scan.deletes;
        drop(scan);
        change.delete(table, &key).unwrap();
        (u32::from_be_bytes(key.try_into().unwrap()), passed)
    }

    #[test]
    fn what_a_transaction_deleted_at_an_end_is_not_passed_again() {
        for direction in [Direction::Forward, Direction::Backward] {
            let (db, table) = database();
            // Of records of the tree, and of its own.
            for of_tree in [true, false] {
                let mut change = db.begin_serializable().unwrap();
                if !of_tree {
                    (0..RECORDS).for_each(|n| change.put(table, &n.to_be_bytes(), b"w").unwrap());
                }
                for n in 0..RECORDS {
                    let (key, passed) = pop(&mut change, table, direction);
                    let is_forward = direction == Direction::Forward;
                    assert_eq!(key, if is_forward { n } else { RECORDS - 1 - n });
                    assert!(passed <= 1, "{passed} deletes are passed for record {n}");
                }
                assert!(change.scan_all(table, direction).next().unwrap().is_none());
            }
        }
    }

    #[test]
    fn a_record_that_is_written_before_the_first_or_is_there_again_is_found() {
        let (db, table) = database();
        let mut change = db.begin().unwrap();
        let first = |change: &mut Transaction<'_>| pop(change, table, Direction::Forward).0;
        assert_eq!((0..4).map(|_| first(&mut change)).collect::<Vec<_>>(), [0, 1, 2, 3]);
        change.put(table, &1u32.to_be_bytes(), b"again").unwrap();
        assert_eq!([first(&mut change), first(&mut change)], [1, 4]);
        let before = change.savepoint().unwrap();
        assert_eq!([first(&mut change), first(&mut change)], [5, 6]);
        change.undo(before).unwrap();
        assert_eq!(first(&mut change), 5);
    }

    #[test]
    fn what_later_scans_skip_was_read_by_a_serializable_transaction() {
        let (db, table) = database();
        let mut change = db.begin_serializable().unwrap();
        (0..3).for_each(|n| assert_eq!(pop(&mut change, table, Direction::Forward).0, n));
        let mut other = db.begin().unwrap();
        other.put(table, &[0], b"before the first").unwrap();
        other.commit().unwrap();
        assert!(matches!(change.commit(), Err(DbError::Conflict)));
    }
}
