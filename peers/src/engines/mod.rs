//! The engines: one a file, each with what it was set to.

pub mod bf_tree;
mod direct_file;
pub mod fjall;
mod frostline;
pub mod lmdb;
mod prefix;
pub mod redb;
#[cfg(feature = "rocksdb")]
pub mod rocksdb;
pub mod sqlite;

use std::error::Error;

use frostline_workload::Engine;

use crate::conditions::Conditions;

/// The error that stops a run, in a line.
pub type Failure = Box<dyn Error + Send + Sync>;

/// An engine with a database under given conditions.
pub trait Peer: Engine + Sized {
    /// Opens the database of a directory, which is made if the directory is empty. Returns the
    /// engine, and its name, its version and what was set, in words.
    ///
    /// # Errors
    /// As the engine has them.
    fn open(conditions: &Conditions) -> Result<(Self, String), Failure>;

    /// The number of times that everything was made durable.
    ///
    /// # Errors
    /// As the engine has them.
    fn durable_points(&self) -> Result<u64, Failure>;

    /// Bytes that the engine itself says it wrote, by their purpose, where it says so.
    ///
    /// # Errors
    /// As the engine has them.
    fn own_counters(&self) -> Result<Vec<(&'static str, u64)>, Failure> {
        Ok(Vec::new())
    }

    /// Brings the database to rest.
    ///
    /// # Errors
    /// As the engine has them.
    fn close(self) -> Result<(), Failure>;
}

/// The names of the engines that were built in and have transactions.
pub const TRANSACTIONAL: &[&str] = &[
    "fjall",
    "frostline",
    "lmdb",
    "redb",
    #[cfg(feature = "rocksdb")]
    "rocksdb",
    "sqlite",
];

/// The names of those that change one record at a time. They run YCSB only, and only if they are
/// named.
pub const SINGLE_RECORDS: &[&str] = &["bf-tree"];
