//! The snapshots in use, and the versions that are kept for each.
//!
//! A version is the state of a record from one commit up to the next that wrote it. A snapshot
//! between the two sees it. Each version is kept for the newest snapshot that sees it. When that
//! one ends, the version goes to the next older snapshot if that sees it too, and else it is not
//! needed: no other snapshot can see it, and none that begins later.

use std::collections::VecDeque;

/// A version that was replaced: its key in the table of versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RetainedVersion {
    /// The hash of its record.
    pub hash: u64,
    /// Log position of the commit that wrote it: no snapshot before that sees it.
    pub from: u64,
    /// Log position of the commit that replaced it: no snapshot from there on sees it.
    pub until: u64,
    /// The index of the write that replaced it, in that commit.
    pub write: u32,
    /// Bytes of memory that it takes, about.
    pub memory: u32,
}

/// The snapshots in use, in ascending order.
#[derive(Default)]
pub(super) struct Snapshots {
    all: VecDeque<InUse>,
}

/// A snapshot in use.
struct InUse {
    position: u64,
    /// Transactions that use it.
    users: usize,
    /// Versions of which it is the newest to see them.
    kept: Vec<RetainedVersion>,
}

impl Snapshots {
    /// One more transaction uses the snapshot at a position, which is not before any other's.
    pub(super) fn begin(&mut self, position: u64) {
        assert!(
            self.all.back().is_none_or(|newest| newest.position <= position),
            "snapshots begin in the order of the log"
        );
        match self.all.back_mut() {
            Some(newest) if newest.position == position => newest.users += 1,
            _ => self.all.push_back(InUse { position, users: 1, kept: Vec::new() }),
        }
    }

    /// One more transaction uses the snapshot at a position that one uses. It may have been ended.
    pub(super) fn share(&mut self, position: u64) {
        if let Ok(index) = self.all.binary_search_by_key(&position, |one| one.position) {
            assert!(self.all[index].users > 0, "a snapshot has a user");
            self.all[index].users += 1;
        }
    }

    /// A transaction that used the snapshot at a position has ended. Appends the
    /// versions that are no longer needed to `unseen`.
    pub(super) fn end(&mut self, position: u64, unseen: &mut Vec<RetainedVersion>) {
        // It is not there if it was ended before.
        let Ok(index) = self.all.binary_search_by_key(&position, |one| one.position) else {
            return;
        };
        assert!(self.all[index].users > 0, "a snapshot has a user");
        self.all[index].users -= 1;
        if self.all[index].users == 0 {
            self.remove(index, unseen);
        }
    }

    /// Ends the oldest snapshot although it is in use, and returns its position. Appends the
    /// versions that are no longer needed to `unseen`.
    pub(super) fn end_oldest(&mut self, unseen: &mut Vec<RetainedVersion>) -> Option<u64> {
        let oldest = self.oldest()?;
        self.remove(0, unseen);
        Some(oldest)
    }

    fn remove(&mut self, index: usize, unseen: &mut Vec<RetainedVersion>) {
        let Some(ended) = self.all.remove(index) else { return };
        let mut older = index.checked_sub(1).and_then(|older| self.all.get_mut(older));
        for version in ended.kept {
            match &mut older {
                Some(older) if older.position >= version.from => older.kept.push(version),
                _ => unseen.push(version),
            }
        }
    }

    /// Keeps a version for the newest snapshot that sees it; false if none does. The commit that
    /// replaced it is complete: no snapshot that begins later sees it.
    pub(super) fn keep(&mut self, version: RetainedVersion) -> bool {
        assert!(version.from <= version.until, "a version is replaced after it was written");
        let behind = self.all.partition_point(|one| one.position < version.until);
        let newest = behind.checked_sub(1).and_then(|newest| self.all.get_mut(newest));
        match newest.filter(|newest| newest.position >= version.from) {
            Some(newest) => {
                newest.kept.push(version);
                true
            }
            None => false,
        }
    }

    /// The position of the oldest snapshot in use.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.all.front().map(|oldest| oldest.position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(from: u64, until: u64) -> RetainedVersion {
        RetainedVersion { hash: 0, from, until, write: 0, memory: 0 }
    }

    #[test]
    fn only_versions_that_a_snapshot_sees_are_kept() {
        let mut all = Snapshots::default();
        assert!(!all.keep(version(0, 5)), "no snapshot is in use");
        [10, 20].into_iter().for_each(|at| all.begin(at));
        let kept = [(0, 10), (0, 11), (10, 20), (11, 20), (11, 21), (20, 30), (21, 30)]
            .map(|(from, until)| all.keep(version(from, until)));
        assert_eq!(kept, [false, true, true, false, true, true, false]);
    }

    #[test]
    fn versions_go_to_the_next_older_snapshot_that_sees_them() {
        let mut all = Snapshots::default();
        [10, 10, 20, 30].into_iter().for_each(|at| all.begin(at));
        let versions = [version(5, 40), version(15, 40), version(25, 40)];
        assert!(versions.into_iter().all(|version| all.keep(version)));
        let mut unseen = Vec::new();
        all.end(30, &mut unseen);
        assert_eq!(unseen, [versions[2]]);
        all.end(20, &mut unseen);
        assert_eq!(unseen, [versions[2], versions[1]]);
        all.end(10, &mut unseen);
        assert_eq!((unseen.len(), all.oldest()), (2, Some(10)), "another transaction uses it");
        assert_eq!(all.end_oldest(&mut unseen), Some(10));
        assert_eq!((unseen[2], all.oldest()), (versions[0], None));
        all.end(10, &mut unseen);
        assert_eq!(unseen.len(), 3);
    }
}
