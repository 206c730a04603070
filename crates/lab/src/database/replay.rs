//! The settings with which the simulator makes the same decisions as a run's store.

use frostline_store::{Stats, StoreInfo};
use serde::Serialize;

/// Settings for a replay of the run's page writes.
#[derive(Clone, Debug, Serialize)]
pub struct Replay {
    zone_bytes: u64,
    gp: f64,
    zones: u32,
    free_zones: u32,
    warmup: u64,
    seed: u64,
    /// Bytes of a unit, of a store in units.
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<u32>,
    /// Slots that stayed empty because a sync sealed their zone early.
    skipped_slots: u64,
    /// True if the replay relocates exactly the same pages as the run.
    exact: bool,
    #[serde(skip)]
    scheme: String,
    #[serde(skip)]
    victim: String,
}

impl Replay {
    /// Settings for a run that counted between two moments. `in_order` is true if pages reached the
    /// store, and were cleaned, one after the other.
    pub(super) fn of(info: &StoreInfo, before: &Stats, after: &Stats, in_order: bool) -> Replay {
        let skipped_slots = after.counts.skipped;
        Replay {
            zone_bytes: u64::from(info.zone_pages) * u64::from(info.page_bytes),
            gp: info.gp,
            zones: info.data_zones.saturating_sub(info.spare),
            free_zones: info.reserve,
            warmup: before.written.user,
            seed: info.seed,
            unit: info.unit,
            skipped_slots,
            // A trace has pages' images only, not the deltas that a store in units writes of them.
            exact: in_order && skipped_slots == 0 && info.unit.is_none(),
            scheme: info.scheme.clone(),
            victim: info.victim.clone(),
        }
    }

    /// Page writes before counting began.
    pub fn warmup(&self) -> u64 {
        self.warmup
    }

    /// The command that replays a trace with these settings.
    pub fn command(&self, trace: &str) -> String {
        let Replay { zone_bytes, gp, zones, free_zones, warmup, seed, scheme, victim, .. } = self;
        let unit = self.unit.map(|unit| format!(" --in-units {unit}")).unwrap_or_default();
        format!(
            "frostline sim {trace} --scheme {scheme} --victim {victim} --zone {zone_bytes} \
             --gp {gp} --zones {zones} --free-zones {free_zones} --warmup {warmup} --seed {seed}{unit}"
        )
    }

    /// How close the replay comes, in words.
    pub fn closeness(&self) -> String {
        if self.unit.is_some() {
            return "writes each page as an image, not compressed: the trace has neither deltas nor \
                    merges, so its WAF is not that of the run"
                .to_string();
        }
        match (self.exact, self.skipped_slots) {
            (true, _) => "relocates the same pages".to_string(),
            (false, 0) => "relocates about as many pages: --cleaning inline, one tenant and a \
                           fresh database make it the same"
                .to_string(),
            (false, skipped) => format!(
                "relocates about as many pages: syncs left {skipped} slots of zones unused, which \
                 a larger --spare or --log makes rarer"
            ),
        }
    }
}
