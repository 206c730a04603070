//! Runs a workload on fresh databases, scheme by scheme, and measures it.

mod bench;
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

use frostline_placement::SchemeSpec;
use frostline_store::Compression;

use self::run::Run;
use crate::following::followed;
use crate::monitor::{Event, Monitor};
use crate::names::{cleaning_name, replacement_name};
use crate::report::BenchReport;
use crate::watching::listen;
use crate::{Error, Result, check_gp};

pub use bench::DatabaseBench;
pub use benchmark::{Benchmark, Opened, WorkloadError};
pub use replay::Replay;
pub use report::{
    ConditionRow, DatabaseReport, DatabaseRun, DatabaseSetup, DeviceBytes, KindRow, Space,
    TenantRow,
};
pub use ycsb::YcsbBench;

impl DatabaseBench {
    /// Runs the bench to its end, or until the monitor stops it: then the report has the runs whose
    /// databases had been loaded.
    ///
    /// # Errors
    /// A scheme, device, database or trace that can't be used in the given way; an error of these
    /// during the run.
    pub fn run(&self, workload: &dyn Benchmark, monitor: &dyn Monitor) -> Result<DatabaseReport> {
        self.check_options()?;
        let server = listen(self.metrics, monitor)?;
        let one = Run { bench: self, workload, monitor, server: server.as_ref() };
        let (mut runs, mut shape) = (Vec::new(), String::new());
        for scheme in &self.schemes {
            if self.schemes.len() > 1 {
                monitor.on(Event::Step(scheme));
            }
            let device = self.prepare(workload, scheme, !runs.is_empty())?;
            shape = device.geometry().to_string();
            let (measured, backup) = followed(device, self.backup.as_deref(), |d| one.on(d))?;
            let Some(measured) = measured else { break };
            runs.push(DatabaseRun { backup, ..DatabaseRun::new(measured) });
            if monitor.is_stopped() {
                break;
            }
        }
        Ok(self.report(workload.describe(), shape, runs))
    }

    /// Refuses invalid options before anything is made.
    fn check_options(&self) -> Result<()> {
        check_gp(self.gp)?;
        for scheme in &self.schemes {
            SchemeSpec::parse(scheme).map_err(|e| Error::store(&self.device.uri)(e.into()))?;
        }
        if self.backup.is_some() && self.schemes.len() != 1 {
            return Err(Error::SeveralBackedUp);
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
                unit: self.unit,
                hotness: self.hotness,
                rewriting: self.rewrites(),
                compression: self.compression != Compression::None,
                compressed_with: self.compression,
                recovery_bytes: self.recovery_bytes,
                fill: self.fill,
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
