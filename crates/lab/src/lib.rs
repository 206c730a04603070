//! Experiments with Frostline, as a library.
//!
//! A [`StoreBench`] writes pages to a page store. A [`DatabaseBench`] runs TPC-C, YCSB or a
//! LinkBench-like workload on databases that share a store. Both measure the device's writes, and
//! can record every page write in a trace. A [`Study`] trains models of frozen pages on a trace and
//! evaluates them. [`PAPERS`] repeats the evaluations of papers. The `frostline` command is a shell
//! around these: it prints their reports.
//!
//! A [`Monitor`] follows an experiment, and can stop it.
//!
//! ```
//! use frostline_lab::{DatabaseBench, DeviceSpec, StoreBench};
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

mod bytes;
mod catalogue;
mod database;
mod device;
mod error;
mod following;
mod input_file;
mod latency;
mod matrix;
mod monitor;
mod names;
#[cfg(feature = "page")]
mod page;
#[cfg(not(feature = "page"))]
#[path = "without_page.rs"]
mod page;
mod report;
mod reproduce;
mod results;
mod seconds;
mod size;
mod speed;
mod store;
mod study;
mod sweep;
mod trace_info;
mod watching;

pub use bytes::binary;
pub use catalogue::{Catalogue, ParamRow, PolicyRow, SchemeRow};
pub use database::{
    Benchmark, ConditionRow, DatabaseBench, DatabaseReport, DatabaseRun, DatabaseSetup,
    DeviceBytes, KindRow, Replay, Space, TenantRow, WorkloadError, YcsbBench,
};
pub use device::{DeviceSpec, describe, first_zones};
pub use error::{Error, Result};
pub use following::{FollowedReport, follow};
pub use input_file::identify;
pub use latency::LatencyReport;
pub use matrix::{Matrix, MatrixCell, MatrixRow};
pub use monitor::{Event, Monitor, Second, Transactions};
pub use names::{cleaning_name, replacement_name};
pub use page::page;
pub use report::{BenchReport, since_opening};
pub use reproduce::{
    Cell, Input, InputWorkload, PAPERS, Paper, PaperReport, ReportTable, Reproduction, Session,
};
pub use results::{
    CellSource, Cells, ParseShardError, RunRecord, Shard, check_parquet, csv, read_results,
    records, write_parquet,
};
pub use size::{ParseSizeError, Size};
pub use speed::{NamedDrive, Speed};
pub use store::{
    PageWorkload, ParsePageWorkloadError, StoreBench, StoreReport, StoreRun, StoreSetup,
};
pub use study::{Compared, Comparison, Flaw, ModelFeature, ModelReport, Study, Training};
pub use sweep::{ledgered_sweep, watched_sweep};
pub use trace_info::TraceInfo;

/// Refuses a garbage proportion that no store can keep.
fn check_gp(gp: f64) -> Result<()> {
    match (0.0001..=0.9).contains(&gp) {
        true => Ok(()),
        false => Err(Error::GarbageProportion { gp }),
    }
}
