//! Arguments of `frostline db`.

use clap::{Args, Subcommand, value_parser};

use super::share::gp_of_store;
use super::store::unit;
use super::{BackupArgs, RestoreArgs};
use crate::size::Size;

/// `frostline db`
#[derive(Debug, Subcommand)]
pub(crate) enum DbCommand {
    /// Check trees, pages and the log against each other
    Check(LookDbArgs),
    /// Describe the databases of a store
    Stats(LookDbArgs),
    /// Write all records, one per line
    Dump(DumpArgs),
    /// Copy all tables to a new device: with another scheme, unit, size, log or parity
    Copy(CopyArgs),
    /// Copy store and databases to a directory or a bucket; what a backup before has is not copied
    /// again
    Backup(BackupArgs),
    /// Make store and databases from a backup
    Restore(RestoreArgs),
}

/// `frostline db check` and `stats`
#[derive(Debug, Args)]
pub(crate) struct LookDbArgs {
    /// The device: file:PATH, block:PATH, fdp:/dev/..., dir:DIR, zonefs:MOUNT or zbd:/dev/...
    pub uri: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `frostline db dump`
#[derive(Debug, Args)]
pub(crate) struct DumpArgs {
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

/// `frostline db copy`
#[derive(Debug, Args)]
pub(crate) struct CopyArgs {
    /// The device: file:PATH, block:PATH, fdp:/dev/..., dir:DIR, zonefs:MOUNT or
    /// zbd:/dev/...
    pub uri: String,
    /// The device of the copy, which is made, or is empty
    pub to: String,
    /// Scheme, optionally with parameters (dac:classes=4) [default: as it is]
    #[arg(long, value_name = "S")]
    pub scheme: Option<String>,
    /// Victim policy, optionally with parameters (d-choices:d=4) [default: as it is]
    #[arg(long, value_name = "V")]
    pub victim: Option<String>,
    /// Clean while the garbage proportion exceeds this [default: as it is]
    #[arg(long, value_name = "SHARE", value_parser = gp_of_store, allow_negative_numbers = true)]
    pub gp: Option<f64>,
    /// Let pages take as many units of SIZE bytes as they need; 4096 means whole pages [default: as
    /// it is]
    #[arg(long, value_name = "SIZE", value_parser = unit, allow_negative_numbers = true)]
    pub unit: Option<u32>,
    /// Bytes of all zones of the copy's device [default: as it is]
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub size: Option<Size>,
    /// Bytes in a zone of the copy's device [default: as it is]
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub zone: Option<Size>,
    /// Bytes of the log of each database [default: a sixteenth of the device, at most 1GiB]
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub log: Option<Size>,
    /// Keep a zone of parity for each K zones of the copy's device [default: none]
    #[arg(long, value_name = "K", value_parser = value_parser!(u32).range(1..=32),
        allow_negative_numbers = true)]
    pub parity: Option<u32>,
    /// Print nothing
    #[arg(long, short)]
    pub quiet: bool,
}
