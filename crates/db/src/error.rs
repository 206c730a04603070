//! Errors of the database.

use std::sync::Arc;

use frostline_store::StoreError;
use frostline_zone::DeviceError;

use crate::wal::WalError;

/// An error of the database.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DbError {
    /// Another transaction, committed since this one began, wrote the same key, or a key that this
    /// one read if it is serializable. Trying again is all that is needed.
    #[error(
        "the transaction lost against another that wrote the same key, or one that it relied on"
    )]
    Conflict,
    /// So much was overwritten since the transaction began that the versions it sees are kept no
    /// more; see [`crate::Options::version_bytes`]. It can be tried again.
    #[error(
        "the transaction's snapshot is too old: more than {most} bytes would have to be kept for it; \
         begin it again, and end it sooner or let more be kept"
    )]
    SnapshotTooOld {
        /// Bytes of versions that are kept for all snapshots together.
        most: u64,
    },
    /// A key is too long, in bytes.
    #[error("a key of {bytes} bytes is longer than {longest}")]
    KeyTooLong {
        /// Its length.
        bytes: usize,
        /// The longest that fits.
        longest: usize,
    },
    /// A value is too long, in bytes.
    #[error("a value of {bytes} bytes is longer than {longest}")]
    ValueTooLong {
        /// Its length.
        bytes: usize,
        /// The longest that fits.
        longest: usize,
    },
    /// The transaction is too large for the log. Its writes alone may take a quarter of the log;
    /// its writes with all the splits of pages that they may cause may take seven sixteenths: see
    /// [`crate::Create::log_bytes`].
    #[error(
        "a transaction of {bytes} bytes, which may log {logged} with the pages that it splits, is too large: \
         the log takes {most}, and more if the database is made with more log_bytes"
    )]
    TooLarge {
        /// Bytes of its keys and values, and what each write adds to them in the log.
        bytes: u64,
        /// Bytes that it may log, splits included.
        logged: u64,
        /// Bytes that the log takes.
        most: u64,
    },
    /// A value could not be read from where it was to come from.
    #[error("the value can't be read from its source: {0}")]
    Input(#[source] Arc<std::io::Error>),
    /// A read-only transaction was asked to write.
    #[error("the transaction is read-only")]
    ReadOnly,
    /// The handle of a table is of another database, or of an earlier opening of this one.
    #[error(
        "the table's handle is of another database, or of an earlier opening of this one: ask this one for the table"
    )]
    ForeignTable,
    /// The handle of a table that was deleted.
    #[error("the table was deleted")]
    TableDeleted,
    /// There is no such table.
    #[error("there is no table {name}")]
    NoTable {
        /// Its name.
        name: String,
    },
    /// A table of this name is there already.
    #[error("there is a table {name} already")]
    TableExists {
        /// Its name.
        name: String,
    },
    /// The store has no room for more.
    #[error("the database is full with {pages} pages")]
    Full {
        /// Pages that it has.
        pages: u32,
    },
    /// The device holds no database.
    #[error("not a database")]
    NotADatabase,
    /// The device has too few zones, or too small ones.
    #[error("device too small: {why}")]
    TooSmall {
        /// The kind of zones, and how many are needed.
        why: String,
    },
    /// Options that contradict the device or each other.
    #[error("{what}: {why}")]
    Options {
        /// The option.
        what: &'static str,
        /// The contradiction.
        why: String,
    },
    /// A step of [`crate::Aio::run`] lacks a page in memory: it hands this on, and runs again.
    #[error("page {page} is not in memory")]
    NotInMemory {
        /// Its number in the database.
        page: u32,
    },
    /// A page is damaged.
    #[error("page {page}: {what}")]
    Page {
        /// Its number in the database.
        page: u32,
        /// The damage.
        what: &'static str,
    },
    /// A page is not the one that its parent names: the store has lost the newest version of one of
    /// them, or of a page above.
    #[error("page {page}, {}: {what}", place(*tree, *parent))]
    Misplaced {
        /// Its number in the database.
        page: u32,
        /// The root of the tree that it was looked for in.
        tree: u32,
        /// The page above; none if the page is the root itself.
        parent: Option<u32>,
        /// The difference to the parent.
        what: &'static str,
    },
    /// A thread of the database could not be started.
    #[error("a thread of the database could not be started: {0}")]
    Thread(Arc<std::io::Error>),
    /// A log record is damaged.
    #[error("log record at {position}: {what}")]
    Record {
        /// Its position in the log.
        position: u64,
        /// The damage.
        what: &'static str,
    },
    /// The page store.
    #[error(transparent)]
    Store(Arc<StoreError>),
    /// The device, outside the store and the log.
    #[error("device: {0}")]
    Device(Arc<DeviceError>),
    /// The log.
    #[error("log: {0}")]
    Wal(#[from] WalError),
    /// A thread of the database panicked.
    #[error("a thread of the database panicked")]
    Panicked,
}

impl DbError {
    /// True if the same transaction, begun again, may succeed.
    pub fn is_retryable(&self) -> bool {
        matches!(self, DbError::Conflict | DbError::SnapshotTooOld { .. })
    }

    /// The error of the device that this one comes from, by way of the store or the log as well.
    pub fn device(&self) -> Option<&DeviceError> {
        match self {
            DbError::Device(error) | DbError::Wal(WalError::Device(error)) => Some(error),
            DbError::Store(error) => device_of(error),
            _ => None,
        }
    }
}

fn device_of(error: &StoreError) -> Option<&DeviceError> {
    match error {
        StoreError::Device(error) => Some(error),
        StoreError::Failed(error) => device_of(error),
        _ => None,
    }
}

fn place(tree: u32, parent: Option<u32>) -> String {
    match parent {
        Some(parent) => format!("below page {parent} in the tree of page {tree}"),
        None => "the root of a tree".to_string(),
    }
}

impl From<StoreError> for DbError {
    fn from(error: StoreError) -> Self {
        DbError::Store(Arc::new(error))
    }
}

impl From<DeviceError> for DbError {
    fn from(error: DeviceError) -> Self {
        DbError::Device(Arc::new(error))
    }
}
