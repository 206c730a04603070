//! Writes of transactions, in leaves.

use super::Trees;
use super::find::Leaf;
use crate::DbError;
use crate::mvcc::{Change, Lookup, WriteKind};
use crate::pool::{CachedFrame, before, change_leaf, has_room};

impl Trees {
    /// Makes the change of a record that the log has at `position`. Calls `keep` with a function
    /// that appends the old value, before the change is visible; none if the change waits for its
    /// leaf, which alone has that value. `cached` is the frame in which the leaf was of late, or the
    /// node above. Returns the page of the leaf, and its frame, or that of the node above. In recovery
    /// a leaf may have the change.
    pub(crate) fn apply(
        &self,
        tree: u32,
        key: &[u8],
        change: Change<'_>,
        position: u64,
        mut cached: Option<CachedFrame>,
        mut keep: impl FnMut(&mut dyn FnMut(&mut Vec<u8>) -> Option<Lookup>),
    ) -> Result<(u32, CachedFrame), DbError> {
        let mut was_absent = false;
        loop {
            let leaf = self.leaf_at(cached.take(), tree, key, |leaf| {
                was_absent = true;
                let memory = leaf.change(key, change, position, &mut keep)?;
                Some(((leaf.page(), leaf.above()), memory))
            })?;
            let seen = match leaf {
                Leaf::InMemory(seen) => seen,
                Leaf::Without((found, memory)) => {
                    if change.kind == WriteKind::Delete {
                        self.visits.note_shorter();
                    }
                    self.pool.make_room_for_rows(memory)?;
                    self.give_overfull();
                    return Ok(found);
                }
            };
            let Some(mut held) = seen.lock() else { continue };
            let (page, frame) = (held.page(), seen.cached_frame());
            if held.node().included() >= position {
                held.leave_unchanged();
                return Ok((page, frame));
            }
            if was_absent {
                self.pool.note_record(page, key);
            }
            let (index, found) = held.node().search(key);
            let slot = found.then(|| held.node().slot(index));
            let spare = self.spare_beside(&mut held, index, (key, slot, change));
            if !has_room(&held.edit(), key, slot, change, spare) {
                held.leave_unchanged();
                drop(held);
                self.make_room(tree, key, change, spare)?;
                continue;
            }
            keep(&mut |value: &mut Vec<u8>| Some(before(held.node(), slot, value)));
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
            return Ok((page, frame));
        }
    }
}
