//! Errors of results in files.

use frostline_report::Error;

use super::FULL;
use crate::failure::Failure;

/// The failure for an error of reading or writing a command's results.
pub(crate) fn report_failure(command: &str, error: Error) -> Failure {
    let why = error.to_string();
    match error {
        Error::Trace(error) => error.into(),
        Error::NotBuiltIn { .. } => Failure::usage(command, &why).hint(FULL),
        Error::Results { .. } => Failure::usage_line(why)
            .hint("frostline sim TRACE -o FILE.json, or FILE.ndjson, writes results that are read"),
        _ => Failure::job(command, &why),
    }
}
