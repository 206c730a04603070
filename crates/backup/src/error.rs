//! Errors of backups.

use std::io;
use std::sync::Arc;

use frostline_zone::DeviceError;

/// An error of a backup or a restore.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// The device.
    #[error("device: {0}")]
    Device(Arc<DeviceError>),
    /// A file or an object of the backup.
    #[error("{object}: {source}")]
    Object {
        /// Its path, or its URL.
        object: String,
        /// The error.
        source: Arc<io::Error>,
    },
    /// The target holds no whole backup.
    #[error("{target}: no backup")]
    NoBackup {
        /// The target.
        target: String,
    },
    /// The target holds something that no backup wrote. A backup would be mixed up with it, so none
    /// is made, and nothing is changed.
    #[error("{object}: not of a backup")]
    Foreign {
        /// The object that it holds.
        object: String,
    },
    /// The target holds the backup of another store, or of another device. A backup would replace
    /// it, so none is made, and nothing is changed.
    #[error("{target}: holds the backup of another store")]
    OtherStore {
        /// The target.
        target: String,
    },
    /// A zone is not as the backup at the target has it. The device was restored from an earlier
    /// backup, or is a copy, and went on otherwise; or the zone is damaged. A backup would mix the
    /// two, so the one before stays.
    #[error("{target}: its copy of zone {zone} has what the device has not")]
    WentApart {
        /// The target.
        target: String,
        /// The zone.
        zone: u32,
    },
    /// The backup is damaged.
    #[error("{object}: {why}")]
    Damaged {
        /// The file or the object.
        object: String,
        /// The damage.
        why: String,
    },
    /// The device to restore to is not one like that of the backup, or is not empty.
    #[error("not a device for this backup: {why}")]
    Unsuitable {
        /// The difference.
        why: String,
    },
    /// The name is none of a place for backups, or the environment lacks what it needs.
    #[error("{target} {why}")]
    Target {
        /// The name.
        target: String,
        /// What is wrong with it.
        why: String,
    },
    /// A bucket, and the feature `s3` was off when this was built.
    #[error("{target}: this was built without S3")]
    WithoutS3 {
        /// The name.
        target: String,
    },
}

impl BackupError {
    pub(crate) fn object(object: String) -> impl FnOnce(io::Error) -> BackupError {
        move |source| BackupError::Object { object, source: Arc::new(source) }
    }
}

impl From<DeviceError> for BackupError {
    fn from(error: DeviceError) -> Self {
        BackupError::Device(Arc::new(error))
    }
}
