//! A store at one moment, to be drawn: what is seen of it on a terminal and in a browser while it
//! works.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

use frostline_placement::Scheme;

use crate::format::PAGE;
use crate::state::State;
use crate::state::counters::{BOUNDS_US, Latency};
use crate::{Store, StoreError, Written, ZoneStatus};

/// A store at one moment. Two of them tell what was done between.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StoreView {
    /// Version of the program.
    pub frostline: String,
    /// Number of the store, drawn when it was formatted.
    pub store: u64,
    /// Scheme, as on the command line.
    pub scheme: String,
    /// Victim policy, as on the command line.
    pub victim: String,
    /// Garbage proportion above which it is cleaned.
    pub gp: f64,
    /// Bytes in a page.
    pub page_bytes: u32,
    /// Seconds since the store was opened.
    pub seconds: f64,
    /// Pages written since the store was formatted.
    pub written: Written,
    /// Of these, written before the store was opened.
    pub opened: Written,
    /// Garbage pages over pages in zones that hold any.
    pub garbage_proportion: f64,
    /// Zones that can be opened before one is cleaned.
    pub free_zones: u32,
    /// Zones cleaned since the store was opened.
    pub zones_reclaimed: u64,
    /// Mean garbage proportion of these.
    pub mean_victim_gp: f64,
    /// Seconds for which writers were held up since the store was opened.
    pub stall_seconds: f64,
    /// Bytes that map, zones and scheme hold in memory.
    pub bytes: u64,
    /// The classes, in order.
    pub classes: Vec<ClassView>,
    /// Calls of write, read and sync.
    pub calls: Vec<CallView>,
    /// Figures of the scheme's own, of one that learns its judgement of itself among them.
    pub gauges: BTreeMap<String, f64>,
    /// Every zone of the device, in order.
    pub zones: Vec<ZoneStatus>,
}

/// A class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ClassView {
    /// Its number, from 1.
    pub class: u32,
    /// True if it is for pages that the scheme takes for frozen.
    pub frozen: bool,
    /// Pages written by the user since the store was opened.
    pub user_writes: u64,
    /// Pages copied by cleaning since the store was opened.
    pub relocations: u64,
}

/// Calls of one kind since the store was opened, by the time that they took.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CallView {
    /// The kind: `write`, `read` or `sync`.
    pub call: String,
    /// Seconds that all of them took.
    pub seconds: f64,
    /// Upper bounds of the times, in microseconds.
    pub bounds_us: Vec<u64>,
    /// Calls up to each bound and above the one before, and calls above the last bound.
    pub counts: Vec<u64>,
}

impl StoreView {
    /// Pages written since the store was opened.
    pub fn since_opened(&self) -> Written {
        self.written.since(&self.opened)
    }
}

impl CallView {
    fn of(call: &str, latency: &Latency) -> CallView {
        CallView {
            call: call.to_string(),
            seconds: latency.sum_ns.load(Relaxed) as f64 / 1e9,
            bounds_us: BOUNDS_US.to_vec(),
            counts: latency.counts.iter().map(|count| count.load(Relaxed)).collect(),
        }
    }

    /// The number of calls.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The calls since an earlier moment.
    pub fn since(&self, earlier: &CallView) -> CallView {
        let counts = self.counts.iter().zip(&earlier.counts);
        CallView {
            seconds: self.seconds - earlier.seconds,
            counts: counts.map(|(now, then)| now.saturating_sub(*then)).collect(),
            ..self.clone()
        }
    }

    /// The least bound, in microseconds, that a share `q` of the calls does not exceed; none if
    /// there are no calls, or if it is above the last bound.
    pub fn quantile_us(&self, q: f64) -> Option<u64> {
        let rank = ((self.count() as f64 * q).ceil() as u64).max(1);
        let mut below = 0;
        let reached = self.counts.iter().position(|count| {
            below += count;
            below >= rank
        });
        reached.and_then(|step| self.bounds_us.get(step)).copied()
    }
}

impl Store {
    /// The store at this moment, to be drawn. Its state is locked twice, each time for no longer
    /// than it takes to look at every zone once.
    ///
    /// # Errors
    /// The device can't report its zones; a thread of the store panicked.
    pub fn view(&self) -> Result<StoreView, StoreError> {
        let zones = self.zones()?;
        let (engine, layout) = (&self.engine, &self.engine.core.layout);
        let latencies = &engine.core.counters.latencies;
        let calls =
            [("write", &latencies.write), ("read", &latencies.read), ("sync", &latencies.sync)];
        let mut state = engine.core.state()?;
        let written = state.written(engine.metadata.usage().pages());
        let bytes = state.memory();
        Ok(StoreView {
            frostline: env!("CARGO_PKG_VERSION").to_string(),
            store: engine.core.store,
            scheme: layout.scheme.text.clone(),
            victim: layout.victim.clone(),
            gp: layout.fixed.gp,
            page_bytes: PAGE as u32,
            seconds: self.begun.elapsed().as_secs_f64(),
            written,
            opened: self.opened,
            garbage_proportion: state.log().garbage_proportion(),
            free_zones: state.log().free_zones() as u32,
            zones_reclaimed: state.counts().zones_reclaimed,
            mean_victim_gp: state.counts().mean_victim_gp(),
            stall_seconds: engine.core.counters.stall().as_secs_f64(),
            bytes: bytes as u64,
            classes: classes(&mut state),
            calls: calls.map(|(call, latency)| CallView::of(call, latency)).into(),
            gauges: gauges(&state),
            zones,
        })
    }
}

fn classes(state: &mut State) -> Vec<ClassView> {
    let counts = state.counts().classes.iter();
    let counts: Vec<_> = counts.map(|class| (class.user_writes, class.relocations)).collect();
    let scheme = state.log().scheme();
    let class = |(number, (user_writes, relocations))| ClassView {
        class: number as u32 + 1,
        frozen: scheme.holds_frozen(number),
        user_writes,
        relocations,
    };
    counts.into_iter().enumerate().map(class).collect()
}

/// Figures of the scheme's own, those that are not numbers left out.
fn gauges(state: &State) -> BTreeMap<String, f64> {
    let gauges = state.log().scheme().gauges().into_iter().filter(|(_, value)| value.is_finite());
    gauges.map(|(name, value)| (name.to_string(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(counts: &[u64]) -> CallView {
        let bounds_us = vec![1, 4, 16];
        CallView { call: "write".to_string(), seconds: 0.0, bounds_us, counts: counts.to_vec() }
    }

    #[test]
    fn a_quantile_is_the_least_bound_that_enough_calls_do_not_exceed() {
        let calls = calls(&[5, 4, 0, 1]);
        assert_eq!(calls.quantile_us(0.5), Some(1));
        assert_eq!(calls.quantile_us(0.51), Some(4));
        assert_eq!(calls.quantile_us(0.9), Some(4));
        assert_eq!(calls.quantile_us(0.99), None);
    }

    #[test]
    fn no_calls_have_no_quantile() {
        let all = calls(&[5, 4, 0, 1]);
        assert_eq!(all.since(&all).quantile_us(0.5), None);
    }
}
