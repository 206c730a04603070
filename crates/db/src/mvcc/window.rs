//! The log records whose changes are complete, and the validation of serializable transactions.
//!
//! A serializable transaction is committed only if no commit between its snapshot and its own
//! position wrote what it read: then it is as if it had happened at that position, all at once. Its
//! reads are known as keys and ranges, and are compared with the keys that were written (precision
//! locking: Neumann, Muehlbauer and Kemper, SIGMOD 2015, section 2.3). That happens under the lock
//! that orders the log, so that no commit comes between the comparison and the position; all but
//! the last few commits have been looked at before.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::*};

use parking_lot::{Mutex, MutexGuard};

use super::commit_history::{CommitHistory, Keys};
use super::{ReadSet, WriteSet};
use crate::DbError;
use crate::backoff::Backoff;

/// Records that are in the log, and whose changes are not all in the trees yet.
pub(crate) struct CommitWindow {
    records: Mutex<Records>,
    /// All records up to here are complete.
    complete: AtomicU64,
    /// While the log is replayed: the last record that was.
    replayed: AtomicU64,
}

struct Records {
    /// In the order of the log.
    open: VecDeque<Open>,
    recent: CommitHistory,
}

/// A record that is not known to be complete, or behind one that is not.
struct Open {
    position: u64,
    is_complete: bool,
    /// None if it is no commit's.
    writes: Option<Arc<WriteSet>>,
}

/// A record in the log; complete when this is dropped, unless it was
/// [abandoned](PendingCommit::abandon).
pub(crate) struct PendingCommit<'w> {
    window: &'w CommitWindow,
    position: u64,
    is_abandoned: bool,
}

/// The reads of a serializable transaction. As long as it lives, the keys of commits are kept.
pub(crate) struct Reads<'w> {
    window: &'w CommitWindow,
    /// Commits behind this position are kept.
    begin: u64,
    set: Mutex<ReadSet>,
}

/// Reads of a transaction that no commit up to `position` changed.
#[derive(Clone, Copy)]
pub(crate) struct Validated<'r> {
    reads: &'r Reads<'r>,
    position: u64,
}

impl CommitWindow {
    /// A window behind which everything is complete once it is replayed, and that keeps at most
    /// about `most_bytes` of keys for serializable transactions.
    pub(crate) fn new(position: u64, most_bytes: u64) -> Self {
        let records = Records { open: VecDeque::new(), recent: CommitHistory::new(most_bytes) };
        CommitWindow {
            records: Mutex::new(records),
            complete: AtomicU64::new(position),
            replayed: AtomicU64::new(0),
        }
    }

    /// The log is replayed up to here; the largest number if all of it is.
    pub(crate) fn replayed(&self, position: u64) {
        self.replayed.store(position, Release);
    }

    /// True until all of the log is replayed.
    pub(crate) fn is_replaying(&self) -> bool {
        self.replayed.load(Acquire) != u64::MAX
    }

    /// Changes of records up to here are in the pages.
    #[inline]
    pub(crate) fn included(&self) -> u64 {
        self.complete().min(self.replayed.load(Acquire))
    }

    fn records(&self) -> MutexGuard<'_, Records> {
        self.records.lock()
    }

    /// A record that is no commit's gets its position; called in the order of the log.
    pub(crate) fn enter(&self, position: u64) -> PendingCommit<'_> {
        self.push(&mut self.records(), position, None)
    }

    /// A commit gets its position; called in the order of the log.
    ///
    /// # Errors
    /// As for [`Reads::validate`]: what it read was changed, and the position is not taken.
    pub(crate) fn enter_commit(
        &self,
        position: u64,
        writes: &Arc<WriteSet>,
        reads: Option<Validated<'_>>,
    ) -> Result<PendingCommit<'_>, DbError> {
        let mut records = self.records();
        if let Some(validated) = reads {
            records.validate(validated)?;
        }
        Ok(self.push(&mut records, position, Some(writes.clone())))
    }

    fn push(
        &self,
        records: &mut Records,
        position: u64,
        writes: Option<Arc<WriteSet>>,
    ) -> PendingCommit<'_> {
        assert!(
            records.open.back().is_none_or(|last| last.position < position),
            "records enter in the order of the log"
        );
        records.open.push_back(Open { position, is_complete: false, writes });
        PendingCommit { window: self, position, is_abandoned: false }
    }

    /// Begins to keep the keys of commits, for the reads of a transaction whose snapshot is taken
    /// after this.
    pub(crate) fn reads(&self) -> Reads<'_> {
        let mut records = self.records();
        // With the lock held: no commit becomes complete between this position and the note of it.
        let begin = self.complete();
        records.recent.begin(begin);
        Reads { window: self, begin, set: Mutex::default() }
    }

    /// All records up to here are complete: the position of a snapshot that begins now.
    #[inline]
    pub(crate) fn complete(&self) -> u64 {
        self.complete.load(SeqCst)
    }

    /// Records from here on may not be complete.
    pub(crate) fn first_open(&self) -> Option<u64> {
        self.records().open.front().map(|record| record.position)
    }

    /// Records up to here may not be complete.
    pub(crate) fn last_open(&self) -> Option<u64> {
        self.records().open.back().map(|record| record.position)
    }

    /// Waits until all records up to `position` are complete; false if `is_in_vain` says that the
    /// thread of one of them has failed.
    pub(crate) fn wait(&self, position: u64, is_in_vain: impl Fn() -> bool) -> bool {
        let mut backoff = Backoff::default();
        while self.complete() < position {
            if is_in_vain() {
                return false;
            }
            backoff.pause();
        }
        true
    }
}

