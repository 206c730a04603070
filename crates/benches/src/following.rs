//! A bench, or a server, whose device is backed up while it works.

use std::ffi::OsStr;
use std::sync::Arc;
use std::time::Duration;

use frostline_backup::{BackupError, Followed, Follower, Source, Target};
use frostline_store::Store;
use frostline_zone::Device;
use serde::Serialize;

use crate::{Error, Result};

/// The time after which what is written should be in the backup.
const WITHIN: Duration = Duration::from_secs(1);

/// What was backed up while a bench worked.
#[derive(Clone, Debug, Serialize)]
pub struct FollowedReport {
    /// Backups that were made.
    pub backups: u64,
    /// Backups that failed, and were made again.
    pub failures: u64,
    /// Bytes that were copied to the target.
    pub copied_bytes: u64,
    /// Those of them that had been copied before.
    pub again_bytes: u64,
    /// The longest time for which something written was in no backup, from the first one on.
    pub longest_behind_seconds: f64,
}

impl From<&Followed> for FollowedReport {
    fn from(followed: &Followed) -> Self {
        FollowedReport {
            backups: followed.backups,
            failures: followed.failures,
            copied_bytes: followed.copied_bytes,
            again_bytes: followed.again_bytes,
            longest_behind_seconds: followed.longest_behind.as_secs_f64(),
        }
    }
}

/// Starts backing up a device to a target, so that what is written is there after a second. The
/// device that is returned must be used from now on.
///
/// # Errors
/// The target can't be used, or holds the backup of another store than the device has.
pub fn follow(
    device: Arc<dyn Device>,
    target: &OsStr,
) -> std::result::Result<(Arc<dyn Device>, Follower), BackupError> {
    let mut target = Target::new(target)?;
    if let Ok(store) = Store::number_on(&*device) {
        target = target.of_store(store);
    }
    let source = Source::new(device);
    let follower = source.follow(target, WITHIN)?;
    Ok((source, follower))
}

/// Does `work` with a device, which is backed up meanwhile if there is a target.
pub(crate) fn followed<T>(
    device: Arc<dyn Device>,
    target: Option<&OsStr>,
    work: impl FnOnce(&Arc<dyn Device>) -> Result<T>,
) -> Result<(T, Option<FollowedReport>)> {
    let Some(target) = target else { return Ok((work(&device)?, None)) };
    let (device, follower) = follow(device, target).map_err(Error::Backup)?;
    let done = work(&device)?;
    let followed = follower.finish().map_err(Error::Backup)?;
    Ok((done, Some(FollowedReport::from(&followed))))
}
