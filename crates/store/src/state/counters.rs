//! Times of calls and of cleaning, counted beside the state.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::sync::sleep;

/// Debts below this are paid later.
const LEAST_PAUSE: u64 = 200_000;

/// Times of calls and of cleaning.
#[derive(Default)]
pub(crate) struct Counters {
    pace_ns: AtomicU64,
    debt_ns: AtomicU64,
    stall_ns: AtomicU64,
    reads: AtomicU64,
    repaired: AtomicU64,
    /// Latencies of operations.
    pub latencies: Latencies,
}

impl Counters {
    /// Time that cleaning takes for each page it frees.
    pub(crate) fn pace(&self) -> Duration {
        Duration::from_nanos(self.pace_ns.load(Relaxed))
    }

    /// Follows the pace of cleaning.
    pub(crate) fn set_pace(&self, pace: Duration) {
        let (old, new) = (self.pace_ns.load(Relaxed), pace.as_nanos() as u64);
        self.pace_ns.store(if old == 0 { new } else { old - old / 4 + new / 4 }, Relaxed);
    }

    /// Sleeps for what writers owe, once it is worth a pause.
    pub(crate) fn pay(&self, debt: Duration) {
        let debt = debt.as_nanos() as u64;
        let owed = self.debt_ns.fetch_add(debt, Relaxed) + debt;
        if owed >= LEAST_PAUSE {
            let paid = self.debt_ns.swap(0, Relaxed);
            sleep(Duration::from_nanos(paid));
        }
    }

    /// Records were read of the device.
    pub(crate) fn count_reads(&self, records: u64) {
        self.reads.fetch_add(records, Relaxed);
    }

    /// Records that were read of the device.
    pub(crate) fn reads(&self) -> u64 {
        self.reads.load(Relaxed)
    }

    /// A record was not what was written, and another copy of it was.
    pub(crate) fn count_repaired(&self) {
        self.repaired.fetch_add(1, Relaxed);
    }

    /// Records of which another copy was taken.
    pub(crate) fn repaired(&self) -> u64 {
        self.repaired.load(Relaxed)
    }

    /// A writer was held up.
    pub(crate) fn stalled(&self, time: Duration) {
        self.stall_ns.fetch_add(time.as_nanos() as u64, Relaxed);
    }

    /// Time for which writers were held up.
    pub(crate) fn stall(&self) -> Duration {
        Duration::from_nanos(self.stall_ns.load(Relaxed))
    }

    /// A call of write ended.
    pub(crate) fn wrote(&self, time: Duration) {
        self.latencies.write.add(time);
    }

    /// A call of read ended.
    pub(crate) fn read(&self, time: Duration) {
        self.latencies.read.add(time);
    }

    /// A call of sync ended.
    pub(crate) fn synced(&self, time: Duration) {
        self.latencies.sync.add(time);
    }
}

/// Upper bounds of the latencies that are counted apart, in microseconds.
pub(crate) const BOUNDS_US: [u64; 12] =
    [1, 4, 16, 64, 256, 1_000, 4_000, 16_000, 64_000, 256_000, 1_000_000, 4_000_000];

/// Latencies of one kind of call.
#[derive(Default)]
pub(crate) struct Latency {
    /// Calls up to each bound, and beyond the last.
    pub counts: [AtomicU64; BOUNDS_US.len() + 1],
    /// Sum, in nanoseconds.
    pub sum_ns: AtomicU64,
}

impl Latency {
    fn add(&self, time: Duration) {
        let us = time.as_micros() as u64;
        let bucket = BOUNDS_US.partition_point(|&bound| bound < us);
        self.counts[bucket].fetch_add(1, Relaxed);
        self.sum_ns.fetch_add(time.as_nanos() as u64, Relaxed);
    }
}

/// Latencies by kind of call.
#[derive(Default)]
pub(crate) struct Latencies {
    /// Calls of write and write_batch.
    pub write: Latency,
    /// Calls of read.
    pub read: Latency,
    /// Calls of sync.
    pub sync: Latency,
}
