//! The versions that records had before, as long as a snapshot may see them, and who is about to
//! write which record.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Write, WriteSet};

/// Not committed: nobody knows yet when.
const PENDING: u64 = u64::MAX;

/// Parts of the table, each with a lock.
const PARTS: usize = 4096;

/// What a record was before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Before {
    /// There was none.
    Nothing,
    /// This value.
    Value(Arc<[u8]>),
    /// A value in pieces elsewhere; this says where.
    Pieces(Arc<[u8]>),
}

/// A version that was replaced.
struct Version {
    /// The transaction that replaces it; it has the key.
    by: Arc<WriteSet>,
    write: u32,
    /// The log position of that transaction, or [`PENDING`].
    until: u64,
    before: Before,
}

impl Version {
    fn is_of(&self, write: &Write, key: &[u8]) -> bool {
        let mine = self.by.get(self.write as usize);
        mine.hash == write.hash && mine.tree == write.tree && self.by.key(mine) == key
    }
}

/// All versions that were replaced, and may be seen.
pub struct Versions {
    parts: Box<[Mutex<Vec<Version>>]>,
}

impl Default for Versions {
    fn default() -> Self {
        Versions { parts: (0..PARTS).map(|_| Mutex::default()).collect() }
    }
}

impl Versions {
    fn part(&self, hash: u64) -> MutexGuard<'_, Vec<Version>> {
        let part = &self.parts[hash as usize % PARTS];
        part.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Claims all records that a transaction writes. False, and none is claimed, if another has
    /// claimed one, or has written one since `snapshot`: the first committer wins.
    pub fn claim(&self, writes: &Arc<WriteSet>, snapshot: u64) -> bool {
        for (index, write) in writes.iter().enumerate() {
            let mut part = self.part(write.hash);
            let key = writes.key(write);
            let is_taken = |v: &Version| v.until > snapshot && v.is_of(write, key);
            if part.iter().any(is_taken) {
                drop(part);
                self.remove(writes, index, PENDING);
                return false;
            }
            let (by, write) = (writes.clone(), index as u32);
            part.push(Version { by, write, until: PENDING, before: Before::Nothing });
        }
        true
    }

    /// Keeps what a record was before, which a transaction in the log at `position` is about to
    /// change. The record is latched.
    pub fn keep(&self, writes: &Arc<WriteSet>, index: usize, position: u64, before: Before) {
        let mut part = self.part(writes.get(index).hash);
        let mine = |v: &&mut Version| v.write as usize == index && Arc::ptr_eq(&v.by, writes);
        if let Some(version) = part.iter_mut().find(mine) {
            version.until = position;
            version.before = before;
        }
    }

    /// What `snapshot` sees of a record, if that is not what is in the tree.
    pub fn find(&self, tree: u32, key: &[u8], snapshot: u64) -> Option<Before> {
        let hash = super::writes::hash_of(tree, key);
        let part = self.part(hash);
        let seen = part.iter().filter(|v| {
            let write = v.by.get(v.write as usize);
            v.until != PENDING
                && v.until > snapshot
                && write.hash == hash
                && write.tree == tree
                && v.by.key(write) == key
        });
        seen.min_by_key(|v| v.until).map(|v| v.before.clone())
    }

    /// Forgets the versions that a transaction replaced: nobody sees them any more.
    pub fn forget(&self, writes: &Arc<WriteSet>, position: u64) {
        self.remove(writes, writes.len(), position);
    }

    /// Gives up the claims of a transaction that is not committed after all.
    pub fn give_up(&self, writes: &Arc<WriteSet>) {
        self.remove(writes, writes.len(), PENDING);
    }

    /// Removes what the first writes of a transaction left.
    fn remove(&self, writes: &Arc<WriteSet>, first: usize, until: u64) {
        for (index, write) in writes.iter().enumerate().take(first) {
            let mut part = self.part(write.hash);
            let mine = |v: &Version| {
                v.until == until && v.write as usize == index && Arc::ptr_eq(&v.by, writes)
            };
            if let Some(found) = part.iter().position(mine) {
                part.swap_remove(found);
            }
        }
    }

    /// True if no record has a version before the one in the tree.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.parts.iter().all(|part| part.lock().unwrap_or_else(PoisonError::into_inner).is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mvcc::Kind;

    fn writes(keys: &[&str]) -> Arc<WriteSet> {
        let mut set = WriteSet::default();
        for key in keys {
            set.set(1, key.as_bytes(), Kind::Put, b"new");
        }
        Arc::new(set)
    }

    #[test]
    fn the_first_committer_wins_and_the_other_leaves_nothing() {
        let versions = Versions::default();
        let (a, b) = (writes(&["x", "y"]), writes(&["z", "y"]));
        assert!(versions.claim(&a, 10));
        assert!(!versions.claim(&b, 10));
        for index in 0..2 {
            versions.keep(&a, index, 20, Before::Nothing);
        }
        assert!(!versions.claim(&b, 19));
        assert!(versions.claim(&b, 20));
        versions.forget(&b, PENDING);
        versions.forget(&a, 20);
        assert!(versions.is_empty());
    }

    #[test]
    fn each_snapshot_sees_the_version_of_its_time() {
        let versions = Versions::default();
        let value = |n: u8| Before::Value(Arc::from([n]));
        for (n, position) in [(1, 10), (2, 20), (3, 30)] {
            let set = writes(&["x"]);
            assert!(versions.claim(&set, position - 10));
            assert_eq!(versions.find(1, b"x", position), None);
            versions.keep(&set, 0, position, value(n));
        }
        let seen = [0, 9, 10, 19, 20, 29, 30].map(|at| versions.find(1, b"x", at));
        let expected = [Some(1), Some(1), Some(2), Some(2), Some(3), Some(3), None];
        assert_eq!(seen, expected.map(|n| n.map(value)));
    }
}
