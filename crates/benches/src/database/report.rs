//! The report of a bench of databases. Names of JSON fields are a contract: fields are added, never
//! renamed.

use std::time::Duration;

use frostline_results::{RunReport, WindowReport};
use frostline_store::{Compression, DeltaCounts, StoreInfo};
use frostline_workload::Condition;
use frostline_workload::driver::{KindReport, Report};
use serde::Serialize;

use super::moment::Moment;
use super::replay::{Replay, RunOrder};
use crate::following::FollowedReport;
use crate::latency::LatencyReport;
use crate::report::{BenchReport, of_store};

/// The measurements of a run.
pub(super) struct MeasuredDatabase {
    /// The store's shape and options.
    pub(super) info: StoreInfo,
    /// Counters before the first transaction that counts.
    pub(super) before: Moment,
    /// Counters after the last transaction.
    pub(super) after: Moment,
    /// The workload's results, by tenant.
    pub(super) reports: Vec<Report>,
    /// The writes, second by second.
    pub(super) windows: Vec<WindowReport>,
    /// The kind of transaction whose number per minute is the result, if there is one.
    pub(super) counted_kind: Option<usize>,
    /// The conditions of the data after the run, by tenant.
    pub(super) conditions: Vec<Vec<Condition>>,
    /// The space on the device after the run, and what it is for.
    pub(super) space: Space,
    /// Page writes before the store was opened.
    pub(super) opened: u64,
    /// The order in which pages reached the store, and were cleaned.
    pub(super) order: RunOrder,
    /// True if the monitor stopped the run.
    pub(super) interrupted: bool,
}

/// The report of a [`DatabaseBench`](crate::DatabaseBench).
pub type DatabaseReport = BenchReport<DatabaseSetup, DatabaseRun>;

/// The part of the setup that is specific to benches of databases.
#[derive(Clone, Debug, Serialize)]
pub struct DatabaseSetup {
    /// The rule by which pages left memory: `watt` or `clock`.
    pub replacement: &'static str,
    /// Bytes of a unit of the store.
    pub unit: u32,
    /// True if the store got hotness records.
    pub hotness: bool,
    /// True if changed pages were written from memory where cleaning would have copied them.
    pub rewriting: bool,
    /// True if images were compressed where that made them shorter.
    pub compression: bool,
    /// How.
    pub compressed_with: Compression,
    /// Bytes of the log that recovery redoes at most, if given.
    pub recovery_bytes: Option<u64>,
    /// Share of a leaf that insertions in ascending order filled.
    pub fill: f64,
    /// Databases that shared the store.
    pub tenants: usize,
    /// Threads of each database.
    pub threads: u16,
    /// The most commits that each thread had in flight.
    pub in_flight: u16,
    /// Bytes of memory for pages, for each database.
    pub buffer_bytes: u64,
}

