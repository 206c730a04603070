//! Replays, followed from Python.

use std::fmt::Display;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use frostline::placement::Semantics;
use frostline::placement::registry::Registry;
use frostline::sim::{Settings, Space, TraceVolume, ZoneSize};
use frostline_benches::{Event, Monitor};
use frostline_learn::{LARGEST_FILE, Model};
use frostline_papers::watched_sweep;
use frostline_sim::{Outcomes, Plan, SimError, report};
use pyo3::prelude::*;

use crate::error::{Failure, Result};
use crate::number::Bytes;
use crate::own_scheme::{OwnScheme, OwnSchemes};
use crate::trace::Trace;

/// The interval at which signals are looked for and progress is told.
const TICK: Duration = Duration::from_millis(100);

/// Settings of a replay, as keywords.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Keywords {
    zone: Vec<Bytes>,
    gp: Vec<f64>,
    op: Vec<f64>,
    zones: Option<u32>,
    free_zones: u32,
    max_open: Option<usize>,
    semantics: String,
    seed: u64,
    warmup: u64,
    window: u64,
    guess: bool,
    model: Option<PathBuf>,
}

impl Keywords {
    /// The settings of the runs: each size of zones with each capacity.
    fn settings(&self, page_size: u32, schemes: Registry) -> Result<Vec<Settings>> {
        let gps = if self.gp.is_empty() { &[0.15][..] } else { &self.gp[..] };
        let spaces: Vec<_> = match self.zones {
            _ if self.op.is_empty() => {
                let space =
                    |&gp| self.zones.map_or(Space::Gp(gp), |zones| Space::Bounded { gp, zones });
                gps.iter().map(space).collect()
            }
            None if self.gp.is_empty() => self.op.iter().map(|&op| Space::Op(op)).collect(),
            _ => return Err(Failure::new("op goes neither with gp nor with zones")),
        };
        let zones = self.zone.iter().map(|zone| zone.get().map(ZoneSize::Bytes));
        let zones = match zones.collect::<std::result::Result<Vec<_>, _>>()? {
            none if none.is_empty() => vec![ZoneSize::Auto],
            zones => zones,
        };
        let semantics = match self.semantics.as_str() {
            "published" => Semantics::Published,
            "sepbit-fast22" => Semantics::SepbitFast22,
            "midas-fast24" => Semantics::MidasFast24,
            other => {
                let known = "published sepbit-fast22 midas-fast24";
                return Err(Failure::new(format!(
                    "unknown semantics \"{other}\" (known: {known})"
                )));
            }
        };
        let model = self.model.as_deref().map(model).transpose()?.map(Arc::new);
        let of_all = Settings {
            page_size,
            schemes,
            max_open: self.max_open,
            reserve: self.free_zones,
            semantics,
            seed: self.seed,
            warmup: self.warmup,
            window: self.window,
            guess: self.guess,
            model,
            ..Settings::default()
        };
        Ok(of_all.crossed(&zones, &spaces))
    }
}

/// Reads a model that `frostline train` made, and of a longer file no more than shows that it is
/// none.
fn model(path: &Path) -> Result<Model> {
    let failed = |why: &dyn Display| Failure::new(format!("{}: {why}", path.display()));
    let file = File::open(path).map_err(|error| failed(&error))?;
    let mut bytes = Vec::new();
    file.take(LARGEST_FILE as u64 + 1).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
    Model::read(&bytes).map_err(|error| failed(&error))
}

