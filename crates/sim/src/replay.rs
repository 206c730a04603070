//! One run: a scheme with a victim policy over one volume.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use frostline_log::{Counts, LogError, PageReplay, RecordReplay, Writes};
use frostline_placement::{BuildError, Foresight, Semantics, Setup, victims};
use serde::{Deserialize, Serialize};

use crate::between::{Between, advance};
use crate::cpu_time::cpu_seconds;
use crate::fast22::Fast22Log;
use crate::lifespans::{LifespanSample, LifespansByClass};
use crate::machine::{InPages, Log, Machine};
use crate::settings::least_op;
use crate::stored::StoredCounts;
use crate::windows::{Window, Windows, named};
use crate::{Combination, Settings, SimError, Space, TraceVolume, fast22, midas_fast24};

/// Writes between two reports of progress.
const STRIDE: usize = 1 << 20;

/// The number of user writes done so far, in all runs together, and a flag that stops the runs.
#[derive(Debug, Default)]
pub struct ReplayProgress {
    writes: AtomicU64,
    stopped: AtomicBool,
}

impl ReplayProgress {
    /// User writes done so far.
    pub fn writes(&self) -> u64 {
        self.writes.load(Ordering::Relaxed)
    }

    /// Stops the runs that have not finished; they fail with [`SimError::Stopped`].
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    fn check(&self) -> Result<(), SimError> {
        if self.stopped.load(Ordering::Relaxed) { Err(SimError::Stopped) } else { Ok(()) }
    }

    pub(crate) fn add(&self, writes: usize) {
        self.writes.fetch_add(writes as u64, Ordering::Relaxed);
    }
}

/// The outcome of a run.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Outcome {
    /// Pages in a zone.
    pub zone_pages: u32,
    /// Counts after preload and warm-up.
    #[serde(with = "StoredCounts")]
    pub counts: Counts,
    /// The same counts, window by window.
    pub windows: Vec<Window>,
    /// A sample of the user writes after preload and warm-up, if that was asked for.
    #[serde(default)]
    pub lifespans: LifespansByClass,
    /// The decisions of the scheme with their reasons, one per line.
    pub explanation: Vec<String>,
    /// The scheme's own figures.
    pub gauges: Vec<(Cow<'static, str>, f64)>,
    /// Peak memory of the volume, in bytes, the trace not included.
    pub peak_bytes: usize,
    /// User writes per second of this thread's CPU time, after preload and warm-up. Of all measures
    /// of speed, other load on the machine disturbs this one least.
    pub writes_per_cpu_second: f64,
    /// User writes replayed, preload and warm-up included.
    pub replayed: u64,
    /// Wall time of the replay.
    pub seconds: f64,
}

/// Replays a volume against a scheme with a victim policy.
///
/// # Errors
/// The scheme or policy can't be built, the volume can't be made or is full, or the run was
/// stopped.
pub fn replay(
    volume: &TraceVolume,
    combination: &Combination,
    settings: &Settings,
    zone_pages: u32,
    progress: &ReplayProgress,
) -> Result<Outcome, SimError> {
    progress.check()?;
    let mut machine = build(volume, combination, settings, zone_pages)?;
    let log = |error| SimError::Log { scheme: combination.scheme.text.clone(), error };
    let wants_reads = combination.scheme.entry.wants_reads;
    let reads = if wants_reads { volume.reads() } else { &[] };
    let syncs = if settings.store.is_some() { volume.syncs() } else { &[] };
    let mut between = Between { trims: volume.trims(), syncs, reads };
    let writes = volume.writes(settings.unit());
    let hotness = writes.hotness.filter(|_| settings.hears_hotness());
    let following = volume.following(settings.guess);
    let writes = Writes { hotness, following: Some(following), ..writes };
    let all = writes.words.len();
    let counted_from = (volume.preload_writes() as u64 + settings.warmup).min(all as u64) as usize;
    let mut windows = Windows::new(counted_from, settings.window, all, &mut *machine);
    let mut sample = LifespanSample::new(volume, settings.lifespans, zone_pages);
    let mut next = 0;
    let started = Instant::now();
    let mut cpu_from = cpu_seconds();
    let reopened = settings.reopened.map(|writes| volume.preload_writes() as u64 + writes);
    while next < all {
        progress.check()?;
        let mut end = sample.end_after(next, windows.end_after(next, next + STRIDE));
        match reopened {
            Some(at) if at == next as u64 => {
                let again = |setup: &Setup<'_>| combination.scheme.build_any(setup);
                machine.restart(with_setup(volume, combination, settings, zone_pages, again)?);
            }
            Some(at) if (next as u64..end as u64).contains(&at) => end = at as usize,
            _ => {}
        }
        assert!(next < end && end <= all, "each part of a run goes on");
        advance(&mut *machine, &writes, &mut between, next..end).map_err(log)?;
        if next >= counted_from {
            sample.look(next..end, &*machine);
        }
        progress.add(end - next);
        next = end;
        if next == counted_from {
            machine.reset_counts();
            cpu_from = cpu_seconds();
        }
        windows.reached(next, &mut *machine);
    }
    let seconds = started.elapsed().as_secs_f64();
    let cpu = (cpu_seconds() - cpu_from).max(1e-9);
    debug_assert_eq!(machine.verify(), Ok(()));
    debug_assert_eq!(
        machine.counts().user_writes,
        (all - counted_from) as u64,
        "each write that counts is counted"
    );
    Ok(Outcome {
        zone_pages,
        counts: machine.counts().clone(),
        windows: windows.done,
        lifespans: sample.counted,
        explanation: machine.explain(),
        gauges: named(machine.gauges()),
        peak_bytes: machine.peak_bytes(),
        writes_per_cpu_second: (all - counted_from) as f64 / cpu,
        replayed: all as u64,
        seconds,
    })
}

