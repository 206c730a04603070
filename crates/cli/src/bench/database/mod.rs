//! The benches of databases: a workload on fresh databases, scheme by scheme, measured.

mod benchmark;
mod linkbench;
mod live;
mod moment;
mod recorder;
mod replay;
mod report;
mod room;
mod run;
mod setup;
mod tenants;
mod text;
mod tpcc;
mod ycsb;

use std::path::Path;

use frostline_placement::registry::SchemeSpec;

use self::run::Run;
use super::live::Line;
use crate::args::{DatabaseArgs, DriveArg};
use crate::device::{describe, store_failure};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output;

pub use benchmark::Benchmark;
pub use report::{DatabaseReport, DatabaseRun};
pub use ycsb::{Distribution, Mix};

/// Runs the bench, and returns the table or the JSON.
pub fn run<B: Benchmark>(args: &DatabaseArgs, bench: &B) -> Result<String, Failure>
where
    B::Opened: Sync,
{
    let interrupt = watch::<B>()?;
    outcome(B::COMMAND, args, until(args, bench, &interrupt)?, &interrupt)
}

/// Runs the bench, and returns what was found.
pub fn measure<B: Benchmark>(args: &DatabaseArgs, bench: &B) -> Result<DatabaseReport, Failure>
where
    B::Opened: Sync,
{
    until(args, bench, &watch::<B>()?)
}

fn watch<B: Benchmark>() -> Result<Interrupt, Failure> {
    Interrupt::watch().map_err(|e| Failure::job(B::COMMAND, &e.to_string()))
}

/// Runs the bench to its end, or until a signal comes.
fn until<B: Benchmark>(
    args: &DatabaseArgs,
    bench: &B,
    interrupt: &Interrupt,
) -> Result<DatabaseReport, Failure>
where
    B::Opened: Sync,
{
    check(B::COMMAND, args)?;
    let line = Line::new(args.quiet);
    let one = Run { args, bench, line: &line, interrupt };
    let (mut runs, mut shape) = (Vec::new(), String::new());
    for scheme in &args.scheme {
        if args.scheme.len() > 1 {
            line.note(&format!("{}: {scheme}", B::COMMAND));
        }
        let device = setup::device(args, bench, scheme, !runs.is_empty())?;
        shape = describe(&*device);
        let Some(measured) = one.on(&device)? else { break };
        runs.push(DatabaseRun::new(measured));
        if interrupt.has_come() {
            break;
        }
    }
    Ok(report(args, bench.describe(), shape, runs))
}

/// Finds out what is wrong before anything is made.
fn check(what: &str, args: &DatabaseArgs) -> Result<(), Failure> {
    let outputs = args.json.as_deref().into_iter().chain(args.record.as_deref());
    output::check::<Path>(what, outputs, [])?;
    for scheme in &args.scheme {
        SchemeSpec::parse(scheme).map_err(|e| store_failure(&args.device, e.into()))?;
    }
    let Some(path) = &args.record else { return Ok(()) };
    output::check_name(what, path)?;
    if path.extension().is_none_or(|ending| ending != "parquet") {
        let why = format!("--record {}: only a .parquet has hotness records", path.display());
        return Err(Failure::usage(what, &why));
    }
    match args.scheme.len() {
        1 => Ok(()),
        _ => Err(Failure::usage(what, "--record: one run is recorded, with one --scheme")),
    }
}

fn report(
    args: &DatabaseArgs,
    workload: String,
    shape: String,
    runs: Vec<DatabaseRun>,
) -> DatabaseReport {
    DatabaseReport {
        frostline: env!("CARGO_PKG_VERSION"),
        device: args.device.clone(),
        shape,
        drive: args.speed.drive.map(DriveArg::name),
        bandwidth: args.speed.bandwidth.map(|size| size.0),
        workload,
        cleaning: args.cleaning.name(),
        replacement: args.replacement.name(),
        hotness: !args.no_hotness,
        tenants: runs.first().map_or(0, |run| run.tenants.len().max(1)),
        threads: args.threads,
        in_flight: args.in_flight,
        buffer_bytes: args.buffer.0,
        seed: args.seed,
        interrupted: runs.len() < args.scheme.len() || runs.iter().any(|run| run.interrupted),
        runs,
    }
}

/// The table or the JSON; a failure with it if the data are not as they must be, or if a signal
/// ended the bench early.
fn outcome(
    what: &str,
    args: &DatabaseArgs,
    report: DatabaseReport,
    interrupt: &Interrupt,
) -> Result<String, Failure> {
    let trace = args.record.as_ref().map(|path| path.display().to_string());
    let text = || text::text(&report, trace.as_deref());
    let text = output::emit(what, args.json.as_deref(), &report, text)?;
    match report.runs.iter().map(DatabaseRun::failed).sum::<usize>() {
        0 if report.interrupted => match interrupt.failure(what, &report.left_out(&args.scheme)) {
            Some(failure) => Err(failure.with_data(text)),
            None => Ok(text),
        },
        0 => Ok(text),
        1 => Err(Failure::job(what, "1 condition does not hold").with_data(text)),
        many => Err(Failure::job(what, &format!("{many} conditions do not hold")).with_data(text)),
    }
}
