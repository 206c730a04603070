//! Backups of a database, and the database of a backup.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use frostline_backup::{Backup, Follower, Target};
use frostline_db::DbError;
use frostline_zone::{self as zone, DeviceError};

use crate::open::uri;
use crate::{Db, Error, Result};

impl Db {
    /// Copies the database, as it is now, to a directory, or with the feature `s3` to a bucket
    /// (`s3://BUCKET/PREFIX`: see [`Target::new`]), while it is in use. All that is committed is in
    /// it. A later backup to the same target copies only what was written since, and replaces this
    /// one when it is whole. [`Db::restore`] makes a database of it.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # std::env::set_current_dir(&directory)?;
    /// let db = frostline::Options::new().bound(256 << 20).open("my.frost")?;
    /// db.back_up("my.backup")?;
    /// frostline::Db::restore("my.backup", "yours.frost")?;
    /// # assert!(frostline::Db::open("yours.frost").is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The target holds the backup of another database ([`OtherStore`](crate::BackupError::OtherStore)), or of one that
    /// was restored and went on otherwise ([`WentApart`](crate::BackupError::WentApart)); it can't be used or written
    /// to; a part of the database can't be read. Then the backup before is as it was.
    pub fn back_up(&self, target: impl AsRef<OsStr>) -> Result<Backup> {
        Ok(self.source.back_up(&self.target(target)?)?)
    }

    /// Backs up the database again and again, by a thread of its own, until the [`Follower`] is
    /// dropped. What is committed is in the backup after `within`, as a rule: what is lost with the
    /// machine is younger.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # std::env::set_current_dir(&directory)?;
    /// # use std::time::Duration;
    /// let db = frostline::Options::new().bound(256 << 20).open("my.frost")?;
    /// let follower = db.follow("my.backup", Duration::from_secs(1))?;
    /// let items = db.table("items")?;
    /// db.update(|tx| tx.put(items, "a", "hello"))?;
    /// db.close()?;
    /// let followed = follower.finish()?; // with a last backup
    /// assert!(followed.backups > 0 && followed.failures == 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The target can't be used, or holds the backup of another database
    /// ([`OtherStore`](crate::BackupError::OtherStore)); a thread can't be started.
    pub fn follow(&self, target: impl AsRef<OsStr>, within: Duration) -> Result<Follower> {
        Ok(self.source.follow(self.target(target)?, within)?)
    }

    /// A target for backups of this database.
    fn target(&self, name: impl AsRef<OsStr>) -> Result<Target> {
        let store = self.inner.store().info().map_err(DbError::from)?.store;
        Ok(Target::new(name)?.of_store(store))
    }

    /// Makes the database at `path` from a [backup](Db::back_up). It appears there once it is
    /// whole.
    ///
    /// # Errors
    /// There is no backup, or it is damaged; there is something at `path`; an error of the file
    /// system.
    pub fn restore(backup: impl AsRef<OsStr>, path: impl AsRef<Path>) -> Result<()> {
        let (backup, path) = (Target::new(backup)?, path.as_ref());
        let shape = frostline_backup::shape(&backup)?;
        let taken = || DeviceError::Exists { path: path.to_owned() };
        if !zone::can_create(&uri(path)) {
            return Err(taken().into());
        }
        let is_first = zone::create_whole(path, &shape, |device| {
            Ok::<_, Error>(frostline_backup::restore(&backup, &*device)?)
        })?;
        if is_first { Ok(()) } else { Err(taken().into()) }
    }
}