/// A run: the simulator's fields, and fields specific to databases.
#[derive(Clone, Debug, Serialize)]
pub struct DatabaseRun {
    /// The WAF includes headers and checkpoints. A page counts as frozen if it was not written
    /// again until the end of the run.
    #[serde(flatten)]
    pub run: RunReport,
    /// True if the run was stopped early; it counted until then.
    pub interrupted: bool,
    /// Headers of chunks.
    pub header_pages: u64,
    /// Checkpoints, notes and superblocks of the store.
    pub checkpoint_pages: u64,
    /// Pages of the logs.
    pub wal_pages: u64,
    /// Durable transactions that did what their user wanted.
    pub transactions: u64,
    /// These transactions per second.
    pub ops_per_second: f64,
    /// Transactions per minute of the kind that counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tpmc: Option<f64>,
    /// Latencies until a transaction was durable.
    pub latency_us: LatencyReport,
    /// Transactions that lost against another; they were tried again.
    pub conflicts: u64,
    /// Transactions that were ended because too many bytes of versions were kept for them.
    pub snapshots_ended: u64,
    /// Bytes of versions kept for transactions at the end.
    pub version_bytes: u64,
    /// Results by kind of transaction.
    pub kinds: Vec<KindRow>,
    /// Results by database, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tenants: Vec<TenantRow>,
    /// All pages written to the device, including those of the log, over pages written by the user;
    /// none if the user wrote no page.
    pub waf_with_log: Option<f64>,
    /// Bytes of the records written to the log.
    pub wal_bytes: u64,
    /// Flushes of the logs.
    pub wal_flushes: u64,
    /// All bytes written to the device, over the bytes of these records; none if there are no
    /// records.
    pub device_bytes_per_wal_byte: Option<f64>,
    /// Bytes of the keys that transactions wrote, and of their new values; for patched values, only
    /// the patched bytes.
    pub updated_bytes: u64,
    /// All bytes written to the device, over these updated bytes; none if there are none.
    pub device_bytes_per_updated_byte: Option<f64>,
    /// All bytes written to the device, by what they were.
    pub bytes_by_cause: DeviceBytes,
    /// Bytes of the device at the end, and of the data.
    #[serde(flatten)]
    pub space: Space,
    /// The former over the latter; none if the data were not checked.
    pub space_over_data: Option<f64>,
    /// Accesses to pages, estimated from a sample.
    pub page_accesses: u64,
    /// Share of these accesses that found the page in memory; none if there were no accesses.
    pub cache_hits: Option<f64>,
    /// Pages read from the store.
    pub pages_read: u64,
    /// Reads of the device that these took: a page with a delta takes two.
    pub device_reads: u64,
    /// Records that were read or changed without their page, which was not in memory.
    pub records_without_page: u64,
    /// Pages written because their memory was needed, or that of changes that were kept.
    pub pages_evicted: u64,
    /// Pages that left memory, and whose changes were kept there to be written later.
    pub pages_kept: u64,
    /// Pages that left memory unchanged.
    pub pages_dropped: u64,
    /// Pages written so that the log could be truncated.
    pub pages_checkpointed: u64,
    /// Pages written from memory because cleaning would have copied them.
    pub pages_rewritten: u64,
    /// Pages written as deltas.
    pub deltas: DeltaCounts,
    /// CPU time of the workers' threads.
    pub worker_cpu_seconds: f64,
    /// CPU time of all threads of the process.
    pub process_cpu_seconds: f64,
    /// Time for which writers of pages waited for cleaning.
    pub stall_seconds: f64,
    /// Time for which threads waited for memory.
    pub buffer_stall_seconds: f64,
    /// Pages that the databases had before the run.
    pub pages_before: u64,
    /// Pages that the databases had after the run.
    pub pages_after: u64,
    /// Pages that the store can hold.
    pub logical_pages: u64,
    /// Garbage proportion at the end.
    pub garbage_proportion: f64,
    /// Bytes of zones for pages over those of the images of all pages at the end.
    pub space_over_images: f64,
    /// Bytes of the logs' zones.
    pub log_capacity_bytes: u64,
    /// What was backed up meanwhile, if there was a target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<FollowedReport>,
    /// Settings of a replay that makes the same decisions.
    pub replay: Replay,
    /// The conditions that the data must meet, if they were checked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<ConditionRow>,
}

/// Bytes written to the device.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct DeviceBytes {
    /// Records of pages that the databases wrote: images and deltas.
    pub user: u64,
    /// Records that cleaning wrote.
    pub relocations: u64,
    /// Headers of chunks.
    pub headers: u64,
    /// Padding: the unused ends of chunks' last pages.
    pub padding: u64,
    /// Checkpoints, notes and superblocks of the store.
    pub checkpoints: u64,
    /// The logs.
    pub log: u64,
}

/// Space that a device uses, and the data in it.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Space {
    /// Bytes of the zones that are in use, logs included.
    pub space_bytes: u64,
    /// Bytes of the keys and values of all records; none if the data were not checked.
    pub data_bytes: Option<u64>,
}

