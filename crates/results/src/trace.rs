//! A trace, in the report of its replay.

use serde::{Deserialize, Serialize};

use crate::is_zero;

/// A trace.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct TraceReport {
    /// Path of the file.
    pub path: String,
    /// Name of its format.
    pub format: String,
    /// Size of the file; for several traces, the sum of their sizes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bytes: u64,
    /// SHA-256 of the file's bytes, in hexadecimal digits; none for several traces, or for a pipe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// User page writes, the preload not included.
    pub user_writes: u64,
    /// Different pages written, by the preload too.
    pub unique_pages: u64,
    /// True if the trace, or its preload, has no requests, so that what follows a page in its
    /// request is a guess: the LBAs that come next.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub requests_guessed: bool,
    /// Trims of whole pages, without those of the preload.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub trims: u64,
}

impl TraceReport {
    /// Several traces together: their paths in a row, and their sums.
    pub fn join(traces: &[TraceReport]) -> TraceReport {
        let join = |part: fn(&TraceReport) -> &str| {
            let mut parts: Vec<_> = traces.iter().map(part).collect();
            parts.dedup();
            parts.join(" ")
        };
        TraceReport {
            path: join(|t| &t.path),
            format: join(|t| &t.format),
            bytes: traces.iter().map(|t| t.bytes).sum(),
            sha256: traces.first().filter(|_| traces.len() == 1).and_then(|t| t.sha256.clone()),
            user_writes: traces.iter().map(|t| t.user_writes).sum(),
            unique_pages: traces.iter().map(|t| t.unique_pages).sum(),
            requests_guessed: traces.iter().any(|t| t.requests_guessed),
            trims: traces.iter().map(|t| t.trims).sum(),
        }
    }
}
