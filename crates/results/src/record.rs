//! A run with everything that led to it.

use serde::{Deserialize, Serialize};

use crate::{ReplaySetup, RunReport, TraceReport};

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