impl Records {
    /// Compares the reads with the commits that were not looked at yet.
    fn validate(&self, validated: Validated<'_>) -> Result<(), DbError> {
        let reads = validated.reads.set.lock();
        let mut recent = self.since(validated.position)?;
        let writes = self.open.iter().filter_map(|record| record.writes.as_ref());
        let mut open = writes.flat_map(|writes| writes.iter().map(move |write| (writes, write)));
        let is_changed = recent.any(|(_, keys)| keys.meet(&reads))
            || open.any(|(writes, write)| reads.covers(write.tree, writes.key(write)));
        if is_changed { Err(DbError::Conflict) } else { Ok(()) }
    }

    /// Complete commits behind a position.
    fn since(&self, position: u64) -> Result<impl Iterator<Item = &(u64, Arc<Keys>)>, DbError> {
        let most = self.recent.most_bytes();
        self.recent.since(position).ok_or(DbError::SnapshotTooOld { most })
    }
}

impl Reads<'_> {
    /// A key was looked for.
    pub(crate) fn read(&self, tree: u32, key: &[u8]) {
        self.set.lock().read(tree, key);
    }

    /// A scan begins; its number.
    pub(crate) fn scan(&self, tree: u32, bound: Option<&[u8]>, forward: bool) -> usize {
        self.set.lock().scan(tree, bound, forward)
    }

    /// A scan gave the record of a key, or came to its end.
    pub(crate) fn reach(&self, scan: usize, key: Option<&[u8]>) {
        self.set.lock().reach(scan, key);
    }

    /// Nothing more is read: compares the reads with the commits behind the transaction's snapshot
    /// that are complete, before the log is locked for those that come after.
    ///
    /// # Errors
    /// [`DbError::Conflict`] if one wrote what was read; [`DbError::SnapshotTooOld`] if so many
    /// keys were written that not all were kept.
    pub(crate) fn validate(&self, snapshot: u64) -> Result<Validated<'_>, DbError> {
        let mut reads = self.set.lock();
        reads.seal();
        let commits: Vec<_> = self.window.records().since(snapshot)?.cloned().collect();
        if commits.iter().any(|(_, keys)| keys.meet(&reads)) {
            return Err(DbError::Conflict);
        }
        let position = commits.last().map_or(snapshot, |(position, _)| *position);
        debug_assert!(position >= snapshot, "commits behind the snapshot were compared");
        drop(reads);
        Ok(Validated { reads: self, position })
    }
}

impl Drop for Reads<'_> {
    fn drop(&mut self) {
        self.window.records().recent.end(self.begin);
    }
}

impl PendingCommit<'_> {
    /// The record's position.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// The changes of the record can't all be made: neither it nor a record behind it ever counts
    /// as complete.
    pub(crate) fn abandon(mut self) {
        self.is_abandoned = true;
    }
}

