//! Workloads that can be measured on databases.

use frostline_db::{Db, DbError, Table};
use frostline_workload::driver::{self, Report, RunOptions, RunProgress};
use frostline_workload::linkbench::LinkBench;
use frostline_workload::tpcc::Tpcc;
use frostline_workload::ycsb::Ycsb;
use frostline_workload::{Condition, Contents, Error, LoadProgress, Loading};

/// The error of a workload on a database.
pub type WorkloadError = Error<DbError>;

/// A workload with all its options. It can be loaded into databases, run, and checked.
pub trait Benchmark: Sync {
    /// An upper bound for the transactions of a thread in a second: a new device gets room for
    /// their growth.
    fn rate(&self) -> u64;

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
    fn open(&self, db: &Db) -> Result<Box<dyn Opened>, WorkloadError>;
}

/// The workload over the tables of one database. Its transactions are compiled once, in this crate,
/// and not again by those who call it.
pub trait Opened: Sync {
    /// Fills the tables. Calls `observer` with the progress; if `observer` returns false, loading
    /// ends.
    ///
    /// # Errors
    /// An error of the database.
    fn load(
        &self,
        db: &Db,
        loading: Loading,
        observer: &mut dyn FnMut(LoadProgress) -> bool,
    ) -> Result<LoadProgress, WorkloadError>;

    /// Runs the workload, as [`driver::run`] does.
    ///
    /// # Errors
    /// An error of the database.
    fn run(
        &self,
        db: &Db,
        options: RunOptions,
        observer: &mut dyn FnMut(RunProgress<'_>) -> bool,
    ) -> Result<Report, WorkloadError>;

    /// Checks the conditions that the data meet while no transaction runs.
    ///
    /// # Errors
    /// An error of the database.
    fn check(&self, db: &Db) -> Result<Vec<Condition>, WorkloadError>;
}

/// Implements [`Opened`] for workloads by methods of their own.
macro_rules! opened {
    ($($workload:ident),+) => {$(
        impl Opened for $workload<Table> {
            fn load(
                &self,
                db: &Db,
                loading: Loading,
                observer: &mut dyn FnMut(LoadProgress) -> bool,
            ) -> Result<LoadProgress, WorkloadError> {
                self.load(db, loading, observer)
            }

            fn run(
                &self,
                db: &Db,
                options: RunOptions,
                observer: &mut dyn FnMut(RunProgress<'_>) -> bool,
            ) -> Result<Report, WorkloadError> {
                driver::run(db, self, options, observer)
            }

            fn check(&self, db: &Db) -> Result<Vec<Condition>, WorkloadError> {
                self.check(db)
            }
        }
    )+};
}

opened!(LinkBench, Tpcc, Ycsb);
