//! Errors of benches.

use frostline_benches::{Error, WorkloadError};

use super::{db_failure, device_failure, store_failure};
use crate::backup::backup_failure;
use crate::failure::Failure;

/// The failure for an error of a command's bench, or of the device that is made for it.
pub(crate) fn bench_failure(command: &str, error: Error) -> Failure {
    let usage = |why: &str| Failure::usage(command, why);
    let why = error.to_string();
    match error {
        Error::Device { uri, error } => device_failure(&uri, &error),
        Error::Store { uri, error } => store_failure(&uri, error),
        Error::Database { uri, error } => db_failure(&uri, error),
        Error::Workload { uri, error } => workload_failure(command, &uri, &error),
        Error::Backup(error) => backup_failure(command, &error),
        Error::Trace(error) => error.into(),
        Error::NoSize { uri } => {
            usage(&format!("{uri} does not exist yet, and no --size is given to make it"))
                .hint("as --size 4GiB")
        }
        Error::OtherShape { .. } => usage(&why).hint("leave out --size, or choose another place"),
        Error::OwnZones { .. } => usage(&why).hint("leave out --zone"),
        Error::SmallDevice { .. } => usage(&why).hint("remove it, or name another --device"),
        Error::NothingToKeep { .. } => usage(&format!("--keep: {why}")),
        Error::NoBandwidth => usage("--bandwidth 0: nothing would be written"),
        Error::SeveralVolumes { .. } => {
            usage(&why).hint("frostline trace convert --volume ID makes a trace of one")
        }
        Error::TooFewPages { .. } => usage(&why).hint("a larger --size"),
        Error::NoHotness { .. } => usage(&format!("--record {why}")),
        Error::SeveralRuns => usage("--record: one run is recorded, with one --scheme"),
        Error::SeveralBackedUp => usage("--backup: one run is backed up, with one --scheme"),
        Error::Metrics { address, source } => {
            Failure::job(command, &format!("--metrics {address}: {source}"))
        }
        Error::Io { .. } => Failure::job_line(why),
        Error::Spec(_) | Error::GarbageProportion { .. } => usage(&why),
        _ => Failure::job(command, &why),
    }
}

/// The failure for a workload that can't be run on the existing database.
fn workload_failure(command: &str, uri: &str, error: &WorkloadError) -> Failure {
    let not_kept = || Failure::usage(command, &format!("--keep: {uri}: {error}"));
    match error {
        WorkloadError::Options { .. } => Failure::usage(command, &error.to_string()),
        WorkloadError::Unfinished { .. } => not_kept().hint(
            "without --keep the database is made and loaded anew; --force gives up what is there",
        ),
        WorkloadError::OtherContents { .. } => not_kept()
            .hint("the options that it was loaded with, or a fresh database without --keep"),
        _ => Failure::job(command, &error.to_string()),
    }
}
