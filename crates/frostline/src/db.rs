//! The database.

use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use frostline_db::{self as engine, Commit, DbError, Stats, Table, TableSize};

use crate::range::Keys;
use crate::{Error, Result, Retries, Snapshot, Update};

/// An ordered, transactional key-value database, shared by threads.
///
/// See the [crate's documentation](crate) for an example. Dropping a database is like a crash:
/// committed data are there when it is opened again, after a short recovery. After [`Db::close`]
/// there is nothing to recover.
pub struct Db {
    pub(crate) inner: engine::Db,
    #[cfg(feature = "backup")]
    pub(crate) source: Arc<frostline_backup::Source>,
    /// Updates are serializable.
    pub(crate) serializable: bool,
    pub(crate) read_only: bool,
    /// Conflicts after which an update is given up.
    pub(crate) tries: u32,
}

impl Db {
    /// The table with this name; it is made if it does not exist. The handle is for this database
    /// until it is closed or dropped; another one, or this one opened again, refuses it.
    ///
    /// # Errors
    /// The name is too long, or there are 4,096 tables already; the database is full, or is open
    /// for reading only and has no such table; an error of the device.
    pub fn table(&self, name: &str) -> Result<Table> {
        loop {
            match self.inner.table(name) {
                Err(DbError::NoTable { .. }) if !self.read_only => {}
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

    /// The size of a table: its pages are counted, its records and their bytes estimated from 64 of
    /// its leaves. It takes as long as reading the nodes above the leaves; [`Snapshot::len`] counts
    /// the records.
    ///
    /// # Errors
    /// The table was deleted; a damaged page; an error of the device.
    pub fn table_size(&self, table: Table) -> Result<TableSize> {
        Ok(self.inner.table_size(table)?)
    }

    /// Gives a table another name. Its handles stay valid.
    ///
    /// # Errors
    /// There is no such table, or one that has the new name; [`Error::ReadOnly`]; an error of the
    /// device.
    pub fn rename_table(&self, name: &str, to: &str) -> Result<()> {
        self.check_writable()?;
        Ok(self.inner.rename_table(name, to)?)
    }

    /// Deletes a table with all its records, in a commit that is as short for many of them as for
    /// few. Handles of it are refused from now on; a range that has begun goes to its end. Its
    /// pages are freed soon, once no snapshot sees them.
    ///
    /// # Errors
    /// There is no such table; [`Error::ReadOnly`]; an error of the device.
    pub fn delete_table(&self, name: &str) -> Result<()> {
        self.check_writable()?;
        Ok(self.inner.delete_table(name)?)
    }

    /// Makes a table of records that come in the order of their keys, several times as fast as
    /// puts, with pages that are nine tenths full. It appears when it is whole, and all of it is
    /// durable then; a crash before leaves nothing of it. Records that are to join others in a
    /// table are put instead.
    ///
    /// ```
    /// # let db = frostline::Options::new().bound(256 << 20).in_memory()?;
    /// let squares = db.ingest("squares", (0..100_000u32).map(|n| (n.to_be_bytes(), (u64::from(n) * 2).to_string())))?;
    /// assert_eq!(db.read()?.len(squares)?, 100_000);
    /// # Ok::<(), frostline::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is a table of this name; keys that are not in order; a record that is longer than 900
    /// bytes; the database is full; [`Error::ReadOnly`]; an error of the device.
    pub fn ingest<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        name: &str,
        records: impl IntoIterator<Item = (K, V)>,
    ) -> Result<Table> {
        self.try_ingest(name, 0.9, records.into_iter().map(Ok::<_, Error>))
    }

    /// As [`Db::ingest`], of records that may fail to come, with pages that are full to a share.
    ///
    /// # Errors
    /// Those of [`Db::ingest`]; the first error among the records.
    pub fn try_ingest<K: AsRef<[u8]>, V: AsRef<[u8]>, E: From<Error>>(
        &self,
        name: &str,
        fill: f64,
        records: impl IntoIterator<Item = Result<(K, V), E>>,
    ) -> Result<Table, E> {
        self.check_writable()?;
        let records = records.into_iter().map(|record| record.map_err(Stopped::Records));
        self.inner.ingest(name, fill, records).map_err(|stopped| match stopped {
            Stopped::Records(error) => error,
            Stopped::Database(error) => Error::from(error).into(),
        })
    }

    fn check_writable(&self) -> Result<()> {
        if self.read_only { Err(Error::ReadOnly) } else { Ok(()) }
    }

    /// Runs `body` in a transaction and commits it: all its writes survive any crash once this
    /// returns. If `body` fails, nothing is written.
    ///
    /// If two transactions write the same key, the first to commit wins. The other runs again on
    /// the newer state, so `body` should do nothing but read and write the database. With
    /// [`Options::serializable`](crate::Options::serializable) it also runs again if another wrote
    /// what this one read.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let db = frostline::Options::new().bound(64 << 20).in_memory()?;
    /// let squares = db.table("squares")?;
    /// db.update(|tx| {
    ///     for n in 0..9u8 {
    ///         tx.put(squares, [n], [n * n])?;
    ///     }
    ///     Ok(())
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The error of `body`; [`Error::Conflict`] after as many [tries](crate::Options::tries)
    /// as it has; [`Error::TooOld`]; the database is full or the transaction too large;
    /// [`Error::ReadOnly`]; an error of the device.
    pub fn update<T>(&self, body: impl FnMut(&mut Update<'_>) -> Result<T>) -> Result<T> {
        self.try_update(body)
    }

    /// As [`Db::update`], for a `body` that has errors of its own.
    ///
    /// ```
    /// # let db = frostline::Options::new().bound(64 << 20).in_memory()?;
    /// let prices = db.table("prices")?;
    /// let wrong = db.try_update(|tx| {
    ///     tx.put(prices, "bolt", 7u32.to_be_bytes())?;
    ///     Err::<(), Box<dyn std::error::Error>>("the shop is closed".into())
    /// });
    /// assert!(wrong.is_err() && db.read()?.get(prices, "bolt")?.is_none());
    /// # Ok::<(), frostline::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Db::update`].
    pub fn try_update<T, E: From<Error>>(
        &self,
        body: impl FnMut(&mut Update<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let (value, commit) = self.commit(body)?;
        self.wait(commit)?;
        Ok(value)
    }

    /// As [`Db::update`], but durable a little later, on its own after some milliseconds.
    /// [`Db::wait`] waits for that: one wait for many updates takes few writes to the log. A
    /// crash before it loses the update, and all later ones, but never a part of one.
    ///
    /// ```
    /// # let db = frostline::Options::new().bound(64 << 20).in_memory()?;
    /// let log = db.table("log")?;
    /// let mut last = None;
    /// for n in 0..100u32 {
    ///     let ((), commit) = db.update_soon(|tx| tx.put(log, n.to_be_bytes(), "line"))?;
    ///     last = Some(commit);
    /// }
    /// last.map_or(Ok(()), |commit| db.wait(commit))?; // all hundred are durable
    /// # Ok::<(), frostline::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Db::update`].
    pub fn update_soon<T>(
        &self,
        body: impl FnMut(&mut Update<'_>) -> Result<T>,
    ) -> Result<(T, Commit)> {
        self.commit(body)
    }

    /// Runs `body` until its transaction is committed.
    fn commit<T, E: From<Error>>(
        &self,
        mut body: impl FnMut(&mut Update<'_>) -> Result<T, E>,
    ) -> Result<(T, Commit), E> {
        let mut retries = Retries::new(self.tries);
        loop {
            let mut update = self.begin()?;
            let value = body(&mut update)?;
            match update.commit_soon() {
                Ok(commit) => return Ok((value, commit)),
                Err(Error::Conflict) => retries.pause()?,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits until a commit survives any crash, and with it all that were before it.
    ///
    /// # Errors
    /// An error of the device: whether it is durable is known when the database is opened again.
    pub fn wait(&self, commit: Commit) -> Result<()> {
        Ok(self.inner.wait(commit)?)
    }

    /// Waits until everything that is committed now survives any crash.
    ///
    /// # Errors
    /// Those of [`Db::wait`].
    pub fn sync(&self) -> Result<()> {
        let seen = self.inner.begin_read()?;
        Ok(self.inner.wait(seen.commit_soon()?)?)
    }

    /// Begins a transaction that the caller commits. Unlike [`Db::update`] nothing runs it again:
    /// [`Update::commit`] fails with [`Error::Conflict`] if another wrote the same key first.
    ///
    /// ```
    /// # let db = frostline::Options::new().bound(64 << 20).in_memory()?;
    /// let items = db.table("items")?;
    /// let mut tx = db.begin()?;
    /// tx.put(items, "a", "hello")?;
    /// tx.commit()?;
    /// # Ok::<(), frostline::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::ReadOnly`]; an earlier error, after which the database can no longer be trusted.
    pub fn begin(&self) -> Result<Update<'_>> {
        Ok(Update::new(self.begin_transaction()?))
    }

    /// A transaction that writes, isolated as the options say.
    pub(crate) fn begin_transaction(&self) -> Result<engine::Transaction<'_>> {
        self.check_writable()?;
        Ok(match self.serializable {
            true => self.inner.begin_serializable()?,
            false => self.inner.begin()?,
        })
    }

    /// Deletes the records whose keys lie in a range, in transactions of 1,000 records or
    /// less: so the range may be as large as it likes. Returns how many. Others see it shrink
    /// from its beginning, and records that they put meanwhile may stay. After a crash some
    /// may be deleted. [`Update::delete_range`] is atomic.
    ///
    /// # Errors
    /// Those of [`Db::update`].
    pub fn delete_range<K: AsRef<[u8]>>(
        &self,
        table: Table,
        keys: impl RangeBounds<K>,
    ) -> Result<u64> {
        let (mut keys, mut deleted) = (Keys::of(&keys), 0);
        loop {
            let ((some, last), commit) = self.update_soon(|tx| tx.delete_some(table, &keys))?;
            deleted += some;
            let Some(last) = last else {
                self.wait(commit)?;
                return Ok(deleted);
            };
            keys.low = Bound::Excluded(last);
        }
    }

    /// Deletes all records of a table, as [`Db::delete_range`] does, and returns how many. The
    /// table stays.
    ///
    /// # Errors
    /// Those of [`Db::update`].
    pub fn clear(&self, table: Table) -> Result<u64> {
        self.delete_range::<&[u8]>(table, ..)
    }

    /// A snapshot of everything that is committed now; later commits do not change it.
    ///
    /// # Errors
    /// An earlier error, after which the database can no longer be trusted.
    pub fn read(&self) -> Result<Snapshot<'_>> {
        Ok(Snapshot::new(self.inner.begin_read()?))
    }

    /// Reads together, into memory, what is needed to read or write the records of these keys: see
    /// [`Snapshot::prefetch`].
    ///
    /// # Errors
    /// A table of another database; those of [`Db::read`].
    pub fn prefetch<K: AsRef<[u8]>>(
        &self,
        table: Table,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<()> {
        self.read()?.prefetch(table, keys)
    }

    /// Counters since the database was opened.
    ///
    /// # Errors
    /// A thread of the database panicked.
    pub fn stats(&self) -> Result<Stats> {
        Ok(self.inner.stats()?)
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
        if self.read_only {
            return Ok(());
        }
        let store = Arc::clone(self.inner.store());
        self.inner.close()?;
        match Arc::try_unwrap(store) {
            Ok(store) => store.close().map_err(DbError::from)?,
            Err(store) => store.checkpoint().map_err(DbError::from)?,
        }
        Ok(())
    }
}

/// Why a table was not made.
enum Stopped<E> {
    Records(E),
    Database(DbError),
}

impl<E> From<DbError> for Stopped<E> {
    fn from(error: DbError) -> Self {
        Stopped::Database(error)
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
