//! Flushes of the device below, in their order.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Device, DeviceError};

/// Numbers of flushes: whether one that began after some moment is done.
#[derive(Default)]
pub(super) struct Flushes {
    begun: AtomicU64,
    /// The latest one that is done.
    done: AtomicU64,
}

impl Flushes {
    /// The number of the next flush to begin.
    pub(super) fn next(&self) -> u64 {
        self.begun.load(Ordering::SeqCst) + 1
    }

    /// True if this flush or a later one is done.
    pub(super) fn has_done(&self, number: u64) -> bool {
        assert!(number <= self.next(), "a flush that is awaited is at most the next one");
        self.done.load(Ordering::SeqCst) >= number
    }

    pub(super) fn flush(&self, device: &dyn Device) -> Result<(), DeviceError> {
        let number = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
        device.flush()?;
        self.done.fetch_max(number, Ordering::SeqCst);
        Ok(())
    }
}
