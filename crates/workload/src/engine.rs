//! The engine in the view of a workload: a small table trait.

use std::ops::ControlFlow;

/// The direction of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the bound to greater keys.
    Forward,
    /// From the bound to smaller keys.
    Backward,
}

/// The kind of access of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// The transaction only reads.
    ReadOnly,
    /// The transaction reads and writes.
    ReadWrite,
}

/// A transactional store of ordered tables, shared by threads.
pub trait Engine: Sync {
    /// The engine's error.
    type Error: std::error::Error + Send + Sync + 'static;
    /// A table, once it is open.
    type Table: Copy + Send + Sync;
    /// A transaction, used by one thread.
    type Transaction<'e>: Transaction<Table = Self::Table, Error = Self::Error>
    where
        Self: 'e;

    /// Opens the table with this name, and creates it if it does not exist.
    ///
    /// # Errors
    /// Errors of the engine.
    fn table(&self, name: &str) -> Result<Self::Table, Self::Error>;

    /// The table with this name, if it exists. By default it is created, which is sufficient where
    /// databases are always loaded anew.
    ///
    /// # Errors
    /// Errors of the engine.
    fn existing(&self, name: &str) -> Result<Option<Self::Table>, Self::Error> {
        self.table(name).map(Some)
    }

    /// Begins a transaction.
    ///
    /// # Errors
    /// Errors of the engine.
    fn begin(&self, access: Access) -> Result<Self::Transaction<'_>, Self::Error>;

    /// True if the transaction lost against another and may be tried again.
    fn is_conflict(error: &Self::Error) -> bool;

    /// True if the transaction was refused, as it writes more than the engine takes at once. By
    /// default an engine takes any.
    fn is_too_large(error: &Self::Error) -> bool {
        let _ = error;
        false
    }

    /// The last ticket such that everything up to it survives a crash.
    fn durable(&self) -> Ticket;

    /// Waits until everything up to `ticket` survives a crash.
    ///
    /// # Errors
    /// Errors of the engine.
    fn wait(&self, ticket: Ticket) -> Result<(), Self::Error>;
}

/// The function that a scan calls with the key and value of each record. It returns `Break` to end
/// the scan.
pub type VisitRow<'v> = &'v mut (dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'v);

/// The number of a commit: it is durable once [`Engine::durable`] has reached it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// A transaction. If it is dropped without a commit, it is rolled back.
///
/// After an error of any method but [`Transaction::commit`], the transaction can only be dropped.
pub trait Transaction {
    /// See [`Engine::Table`].
    type Table: Copy;
    /// See [`Engine::Error`].
    type Error;

    /// Replaces the content of `value` by the value of `key`; false if the key does not exist.
    ///
    /// # Errors
    /// Errors of the engine.
    fn get(
        &mut self,
        table: Self::Table,
        key: &[u8],
        value: &mut Vec<u8>,
    ) -> Result<bool, Self::Error>;

    /// Says that these records are read or written soon, so that an engine may read what it needs
    /// for them at once. By default nothing happens.
    ///
    /// # Errors
    /// Errors of the engine.
    fn prefetch(&mut self, records: &[(Self::Table, &[u8])]) -> Result<(), Self::Error> {
        let _ = records;
        Ok(())
    }

    /// Sets the value of `key`.
    ///
    /// # Errors
    /// Errors of the engine; a conflict.
    fn put(&mut self, table: Self::Table, key: &[u8], value: &[u8]) -> Result<(), Self::Error>;

    /// Overwrites the bytes of the value of `key` from `at` on; the value must have these bytes.
    /// The engine may use `scratch` as it likes.
    ///
    /// # Errors
    /// Errors of the engine; a conflict.
    fn patch(
        &mut self,
        table: Self::Table,
        key: &[u8],
        at: usize,
        bytes: &[u8],
        scratch: &mut Vec<u8>,
    ) -> Result<(), Self::Error> {
        if self.get(table, key, scratch)? {
            scratch[at..at + bytes.len()].copy_from_slice(bytes);
            self.put(table, key, scratch)?;
        }
        Ok(())
    }

    /// Removes `key`, if it exists.
    ///
    /// # Errors
    /// Errors of the engine; a conflict.
    fn delete(&mut self, table: Self::Table, key: &[u8]) -> Result<(), Self::Error>;

    /// Passes the records from `bound` on (inclusive) to `visit`, in the order of the direction,
    /// until there are no more or `visit` breaks.
    ///
    /// # Errors
    /// Errors of the engine.
    fn scan(
        &mut self,
        table: Self::Table,
        bound: &[u8],
        direction: Direction,
        visit: VisitRow<'_>,
    ) -> Result<(), Self::Error>;

    /// Makes the writes visible to transactions that begin from now on, and soon durable: see
    /// [`Ticket`].
    ///
    /// # Errors
    /// Errors of the engine; a conflict. Then nothing was written.
    fn commit(self) -> Result<Ticket, Self::Error>;
}
