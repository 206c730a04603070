//! `frostline bench store`: a workload on a fresh store.

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use frostline_store::{Open, Store};
use frostline_trace::{TraceError, write_lbas};
use frostline_zone::{Device, can_create};

use super::live::Live;
use super::metrics::serve;
use super::report::{BenchReport, BenchRun, Measured};
use super::workload::{Feed, Loaded};
use super::writers::{SetOnDrop, Writers, fill};
use crate::args::{BenchStoreArgs, DriveArg};
use crate::device::{describe, formatted, nothing_to_keep, placement, slowed, store_failure};
use crate::failure::{Failure, say};
use crate::interrupt::Interrupt;
use crate::output;

const COMMAND: &str = "bench store";

/// Seconds that a bench takes unless told otherwise.
const SECONDS: u64 = 30;

/// Runs the bench, and returns the table or the JSON.
pub fn run(args: &BenchStoreArgs) -> Result<String, Failure> {
    if let Some(path) = &args.record {
        output::check_name(COMMAND, path)?;
    }
    let outputs = args.json.as_deref().into_iter().chain(args.record.as_deref());
    output::check(COMMAND, outputs, args.workload.file())?;
    let interrupt = Interrupt::watch().map_err(|e| Failure::job(COMMAND, &e.to_string()))?;
    let workload = Loaded::new(&args.workload)?;
    let listener = listen(args)?;
    let device = device(args)?;
    let shape = describe(&*device);
    let failed = |error| store_failure(&args.device, error);
    let (cleaning, accept_loss) = (args.cleaning.into(), args.accept_loss);
    let open = Open { cleaning, accept_loss, ..Open::default() };
    let store = Store::open(device, open).map_err(failed)?;
    let over = AtomicBool::new(false);
    let measured = thread::scope(|scope| {
        // So that the server ends, whatever happens here.
        let _over = SetOnDrop(&over);
        if let Some(listener) = &listener {
            scope.spawn(|| serve(listener, &store, &over));
        }
        measure(args, &store, workload, &interrupt)
    })?;
    store.close().map_err(failed)?;
    let report = report(args, shape, measured);
    let text = output::emit(COMMAND, args.json.as_deref(), &report, || report.text())?;
    match interrupt.failure(COMMAND, "cut short").filter(|_| report.interrupted) {
        Some(failure) => Err(failure.with_data(text)),
        None => Ok(text),
    }
}

fn listen(args: &BenchStoreArgs) -> Result<Option<TcpListener>, Failure> {
    let Some(address) = args.metrics else { return Ok(None) };
    let listen = || {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    };
    let failed = |e: std::io::Error| Failure::job(COMMAND, &format!("--metrics {address}: {e}"));
    let (listener, address) = listen().map_err(failed)?;
    if !args.quiet {
        say(&format!("{COMMAND}: metrics at http://{address}/metrics"), None);
    }
    Ok(Some(listener))
}

/// The device, with a fresh store on it unless the one that is there is to be kept.
fn device(args: &BenchStoreArgs) -> Result<Arc<dyn Device>, Failure> {
    let format = placement(COMMAND, &args.placement)?;
    let format = frostline_store::Format { force: args.force, ..format };
    if args.keep && can_create(&args.device) {
        return Err(nothing_to_keep(COMMAND, &args.device));
    }
    let device = formatted(COMMAND, &args.device, &args.shape, |device| {
        let device = slowed(COMMAND, device.clone(), &args.speed)?;
        if args.keep {
            return Ok(());
        }
        Store::format(device, &format).map_err(|error| store_failure(&args.device, error))
    })?;
    slowed(COMMAND, device, &args.speed)
}

/// Fills the store, lets the workload run, and says what happened meanwhile.
fn measure(
    args: &BenchStoreArgs,
    store: &Store,
    workload: Loaded,
    interrupt: &Interrupt,
) -> Result<Measured, Failure> {
    let failed = |error| store_failure(&args.device, error);
    let pages = workload.fill(store.pages())?;
    let (record, recorder) = recorder(args.record.as_deref());
    let mut live = Live::new(args.quiet);
    if !args.keep {
        let mut recorded = 0;
        let told = |done| {
            if let Some(record) = &record {
                // A recorder that failed tells so when it is asked.
                let _ = record.send((recorded..done).collect());
                recorded = done;
            }
            live.filling(done, pages);
            !interrupt.has_come()
        };
        fill(store, pages, told).map_err(failed)?;
        live.end();
    }
    if let Some(failure) = interrupt.failure(COMMAND, "the store was not filled") {
        return Err(failure);
    }
    store.sync().map_err(failed)?;
    store.count_copies().map_err(failed)?;
    let before = store.stats().map_err(failed)?;
    live.begin(&before);
    let lbas = workload.lbas(pages, args.placement.seed)?;
    let feed = Feed::new(lbas, args.writes.unwrap_or(u64::MAX), record);
    let seconds = args.seconds.or(args.writes.is_none().then_some(SECONDS));
    let writers = Writers {
        store,
        feed: &feed,
        threads: args.threads,
        sync_every: args.sync_every,
        time: seconds.map(Duration::from_secs),
    };
    let written = writers.run(|passed| {
        live.tick(passed, store);
        !interrupt.has_come()
    });
    let interrupted = interrupt.has_come();
    live.end();
    let (times, took) = written.map_err(failed)?;
    drop(feed);
    recorded(args, recorder)?;
    let (info, after) = (store.info().map_err(failed)?, store.stats().map_err(failed)?);
    Ok(Measured { info, before, after, times, took, windows: live.windows, interrupted })
}

/// Where a recorder takes what is to be recorded, and its end.
type Recorder = JoinHandle<Result<u64, TraceError>>;

fn recorder(path: Option<&Path>) -> (Option<SyncSender<Vec<u32>>>, Option<Recorder>) {
    let Some(path) = path.map(Path::to_owned) else { return (None, None) };
    let (record, recorded) = mpsc::sync_channel::<Vec<u32>>(64);
    let write = move || write_lbas(&path, 4096, recorded.into_iter().flatten());
    (Some(record), Some(thread::spawn(write)))
}

fn recorded(args: &BenchStoreArgs, recorder: Option<Recorder>) -> Result<(), Failure> {
    let (Some(path), Some(recorder)) = (&args.record, recorder) else { return Ok(()) };
    let writes = match recorder.join() {
        Ok(written) => written?,
        Err(panic) => std::panic::resume_unwind(panic),
    };
    if !args.quiet {
        say(&format!("{}: {writes} page writes", path.display()), None);
    }
    Ok(())
}

fn report(args: &BenchStoreArgs, shape: String, measured: Measured) -> BenchReport {
    BenchReport {
        frostline: env!("CARGO_PKG_VERSION"),
        device: args.device.clone(),
        shape,
        drive: args.speed.drive.map(DriveArg::name),
        bandwidth: args.speed.bandwidth.map(|size| size.0),
        workload: args.workload.to_string(),
        cleaning: args.cleaning.name(),
        threads: args.threads,
        seed: measured.info.seed,
        interrupted: measured.interrupted,
        runs: [BenchRun::new(measured)],
    }
}
