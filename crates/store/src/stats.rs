//! What happened, counted.

use frostline_placement::Scheme;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::StoreError;
use crate::copies::Copied;
use crate::inner::Inner;
use crate::meta::MetaLog;
use crate::state::Written;
use crate::sync::{AtomicBool, sleep};

/// Debts below this are paid later.
const LEAST_PAUSE: u64 = 200_000;

/// What is counted beside the state.
#[derive(Default)]
pub struct Counters {
    meta_pages: AtomicU64,
    meta_low: AtomicBool,
    pace_ns: AtomicU64,
    debt_ns: AtomicU64,
    stall_ns: AtomicU64,
    /// Latencies of operations.
    pub latencies: Latencies,
}

impl Counters {
    /// Starts from what was counted before the store was opened.
    pub fn restore(&self, written: &Written) {
        self.meta_pages.store(written.checkpoints, Relaxed);
    }

    /// Takes note of what the metadata log wrote, and of what it has left.
    pub fn note_meta(&self, meta: &MetaLog, reserve: u64) {
        self.meta_pages.store(meta.written, Relaxed);
        self.meta_low.store(meta.free_pages() < reserve, Relaxed);
    }

    /// Pages of the metadata log since the store was formatted.
    pub fn meta_pages(&self) -> u64 {
        self.meta_pages.load(Relaxed)
    }

    /// True if the metadata log should be rid of what it no longer needs.
    pub fn meta_is_low(&self) -> bool {
        self.meta_low.load(Relaxed)
    }

    /// Time that cleaning takes for each page it frees.
    pub fn pace(&self) -> Duration {
        Duration::from_nanos(self.pace_ns.load(Relaxed))
    }

    /// Follows the pace of cleaning.
    pub fn set_pace(&self, pace: Duration) {
        let (old, new) = (self.pace_ns.load(Relaxed), pace.as_nanos() as u64);
        self.pace_ns.store(if old == 0 { new } else { old - old / 4 + new / 4 }, Relaxed);
    }

    /// Sleeps for what writers owe, once it is worth a pause.
    pub fn pay(&self, debt: Duration) {
        let debt = debt.as_nanos() as u64;
        let owed = self.debt_ns.fetch_add(debt, Relaxed) + debt;
        if owed >= LEAST_PAUSE {
            let paid = self.debt_ns.swap(0, Relaxed);
            sleep(Duration::from_nanos(paid));
        }
    }

    /// A writer was held up.
    pub fn stalled(&self, time: Duration) {
        self.stall_ns.fetch_add(time.as_nanos() as u64, Relaxed);
    }

    /// A call of write ended.
    pub fn wrote(&self, time: Duration) {
        self.latencies.write.add(time);
    }

    /// A call of read ended.
    pub fn read(&self, time: Duration) {
        self.latencies.read.add(time);
    }

    /// A call of sync ended.
    pub fn synced(&self, time: Duration) {
        self.latencies.sync.add(time);
    }
}

/// Upper bounds of the latencies that are counted apart, in microseconds.
pub const BOUNDS_US: [u64; 12] =
    [1, 4, 16, 64, 256, 1_000, 4_000, 16_000, 64_000, 256_000, 1_000_000, 4_000_000];

/// Latencies of one kind of call.
#[derive(Default)]
pub struct Latency {
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
pub struct Latencies {
    /// Calls of write and write_batch.
    pub write: Latency,
    /// Calls of read.
    pub read: Latency,
    /// Calls of sync.
    pub sync: Latency,
}

/// What happened in a store.
#[derive(Clone, Debug)]
pub struct Stats {
    /// Pages written since the store was formatted.
    pub written: Written,
    /// Of these, written before the store was opened.
    pub opened: Written,
    /// What the volume counted since the store was opened: as in the simulator.
    pub counts: frostline_log::Counts,
    /// Pages copied since [`Store::count_copies`](crate::Store::count_copies), if it was called.
    pub copied: Option<Copied>,
    /// Valid pages.
    pub valid_pages: u64,
    /// Garbage pages over pages in zones that hold any.
    pub garbage_proportion: f64,
    /// Zones that can be opened before one is cleaned.
    pub free_zones: usize,
    /// Zones that wait to be reset.
    pub waiting_zones: usize,
    /// Leaves of the map in memory.
    pub map_leaves: usize,
    /// Bytes that map, zones and scheme hold in memory.
    pub bytes: usize,
    /// Time for which writers were held up since the store was opened.
    pub stalled: Duration,
    /// Figures of the scheme's own.
    pub gauges: Vec<(&'static str, f64)>,
}

impl Stats {
    pub(crate) fn of(inner: &Inner) -> Result<Stats, StoreError> {
        let mut state = inner.state()?;
        let mut written = state.written;
        written.checkpoints = inner.counters.meta_pages();
        Ok(Stats {
            written,
            opened: *inner.opened.get().unwrap_or(&written),
            counts: state.placer.counts().clone(),
            copied: state.copies.as_ref().map(|copies| copies.sum),
            valid_pages: state.placer.valid_pages(),
            garbage_proportion: state.placer.garbage_proportion(),
            free_zones: state.placer.free_zones(),
            waiting_zones: state.limbo.len(),
            map_leaves: state.placer.map().resident(),
            bytes: state.placer.bytes(),
            stalled: Duration::from_nanos(inner.counters.stall_ns.load(Relaxed)),
            gauges: state.placer.scheme().gauges(),
        })
    }
}

impl Written {
    /// Pages written since an earlier moment.
    pub fn since(&self, earlier: &Written) -> Written {
        Written {
            user: self.user.saturating_sub(earlier.user),
            relocations: self.relocations.saturating_sub(earlier.relocations),
            headers: self.headers.saturating_sub(earlier.headers),
            checkpoints: self.checkpoints.saturating_sub(earlier.checkpoints),
        }
    }

    /// Write amplification: all pages written over those written by the user; 1 if there are none.
    pub fn waf(&self) -> f64 {
        let all = self.user + self.relocations + self.headers + self.checkpoints;
        if self.user == 0 { 1.0 } else { all as f64 / self.user as f64 }
    }
}
