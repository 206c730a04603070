//! Values that belong to one process.

use std::mem::ManuallyDrop;
use std::process;

use crate::error::{Failure, Result};

/// Something with threads and locks, which a process that was made by `fork` does not have: the
/// threads are not there, and a lock that one of them held is never released.
pub struct OfProcess<T> {
    what: &'static str,
    process: u32,
    value: ManuallyDrop<T>,
}

impl<T> OfProcess<T> {
    /// Of this process; `what` it is, with its article.
    pub fn new(what: &'static str, value: T) -> Self {
        OfProcess { what, process: process::id(), value: ManuallyDrop::new(value) }
    }

    /// Itself, unless this is another process.
    pub fn get(&self) -> Result<&T> {
        if self.is_here() {
            return Ok(&self.value);
        }
        let (what, opened, here) = (self.what, self.process, process::id());
        Err(Failure::new(format!(
            "{what} was opened by process {opened}, from which this one, {here}, was forked: its threads and locks \
             are not here; open it after the fork, in one process alone"
        )))
    }

    fn is_here(&self) -> bool {
        self.process == process::id()
    }
}

impl<T> Drop for OfProcess<T> {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        if self.is_here() {
            // SAFETY: this is the only drop of it, and it is not used again.
            unsafe { ManuallyDrop::drop(&mut self.value) };
        }
    }
}
