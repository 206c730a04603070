//! The results of a sweep as a report.

use std::borrow::Cow;
use std::collections::BTreeMap;

use frostline_placement::{Foresight, SchemeSpec};
use frostline_results::{
    ALL_VOLUMES, ClassReport, ReplaySetup, RunReport, SimReport, TraceReport, WindowReport,
};

use crate::lifespans::{INTERVALS, LifespansByClass};
use crate::plan::{PLANNED, YARDSTICK, yardstick};
use crate::settings::zones;
use crate::{
    BASELINE, BOUND, Combination, Outcome, Outcomes, Plan, Settings, SimError, Space, TraceVolume,
};

/// The report of a sweep, from the outcomes that [`sweep`](crate::sweep()) returned. The settings
/// differ in zones and capacity at most.
pub fn report(
    traces: Vec<TraceReport>,
    volumes: &[TraceVolume],
    plan: &Plan,
    settings: &[Settings],
    outcomes: &[Outcomes],
) -> SimReport {
    assert_eq!(outcomes.len(), settings.len() * volumes.len(), "each volume has its outcomes");
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
        setup: settings.first().map(ReplaySetup::from).unwrap_or_default(),
        shard: None,
        trace: TraceReport::join(&traces),
        traces: if traces.len() > 1 { traces } else { Vec::new() },
        runs,
        interrupted: outcomes.iter().any(Outcomes::is_cut_short),
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
    assert_eq!(outcomes.wanted.len(), plan.wanted.len(), "each run has a place for its outcome");
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
