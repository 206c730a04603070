//! Statistics as Prometheus scrapes them: the text exposition format, version 0.0.4.

use std::fmt::{Display, Write};
use std::sync::atomic::Ordering::Relaxed;

use crate::Store;
use crate::StoreError;
use crate::state::counters::{BOUNDS_US, Latency};

/// A sample's labels, braces included, and its value.
pub type Sample = (String, f64);

impl Store {
    /// The statistics, in Prometheus's text exposition.
    ///
    /// # Errors
    /// A thread of the store panicked.
    pub fn metrics(&self) -> Result<String, StoreError> {
        let (stats, mut text) = (self.stats()?, Exposition::default());
        let w = &stats.written;
        let by = |by: &str, pages: u64| (label("by", by), pages as f64);
        text.counter(
            "pages_written",
            "Pages written to the device since the store was formatted",
            &[
                by("user", w.user),
                by("relocation", w.relocations),
                by("header", w.headers),
                by("checkpoint", w.checkpoints),
            ],
        );
        let since = |since: &str, waf| (label("since", since), waf);
        let opened = w.since(&stats.opened);
        let wafs = [since("format", w.waf()), since("open", opened.waf())];
        text.gauge("waf", "Pages written to the device over pages written by the user", &wafs);
        let mut one = |name: &str, help: &str, value: f64| text.gauge(name, help, &[only(value)]);
        one(
            "free_zones",
            "Zones that can be opened before one is cleaned",
            stats.free_zones as f64,
        );
        one("waiting_zones", "Zones that wait to be reset", stats.waiting_zones as f64);
        one("valid_pages", "Valid pages", stats.valid_pages as f64);
        one("garbage_proportion", "Garbage pages over all written pages", stats.garbage_proportion);
        one("map_leaves", "Leaves of the map in memory", stats.map_leaves as f64);
        one("memory_bytes", "Bytes that map, zones and scheme hold", stats.bytes as f64);
        let of = |what: &str, value: u64| (label("what", what), value as f64);
        let space = &stats.space;
        text.gauge(
            "space_bytes",
            "Bytes of zones for pages",
            &[of("used", space.used), of("reclaimable", space.reclaimable), of("free", space.free)],
        );
        text.gauge(
            "room_pages",
            "More pages that fit, whole and like those that are there",
            &[of("whole", space.whole_pages), of("like", space.like_pages)],
        );
        let f = &stats.failures;
        let of = |what: &str, zones: u64| (label("what", what), zones as f64);
        text.counter(
            "zone_failures",
            "Zones that failed since the store was opened",
            &[
                of("append", f.appends),
                of("reset", f.resets),
                of("read", f.unreadable),
                of("metadata", f.metadata),
            ],
        );
        text.counter(
            "from_parity",
            "What was lost or not what was written, and came from parity, since the store was opened",
            &[of("block", stats.rebuilt_blocks), of("record", stats.repaired_records)],
        );
        let counts = &stats.counts;
        let mut one = |name: &str, help: &str, value: f64| text.counter(name, help, &[only(value)]);
        one(
            "zones_reclaimed",
            "Zones cleaned since the store was opened",
            counts.zones_reclaimed as f64,
        );
        one("cleanings", "Cleanings begun since the store was opened", counts.cleanings as f64);
        one("stall_seconds", "Time for which writers were held up", stats.stalled.as_secs_f64());
        let gauge = |&(name, value): &(&str, f64)| (label("name", name), value);
        let gauges: Vec<_> = stats.gauges.iter().map(gauge).collect();
        if !gauges.is_empty() {
            text.gauge("scheme", "Figures of the scheme's own", &gauges);
        }
        let latencies = &self.engine.core.counters.latencies;
        text.latencies([
            ("write", &latencies.write),
            ("read", &latencies.read),
            ("sync", &latencies.sync),
        ]);
        Ok(text.0)
    }
}

fn label(name: &str, value: &str) -> String {
    format!("{{{name}=\"{value}\"}}")
}

/// The only sample of a family.
pub fn only(value: f64) -> Sample {
    (String::new(), value)
}

/// Families of metrics in Prometheus's text exposition.
#[derive(Default)]
pub struct Exposition(String);

impl Exposition {
    /// An exposition that begins with `text`, which is one itself.
    pub fn behind(text: String) -> Self {
        Exposition(text)
    }

    /// Appends a counter; `_total` is added to its name, and `frostline_` put before it.
    pub fn counter(&mut self, name: &str, help: &str, samples: &[Sample]) {
        self.family(&format!("{name}_total"), "counter", help, samples);
    }

    /// Appends a gauge; `frostline_` is put before its name.
    pub fn gauge(&mut self, name: &str, help: &str, samples: &[Sample]) {
        self.family(name, "gauge", help, samples);
    }

    /// The text.
    pub fn into_text(self) -> String {
        self.0
    }

    fn family(&mut self, name: &str, kind: &str, help: &str, samples: &[Sample]) {
        self.line(format_args!("# HELP frostline_{name} {help}."));
        self.line(format_args!("# TYPE frostline_{name} {kind}"));
        for (labels, value) in samples {
            self.line(format_args!("frostline_{name}{labels} {value}"));
        }
    }

    fn latencies<const N: usize>(&mut self, calls: [(&str, &Latency); N]) {
        let help = "Time of calls since the store was opened";
        self.family("call_seconds", "histogram", help, &[]);
        for (call, latency) in calls {
            let mut below = 0;
            let bounds = BOUNDS_US.map(|us| (us as f64 / 1e6).to_string());
            let bounds = bounds.iter().map(String::as_str).chain(["+Inf"]);
            for (bound, count) in bounds.zip(&latency.counts) {
                below += count.load(Relaxed);
                let labels = format_args!("call=\"{call}\",le=\"{bound}\"");
                self.line(format_args!("frostline_call_seconds_bucket{{{labels}}} {below}"));
            }
            let sum = latency.sum_ns.load(Relaxed) as f64 / 1e9;
            let labels = label("call", call);
            self.line(format_args!("frostline_call_seconds_sum{labels} {sum}"));
            self.line(format_args!("frostline_call_seconds_count{labels} {below}"));
        }
    }

    fn line(&mut self, line: impl Display) {
        // A string takes everything.
        let _ = writeln!(self.0, "{line}");
    }
}
