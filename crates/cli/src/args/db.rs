//! Arguments of `frostline db`.

use clap::{Args, Subcommand, value_parser};

use super::{BackupArgs, RestoreArgs};

/// `frostline db`
#[derive(Debug, Subcommand)]
pub enum DbCommand {
    /// Check trees, pages and the log against each other
    Check(LookDbArgs),
    /// Describe the databases of a store
    Stats(LookDbArgs),
    /// Write all records, one per line
    Dump(DumpArgs),
    /// Copy store and databases to a directory or a bucket; what a backup before has is not copied again
    Backup(BackupArgs),
    /// Make store and databases from a backup
    Restore(RestoreArgs),
}

/// `frostline db check` and `stats`
#[derive(Debug, Args)]
pub struct LookDbArgs {
    /// The device: file:PATH, block:PATH, fdp:/dev/..., dir:DIR, zonefs:MOUNT or zbd:/dev/...
    pub uri: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `frostline db dump`
#[derive(Debug, Args)]
pub struct DumpArgs {
    /// The device: file:PATH, block:PATH, fdp:/dev/..., dir:DIR, zonefs:MOUNT or zbd:/dev/...
    pub uri: String,
    /// Only this table
    #[arg(long, value_name = "NAME")]
    pub table: Option<String>,
    /// Only the N-th of the databases that share the store
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..),
        allow_negative_numbers = true)]
    pub tenant: Option<u32>,
    /// Print JSON: one object per line, with key and value in hexadecimal digits
    #[arg(long)]
    pub json: bool,
}
