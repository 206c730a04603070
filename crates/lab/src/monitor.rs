//! How a caller follows an experiment, and stops it.

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

    /// Whether the experiment is to stop. It is asked often, from several threads.
    fn is_stopped(&self) -> bool {
        false
    }
}

impl Monitor for () {}

/// What happens during an experiment.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A part of the experiment begins.
    Step(&'a str),
    /// A part that takes long is so far.
    Progress {
        /// What is done: `filling`, `loading`, `replaying`.
        what: &'static str,
        /// How much of it is done.
        done: u64,
        /// All of it. If `done` is as much, the part is over.
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

/// What a bench did in about a second.
#[derive(Clone, Debug)]
pub struct Second {
    /// Time since the bench began to count.
    pub passed: Duration,
    /// How long the second was, in seconds.
    pub seconds: f64,
    /// Pages that the store wrote in it.
    pub window: WindowReport,
    /// WAF since the bench began to count.
    pub waf: f64,
    /// Zones of the store that are free.
    pub free_zones: usize,
    /// Garbage proportion of the store.
    pub garbage_proportion: f64,
    /// What databases did in it, if there are some.
    pub transactions: Option<Transactions>,
}

/// What databases did in about a second.
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
