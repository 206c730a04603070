//! Arguments of backups, of stores and of databases.

use std::path::PathBuf;

use clap::Args;

/// `frostline store backup` and `db backup`
#[derive(Debug, Args)]
pub struct BackupArgs {
    /// The device: file:DIR, block:PATH, fdp:/dev/..., zonefs:MOUNT or zbd:/dev/...
    pub uri: String,
    /// The directory of the backup, made if it is absent
    pub directory: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `frostline store restore` and `db restore`
#[derive(Debug, Args)]
pub struct RestoreArgs {
    /// The directory of the backup
    pub directory: PathBuf,
    /// The device: file:DIR, made if it is absent, or an empty one of the same zones
    pub uri: String,
}
