//! The options of a bench of databases.

use std::path::PathBuf;

use frostline_db::Replacement;
use frostline_store::Cleaning;

use crate::device::DeviceSpec;
use crate::speed::Speed;

/// Runs a workload on databases that share a store, once with each scheme. They are made and loaded
/// before, unless they are to be [kept](DatabaseBench::keep).
#[derive(Clone, Debug, PartialEq)]
pub struct DatabaseBench {
    /// The device. One that is to be made has room for the data and their growth, unless its size is
    /// given.
    pub device: DeviceSpec,
    /// Make the device anew, in place of the one that may be there.
    pub anew: bool,
    /// The speed that the device is held to.
    pub speed: Speed,
    /// Schemes, with parameters if need be (`dac:classes=4`). Each has a run on fresh databases.
    pub schemes: Vec<String>,
    /// Victim policy, with parameters if need be (`d-choices:d=4`).
    pub victim: String,
    /// Clean while the garbage proportion exceeds this.
    pub gp: f64,
    /// Zones kept back for those that were cleaned and wait to be reset.
    pub spare: u32,
    /// Seed of all chance.
    pub seed: u64,
    /// Bytes of memory for pages, of each tenant.
    pub buffer_bytes: u64,
    /// Bytes of the log of each tenant; a share of the device unless given.
    pub log_bytes: Option<u64>,
    /// The rule by which pages leave memory.
    pub replacement: Replacement,
    /// Give the store hotness records.
    pub hotness: bool,
    /// Write changed pages from memory where cleaning would copy them; never while a trace is
    /// recorded, whose writes must not depend on cleaning.
    pub rewriting: bool,
    /// Databases that share the store, each with its data, its buffer, its log and its threads.
    pub tenants: u32,
    /// Stop after so many seconds, those of loading not counted; 30 if no number of transactions is
    /// given either.
    pub seconds: Option<u64>,
    /// Stop after so many transactions of each tenant.
    pub transactions: Option<u64>,
    /// Threads of each tenant.
    pub threads: u16,
    /// Commits that a thread leaves behind before it waits for the oldest to be durable.
    pub in_flight: u16,
    /// The thread that cleans.
    pub cleaning: Cleaning,
    /// No threads of the databases: the transaction that needs it writes pages, log and checkpoints.
    /// With one thread, a number of transactions and [`Cleaning::Inline`], equal runs write equal
    /// pages.
    pub in_order: bool,
    /// Check the data after each run.
    pub check: bool,
    /// Write every page write that reaches the store, with its hotness record, and every trim to this
    /// trace (`.parquet`), those of loading included.
    pub record: Option<PathBuf>,
    /// Go on with the databases that are there, which must have been loaded with the same workload
    /// and scale: nothing is formatted or loaded.
    pub keep: bool,
    /// Go on although synced pages are missing, which are then lost for good.
    pub accept_loss: bool,
    /// Format a device that is not empty: what it holds is lost.
    pub force: bool,
}

impl Default for DatabaseBench {
    /// `frostline` on one database in memory, by one thread, for 30 seconds.
    fn default() -> Self {
        DatabaseBench {
            device: DeviceSpec::default(),
            anew: false,
            speed: Speed::default(),
            schemes: vec!["frostline".to_string()],
            victim: "cost-benefit".to_string(),
            gp: 0.15,
            spare: 2,
            seed: 1,
            buffer_bytes: 64 << 20,
            log_bytes: None,
            replacement: Replacement::Watt,
            hotness: true,
            rewriting: true,
            tenants: 1,
            seconds: None,
            transactions: None,
            threads: 1,
            in_flight: 64,
            cleaning: Cleaning::Background,
            in_order: false,
            check: true,
            record: None,
            keep: false,
            accept_loss: false,
            force: false,
        }
    }
}
