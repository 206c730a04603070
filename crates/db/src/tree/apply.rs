//! Writes of transactions, in leaves.

use super::Trees;
use super::find::Leaf;
use crate::DbError;
use crate::mvcc::{Change, Lookup, WriteKind};
use crate::node::{Node, NodeMut, OVERFLOW, Record, Slot};
use crate::pool::{CachedFrame, ExclusiveGuard};

impl Trees {
    /// Makes the change of a record that the log has at `position`. Calls `keep` with a function
    /// that appends the old value, before the change is visible. `cached` is the frame in which the
    /// leaf was of late.
    pub(crate) fn apply(
        &self,
        tree: u32,
        key: &[u8],
        change: Change<'_>,
        position: u64,
        mut cached: Option<CachedFrame>,
        mut keep: impl FnMut(&mut dyn FnMut(&mut Vec<u8>) -> Lookup),
    ) -> Result<(), DbError> {
        let mut was_absent = false;
        loop {
            let leaf = self.leaf_at(cached.take(), tree, key, |leaf| {
                was_absent = true;
                leaf.change(key, change, position, &mut keep).then_some(())
            })?;
            let Leaf::InMemory(seen) = leaf else { return Ok(()) };
            let Some(mut held) = seen.lock() else { continue };
            if was_absent {
                self.pool.note_record(held.page(), key);
            }
            let (index, found) = held.node().search(key);
            let slot = found.then(|| held.node().slot(index));
            if !has_room(&mut held, key, slot, change) {
                held.leave_unchanged();
                drop(held);
                self.make_room(tree, key, change)?;
                continue;
            }
            keep(&mut |value: &mut Vec<u8>| before(held.node(), slot, value));
            let room = held.node().room();
            match change_leaf(&mut held.edit(), index, found, key, change) {
                true => {
                    held.changed_by(position);
                    // A deleted record still has a ghost; a visit is worth while when that is
                    // removed.
                    if change.kind != WriteKind::Delete {
                        self.visits.note_sunk(&held, room);
                    }
                }
                false => held.leave_unchanged(),
            }
            return Ok(());
        }
    }

    /// Removes the ghost of a record that was deleted before every snapshot in use. An error leaves
    /// the tree whole, with or without the ghost.
    pub(crate) fn purge(&self, tree: u32, key: &[u8]) -> Result<(), DbError> {
        loop {
            let Some(mut held) = self.leaf(tree, key)?.lock() else { continue };
            let (index, found) = held.node().search(key);
            // It may have been written again, and perhaps deleted again.
            match found && self.remove_ghost(&mut held, index, key) {
                true => held.changed_unlogged(),
                false => held.leave_unchanged(),
            }
            return Ok(());
        }
    }

    /// Removes what a slot has, if it is a ghost that no snapshot sees.
    pub(super) fn remove_ghost(
        &self,
        held: &mut ExclusiveGuard<'_>,
        index: usize,
        key: &[u8],
    ) -> bool {
        let node = held.node();
        let (tree, room) = (node.tree(), node.room());
        if !node.slot(index).is_ghost() || self.versions.has(tree, key) {
            return false;
        }
        held.edit().remove(index);
        self.visits.note_sunk(held, room);
        true
    }
}

fn has_room(
    held: &mut ExclusiveGuard<'_>,
    key: &[u8],
    slot: Option<Slot>,
    change: Change<'_>,
) -> bool {
    match (change.kind, slot) {
        (WriteKind::Delete | WriteKind::Patch, _) => true,
        (WriteKind::Put | WriteKind::PutOverflow, Some(slot)) => {
            held.node().room() + slot.value_len() >= change.value.len()
        }
        (WriteKind::Put | WriteKind::PutOverflow, None) => {
            held.edit().fits(key.len(), change.value.len())
        }
    }
}

/// Appends the record's value, or the reference to its pieces, to `value`.
fn before(node: Node<'_>, slot: Option<Slot>, value: &mut Vec<u8>) -> Lookup {
    let Some(slot) = slot.filter(|slot| !slot.is_ghost()) else { return Lookup::Nothing };
    node.value(slot, value);
    if slot.is_overflow() { Lookup::Overflow } else { Lookup::Value }
}

/// Changes the leaf, which has room. False if there is nothing to change.
fn change_leaf(
    leaf: &mut NodeMut<'_>,
    index: usize,
    found: bool,
    key: &[u8],
    change: Change<'_>,
) -> bool {
    let flags = if change.kind == WriteKind::PutOverflow { OVERFLOW } else { 0 };
    let record = Record { value: change.value, flags };
    match (change.kind, found) {
        (WriteKind::Put | WriteKind::PutOverflow, true) => {
            leaf.set_value(index, key, record);
        }
        (WriteKind::Put | WriteKind::PutOverflow, false) => {
            leaf.insert(index, key, record);
        }
        (WriteKind::Delete, true) => {
            leaf.bury(index);
        }
        (WriteKind::Patch, true) if !leaf.node().slot(index).is_overflow() => {
            change.patches().for_each(|(at, bytes)| leaf.patch(index, at, bytes));
        }
        (WriteKind::Delete | WriteKind::Patch, _) => return false,
    }
    true
}
