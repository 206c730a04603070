//! A run.

use std::borrow::Cow;
use std::collections::BTreeMap;

use frostline_log::Counts;
use serde::{Deserialize, Serialize};

use crate::is_zero;

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
    /// A sample of the user writes by lifespan, in eight intervals: shorter than 1, 4, 16, 64, 256
    /// and 1,024 zones' worth of user writes, longer, and frozen pages. Left out if that was not
    /// asked for.
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
    /// Relocations of bases that were merged with their deltas and tails, if pages are not written
    /// whole.
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

impl RunReport {
    /// Pages in a zone, and the trigger of cleaning as it was asked for: runs with the same can be
    /// compared.
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
    let all = |zones: &[u64]| zones.iter().sum::<u64>();
    assert_eq!(all(&steps), all(victims), "each victim is in a step");
    steps
}
