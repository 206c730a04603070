//! Workloads that can be measured on databases.

use frostline_db::{Db, DbError};
use frostline_workload::{Condition, Contents, Error, Loaded, Loading, Workload};

/// The error of a workload on a database.
pub type WorkloadError = Error<DbError>;

/// A workload with all its options, that can be loaded into databases, run, and checked.
pub trait Benchmark: Sync {
    /// The workload over the tables of one database.
    type Opened: Workload<Db> + Sync;

    /// Transactions of a thread in a second, more than there are: a new device has room for their
    /// growth.
    const RATE: u64;

    /// The workload in words: the loaded data, and the operations on it.
    fn describe(&self) -> String;

    /// Bytes of pages after loading, rather more than less.
    fn loaded_bytes(&self) -> u64;

    /// Bytes of pages by which a transaction makes them grow, rather more than less.
    fn grown_bytes(&self) -> u64;

    /// The kind of transaction whose number a minute is the result, if there is one.
    fn counted_kind(&self) -> Option<usize>;

    /// The contents that are loaded, as the database notes them.
    fn contents(&self) -> Contents;

    /// Opens the tables of a database, which may still be empty.
    ///
    /// # Errors
    /// Options that are impossible; an error of the database.
    fn open(&self, db: &Db) -> Result<Self::Opened, WorkloadError>;

    /// Fills the tables. `observer` is called with how much is loaded, and stops it by returning
    /// false.
    ///
    /// # Errors
    /// An error of the database.
    fn load(
        &self,
        opened: &Self::Opened,
        db: &Db,
        loading: Loading,
        observer: &mut dyn FnMut(Loaded) -> bool,
    ) -> Result<Loaded, WorkloadError>;

    /// Checks the conditions that hold of the data while no transaction runs.
    ///
    /// # Errors
    /// An error of the database.
    fn check(&self, opened: &Self::Opened, db: &Db) -> Result<Vec<Condition>, WorkloadError>;
}
