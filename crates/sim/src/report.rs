//! The results of a sweep, for tables and JSON. Field names are a contract: fields are added, never
//! renamed.

use std::borrow::Cow;
use std::collections::BTreeMap;

use frostline_log::Counts;
use frostline_placement::{Foresight, SchemeSpec};
use serde::{Deserialize, Serialize};

use crate::lifespans::{INTERVALS, LifespansByClass};
use crate::plan::{PLANNED, YARDSTICK, yardstick};
use crate::settings::zones;
use crate::{
    BASELINE, BOUND, Combination, Outcome, Outcomes, Plan, ReplaySetup, Settings, SimError, Space,
    TraceVolume,
};

/// The volume name of sums over all volumes.
pub const ALL_VOLUMES: &str = "all";

/// A whole sweep.
#[derive(Clone, Debug, Serialize)]
pub struct SimReport {
    /// Version of the program.
    pub frostline: &'static str,
    /// Commit that the program was built from, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The command line, if there was one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The settings that all runs share.
    pub setup: ReplaySetup,
    /// The part of the sweep that was done, like `3/16`; none if all of it was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
    /// The trace; if there are several, their paths in a row and their sums.
    pub trace: TraceReport,
    /// Each trace, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traces: Vec<TraceReport>,
    /// The runs, settings by settings; if there are several volumes, first the sums over all, then volume by
    /// volume.
    pub runs: Vec<RunReport>,
    /// True if the sweep was stopped; `runs` are those that had finished.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
}

/// A trace.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct TraceReport {
    /// Path of the file.
    pub path: String,
    /// Name of its format.
    pub format: String,
    /// Size of the file; for several traces, the sum of their sizes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bytes: u64,
    /// SHA-256 of the file's bytes, in hexadecimal digits; none for several traces, or for a pipe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// User page writes, the preload not included.
    pub user_writes: u64,
    /// Different pages written, by the preload too.
    pub unique_pages: u64,
    /// True if the trace, or its preload, has no requests, so that what follows a page in its
    /// request is a guess: the LBAs that come next.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub requests_guessed: bool,
    /// Trims of whole pages, without those of the preload.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub trims: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Three quartiles.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct Quartiles {
    /// A quarter is not above this.
    pub p25: f64,
    /// Half is not above this.
    pub p50: f64,
    /// Three quarters are not above this.
    pub p75: f64,
}

/// Page writes of a class.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct ClassReport {
    /// The class, from 1.
    pub class: usize,
    /// Pages written by the user.
    pub user_writes: u64,
    /// Pages copied by cleaning.
    pub relocations: u64,
    /// A sample of the user writes by lifespan, in eight intervals: shorter than 1, 4, 16, 64, 256 and 1,024
    /// zones' worth of user writes, longer, and frozen pages. Left out if that was not asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lifespans: Vec<u64>,
}

/// A stretch of a run.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct WindowReport {
    /// Pages written by the user.
    pub user_writes: u64,
    /// Pages copied by cleaning.
    pub relocations: u64,
    /// Meta pages, which the scheme filled with its state of pages.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub meta_pages: u64,
    /// Write amplification in the window.
    pub waf: f64,
    /// The scheme's own figures at the end of the window.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub gauges: BTreeMap<Cow<'static, str>, f64>,
}

