//! The report of a bench of databases, as tables.

use std::collections::BTreeSet;

use frostline_benches::{
    ConditionRow, DatabaseReport, DatabaseRun, DatabaseSetup, FollowedReport, KindRow,
    LatencyReport,
};

use frostline_store::Compression;
use frostline_zone::Size;

use super::speed;
use crate::table::columns;

/// The report: with `all_figures` a column for each scheme and the details of each run, and behind
/// them the answer. `trace` is the file with the recorded page writes.
pub(super) fn text(report: &DatabaseReport, trace: Option<&str>, all_figures: bool) -> String {
    if report.runs.is_empty() {
        return String::new();
    }
    let mut text = head(report);
    if all_figures {
        text += &format!("\n{}", figures(&report.runs));
        for run in &report.runs {
            text += &format!("\n{}", details(run, report.runs.len() > 1));
        }
    }
    text += &format!("\n{}", answer(&report.runs));
    text.extend(report.runs.iter().map(|run| verdict(run, report.runs.len() > 1)));
    if !all_figures {
        text += "all figures, each kind of transaction and each condition: -v\n";
    }
    if let Some(trace) = trace {
        for replay in report.runs.iter().map(|run| &run.replay) {
            text += &format!("\n{}\n{}\n", replay.command(trace), replay.closeness());
        }
    }
    text
}

fn head(report: &DatabaseReport) -> String {
    let DatabaseReport { device, shape, workload, cleaning, .. } = report;
    let DatabaseSetup { replacement, hotness, rewriting, tenants, threads, .. } = report.setup;
    let DatabaseSetup { in_flight, buffer_bytes, compressed_with, .. } = report.setup;
    let speed = speed(report.drive, report.bandwidth);
    let pages = report.runs.first().map_or(0, |run| run.logical_pages);
    let victims: BTreeSet<_> = report.runs.iter().map(|run| run.run.victim.as_str()).collect();
    let victims = Vec::from_iter(victims).join(", ");
    let several = |count: u64, what: &str| match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    };
    let tenants = match tenants {
        1 => String::new(),
        tenants => format!("{tenants} tenants, each "),
    };
    let hotness = if hotness { "" } else { ", without hotness records" };
    let rewriting = if rewriting { "" } else { ", without rewriting" };
    let compression = match compressed_with {
        Compression::None => ", without compression",
        Compression::Lz4 => "",
        Compression::Zstd => ", compressed with zstd",
    };
    format!(
        "{device}: {shape}{speed}, {pages} pages, victims by {victims}\n\
         {workload}: {tenants}{}, {} in flight, a buffer of {} ({replacement}), cleaning \
         {cleaning}{hotness}{rewriting}{compression}\n",
        several(threads.into(), "thread"),
        several(in_flight.into(), "commit"),
        Size(buffer_bytes),
    )
}

/// A figure's name, and its text for a run.
type Figure = (&'static str, fn(&DatabaseRun) -> String);

/// A number of pages per transaction.
fn each(run: &DatabaseRun, pages: u64) -> String {
    format!("{:.3}", pages as f64 / run.transactions.max(1) as f64)
}

/// A number with `digits` digits after the point; `-` for none.
fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or("-".to_string(), |value| format!("{value:.digits$}"))
}

/// A figure of the backups; empty if there were none.
fn of_backup(run: &DatabaseRun, figure: impl Fn(&FollowedReport) -> String) -> String {
    run.backup.as_ref().map(figure).unwrap_or_default()
}

/// Bytes written to the device for each byte updated.
fn per_updated(run: &DatabaseRun, bytes: u64) -> String {
    number(per(bytes, run.updated_bytes), 2)
}

fn per(sum: u64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum as f64 / count as f64)
}

