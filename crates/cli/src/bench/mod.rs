//! `frostline bench`: a store at work, measured.

mod live;
mod metrics;
mod report;
mod store;
mod workload;
mod writers;

use crate::args::BenchCommand;
use crate::failure::Failure;

pub use workload::Workload;

/// Measures what was asked for.
pub fn run(command: &BenchCommand) -> Result<String, Failure> {
    match command {
        BenchCommand::Store(args) => store::run(args),
    }
}
