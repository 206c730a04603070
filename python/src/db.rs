//! The database.

use std::ops::Bound::{self as Edge, Excluded, Included, Unbounded};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use frostline::engine::{self, Savepoint};
use frostline::{Db as Inner, KeyValue, Options, Retries as InnerRetries, Snapshot, Update};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use self_cell::self_cell;

use crate::error::{Failure, ReadOnly, Result};
use crate::number::Bytes;
use crate::process::OfProcess;

/// The tries of one transaction, and the pauses between them.
#[pyclass(module = "frostline")]
pub struct Retries(InnerRetries);

#[pymethods]
impl Retries {
    #[new]
    fn new() -> Retries {
        Retries(InnerRetries::default())
    }

    /// Pauses after a conflict; raises it if there were too many.
    fn pause(&mut self, py: Python<'_>) -> Result<()> {
        Ok(py.detach(|| self.0.pause())?)
    }
}

/// A table of a database.
#[pyclass(frozen, module = "frostline", name = "Tree")]
pub struct Tree(engine::Table);

/// A database.
#[pyclass(frozen, module = "frostline")]
pub struct Db {
    inner: OfProcess<RwLock<Option<Arc<Inner>>>>,
}

/// The name of a database in the error of another process.
const DATABASE: &str = "the database";

impl Db {
    fn inner(&self) -> Result<Arc<Inner>> {
        let inner = self.inner.get()?.read().unwrap_or_else(PoisonError::into_inner);
        inner.clone().ok_or_else(|| Failure::new("the database is closed"))
    }
}

#[pymethods]
impl Db {
    /// Opens the database in a file, and makes it if it is absent; without a file, one in memory.
    #[staticmethod]
    #[pyo3(signature = (path=None, *, memory, bound, log_bytes=None, scheme=None, victim=None, unit=None, gp=None, serializable, read_only, create))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn open(
        py: Python<'_>,
        path: Option<String>,
        memory: Bytes,
        bound: Bytes,
        log_bytes: Option<Bytes>,
        scheme: Option<String>,
        victim: Option<String>,
        unit: Option<u32>,
        gp: Option<f64>,
        serializable: bool,
        read_only: bool,
        create: bool,
    ) -> Result<Db> {
        let memory = usize::try_from(memory.get()?).unwrap_or(usize::MAX);
        let mut options = Options::new().memory(memory).bound(bound.get()?).create(create);
        if let Some(bytes) = log_bytes {
            options = options.log_bytes(bytes.get()?);
        }
        options = options.serializable(serializable).read_only(read_only);
        if let Some(gp) = gp {
            options = options.gp(gp);
        }
        if let Some(scheme) = scheme {
            options = options.scheme(scheme);
        }
        if let Some(victim) = victim {
            options = options.victim(victim);
        }
        if let Some(unit) = unit {
            options = options.unit(unit);
        }
        let inner = py.detach(|| match path {
            Some(path) => options.open(path),
            None => options.in_memory(),
        })?;
        Ok(Db { inner: OfProcess::new(DATABASE, RwLock::new(Some(Arc::new(inner)))) })
    }

    /// The table of this name, made if it is absent.
    fn table(&self, py: Python<'_>, name: &str) -> Result<Tree> {
        let inner = self.inner()?;
        Ok(Tree(py.detach(|| inner.table(name))?))
    }

    /// The names of all tables.
    fn tables(&self) -> Result<Vec<String>> {
        Ok(self.inner()?.tables())
    }

    /// Begins a transaction.
    fn begin(&self, py: Python<'_>, read_only: bool) -> Result<Transaction> {
        let inner = self.inner()?;
        py.detach(|| {
            let cell = Cell::try_new(inner, |db| match read_only {
                true => db.read().map(|snapshot| Some(Held::Read(snapshot))),
                false => db.begin().map(|update| Some(Held::Write(update))),
            })?;
            let open = Open { cell: Some(cell), savepoints: Vec::new() };
            Ok(Transaction { cell: OfProcess::new(DATABASE, Mutex::new(open)) })
        })
    }

    /// Removes the records from a key on to below another in small transactions, and returns how many.
    fn delete_range(
        &self,
        py: Python<'_>,
        table: &Tree,
        low: Option<&[u8]>,
        high: Option<&[u8]>,
    ) -> Result<u64> {
        let (inner, keys) = (self.inner()?, keys(low, high));
        Ok(py.detach(|| inner.delete_range::<&[u8]>(table.0, keys))?)
    }

    /// Waits until all that is committed survives any crash.
    fn sync(&self, py: Python<'_>) -> Result<()> {
        let inner = self.inner()?;
        Ok(py.detach(|| inner.sync())?)
    }

    /// Copies the database to a backup while it is in use; the bytes that were copied.
    fn back_up(&self, py: Python<'_>, target: String) -> Result<u64> {
        let inner = self.inner()?;
        Ok(py.detach(|| inner.back_up(target))?.copied_bytes)
    }

    /// Makes a database of a backup.
    #[staticmethod]
    fn restore(py: Python<'_>, backup: String, path: String) -> Result<()> {
        Ok(py.detach(|| Inner::restore(backup, path))?)
    }

    /// Writes everything that changed and ends the database; does nothing if it is closed.
    fn close(&self, py: Python<'_>) -> Result<()> {
        py.detach(|| {
            let mut inner = self.inner.get()?.write().unwrap_or_else(PoisonError::into_inner);
            let Some(db) = inner.take() else { return Ok(()) };
            match Arc::try_unwrap(db) {
                Ok(db) => Ok(db.close()?),
                Err(db) => {
                    *inner = Some(db);
                    Err(Failure::new("transactions of the database are open: end them before"))
                }
            }
        })
    }
}

