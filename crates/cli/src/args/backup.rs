//! Arguments of backups, of stores and of databases.

use std::ffi::OsString;

use clap::Args;

/// `frostline store backup` and `db backup`
#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// The device: file:PATH, block:PATH, fdp:/dev/..., dir:DIR, zonefs:MOUNT or zbd:/dev/...
    pub uri: String,
    /// Where the backup goes: a directory, made if it is absent, or s3://BUCKET/PREFIX with the
    /// keys of the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION,
    /// AWS_ENDPOINT_URL)
    pub target: OsString,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `frostline store restore` and `db restore`
#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// Where the backup is: a directory, or s3://BUCKET/PREFIX
    pub target: OsString,
    /// The device: file:PATH, made if it is absent, or an empty one of the same zones
    pub uri: String,
}
