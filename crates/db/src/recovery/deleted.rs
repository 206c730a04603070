//! Trees that the log deletes.
//!
//! A tree is deleted by one commit, and its pages are freed by later ones, from its smallest keys
//! on. Recovery finds it without those that are free by the end of the log. So it leaves out writes
//! to keys that were there. Those to other keys are redone: they say which long values are freed
//! with them.

use std::collections::HashMap;

use crate::layout::OVERFLOW_TREE;
use crate::overflow::{DeletedTree, HEAD, piece_number};
use crate::record::{LoggedWrite, LoggedWrites, Malformed};

/// The trees that the log deletes.
#[derive(Default)]
pub(super) struct DeletedTrees {
    /// By root, in the order of the log: another tree may get the root.
    by_root: HashMap<u32, Vec<Deletion>>,
    /// The roots by the keys of their heads.
    roots: HashMap<Vec<u8>, u32>,
}

/// The end of one tree.
struct Deletion {
    /// The position of the commit that deletes it.
    position: u64,
    /// Leaves whose keys are all below this are free; none if all are.
    from: Option<Vec<u8>>,
}

impl DeletedTrees {
    /// Notes the writes of a commit that deletes a tree.
    pub(super) fn add(&mut self, position: u64, writes: &[u8]) -> Result<(), Malformed> {
        each_head(writes, |key, tree| {
            let Some(DeletedTree { root, from, .. }) = tree else { return };
            let deletion = Deletion { position, from: Some(from) };
            self.by_root.entry(root).or_default().push(deletion);
            self.roots.insert(key.to_vec(), root);
        })
    }

    /// Notes the writes of a commit that frees pages, of such a tree perhaps.
    pub(super) fn freed(&mut self, writes: &[u8]) -> Result<(), Malformed> {
        if self.roots.is_empty() {
            return Ok(());
        }
        each_head(writes, |key, tree| {
            let deletions = self.roots.get(key).and_then(|root| self.by_root.get_mut(root));
            if let Some(deletion) = deletions.and_then(|deletions| deletions.last_mut()) {
                deletion.from = tree.map(|tree| tree.from);
            }
        })
    }

    /// True if a write that the log has at `position` is to a key whose leaf is still there.
    pub(super) fn have_leaf_of(&self, position: u64, tree: u32, key: &[u8]) -> bool {
        let mut deletions = self.by_root.get(&tree).into_iter().flatten();
        let deletion = deletions.find(|deletion| position < deletion.position);
        deletion
            .is_none_or(|Deletion { from, .. }| from.as_ref().is_some_and(|from| key >= &from[..]))
    }
}

/// Calls `see` with the key of each head among the writes, and the tree that it is of; nothing if
/// the head is deleted, or of a value.
fn each_head(
    writes: &[u8],
    mut see: impl FnMut(&[u8], Option<DeletedTree>),
) -> Result<(), Malformed> {
    let mut writes = LoggedWrites::of(writes);
    while let Some(LoggedWrite { tree, key, change }) = writes.read()? {
        let is_head = piece_number(key).is_some_and(|(number, _)| number & HEAD != 0);
        if tree == OVERFLOW_TREE && is_head {
            see(key, DeletedTree::parse(change.value));
        }
    }
    Ok(())
}
