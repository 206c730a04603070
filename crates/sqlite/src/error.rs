//! Errors, and the result codes by which SQLite knows them.

use std::ffi::c_int;

use frostline_store::StoreError;
use frostline_zone::DeviceError;

use crate::ffi::code;

/// An error of a file.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The store failed, or is full.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The device could not be opened or made.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A file or the store is not there, and is not to be made.
    #[error("{0}: there is no store")]
    Absent(String),
    /// The name is that of no file in a store.
    #[error("{0}: not the name of a file in a store")]
    Name(String),
    /// A parameter of the URI.
    #[error("{name}={value}: {why}")]
    Parameter {
        /// Its name.
        name: &'static str,
        /// Its value.
        value: String,
        /// The reason.
        why: String,
    },
    /// A parameter of the URI that means nothing.
    #[error("{name}: not a parameter of a store; there are {known}")]
    Unknown {
        /// Its name.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// The store is used for something else.
    #[error("the store holds something else than SQLite databases")]
    Foreign,
    /// The directory of files was written by a newer program.
    #[error("files of format {found}: this program knows formats up to 1")]
    Newer {
        /// Its version.
        found: u32,
    },
    /// No room for another file, or for more of one.
    #[error("{0}")]
    Full(&'static str),
    /// It is open for reading only.
    #[error("open for reading only")]
    ReadOnly,
    /// Another connection has a lock.
    #[error("locked")]
    Busy,
    /// A thread panicked.
    #[error("a thread panicked")]
    Panicked,
}

impl Error {
    /// The result code; `otherwise` if no other fits.
    pub(crate) fn code(&self, otherwise: c_int) -> c_int {
        match self {
            Error::Busy => code::BUSY,
            Error::ReadOnly => code::READONLY,
            Error::Full(_) => code::FULL,
            Error::Store(error) if error.is_full() => code::FULL,
            Error::Device(error) if error.is_full() => code::FULL,
            Error::Device(DeviceError::InUse { .. }) => code::BUSY,
            Error::Store(StoreError::Checksum { .. } | StoreError::Lost { .. }) => code::CORRUPT,
            _ => otherwise,
        }
    }
}
