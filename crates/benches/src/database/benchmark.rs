//! Workloads that can be measured on databases.

use frostline_db::{Db, DbError};
use frostline_workload::{Condition, Contents, Error, LoadProgress, Loading, Workload};

/// The error of a workload on a database.
pub type WorkloadError = Error<DbError>;

/// A workload with all its options. It can be loaded into databases, run, and checked.
pub trait Benchmark: Sync {
    /// The workload over the tables of one database.
    type Opened: Workload<Db> + Sync;

    /// An upper bound for the transactions of a thread in a second: a new device gets room for
    /// their growth.
    const RATE: u64;

    /// The workload in words: its data and its operations.
    fn describe(&self) -> String;

    /// Bytes of pages after loading, estimated high.
    fn loaded_bytes(&self) -> u64;

    /// Bytes by which a transaction makes the pages grow, estimated high.
    fn grown_bytes(&self) -> u64;

    /// The kind of transaction whose number per minute is the result, if there is one.
    fn counted_kind(&self) -> Option<usize>;

    /// The loaded contents, as the database notes them.
    fn contents(&self) -> Contents;

    /// Opens the tables of a database, which may still be empty.
    ///
    /// # Errors
    /// The options are invalid; an error of the database.
    fn open(&self, db: &Db) -> Result<Self::Opened, WorkloadError>;

    /// Fills the tables. Calls `observer` with the progress; if `observer` returns false, loading
    /// ends.
    ///
    /// # Errors
    /// An error of the database.
    fn load(
        &self,
        opened: &Self::Opened,
        db: &Db,
        loading: Loading,
        observer: &mut dyn FnMut(LoadProgress) -> bool,
    ) -> Result<LoadProgress, WorkloadError>;

    /// Checks the conditions that the data meet while no transaction runs.
    ///
    /// # Errors
    /// An error of the database.
    fn check(&self, opened: &Self::Opened, db: &Db) -> Result<Vec<Condition>, WorkloadError>;
}
