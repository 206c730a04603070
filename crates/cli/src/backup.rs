//! `frostline store backup` and `restore`, and the same of `frostline db`: the device as it is, for
//! a store and its databases are no more than that.

use std::sync::Arc;

use frostline_backup::{Backup, BackupError, Source, Target, restore, shape};
use frostline_benches::FollowedReport;
use frostline_store::Store;
use frostline_zone::{Device, OpenOptions, can_create, create, open};
use serde::Serialize;

use crate::args::{BackupArgs, RestoreArgs};
use crate::cause::{device_failure, store_failure};
use crate::failure::Failure;
use crate::output::json;

#[derive(Serialize)]
struct BackupReport<'a> {
    device: &'a str,
    zones: u32,
    bytes: u64,
    copied_bytes: u64,
    left_parts: u64,
}

/// Backs up a store that no other process uses.
pub(crate) fn back_up(args: &BackupArgs) -> Result<String, Failure> {
    // Not for reading only: what a killed process left must be made durable.
    let opened = open(&args.uri, &OpenOptions::default());
    let device = opened.map_err(|error| device_failure(&args.uri, &error))?;
    let store = Store::number_on(&*device).map_err(|error| store_failure(&args.uri, error))?;
    let made = Target::new(&args.target)
        .and_then(|target| Source::new(device).back_up(&target.of_store(store)));
    let made = made.map_err(|error| backup_failure(&args.uri, &error))?;
    let Backup { zones, bytes, copied_bytes, left_parts, .. } = made;
    if args.json {
        let device = &args.uri;
        let report = BackupReport { device, zones, bytes, copied_bytes, left_parts };
        return json("backup", &report);
    }
    let (all, copied) = (mib(bytes), mib(copied_bytes));
    let left = match left_parts {
        0 => String::new(),
        parts => format!(", {parts} old parts could not be removed"),
    };
    Ok(format!("{}: {all:.2} MiB in {zones} zones, {copied:.2} MiB of it copied{left}\n", args.uri))
}

/// What was backed up while a device was in use.
pub(crate) fn in_words(followed: &FollowedReport) -> String {
    let FollowedReport { backups, failures, copied_bytes, again_bytes, longest_behind_seconds } =
        followed;
    let (copied, again) = (mib(*copied_bytes), mib(*again_bytes));
    format!(
        "{backups} backups of {copied:.2} MiB, {again:.2} MiB of it again, {failures} failed, at most \
         {longest_behind_seconds:.2} s behind"
    )
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Makes a store of a backup.
pub(crate) fn run_restore(args: &RestoreArgs) -> Result<String, Failure> {
    let failed = |error: BackupError| backup_failure(&args.uri, &error);
    let target = Target::new(&args.target).map_err(failed)?;
    let shape = shape(&target).map_err(failed)?;
    let device: Result<Arc<dyn Device>, _> = match can_create(&args.uri) {
        true => create(&args.uri, &shape, &OpenOptions::default()),
        false => open(&args.uri, &OpenOptions::default()),
    };
    let device = device.map_err(|error| device_failure(&args.uri, &error))?;
    restore(&target, &*device).map_err(failed)?;
    Ok(format!("{}: restored from {}\n", args.uri, args.target.display()))
}

/// The failure for an error of a backup of a device.
pub(crate) fn backup_failure(uri: &str, error: &BackupError) -> Failure {
    match error {
        BackupError::Device(error) => device_failure(uri, error),
        BackupError::Unsuitable { .. } => Failure::usage(uri, &error.to_string()),
        BackupError::NoBackup { .. } => {
            Failure::usage_line(error.to_string()).hint("frostline db backup URI TARGET makes one")
        }
        BackupError::WithoutS3 { .. } => Failure::usage_line(error.to_string())
            .hint("cargo build --release --features s3 builds it in"),
        BackupError::Foreign { .. } => Failure::usage_line(error.to_string())
            .hint("a backup needs a directory, or a prefix of a bucket, of its own"),
        BackupError::OtherStore { .. } => Failure::usage_line(error.to_string())
            .hint("give each store its own target, or remove this backup"),
        BackupError::WentApart { .. } => Failure::job_line(error.to_string())
            .hint("back up to another target if this is a restored copy; else check the device"),
        BackupError::Target { .. } => Failure::usage_line(error.to_string()),
        _ => Failure::job_line(error.to_string()),
    }
}
