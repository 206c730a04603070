//! The database.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use frostline::engine::{self, Direction};
use frostline::{Db as Inner, Error as DbError, Options, Retries as InnerRetries};
use pyo3::create_exception;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use self_cell::self_cell;

use crate::error::{Error, Failure, Result};
use crate::number::Bytes;
use crate::process::OfProcess;

create_exception!(
    frostline,
    Conflict,
    Error,
    "Another transaction, committed meanwhile, wrote the same key: try again."
);

impl From<DbError> for Failure {
    fn from(error: DbError) -> Self {
        match error {
            DbError::Conflict => Failure::from(Conflict::new_err(error.to_string())),
            error => Failure::new(error.to_string()),
        }
    }
}

fn failed(error: engine::DbError) -> Failure {
    DbError::from(error).into()
}

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

/// What it is called where it is of another process.
const DATABASE: &str = "the database";

impl Db {
    fn inner(&self) -> Result<Arc<Inner>> {
        let inner = self.inner.get()?.read().unwrap_or_else(PoisonError::into_inner);
        inner.clone().ok_or_else(|| Failure::new("the database is closed"))
    }
}

#[pymethods]
impl Db {
    /// Opens the database in a directory, and makes it if it is absent; without a directory, one in
    /// memory.
    #[staticmethod]
    #[pyo3(signature = (path=None, *, memory, bound, log_bytes=None, scheme=None, victim=None, unit=None, create))]
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
        create: bool,
    ) -> Result<Db> {
        let memory = usize::try_from(memory.get()?).unwrap_or(usize::MAX);
        let mut options = Options::new().memory(memory).bound(bound.get()?).create(create);
        if let Some(bytes) = log_bytes {
            options = options.log_bytes(bytes.get()?);
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
                true => db.engine().begin_read().map(Some),
                false => db.engine().begin().map(Some),
            });
            let cell = Mutex::new(Some(cell.map_err(failed)?));
            Ok(Transaction { cell: OfProcess::new(DATABASE, cell) })
        })
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

type Held<'d> = Option<engine::Transaction<'d>>;

self_cell! {
    struct Cell {
        owner: Arc<Inner>,
        #[not_covariant]
        dependent: Held,
    }
}

/// A transaction, which keeps its database open.
#[pyclass(frozen, module = "frostline")]
pub struct Transaction {
    cell: OfProcess<Mutex<Option<Cell>>>,
}

/// A record.
type Record = (Vec<u8>, Vec<u8>);

impl Transaction {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        body: impl for<'d> FnOnce(
            &mut engine::Transaction<'d>,
        ) -> std::result::Result<T, engine::DbError>
        + Send,
    ) -> Result<T> {
        py.detach(|| {
            let mut cell = self.cell.get()?.lock().unwrap_or_else(PoisonError::into_inner);
            let ended = || Failure::new("the transaction has ended");
            let cell = cell.as_mut().ok_or_else(ended)?;
            cell.with_dependent_mut(|_, held| {
                body(held.as_mut().ok_or_else(ended)?).map_err(failed)
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
        let value = self.with(py, |tx| tx.get(table.0, key))?;
        Ok(value.map(|value| PyBytes::new(py, &value)))
    }

    /// Sets the value of a key.
    fn put(&self, py: Python<'_>, table: &Tree, key: &[u8], value: &[u8]) -> Result<()> {
        self.with(py, |tx| tx.put(table.0, key, value))
    }

    /// Removes a key, if it is there.
    fn delete(&self, py: Python<'_>, table: &Tree, key: &[u8]) -> Result<()> {
        self.with(py, |tx| tx.delete(table.0, key))
    }

    /// Up to `most` records in order from a key on, itself included; from an end if none is given.
    #[pyo3(signature = (table, key, *, backward, most))]
    fn scan<'py>(
        &self,
        py: Python<'py>,
        table: &Tree,
        key: Option<&[u8]>,
        backward: bool,
        most: usize,
    ) -> Result<Vec<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)>> {
        let direction = if backward { Direction::Backward } else { Direction::Forward };
        let records: Vec<Record> = self.with(py, |tx| {
            let mut scan = match key {
                Some(key) => tx.scan(table.0, key, direction),
                None => tx.scan_all(table.0, direction),
            };
            let mut records = Vec::new();
            while records.len() < most
                && let Some((key, value)) = scan.next()?
            {
                records.push((key.to_vec(), value.to_vec()));
            }
            Ok(records)
        })?;
        let bytes = |(key, value): Record| (PyBytes::new(py, &key), PyBytes::new(py, &value));
        Ok(records.into_iter().map(bytes).collect())
    }

    /// Commits: all writes survive any crash when this returns.
    fn commit(&self, py: Python<'_>) -> Result<()> {
        py.detach(|| {
            let cell = self.cell.get()?.lock().unwrap_or_else(PoisonError::into_inner).take();
            let mut cell = cell.ok_or_else(|| Failure::new("the transaction has ended"))?;
            let commit =
                |held: &mut Held<'_>| held.take().map_or(Ok(()), engine::Transaction::commit);
            cell.with_dependent_mut(|_, held| commit(held)).map_err(failed)
        })
    }

    /// Ends the transaction without its writes; does nothing if it has ended.
    fn rollback(&self, py: Python<'_>) -> Result<()> {
        py.detach(|| {
            drop(self.cell.get()?.lock().unwrap_or_else(PoisonError::into_inner).take());
            Ok(())
        })
    }
}
