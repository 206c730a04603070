//! What a sweep found, as tables and JSON show it. Field names are a contract: fields are added,
//! never renamed.

use std::collections::BTreeMap;

use frostline_log::Counts;
use serde::Serialize;

use crate::{BASELINE, BOUND, Combination, Outcome, Plan, Settings, Space, Volume};

/// A whole sweep.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Version of the program.
    pub frostline: &'static str,
    /// The trace; with several, their paths in a row and their sums.
    pub trace: TraceReport,
    /// Each trace, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub traces: Vec<TraceReport>,
    /// The runs; with several volumes first the sums over all, then volume by volume.
    pub runs: Vec<RunReport>,
}

/// A trace.
#[derive(Clone, Debug, Serialize)]
pub struct TraceReport {
    /// Path of the file.
    pub path: String,
    /// Name of its format.
    pub format: String,
    /// User page writes, the preload not included.
    pub user_writes: u64,
    /// Different pages written, by the preload too.
    pub unique_pages: u64,
}

/// Three quartiles.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quartiles {
    /// A quarter is not above this.
    pub p25: f64,
    /// Half is not above this.
    pub p50: f64,
    /// Three quarters are not above this.
    pub p75: f64,
}

/// Page writes of a class.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ClassReport {
    /// The class, from 1.
    pub class: usize,
    /// Pages written by the user.
    pub user_writes: u64,
    /// Pages copied by cleaning.
    pub relocations: u64,
}

/// A stretch of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WindowReport {
    /// Pages written by the user.
    pub user_writes: u64,
    /// Pages copied by cleaning.
    pub relocations: u64,
    /// Write amplification in the window.
    pub waf: f64,
}

/// One run, or the sum of the runs over all volumes.
#[derive(Clone, Debug, Serialize)]
pub struct RunReport {
    /// The volume, or "all"; left out if there is but one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume: Option<String>,
    /// The scheme as it was asked for.
    pub scheme: String,
    /// The victim policy, or the scheme's own victim side.
    pub victim: String,
    /// Pages in a zone.
    pub zone_pages: u32,
    /// When cleaning runs: `gp`, or `op` with the same as a share of the physical pages.
    pub trigger: BTreeMap<&'static str, f64>,
    /// Pages written by the user, after preload and warm-up.
    pub user_writes: u64,
    /// Pages copied by cleaning.
    pub relocations: u64,
    /// Write amplification.
    pub waf: f64,
    /// Share of the relocations that copied a frozen page.
    pub far: f64,
    /// Share of the gain from `nosep` to `oracle-rate-frozen` that is reached; none if those were
    /// not run or do not differ.
    pub gain: Option<f64>,
    /// Victims.
    pub zones_reclaimed: u64,
    /// Cleanings, also those that found no victim.
    pub cleanings: u64,
    /// Cleanings that found no victim while the trigger still asked for one.
    pub stalls: u64,
    /// Pages that went to another class than the scheme's for want of a free zone.
    pub spilled: u64,
    /// Garbage proportion of victims.
    pub victim_gp: Quartiles,
    /// Page writes by class.
    pub classes: Vec<ClassReport>,
    /// The run in windows, if that was asked for.
    pub windows: Vec<WindowReport>,
    /// Figures of the scheme's own.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub gauges: BTreeMap<&'static str, f64>,
    /// Peak memory in bytes, the trace not included.
    pub peak_bytes: u64,
    /// Wall time of the replay.
    pub seconds: f64,
    /// User writes replayed in a second, preload and warm-up included.
    pub writes_per_second: f64,
}

impl Report {
    /// Puts a sweep's outcomes, as [`sweep`](crate::sweep()) returns them, into a report.
    pub fn new(
        traces: Vec<TraceReport>,
        volumes: &[Volume],
        plan: &Plan,
        settings: &Settings,
        outcomes: &[Vec<Outcome>],
    ) -> Report {
        let mut runs = Vec::new();
        if volumes.len() > 1 {
            let pages = volumes.iter().map(|v| u64::from(v.unique_pages())).sum();
            let total = sum(outcomes);
            runs.extend(rows(plan, settings, &total, pages, Some("all".to_string())));
        }
        for (volume, outcomes) in volumes.iter().zip(outcomes) {
            let name = (volumes.len() > 1).then(|| volume.name().to_string());
            let pages = u64::from(volume.unique_pages());
            runs.extend(rows(plan, settings, outcomes, pages, name));
        }
        Report {
            frostline: env!("CARGO_PKG_VERSION"),
            trace: TraceReport::join(&traces),
            traces: if traces.len() > 1 { traces } else { Vec::new() },
            runs,
        }
    }