/// A transaction that reads, or one that writes as well.
enum Held<'d> {
    Read(Snapshot<'d>),
    Write(Update<'d>),
}

impl<'d> Held<'d> {
    fn look(&self) -> &Snapshot<'d> {
        match self {
            Held::Read(snapshot) => snapshot,
            Held::Write(update) => update,
        }
    }

    fn update(&mut self) -> std::result::Result<&mut Update<'d>, Failed> {
        match self {
            Held::Read(_) => Err(Failed::ReadOnly),
            Held::Write(update) => Ok(update),
        }
    }
}

/// Why a call failed, until Python's lock is held again.
enum Failed {
    ReadOnly,
    Database(frostline::Error),
}

impl From<frostline::Error> for Failed {
    fn from(error: frostline::Error) -> Self {
        Failed::Database(error)
    }
}

impl From<engine::DbError> for Failed {
    fn from(error: engine::DbError) -> Self {
        Failed::Database(error.into())
    }
}

impl From<Failed> for Failure {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::ReadOnly => ReadOnly::new_err("a snapshot can't be written").into(),
            Failed::Database(error) => error.into(),
        }
    }
}

type Ended<'d> = Option<Held<'d>>;

self_cell! {
    struct Cell {
        owner: Arc<Inner>,
        #[not_covariant]
        dependent: Ended,
    }
}

/// A transaction, which keeps its database open.
#[pyclass(frozen, module = "frostline")]
pub struct Transaction {
    cell: OfProcess<Mutex<Open>>,
}

#[derive(Default)]
struct Open {
    cell: Option<Cell>,
    /// Savepoints that have not ended, the last one last.
    savepoints: Vec<Savepoint>,
}

type Pair<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>);

fn pair(py: Python<'_>, (key, value): KeyValue) -> Pair<'_> {
    (PyBytes::new(py, &key), PyBytes::new(py, &value))
}

impl Transaction {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        body: impl for<'d> FnOnce(&mut Held<'d>, &mut Vec<Savepoint>) -> std::result::Result<T, Failed>
        + Send,
    ) -> Result<T> {
        py.detach(|| {
            let mut open = self.cell.get()?.lock().unwrap_or_else(PoisonError::into_inner);
            let Open { cell, savepoints } = &mut *open;
            let ended = || Failure::new("the transaction has ended");
            cell.as_mut().ok_or_else(ended)?.with_dependent_mut(|_, held| {
                Ok(body(held.as_mut().ok_or_else(ended)?, savepoints)?)
            })
        })
    }
}

