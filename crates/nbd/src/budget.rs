//! Memory that requests of a connection may take together.

use std::sync::{Condvar, Mutex, PoisonError};

/// Bytes that are given out and come back.
pub struct Budget {
    free: Mutex<usize>,
    returned: Condvar,
}

/// Bytes that come back when it is dropped.
pub struct Share<'a> {
    budget: &'a Budget,
    bytes: usize,
}

impl Budget {
    /// So many bytes.
    pub fn new(bytes: usize) -> Self {
        Budget { free: Mutex::new(bytes), returned: Condvar::new() }
    }

    /// Waits until so many bytes are free, which are no more than all.
    pub fn take(&self, bytes: usize) -> Share<'_> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let enough = self.returned.wait_while(free, |free| *free < bytes);
        *enough.unwrap_or_else(PoisonError::into_inner) -= bytes;
        Share { budget: self, bytes }
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        *self.budget.free.lock().unwrap_or_else(PoisonError::into_inner) += self.bytes;
        self.budget.returned.notify_all();
    }
}