    /// Leaves out how long it took, so that equal runs give equal bytes.
    pub fn without_timing(mut self) -> Report {
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
            user_writes: traces.iter().map(|t| t.user_writes).sum(),
            unique_pages: traces.iter().map(|t| t.unique_pages).sum(),
        }
    }
}

/// The runs of one volume that were asked for.
fn rows(
    plan: &Plan,
    settings: &Settings,
    outcomes: &[Outcome],
    logical_pages: u64,
    volume: Option<String>,
) -> Vec<RunReport> {
    let waf = |scheme: &str, victim: &str| {
        let found =
            plan.runs().zip(outcomes).find(|(c, _)| c.scheme.text == scheme && c.victim == victim);
        found.map(|(_, outcome)| outcome.counts.waf())
    };
    // A scheme with a victim side of its own is measured against the first policy.
    let first = plan.runs().find(|c| c.scheme.text == BASELINE).map(|c| c.victim.as_str());
    let gain = |combination: &Combination, counts: &Counts| {
        let victim = match waf(BASELINE, &combination.victim) {
            Some(_) => combination.victim.as_str(),
            None => first?,
        };
        let (from, to) = (waf(BASELINE, victim)?, waf(BOUND, victim)?);
        (from != to).then(|| (from - counts.waf()) / (from - to))
    };
    let rows = plan.wanted.iter().zip(outcomes).map(|(combination, outcome)| {
        let gain = gain(combination, &outcome.counts);
        row(combination, outcome, settings, logical_pages, volume.clone(), gain)
    });
    rows.collect()
}

fn row(
    combination: &Combination,
    outcome: &Outcome,
    settings: &Settings,
    logical_pages: u64,
    volume: Option<String>,
    gain: Option<f64>,
) -> RunReport {
    let counts = &outcome.counts;
    let classes = (1..).zip(&counts.classes).map(|(class, c)| ClassReport {
        class,
        user_writes: c.user_writes,
        relocations: c.relocations,
    });
    let windows = outcome.windows.iter().map(|w| WindowReport {
        user_writes: w.user_writes,
        relocations: w.relocations,
        waf: (w.user_writes + w.relocations) as f64 / w.user_writes as f64,
    });
    RunReport {
        volume,
        scheme: combination.scheme.text.clone(),
        victim: combination.victim.clone(),
        zone_pages: outcome.zone_pages,
        trigger: trigger(settings, outcome.zone_pages, logical_pages),
        user_writes: counts.user_writes,
        relocations: counts.relocations,
        waf: counts.waf(),
        far: counts.far(),
        gain,
        zones_reclaimed: counts.zones_reclaimed,
        cleanings: counts.cleanings,
        stalls: counts.stalls,
        spilled: counts.spilled,
        victim_gp: Quartiles {
            p25: counts.victim_gp(0.25),
            p50: counts.victim_gp(0.5),
            p75: counts.victim_gp(0.75),
        },
        classes: classes.collect(),
        windows: windows.collect(),
        gauges: outcome.gauges.iter().copied().collect(),
        peak_bytes: outcome.peak_bytes as u64,
        seconds: outcome.seconds,
        writes_per_second: outcome.replayed as f64 / outcome.seconds.max(1e-9),
    }
}

/// The trigger, an over-provisioning in both conventions and as it is after rounding to zones.
fn trigger(
    settings: &Settings,
    zone_pages: u32,
    logical_pages: u64,
) -> BTreeMap<&'static str, f64> {
    match settings.space {
        Space::Gp(gp) => BTreeMap::from([("gp", gp)]),
        Space::Op(op) => {
            let zones = (logical_pages as f64 * (1.0 + op) / f64::from(zone_pages)).ceil();
            let physical = zones * f64::from(zone_pages);
            let spare = physical - logical_pages as f64;
            BTreeMap::from([
                ("op", op),
                ("op_of_logical", spare / logical_pages as f64),
                ("op_of_physical", spare / physical),
            ])
        }
    }
}

/// The sums over all volumes, run by run.
fn sum(outcomes: &[Vec<Outcome>]) -> Vec<Outcome> {
    let mut volumes = outcomes.iter();
    let mut total = volumes.next().cloned().unwrap_or_default();
    for outcomes in volumes {
        for (sum, outcome) in total.iter_mut().zip(outcomes) {
            sum.counts.add(&outcome.counts);
            sum.peak_bytes = sum.peak_bytes.max(outcome.peak_bytes);
            sum.replayed += outcome.replayed;
            sum.seconds += outcome.seconds;
            for (a, b) in sum.gauges.iter_mut().zip(&outcome.gauges) {
                a.1 += b.1;
            }
        }
    }
    total.iter_mut().for_each(|sum| sum.windows.clear());
    total
}