/// One run, or the sum of the runs over all volumes.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct RunReport {
    /// The volume, or "all"; left out if there is only one volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<String>,
    /// The scheme as it was asked for.
    pub scheme: String,
    /// The scheme's name in the registry; for a pairing, the name of its scheme.
    #[serde(default)]
    pub method: String,
    /// Every parameter of the scheme with its value, given or the default.
    #[serde(default)]
    pub parameters: BTreeMap<Cow<'static, str>, String>,
    /// True if the scheme knows the future.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub oracle: bool,
    /// The victim policy, or the scheme's own victim side.
    pub victim: String,
    /// True if the victim policy comes with the scheme, whatever others are asked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own_victim: bool,
    /// Pages in a zone.
    pub zone_pages: u32,
    /// The trigger of cleaning: `gp`, with `zones` and `free_zones` if the number of zones is
    /// fixed; or `op`, together with the same figure as a share of the physical pages.
    pub trigger: BTreeMap<Cow<'static, str>, f64>,
    /// Pages written by the user, after preload and warm-up.
    pub user_writes: u64,
    /// Pages copied by cleaning.
    pub relocations: u64,
    /// Meta pages, which the scheme filled with its state of pages.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub meta_pages: u64,
    /// Write amplification; if pages are not written whole, that of bytes.
    pub waf: f64,
    /// Bytes in a unit, if pages are not written whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<u32>,
    /// Bytes written by the user, in whole units, if pages are not written whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_bytes: Option<u64>,
    /// Bytes written to the device, by the user and by cleaning, if pages are not written whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_bytes: Option<u64>,
    /// Pages written by the user as deltas or tails, if pages are not written whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta_writes: Option<u64>,
    /// Relocations of bases that were merged with their deltas and tails, if pages are not written whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merges: Option<u64>,
    /// Share of the relocations that copied a frozen page; none if this was not counted.
    pub far: Option<f64>,
    /// Pages written beyond the user's, divided by the user's: the write amplification of those
    /// papers in which 0 is perfect.
    pub extra: f64,
    /// The share that this run reaches of the gain from `nosep` to `oracle-rate-frozen`, both under
    /// the run's victim policy, or under `cost-benefit` if the scheme has its own victim side. None
    /// if these two were not run, or if there is no gain between them.
    pub gain: Option<f64>,
    /// The share that this run reaches of the possible gain, from `nosep` under `cost-benefit` to
    /// `oracle-plan`, whatever the run's victim policy; none if `oracle-plan` was not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub possible_gain: Option<f64>,
    /// The number of victims.
    pub zones_reclaimed: u64,
    /// Cleanings, including those that found no victim.
    pub cleanings: u64,
    /// Cleanings that found no victim while the trigger still asked for one.
    pub stalls: u64,
    /// Pages that went to another class than the scheme's for want of a free zone.
    pub spilled: u64,
    /// Garbage proportion of victims.
    pub victim_gp: Quartiles,
    /// Victims by garbage proportion, in steps of a twentieth; those without a valid page are in
    /// the last step.
    #[serde(default)]
    pub victim_gp_histogram: Vec<u64>,
    /// Page writes by class.
    pub classes: Vec<ClassReport>,
    /// The run in windows, if that was asked for.
    pub windows: Vec<WindowReport>,
    /// The scheme's own figures.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub gauges: BTreeMap<Cow<'static, str>, f64>,
    /// Peak memory in bytes, without the trace; for a sum over volumes, the largest volume's.
    pub peak_bytes: u64,
    /// Wall time of the replay.
    pub seconds: f64,
    /// User writes replayed in a second, preload and warm-up included.
    pub writes_per_second: f64,
}

impl SimReport {
    /// Puts a sweep's outcomes, as [`sweep`](crate::sweep()) returns them, into a report. The settings
    /// differ in zones and capacity at most.
    pub fn new(
        traces: Vec<TraceReport>,
        volumes: &[TraceVolume],
        plan: &Plan,
        settings: &[Settings],
        outcomes: &[Outcomes],
    ) -> SimReport {
        let pages: Vec<_> = volumes.iter().map(|v| u64::from(v.unique_pages())).collect();
        let mut runs = Vec::new();
        for (settings, outcomes) in settings.iter().zip(outcomes.chunks(volumes.len().max(1))) {
            if volumes.len() > 1 {
                let total = sum(outcomes);
                runs.extend(rows(plan, settings, &total, &pages, Some(ALL_VOLUMES.to_string())));
            }
            for (i, (volume, outcomes)) in volumes.iter().zip(outcomes).enumerate() {
                let name = (volumes.len() > 1).then(|| volume.name().to_string());
                runs.extend(rows(plan, settings, outcomes, &pages[i..=i], name));
            }
        }
        SimReport {
            frostline: env!("CARGO_PKG_VERSION"),
            commit: None,
            command: Vec::new(),
            setup: settings.first().map(ReplaySetup::of).unwrap_or_default(),
            shard: None,
            trace: TraceReport::join(&traces),
            traces: if traces.len() > 1 { traces } else { Vec::new() },
            runs,
            interrupted: outcomes.iter().any(Outcomes::is_cut_short),
        }
    }