const FIGURES: &[Figure] = &[
    ("victims", |run| run.run.victim.clone()),
    ("tpmC", |run| run.tpmc.map(|tpmc| format!("{tpmc:.0}")).unwrap_or_default()),
    ("transactions/s", |run| format!("{:.0}", run.ops_per_second)),
    ("transactions", |run| run.transactions.to_string()),
    ("seconds", |run| format!("{:.1}", run.run.seconds)),
    ("rolled back", |run| run.kinds.iter().map(|k| k.rolled_back).sum::<u64>().to_string()),
    ("conflicts", |run| run.conflicts.to_string()),
    ("given up", |run| run.kinds.iter().map(|k| k.abandoned).sum::<u64>().to_string()),
    ("latency us p50", |run| format!("{:.0}", run.latency_us.p50)),
    ("  p95", |run| format!("{:.0}", run.latency_us.p95)),
    ("  p99", |run| format!("{:.0}", run.latency_us.p99)),
    ("  p99.9", |run| format!("{:.0}", run.latency_us.p999)),
    ("pages looked for a transaction", |run| each(run, run.page_accesses)),
    ("  in memory, %", |run| number(run.cache_hits.map(|hits| hits * 100.0), 3)),
    ("records without their page", |run| each(run, run.records_without_page)),
    ("pages read a transaction", |run| each(run, run.pages_read)),
    ("  reads of the device", |run| each(run, run.device_reads)),
    ("pages written a transaction", |run| {
        let of_store = run.run.user_writes + run.run.relocations;
        each(run, of_store + run.header_pages + run.checkpoint_pages + run.wal_pages)
    }),
    ("  user", |run| each(run, run.run.user_writes)),
    ("  relocation", |run| each(run, run.run.relocations)),
    ("  header", |run| each(run, run.header_pages)),
    ("  checkpoint", |run| each(run, run.checkpoint_pages)),
    ("  log", |run| each(run, run.wal_pages)),
    ("WAF", |run| format!("{:.4}", run.run.waf)),
    ("WAF, log included", |run| number(run.waf_with_log, 4)),
    ("FAR", |run| number(run.run.far, 4)),
    ("device bytes/byte updated", |run| number(run.device_bytes_per_updated_byte, 2)),
    ("  images and deltas", |run| per_updated(run, run.bytes_by_cause.user)),
    ("  relocations", |run| per_updated(run, run.bytes_by_cause.relocations)),
    ("  headers", |run| per_updated(run, run.bytes_by_cause.headers)),
    ("  padding", |run| per_updated(run, run.bytes_by_cause.padding)),
    ("  checkpoints", |run| per_updated(run, run.bytes_by_cause.checkpoints)),
    ("  log", |run| per_updated(run, run.bytes_by_cause.log)),
    ("space/data", |run| run.space_over_data.map(|over| format!("{over:.2}")).unwrap_or_default()),
    ("device bytes/log record byte", |run| number(run.device_bytes_per_wal_byte, 2)),
    ("log record bytes/transaction", |run| each(run, run.wal_bytes)),
    ("log flushes", |run| run.wal_flushes.to_string()),
    ("pages evicted", |run| run.pages_evicted.to_string()),
    ("  changes kept", |run| run.pages_kept.to_string()),
    ("  unchanged", |run| run.pages_dropped.to_string()),
    ("pages checkpointed", |run| run.pages_checkpointed.to_string()),
    ("pages rewritten for cleaning", |run| run.pages_rewritten.to_string()),
    ("pages written as deltas", |run| run.deltas.written.to_string()),
    ("  of these, tails", |run| run.deltas.tails.to_string()),
    ("  bytes of one", |run| number(per(run.deltas.bytes, run.deltas.written), 1)),
    ("  merged by cleaning", |run| run.deltas.merged.to_string()),
    ("zones reclaimed", |run| run.run.zones_reclaimed.to_string()),
    ("median victim GP", |run| format!("{:.3}", run.run.victim_gp.p50)),
    ("GP at the end", |run| format!("{:.3}", run.garbage_proportion)),
    ("space of pages/their images", |run| format!("{:.3}", run.space_over_images)),
    ("MiB of pages before", |run| (run.pages_before / 256).to_string()),
    ("  after", |run| (run.pages_after / 256).to_string()),
    ("CPU seconds of workers", |run| format!("{:.2}", run.worker_cpu_seconds)),
    ("  of the process", |run| format!("{:.2}", run.process_cpu_seconds)),
    ("backups", |run| of_backup(run, |backup| backup.backups.to_string())),
    ("  failed", |run| of_backup(run, |backup| backup.failures.to_string())),
    ("  MiB copied", |run| of_backup(run, |backup| (backup.copied_bytes >> 20).to_string())),
    ("  MiB of them again", |run| of_backup(run, |backup| (backup.again_bytes >> 20).to_string())),
    ("  seconds behind at most", |run| {
        of_backup(run, |backup| format!("{:.2}", backup.longest_behind_seconds))
    }),
    ("seconds held up by cleaning", |run| format!("{:.2}", run.stall_seconds)),
    ("  for memory", |run| format!("{:.2}", run.buffer_stall_seconds)),
];

fn figures(runs: &[DatabaseRun]) -> String {
    let schemes = runs.iter().map(|run| run.run.scheme.as_str());
    let headings: Vec<_> = std::iter::once("").chain(schemes).collect();
    let row = |(name, value): &Figure| {
        let mut row = vec![name.to_string()];
        row.extend(runs.iter().map(value));
        row
    };
    let rows = FIGURES.iter().map(row).filter(|row| row[1..].iter().any(|cell| !cell.is_empty()));
    columns(&headings, 1, rows.collect())
}

