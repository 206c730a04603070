//! The options of a bench of databases.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use frostline_db::{Options, Replacement};
use frostline_store::{Cleaning, Compression, Format};

use crate::device::DeviceSpec;
use crate::speed::Speed;

/// Runs a workload on databases that share a store, once with each scheme. The databases are made
/// and loaded first, unless they are to be [kept](DatabaseBench::keep).
#[derive(Clone, Debug, PartialEq)]
pub struct DatabaseBench {
    /// The device. A new device gets room for the data and their growth, unless its size is given.
    pub device: DeviceSpec,
    /// Make the device anew, replacing an existing one.
    pub anew: bool,
    /// The speed that the device is held to.
    pub speed: Speed,
    /// Schemes, optionally with parameters (`dac:classes=4`). Each has a run on fresh databases.
    pub schemes: Vec<String>,
    /// Victim policy, optionally with parameters (`d-choices:d=4`); unless given each scheme's own.
    pub victim: Option<String>,
    /// Clean while the garbage proportion exceeds this.
    pub gp: f64,
    /// Zones reserved for cleaned zones that wait to be reset.
    pub spare: u32,
    /// Bytes of a unit of the store; pages take 4,096 bytes each if `None`.
    pub unit: u32,
    /// Seed of all random choices.
    pub seed: u64,
    /// Bytes of memory for pages, for each tenant.
    pub buffer_bytes: u64,
    /// Bytes of each tenant's log; a share of the device if `None`.
    pub log_bytes: Option<u64>,
    /// The rule by which pages leave memory.
    pub replacement: Replacement,
    /// True to give the store hotness records.
    pub hotness: bool,
    /// Write changed pages from memory where cleaning would copy them; never while a trace is
    /// recorded, whose writes must not depend on cleaning.
    pub rewriting: bool,
    /// How images are compressed where that makes them shorter.
    pub compression: Compression,
    /// Bytes of the log that recovery redoes at most; the engine's default unless given.
    pub recovery_bytes: Option<u64>,
    /// Share of a leaf that insertions in ascending order fill.
    pub fill: f64,
    /// Number of databases that share the store, each with its data, buffer, log and threads.
    pub tenants: u32,
    /// Stop after this number of seconds, without loading; 30 if no number of transactions is given
    /// either.
    pub seconds: Option<u64>,
    /// Stop after this number of transactions of each tenant.
    pub transactions: Option<u64>,
    /// Number of threads of each tenant.
    pub threads: u16,
    /// The most commits that a thread has in flight before it waits for the oldest to be durable.
    pub in_flight: u16,
    /// The thread that cleans.
    pub cleaning: Cleaning,
    /// Use no threads of the databases: the transaction that needs it writes pages, log and
    /// checkpoints. With one thread, a number of transactions and [`Cleaning::Inline`], equal runs
    /// write equal pages.
    pub in_order: bool,
    /// Check the data after each run.
    pub check: bool,
    /// Serve metrics for Prometheus, and a page that draws the zones, at this address.
    pub metrics: Option<SocketAddr>,
    /// Back up the device here while the bench loads and runs, so that what is written is there
    /// after a second.
    pub backup: Option<OsString>,
    /// Record every page write that reaches the store, with its hotness record, and every trim in
    /// this trace (`.parquet`), including those of loading.
    pub record: Option<PathBuf>,
    /// Use the existing databases, which must have been loaded with the same workload and scale:
    /// nothing is formatted or loaded.
    pub keep: bool,
    /// Space over data that the store may take, in place of a garbage proportion.
    pub space: Option<f64>,
    /// Format the device even if it is not empty: its content is lost.
    pub force: bool,
}

impl Default for DatabaseBench {
    /// The scheme `frostline` on one database in memory, with one thread, for 30 seconds.
    fn default() -> Self {
        DatabaseBench {
            device: DeviceSpec::default(),
            anew: false,
            speed: Speed::default(),
            schemes: vec!["frostline".to_string()],
            victim: None,
            gp: 0.15,
            spare: 2,
            unit: Format::default().unit,
            seed: 1,
            buffer_bytes: 64 << 20,
            log_bytes: None,
            replacement: Replacement::Watt,
            hotness: true,
            rewriting: true,
            compression: Compression::default(),
            recovery_bytes: None,
            fill: Options::default().fill,
            tenants: 1,
            seconds: None,
            transactions: None,
            threads: 1,
            in_flight: 64,
            cleaning: Cleaning::Background,
            in_order: false,
            check: true,
            metrics: None,
            backup: None,
            record: None,
            keep: false,
            space: None,
            force: false,
        }
    }
}
