//! Statistics of the requests to a device.

use std::io::IoSlice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Device, DeviceError, Geometry, ZoneInfo, ZoneRead};

/// Counts of the operations on a device. Operations that the device refused, or that failed, count
/// only as errors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeviceCounts {
    /// Appends.
    pub appends: u64,
    /// Bytes appended.
    pub appended_bytes: u64,
    /// Reads.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Resets.
    pub resets: u64,
    /// Finishes.
    pub finishes: u64,
    /// Flushes.
    pub flushes: u64,
    /// Operations that failed.
    pub errors: u64,
}

/// A device that counts its operations and passes them on.
pub struct Counted {
    inner: Arc<dyn Device>,
    appends: AtomicU64,
    appended_bytes: AtomicU64,
    reads: AtomicU64,
    read_bytes: AtomicU64,
    resets: AtomicU64,
    finishes: AtomicU64,
    flushes: AtomicU64,
    errors: AtomicU64,
}

impl Counted {
    /// Wraps a device; all counts are 0.
    pub fn new(inner: Arc<dyn Device>) -> Self {
        Counted {
            inner,
            appends: AtomicU64::new(0),
            appended_bytes: AtomicU64::new(0),
            reads: AtomicU64::new(0),
            read_bytes: AtomicU64::new(0),
            resets: AtomicU64::new(0),
            finishes: AtomicU64::new(0),
            flushes: AtomicU64::new(0),
            errors: AtomicU64::new(0),
        }
    }

    /// The counts since the device was wrapped. They are exact when no operation is under way.
    pub fn counts(&self) -> DeviceCounts {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        DeviceCounts {
            appends: get(&self.appends),
            appended_bytes: get(&self.appended_bytes),
            reads: get(&self.reads),
            read_bytes: get(&self.read_bytes),
            resets: get(&self.resets),
            finishes: get(&self.finishes),
            flushes: get(&self.flushes),
            errors: get(&self.errors),
        }
    }

    fn count<T>(&self, result: Result<T, DeviceError>, of: &AtomicU64) -> Result<T, DeviceError> {
        if result.is_ok() { of } else { &self.errors }.fetch_add(1, Ordering::Relaxed);
        result
    }
}

impl Device for Counted {
    fn geometry(&self) -> &Geometry {
        self.inner.geometry()
    }

    fn report(&self, first: u32, count: u32) -> Result<Vec<ZoneInfo>, DeviceError> {
        self.inner.report(first, count)
    }

    fn append_vectored(
        &self,
        zone: u32,
        at: u64,
        parts: &[IoSlice<'_>],
    ) -> Result<(), DeviceError> {
        self.count(self.inner.append_vectored(zone, at, parts), &self.appends)?;
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        self.appended_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(())
    }

    fn read(&self, zone: u32, offset: u64, buffer: &mut [u8]) -> Result<(), DeviceError> {
        self.count(self.inner.read(zone, offset, buffer), &self.reads)?;
        self.read_bytes.fetch_add(buffer.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    fn read_all(&self, reads: &mut [ZoneRead<'_>]) -> Result<(), DeviceError> {
        self.count(self.inner.read_all(reads), &self.reads)?;
        self.reads.fetch_add((reads.len() as u64).wrapping_sub(1), Ordering::Relaxed);
        let bytes: usize = reads.iter().map(|read| read.buffer.len()).sum();
        self.read_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(())
    }

    fn reset(&self, zone: u32) -> Result<(), DeviceError> {
        self.count(self.inner.reset(zone), &self.resets)
    }

    fn finish(&self, zone: u32) -> Result<(), DeviceError> {
        self.count(self.inner.finish(zone), &self.finishes)
    }

    fn read_other(&self, zone: u32, at: u64, buffer: &mut [u8]) -> Result<bool, DeviceError> {
        self.inner.read_other(zone, at, buffer)
    }

    fn rebuilt_blocks(&self) -> u64 {
        self.inner.rebuilt_blocks()
    }

    fn flush(&self) -> Result<(), DeviceError> {
        self.count(self.inner.flush(), &self.flushes)
    }
}
