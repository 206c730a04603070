//! Devices that are made slower.

use std::sync::Arc;
use std::time::Duration;

use frostline_zone::{Clock, Device, Drive, Timed};

use crate::{Error, Result};

/// The speed that a device is held to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Speed {
    /// The drive whose speed is imitated.
    pub drive: Option<NamedDrive>,
    /// The most bytes per second that are written, and that are read.
    pub bandwidth: Option<u64>,
}

/// A drive with a known speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NamedDrive {
    /// Western Digital's Ultrastar DC ZN540.
    Zn540,
}

impl NamedDrive {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            NamedDrive::Zn540 => "zn540",
        }
    }

    fn drive(self) -> Drive {
        match self {
            NamedDrive::Zn540 => Drive::ZN540,
        }
    }
}

const AT_ONCE: Drive = Drive {
    append_latency: Duration::ZERO,
    append_bytes_per_second: u64::MAX,
    read_latency: Duration::ZERO,
    read_bytes_per_second: u64::MAX,
    reads_per_second: u64::MAX,
    reset_bytes_per_second: u64::MAX,
    flush_latency: Duration::ZERO,
};

impl Speed {
    /// The name of the drive, in reports.
    pub(crate) fn drive_name(&self) -> Option<&'static str> {
        self.drive.map(NamedDrive::name)
    }

    /// Limits a device to this speed.
    pub(crate) fn of(&self, device: Arc<dyn Device>) -> Result<Arc<dyn Device>> {
        let drive = self.drive.map(NamedDrive::drive);
        let drive = match (drive, self.bandwidth) {
            (None, None) => return Ok(device),
            (_, Some(0)) => return Err(Error::NoBandwidth),
            (drive, Some(bytes)) => Drive {
                append_bytes_per_second: bytes,
                read_bytes_per_second: bytes,
                ..drive.unwrap_or(AT_ONCE)
            },
            (Some(drive), None) => drive,
        };
        Ok(Arc::new(Timed::new(device, drive, Clock::Real)))
    }
}
