//! Pages that no value has any more: of values that were replaced or deleted, or never committed.

use std::collections::VecDeque;

use parking_lot::Mutex;

use super::{
    DeletedTree, HEAD, Owner, PIECE, Pinned, Run, head_key, parse_overflow, piece_key, piece_number,
};
use crate::DbError;
use crate::core::Core;
use crate::direction::Direction;
use crate::layout::{IN_PAGES, OVERFLOW_TREE};
use crate::mvcc::WriteKind;
use crate::node::{Node, PageBytes};
use crate::scan::Scan;
use crate::transaction::{Also, Isolation, Transaction};
use crate::view::View;

/// Records of pages that are deleted together.
const TOGETHER: usize = 16;

/// Pieces of long values after which no further leaf of a table is freed together with others: if
/// there is room for that, and if there is not.
const MOST_WRITES: [usize; 2] = [2000, 0];

/// The numbers of values whose pages are to be freed, and tables that were deleted.
#[derive(Default)]
pub(crate) struct Unowned {
    waiting: Mutex<VecDeque<Waiting>>,
    freeing: Mutex<()>,
}

struct Waiting {
    /// Position of the commit from which on the pages have no owner: snapshots before that see
    /// them.
    since: u64,
    number: u64,
    /// The table, if it is one.
    tree: Option<DeletedTree>,
    /// No changes wait for leaves of the table any more: none is split.
    is_quiet: bool,
    /// It could not be freed.
    has_failed: bool,
}

/// The pages without an owner that are to be freed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unfreed {
    /// All of them, also those that could not be freed before.
    All,
    /// Those that were not tried before.
    New,
}

impl Unowned {
    /// The pages of a value have no owner from the commit at a position on.
    pub(crate) fn add(&self, since: u64, number: u64) {
        self.add_waiting(since, number, None);
    }

    /// A table is deleted by the commit at a position, whose head has a number.
    pub(crate) fn add_tree(&self, since: u64, number: u64, tree: DeletedTree) {
        self.add_waiting(since, number, Some(tree));
    }

    fn add_waiting(&self, since: u64, number: u64, tree: Option<DeletedTree>) {
        let waiting = Waiting { since, number, tree, is_quiet: false, has_failed: false };
        self.waiting.lock().push_back(waiting);
    }

    /// The tables that were deleted, and whose pages wait to be freed.
    pub(crate) fn trees(&self) -> Vec<DeletedTree> {
        self.waiting.lock().iter().filter_map(|waiting| waiting.tree.clone()).collect()
    }

    /// True if there is one that no snapshot sees, if all see the log up to `oldest()`.
    fn has_next(&self, which: Unfreed, oldest: impl FnOnce() -> u64) -> bool {
        let is_empty = self.waiting.lock().is_empty();
        !is_empty && self.place_of_next(which, oldest()).is_some()
    }

    /// Takes the next one that no snapshot sees, if all see the log up to `oldest`.
    fn next(&self, which: Unfreed, oldest: u64) -> Option<Waiting> {
        let index = self.place_of_next(which, oldest)?;
        self.waiting.lock().remove(index)
    }

    /// The place of the next one. It stays valid: the thread that frees has the lock `freeing`, and
    /// other threads only add at the end.
    fn place_of_next(&self, which: Unfreed, oldest: u64) -> Option<usize> {
        let is_next = |waiting: &Waiting| {
            waiting.since <= oldest && (which == Unfreed::All || !waiting.has_failed)
        };
        self.waiting.lock().iter().position(is_next)
    }
}

/// Notes all values whose pages have no owner, or never got one, as it is after a crash.
pub(crate) fn note_unowned(core: &Core, view: &View<'_>) -> Result<(), DbError> {
    each_head(view, |number, state| {
        if let Some(deleted) = DeletedTree::parse(state) {
            core.unowned.add_tree(0, number, deleted);
        } else if Owner::parse(state).ok_or_else(wrong_head)? != Owner::Record {
            core.unowned.add(0, number);
        }
        Ok(())
    })
}

/// The pages that were taken for values under way. Not all were written, if one was given up.
pub(crate) fn runs_under_way(view: &View<'_>) -> Result<Vec<Run>, DbError> {
    let mut runs = Vec::new();
    each_head(view, |number, state| {
        if Owner::parse(state) == Some(Owner::UnderWay) {
            runs.append(&mut runs_of(view, number, usize::MAX)?.1);
        }
        Ok(())
    })?;
    Ok(runs)
}