    /// Leaves out all durations, so that equal runs give equal bytes.
    pub fn without_timing(mut self) -> SimReport {
        for run in &mut self.runs {
            run.seconds = 0.0;
            run.writes_per_second = 0.0;
        }
        self
    }
}

impl TraceReport {
    fn join(traces: &[TraceReport]) -> TraceReport {
        let join = |part: fn(&TraceReport) -> &str| {
            let mut parts: Vec<_> = traces.iter().map(part).collect();
            parts.dedup();
            parts.join(" ")
        };
        TraceReport {
            path: join(|t| &t.path),
            format: join(|t| &t.format),
            bytes: traces.iter().map(|t| t.bytes).sum(),
            sha256: traces.first().filter(|_| traces.len() == 1).and_then(|t| t.sha256.clone()),
            user_writes: traces.iter().map(|t| t.user_writes).sum(),
            unique_pages: traces.iter().map(|t| t.unique_pages).sum(),
            requests_guessed: traces.iter().any(|t| t.requests_guessed),
            trims: traces.iter().map(|t| t.trims).sum(),
        }
    }
}

/// The runs that were asked for, over one volume or over all together.
fn rows(
    plan: &Plan,
    settings: &Settings,
    outcomes: &Outcomes,
    logical_pages: &[u64],
    volume: Option<String>,
) -> Vec<RunReport> {
    let rows = plan.wanted.iter().zip(&outcomes.wanted).filter_map(|(combination, outcome)| {
        let outcome = outcome.as_ref()?;
        let gains = gains(plan, outcomes, combination, outcome.counts.waf());
        Some(row(combination, outcome, settings, logical_pages, volume.clone(), gains))
    });
    rows.collect()
}

/// The share that a run reaches of the gain from the baseline to each bound.
#[derive(Clone, Copy, Debug, Default)]
struct Gains {
    under_policy: Option<f64>,
    possible: Option<f64>,
}

fn gains(plan: &Plan, outcomes: &Outcomes, combination: &Combination, reached: f64) -> Gains {
    if !plan.gains {
        return Gains::default();
    }
    let references = outcomes.references.iter().map(|outcome| outcome.as_ref().ok());
    let outcomes = || outcomes.wanted.iter().map(Option::as_ref).chain(references.clone());
    let waf = |scheme: &str, victim: &str| {
        // Schemes are compared by their whole text: with other parameters it is another scheme.
        let mut runs = plan.runs().zip(outcomes());
        let (_, found) = runs.find(|(c, _)| c.scheme.text == scheme && c.victim == victim)?;
        found.map(|outcome| outcome.counts.waf())
    };
    let share = |(from, to): (f64, f64)| (from > to).then(|| (from - reached) / (from - to));
    let victim = yardstick(combination);
    let under_policy = waf(BASELINE, victim).zip(waf(BOUND, victim)).and_then(share);
    let possible = waf(BASELINE, YARDSTICK).zip(waf(PLANNED, PLANNED)).and_then(share);
    Gains { under_policy, possible }
}

