//! Arguments of every bench: the speed of its device, and the thread that cleans.

use clap::{Args, ValueEnum};
use frostline_lab::{NamedDrive, Speed};
use frostline_store::Cleaning;

use crate::size::Size;

/// Limits of a device's speed.
#[derive(Debug, Args)]
pub struct SpeedArgs {
    /// Make the device as slow as a drive
    #[arg(long, value_name = "D")]
    pub drive: Option<DriveArg>,
    /// Let the device write at most this many bytes per second, and read as many
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub bandwidth: Option<Size>,
}

impl SpeedArgs {
    /// The speed that the arguments ask for.
    pub fn speed(&self) -> Speed {
        let drive = self.drive.map(|DriveArg::Zn540| NamedDrive::Zn540);
        Speed { drive, bandwidth: self.bandwidth.map(|size| size.0) }
    }
}

/// A drive with a known speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DriveArg {
    /// Western Digital's Ultrastar DC ZN540
    Zn540,
}

/// The thread that cleans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CleaningArg {
    /// A thread of the store
    Background,
    /// The writer that made cleaning due
    Inline,
}

impl From<CleaningArg> for Cleaning {
    fn from(arg: CleaningArg) -> Cleaning {
        match arg {
            CleaningArg::Background => Cleaning::Background,
            CleaningArg::Inline => Cleaning::Inline,
        }
    }
}