/// Calls `visit` with the number and the state of each head.
fn each_head(
    view: &View<'_>,
    mut visit: impl FnMut(u64, &[u8]) -> Result<(), DbError>,
) -> Result<(), DbError> {
    let first = piece_key(HEAD, 0);
    let mut heads = Scan::new(view, Ok(Some(OVERFLOW_TREE)), Some(&first), Direction::Forward);
    while let Some((key, state)) = heads.next()? {
        let (number, _) = piece_number(key).ok_or_else(wrong_head)?;
        visit(number & !HEAD, state)?;
    }
    Ok(())
}

fn wrong_head() -> DbError {
    DbError::Page { page: OVERFLOW_TREE, what: "has a head of no value" }
}

/// The keys of the records that name the pages of a value, so many at most, and the pages.
fn runs_of(view: &View<'_>, number: u64, most: usize) -> Result<(Vec<Vec<u8>>, Vec<Run>), DbError> {
    let (mut keys, mut runs) = (Vec::new(), Vec::new());
    let first = piece_key(number, 0);
    let mut scan = Scan::new(view, Ok(Some(OVERFLOW_TREE)), Some(&first), Direction::Forward);
    while keys.len() < most
        && let Some((key, named)) = scan.next()?
        && piece_number(key).is_some_and(|(of, _)| of == number)
    {
        let wrong = DbError::Page { page: OVERFLOW_TREE, what: "names pages that are none" };
        runs.extend(Run::parse(named).ok_or(wrong)?);
        keys.push(key.to_vec());
    }
    Ok((keys, runs))
}

impl Core {
    /// Frees the pages that have no owner, and that no snapshot sees, in steps, as long as
    /// `goes_on` before each.
    pub(crate) fn free_unowned(&self, which: Unfreed, mut goes_on: impl FnMut() -> bool) {
        // One at a time: the log may ask for it while it is made room in for this.
        let Some(_one) = self.unowned.freeing.try_lock() else { return };
        let oldest = || self.trees.oldest_seen();
        // After a failure the others are freed all the same. They may make the room that it lacked.
        let mut tries = self.unowned.waiting.lock().len();
        let mut has_next = |tries| tries > 0 && self.unowned.has_next(which, oldest) && goes_on();
        while self.check().is_ok() && has_next(tries) {
            // No leaf of a deleted table is merged meanwhile, and no check finds it half freed.
            let Some(_no_visits) = self.trees.visits.pause_soon() else { return };
            let Some(mut next) = self.unowned.next(which, oldest()) else { return };
            let freed = self.free_some(&mut next);
            match freed {
                Ok(true) => {}
                Ok(false) => self.unowned.waiting.lock().push_front(next),
                Err(error) => {
                    tracing::debug!(number = next.number, %error, "pages are not freed yet");
                    let failed = Waiting { has_failed: true, ..next };
                    self.unowned.waiting.lock().push_back(failed);
                    tries -= 1;
                }
            }
        }
    }

    /// Frees some of the pages; true if these were the last. Where there is no room for many at once,
    /// it is a leaf.
    fn free_some(&self, next: &mut Waiting) -> Result<bool, DbError> {
        let Some(tree) = &mut next.tree else { return self.free_some_of_value(next.number) };
        if !next.is_quiet {
            self.end_waits(tree)?;
            next.is_quiet = true;
        }
        match self.free_some_of_tree(next.number, tree, MOST_WRITES[0]) {
            Err(DbError::Full { .. }) => self.free_some_of_tree(next.number, tree, MOST_WRITES[1]),
            freed => freed,
        }
    }

    /// Frees some pages of a value; true if these were the last.
    fn free_some_of_value(&self, number: u64) -> Result<bool, DbError> {
        let mut transaction = Transaction::begin(self, Isolation::Snapshot)?;
        let now = View::begin(&self.trees, None, false);
        let (keys, freed) = runs_of(&now, number, TOGETHER)?;
        drop(now);
        for key in &keys {
            transaction.set(OVERFLOW_TREE, key, WriteKind::Delete, &[])?;
        }
        let is_last = keys.len() < TOGETHER;
        if is_last {
            transaction.set(OVERFLOW_TREE, &head_key(number), WriteKind::Delete, &[])?;
        }
        self.give(transaction, freed, || ())?;
        Ok(is_last)
    }

    /// Commits a transaction after which pages are free. Once it is committed, and before the pages
    /// can be used again, `committed` is called.
    fn give(
        &self,
        mut transaction: Transaction<'_>,
        freed: Vec<Run>,
        committed: impl FnOnce(),
    ) -> Result<u64, DbError> {
        transaction.also(Also::Gives(freed.clone()));
        // Until they are noted as freed, which needs the log as well.
        let _pinned = Pinned::from_now(self);
        let position = transaction.commit_soon()?.0;
        committed();
        for page in freed.into_iter().flat_map(Run::pages) {
            self.trees.pool.forget(page, |from| self.trees.pages.keep_log(page, from))?;
            self.trees.pages.free(position, page);
        }
        Ok(position)
    }

