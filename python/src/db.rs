//! The database.

use std::ops::Bound::{self as Edge, Excluded, Included, Unbounded};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use frostline::engine::{self, LongValue, Savepoint};
use frostline::store::Compression;
use frostline::{Db as Inner, KeyValue, Options, Retries as InnerRetries, Snapshot, Update};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
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

/// Options of a database.
#[pyclass(frozen, module = "frostline")]
pub struct DbOptions(Options);

#[pymethods]
impl DbOptions {
    #[new]
    #[pyo3(signature = (*, memory, bound, log_bytes=None, scheme=None, victim=None, unit=None, gp=None, space=None, compression=None, parity=None, recovery_bytes=None, version_bytes=None, longest_logged_value=None, fill=None, serializable, read_only, create, accept_loss=false))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn new(
        memory: Bytes,
        bound: Bytes,
        log_bytes: Option<Bytes>,
        scheme: Option<String>,
        victim: Option<String>,
        unit: Option<u32>,
        gp: Option<f64>,
        space: Option<f64>,
        compression: Option<String>,
        parity: Option<u32>,
        recovery_bytes: Option<Bytes>,
        version_bytes: Option<Bytes>,
        longest_logged_value: Option<Bytes>,
        fill: Option<f64>,
        serializable: bool,
        read_only: bool,
        create: bool,
        accept_loss: bool,
    ) -> Result<DbOptions> {
        let memory = memory_of(&memory)?;
        let mut options = Options::new().memory(memory).bound(bound.get()?).create(create);
        if let Some(bytes) = log_bytes {
            options = options.log_bytes(bytes.get()?);
        }
        options = options.serializable(serializable).read_only(read_only).accept_loss(accept_loss);
        if let Some(gp) = gp {
            options = options.gp(gp);
        }
        if let Some(over_data) = space {
            options = options.space(over_data);
        }
        if let Some(compression) = compression {
            options = options.compression(compression_of(&compression)?);
        }
        if let Some(data_zones) = parity {
            options = options.parity(data_zones);
        }
        if let Some(bytes) = recovery_bytes {
            options = options.recovery_bytes(bytes.get()?);
        }
        if let Some(bytes) = version_bytes {
            options = options.version_bytes(memory_of(&bytes)?);
        }
        if let Some(bytes) = longest_logged_value {
            options = options.longest_logged_value(memory_of(&bytes)?);
        }
        if let Some(share) = fill {
            options = options.fill(share);
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
        Ok(DbOptions(options))
    }
}

/// Bytes of memory; more than can be addressed count as all.
fn memory_of(bytes: &Bytes) -> Result<usize> {
    Ok(usize::try_from(bytes.get()?).unwrap_or(usize::MAX))
}

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
    fn open(py: Python<'_>, path: Option<String>, options: &DbOptions) -> Result<Db> {
        let options = options.0.clone();
        let inner = py.detach(|| match path {
            Some(path) => options.open(path),
            None => options.in_memory(),
        })?;
        Ok(Db { inner: OfProcess::new(DATABASE, RwLock::new(Some(Arc::new(inner)))) })
    }

    /// Copies all tables to a new database with other options; the number of records.
    fn copy(&self, py: Python<'_>, path: String, options: &DbOptions) -> Result<u64> {
        let (inner, options) = (self.inner()?, options.0.clone());
        Ok(py.detach(|| options.copy(&inner, path))?)
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

    /// Gives a table another name.
    fn rename_table(&self, py: Python<'_>, name: &str, to: &str) -> Result<()> {
        let inner = self.inner()?;
        Ok(py.detach(|| inner.rename_table(name, to))?)
    }

    /// Deletes a table.
    fn delete_table(&self, py: Python<'_>, name: &str) -> Result<()> {
        let inner = self.inner()?;
        Ok(py.detach(|| inner.delete_table(name))?)
    }

    /// Pages of a table, and about how many records and bytes it has.
    fn table_size(&self, py: Python<'_>, table: &Tree) -> Result<(u64, u64, u64)> {
        let inner = self.inner()?;
        let size = py.detach(|| inner.table_size(table.0))?;
        Ok((size.pages, size.records, size.bytes))
    }

    /// Makes a table of pairs in the order of their keys.
    fn ingest(&self, name: &str, fill: f64, records: &Bound<'_, PyAny>) -> Result<Tree> {
        let inner = self.inner()?;
        let record = |record: PyResult<Bound<'_, PyAny>>| {
            let (key, value): (Bound<'_, PyBytes>, Bound<'_, PyBytes>) = record?.extract()?;
            Ok::<_, Failure>((key.as_bytes().to_vec(), value.as_bytes().to_vec()))
        };
        Ok(Tree(inner.try_ingest(name, fill, records.try_iter()?.map(record))?))
    }

    /// Begins a transaction.
    fn begin(&self, py: Python<'_>, read_only: bool) -> Result<Transaction> {
        let inner = self.inner()?;
        py.detach(|| {
            let cell = Cell::try_new(inner, |db| match read_only {
                true => db.read().map(|snapshot| Some(Held::Read(snapshot))),
                false => db.begin().map(|update| Some(Held::Write(update, Vec::new()))),
            })?;
            let open = Open { cell: Some(cell), savepoints: Vec::new() };
            Ok(Transaction { cell: OfProcess::new(DATABASE, Mutex::new(open)) })
        })
    }

    /// Removes the records from a key on to below another in small transactions, and returns how
    /// many.
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
    /// With the long values that it gathers, by their numbers.
    Write(Update<'d>, Vec<Option<LongValue<'d>>>),
}