/// Transactions of a kind.
#[derive(Clone, Debug, Serialize)]
pub struct KindRow {
    /// Its name.
    pub kind: &'static str,
    /// Transactions that were committed and are durable.
    pub committed: u64,
    /// Transactions that were rolled back as their user wanted.
    pub rolled_back: u64,
    /// Transactions that were given up after too many conflicts.
    pub abandoned: u64,
    /// Retries after conflicts.
    pub retries: u64,
    /// Latencies until transactions were durable.
    pub latency_us: LatencyReport,
}

/// One of several databases.
#[derive(Clone, Debug, Serialize)]
pub struct TenantRow {
    /// Its number, from 1.
    pub tenant: usize,
    /// Durable transactions that did what their user wanted.
    pub transactions: u64,
    /// These transactions per second.
    pub ops_per_second: f64,
    /// Transactions per minute of the kind that counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tpmc: Option<f64>,
    /// Latencies until a transaction was durable.
    pub latency_us: LatencyReport,
}

/// A condition that the data must meet.
#[derive(Clone, Debug, Serialize)]
pub struct ConditionRow {
    /// The number of the database, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<usize>,
    /// The condition.
    pub condition: &'static str,
    /// The clause of the benchmark's standard.
    pub clause: &'static str,
    /// True if it holds.
    pub ok: bool,
    /// The number of checks, and the place of the first failure.
    pub detail: String,
}

impl DatabaseRun {
    /// Makes a report of the measurements.
    pub(super) fn new(measured: MeasuredDatabase) -> DatabaseRun {
        let MeasuredDatabase { info, before, after, reports, windows, counted_kind, .. } = measured;
        let written = after.store.written.since(&before.store.written);
        let sum = after.sum.since(&before.sum);
        let took = reports.iter().map(|report| report.elapsed).max().unwrap_or_default();
        let all = together(&reports);
        let transactions = all.done();
        let outcome = ResultBasis { took, counted_kind };
        let log_bytes = sum.log_pages * 4096;
        let device_bytes = written.bytes() + log_bytes;
        let space = measured.space;
        let over = |part: f64, whole: u64| (whole > 0).then(|| part / whole as f64);
        let stalled = after.store.stalled.saturating_sub(before.store.stalled);
        let run = RunReport {
            windows,
            seconds: took.as_secs_f64(),
            writes_per_second: per_second(written.user, took),
            ..of_store(&info, &before.store, &after.store)
        };
        DatabaseRun {
            run,
            interrupted: measured.interrupted,
            header_pages: written.headers,
            checkpoint_pages: written.checkpoints,
            wal_pages: sum.log_pages,
            transactions,
            ops_per_second: per_second(transactions, took),
            tpmc: outcome.tpmc(&all),
            latency_us: LatencyReport::of(&all.latency()),
            conflicts: sum.conflicts,
            snapshots_ended: sum.snapshots_ended,
            version_bytes: sum.version_bytes,
            kinds: all.kinds.iter().map(kind_row).collect(),
            tenants: tenants(&reports, counted_kind),
            waf_with_log: over(device_bytes as f64, written.user_bytes),
            wal_bytes: sum.log_bytes,
            wal_flushes: sum.log_flushes,
            device_bytes_per_wal_byte: over(device_bytes as f64, sum.log_bytes),
            updated_bytes: sum.updated_bytes,
            device_bytes_per_updated_byte: over(device_bytes as f64, sum.updated_bytes),
            bytes_by_cause: DeviceBytes {
                user: written.user_bytes,
                relocations: written.relocated_bytes,
                headers: written.header_bytes,
                padding: written.padding_bytes,
                checkpoints: written.checkpoints * 4096,
                log: log_bytes,
            },
            space,
            space_over_data: space.data_bytes.and_then(|data| over(space.space_bytes as f64, data)),
            page_accesses: sum.accesses,
            cache_hits: sum.hits(),
            pages_read: sum.read,
            device_reads: after.store.reads - before.store.reads,
            records_without_page: sum.without_page,
            pages_evicted: sum.evicted,
            pages_kept: sum.kept,
            pages_dropped: sum.dropped,
            pages_checkpointed: sum.checkpointed,
            pages_rewritten: sum.rewritten,
            deltas: after.store.deltas.since(&before.store.deltas),
            worker_cpu_seconds: all.cpu.as_secs_f64(),
            process_cpu_seconds: (after.cpu - before.cpu).as_secs_f64(),
            stall_seconds: stalled.as_secs_f64(),
            buffer_stall_seconds: sum.stalled.as_secs_f64(),
            pages_before: before.sum.pages,
            pages_after: sum.pages,
            logical_pages: info.logical_pages,
            garbage_proportion: after.store.garbage_proportion,
            space_over_images: after.store.space.over_data(),
            log_capacity_bytes: sum.log_capacity,
            backup: None,
            replay: Replay::of(
                &info,
                (measured.opened, &before.store, &after.store),
                measured.order,
            ),
            conditions: conditions(measured.conditions),
        }
    }

