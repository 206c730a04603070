//! Errors of the libraries as failures of the command, with their exit status and a hint in terms
//! of the command's options.

mod bench;
mod device;
mod learn;
mod paper;
mod report;
mod sim;

pub(crate) use bench::bench_failure;
pub(crate) use device::{db_failure, device_failure, store_failure};
pub(crate) use paper::paper_failure;
pub(crate) use report::report_failure;

use frostline_trace::TraceError;

use crate::failure::Failure;

/// The hint where a part is missing from this build.
pub(crate) const FULL: &str =
    "cargo build --release --features full has it, as does the published command";

impl From<TraceError> for Failure {
    fn from(error: TraceError) -> Self {
        let line = error.to_string();
        let hint = match error {
            TraceError::NotBuiltIn { .. } => Some(FULL.to_string()),
            _ => error.hint(),
        };
        let failure = match error {
            TraceError::Unwritable { .. } => Failure::job_line(line),
            _ => Failure::usage_line(line),
        };
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}
