//! `frostline bench store`: a workload on a fresh store.

use frostline_benches::{Error, StoreBench};

use super::monitor;
use super::store_text::text;
use crate::args::BenchStoreArgs;
use crate::cause::bench_failure;
use crate::failure::Failure;
use crate::inputs::most_memory;
use crate::interrupt::Interrupt;
use crate::locked::lock_memory;
use crate::output;

const COMMAND: &str = "bench store";

/// Runs the bench, and returns the table or the JSON.
pub(super) fn run(args: &BenchStoreArgs) -> Result<String, Failure> {
    if let Some(path) = &args.record {
        output::check_name(COMMAND, path)?;
    }
    if args.running.lock_memory {
        lock_memory(COMMAND)?;
    }
    let outputs = args.json.as_deref().into_iter().chain(args.record.as_deref());
    let interrupt = Interrupt::watch().map_err(|e| Failure::job(COMMAND, &e.to_string()))?;
    output::check(COMMAND, outputs, args.workload.file())?;
    let bench = StoreBench { memory: most_memory(), ..args.bench() };
    let monitor = monitor(COMMAND, args.live, args.quiet, &interrupt)?;
    let report = bench.run(&*monitor);
    // The picture goes before anything is printed.
    drop(monitor);
    let report = report.map_err(|error| match error {
        Error::Stopped { what: Some(what) } => {
            interrupt.failure(COMMAND, what).unwrap_or_else(|| bench_failure(COMMAND, error))
        }
        error => bench_failure(COMMAND, error),
    })?;
    let text = output::emit(COMMAND, args.json.as_deref(), &report, || text(&report))?;
    match interrupt.failure(COMMAND, "cut short").filter(|_| report.interrupted) {
        Some(failure) => Err(failure.with_data(text)),
        None => Ok(text),
    }
}
