//! Ghosts: what stays of a deleted record while a snapshot may see it.

use super::Trees;
use super::find::Leaf;
use crate::DbError;
use crate::pool::ExclusiveGuard;

impl Trees {
    /// Removes the ghost of a record that was deleted before every snapshot in use. An error leaves
    /// the tree whole, with or without the ghost.
    pub(crate) fn purge(&self, tree: u32, key: &[u8]) -> Result<(), DbError> {
        loop {
            // The page gets the deletion later, and is visited then.
            let leaf = self.leaf_unless(tree, key, |leaf| leaf.has_waiting(key).then_some(()))?;
            let Leaf::InMemory(seen) = leaf else { return Ok(()) };
            let Some(mut held) = seen.lock() else { continue };
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

    /// Removes the ghosts that no snapshot sees from the leaf that a key belongs to.
    pub(super) fn remove_ghosts(&self, tree: u32, key: &[u8]) -> Result<(), DbError> {
        loop {
            let Some(mut held) = self.leaf(tree, key)?.lock() else { continue };
            let (mut key, mut is_changed) = (Vec::new(), false);
            for index in (0..held.node().count()).rev() {
                if held.node().slot(index).is_ghost() {
                    key.clear();
                    held.node().key(index, &mut key);
                    is_changed |= self.remove_ghost(&mut held, index, &key);
                }
            }
            match is_changed {
                true => held.changed_unlogged(),
                false => held.leave_unchanged(),
            }
            return Ok(());
        }
    }
}