impl<'d> Held<'d> {
    fn look(&self) -> &Snapshot<'d> {
        match self {
            Held::Read(snapshot) => snapshot,
            Held::Write(update, _) => update,
        }
    }

    fn update(&mut self) -> std::result::Result<&mut Update<'d>, Failed> {
        match self {
            Held::Read(_) => Err(Failed::ReadOnly),
            Held::Write(update, _) => Ok(update),
        }
    }

    /// A value that is gathered, in its place.
    fn value(&mut self, number: usize) -> std::result::Result<&mut Option<LongValue<'d>>, Failed> {
        match self {
            Held::Read(_) => Err(Failed::ReadOnly),
            Held::Write(_, values) => values.get_mut(number).ok_or(Failed::Finished),
        }
    }
}

/// Why a call failed, until Python's lock is held again.
enum Failed {
    ReadOnly,
    /// A value was finished before.
    Finished,
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
            Failed::Finished => Failure::new("the value is finished"),
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

    /// Up to `most` records with keys from `low` on, or behind it, to below `high`, in order or
    /// backward.
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

    /// Begins to gather a long value; its number.
    fn begin_value(&self, py: Python<'_>) -> Result<usize> {
        self.with(py, |tx, _| match tx {
            Held::Read(_) => Err(Failed::ReadOnly),
            Held::Write(update, values) => {
                values.push(Some(update.engine().long_value()));
                Ok(values.len() - 1)
            }
        })
    }

    /// Appends bytes to a value that is gathered.
    fn append_value(&self, py: Python<'_>, number: usize, bytes: PyBackedBytes) -> Result<()> {
        self.with(py, |tx, _| {
            let value = tx.value(number)?.as_mut().ok_or(Failed::Finished)?;
            Ok(value.append(&bytes)?)
        })
    }

    /// Gives a key a value that was gathered.
    fn finish_value(&self, py: Python<'_>, number: usize, table: &Tree, key: &[u8]) -> Result<()> {
        self.with(py, |tx, _| {
            let value = tx.value(number)?.take().ok_or(Failed::Finished)?;
            Ok(tx.update()?.engine().put_value(table.0, key, value)?)
        })
    }

    /// Gives up a value that was gathered.
    fn drop_value(&self, py: Python<'_>, number: usize) -> Result<()> {
        self.with(py, |tx, _| {
            tx.value(number)?.take();
            Ok(())
        })
    }

    /// Bytes of the value of a key, none if it is absent.
    fn value_bytes(&self, py: Python<'_>, table: &Tree, key: &[u8]) -> Result<Option<u64>> {
        self.with(py, |tx, _| Ok(tx.look().value_reader(table.0, key)?.map(|reader| reader.len())))
    }

    /// Up to so many bytes of the value of a key, from a place on.
    fn read_value<'py>(
        &self,
        py: Python<'py>,
        table: &Tree,
        key: &[u8],
        at: u64,
        most: usize,
    ) -> Result<Bound<'py, PyBytes>> {
        let bytes = self.with(py, |tx, _| {
            let mut bytes = Vec::new();
            let Some(mut reader) = tx.look().value_reader(table.0, key)? else { return Ok(bytes) };
            reader.pass(at);
            while bytes.len() < most {
                let part = reader.next_part()?;
                let count = part.len().min(most - bytes.len());
                if count == 0 {
                    break;
                }
                bytes.extend_from_slice(&part[..count]);
                reader.pass(count as u64);
            }
            Ok(bytes)
        })?;
        Ok(PyBytes::new(py, &bytes))
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
                Some(Held::Write(update, _)) if wait => update.commit(),
                Some(Held::Write(update, _)) => update.commit_soon().map(drop),
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

/// A way to compress pages, by its name.
fn compression_of(name: &str) -> Result<Compression> {
    match name {
        "none" => Ok(Compression::None),
        "lz4" => Ok(Compression::Lz4),
        "zstd" => Ok(Compression::Zstd),
        _ => Err(Failure::new(format!("compression {name:?}: none, lz4 and zstd are known"))),
    }
}

/// Keys from `low` on to below `high`.
fn keys<'k>(low: Option<&'k [u8]>, high: Option<&'k [u8]>) -> (Edge<&'k [u8]>, Edge<&'k [u8]>) {
    (low.map_or(Unbounded, Included), high.map_or(Unbounded, Excluded))
}
