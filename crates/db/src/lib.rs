//! An embedded, transactional, ordered key-value database on the page store.

mod background;
mod catalog;
mod check;
mod core;
mod db;
mod error;
mod layout;
mod mvcc;
mod node;
mod options;
mod pages;
mod pool;
mod record;
mod recovery;
mod scan;
mod space;
mod stats;
mod transaction;
mod tree;
pub mod wal;

pub use catalog::Table;
pub use check::{Check, Finding, TreeCheck};
pub use db::{Commit, Db, Instances};
pub use error::DbError;
pub use options::{Create, Options, Progress};
pub use pool::Replacement;
pub use recovery::Recovered;
pub use scan::{Direction, Scan};
pub use space::Observer;
pub use stats::Stats;
pub use transaction::{LONGEST_VALUE, Transaction};
