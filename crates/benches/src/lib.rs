//! Benches of page stores and of databases.
//!
//! A [`StoreBench`] writes pages to a page store. A [`DatabaseBench`] runs TPC-C, YCSB or a
//! LinkBench-like workload on databases that share a store. Both measure the device's writes, and
//! can record every page write in a trace. A [`Monitor`] follows a bench, and can stop it.
//!
//! ```
//! use frostline_benches::{DatabaseBench, DeviceSpec, StoreBench};
//! use frostline_store::{Cleaning, Format};
//! use frostline_workload::linkbench;
//!
//! let small = DeviceSpec { bytes: Some(8 << 20), zone_bytes: Some(256 << 10), ..DeviceSpec::default() };
//! let bench = StoreBench {
//!     device: small,
//!     workload: "zipf:1.0".parse()?,
//!     writes: Some(3000),
//!     cleaning: Cleaning::Inline,
//!     ..StoreBench::default()
//! };
//! let report = bench.run(&())?;
//! assert_eq!(report.runs[0].run.user_writes, 3000);
//! assert!(report.runs[0].run.waf > 1.0);
//!
//! let bench = DatabaseBench { transactions: Some(100), ..DatabaseBench::default() };
//! let report = bench.run(&linkbench::LinkBenchOptions { nodes: 1000 }, &())?;
//! assert_eq!(report.runs[0].transactions, 100);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod database;
mod device;
mod error;
mod following;
mod latency;
mod monitor;
mod names;
mod report;
mod seconds;
mod speed;
mod store;
mod watching;

pub use database::{
    Benchmark, ConditionRow, DatabaseBench, DatabaseReport, DatabaseRun, DatabaseSetup,
    DeviceBytes, KindRow, Opened, Replay, Space, TenantRow, WorkloadError, YcsbBench,
};
pub use device::DeviceSpec;
pub use error::{Error, Result};
pub use following::{FollowedReport, follow};
pub use latency::LatencyReport;
pub use monitor::{Event, Monitor, Second, Transactions};
pub use names::{cleaning_name, replacement_name};
pub use report::{BenchReport, since_opening};
pub use speed::{NamedDrive, Speed};
pub use store::{
    PageWorkload, ParsePageWorkloadError, StoreBench, StoreReport, StoreRun, StoreSetup,
};

/// Refuses a garbage proportion that no store can keep.
fn check_gp(gp: f64) -> Result<()> {
    match (0.0001..=0.9).contains(&gp) {
        true => Ok(()),
        false => Err(Error::GarbageProportion { gp }),
    }
}