    /// Frees some leaves of a table that was deleted, and so many pieces of its long values, or those
    /// of one leaf: what is left is the tree of the keys from one on. True if nothing is.
    fn free_some_of_tree(
        &self,
        number: u64,
        tree: &mut DeletedTree,
        most: usize,
    ) -> Result<bool, DbError> {
        let mut way = Vec::new();
        let (page, node) = self.node_above_leaves(tree.root, &tree.from, |page, node| {
            way.push((page, upper_of(node)));
        })?;
        let mut transaction = Transaction::begin(self, Isolation::Snapshot)?;
        let mut freed = vec![page];
        let (mut upper, mut unowned) = (upper_of(&node), Vec::new());
        if Node::of(&node).level() == 1 {
            let node = Node::of(&node);
            for index in node.child_index(&tree.from)..node.count() {
                let mut lower = Vec::new();
                node.key(index, &mut lower);
                if transaction.writes().len() > most {
                    // The node above stays for the rest of its children.
                    (upper, freed[0]) = (Some(lower), freed[freed.len() - 1]);
                    freed.pop();
                    break;
                }
                freed.push(node.child(index));
                if tree.has_overflow {
                    let leaf = self.trees.copy_page(node.child(index))?;
                    unowned.extend(transaction.drop_values_of(Node::of(&leaf))?);
                }
            }
        } else if tree.has_overflow {
            unowned.extend(transaction.drop_values_of(Node::of(&node))?);
        }
        freed.extend(way.iter().filter(|(_, end)| *end == upper).map(|(page, _)| *page));
        freed.sort_unstable();
        let key = head_key(number);
        let rest = upper.map(|from| DeletedTree { from, ..tree.clone() });
        match &rest {
            None => transaction.set(OVERFLOW_TREE, &key, WriteKind::Delete, &[])?,
            Some(rest) => {
                transaction.set(OVERFLOW_TREE, &key, WriteKind::Put, &rest.encode())?;
            }
        }
        let position = self.give(transaction, Run::of(&freed), || {
            if rest.is_none() {
                self.catalog.forget(tree.root);
            }
        })?;
        unowned.into_iter().for_each(|value| self.unowned.add(position, value));
        match rest {
            Some(rest) => {
                *tree = rest;
                Ok(false)
            }
            None => Ok(true),
        }
    }

    /// Lets no changes wait any more for the leaves of a deleted table: they might be split for them
    /// while they are freed.
    fn end_waits(&self, tree: &DeletedTree) -> Result<(), DbError> {
        let mut from = Some(tree.from.clone());
        while let Some(key) = &from {
            let (_, node) = self.node_above_leaves(tree.root, key, |_, _| ())?;
            if Node::of(&node).level() == 0 {
                return Ok(());
            }
            let leaves = || children(Node::of(&node)).skip(Node::of(&node).child_index(key));
            leaves().try_for_each(|leaf| self.end_waits_for(leaf, tree.has_overflow))?;
            // A leaf may have been split before.
            let (_, now) = self.node_above_leaves(tree.root, key, |_, _| ())?;
            if children(Node::of(&now)).eq(children(Node::of(&node))) {
                from = upper_of(&now);
            }
        }
        Ok(())
    }

    fn end_waits_for(&self, leaf: u32, has_overflow: bool) -> Result<(), DbError> {
        if !self.trees.pool.lacks_rows(leaf) {
            return Ok(());
        }
        if has_overflow {
            // Some may have replaced long values.
            return self.trees.give_rows_of(leaf);
        }
        self.trees.pool.drop_rows(leaf, |from| self.trees.pages.keep_log(leaf, from));
        Ok(())
    }

    /// The lowest node of a tree that is no leaf, or its only leaf, on the way to a key. `pass` gets
    /// the nodes above it.
    fn node_above_leaves(
        &self,
        root: u32,
        key: &[u8],
        mut pass: impl FnMut(u32, &PageBytes),
    ) -> Result<(u32, Box<PageBytes>), DbError> {
        let mut page = root;
        loop {
            let node = self.trees.copy_page(page)?;
            if Node::of(&node).level() <= 1 {
                return Ok((page, node));
            }
            pass(page, &node);
            page = Node::of(&node).child(Node::of(&node).child_index(key));
        }
    }
}

fn children(node: Node<'_>) -> impl Iterator<Item = u32> {
    (0..node.count()).map(move |index| node.child(index))
}

