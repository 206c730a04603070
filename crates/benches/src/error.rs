//! Errors of benches.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use frostline_backup::BackupError;
use frostline_db::DbError;
use frostline_store::StoreError;
use frostline_trace::{SpecError, TraceError};
use frostline_zone::DeviceError;

use crate::database::WorkloadError;

/// The result of a bench.
pub type Result<T> = std::result::Result<T, Error>;

/// The error of a bench, printed in one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A device failed, or can't be opened or made.
    #[error("{uri}: {error}")]
    Device {
        /// The device.
        uri: String,
        /// Its error.
        #[source]
        error: DeviceError,
    },
    /// A store failed.
    #[error("{uri}: {error}")]
    Store {
        /// Its device.
        uri: String,
        /// Its error.
        #[source]
        error: StoreError,
    },
    /// A database failed.
    #[error("{uri}: {error}")]
    Database {
        /// Its device.
        uri: String,
        /// Its error.
        #[source]
        error: DbError,
    },
    /// A workload can't be run on a database.
    #[error("{uri}: {error}")]
    Workload {
        /// The database's device.
        uri: String,
        /// The workload's error. [`WorkloadError::Engine`] is [`Error::Database`] instead.
        #[source]
        error: WorkloadError,
    },
    /// A new device needs a size, and none is given.
    #[error("{uri} does not exist yet, and no size is given to make it")]
    NoSize {
        /// The device.
        uri: String,
    },
    /// An existing device has another shape than the given one.
    #[error("{uri} is there already, with {has}")]
    OtherShape {
        /// The device.
        uri: String,
        /// Its zones, in words.
        has: String,
    },
    /// A size of zones is given for an existing device.
    #[error("{uri} is there already, with zones of its own")]
    OwnZones {
        /// The device.
        uri: String,
    },
    /// An existing device is smaller than the one that would be made.
    #[error("{uri} is there already, with {has}: {wanted} MiB are wanted")]
    SmallDevice {
        /// The device.
        uri: String,
        /// Its zones, in words.
        has: String,
        /// MiB that the bench needs.
        wanted: u64,
    },
    /// The content of a device shall be kept, and there is no device.
    #[error("there is nothing in {uri}")]
    NothingToKeep {
        /// The device.
        uri: String,
    },
    /// No store can keep this garbage proportion.
    #[error("a garbage proportion of {gp}: must be from 0.0001 to 0.9")]
    GarbageProportion {
        /// The garbage proportion.
        gp: f64,
    },
    /// The bandwidth is 0.
    #[error("a bandwidth of 0: nothing would be written")]
    NoBandwidth,
    /// The trace has several volumes, where one is needed.
    #[error("{} has several volumes", path.display())]
    SeveralVolumes {
        /// The trace.
        path: PathBuf,
    },
    /// The trace writes more pages than the store can hold.
    #[error("the trace writes {needed} pages, the store can hold {pages}")]
    TooFewPages {
        /// Pages of the trace.
        needed: u32,
        /// Pages of the store.
        pages: u64,
    },
    /// The synthetic workload can't be generated.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A database's page writes shall be recorded in a trace format without hotness records.
    #[error("{}: only a .parquet has hotness records", path.display())]
    NoHotness {
        /// The trace.
        path: PathBuf,
    },
    /// One trace shall record several runs.
    #[error("one run is recorded, with one scheme")]
    SeveralRuns,
    /// One backup shall follow several runs, each with a store of its own.
    #[error("one run is backed up, with one scheme")]
    SeveralBackedUp,
    /// The store counted page writes that no database reported.
    #[error("the store counted page writes that no database reported")]
    UnreportedWrites,
    /// A trace can't be read or written.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The device of a bench can't be backed up.
    #[error("backup: {0}")]
    Backup(#[source] BackupError),
    /// The server of metrics can't listen on the address.
    #[error("metrics at {address}: {source}")]
    Metrics {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The system refused to list, make or remove a file.
    #[error("{what}: {source}")]
    Io {
        /// The file or directory.
        what: String,
        /// The system's error.
        source: io::Error,
    },
    /// The monitor stopped the bench before it had a result.
    #[error("stopped: {}", what.unwrap_or("there is no result yet"))]
    Stopped {
        /// The unfinished part, if it is worth mentioning.
        what: Option<&'static str>,
    },
}

impl Error {
    /// Makes an [`Error`] of a thread that can't be started.
    pub(crate) fn thread(path: &Path) -> impl Fn(io::Error) -> Error {
        let what = format!("{}: a thread to write it", path.display());
        move |source| Error::Io { what: what.clone(), source }
    }

    /// Makes an [`Error`] of a device's error.
    pub(crate) fn device(uri: &str) -> impl Fn(DeviceError) -> Error {
        move |error| Error::Device { uri: uri.to_string(), error }
    }

    /// Makes an [`Error`] of a store's error.
    pub(crate) fn store(uri: &str) -> impl Fn(StoreError) -> Error {
        move |error| Error::Store { uri: uri.to_string(), error }
    }

    /// Makes an [`Error`] of a database's error.
    pub(crate) fn database(uri: &str) -> impl Fn(DbError) -> Error {
        move |error| Error::Database { uri: uri.to_string(), error }
    }

    /// Makes an [`Error`] of a workload's error.
    pub(crate) fn workload(uri: &str) -> impl Fn(WorkloadError) -> Error {
        move |error| match error {
            WorkloadError::Engine(error) => Error::Database { uri: uri.to_string(), error },
            error => Error::Workload { uri: uri.to_string(), error },
        }
    }
}
