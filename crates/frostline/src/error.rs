//! Errors, by what the caller can do about them.

use std::fmt::Display;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

#[cfg(feature = "backup")]
use frostline_backup::BackupError;
use frostline_db::DbError;
use frostline_db::wal::WalError;
use frostline_store::StoreError;
use frostline_zone::DeviceError;

/// The result of a function of [`crate::Db`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error, sorted by what the caller can do about it. Its cause is the
/// [source](std::error::Error::source).
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another transaction, committed meanwhile, wrote the same key, or one that was read if
    /// updates are serializable: try again. [`crate::Db::update`] has already tried often.
    #[error(
        "the transaction lost against others that wrote the same key, or one that it relied on"
    )]
    Conflict,
    /// So much was overwritten since the transaction or the snapshot began that its versions are no
    /// longer kept: begin it again, and end it sooner.
    #[error("too old: {}", cause(.0))]
    TooOld(#[source] Arc<DbError>),
    /// What was to become a value could not be read. The transaction is as it was.
    #[error("{}", cause(.0))]
    Input(#[source] Arc<DbError>),
    /// The database is open [for reading only](crate::Options::read_only).
    #[error("the database is open for reading only")]
    ReadOnly,
    /// A key or a value is not of the type that a [typed table](crate::Typed) has, as the table
    /// holds something else, or a value has no bytes.
    #[error("a {part} can't be read or written as {of}")]
    NotOfType {
        /// `key` or `value`.
        part: &'static str,
        /// The name of the type.
        of: &'static str,
    },
    /// The call can never succeed: a key, a value or a transaction is too large, a table is of
    /// another database, or options contradict the device or each other. Change the call.
    #[error("refused: {}", cause(.0))]
    Refused(#[source] Arc<DbError>),
    /// All pages are in use: delete records, or move them to a database with a larger bound.
    #[error("full: {}", cause(.0))]
    Full(#[source] Arc<DbError>),
    /// Another process, or this one, already has the database open: close it there.
    #[error("in use: {}", cause(.0))]
    InUse(#[source] Arc<DbError>),
    /// There is no file, directory or device of that name.
    #[error("not found: {}", cause(.0))]
    NotFound(#[source] Arc<DbError>),
    /// The file or device holds no database, or one of a newer version, or one that needs a feature
    /// of this crate that the program is built without.
    #[error("not usable: {}", cause(.0))]
    NotUsable(#[source] Arc<DbError>),
    /// Bytes on the device differ from what was written: restore a backup, or find the extent of
    /// the damage with `frostline db check`.
    #[error("damaged: {}", cause(.0))]
    Damaged(#[source] Arc<DbError>),
    /// The device or the system failed. What was committed before is safe; reopen the database.
    #[error("device: {}", cause(.0))]
    Device(#[source] Arc<DbError>),
    /// A backup could not be made or restored. The database is as it was, and so is the backup
    /// before.
    #[cfg(feature = "backup")]
    #[error("backup: {0}")]
    Backup(#[source] Arc<BackupError>),
}

#[cfg(feature = "backup")]
impl From<BackupError> for Error {
    fn from(error: BackupError) -> Self {
        Error::Backup(Arc::new(error))
    }
}

impl From<DbError> for Error {
    fn from(error: DbError) -> Self {
        let kind = kind_of(&error);
        kind(Arc::new(error))
    }
}

impl From<DeviceError> for Error {
    fn from(error: DeviceError) -> Self {
        DbError::from(error).into()
    }
}

impl Error {
    /// The file, directory or device that is missing, could not be opened or was cut short, if
    /// that is the error.
    pub fn file(&self) -> Option<&Path> {
        let (Error::NotFound(error) | Error::Device(error) | Error::Damaged(error)) = self else {
            return None;
        };
        match device_error(error)? {
            DeviceError::Open { path, .. } | DeviceError::Cut { path, .. } => Some(path),
            _ => None,
        }
    }
}

/// The error to show: one of the device says by itself what it is of.
fn cause(error: &DbError) -> &dyn Display {
    match device_error(error) {
        Some(of_device) => of_device,
        None => match error {
            DbError::Store(error) => error,
            error => error,
        },
    }
}

fn device_error(error: &DbError) -> Option<&DeviceError> {
    match error {
        DbError::Device(error) | DbError::Wal(WalError::Device(error)) => Some(error),
        DbError::Store(error) => match &**error {
            StoreError::Device(error) => Some(error),
            _ => None,
        },
        _ => None,
    }
}

/// The variant for an error of the database.
fn kind_of(error: &DbError) -> fn(Arc<DbError>) -> Error {
    use DbError as E;
    match error {
        E::Conflict => |_| Error::Conflict,
        E::ReadOnly => |_| Error::ReadOnly,
        E::Input(_) => Error::Input,
        E::SnapshotTooOld { .. } => Error::TooOld,
        E::KeyTooLong { .. }
        | E::ValueTooLong { .. }
        | E::TooLarge { .. }
        | E::NoTable { .. }
        | E::ForeignTable
        | E::TableDeleted
        | E::TableExists { .. }
        | E::TooSmall { .. }
        | E::Options { .. } => Error::Refused,
        E::Full { .. } => Error::Full,
        E::NotADatabase => Error::NotUsable,
        E::Page { .. } | E::Misplaced { .. } | E::Record { .. } => Error::Damaged,
        E::Store(error) => kind_of_store(error),
        E::Device(error) => kind_of_device(error),
        E::Wal(error) => kind_of_log(error),
        _ => Error::Device,
    }
}

fn kind_of_store(error: &StoreError) -> fn(Arc<DbError>) -> Error {
    use StoreError as E;
    match error {
        E::Device(error) => kind_of_device(error),
        E::NotAStore | E::Newer { .. } | E::BuiltWithoutZstd { .. } => Error::NotUsable,
        E::Log(frostline_log::LogError::Full { .. }) => Error::Full,
        E::Build(_)
        | E::Log(_)
        | E::NotEmpty { .. }
        | E::TooSmall { .. }
        | E::Options { .. }
        | E::PageSize { .. } => Error::Refused,
        E::Damaged { .. }
        | E::Checksum { .. }
        | E::Lost { .. }
        | E::Missing(_)
        | E::NoSuperblock { .. } => Error::Damaged,
        E::Failed(error) => kind_of_store(error),
        _ => Error::Device,
    }
}

fn kind_of_log(error: &WalError) -> fn(Arc<DbError>) -> Error {
    use WalError as E;
    match error {
        E::Device(error) => kind_of_device(error),
        E::Unsuitable { .. } | E::TooLarge { .. } => Error::Refused,
        E::NotALog { .. } | E::Newer { .. } | E::BuiltWithoutZstd => Error::NotUsable,
        E::Damaged { .. } => Error::Damaged,
        _ => Error::Device,
    }
}

fn kind_of_device(error: &DeviceError) -> fn(Arc<DbError>) -> Error {
    use DeviceError as E;
    match error {
        E::Open { source, .. } if source.kind() == ErrorKind::NotFound => Error::NotFound,
        E::InUse { .. } => Error::InUse,
        E::Shape { .. } | E::Uri { .. } | E::Exists { .. } => Error::Refused,
        E::NotADevice { .. } | E::Foreign { .. } => Error::NotUsable,
        E::Cut { .. } => Error::Damaged,
        _ => Error::Device,
    }
}
