//! A workload on fresh databases, scheme by scheme, measured.

mod benchmark;
mod linkbench;
mod moment;
mod recorder;
mod replay;
mod report;
mod room;
mod run;
mod setup;
mod tenants;
mod tpcc;
mod ycsb;

use std::path::PathBuf;

use frostline_db::Replacement;
use frostline_placement::SchemeSpec;
use frostline_store::Cleaning;

use self::run::Run;
use crate::device::{DeviceSpec, describe};
use crate::monitor::{Event, Monitor};
use crate::names::{cleaning_name, replacement_name};
use crate::report::BenchReport;
use crate::speed::Speed;
use crate::{Error, Result, check_gp};

pub use benchmark::{Benchmark, WorkloadError};
pub use replay::Replay;
pub use report::{ConditionRow, DatabaseReport, DatabaseRun, DatabaseSetup, KindRow, TenantRow};
pub use ycsb::YcsbBench;

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

impl DatabaseBench {
    /// Runs the bench to its end, or until the monitor stops it: then the report has the runs that
    /// were begun and loaded.
    ///
    /// # Errors
    /// A scheme, device, database or trace that can't be used as is asked; an error of these during
    /// the run.
    pub fn run<B: Benchmark>(&self, workload: &B, monitor: &dyn Monitor) -> Result<DatabaseReport> {
        self.check_options()?;
        let one = Run { bench: self, workload, monitor };
        let (mut runs, mut shape) = (Vec::new(), String::new());
        for scheme in &self.schemes {
            if self.schemes.len() > 1 {
                monitor.on(Event::Step(scheme));
            }
            let device = self.prepare(workload, scheme, !runs.is_empty())?;
            shape = describe(&*device);
            let Some(measured) = one.on(&device)? else { break };
            runs.push(DatabaseRun::new(measured));
            if monitor.is_stopped() {
                break;
            }
        }
        Ok(self.report(workload.describe(), shape, runs))
    }

    /// Refuses impossible options before anything is made.
    fn check_options(&self) -> Result<()> {
        check_gp(self.gp)?;
        for scheme in &self.schemes {
            SchemeSpec::parse(scheme).map_err(|e| Error::store(&self.device.uri)(e.into()))?;
        }
        match &self.record {
            Some(path) if path.extension().is_none_or(|ending| ending != "parquet") => {
                Err(Error::NoHotness { path: path.clone() })
            }
            Some(_) if self.schemes.len() != 1 => Err(Error::SeveralRuns),
            _ => Ok(()),
        }
    }

    fn report(&self, workload: String, shape: String, runs: Vec<DatabaseRun>) -> DatabaseReport {
        let is_cut_short = runs.iter().any(|run| run.interrupted);
        BenchReport {
            frostline: env!("CARGO_PKG_VERSION"),
            device: self.device.uri.clone(),
            shape,
            drive: self.speed.drive_name(),
            bandwidth: self.speed.bandwidth,
            workload,
            cleaning: cleaning_name(self.cleaning),
            setup: DatabaseSetup {
                replacement: replacement_name(self.replacement),
                hotness: self.hotness,
                tenants: runs.first().map_or(0, |run| run.tenants.len().max(1)),
                threads: self.threads,
                in_flight: self.in_flight,
                buffer_bytes: self.buffer_bytes,
            },
            seed: self.seed,
            interrupted: runs.len() < self.schemes.len() || is_cut_short,
            runs,
        }
    }
}
