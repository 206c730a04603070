//! Arguments of every bench: the speed of its device, the thread that cleans, and what is seen of
//! it.

use std::ffi::OsString;
use std::net::SocketAddr;

use clap::{Args, ValueEnum};
use frostline_benches::{NamedDrive, Speed};
use frostline_store::{Cleaning, Compression};

use crate::size::Size;

/// Limits of a device's speed.
#[derive(Debug, Args)]
pub(crate) struct SpeedArgs {
    /// Make the device as slow as a drive
    #[arg(long, value_name = "D")]
    pub drive: Option<DriveArg>,
    /// Let the device write at most this many bytes per second, and read as many
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub bandwidth: Option<Size>,
}

impl SpeedArgs {
    /// The speed that the arguments ask for.
    pub(crate) fn speed(&self) -> Speed {
        let drive = self.drive.map(|DriveArg::Zn540| NamedDrive::Zn540);
        Speed { drive, bandwidth: self.bandwidth.map(|size| size.0) }
    }
}

/// A drive with a known speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DriveArg {
    /// Western Digital's Ultrastar DC ZN540
    Zn540,
}

/// Options of a bench or a server: metrics, a backup, locked memory.
#[derive(Debug, Args)]
pub(crate) struct RunningArgs {
    /// Serve metrics for Prometheus, and at / a page that draws the zones live, at this loopback
    /// address, as 127.0.0.1:9464
    #[arg(long, value_name = "ADDR", value_parser = loopback)]
    pub metrics: Option<SocketAddr>,
    /// Back up the device here while it is in use, so that what is written is there after a second:
    /// a directory, or s3://BUCKET/PREFIX
    #[arg(long, value_name = "TARGET")]
    pub backup: Option<OsString>,
    /// Let the system write no memory of this process to swap
    #[arg(long)]
    pub lock_memory: bool,
}

/// An address that only this machine can reach.
fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr =
        text.parse().map_err(|_| "is not an address such as 127.0.0.1:9464".to_string())?;
    match address.ip().is_loopback() {
        true => Ok(address),
        false => Err("is not a loopback address, and there is no password".to_string()),
    }
}

/// The thread that cleans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CleaningArg {
    /// A thread of the store
    Background,
    /// The writer that made cleaning due
    Inline,
}

/// How images are compressed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum CompressionArg {
    /// They are not
    None,
    /// With LZ4
    Lz4,
    /// With zstd
    Zstd,
}

impl From<CompressionArg> for Compression {
    fn from(arg: CompressionArg) -> Compression {
        match arg {
            CompressionArg::None => Compression::None,
            CompressionArg::Lz4 => Compression::Lz4,
            CompressionArg::Zstd => Compression::Zstd,
        }
    }
}

impl From<CleaningArg> for Cleaning {
    fn from(arg: CleaningArg) -> Cleaning {
        match arg {
            CleaningArg::Background => Cleaning::Background,
            CleaningArg::Inline => Cleaning::Inline,
        }
    }
}
