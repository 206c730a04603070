//! The report of a bench of a store.

use std::time::Duration;

use frostline_results::{RunReport, WindowReport};
use frostline_store::{Stats, StoreInfo};
use hdrhistogram::Histogram;
use serde::Serialize;

use crate::following::FollowedReport;
use crate::latency::LatencyReport;
use crate::report::of_store;

/// The measurements of a run.
pub(super) struct MeasuredStore {
    /// The store's shape and options.
    pub(super) info: StoreInfo,
    /// Counters before the first write that counts.
    pub(super) before: Stats,
    /// Counters after the last write.
    pub(super) after: Stats,
    /// Times of writes, in nanoseconds.
    pub(super) times: Histogram<u64>,
    /// Time that the run took, the last sync included.
    pub(super) took: Duration,
    /// The writes, second by second.
    pub(super) windows: Vec<WindowReport>,
    /// True if the monitor stopped the run.
    pub(super) interrupted: bool,
}

/// The part of the setup that is specific to a bench of a store.
#[derive(Clone, Debug, Serialize)]
pub struct StoreSetup {
    /// Threads that wrote.
    pub threads: u16,
}

/// A run on a store: the simulator's fields, and fields specific to a device.
#[derive(Clone, Debug, Serialize)]
pub struct StoreRun {
    /// The WAF includes headers and checkpoints. A page counts as frozen if it was not written
    /// again until the end of the run.
    #[serde(flatten)]
    pub run: RunReport,
    /// Headers of chunks.
    pub header_pages: u64,
    /// Checkpoints, notes and superblocks.
    pub checkpoint_pages: u64,
    /// Page writes per second.
    pub ops_per_second: f64,
    /// Megabytes (10^6 bytes) written per second.
    pub mb_per_second: f64,
    /// Latencies until a write returned.
    pub latency_us: LatencyReport,
    /// Time for which writers waited for cleaning.
    pub stall_seconds: f64,
    /// Pages that the store can hold.
    pub logical_pages: u64,
    /// What was backed up meanwhile, if there was a target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<FollowedReport>,
}

impl StoreRun {
    /// Makes a report of the measurements.
    pub(super) fn new(measured: MeasuredStore) -> Self {
        let MeasuredStore { info, before, after, times, took, windows, .. } = measured;
        let written = after.written.since(&before.written);
        let seconds = took.as_secs_f64();
        let per_second = written.user as f64 / seconds.max(1e-9);
        let run = RunReport {
            windows,
            seconds,
            writes_per_second: per_second,
            ..of_store(&info, &before, &after)
        };
        StoreRun {
            run,
            header_pages: written.headers,
            checkpoint_pages: written.checkpoints,
            ops_per_second: per_second,
            mb_per_second: per_second * f64::from(info.page_bytes) / 1e6,
            latency_us: LatencyReport::of(&times),
            stall_seconds: after.stalled.saturating_sub(before.stalled).as_secs_f64(),
            logical_pages: info.logical_pages,
            backup: None,
        }
    }
}
