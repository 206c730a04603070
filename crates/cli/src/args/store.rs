//! Arguments of `frostline store`.

use clap::{Args, Subcommand, value_parser};
use frostline_benches::DeviceSpec;
use frostline_store::Format;

use super::share::gp_of_store;
use super::{BackupArgs, RestoreArgs};
use crate::size::Size;

/// `frostline store`
#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Make an empty store on a device
    Format(FormatArgs),
    /// Describe a store: options, sizes, memory
    Info(LookArgs),
    /// Draw the zones: state, class, valid share
    Zones(LookArgs),
    /// Check the structure: map, zones and headers against each other
    Check(LookArgs),
    /// Read every page, and compare it with its checksum
    Scrub(ScrubArgs),
    /// Rebuild the metadata from the headers of the pages
    Rebuild(RebuildArgs),
    /// Copy a store to a directory or a bucket; what a backup before has is not copied again
    Backup(BackupArgs),
    /// Make a store from a backup
    Restore(RestoreArgs),
}

/// The shape of a new device.
#[derive(Debug, Default, Args)]
pub(crate) struct ShapeArgs {
    /// Bytes of all zones of a new device
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub size: Option<Size>,
    /// Bytes in a zone [default: about 1/128 of the device, a power of two from 1MiB to 1GiB]
    #[arg(long, value_name = "SIZE", requires = "size", allow_negative_numbers = true)]
    pub zone: Option<Size>,
    /// Capacity of a zone in bytes, if it is less than the size
    #[arg(long, value_name = "SIZE", requires = "size", allow_negative_numbers = true)]
    pub capacity: Option<Size>,
    /// Keep a zone of parity for each K zones on the medium of a new device: a zone that is lost
    /// costs no page, and 1 of K+1 bytes of the size holds parity
    #[arg(long, value_name = "K", value_parser = value_parser!(u32).range(1..=32),
        allow_negative_numbers = true)]
    pub parity: Option<u32>,
}

impl ShapeArgs {
    /// A device of this shape, made over what a drive holds if `overwrite`.
    pub(crate) fn device(&self, uri: &str, overwrite: bool) -> DeviceSpec {
        let bytes = |size: Option<Size>| size.map(|size| size.0);
        DeviceSpec {
            uri: uri.to_string(),
            bytes: bytes(self.size),
            zone_bytes: bytes(self.zone),
            zone_capacity: bytes(self.capacity),
            parity: self.parity,
            overwrite,
            accept_loss: false,
        }
    }
}

/// The rules by which a store places and cleans.
#[derive(Debug, Args)]
pub(crate) struct PlacementArgs {
    /// Scheme, optionally with parameters (dac:classes=4)
    #[arg(long, value_name = "S", default_value = "survival")]
    pub scheme: String,
    /// Victim policy, optionally with parameters (d-choices:d=4) [default: the scheme's own]
    #[arg(long, value_name = "V")]
    pub victim: Option<String>,
    /// Clean while the garbage proportion exceeds this
    #[arg(long, value_name = "SHARE", default_value_t = 0.15, value_parser = gp_of_store,
        allow_negative_numbers = true)]
    pub gp: f64,
    /// Let pages take as many units of SIZE bytes as they need; 4096 means whole pages
    #[arg(long, value_name = "SIZE", default_value = "64", value_parser = unit,
        allow_negative_numbers = true)]
    pub unit: u32,
    /// Seed of all random choices
    #[arg(long, value_name = "S", default_value_t = 1, allow_negative_numbers = true)]
    pub seed: u64,
}

impl PlacementArgs {
    /// The options that the arguments ask for; other options have their defaults.
    pub(crate) fn format(&self) -> Format {
        Format {
            scheme: self.scheme.clone(),
            victim: self.victim.clone(),
            gp: self.gp,
            unit: self.unit,
            seed: self.seed,
            ..Format::default()
        }
    }
}