impl Drop for PendingCommit<'_> {
    fn drop(&mut self) {
        if self.is_abandoned {
            return;
        }
        let mut guard = self.window.records();
        let records = &mut *guard;
        let of = |record: &Open| record.position;
        debug_assert!(records.open.binary_search_by_key(&self.position, of).is_ok());
        if let Ok(index) = records.open.binary_search_by_key(&self.position, of) {
            records.open[index].is_complete = true;
        }
        while let Some(record) = records.open.pop_front_if(|record| record.is_complete) {
            if let Some(writes) = &record.writes {
                records.recent.complete(record.position, writes);
            }
            // The owner takes its writes back as soon as it sees that they are complete.
            drop(record.writes);
            debug_assert!(self.window.complete() <= record.position, "completeness goes back");
            self.window.complete.store(record.position, SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mvcc::WriteKind;

    #[test]
    fn records_count_as_complete_in_the_order_of_the_log() {
        let window = CommitWindow::new(5, 1 << 20);
        let (a, b, c) = (window.enter(10), window.enter(20), window.enter(30));
        drop(b);
        assert_eq!((window.complete(), window.first_open()), (5, Some(10)));
        assert_eq!(window.last_open(), Some(30));
        drop(a);
        assert_eq!((window.complete(), window.first_open()), (20, Some(30)));
        drop(c);
        assert_eq!((window.complete(), window.first_open()), (30, None));
    }

    #[test]
    fn nothing_is_included_before_it_was_replayed() {
        let window = CommitWindow::new(5, 1 << 20);
        drop(window.enter(10));
        window.replayed(3);
        assert_eq!((window.complete(), window.included()), (10, 3));
        window.replayed(u64::MAX);
        assert_eq!(window.included(), 10);
    }

    #[test]
    fn nobody_waits_for_a_record_whose_transaction_failed() {
        let window = CommitWindow::new(5, 1 << 20);
        window.enter(10).abandon();
        drop(window.enter(20));
        assert!(window.wait(5, || true));
        assert!(!window.wait(20, || true));
    }

    fn put(keys: &[&str]) -> Arc<WriteSet> {
        let mut set = WriteSet::default();
        for key in keys {
            set.set(1, key.as_bytes(), WriteKind::Put, b"value");
        }
        Arc::new(set)
    }

    fn commit<'w>(window: &'w CommitWindow, position: u64, key: &str) -> PendingCommit<'w> {
        window.enter_commit(position, &put(&[key]), None).unwrap_or_else(|_| unreachable!())
    }

    /// True if a transaction that read `x` is in the way of commits since its snapshot.
    fn conflicts(window: &CommitWindow, reads: &Reads<'_>, snapshot: u64) -> bool {
        let entered = reads
            .validate(snapshot)
            .and_then(|valid| window.enter_commit(1000, &put(&["y"]), Some(valid)).map(drop));
        assert!(matches!(entered, Ok(()) | Err(DbError::Conflict)));
        entered.is_err()
    }

    #[test]
    fn reads_are_compared_with_commits_complete_or_not_since_the_snapshot() {
        // Of another key, of the same; before the snapshot, complete, not yet complete.
        for (key, expected) in [("w", [false; 3]), ("x", [false, true, true])] {
            for (when, conflict) in expected.into_iter().enumerate() {
                let window = CommitWindow::new(5, 1 << 20);
                let (before, _older) = (window.enter(6), window.reads());
                let early = commit(&window, 10, if when == 0 { key } else { "a" });
                drop((before, early));
                let reads = window.reads();
                reads.read(1, b"x");
                let complete = commit(&window, 20, if when == 1 { key } else { "b" });
                drop(complete);
                let open = commit(&window, 30, if when == 2 { key } else { "c" });
                assert_eq!(conflicts(&window, &reads, 10), conflict, "{key} {when}");
                drop(open);
            }
        }
    }

    #[test]
    fn commits_that_were_on_their_way_when_the_reads_began_count() {
        let window = CommitWindow::new(5, 1 << 20);
        let open = commit(&window, 10, "x");
        let reads = window.reads();
        reads.read(1, b"x");
        drop(open);
        assert!(conflicts(&window, &reads, 5));
        let later = window.reads();
        later.read(1, b"x");
        assert!(!conflicts(&window, &later, 10));
    }

    #[test]
    fn keys_of_commits_are_kept_as_long_as_a_transaction_needs_them() {
        let window = CommitWindow::new(5, 1 << 20);
        let kept = || window.records().recent.since(0).map(|commits| commits.count());
        drop(commit(&window, 10, "x"));
        assert_eq!(kept(), Some(0));
        let first = window.reads();
        drop(commit(&window, 20, "x"));
        let second = window.reads();
        drop(commit(&window, 30, "x"));
        assert_eq!(kept(), Some(2));
        drop(first);
        assert_eq!(kept(), Some(1));
        drop(second);
        assert_eq!(kept(), Some(0));
    }

    #[test]
    fn a_transaction_whose_commits_were_not_all_kept_is_too_old() {
        let window = CommitWindow::new(5, 500);
        let (old, most) = (window.reads(), 500);
        (1..100).for_each(|n| drop(commit(&window, 10 * n, "x")));
        let refused = old.validate(5).map(drop);
        assert!(matches!(refused, Err(DbError::SnapshotTooOld { most: m }) if m == most));
        assert!(window.records().recent.since(0).is_none());
        assert!(window.reads().validate(990).is_ok());
    }
}
