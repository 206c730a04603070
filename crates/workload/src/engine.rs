//! The engine as a workload sees it: a small table trait.

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
    /// It only reads.
    ReadOnly,
    /// It reads and writes.
    ReadWrite,
}

/// A transactional store of ordered tables, shared by threads.
pub trait Engine: Sync {
    /// The engine's error.
    type Error: std::error::Error + Send + Sync + 'static;
    /// A table, once it is open.
    type Table: Copy + Send + Sync;
    /// A transaction of one thread.
    type Transaction<'e>: Transaction<Table = Self::Table, Error = Self::Error>
    where
        Self: 'e;

    /// Opens the table of this name, and creates it if there is none.
    ///
    /// # Errors
    /// As the engine has them.
    fn table(&self, name: &str) -> Result<Self::Table, Self::Error>;

    /// The table of this name, if there is one. Unless an engine says otherwise the table is made:
    /// that will do where databases are always loaded anew.
    ///
    /// # Errors
    /// As the engine has them.
    fn existing(&self, name: &str) -> Result<Option<Self::Table>, Self::Error> {
        self.table(name).map(Some)
    }

    /// Begins a transaction.
    ///
    /// # Errors
    /// As the engine has them.
    fn begin(&self, access: Access) -> Result<Self::Transaction<'_>, Self::Error>;

    /// True if the transaction lost against another and may be tried again.
    fn is_conflict(error: &Self::Error) -> bool;

    /// Everything up to this ticket survives a crash.
    fn durable(&self) -> Ticket;

    /// Waits until everything up to `ticket` survives a crash.
    ///
    /// # Errors
    /// As the engine has them.
    fn wait(&self, ticket: Ticket) -> Result<(), Self::Error>;
}

/// The function that a scan calls for each record with its key and value. It breaks when it has
/// seen enough.
pub type Visit<'v> = &'v mut (dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'v);

/// The number of a commit: it is durable once [`Engine::durable`] has reached it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// One transaction. Dropped without a commit it is rolled back.
///
/// An error other than of [`Transaction::commit`] leaves the transaction fit to be dropped only.
pub trait Transaction {
    /// As [`Engine::Table`].
    type Table: Copy;
    /// As [`Engine::Error`].
    type Error;

    /// Puts the value of `key` into `value`, whose content is lost; false if there is none.
    ///
    /// # Errors
    /// As the engine has them.
    fn get(
        &mut self,
        table: Self::Table,
        key: &[u8],
        value: &mut Vec<u8>,
    ) -> Result<bool, Self::Error>;

    /// Sets the value of `key`.
    ///
    /// # Errors
    /// As the engine has them; a conflict.
    fn put(&mut self, table: Self::Table, key: &[u8], value: &[u8]) -> Result<(), Self::Error>;

    /// Overwrites the bytes of the value of `key` from `at`, which it must have. `scratch` may be
    /// used for whatever the engine likes.
    ///
    /// # Errors
    /// As the engine has them; a conflict.
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

    /// Removes `key`, if it is there.
    ///
    /// # Errors
    /// As the engine has them; a conflict.
    fn delete(&mut self, table: Self::Table, key: &[u8]) -> Result<(), Self::Error>;

    /// Shows the records from `bound` (itself included) in the direction's order, until there are
    /// no more or `visit` breaks.
    ///
    /// # Errors
    /// As the engine has them.
    fn scan(
        &mut self,
        table: Self::Table,
        bound: &[u8],
        direction: Direction,
        visit: Visit<'_>,
    ) -> Result<(), Self::Error>;

    /// Makes what was written visible to transactions that begin from now on, and durable soon:
    /// see [`Ticket`].
    ///
    /// # Errors
    /// As the engine has them; a conflict. Then nothing was written.
    fn commit(self) -> Result<Ticket, Self::Error>;
}