#[pymethods]
impl Transaction {
    /// The value of a key, none if it is absent.
    fn get<'py>(
        &self,
        py: Python<'py>,
        table: &Tree,
        key: &[u8],
    ) -> Result<Option<Bound<'py, PyBytes>>> {
        let value = self.with(py, |tx, _| Ok(tx.look().get(table.0, key)?))?;
        Ok(value.map(|value| PyBytes::new(py, &value)))
    }

    /// The values of keys, none for those that are absent.
    fn get_many<'py>(
        &self,
        py: Python<'py>,
        table: &Tree,
        keys: Vec<Vec<u8>>,
    ) -> Result<Vec<Option<Bound<'py, PyBytes>>>> {
        let values = self.with(py, |tx, _| Ok(tx.look().get_many(table.0, &keys)?))?;
        Ok(values.into_iter().map(|value| Some(PyBytes::new(py, &value?))).collect())
    }

    /// True if a key has a value.
    fn contains(&self, py: Python<'_>, table: &Tree, key: &[u8]) -> Result<bool> {
        self.with(py, |tx, _| Ok(tx.look().contains_key(table.0, key)?))
    }

    /// The number of records.
    fn len(&self, py: Python<'_>, table: &Tree) -> Result<u64> {
        self.with(py, |tx, _| Ok(tx.look().len(table.0)?))
    }

    /// True if there is no record.
    fn is_empty(&self, py: Python<'_>, table: &Tree) -> Result<bool> {
        self.with(py, |tx, _| Ok(tx.look().is_empty(table.0)?))
    }

    /// Sets the value of a key.
    fn put(&self, py: Python<'_>, table: &Tree, key: &[u8], value: &[u8]) -> Result<()> {
        self.with(py, |tx, _| Ok(tx.update()?.put(table.0, key, value)?))
    }

    /// Overwrites bytes of a value.
    fn patch(
        &self,
        py: Python<'_>,
        table: &Tree,
        key: &[u8],
        at: usize,
        bytes: &[u8],
    ) -> Result<()> {
        self.with(py, |tx, _| Ok(tx.update()?.patch(table.0, key, at, bytes)?))
    }

    /// Sets or deletes a value, if it is as expected; false if it is not.
    fn compare_and_set(
        &self,
        py: Python<'_>,
        table: &Tree,
        key: &[u8],
        expected: Option<&[u8]>,
        value: Option<&[u8]>,
    ) -> Result<bool> {
        self.with(py, |tx, _| Ok(tx.update()?.compare_and_set(table.0, key, expected, value)?))
    }

    /// Removes a key, if it is there.
    fn delete(&self, py: Python<'_>, table: &Tree, key: &[u8]) -> Result<()> {
        self.with(py, |tx, _| Ok(tx.update()?.delete(table.0, key)?))
    }

    /// Removes the records from a key on to below another, and returns how many.
    fn delete_range(
        &self,
        py: Python<'_>,
        table: &Tree,
        low: Option<&[u8]>,
        high: Option<&[u8]>,
    ) -> Result<u64> {
        let keys = keys(low, high);
        self.with(py, |tx, _| Ok(tx.update()?.delete_range::<&[u8]>(table.0, keys)?))
    }

    /// Removes the first record, or the last, and returns it.
    fn pop<'py>(&self, py: Python<'py>, table: &Tree, last: bool) -> Result<Option<Pair<'py>>> {
        let record = self.with(py, |tx, _| {
            let update = tx.update()?;
            Ok(if last { update.pop_last(table.0)? } else { update.pop_first(table.0)? })
        })?;
        Ok(record.map(|record| pair(py, record)))
    }

    /// Up to `most` records with keys from `low` on, or behind it, to below `high`, in order or backward.
    #[pyo3(signature = (table, low, high, *, behind, backward, most))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn scan<'py>(
        &self,
        py: Python<'py>,
        table: &Tree,
        low: Option<&[u8]>,
        high: Option<&[u8]>,
        behind: bool,
        backward: bool,
        most: usize,
    ) -> Result<Vec<Pair<'py>>> {
        let (mut first, end) = keys(low, high);
        if behind && let Included(key) = first {
            first = Excluded(key);
        }
        let records: Vec<KeyValue> = self.with(py, |tx, _| {
            let range = tx.look().range::<&[u8]>(table.0, (first, end));
            let records: frostline::Result<_> = match backward {
                true => range.rev().take(most).collect(),
                false => range.take(most).collect(),
            };
            Ok(records?)
        })?;
        Ok(records.into_iter().map(|record| pair(py, record)).collect())
    }

    /// Begins a savepoint.
    fn begin_savepoint(&self, py: Python<'_>) -> Result<()> {
        self.with(py, |tx, savepoints| {
            savepoints.push(tx.update()?.engine().savepoint()?);
            Ok(())
        })
    }

    /// Ends the last savepoint; undoes what was written since, if it says so.
    fn end_savepoint(&self, py: Python<'_>, undo: bool) -> Result<()> {
        self.with(py, |tx, savepoints| {
            let (engine, Some(last)) = (tx.update()?.engine(), savepoints.pop()) else {
                return Ok(());
            };
            match undo {
                true => engine.undo(last)?,
                false => engine.forget(last)?,
            }
            Ok(())
        })
    }

    /// Commits: all writes survive any crash when this returns, if it is to wait for that.
    fn commit(&self, py: Python<'_>, wait: bool) -> Result<()> {
        py.detach(|| {
            let open = std::mem::take(
                &mut *self.cell.get()?.lock().unwrap_or_else(PoisonError::into_inner),
            );
            let mut cell = open.cell.ok_or_else(|| Failure::new("the transaction has ended"))?;
            let commit = |held: &mut Ended<'_>| match held.take() {
                Some(Held::Write(update)) if wait => update.commit(),
                Some(Held::Write(update)) => update.commit_soon().map(drop),
                Some(Held::Read(_)) | None => Ok(()),
            };
            Ok(cell.with_dependent_mut(|_, held| commit(held))?)
        })
    }

    /// Ends the transaction without its writes; does nothing if it has ended.
    fn rollback(&self, py: Python<'_>) -> Result<()> {
        py.detach(|| {
            drop(std::mem::take(
                &mut *self.cell.get()?.lock().unwrap_or_else(PoisonError::into_inner),
            ));
            Ok(())
        })
    }
}

/// Keys from `low` on to below `high`.
fn keys<'k>(low: Option<&'k [u8]>, high: Option<&'k [u8]>) -> (Edge<&'k [u8]>, Edge<&'k [u8]>) {
    (low.map_or(Unbounded, Included), high.map_or(Unbounded, Excluded))
}