fn row(
    combination: &Combination,
    outcome: &Outcome,
    settings: &Settings,
    logical_pages: &[u64],
    volume: Option<String>,
    gains: Gains,
) -> RunReport {
    let windows = outcome.windows.iter().map(|w| WindowReport {
        user_writes: w.user_writes,
        relocations: w.relocations,
        meta_pages: w.meta_pages,
        waf: w.waf,
        gauges: w.gauges.iter().cloned().collect(),
    });
    let counts = &outcome.counts;
    let unit = settings.unit.filter(|&unit| unit < settings.page_size);
    RunReport {
        volume,
        scheme: combination.scheme.text.clone(),
        method: combination.scheme.entry.info.name.to_string(),
        parameters: parameters(&combination.scheme),
        oracle: combination.scheme.entry.foresight != Foresight::None,
        own_victim: combination.scheme.victim.is_some(),
        victim: combination.victim.clone(),
        zone_pages: outcome.zone_pages,
        trigger: trigger(settings, outcome.zone_pages, logical_pages),
        gain: gains.under_policy,
        possible_gain: gains.possible,
        windows: windows.collect(),
        gauges: outcome.gauges.iter().cloned().collect(),
        peak_bytes: outcome.peak_bytes as u64,
        seconds: outcome.seconds,
        writes_per_second: outcome.replayed as f64 / outcome.seconds.max(1e-9),
        classes: classes(outcome),
        ..RunReport::in_units(counts, unit)
    }
}

/// The classes, with the lifespans that were counted.
fn classes(outcome: &Outcome) -> Vec<ClassReport> {
    let mut classes = RunReport::of(&outcome.counts).classes;
    if !outcome.lifespans.is_empty() {
        let none = [0; INTERVALS];
        for (number, class) in classes.iter_mut().enumerate() {
            class.lifespans = outcome.lifespans.get(number).unwrap_or(&none).to_vec();
        }
    }
    classes
}

/// Every parameter of a scheme with its value.
fn parameters(scheme: &SchemeSpec) -> BTreeMap<Cow<'static, str>, String> {
    scheme.parameters().into_iter().map(|(key, value)| (key.into(), value)).collect()
}

impl RunReport {
    /// Pages in a zone, and the trigger of cleaning as it was asked for: runs with the same can be compared.
    pub fn setting(&self) -> (u32, [Option<f64>; 3]) {
        let asked = ["gp", "op", "zones"].map(|name| self.trigger.get(name).copied());
        (self.zone_pages, asked)
    }

    /// A report of the counts of a volume whose units have so many bytes, if it has units.
    pub fn in_units(counts: &Counts, unit: Option<u32>) -> RunReport {
        let bytes = |units: u64| unit.map(|unit| units * u64::from(unit));
        RunReport {
            unit,
            user_bytes: bytes(counts.user_units),
            device_bytes: bytes(counts.user_units + counts.relocated_units),
            delta_writes: unit.map(|_| counts.delta_writes),
            merges: unit.map(|_| counts.merges),
            ..RunReport::of(counts)
        }
    }

    /// A report of a volume's counts, without a name and durations.
    pub fn of(counts: &Counts) -> RunReport {
        let classes = (1..).zip(&counts.classes).map(|(class, c)| ClassReport {
            class,
            user_writes: c.user_writes,
            relocations: c.relocations,
            lifespans: Vec::new(),
        });
        RunReport {
            volume: None,
            scheme: String::new(),
            method: String::new(),
            parameters: BTreeMap::new(),
            oracle: false,
            victim: String::new(),
            own_victim: false,
            zone_pages: 0,
            trigger: BTreeMap::new(),
            user_writes: counts.user_writes,
            relocations: counts.relocations,
            meta_pages: counts.meta_pages,
            waf: counts.waf(),
            unit: None,
            user_bytes: None,
            device_bytes: None,
            delta_writes: None,
            merges: None,
            far: Some(counts.far()),
            extra: counts.waf() - 1.0,
            gain: None,
            possible_gain: None,
            zones_reclaimed: counts.zones_reclaimed,
            cleanings: counts.cleanings,
            stalls: counts.stalls,
            spilled: counts.spilled,
            victim_gp: Quartiles {
                p25: counts.victim_gp(0.25),
                p50: counts.victim_gp(0.5),
                p75: counts.victim_gp(0.75),
            },
            victim_gp_histogram: histogram(&counts.victim_garbage),
            classes: classes.collect(),
            windows: Vec::new(),
            gauges: BTreeMap::new(),
            peak_bytes: 0,
            seconds: 0.0,
            writes_per_second: 0.0,
        }
    }
}

