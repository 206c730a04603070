//! A run with everything that led to it.

use frostline_sim::{ReplaySetup, RunReport, SimReport, TraceReport};
use serde::{Deserialize, Serialize};

/// A run with everything that led to it. docs/results.md describes its fields and their units.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct RunRecord {
    /// Version of the program.
    #[serde(default)]
    pub frostline: String,
    /// Commit that the program was built from, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The command line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The trace; none for a bench.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceReport>,
    /// Settings of the replay; none for a bench.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<ReplaySetup>,
    /// The workload of a bench, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// The run.
    #[serde(flatten)]
    pub run: RunReport,
}

/// The runs of a report as records.
pub fn records(report: &SimReport) -> Vec<RunRecord> {
    let record = |run: &RunReport| RunRecord {
        frostline: report.frostline.to_string(),
        commit: report.commit.clone(),
        command: report.command.clone(),
        trace: Some(trace_of(report, run).clone()),
        setup: Some(report.setup.clone()),
        workload: None,
        run: run.clone(),
    };
    report.runs.iter().map(record).collect()
}

/// The trace of a run: if there are several, the one with its volume; for a sum, all of them
/// together.
fn trace_of<'a>(report: &'a SimReport, run: &RunReport) -> &'a TraceReport {
    let volume = run.volume.as_deref().unwrap_or_default();
    let is_of = |trace: &&TraceReport| {
        let rest = volume.strip_prefix(trace.path.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
    };
    report.traces.iter().find(is_of).unwrap_or(&report.trace)
}
