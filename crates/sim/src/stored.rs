//! Outcomes as they are kept in a file, from which they come back to the last bit.

use std::borrow::Cow;

use frostline_log::Counts;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Outcome, Window};

/// An outcome as it is kept.
#[derive(Deserialize, Serialize)]
pub(crate) struct StoredOutcome {
    zone_pages: u32,
    user_writes: u64,
    relocations: u64,
    user_units: u64,
    relocated_units: u64,
    frozen_relocations: u64,
    runs: u64,
    cleanings: u64,
    zones_reclaimed: u64,
    stalls: u64,
    spilled: u64,
    meta_pages: u64,
    skipped: u64,
    /// Numbers of garbage pages that victims had, and how many victims.
    victims: Vec<(usize, u64)>,
    /// One more than the largest number of garbage pages that a victim can have.
    victim_sizes: usize,
    /// User writes and relocations by class.
    classes: Vec<(u64, u64)>,
    windows: Vec<StoredWindow>,
    explanation: Vec<String>,
    gauges: Vec<(Cow<'static, str>, f64)>,
    peak_bytes: usize,
    writes_per_cpu_second: f64,
    replayed: u64,
    seconds: f64,
}

#[derive(Deserialize, Serialize)]
struct StoredWindow {
    user_writes: u64,
    relocations: u64,
    meta_pages: u64,
    waf: f64,
    gauges: Vec<(Cow<'static, str>, f64)>,
    census: Vec<[u32; 10]>,
}

/// The most pages of a zone that are believed of a file.
const MOST: usize = 1 << 30;

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        StoredOutcome::from(self.clone()).serialize(to)
    }
}

impl<'de> Deserialize<'de> for Outcome {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        StoredOutcome::deserialize(from)?.try_into().map_err(D::Error::custom)
    }
}

impl From<Outcome> for StoredOutcome {
    fn from(outcome: Outcome) -> Self {
        let counts = outcome.counts;
        let victims = counts.victim_garbage.iter().copied().enumerate();
        let window = |w: Window| StoredWindow {
            user_writes: w.user_writes,
            relocations: w.relocations,
            meta_pages: w.meta_pages,
            waf: w.waf,
            gauges: w.gauges,
            census: w.census,
        };
        StoredOutcome {
            zone_pages: outcome.zone_pages,
            user_writes: counts.user_writes,
            relocations: counts.relocations,
            user_units: counts.user_units,
            relocated_units: counts.relocated_units,
            frozen_relocations: counts.frozen_relocations,
            runs: counts.runs,
            cleanings: counts.cleanings,
            zones_reclaimed: counts.zones_reclaimed,
            stalls: counts.stalls,
            spilled: counts.spilled,
            meta_pages: counts.meta_pages,
            skipped: counts.skipped,
            victims: victims.filter(|(_, zones)| *zones > 0).collect(),
            victim_sizes: counts.victim_garbage.len(),
            classes: counts.classes.iter().map(|c| (c.user_writes, c.relocations)).collect(),
            windows: outcome.windows.into_iter().map(window).collect(),
            explanation: outcome.explanation,
            gauges: outcome.gauges,
            peak_bytes: outcome.peak_bytes,
            writes_per_cpu_second: outcome.writes_per_cpu_second,
            replayed: outcome.replayed,
            seconds: outcome.seconds,
        }
    }
}

impl TryFrom<StoredOutcome> for Outcome {
    type Error = &'static str;

    fn try_from(stored: StoredOutcome) -> Result<Self, Self::Error> {
        let fits = |(garbage, _): &(usize, u64)| *garbage < stored.victim_sizes;
        if stored.victim_sizes > MOST || !stored.victims.iter().all(fits) {
            return Err("a victim has more garbage than a zone");
        }
        let mut victim_garbage = vec![0; stored.victim_sizes];
        for (garbage, zones) in stored.victims {
            victim_garbage[garbage] = zones;
        }
        let mut counts = Counts::default();
        counts.classes.resize_with(stored.classes.len(), Default::default);
        for (class, (user_writes, relocations)) in counts.classes.iter_mut().zip(stored.classes) {
            (class.user_writes, class.relocations) = (user_writes, relocations);
        }
        let window = |w: StoredWindow| Window {
            user_writes: w.user_writes,
            relocations: w.relocations,
            meta_pages: w.meta_pages,
            waf: w.waf,
            gauges: w.gauges,
            census: w.census,
        };
        Ok(Outcome {
            zone_pages: stored.zone_pages,
            counts: Counts {
                user_writes: stored.user_writes,
                relocations: stored.relocations,
                user_units: stored.user_units,
                relocated_units: stored.relocated_units,
                frozen_relocations: stored.frozen_relocations,
                runs: stored.runs,
                cleanings: stored.cleanings,
                zones_reclaimed: stored.zones_reclaimed,
                stalls: stored.stalls,
                spilled: stored.spilled,
                meta_pages: stored.meta_pages,
                skipped: stored.skipped,
                victim_garbage,
                classes: counts.classes,
            },
            windows: stored.windows.into_iter().map(window).collect(),
            explanation: stored.explanation,
            gauges: stored.gauges,
            peak_bytes: stored.peak_bytes,
            writes_per_cpu_second: stored.writes_per_cpu_second,
            replayed: stored.replayed,
            seconds: stored.seconds,
        })
    }
}
