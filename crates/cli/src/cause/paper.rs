//! Errors of evaluations, studies and sweeps.

use frostline_papers::Error;

use super::bench_failure;
use crate::failure::Failure;

/// The failure for an error of a command's evaluation, study or sweep.
pub(crate) fn paper_failure(command: &str, error: Error) -> Failure {
    let why = error.to_string();
    match error {
        Error::Bench(error) => bench_failure(command, error),
        Error::Trace(error) => error.into(),
        Error::Sim(error) => error.into(),
        Error::Learn(error) => error.into(),
        Error::Unrecorded { .. } => Failure::usage_line(why)
            .hint("frostline bench tpcc --record writes traces that have them"),
        Error::Io { .. } => Failure::job_line(why),
        Error::NotAManifest { .. } => {
            Failure::usage_line(why).hint("name a new file, or one that --manifest made")
        }
        Error::Spec(_) | Error::NoExperiment { .. } => Failure::usage(command, &why),
        _ => Failure::job(command, &why),
    }
}
