//! Errors of the log.

use std::io;
use std::sync::Arc;

use frostline_zone::DeviceError;

use super::lsn::Lsn;

/// An error of the log. Zones are those of the log's device.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum WalError {
    /// The device failed. A log whose device failed while it was written fails for good, with
    /// this error in every later call.
    #[error("device: {0}")]
    Device(Arc<DeviceError>),
    /// A device on which no log can be.
    #[error("no log fits the device: {why}")]
    Unsuitable {
        /// The reason.
        why: &'static str,
    },
    /// The device holds no batch of this log.
    #[error("the device holds no log {id:#018x}")]
    NotALog {
        /// Number of the log that was looked for.
        id: u64,
    },
    /// The log was written by a newer program.
    #[error("a log of format {found}: this program knows formats up to {known}")]
    Newer {
        /// Version of the log.
        found: u32,
        /// The newest version known.
        known: u32,
    },
    /// A batch is compressed with zstd, and this program is built without the feature `zstd`.
    #[error("the log is compressed with zstd, which this program is built without")]
    BuiltWithoutZstd,
    /// Bytes that were durable, and are still needed, are damaged.
    #[error("the log is damaged behind lsn {lsn}: zone {zone}, page {page}: {why}")]
    Damaged {
        /// Zone of the log's device.
        zone: u32,
        /// Page of 4 KiB in it.
        page: u64,
        /// Up to here the log is whole.
        lsn: Lsn,
        /// The damage.
        why: &'static str,
    },
    /// A record that the log can't hold.
    #[error("a record of {bytes} bytes: the log holds records of up to {most}")]
    TooLarge {
        /// Its length.
        bytes: usize,
        /// The longest possible.
        most: usize,
    },
    /// No room until records are released: see [`super::Wal::release`].
    #[error("the log is full: {used} of {capacity} bytes hold records that are still needed")]
    Full {
        /// Bytes in use.
        used: u64,
        /// Bytes there are.
        capacity: u64,
    },
    /// A wait for a record that was never appended.
    #[error("a wait for lsn {lsn}, beyond the end of the log at {end}")]
    BeyondEnd {
        /// The position that was waited for.
        lsn: Lsn,
        /// The end.
        end: Lsn,
    },
    /// A replay was asked for after records were released.
    #[error("the log can't be replayed after records were released")]
    NoReplay,
    /// The log was closed.
    #[error("the log is closed")]
    Closed,
    /// No thread could be started.
    #[error("the log's thread: {0}")]
    Thread(Arc<io::Error>),
}

impl From<DeviceError> for WalError {
    fn from(error: DeviceError) -> Self {
        WalError::Device(Arc::new(error))
    }
}
