//! Writes of transactions, in leaves.

use super::Trees;
use crate::DbError;
use crate::mvcc::{Change, Found, Kind};
use crate::node::{Node, NodeMut, PIECES, Record, Slot};
use crate::pool::{ExclusiveGuard, Place};

impl Trees {
    /// Does what the log record at `position` says of a record. `keep` gets what the record was
    /// before, while nobody can see that it changes. `place` is where its leaf was of late.
    pub fn apply(
        &self,
        tree: u32,
        key: &[u8],
        change: Change<'_>,
        position: u64,
        mut place: Option<Place>,
        mut keep: impl FnMut(&mut dyn FnMut(&mut Vec<u8>) -> Found),
    ) -> Result<(), DbError> {
        loop {
            let Some(mut held) = self.leaf_at(place.take(), tree, key)?.lock() else { continue };
            let (index, found) = held.node().search(key);
            let slot = found.then(|| held.node().slot(index));
            if !has_room(&mut held, key, slot, change) {
                held.leave_unchanged();
                drop(held);
                self.make_room(tree, key, change)?;
                continue;
            }
            keep(&mut |value: &mut Vec<u8>| before(held.node(), slot, value));
            match change_leaf(&mut held.edit(), index, found, key, change) {
                true => held.changed_by(position),
                false => held.leave_unchanged(),
            }
            return Ok(());
        }
    }

    /// Removes what is left of a record that was deleted before what anybody sees. An error leaves
    /// the tree whole, with or without it.
    pub fn purge(&self, tree: u32, key: &[u8]) -> Result<(), DbError> {
        let is_sparse = loop {
            let Some(mut held) = self.leaf(tree, key)?.lock() else { continue };
            let (index, found) = held.node().search(key);
            let is_ghost = found && held.node().slot(index).is_ghost();
            if !is_ghost || self.versions.has(tree, key) {
                // It was written again, and perhaps deleted again.
                held.leave_unchanged();
                return Ok(());
            }
            held.edit().remove(index);
            held.changed_unlogged();
            break held.node().is_sparse();
        };
        if is_sparse { self.merge(tree, key, 0) } else { Ok(()) }
    }
}

fn has_room(
    held: &mut ExclusiveGuard<'_>,
    key: &[u8],
    slot: Option<Slot>,
    change: Change<'_>,
) -> bool {
    match (change.kind, slot) {
        (Kind::Delete | Kind::Patch, _) => true,
        (Kind::Put | Kind::PutPieces, Some(slot)) => {
            held.node().room() + slot.value_len() >= change.value.len()
        }
        (Kind::Put | Kind::PutPieces, None) => held.edit().fits(key.len(), change.value.len()),
    }
}

/// What the record is. The value, or where its pieces are, is appended to `value`.
fn before(node: Node<'_>, slot: Option<Slot>, value: &mut Vec<u8>) -> Found {
    let Some(slot) = slot.filter(|slot| !slot.is_ghost()) else { return Found::Nothing };
    node.value(slot, value);
    if slot.is_pieces() { Found::Pieces } else { Found::Value }
}

/// Changes the leaf, which has room. False if there is nothing to change.
fn change_leaf(
    leaf: &mut NodeMut<'_>,
    index: usize,
    found: bool,
    key: &[u8],
    change: Change<'_>,
) -> bool {
    let flags = if change.kind == Kind::PutPieces { PIECES } else { 0 };
    let record = Record { value: change.value, flags };
    match (change.kind, found) {
        (Kind::Put | Kind::PutPieces, true) => {
            leaf.set_value(index, key, record);
        }
        (Kind::Put | Kind::PutPieces, false) => {
            leaf.insert(index, key, record);
        }
        (Kind::Delete, true) => {
            leaf.bury(index);
        }
        (Kind::Patch, true) if !leaf.node().slot(index).is_pieces() => {
            change.patches().for_each(|(at, bytes)| leaf.patch(index, at, bytes));
        }
        (Kind::Delete | Kind::Patch, _) => return false,
    }
    true
}
