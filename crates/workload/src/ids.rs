//! Numbers of records: workers add records while others choose among the existing ones.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Gives out numbers, and knows the number below which all records are written.
#[derive(Debug)]
pub(crate) struct Ids {
    taken: Mutex<Taken>,
    settled: AtomicU64,
}

#[derive(Debug)]
struct Taken {
    next: u64,
    /// Numbers that are not settled yet: few, one for each record that is being written.
    pending: Vec<u64>,
}

impl Ids {
    /// Records with numbers below `first` exist already.
    pub(crate) fn from(first: u64) -> Ids {
        let taken = Taken { next: first, pending: Vec::with_capacity(64) };
        Ids { taken: Mutex::new(taken), settled: AtomicU64::new(first) }
    }

    /// A number that no other caller gets.
    pub(crate) fn take(&self) -> u64 {
        let mut taken = self.lock();
        let id = taken.next;
        taken.next += 1;
        taken.pending.push(id);
        id
    }

    /// Settles a number: its record was written, or never will be.
    pub(crate) fn settle(&self, id: u64) {
        let mut taken = self.lock();
        assert!(taken.pending.contains(&id), "a number is settled once, after it was taken");
        taken.pending.retain(|pending| *pending != id);
        let settled = taken.pending.iter().copied().min().unwrap_or(taken.next);
        self.settled.store(settled, Ordering::Release);
    }

    /// The number below which all records are written, except those given up.
    #[inline]
    pub(crate) fn settled(&self) -> u64 {
        self.settled.load(Ordering::Acquire)
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        // The data are consistent even after a panic: no code here panics between two related
        // changes.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_settle_in_their_order() {
        let ids = Ids::from(10);
        assert_eq!((ids.take(), ids.take(), ids.take()), (10, 11, 12));
        assert_eq!(ids.settled(), 10);
        ids.settle(11);
        assert_eq!(ids.settled(), 10);
        ids.settle(10);
        assert_eq!(ids.settled(), 12);
        ids.settle(12);
        assert_eq!(ids.settled(), 13);
    }
}
