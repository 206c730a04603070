//! What a bench found, as a table and as JSON.

use std::collections::BTreeMap;
use std::time::Duration;

use frostline_sim::{RunReport, WindowReport};
use frostline_store::{Info, Stats};
use hdrhistogram::Histogram;
use serde::Serialize;

/// What was measured.
pub struct Measured {
    /// What the store is like.
    pub info: Info,
    /// Before the first write that counts.
    pub before: Stats,
    /// After the last one.
    pub after: Stats,
    /// Times of writes, in nanoseconds.
    pub times: Histogram<u64>,
    /// How long it took, the last sync included.
    pub took: Duration,
    /// What was written, second by second.
    pub windows: Vec<WindowReport>,
    /// Whether a signal ended it early.
    pub interrupted: bool,
}

/// A bench. Field names are a contract: fields are added, never renamed.
#[derive(Serialize)]
pub struct BenchReport {
    /// Version of the program.
    pub frostline: &'static str,
    /// The device, by URI.
    pub device: String,
    /// The device's zones, in words.
    pub shape: String,
    /// The drive whose time it took.
    pub drive: Option<&'static str>,
    /// Bytes a second that it was held to.
    pub bandwidth: Option<u64>,
    /// Which pages were written.
    pub workload: String,
    /// Who cleaned.
    pub cleaning: &'static str,
    /// Threads that wrote.
    pub threads: u16,
    /// Seed of all chance.
    pub seed: u64,
    /// Whether a signal ended it early: what was counted up to then.
    pub interrupted: bool,
    /// The one run.
    pub runs: [BenchRun; 1],
}

/// A run: as of the simulator, and what only a device has.
#[derive(Serialize)]
pub struct BenchRun {
    /// The WAF counts headers and checkpoints, too; the FAR calls frozen what is not written again
    /// up to the end of the run.
    #[serde(flatten)]
    run: RunReport,
    header_pages: u64,
    checkpoint_pages: u64,
    ops_per_second: f64,
    mb_per_second: f64,
    latency_us: LatencyReport,
    stall_seconds: f64,
    logical_pages: u64,
}

/// How slow the device was made, in words that follow its shape.
pub fn speed(drive: Option<&str>, bandwidth: Option<u64>) -> String {
    let drive = drive.map(|name| format!(", as slow as a {name}"));
    let bandwidth = bandwidth.map(|bytes| format!(", {} MB/s at most", bytes as f64 / 1e6));
    drive.unwrap_or_default() + &bandwidth.unwrap_or_default()
}

/// Times, in microseconds.
#[derive(Clone, Copy, Serialize)]
pub struct LatencyReport {
    /// Half of them are not above this.
    pub p50: f64,
    /// 95 % are not above this.
    pub p95: f64,
    /// 99 % are not above this.
    pub p99: f64,
    /// 99.9 % are not above this.
    pub p999: f64,
    /// None is above this.
    pub max: f64,
}

impl LatencyReport {
    /// Of times in nanoseconds.
    pub fn of(times: &Histogram<u64>) -> Self {
        let us = |ns: u64| ns as f64 / 1e3;
        LatencyReport {
            p50: us(times.value_at_quantile(0.5)),
            p95: us(times.value_at_quantile(0.95)),
            p99: us(times.value_at_quantile(0.99)),
            p999: us(times.value_at_quantile(0.999)),
            max: us(times.max()),
        }
    }
}

impl BenchRun {
    /// Puts what was measured into a report.
    pub fn new(measured: Measured) -> Self {
        let Measured { info, before, after, times, took, windows, .. } = measured;
        let written = after.written.since(&before.written);
        let seconds = took.as_secs_f64();
        let per_second = written.user as f64 / seconds.max(1e-9);
        let run = RunReport {
            windows,
            seconds,
            writes_per_second: per_second,
            ..of_store(&info, &before, &after)
        };
        BenchRun {
            run,
            header_pages: written.headers,
            checkpoint_pages: written.checkpoints,
            ops_per_second: per_second,
            mb_per_second: per_second * f64::from(info.page_bytes) / 1e6,
            latency_us: LatencyReport::of(&times),
            stall_seconds: after.stalled.saturating_sub(before.stalled).as_secs_f64(),
            logical_pages: info.logical_pages,
        }
    }
}

/// What a store did from one moment to another; in no time. The WAF counts headers and
/// checkpoints, too; frozen is what was not written again up to the later moment.
pub fn of_store(info: &Info, before: &Stats, after: &Stats) -> RunReport {
    let written = after.written.since(&before.written);
    RunReport {
        user_writes: written.user,
        relocations: written.relocations,
        waf: written.waf(),
        gauges: after.gauges.iter().copied().collect(),
        peak_bytes: after.bytes as u64,
        scheme: info.scheme.clone(),
        victim: info.victim.clone(),
        zone_pages: info.zone_pages,
        trigger: BTreeMap::from([("gp", info.gp)]),
        // Null in JSON of a store that was not asked to count them.
        far: after.copied.map_or(f64::NAN, |copied| copied.far()),
        ..RunReport::of(&after.counts.since(&before.counts))
    }
}

impl BenchReport {
    /// The report as people read it.
    pub fn text(&self) -> String {
        let BenchReport { device, shape, workload, cleaning, threads, runs: [bench], .. } = self;
        let run = &bench.run;
        let drive = speed(self.drive, self.bandwidth);
        let mut text = format!(
            "{device}: {shape}{drive}, {} pages, {}, {}\n\
             {workload} by {threads} {}, cleaning {cleaning}\n\n",
            bench.logical_pages,
            run.scheme,
            run.victim,
            if *threads == 1 { "thread" } else { "threads" },
        );
        let share = |pages: u64| pages as f64 / run.user_writes.max(1) as f64;
        let l = &bench.latency_us;
        let rows = [
            ("writes", format!("{} in {:.1} s", run.user_writes, run.seconds)),
            ("MB/s", format!("{:.1}", bench.mb_per_second)),
            ("WAF", format!("{:.4}", run.waf)),
            ("  user", format!("{:.4}", share(run.user_writes))),
            ("  relocation", format!("{:.4}", share(run.relocations))),
            ("  header", format!("{:.4}", share(bench.header_pages))),
            ("  checkpoint", format!("{:.4}", share(bench.checkpoint_pages))),
            ("FAR", format!("{:.4}", run.far)),
            (
                "latency us p50 p95 p99 p999",
                format!(
                    "{:.1} {:.1} {:.1} {:.1}, at most {:.0}",
                    l.p50, l.p95, l.p99, l.p999, l.max
                ),
            ),
            ("writers held up", format!("{:.3} s", bench.stall_seconds)),
            ("zones reclaimed", run.zones_reclaimed.to_string()),
            ("median victim GP", format!("{:.3}", run.victim_gp.p50)),
        ];
        for (what, value) in rows {
            text += &format!("{what:<28} {value}\n");
        }
        text
    }
}