/// The key behind all of a node.
fn upper_of(node: &PageBytes) -> Option<Vec<u8>> {
    let mut upper = Vec::new();
    Node::of(node).upper(&mut upper).then_some(upper)
}

impl Transaction<'_> {
    /// Drops the long values of a leaf; the numbers of those in pages.
    fn drop_values_of(&mut self, leaf: Node<'_>) -> Result<Vec<u64>, DbError> {
        let (mut value, mut in_pages) = (Vec::new(), Vec::new());
        for index in 0..leaf.count() {
            let slot = leaf.slot(index);
            if slot.is_ghost() || !slot.is_overflow() {
                continue;
            }
            value.clear();
            leaf.value(slot, &mut value);
            let (number, bytes) = parse_overflow(&value)?;
            if number & IN_PAGES != 0 {
                self.set_owner(number, Owner::Nothing)?;
                in_pages.push(number);
                continue;
            }
            for n in 0..bytes.div_ceil(PIECE) {
                self.set(OVERFLOW_TREE, &piece_key(number, n), WriteKind::Delete, &[])?;
            }
        }
        Ok(in_pages)
    }
}

#[cfg(test)]
mod tests {
    use frostline_store::{Cleaning, Compression};
    use frostline_zone::{Shape, in_memory};

    use super::{MOST_WRITES, Unfreed};
    use crate::{Create, Db, DbError, Options};

    #[test]
    fn a_check_finds_nothing_wrong_in_a_value_that_was_given_up_and_not_written() {
        let shape = Shape { bytes: 16 << 20, zone_bytes: Some(1 << 18), ..Shape::default() };
        let device = in_memory(&shape).unwrap();
        Db::create(&device, &Create::default()).unwrap();
        let options = Options {
            background: false,
            cleaning: Cleaning::Inline,
            compression: Compression::None,
            buffer_bytes: 64 * 4096,
            longest_logged_value: 1000,
            ..Options::default()
        };
        let db = Db::open(&device, &options).unwrap();
        let table = db.create_table("t").unwrap();
        let add = |key: u32| {
            let mut add = db.begin()?;
            add.put(table, &key.to_be_bytes(), &[7; 800])?;
            add.commit()
        };
        assert!((0..).find_map(|key| add(key).err()).is_some(), "it is full");
        for key in 0..300u32 {
            let mut delete = db.begin().unwrap();
            delete.delete(table, &(key * 30).to_be_bytes()).unwrap();
            delete.commit().unwrap();
        }
        let before = db.stats().unwrap().pages;
        let refused = db.begin().unwrap().put(table, b"long", &vec![9; 90_000]);
        assert!(matches!(refused, Err(DbError::Full { .. })), "{refused:?}");
        assert!(db.stats().unwrap().pages > before, "it had taken pages");
        // Another thread frees them.
        let other = db.core().unowned.freeing.lock();
        let check = db.check().unwrap();
        assert!(check.findings.is_empty(), "{:?}", check.findings);
        drop(other);
        let check = db.check().unwrap();
        assert!(check.findings.is_empty(), "{:?}", check.findings);
        assert!(db.stats().unwrap().pages <= before);
    }

    #[test]
    fn a_check_finds_nothing_wrong_in_a_deleted_table_that_is_half_freed() {
        let shape = Shape { bytes: 24 << 20, zone_bytes: Some(1 << 17), ..Shape::default() };
        let device = in_memory(&shape).unwrap();
        Db::create(&device, &Create::default()).unwrap();
        let options =
            Options { background: false, cleaning: Cleaning::Inline, ..Options::default() };
        let db = Db::open(&device, &options).unwrap();
        let table = db.create_table("t").unwrap();
        // More pieces than are deleted together.
        for n in (0..MOST_WRITES[0] as u32 + 500).step_by(50) {
            let mut transaction = db.begin().unwrap();
            for n in n..n + 50 {
                transaction.put(table, &n.to_be_bytes(), &[n as u8; 1000]).unwrap();
            }
            transaction.commit_soon().unwrap();
        }
        db.delete_table("t").unwrap();
        let (core, mut steps) = (db.core(), 0..1);
        core.free_unowned(Unfreed::All, || steps.next().is_some());
        assert!(!core.unowned.trees()[0].from.is_empty());
        // Another thread frees the rest.
        let other = core.unowned.freeing.lock();
        let check = db.check().unwrap();
        assert!(check.findings.is_empty(), "{:?}", check.findings);
        drop(other);
        let check = db.check().unwrap();
        assert!(check.findings.is_empty(), "{:?}", check.findings);
        assert!(core.unowned.trees().is_empty());
    }
}
