//! A sweep of the simulator.

use serde::Serialize;

use crate::{ReplaySetup, RunRecord, RunReport, TraceReport};

/// The volume name of sums over all volumes.
pub const ALL_VOLUMES: &str = "all";

/// A whole sweep.
#[derive(Clone, Debug, Serialize)]
pub struct SimReport {
    /// Version of the program.
    pub frostline: &'static str,
    /// Commit that the program was built from, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The command line, if there was one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The settings that all runs share.
    pub setup: ReplaySetup,
    /// The part of the sweep that was done, like `3/16`; none if all of it was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
    /// The trace; if there are several, their paths in a row and their sums.
    pub trace: TraceReport,
    /// Each trace, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traces: Vec<TraceReport>,
    /// The runs, settings by settings; if there are several volumes, first the sums over all, then
    /// volume by volume.
    pub runs: Vec<RunReport>,
    /// True if the sweep was stopped; `runs` are those that had finished.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
}

impl SimReport {
    /// Leaves out all durations, so that equal runs give equal bytes.
    pub fn without_timing(mut self) -> SimReport {
        for run in &mut self.runs {
            run.seconds = 0.0;
            run.writes_per_second = 0.0;
        }
        self
    }

    /// The runs as records.
    pub fn records(&self) -> Vec<RunRecord> {
        let record = |run: &RunReport| RunRecord {
            frostline: self.frostline.to_string(),
            commit: self.commit.clone(),
            command: self.command.clone(),
            trace: Some(self.trace_of(run).clone()),
            setup: Some(self.setup.clone()),
            workload: None,
            run: run.clone(),
        };
        self.runs.iter().map(record).collect()
    }

    /// The trace of a run: if there are several, the one with its volume; for a sum, all of them
    /// together.
    fn trace_of(&self, run: &RunReport) -> &TraceReport {
        let volume = run.volume.as_deref().unwrap_or_default();
        let is_of = |trace: &&TraceReport| {
            let rest = volume.strip_prefix(trace.path.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        };
        self.traces.iter().find(is_of).unwrap_or(&self.trace)
    }
}
