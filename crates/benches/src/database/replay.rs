//! The settings with which the simulator makes the same decisions as a run's store.

use frostline_placement::SchemeSpec;
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
    /// Bytes of a unit.
    unit: u32,
    /// Page writes before the run's store was opened.
    reopened: u64,
    /// Slots that stayed empty because a sync sealed their zone early, and units that pad chunks.
    skipped_slots: u64,
    /// True if the replay relocates exactly the same pages as the run.
    exact: bool,
    /// The store to be imitated, if its chunks matter.
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<ImitatedStore>,
    #[serde(skip)]
    scheme: String,
    #[serde(skip)]
    victim: String,
}

/// The figures of a store that the simulator needs to lay records out as the store does.
#[derive(Clone, Copy, Debug, Serialize)]
struct ImitatedStore {
    /// Pages that it can hold.
    pages: u64,
    /// Pages that it can hold if all are whole.
    whole: u64,
    /// Bytes of a zone of the device.
    zone_bytes: u64,
    /// Zones kept back for those that wait to be reset.
    spare: u32,
    /// True if headers have hotness records.
    hotness: bool,
}

/// The order in which a run's pages reached the store, and were cleaned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunOrder {
    /// One thread did everything.
    OneThread,
    /// One after the other, but syncs came from other threads.
    InOrder,
    /// Any.
    Any,
}

impl Replay {
    /// Settings for a run that counted between two moments, on a store that had so many page writes
    /// when it was opened.
    pub(super) fn of(
        info: &StoreInfo,
        (opened, before, after): (u64, &Stats, &Stats),
        order: RunOrder,
    ) -> Replay {
        let skipped_slots = after.counts.skipped;
        // Whole pages lie where they lie without chunks, unless a chunk was the last that fitted
        // into its zone.
        let by_chunks = info.unit < info.page_bytes || skipped_slots > 0;
        let exact = match order {
            RunOrder::OneThread => true,
            RunOrder::InOrder => !by_chunks,
            RunOrder::Any => false,
        };
        let store = ImitatedStore {
            pages: info.logical_pages,
            whole: info.whole_pages,
            zone_bytes: u64::from(info.device_pages) * u64::from(info.page_bytes),
            spare: info.spare,
            hotness: info.hotness,
        };
        Replay {
            zone_bytes: u64::from(info.zone_pages) * u64::from(info.page_bytes),
            gp: info.gp,
            zones: info.data_zones.saturating_sub(info.spare),
            free_zones: info.reserve,
            warmup: before.written.user,
            seed: info.seed,
            unit: info.unit,
            reopened: opened,
            skipped_slots,
            exact,
            store: by_chunks.then_some(store),
            scheme: with_free_state(&info.scheme),
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
        let reopened = self.reopened;
        let unit = match self.unit {
            4096 => String::new(),
            unit => format!(" --in-units {unit}"),
        };
        let store = self.store.map(|ImitatedStore { pages, whole, zone_bytes, spare, hotness }| {
            format!(
                " --as-store pages={pages},whole={whole},zone={zone_bytes},spare={spare},\
                 hotness={hotness}"
            )
        });
        let store = store.unwrap_or_default();
        format!(
            "frostline sim {trace} --scheme {scheme} --victim {victim} --zone {zone_bytes} \
             --gp {gp} --zones {zones} --free-zones {free_zones} --warmup {warmup} --seed {seed} \
             --reopened {reopened}{unit}{store}"
        )
    }

    /// How close the replay comes, in words.
    pub fn closeness(&self) -> String {
        match self.exact {
            true => "relocates the same pages".to_string(),
            false if self.store.is_some() => {
                "relocates about as many pages: --cleaning inline, --in-order, one thread, one tenant \
                 and a fresh database make it the same"
                    .to_string()
            }
            false => "relocates about as many pages: --cleaning inline, one tenant and a fresh \
                      database make it the same"
                .to_string(),
        }
    }
}

/// A scheme as the simulator has to be given it: there `phftl` keeps its state of pages in pages of
/// zones, unless it is told not to; a store has it in its map.
fn with_free_state(scheme: &str) -> String {
    let in_pages = |spec: SchemeSpec| spec.parameters().iter().any(|(key, _)| *key == "meta");
    match SchemeSpec::parse(scheme).is_ok_and(in_pages) && !scheme.contains("meta=") {
        true if scheme.contains(':') => format!("{scheme},meta=free"),
        true => format!("{scheme}:meta=free"),
        false => scheme.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheme_that_keeps_its_state_in_zones_is_told_not_to() {
        assert_eq!(with_free_state("phftl"), "phftl:meta=free");
        assert_eq!(with_free_state("phftl:meta=free"), "phftl:meta=free");
        assert_eq!(with_free_state("dac:classes=4"), "dac:classes=4");
        assert_eq!(with_free_state("of another crate"), "of another crate");
    }
}
