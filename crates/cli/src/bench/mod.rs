//! `frostline bench`: a store, or databases on it, at work, measured.

mod database;
mod live;
mod metrics;
mod report;
mod store;
mod workload;
mod writers;

use crate::args::BenchCommand;
use crate::failure::Failure;

pub use database::{Benchmark, DatabaseReport, DatabaseRun, Distribution, Mix, measure};
pub use workload::Workload;

/// Measures what was asked for.
pub fn run(command: &BenchCommand) -> Result<String, Failure> {
    match command {
        BenchCommand::Store(args) => store::run(args),
        BenchCommand::Tpcc(args) => database::run(&args.database, args),
        BenchCommand::Ycsb(args) => database::run(&args.database, args),
        BenchCommand::Linkbench(args) => database::run(&args.database, args),
    }
}
