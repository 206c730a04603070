//! The database.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use frostline_db::{self as engine, DbError, Stats, Table};

use crate::{Error, Result, Snapshot, Update};

/// Tries of a transaction that loses against others, before it is given up.
const TRIES: u32 = 1000;

/// An ordered, transactional key-value database, shared by threads.
///
/// See the [crate's documentation](crate) for an example. A database that is dropped is as after a
/// crash: what was committed is there when it is opened again, after a short recovery.
/// [`Db::close`] leaves nothing to recover.
pub struct Db {
    inner: engine::Db,
}

impl Db {
    pub(crate) fn of(inner: engine::Db) -> Db {
        Db { inner }
    }

    /// The table of this name, made if it is absent.
    ///
    /// # Errors
    /// A name that is too long, or 4,096 tables; a full database; an error of the device.
    pub fn table(&self, name: &str) -> Result<Table> {
        loop {
            match self.inner.table(name) {
                Err(DbError::NoTable { .. }) => {}
                found => return Ok(found?),
            }
            match self.inner.create_table(name) {
                // Another thread was quicker.
                Err(DbError::TableExists { .. }) => {}
                made => return Ok(made?),
            }
        }
    }

    /// The names of all tables, in order.
    pub fn tables(&self) -> Vec<String> {
        self.inner.tables().into_iter().map(|(name, _)| name).collect()
    }

    /// Runs `body` in a transaction and commits it: all its writes survive any crash when this
    /// returns. If `body` fails, nothing was written.
    ///
    /// Of two transactions that write the same key the first to commit wins. The other runs again,
    /// on a newer state, so `body` should do nothing but read and write the database.
    ///
    /// # Errors
    /// The error of `body`; [`Error::Conflict`] after 1,000 tries; [`Error::TooOld`]; a full database
    /// or a transaction that is too large; an error of the device.
    pub fn update<T, E: From<Error>>(
        &self,
        mut body: impl FnMut(&mut Update<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        for tries in 0..TRIES {
            let mut update = Update::new(self.inner.begin().map_err(Error::from)?);
            let value = body(&mut update)?;
            match update.commit() {
                Ok(()) => return Ok(value),
                Err(Error::Conflict) => give_way(tries),
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::Conflict.into())
    }

    /// A snapshot of everything that is committed now; later commits do not change it.
    ///
    /// # Errors
    /// An error before, after which nothing more can be trusted.
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

    /// The database without the conveniences of this crate.
    pub fn engine(&self) -> &engine::Db {
        &self.inner
    }

    /// Writes everything that changed, so that the next opening has nothing to recover.
    ///
    /// # Errors
    /// An error of the device: what was committed is safe.
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

/// Lets the other transaction finish.
fn give_way(tries: u32) {
    match tries {
        0..8 => thread::yield_now(),
        _ => thread::sleep(Duration::from_micros(50)),
    }
}
