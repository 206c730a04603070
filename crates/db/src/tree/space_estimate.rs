//! Pages and log space for the splits that a commit may cause.

use std::collections::HashSet;

use frostline_store::RoomFor;

use super::find::Leaf;
use super::{Trees, Wanted};
use crate::DbError;
use crate::mvcc::{Write, WriteKind, WriteSet};
use crate::node::{LONGEST_RECORD, Node, PageBytes, SLOT};
use crate::record::logged_bytes;

/// Bytes that a split logs: two images, which have the content of one page and more fences, and a
/// separator.
const SPLIT_LOGGED: u64 = 5 << 10;

/// Bytes of short records that a leaf takes at least between two splits. For longer records it is
/// less by their length.
const SPLIT_AFTER: usize = 1800;

/// Splits of a full leaf in addition to those for its new records: the first split may leave too
/// little room on the side of the new records.
const EACH: usize = 2;

/// Splits of inner nodes that a commit may cause in addition to those below splits of leaves.
const SPARE: u64 = 8;

/// Pages and log space that a commit needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpaceEstimate {
    /// Pages that it may take.
    pub pages: u32,
    /// Pages that it may change.
    pub changed: u64,
    /// The room that it may use for them.
    pub room: RoomFor,
    /// Bytes that it may log, with its own record.
    pub log_bytes: u64,
}

impl SpaceEstimate {
    /// An upper bound: each write of the transaction meets a full leaf.
    pub(crate) fn at_most(trees: &Trees, writes: &WriteSet) -> SpaceEstimate {
        let adds = writes.iter().filter(|write| is_add(write)).count();
        let leaves = if adds > SPARE as usize { trees.pages.used() as usize } else { adds };
        let splits = EACH * adds.min(leaves) + logged_bytes(writes) / split_after(writes);
        let changed = writes.iter().count().min(trees.pages.used() as usize);
        let room = if adds == 0 { RoomFor::Last } else { RoomFor::Any };
        SpaceEstimate::of(writes, if adds == 0 { None } else { Some(splits as u64) }, changed, room)
    }

    /// The needs by the leaves that it will change, as they are now.
    pub(crate) fn looked_up(trees: &Trees, writes: &WriteSet) -> Result<SpaceEstimate, DbError> {
        let mut adds: Vec<_> = writes.iter().filter(|write| is_add(write)).collect();
        adds.sort_unstable_by_key(|write| (write.tree, writes.key(write)));
        let (mut splits, mut longer, split_after) = (0, 0, split_after(writes));
        let mut changed = trees.leaves_of(writes, |write| !is_add(write))?;
        let (mut rest, mut unread) = (&adds[..], adds.len());
        let mut leaf = PageBytes::zeroed();
        while let Some(first) = rest.first() {
            if rest.len() <= unread {
                unread = rest.len() - trees.load_leaves_of_first(rest, writes);
            }
            trees.copy_leaf(first.tree, writes.key(first), false, None, &mut leaf)?;
            let node = Node::of(&leaf);
            let in_leaf = |w: &&&Write| w.tree == first.tree && node.covers(writes.key(w));
            let count = rest.iter().take_while(in_leaf).count().max(1);
            let added: usize = rest[..count].iter().map(|write| added(node, writes, write)).sum();
            longer += added.saturating_sub(node.holes());
            // In ascending order, perhaps.
            let is_last = node.search(writes.key(rest[count - 1])) == (node.count(), false);
            let needed = added + if is_last { trees.spare } else { 0 };
            if needed > node.room() {
                splits += EACH + (needed - node.room()) / split_after;
            }
            rest = &rest[count..];
            changed += 1;
        }
        let (splits, room) = match (adds.len(), longer) {
            (0, _) => (None, RoomFor::Last),
            (_, 0) => (Some(splits as u64), RoomFor::NoLonger),
            _ => (Some(splits as u64), RoomFor::Any),
        };
        Ok(SpaceEstimate::of(writes, splits, changed, room))
    }

    fn of(writes: &WriteSet, splits: Option<u64>, changed: usize, room: RoomFor) -> SpaceEstimate {
        let nodes = splits.map_or(0, |splits| splits + splits / 4 + SPARE);
        let log_bytes = logged_bytes(writes) as u64 + nodes * SPLIT_LOGGED;
        // Each page that is taken changes a neighbour or parent.
        let changed = changed as u64 + 2 * nodes;
        SpaceEstimate { pages: nodes as u32, changed, room, log_bytes }
    }
}

impl Trees {
    /// The number of leaves to which some of the writes go. None is read for that.
    fn leaves_of(
        &self,
        writes: &WriteSet,
        is_counted: impl Fn(&Write) -> bool,
    ) -> Result<usize, DbError> {
        let mut leaves = HashSet::new();
        for write in writes.iter().filter(|write| is_counted(write)) {
            let leaf = self.leaf_unless(write.tree, writes.key(write), |leaf| Some(leaf.page()))?;
            leaves.insert(match leaf {
                Leaf::InMemory(leaf) => leaf.cached_frame().page(),
                Leaf::Without(page) => page,
            });
        }
        Ok(leaves.len())
    }

    /// Loads the leaves of the first of some writes, and returns how many. What can't be read stays
    /// absent.
    fn load_leaves_of_first(&self, all: &[&Write], writes: &WriteSet) -> usize {
        let count = self.records_together().min(all.len());
        let wanted = |index: usize| Wanted { tree: all[index].tree, key: writes.key(all[index]) };
        self.load_leaves(count, wanted, |_, _| false, |_, _| ());
        count
    }
}

fn is_add(write: &Write) -> bool {
    matches!(write.kind, WriteKind::Put | WriteKind::PutOverflow)
}

/// Bytes of these records that a leaf takes at least between two splits.
fn split_after(writes: &WriteSet) -> usize {
    let adds = writes.iter().filter(|write| is_add(write));
    let bytes = adds.map(|write| writes.key(write).len() + writes.change(write).value.len());
    SPLIT_AFTER - bytes.max().unwrap_or(0).min(LONGEST_RECORD)
}

/// Bytes of a leaf that a write takes.
fn added(node: Node<'_>, writes: &WriteSet, write: &Write) -> usize {
    let (key, value) = (writes.key(write), writes.change(write).value);
    match node.search(key) {
        (index, true) => value.len().saturating_sub(node.slot(index).value_len()),
        (_, false) => SLOT + key.len() + value.len(),
    }
}
