//! A tree, node by node.

use super::{Finding, TreeCheck};
use crate::DbError;
use crate::node::{Expected, Node, PAGE_BYTES, PageBytes, SLOTS};
use crate::pages::Used;
use crate::pool::TOGETHER;
use crate::tree::Trees;

/// A record that a tree holds.
pub(super) struct Seen<'a> {
    /// Its key.
    pub key: &'a [u8],
    /// Its value, or the reference to its pieces.
    pub value: &'a [u8],
    /// True if it is the reference to pieces.
    pub is_overflow: bool,
}

/// A function that is called with each record and its page, in the order of the keys.
pub(super) type Visit<'v> = dyn FnMut(u32, Seen<'_>) -> Option<Finding> + 'v;

/// Goes through a tree.
pub(super) struct Walk<'w> {
    trees: &'w Trees,
    root: u32,
    /// Pages that this tree or another reached.
    reached: &'w mut Used,
    counts: TreeCheck,
    /// Room of the leaves, in bytes.
    room: u64,
    unreadable: u64,
    /// The damage.
    pub findings: Vec<Finding>,
}

impl<'w> Walk<'w> {
    /// Of the tree with this root.
    pub(super) fn new(trees: &'w Trees, root: u32, reached: &'w mut Used) -> Self {
        let counts = TreeCheck { root, ..TreeCheck::default() };
        Walk { trees, root, reached, counts, room: 0, unreadable: 0, findings: Vec::new() }
    }

    /// The counters.
    pub(super) fn counted(self, table: Option<String>) -> TreeCheck {
        let all = self.counts.leaves * (PAGE_BYTES - SLOTS) as u64;
        let fill = if all == 0 { 0.0 } else { 1.0 - self.room as f64 / all as f64 };
        TreeCheck { table, fill, ..self.counts }
    }

    /// True if every page could be read.
    pub(super) fn is_complete(&self) -> bool {
        self.unreadable == 0
    }

    /// Goes through all of it.
    pub(super) fn tree(&mut self, visit: &mut Visit<'_>) -> Result<(), DbError> {
        self.page(self.root, &Expected::of_root(self.root), visit)
    }

    fn page(
        &mut self,
        page: u32,
        expected: &Expected,
        visit: &mut Visit<'_>,
    ) -> Result<(), DbError> {
        if self.reached.has(page) {
            self.findings.push(Finding::at(page, "it is in two places"));
            return Ok(());
        }
        let mut copy = PageBytes::zeroed();
        if let Err(error) = self.read(page, &mut copy) {
            self.findings.push(Finding::of(page, error)?);
            self.unreadable += 1;
            return Ok(());
        }
        let node = Node::of(&copy);
        if let Some(wrong) = self.wrong_with(node, expected) {
            self.findings.push(Finding::at(page, wrong));
        }
        match node.level() {
            0 => {
                self.leaf(page, node, visit);
                Ok(())
            }
            _ => self.children(node, visit),
        }
    }

    fn read(&mut self, page: u32, copy: &mut PageBytes) -> Result<(), DbError> {
        self.reached.set(page, true)?;
        loop {
            let Some(seen) = self.trees.pool.look(page)? else { continue };
            copy.become_copy_of(seen.node().page());
            if seen.is_unchanged() {
                break;
            }
        }
        self.trees.visits.note_passed(Node::of(copy), page, || self.trees.oldest_seen());
        match Node::of(copy).is_sound() {
            true => Ok(()),
            false => Err(DbError::Page { page, what: "is no node" }),
        }
    }

    /// The first contradiction to the parent or inside the node.
    fn wrong_with(&self, node: Node<'_>, expected: &Expected) -> Option<&'static str> {
        let (mut lower, mut upper) = (Vec::new(), Vec::new());
        node.lower(&mut lower);
        let upper = node.upper(&mut upper).then_some(&upper[..]);
        let prefix = upper.map_or(0, |upper| common(&lower, upper));
        let checks = [
            (node.prefix_len() == prefix, "its prefix is not what its fences have in common"),
            (node.position() <= self.trees.wal().end(), "it is newer than the log"),
        ];
        let wrong = || checks.into_iter().find(|(holds, _)| !holds).map(|(_, what)| what);
        let contradiction = expected.contradiction(node).or_else(wrong);
        contradiction.or_else(|| wrong_with_keys(node, &lower, upper))
    }

    fn leaf(&mut self, page: u32, node: Node<'_>, visit: &mut Visit<'_>) {
        self.counts.leaves += 1;
        self.counts.levels = self.counts.levels.max(1);
        self.room += node.room() as u64;
        let (mut key, mut value) = (Vec::new(), Vec::new());
        for index in 0..node.count() {
            let slot = node.slot(index);
            if slot.is_ghost() {
                self.counts.ghosts += 1;
                continue;
            }
            key.clear();
            value.clear();
            node.key(index, &mut key);
            node.value(slot, &mut value);
            self.counts.records += 1;
            self.counts.bytes += (key.len() + value.len()) as u64;
            let record = Seen { key: &key, value: &value, is_overflow: slot.is_overflow() };
            self.findings.extend(visit(page, record));
        }
    }

    fn children(&mut self, node: Node<'_>, visit: &mut Visit<'_>) -> Result<(), DbError> {
        self.counts.inner += 1;
        self.counts.levels = self.counts.levels.max(node.level() as u32 + 1);
        for index in 0..node.count() {
            // A chunk of inner nodes could leave again before their turn comes.
            if node.level() == 1 && index % TOGETHER == 0 {
                let next = index..(index + TOGETHER).min(node.count());
                self.trees.pool.load_together(next.map(|index| node.child(index)));
            }
            self.page(node.child(index), &Expected::of_child(node, index), visit)?;
        }
        Ok(())
    }
}

/// The first fault in the order of a node's keys, or in a search for them.
fn wrong_with_keys(node: Node<'_>, lower: &[u8], upper: Option<&[u8]>) -> Option<&'static str> {
    let (mut key, mut before) = (Vec::new(), Vec::new());
    for index in 0..node.count() {
        key.clear();
        node.key(index, &mut key);
        if index == 0 && node.level() > 0 && key != lower {
            return Some("its first child does not begin at its lower fence");
        }
        if &key[..] < lower || upper.is_some_and(|upper| &key[..] >= upper) {
            return Some("a key lies beyond its fences");
        }
        if index > 0 && key <= before {
            return Some("its keys are not in order");
        }
        if node.search(&key) != (index, true) {
            return Some("a key is not found where it is");
        }
        std::mem::swap(&mut key, &mut before);
    }
    None
}

/// Bytes that both begin with.
fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}