/// A figure of the answer: its name, its text for a run, and its value, if it is held against the
/// first run's.
type Answer = (&'static str, fn(&DatabaseRun) -> String, Option<fn(&DatabaseRun) -> f64>);

/// The figures by which people choose a scheme. A row without any text is left out.
const ANSWER: [Answer; 6] = [
    (
        "tpmC",
        |run| run.tpmc.map(|tpmc| format!("{tpmc:.0}")).unwrap_or_default(),
        Some(|run| run.tpmc.unwrap_or(f64::NAN)),
    ),
    ("transactions/s", |run| format!("{:.0}", run.ops_per_second), Some(|run| run.ops_per_second)),
    (
        "device bytes/byte updated",
        |run| number(run.device_bytes_per_updated_byte, 2),
        Some(|run| run.device_bytes_per_updated_byte.unwrap_or(f64::NAN)),
    ),
    ("  if the same pages were written whole, in place", |run| number(in_place(run), 1), None),
    ("WAF", |run| format!("{:.4}", run.run.waf), Some(|run| run.run.waf)),
    (
        "latency us p50, p99",
        |run| format!("{:.0}, {:.0}", run.latency_us.p50, run.latency_us.p99),
        None,
    ),
];

/// Bytes for each byte updated that a B+-tree writes whose pages leave memory as often, with the
/// same log: whole pages.
fn in_place(run: &DatabaseRun) -> Option<f64> {
    per(run.run.user_writes * 4096 + run.bytes_by_cause.log, run.updated_bytes)
}

/// The answer: a column for each scheme, against the first.
fn answer(runs: &[DatabaseRun]) -> String {
    let schemes = runs.iter().map(|run| run.run.scheme.as_str());
    let headings: Vec<_> = std::iter::once("").chain(schemes).collect();
    let row = |(name, text, value): &Answer| {
        let cell = |(index, run): (usize, &DatabaseRun)| {
            let change = value.filter(|_| index > 0).map(|value| value(run) / value(&runs[0]));
            match change.filter(|change| change.is_finite()) {
                Some(change) => format!("{} ({:+.1} %)", text(run), (change - 1.0) * 100.0),
                None => text(run),
            }
        };
        let cells = runs.iter().enumerate().map(cell);
        std::iter::once(name.to_string()).chain(cells).collect::<Vec<_>>()
    };
    let rows = ANSWER.iter().map(row).filter(|row| row[1..].iter().any(|cell| !cell.is_empty()));
    columns(&headings, 1, rows.collect())
}

/// One line if all conditions of a run hold; otherwise those that do not.
fn verdict(run: &DatabaseRun, named: bool) -> String {
    let name = if named { format!("{}: ", run.run.scheme) } else { String::new() };
    let failed: String = run.conditions.iter().filter(|row| !row.ok).map(condition).collect();
    match run.conditions.len() {
        0 => String::new(),
        _ if !failed.is_empty() => format!("{name}{failed}"),
        1 => format!("{name}the condition of its data holds\n"),
        count => format!("{name}all {count} conditions of its data hold\n"),
    }
}

const LATENCIES: [&str; 5] = ["p50 us", "p95", "p99", "p99.9", "most"];

fn latencies(l: &LatencyReport) -> impl Iterator<Item = String> {
    [l.p50, l.p95, l.p99, l.p999, l.max].into_iter().map(|us| format!("{us:.0}"))
}

/// Kinds, tenants and conditions of a run.
fn details(run: &DatabaseRun, named: bool) -> String {
    let name = if named { run.run.scheme.as_str() } else { "" };
    let headings: Vec<_> = [name, "committed", "rolled back", "retries", "given up"]
        .into_iter()
        .chain(LATENCIES)
        .collect();
    let row = |kind: &KindRow| {
        let mut row = vec![kind.kind.to_string()];
        let counts = [kind.committed, kind.rolled_back, kind.retries, kind.abandoned];
        row.extend(counts.iter().map(u64::to_string));
        row.extend(latencies(&kind.latency_us));
        row
    };
    let has_any = |kind: &&KindRow| kind.committed + kind.rolled_back + kind.abandoned > 0;
    let mut text = columns(&headings, 1, run.kinds.iter().filter(has_any).map(row).collect());
    if !run.tenants.is_empty() {
        text += &format!("\n{}", tenants(run));
    }
    if !run.conditions.is_empty() {
        text += "\n";
        text.extend(run.conditions.iter().map(condition));
    }
    text
}

fn tenants(run: &DatabaseRun) -> String {
    let headings: Vec<_> =
        ["tenant", "transactions", "a second", "tpmC"].into_iter().chain(LATENCIES).collect();
    let rows = run.tenants.iter().map(|tenant| {
        let mut row = vec![
            tenant.tenant.to_string(),
            tenant.transactions.to_string(),
            format!("{:.0}", tenant.ops_per_second),
            tenant.tpmc.map(|tpmc| format!("{tpmc:.0}")).unwrap_or_default(),
        ];
        row.extend(latencies(&tenant.latency_us));
        row
    });
    columns(&headings, 0, rows.collect())
}

fn condition(row: &ConditionRow) -> String {
    let tenant = row.tenant.map(|tenant| format!("tenant {tenant}: ")).unwrap_or_default();
    let clause = match row.clause {
        "" => String::new(),
        clause => format!(" ({clause})"),
    };
    let verdict = if row.ok { "holds" } else { "FAILS" };
    format!("{verdict}: {tenant}{}{clause}: {}\n", row.condition, row.detail)
}