/// Replays traces against schemes; the report as JSON, as `frostline sim --json` prints it.
#[pyfunction]
#[pyo3(signature = (traces, schemes, victims, keywords, *, own, gain, timing, threads=None, progress=None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords")]
pub fn simulate(
    py: Python<'_>,
    traces: Vec<PyRef<'_, Trace>>,
    schemes: Vec<String>,
    victims: Vec<String>,
    keywords: Keywords,
    own: Vec<PyRef<'_, OwnScheme>>,
    gain: bool,
    timing: bool,
    threads: Option<usize>,
    progress: Option<Bound<'_, PyAny>>,
) -> Result<String> {
    let page_size = traces.first().map_or(4096, |trace| trace.page_size);
    if traces.iter().any(|trace| trace.page_size != page_size) {
        return Err(Failure::new("the traces have pages of different sizes"));
    }
    let own = OwnSchemes::of(&own);
    let settings = keywords.settings(page_size, own.registry())?;
    // They differ in zones and capacity only.
    let of_all = &settings[0];
    if of_all.semantics == Semantics::SepbitFast22 && traces.iter().any(|trace| !trace.has_times) {
        let why = "these semantics need the times of writes: open(path, times=True, trims=False)";
        return Err(Failure::new(why));
    }
    let plan = Plan::named(&schemes, &victims, gain, of_all)?;
    settings.iter().try_for_each(|one| plan.check(one))?;
    let volumes = volumes(&traces);
    let longest = volumes.iter().map(TraceVolume::user_writes).max().unwrap_or(0);
    if of_all.warmup >= longest {
        let why = match longest {
            0 => "there are no user writes".to_string(),
            _ => format!("warmup {}: there are only {longest} user writes", of_all.warmup),
        };
        return Err(Failure::new(why));
    }
    let watch = Watch { own, ..Watch::default() };
    let outcomes = watched(py, threads, progress, &watch, || {
        watched_sweep(&volumes, &plan, &settings, &watch)
    });
    if let Some(why) = watch.own.take_failure() {
        return Err(Failure::new(why));
    }
    let outcomes = outcomes??;
    let reports = traces.iter().map(|trace| trace.report()).collect();
    let report = report(reports, &volumes, &plan, &settings, &outcomes);
    let report = if timing { report } else { report.without_timing() };
    Ok(serde_json::to_string(&report)?)
}

/// The volumes of all traces, named after their traces if there are several.
fn volumes(traces: &[PyRef<'_, Trace>]) -> Vec<TraceVolume> {
    let named = |trace: &Trace, volume: &TraceVolume| match (traces.len(), trace.volumes.len()) {
        (1, _) => volume.clone(),
        (_, 1) => volume.clone().with_name(trace.report().path),
        _ => {
            let name = format!("{}:{}", trace.report().path, volume.name());
            volume.clone().with_name(name)
        }
    };
    let of_trace =
        |trace: &Trace| trace.volumes.iter().map(|volume| named(trace, volume)).collect();
    traces.iter().flat_map(|trace| -> Vec<TraceVolume> { of_trace(trace) }).collect()
}

/// The progress of a replay, and whether to stop it.
#[derive(Default)]
struct Watch {
    done: AtomicU64,
    of: AtomicU64,
    stopped: AtomicBool,
    own: OwnSchemes,
}

impl Monitor for Watch {
    fn on(&self, event: Event<'_>) {
        if let Event::Progress { done, of, .. } = event {
            self.done.store(done, Ordering::Relaxed);
            self.of.store(of, Ordering::Relaxed);
        }
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed) || self.own.have_failed()
    }
}

/// Does the work on other threads without Python's lock, while this one, on which alone Python
/// takes signals, looks for them and tells of progress.
fn watched(
    py: Python<'_>,
    threads: Option<usize>,
    progress: Option<Bound<'_, PyAny>>,
    watch: &Watch,
    work: impl FnOnce() -> std::result::Result<Vec<Outcomes>, SimError> + Send,
) -> Result<std::result::Result<Vec<Outcomes>, SimError>> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build();
    let pool = pool.map_err(|error| Failure::new(error.to_string()))?;
    let (finished, waiting) = mpsc::channel();
    let waiting = Mutex::new(waiting);
    thread::scope(|scope| {
        scope.spawn(|| {
            let outcome = pool.install(work);
            // Received by the loop below, which ends with nothing else.
            let _ = finished.send(outcome);
        });
        let mut failed = None;
        loop {
            let received = py.detach(|| {
                waiting.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(TICK)
            });
            if failed.is_none() {
                failed = tell(py, watch, progress.as_ref()).err();
                watch.stopped.store(failed.is_some(), Ordering::Relaxed);
            }
            match (received, failed) {
                (Err(RecvTimeoutError::Timeout), still) => failed = still,
                (_, Some(error)) => return Err(error.into()),
                (Ok(outcome), None) => return Ok(outcome),
                (Err(RecvTimeoutError::Disconnected), None) => {
                    return Err(Failure::new("the replay panicked"));
                }
            }
        }
    })
}

fn tell(py: Python<'_>, watch: &Watch, progress: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    py.check_signals()?;
    if let Some(progress) = progress {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        progress.call1((load(&watch.done), load(&watch.of)))?;
    }
    Ok(())
}
