//! An engine whose user is watched: how many bytes are updated, how many there are.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use frostline_workload::{Access, Direction, Engine, Ticket, Transaction, VisitRow};

/// An engine, and what its user did with it.
pub struct Counted<'e, E: Engine> {
    engine: &'e E,
    updated: AtomicU64,
    /// By name: a table may be opened more than once.
    tables: Mutex<BTreeMap<String, E::Table>>,
}

impl<'e, E: Engine> Counted<'e, E> {
    /// Watches the use of `engine` from now on.
    pub fn new(engine: &'e E) -> Self {
        Counted { engine, updated: AtomicU64::new(0), tables: Mutex::default() }
    }

    /// Bytes that committed transactions have updated: key and value of a put, key and changed
    /// bytes of a patch, the key of a delete.
    pub fn updated_bytes(&self) -> u64 {
        self.updated.load(Ordering::Relaxed)
    }

    /// Bytes of all keys and values in the tables that were opened. Everything is read.
    ///
    /// # Errors
    /// As the engine has them.
    pub fn data_bytes(&self) -> Result<u64, E::Error> {
        let mut bytes = 0;
        let tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        for table in tables.values() {
            let mut transaction = self.engine.begin(Access::ReadOnly)?;
            transaction.scan(*table, &[], Direction::Forward, &mut |key, value| {
                bytes += (key.len() + value.len()) as u64;
                ControlFlow::Continue(())
            })?;
        }
        Ok(bytes)
    }
}

impl<E: Engine> Engine for Counted<'_, E> {
    type Error = E::Error;
    type Table = E::Table;
    type Transaction<'t>
        = CountedTransaction<'t, E::Transaction<'t>>
    where
        Self: 't;

    fn table(&self, name: &str) -> Result<E::Table, E::Error> {
        let table = self.engine.table(name)?;
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        tables.insert(name.to_owned(), table);
        Ok(table)
    }

    fn begin(&self, access: Access) -> Result<Self::Transaction<'_>, E::Error> {
        let inner = self.engine.begin(access)?;
        Ok(CountedTransaction { inner, own: 0, all: &self.updated })
    }

    fn is_conflict(error: &E::Error) -> bool {
        E::is_conflict(error)
    }

    fn is_too_large(error: &E::Error) -> bool {
        E::is_too_large(error)
    }

    fn durable(&self) -> Ticket {
        self.engine.durable()
    }

    fn wait(&self, ticket: Ticket) -> Result<(), E::Error> {
        self.engine.wait(ticket)
    }
}

/// A transaction, and what it has updated so far.
pub struct CountedTransaction<'t, T> {
    inner: T,
    own: u64,
    all: &'t AtomicU64,
}

impl<T> CountedTransaction<'_, T> {
    fn count(&mut self, bytes: usize) {
        self.own += bytes as u64;
    }
}

impl<T: Transaction> Transaction for CountedTransaction<'_, T> {
    type Table = T::Table;
    type Error = T::Error;

    fn get(&mut self, table: T::Table, key: &[u8], value: &mut Vec<u8>) -> Result<bool, T::Error> {
        self.inner.get(table, key, value)
    }

    fn prefetch(&mut self, records: &[(T::Table, &[u8])]) -> Result<(), T::Error> {
        self.inner.prefetch(records)
    }

    fn put(&mut self, table: T::Table, key: &[u8], value: &[u8]) -> Result<(), T::Error> {
        self.count(key.len() + value.len());
        self.inner.put(table, key, value)
    }

    fn patch(
        &mut self,
        table: T::Table,
        key: &[u8],
        at: usize,
        bytes: &[u8],
        scratch: &mut Vec<u8>,
    ) -> Result<(), T::Error> {
        self.count(key.len() + bytes.len());
        self.inner.patch(table, key, at, bytes, scratch)
    }

    fn delete(&mut self, table: T::Table, key: &[u8]) -> Result<(), T::Error> {
        self.count(key.len());
        self.inner.delete(table, key)
    }

    fn scan(
        &mut self,
        table: T::Table,
        bound: &[u8],
        direction: Direction,
        visit: VisitRow<'_>,
    ) -> Result<(), T::Error> {
        self.inner.scan(table, bound, direction, visit)
    }

    fn commit(self) -> Result<Ticket, T::Error> {
        let ticket = self.inner.commit()?;
        self.all.fetch_add(self.own, Ordering::Relaxed);
        Ok(ticket)
    }
}
