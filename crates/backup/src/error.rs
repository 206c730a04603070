//! Errors of backups.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use frostline_zone::DeviceError;

/// An error of a backup or a restore.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// The device.
    #[error("device: {0}")]
    Device(Arc<DeviceError>),
    /// A file of the backup.
    #[error("{}: {source}", path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// The error.
        source: Arc<io::Error>,
    },
    /// The directory holds no whole backup.
    #[error("{}: no backup", path.display())]
    NoBackup {
        /// The directory.
        path: PathBuf,
    },
    /// The backup is damaged.
    #[error("{}: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The damage.
        why: String,
    },
    /// The device to restore to is not one like that of the backup, or is not empty.
    #[error("not a device for this backup: {why}")]
    Unsuitable {
        /// The difference.
        why: String,
    },
}

impl BackupError {
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> BackupError {
        let path = path.to_owned();
        |source| BackupError::File { path, source: Arc::new(source) }
    }
}

impl From<DeviceError> for BackupError {
    fn from(error: DeviceError) -> Self {
        BackupError::Device(Arc::new(error))
    }
}