fn build<'a>(
    volume: &'a TraceVolume,
    combination: &Combination,
    settings: &Settings,
    zone_pages: u32,
) -> Result<Box<dyn Machine + 'a>, SimError> {
    let scheme = &combination.scheme;
    let options = settings.options(volume, zone_pages);
    if let Some(store) = settings.store {
        let (units, chunks) = (options.page_units, store.chunks);
        let store_units = chunks.page_units;
        if (zone_pages, units) != (chunks.zone_pages(), store_units) {
            let (zone, store) = (zone_pages, chunks.zone_pages());
            return Err(SimError::StoreShape { zone, units, store, store_units });
        }
        if volume.space() > store.pages {
            let error = LogError::BadLba {
                lba: u64::from(volume.space()) - 1,
                last: u64::from(store.pages) - 1,
            };
            return Err(SimError::Log { scheme: scheme.text.clone(), error });
        }
        // The store may have far more pages than the trace, and a scheme a table of them.
        let refused = |error| refused(volume, scheme.text.clone(), settings, zone_pages, error);
        options.check().map_err(refused)?;
    }
    let log = log(volume, combination, settings, zone_pages)?;
    let has_type = !options.in_records() && settings.reopened.is_none();
    let make = |setup: &Setup<'_>| -> Result<Result<Box<dyn Machine + 'a>, LogError>, BuildError> {
        Ok(match log {
            Log::Published(options, policy) if has_type => {
                scheme.build(setup, InPages(options, policy))?.map(|machine| machine as _)
            }
            Log::Published(options, policy) => {
                let scheme = scheme.build_any(setup)?;
                match options.in_records() {
                    true => {
                        RecordReplay::new(options, scheme, policy).map(|log| Box::new(log) as _)
                    }
                    false => PageReplay::new(options, scheme, policy).map(|log| Box::new(log) as _),
                }
            }
            Log::Fast22(options, policy, times) => {
                let log = Fast22Log::new(options, scheme.build_any(setup)?, policy, times);
                log.map(|log| Box::new(log) as _)
            }
        })
    };
    let made = with_setup(volume, combination, settings, zone_pages, make)?;
    made.map_err(|error| refused(volume, scheme.text.clone(), settings, zone_pages, error))
}

/// Makes something of a scheme, from the setup that it is built from.
fn with_setup<T>(
    volume: &TraceVolume,
    combination: &Combination,
    settings: &Settings,
    zone_pages: u32,
    make: impl FnOnce(&Setup<'_>) -> Result<T, BuildError>,
) -> Result<T, SimError> {
    let options = settings.options(volume, zone_pages);
    let foresight = combination.scheme.entry.foresight;
    let recogniser = |by: &str, setup: &Setup<'_>| {
        frostline_learn::recogniser(by, setup, settings.model.as_deref())
    };
    let means = (foresight == Foresight::Rates).then(|| volume.means_of_records(&options));
    let setup = Setup {
        zone_pages,
        page_bytes: settings.page_size,
        space: options.space,
        room: options.room(),
        semantics: settings.semantics,
        seed: settings.seed,
        mean_lifespans: means.as_deref(),
        lifespans: volume.lifespans(),
        has_hotness: volume.hotness().is_some() && settings.hears_hotness(),
        recogniser: Some(&recogniser),
        classifier: Some(&frostline_learn::classifier),
        forecaster: Some(&frostline_learn::forecaster),
        inner: None,
    };
    Ok(make(&setup)?)
}

/// The log in the reading that the settings ask for.
fn log<'a>(
    volume: &'a TraceVolume,
    Combination { scheme, victim }: &Combination,
    settings: &Settings,
    zone_pages: u32,
) -> Result<Log<'a>, SimError> {
    let own = scheme.entry.own_victim.is_some();
    match (settings.semantics, settings.space) {
        (Semantics::SepbitFast22, _) if scheme.entry.chooses_victims() => {
            Err(SimError::NotInSemantics { scheme: scheme.text.clone() })
        }
        (Semantics::SepbitFast22, Space::Gp(gp)) => {
            let (space, max_open) = (volume.space(), settings.max_open);
            let options = fast22::Fast22Options { zone_pages, space, gp, max_open, least_gp: gp };
            let policy = fast22::Policy::build(victim, settings.seed)?;
            Ok(Log::Fast22(options, policy, volume.times()))
        }
        (Semantics::SepbitFast22, _) => Err(SimError::SpaceInSemantics),
        (Semantics::MidasFast24, _) => {
            let settings =
                Settings { semantics: Semantics::Published, ..midas_fast24::settings(settings)? };
            let victim = midas_fast24::victim(victim).to_string();
            let combination = Combination { scheme: scheme.clone(), victim };
            log(volume, &combination, &settings, zone_pages)
        }
        (Semantics::Published, _) => {
            // A scheme with its own victim side never uses the policy.
            let policy = victims::build(if own { "greedy" } else { victim }, settings.seed)?;
            Ok(Log::Published(settings.options(volume, zone_pages), policy))
        }
    }
}

/// The error for a volume that can't be made.
fn refused(
    volume: &TraceVolume,
    scheme: String,
    settings: &Settings,
    zone_pages: u32,
    error: LogError,
) -> SimError {
    match (settings.space, error) {
        (Space::Op(op), LogError::TooSmall { physical, logical, spare }) => {
            let pages = u64::from(volume.unique_pages());
            let least = least_op(pages, zone_pages, logical + spare);
            SimError::OverProvisioning { scheme, op, physical, logical, spare, least }
        }
        (_, error) => SimError::Log { scheme, error },
    }
}
