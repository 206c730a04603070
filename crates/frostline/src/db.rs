//! The database.

use std::ffi::OsStr;
use std::sync::Arc;
use std::time::Duration;

use frostline_backup::{Backup, Follower, Source, Target};
use frostline_db::{self as engine, DbError, Stats, Table};

use crate::{Error, Result, Retries, Snapshot, Update};

/// An ordered, transactional key-value database, shared by threads.
///
/// See the [crate's documentation](crate) for an example. Dropping a database is like a crash:
/// committed data are there when it is opened again, after a short recovery. After [`Db::close`]
/// there is nothing to recover.
pub struct Db {
    inner: engine::Db,
    source: Arc<Source>,
    /// Updates are serializable.
    serializable: bool,
}

impl Db {
    pub(crate) fn of(inner: engine::Db, source: Arc<Source>, serializable: bool) -> Db {
        Db { inner, source, serializable }
    }

    /// The table with this name; it is made if it does not exist. The handle is for this database until it is
    /// closed or dropped; another one, or this one opened again, refuses it.
    ///
    /// # Errors
    /// The name is too long, or there are 4,096 tables already; the database is full; an error of
    /// the device.
    pub fn table(&self, name: &str) -> Result<Table> {
        loop {
            match self.inner.table(name) {
                Err(DbError::NoTable { .. }) => {}
                found => return Ok(found?),
            }
            match self.inner.create_table(name) {
                // Another thread made the table first.
                Err(DbError::TableExists { .. }) => {}
                made => return Ok(made?),
            }
        }
    }

    /// The names of all tables, in order.
    pub fn tables(&self) -> Vec<String> {
        self.inner.tables().into_iter().map(|(name, _)| name).collect()
    }

    /// Runs `body` in a transaction and commits it: all its writes survive any crash once this
    /// returns. If `body` fails, nothing is written.
    ///
    /// If two transactions write the same key, the first to commit wins. The other runs again on
    /// the newer state, so `body` should do nothing but read and write the database. With
    /// [`Options::serializable`](crate::Options::serializable) it also runs again if another wrote
    /// what this one read.
    ///
    /// # Errors
    /// The error of `body`; [`Error::Conflict`] after 1,000 tries; [`Error::TooOld`]; the database
    /// is full or the transaction too large; an error of the device.
    pub fn update<T, E: From<Error>>(
        &self,
        mut body: impl FnMut(&mut Update<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut retries = Retries::new();
        loop {
            let begun = match self.serializable {
                true => self.inner.begin_serializable(),
                false => self.inner.begin(),
            };
            let mut update = Update::new(begun.map_err(Error::from)?);
            let value = body(&mut update)?;
            match update.commit() {
                Ok(()) => return Ok(value),
                Err(Error::Conflict) => retries.pause()?,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// A snapshot of everything that is committed now; later commits do not change it.
    ///
    /// # Errors
    /// An earlier error, after which the database can no longer be trusted.
    pub fn read(&self) -> Result<Snapshot<'_>> {
        Ok(Snapshot::new(self.inner.begin_read()?))
    }

    /// Counters since the database was opened.
    ///
    /// # Errors
    /// A thread of the database panicked.
    pub fn stats(&self) -> Result<Stats> {
        Ok(self.inner.stats()?)
    }

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
    /// The target can't be used or written to, or a part of the database can't be read: then the
    /// backup before is as it was.
    pub fn back_up(&self, target: impl AsRef<OsStr>) -> Result<Backup> {
        Ok(self.source.back_up(&Target::new(target)?)?)
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
    /// The target can't be used; a thread can't be started.
    pub fn follow(&self, target: impl AsRef<OsStr>, within: Duration) -> Result<Follower> {
        Ok(self.source.follow(Target::new(target)?, within)?)
    }

    /// The database without the conveniences of this crate.
    pub fn engine(&self) -> &engine::Db {
        &self.inner
    }

    /// Writes all changed pages, so that the next opening has nothing to recover.
    ///
    /// # Errors
    /// An error of the device; committed data are safe.
    pub fn close(self) -> Result<()> {
        let store = Arc::clone(self.inner.store());
        self.inner.close()?;
        match Arc::try_unwrap(store) {
            Ok(store) => store.close().map_err(DbError::from)?,
            Err(store) => store.checkpoint().map_err(DbError::from)?,
        }
        Ok(())
    }
}

#[cfg(feature = "watch")]
impl frostline_watch::Watched for Db {
    fn metrics(&self) -> std::result::Result<String, DbError> {
        self.inner.metrics()
    }

    fn view(&self) -> std::result::Result<frostline_watch::StoreView, DbError> {
        Ok(self.inner.store().view()?)
    }
}
