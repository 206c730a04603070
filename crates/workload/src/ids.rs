//! Numbers of records that workers add while others choose among those that are there.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Hands out numbers, and knows below which all records were written.
#[derive(Debug)]
pub(crate) struct Ids {
    taken: Mutex<Taken>,
    settled: AtomicU64,
}

#[derive(Debug)]
struct Taken {
    next: u64,
    /// Those that are not settled yet: few, one for each record that is being written.
    pending: Vec<u64>,
}

impl Ids {
    /// All numbers before `first` are of records that are there.
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

    /// The record of this number was written, or never will be.
    pub(crate) fn settle(&self, id: u64) {
        let mut taken = self.lock();
        taken.pending.retain(|pending| *pending != id);
        let settled = taken.pending.iter().copied().min().unwrap_or(taken.next);
        self.settled.store(settled, Ordering::Release);
    }

    /// The records of all numbers below this were written, but for those given up.
    #[inline]
    pub(crate) fn settled(&self) -> u64 {
        self.settled.load(Ordering::Acquire)
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        // Nothing in here panics between two changes that belong together.
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
