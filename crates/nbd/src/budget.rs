//! The memory that all requests of a connection may take together.

use std::sync::{Condvar, Mutex, PoisonError};

/// Bytes that are given out and returned.
pub(crate) struct Budget {
    all: usize,
    free: Mutex<usize>,
    returned: Condvar,
}

/// A share of the budget, returned when it is dropped.
pub(crate) struct Share<'a> {
    budget: &'a Budget,
    bytes: usize,
}

impl Budget {
    /// A budget of `bytes` bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        Budget { all: bytes, free: Mutex::new(bytes), returned: Condvar::new() }
    }

    /// Waits until `bytes` bytes are free, and takes them. `bytes` must not exceed the budget.
    pub(crate) fn take(&self, bytes: usize) -> Share<'_> {
        assert!(bytes <= self.all, "a share that is larger than the budget never comes");
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let enough = self.returned.wait_while(free, |free| *free < bytes);
        *enough.unwrap_or_else(PoisonError::into_inner) -= bytes;
        Share { budget: self, bytes }
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        let mut free = self.budget.free.lock().unwrap_or_else(PoisonError::into_inner);
        *free += self.bytes;
        debug_assert!(*free <= self.budget.all, "a share is returned once");
        drop(free);
        self.budget.returned.notify_all();
    }
}
