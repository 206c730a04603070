//! Experiments are followed, and stopped, through a monitor.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use frostline_sim::WindowReport;

/// Follows an experiment. `()` follows nothing, and lets it run to its end.
pub trait Monitor: Sync {
    /// Something happened.
    fn on(&self, event: Event<'_>) {
        let _ = event;
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
    /// A part that takes long is so far.
    Progress {
        /// The part: `filling`, `loading`, `replaying`.
        what: &'static str,
        /// The work that is done.
        done: u64,
        /// All the work. If `done` is as much, the part is over.
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
    /// Metrics are served under this address, at `/metrics`.
    Metrics(SocketAddr),
}

/// The work of a bench in about a second.
#[derive(Clone, Debug)]
pub struct Second {
    /// Time since the bench began to count.
    pub passed: Duration,
    /// The length of the second, in seconds.
    pub seconds: f64,
    /// Pages that the store wrote in it.
    pub window: WindowReport,
    /// WAF since the bench began to count.
    pub waf: f64,
    /// Zones of the store that are free.
    pub free_zones: usize,
    /// Garbage proportion of the store.
    pub garbage_proportion: f64,
    /// The work of databases in it, if there are some.
    pub transactions: Option<Transactions>,
}

/// The work of databases in about a second.
#[derive(Clone, Copy, Debug)]
pub struct Transactions {
    /// Transactions a second.
    pub per_second: f64,
    /// Transactions a minute of the kind whose number is the workload's result, if it has one.
    pub tpmc: Option<f64>,
    /// Share of the pages looked for that were in memory, if any was looked for.
    pub hits: Option<f64>,
    /// Bytes a second that the logs took of the device.
    pub log_bytes_per_second: f64,
}
