//! A device that is as slow as a named drive.

use std::hint;
use std::io::IoSlice;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::{Device, DeviceError, Geometry, ZoneInfo, ZoneRead};

/// The speed of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drive {
    /// Time of an append in addition to the time of its bytes.
    pub append_latency: Duration,
    /// The rate of all appends together, in bytes a second; a finish fills the rest of its zone at
    /// this rate, too.
    pub append_bytes_per_second: u64,
    /// Time of a read in addition to the time of its bytes.
    pub read_latency: Duration,
    /// The rate of all reads together, in bytes a second.
    pub read_bytes_per_second: u64,
    /// The most reads in a second, however small.
    pub reads_per_second: u64,
    /// The rate at which a reset erases the bytes written, in bytes a second.
    pub reset_bytes_per_second: u64,
    /// Time of a flush.
    pub flush_latency: Duration,
}

impl Drive {
    /// Western Digital's Ultrastar DC ZN540 (ZNS, TLC flash), in round figures: bandwidths and
    /// reads a second of its class; latencies, resets and finishes after Doekemeijer and others,
    /// Performance Characterization of NVMe Flash Devices with Zoned Namespaces, CLUSTER'23
    /// (arXiv 2310.19094). The drive's buffer acknowledges writes of 4 KiB in about 11 us; a flush
    /// is assumed to cost no more than a command; a reset of a full zone of 1,077 MiB takes about
    /// 16 ms; a finish takes as long as filling the zone.
    pub const ZN540: Drive = Drive {
        append_latency: Duration::from_micros(10),
        append_bytes_per_second: 2_000_000_000,
        read_latency: Duration::from_micros(80),
        read_bytes_per_second: 3_200_000_000,
        reads_per_second: 486_000,
        reset_bytes_per_second: 70_000_000_000,
        flush_latency: Duration::from_micros(10),
    };

    /// A drive by its name in lower case: `zn540`.
    pub fn named(name: &str) -> Option<Drive> {
        (name == "zn540").then_some(Drive::ZN540)
    }

    /// Time for which a read keeps other reads waiting.
    fn read_time(&self, buffer: &[u8]) -> Duration {
        let bytes = time(buffer.len() as u64, self.read_bytes_per_second);
        bytes.max(time(1, self.reads_per_second))
    }
}

/// The clock on which a drive's time passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// Operations sleep: with the precision of the system, about 50 us, but with the right
    /// bandwidth.
    Real,
    /// Operations keep a processor busy until they are done: precise to about a microsecond.
    Exact,
    /// Operations do not wait; their times are added up, as if they were done one after another:
    /// the sum is the same on any number of threads.
    Virtual,
}

/// A device that is as slow as a [`Drive`].
pub struct Timed {
    inner: Arc<dyn Device>,
    drive: Drive,
    clock: Clock,
    started: Instant,
    /// Nanoseconds of virtual time.
    passed: AtomicU64,
    /// The time until which writes are busy, since the start; below, the same for reads.
    writing: Mutex<Duration>,
    reading: Mutex<Duration>,
}

impl Timed {
    /// Wraps a device, which should be faster than the drive.
    pub fn new(inner: Arc<dyn Device>, drive: Drive, clock: Clock) -> Self {
        Timed {
            inner,
            drive,
            clock,
            started: Instant::now(),
            passed: AtomicU64::new(0),
            writing: Mutex::default(),
            reading: Mutex::default(),
        }
    }

    /// Time since the device was wrapped.
    pub fn elapsed(&self) -> Duration {
        match self.clock {
            Clock::Real | Clock::Exact => self.started.elapsed(),
            Clock::Virtual => Duration::from_nanos(self.passed.load(Ordering::Relaxed)),
        }
    }

    /// Lets an operation take its time: for `busy` no other operation can use the lane.
    fn take(&self, lane: &Mutex<Duration>, busy: Duration, latency: Duration) {
        if self.clock == Clock::Virtual {
            let nanos = (busy + latency).as_nanos() as u64;
            self.passed.fetch_add(nanos, Ordering::Relaxed);
            return;
        }
        let until = {
            let mut busy_until = lane.lock().unwrap_or_else(PoisonError::into_inner);
            *busy_until = self.started.elapsed().max(*busy_until) + busy;
            *busy_until + latency
        };
        if self.clock == Clock::Real {
            thread::sleep(until.saturating_sub(self.started.elapsed()));
        }
        while self.started.elapsed() < until {
            hint::spin_loop();
        }
    }
}

/// Time for bytes at a bandwidth.
fn time(bytes: u64, per_second: u64) -> Duration {
    let nanos = u128::from(bytes) * 1_000_000_000 / u128::from(per_second.max(1));
    Duration::from_nanos(nanos as u64)
}

impl Device for Timed {
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
        self.inner.append_vectored(zone, at, parts)?;
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        let busy = time(bytes as u64, self.drive.append_bytes_per_second);
        self.take(&self.writing, busy, self.drive.append_latency);
        Ok(())
    }

    fn read(&self, zone: u32, offset: u64, buffer: &mut [u8]) -> Result<(), DeviceError> {
        self.inner.read(zone, offset, buffer)?;
        self.take(&self.reading, self.drive.read_time(buffer), self.drive.read_latency);
        Ok(())
    }

    /// A drive has many requests in work at once, so those of a batch share the latency.
    fn read_all(&self, reads: &mut [ZoneRead<'_>]) -> Result<(), DeviceError> {
        self.inner.read_all(reads)?;
        let busy = reads.iter().map(|read| self.drive.read_time(read.buffer)).sum();
        self.take(&self.reading, busy, self.drive.read_latency);
        Ok(())
    }

    fn reset(&self, zone: u32) -> Result<(), DeviceError> {
        let written = self.inner.zone(zone)?.write_pointer;
        self.inner.reset(zone)?;
        let latency = time(written, self.drive.reset_bytes_per_second);
        self.take(&self.writing, Duration::ZERO, latency);
        Ok(())
    }

    fn finish(&self, zone: u32) -> Result<(), DeviceError> {
        let info = self.inner.zone(zone)?;
        self.inner.finish(zone)?;
        let rest = info.capacity - info.write_pointer;
        let busy = time(rest, self.drive.append_bytes_per_second);
        self.take(&self.writing, busy, Duration::ZERO);
        Ok(())
    }

    fn read_other(&self, zone: u32, at: u64, buffer: &mut [u8]) -> Result<bool, DeviceError> {
        self.inner.read_other(zone, at, buffer)
    }

    fn rebuilt_blocks(&self) -> u64 {
        self.inner.rebuilt_blocks()
    }

    fn flush(&self) -> Result<(), DeviceError> {
        self.inner.flush()?;
        self.take(&self.writing, Duration::ZERO, self.drive.flush_latency);
        Ok(())
    }
}
