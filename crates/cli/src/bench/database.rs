//! `frostline bench tpcc`, `ycsb` and `linkbench`: a workload on fresh databases, scheme by scheme.

use std::path::Path;

use frostline_benches::{Benchmark, DatabaseReport, DatabaseRun};

use super::database_text::text;
use super::monitor;
use crate::args::DatabaseArgs;
use crate::cause::bench_failure;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::locked::lock_memory;
use crate::output;

/// Runs the bench, and returns the table or the JSON.
pub(super) fn run(
    command: &'static str,
    args: &DatabaseArgs,
    workload: &dyn Benchmark,
    all_figures: bool,
) -> Result<String, Failure> {
    let outputs = args.json.as_deref().into_iter().chain(args.record.as_deref());
    let interrupt = Interrupt::watch().map_err(|e| Failure::job(command, &e.to_string()))?;
    output::check::<Path>(command, outputs, [])?;
    if let Some(path) = &args.record {
        output::check_name(command, path)?;
    }
    if args.running.lock_memory {
        lock_memory(command)?;
    }
    let monitor = monitor(command, args.live, args.quiet, &interrupt)?;
    let report = args.bench().run(workload, &*monitor);
    // The picture goes before anything is printed.
    drop(monitor);
    let report = report.map_err(|e| bench_failure(command, e))?;
    outcome(command, args, &report, all_figures, &interrupt)
}

/// The table or the JSON. It comes with a failure if a condition of the data does not hold, or if a
/// signal ended the bench early.
fn outcome(
    command: &str,
    args: &DatabaseArgs,
    report: &DatabaseReport,
    all_figures: bool,
    interrupt: &Interrupt,
) -> Result<String, Failure> {
    let trace = args.record.as_ref().map(|path| path.display().to_string());
    let text = || text(report, trace.as_deref(), all_figures);
    let text = output::emit(command, args.json.as_deref(), report, text)?;
    let failed = |why: &str| Err(Failure::job(command, why).with_data(text.clone()));
    match report.runs.iter().map(DatabaseRun::failed).sum::<usize>() {
        0 if report.interrupted => {
            match interrupt.failure(command, &left_out(report, &args.scheme)) {
                Some(failure) => Err(failure.with_data(text)),
                None => Ok(text),
            }
        }
        0 => Ok(text),
        1 => failed("1 condition does not hold"),
        many => failed(&format!("{many} conditions do not hold")),
    }
}

/// The missing part of an interrupted bench, in words.
fn left_out(report: &DatabaseReport, schemes: &[String]) -> String {
    let cut_short = report.runs.iter().filter(|run| run.interrupted);
    let cut_short = cut_short.map(|run| format!("{} was cut short", run.run.scheme));
    let missing = schemes[report.runs.len()..].join(", ");
    let missing = (!missing.is_empty()).then(|| format!("not measured: {missing}"));
    cut_short.chain(missing).collect::<Vec<_>>().join("; ")
}
