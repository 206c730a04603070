//! The report of a bench of a store, as a table.

use frostline_benches::{StoreReport, StoreRun};

use super::speed;
use crate::backup::in_words;

/// The report as text.
pub(super) fn text(report: &StoreReport) -> String {
    report.runs.iter().map(|run| head(report, run) + "\n" + &rows(run)).collect()
}

fn head(report: &StoreReport, run: &StoreRun) -> String {
    let StoreReport { device, shape, workload, cleaning, .. } = report;
    let threads = report.setup.threads;
    format!(
        "{device}: {shape}{}, {} pages, scheme {}, victims by {}\n\
         {workload} by {threads} {}, cleaning {cleaning}\n",
        speed(report.drive, report.bandwidth),
        run.logical_pages,
        run.run.scheme,
        run.run.victim,
        if threads == 1 { "thread" } else { "threads" },
    )
}

fn rows(bench: &StoreRun) -> String {
    let (run, l) = (&bench.run, &bench.latency_us);
    let share = |pages: u64| format!("{:.4}", pages as f64 / run.user_writes.max(1) as f64);
    let latency =
        format!("{:.1} {:.1} {:.1} {:.1}, at most {:.0}", l.p50, l.p95, l.p99, l.p999, l.max);
    let rows = [
        ("writes", format!("{} in {:.1} s", run.user_writes, run.seconds)),
        ("MB/s", format!("{:.1}", bench.mb_per_second)),
        ("WAF", format!("{:.4}", run.waf)),
        ("  user", share(run.user_writes)),
        ("  relocation", share(run.relocations)),
        ("  header", share(bench.header_pages)),
        ("  checkpoint", share(bench.checkpoint_pages)),
        ("FAR", run.far.map_or("-".to_string(), |far| format!("{far:.4}"))),
        ("latency us p50 p95 p99 p999", latency),
        ("writers held up", format!("{:.3} s", bench.stall_seconds)),
        ("zones reclaimed", run.zones_reclaimed.to_string()),
        ("median victim GP", format!("{:.3}", run.victim_gp.p50)),
    ];
    let backup = bench.backup.as_ref().map(|followed| ("backup", in_words(followed)));
    let rows = rows.into_iter().chain(backup);
    rows.map(|(what, value)| format!("{what:<28} {value}\n")).collect()
}