    /// Conditions that do not hold.
    pub fn failed(&self) -> usize {
        self.conditions.iter().filter(|condition| !condition.ok).count()
    }
}

/// The basis of the results.
struct ResultBasis {
    took: Duration,
    counted_kind: Option<usize>,
}

impl ResultBasis {
    fn tpmc(&self, report: &Report) -> Option<f64> {
        let kind = report.kinds.get(self.counted_kind?)?;
        Some(per_second(kind.done(), self.took) * 60.0)
    }
}

fn per_second(count: u64, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64().max(1e-9)
}

/// The results of all tenants as one report.
fn together(reports: &[Report]) -> Report {
    let (mut sum, others) = match reports.split_first() {
        Some((first, others)) => (first.clone(), others),
        None => unreachable!("there is one tenant at least"),
    };
    for report in others {
        sum.threads += report.threads;
        sum.elapsed = sum.elapsed.max(report.elapsed);
        sum.cpu += report.cpu;
        for (kind, of_other) in sum.kinds.iter_mut().zip(&report.kinds) {
            kind.committed += of_other.committed;
            kind.rolled_back += of_other.rolled_back;
            kind.abandoned += of_other.abandoned;
            kind.retries += of_other.retries;
            kind.latency += &of_other.latency;
        }
    }
    sum
}

fn kind_row(kind: &KindReport) -> KindRow {
    KindRow {
        kind: kind.name,
        committed: kind.committed,
        rolled_back: kind.rolled_back,
        abandoned: kind.abandoned,
        retries: kind.retries,
        latency_us: LatencyReport::of(&kind.latency),
    }
}

/// The rows of the tenants, if there are several.
fn tenants(reports: &[Report], counted_kind: Option<usize>) -> Vec<TenantRow> {
    if reports.len() < 2 {
        return Vec::new();
    }
    let row = |(tenant, report): (usize, &Report)| TenantRow {
        tenant,
        transactions: report.done(),
        ops_per_second: per_second(report.done(), report.elapsed),
        tpmc: ResultBasis { took: report.elapsed, counted_kind }.tpmc(report),
        latency_us: LatencyReport::of(&report.latency()),
    };
    (1..).zip(reports).map(row).collect()
}

fn conditions(of_tenants: Vec<Vec<Condition>>) -> Vec<ConditionRow> {
    let several = of_tenants.len() > 1;
    let rows = (1..).zip(of_tenants).flat_map(|(tenant, conditions)| {
        conditions.into_iter().map(move |condition| ConditionRow {
            tenant: several.then_some(tenant),
            condition: condition.name,
            clause: condition.clause,
            ok: condition.ok,
            detail: condition.detail,
        })
    });
    rows.collect()
}
