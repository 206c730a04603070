//! What a bench of databases needs of a workload.

use frostline_db::{Db, DbError};
use frostline_workload::{Condition, Contents, Error, Loaded, Loading, Workload};

/// Why a workload could not go on.
pub type WorkloadError = Error<DbError>;

/// A workload that can be loaded into databases, run, and checked.
pub trait Benchmark: Sync {
    /// The workload over the tables of one database.
    type Opened: Workload<Db>;

    /// The command.
    const COMMAND: &'static str;

    /// Transactions of a thread in a second for whose growth there is room: more than come.
    const RATE: u64;

    /// The workload in words: what was loaded, and what is done with it.
    fn describe(&self) -> String;

    /// Bytes of pages after loading, rather more than less.
    fn loaded_bytes(&self) -> u64;

    /// Bytes of pages by which a transaction makes them grow, rather more than less.
    fn grown_bytes(&self) -> u64;

    /// The kind of transaction whose number a minute is the result, if there is one.
    fn counted_kind(&self) -> Option<usize>;

    /// What is loaded, as the database notes it.
    fn contents(&self) -> Contents;

    /// Opens the tables of a database, which may still be empty.
    fn open(&self, db: &Db) -> Result<Self::Opened, WorkloadError>;

    /// Fills the tables. `observer` hears how far it is, and breaks off by returning false.
    fn load(
        &self,
        opened: &Self::Opened,
        db: &Db,
        loading: Loading,
        observer: &mut dyn FnMut(Loaded) -> bool,
    ) -> Result<Loaded, WorkloadError>;

    /// Checks what must be so of the data while no transaction runs.
    fn check(&self, opened: &Self::Opened, db: &Db) -> Result<Vec<Condition>, WorkloadError>;
}
