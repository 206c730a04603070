//! Monitors, which follow experiments and can stop them.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use frostline_results::WindowReport;
use frostline_store::StoreView;

/// Follows an experiment. `()` ignores all events, and never stops it.
pub trait Monitor: Sync {
    /// Something happened.
    fn on(&self, event: Event<'_>) {
        let _ = event;
    }

    /// The interval at which a bench shows its store as [`Event::View`], from a thread of its own;
    /// none if it is not to be shown.
    fn views_every(&self) -> Option<Duration> {
        None
    }

    /// Returns true to stop the experiment. Several threads call it, often.
    fn is_stopped(&self) -> bool {
        false
    }
}

impl Monitor for () {}

/// An event of an experiment.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A part of the experiment begins.
    Step(&'a str),
    /// The progress of a part that takes long.
    Progress {
        /// The part: `filling`, `loading`, `replaying`.
        what: &'static str,
        /// The work done.
        done: u64,
        /// All the work; if `done` equals it, the part is over.
        of: u64,
    },
    /// About a second of a bench is over.
    Second(&'a Second),
    /// A bench has stopped counting.
    Counted,
    /// A trace of page writes is complete.
    Recorded {
        /// Its file.
        path: &'a Path,
        /// Page writes in it.
        writes: u64,
    },
    /// A bench can be watched under this address: metrics at `/metrics`, the zones at `/`.
    Metrics(SocketAddr),
    /// The store of a bench at this moment.
    View(&'a StoreView),
}

/// About a second of a bench.
#[derive(Clone, Debug)]
pub struct Second {
    /// Time since the bench began to count.
    pub passed: Duration,
    /// The length of the second, in seconds.
    pub seconds: f64,
    /// Pages that the store wrote in this second.
    pub window: WindowReport,
    /// WAF since the bench began to count.
    pub waf: f64,
    /// Free zones of the store.
    pub free_zones: usize,
    /// Garbage proportion of the store.
    pub garbage_proportion: f64,
    /// Work of the databases in this second; `None` if there are no databases.
    pub transactions: Option<Transactions>,
}

/// Work of databases in about a second.
#[derive(Clone, Copy, Debug)]
pub struct Transactions {
    /// Transactions per second.
    pub per_second: f64,
    /// Transactions per minute of the kind whose number is the workload's result; `None` if there
    /// is no such kind.
    pub tpmc: Option<f64>,
    /// Share of the page accesses that found the page in memory; `None` if there were no accesses.
    pub hits: Option<f64>,
    /// Bytes per second that the logs wrote to the device.
    pub log_bytes_per_second: f64,
}