/// Victims in steps of garbage proportion, from victims by garbage pages.
fn histogram(victims: &[u64]) -> Vec<u64> {
    const STEPS: usize = 20;
    let zone_pages = victims.len().saturating_sub(1).max(1);
    let mut steps = vec![0; STEPS];
    for (garbage, zones) in victims.iter().enumerate() {
        steps[(garbage * STEPS / zone_pages).min(STEPS - 1)] += zones;
    }
    steps
}

/// The trigger. An over-provisioning is given in both conventions, and as it is after the zones of
/// each volume were rounded.
fn trigger(
    settings: &Settings,
    zone_pages: u32,
    logical_pages: &[u64],
) -> BTreeMap<Cow<'static, str>, f64> {
    let named = |figures: &[(&'static str, f64)]| {
        figures.iter().map(|&(name, value)| (name.into(), value)).collect()
    };
    match settings.space {
        Space::Gp(gp) => named(&[("gp", gp)]),
        Space::Bounded { gp, zones } => {
            let free = f64::from(settings.reserve);
            named(&[("gp", gp), ("zones", f64::from(zones)), ("free_zones", free)])
        }
        Space::Op(op) => {
            let zones = logical_pages.iter().map(|&pages| u64::from(zones(pages, zone_pages, op)));
            let physical = (zones.sum::<u64>() * u64::from(zone_pages)) as f64;
            let logical = logical_pages.iter().sum::<u64>() as f64;
            named(&[
                ("op", op),
                ("op_of_logical", (physical - logical) / logical),
                ("op_of_physical", (physical - logical) / physical),
            ])
        }
    }
}

/// The sums over all volumes, run by run. Windows and gauges belong to single volumes: their sums
/// would mean nothing.
fn sum(outcomes: &[Outcomes]) -> Outcomes {
    let mut volumes = outcomes.iter();
    let mut total = volumes.next().cloned().unwrap_or_default();
    for outcomes in volumes {
        for (sum, outcome) in total.wanted.iter_mut().zip(&outcomes.wanted) {
            add_finished(sum, outcome.as_ref());
        }
        for (sum, outcome) in total.references.iter_mut().zip(&outcomes.references) {
            add_reference(sum, outcome);
        }
    }
    for sum in total.wanted.iter_mut().flatten() {
        sum.windows.clear();
        sum.gauges.clear();
    }
    total
}

fn add(sum: &mut Outcome, outcome: &Outcome) {
    sum.counts.add(&outcome.counts);
    add_lifespans(&mut sum.lifespans, &outcome.lifespans);
    sum.peak_bytes = sum.peak_bytes.max(outcome.peak_bytes);
    sum.replayed += outcome.replayed;
    sum.seconds += outcome.seconds;
}

fn add_lifespans(sum: &mut LifespansByClass, other: &LifespansByClass) {
    sum.resize(sum.len().max(other.len()), [0; INTERVALS]);
    for (sum, other) in sum.as_flattened_mut().iter_mut().zip(other.as_flattened()) {
        *sum += other;
    }
}

/// Adds a run to a sum; if the run was stopped, there is no sum.
fn add_finished(sum: &mut Option<Outcome>, outcome: Option<&Outcome>) {
    match (&mut *sum, outcome) {
        (Some(sum), Some(outcome)) => add(sum, outcome),
        _ => *sum = None,
    }
}

/// Adds a run to a sum; if the run failed, the sum is its error.
fn add_reference(sum: &mut Result<Outcome, SimError>, outcome: &Result<Outcome, SimError>) {
    match (&mut *sum, outcome) {
        (Ok(sum), Ok(outcome)) => add(sum, outcome),
        (Ok(_), Err(error)) => *sum = Err(error.clone()),
        (Err(_), _) => {}
    }
}
