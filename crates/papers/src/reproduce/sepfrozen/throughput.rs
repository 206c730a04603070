//! Throughput on a device with limited bandwidth: the paper's figure 13.

use frostline_benches::{DatabaseRun, Monitor};

use super::paper;
use crate::Result;
use crate::reproduce::going_on;
use crate::reproduce::inputs::{Input, Workload, megabytes};
use crate::reproduce::scale::Scale;
use crate::reproduce::tables::{Cell, ReportTable, headings};

/// Low enough that everything waits for the device, not for this program.
const BANDWIDTH: u64 = 128_000_000;

/// The share of the scale for this experiment, and the least: slow devices take long.
const PART: f64 = 0.25;
const LEAST: f64 = 0.05;

/// The schemes; the others are compared with the first.
const SCHEMES: [&str; 3] = ["sepbit", "sepfrozen-bit", "frozen:lifespan"];

/// Runs TPC-C on a slow device.
pub(super) fn throughput(scale: Scale, seed: u64, monitor: &dyn Monitor) -> Result<ReportTable> {
    let part = Scale((scale.0 * PART).max(scale.0.min(LEAST)));
    let input = Input::timed(Workload::Tpcc, part, seed, BANDWIDTH, &SCHEMES);
    let report = input.run(monitor)?;
    going_on(monitor)?;
    let base = report.runs.first().and_then(|run| run.tpmc).unwrap_or(f64::NAN);
    let row = |run: &DatabaseRun| {
        let tpmc = run.tpmc.unwrap_or(f64::NAN);
        let with_log = run.waf_with_log.unwrap_or(f64::NAN);
        let pages = with_log * run.run.user_writes as f64;
        let against = format!("{:+.1} %", (tpmc / base - 1.0) * 100.0);
        let told = if run.run.scheme == "sepfrozen-bit" { paper::TPMC_BIT.text } else { "" };
        vec![
            Cell::text(&run.run.scheme),
            Cell::Number(tpmc, 0),
            Cell::text(against),
            Cell::text(told),
            Cell::waf(run.run.waf),
            Cell::waf(with_log),
            Cell::Number(pages / run.transactions as f64, 2),
            Cell::share(run.run.far),
        ]
    };
    Ok(ReportTable {
        name: "throughput",
        title: "Throughput on a slow device (figure 13)".to_string(),
        note: format!(
            "TPC-C on a device in memory that writes, and reads, no more than {} a \
             second: `frostline {}`. WAF with headers and checkpoints of the store, and \
             with the database's log as well; pages of a transaction are all that it cost the \
             device. The paper: {}.",
            megabytes(BANDWIDTH),
            input.command(),
            paper::TPMC_BIT.place
        ),
        columns: headings([
            "scheme",
            "tpmC",
            "against SepBIT",
            "paper",
            "WAF",
            "with log",
            "pages/tx",
            "FAR",
        ]),
        rows: report.runs.iter().map(row).collect(),
    })
}