/// Parses a unit of records.
pub(super) fn unit(text: &str) -> Result<u32, String> {
    let size: Result<Size, _> = text.parse();
    match size.map(|size| u32::try_from(size.0)) {
        Ok(Ok(unit)) if unit.is_power_of_two() && (32..=4096).contains(&unit) => Ok(unit),
        _ => Err("must be a power of two from 32 to 4096".to_string()),
    }
}

/// The options that a store is formatted with.
#[derive(Debug, Args)]
pub(crate) struct OptionsArgs {
    #[command(flatten)]
    placement: PlacementArgs,
    /// Pages that the store can hold [default: as many as the garbage proportion allows]
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..),
        allow_negative_numbers = true)]
    pages: Option<u64>,
    /// Take up to twice as many pages, as long as they fit, and refuse others
    #[arg(long)]
    thin: bool,
    /// Clean while fewer zones than this are free
    #[arg(long, value_name = "N", default_value_t = 3,
        value_parser = value_parser!(u32).range(2..), allow_negative_numbers = true)]
    reserve: u32,
    /// Room for hotness records in headers
    #[arg(long)]
    hotness: bool,
}

impl OptionsArgs {
    /// The options that the arguments ask for.
    pub(crate) fn format(&self) -> Format {
        Format {
            logical_pages: self.pages,
            thin: self.thin,
            reserve: self.reserve,
            hotness: self.hotness,
            ..self.placement.format()
        }
    }
}

/// `frostline store format`
#[derive(Debug, Args)]
pub(crate) struct FormatArgs {
    /// The device: file:PATH, block:PATH, fdp:/dev/..., dir:DIR, zonefs:MOUNT or zbd:/dev/...
    pub uri: String,
    #[command(flatten)]
    pub shape: ShapeArgs,
    #[command(flatten)]
    pub options: OptionsArgs,
    /// Format the device even if it is not empty: its content is lost
    #[arg(long)]
    pub force: bool,
    /// No message when it is done
    #[arg(long, short)]
    pub quiet: bool,
}

/// `frostline store rebuild`
#[derive(Debug, Args)]
pub(crate) struct RebuildArgs {
    /// The device: file:PATH, block:PATH, fdp:/dev/..., dir:DIR, zonefs:MOUNT or zbd:/dev/...
    pub uri: String,
    /// Zones of the device that belong to the store, from the first on [default: those in a
    /// superblock, or all]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..),
        allow_negative_numbers = true)]
    pub zones: Option<u32>,
    #[command(flatten)]
    pub fallback: FallbackArgs,
    /// Rebuild although pages are missing: older copies of them may come back
    #[arg(long)]
    pub accept_loss: bool,
    /// Rebuild a store that is sound: trimmed pages may come back
    #[arg(long)]
    pub force: bool,
    /// Only report what the rebuilt store would have
    #[arg(long)]
    pub dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The options of the store for the case that no superblock is left.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of the store, if no superblock is left")]
pub(crate) struct FallbackArgs {
    #[command(flatten)]
    pub options: OptionsArgs,
}

/// `frostline store info`, `zones` and `check`
#[derive(Debug, Args)]
pub(crate) struct LookArgs {
    /// The device: file:PATH, block:PATH, fdp:/dev/..., dir:DIR, zonefs:MOUNT or zbd:/dev/...
    pub uri: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `frostline store scrub`
#[derive(Debug, Args)]
pub(crate) struct ScrubArgs {
    /// The device: file:PATH, block:PATH, fdp:/dev/..., dir:DIR, zonefs:MOUNT or zbd:/dev/...
    pub uri: String,
    /// Read at most this many bytes per second
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub rate: Option<Size>,
    /// Write anew elsewhere what only parity has, and give up zones that lost a part; the device
    /// must keep parity
    #[arg(long)]
    pub repair: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// No progress bar
    #[arg(long, short)]
    pub quiet: bool,
}
