//! The log records whose changes are complete.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::*};

use parking_lot::{Mutex, MutexGuard};

use crate::backoff::Backoff;

/// Records that are in the log, and whose changes are not all in the trees yet.
pub struct CommitWindow {
    /// In the order of the log: positions, and whether the record is complete.
    open: Mutex<VecDeque<(u64, bool)>>,
    /// All records up to here are complete.
    complete: AtomicU64,
    /// While the log is replayed: the last record that was.
    replayed: AtomicU64,
}

/// A record in the log; complete when this is dropped, unless it was [abandoned](InLog::abandon).
pub struct InLog<'w> {
    window: &'w CommitWindow,
    position: u64,
    is_abandoned: bool,
}

impl CommitWindow {
    /// A window behind which everything is complete once it is replayed.
    pub fn new(position: u64) -> Self {
        let (complete, replayed) = (AtomicU64::new(position), AtomicU64::new(0));
        CommitWindow { open: Mutex::default(), complete, replayed }
    }

    /// The log is replayed up to here; the largest number if all of it is.
    pub fn replayed(&self, position: u64) {
        self.replayed.store(position, Release);
    }

    /// Changes of records up to here are in the pages.
    #[inline]
    pub fn included(&self) -> u64 {
        self.complete().min(self.replayed.load(Acquire))
    }

    fn open(&self) -> MutexGuard<'_, VecDeque<(u64, bool)>> {
        self.open.lock()
    }

    /// A record was appended to the log; called in the order of the log.
    pub fn enter(&self, position: u64) -> InLog<'_> {
        self.open().push_back((position, false));
        InLog { window: self, position, is_abandoned: false }
    }

    /// All records up to here are complete: the position of a snapshot that begins now.
    #[inline]
    pub fn complete(&self) -> u64 {
        self.complete.load(SeqCst)
    }

    /// Records from here on may not be complete.
    pub fn first_open(&self) -> Option<u64> {
        self.open().front().map(|&(position, _)| position)
    }

    /// Waits until all records up to `position` are complete; false if `is_in_vain` says that the
    /// thread of one of them has failed.
    pub fn wait(&self, position: u64, is_in_vain: impl Fn() -> bool) -> bool {
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

impl InLog<'_> {
    /// The record's position.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The changes of the record can't all be made: neither it nor a record behind it ever counts
    /// as complete.
    pub fn abandon(mut self) {
        self.is_abandoned = true;
    }
}

impl Drop for InLog<'_> {
    fn drop(&mut self) {
        if self.is_abandoned {
            return;
        }
        let mut open = self.window.open();
        if let Ok(index) = open.binary_search_by_key(&self.position, |&(position, _)| position) {
            open[index].1 = true;
        }
        while let Some(&(position, true)) = open.front() {
            open.pop_front();
            self.window.complete.store(position, SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_count_as_complete_in_the_order_of_the_log() {
        let window = CommitWindow::new(5);
        let (a, b, c) = (window.enter(10), window.enter(20), window.enter(30));
        drop(b);
        assert_eq!((window.complete(), window.first_open()), (5, Some(10)));
        drop(a);
        assert_eq!((window.complete(), window.first_open()), (20, Some(30)));
        drop(c);
        assert_eq!((window.complete(), window.first_open()), (30, None));
    }

    #[test]
    fn nothing_is_included_before_it_was_replayed() {
        let window = CommitWindow::new(5);
        drop(window.enter(10));
        window.replayed(3);
        assert_eq!((window.complete(), window.included()), (10, 3));
        window.replayed(u64::MAX);
        assert_eq!(window.included(), 10);
    }

    #[test]
    fn nobody_waits_for_a_record_whose_transaction_failed() {
        let window = CommitWindow::new(5);
        window.enter(10).abandon();
        drop(window.enter(20));
        assert!(window.wait(5, || true));
        assert!(!window.wait(20, || true));
    }
}
