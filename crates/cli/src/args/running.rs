//! Arguments of every bench: the speed of its device, and the thread that cleans.

use clap::{Args, ValueEnum};
use frostline_lab::{NamedDrive, Speed};
use frostline_store::Cleaning;

use crate::size::Size;

/// The speed that a device is held to.
#[derive(Debug, Args)]
pub struct SpeedArgs {
    /// Make the device as slow as a drive
    #[arg(long, value_name = "D")]
    pub drive: Option<DriveArg>,
    /// Let the device write, and read, no more than this in a second
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub bandwidth: Option<Size>,
}

impl SpeedArgs {
    /// As it is asked for.
    pub fn speed(&self) -> Speed {
        let drive = self.drive.map(|DriveArg::Zn540| NamedDrive::Zn540);
        Speed { drive, bandwidth: self.bandwidth.map(|size| size.0) }
    }
}

/// A drive whose speed is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DriveArg {
    /// Western Digital's Ultrastar DC ZN540
    Zn540,
}

/// The thread that cleans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CleaningArg {
    /// A thread of the store's own
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
