//! An embedded, transactional, ordered key-value database on the page store.
//!
//! Tables of keys and values, ordered by key, are kept in B+-trees whose pages lie on a zoned
//! device, through the page store: data may be much larger than memory, a commit survives any
//! crash, and what the database writes to the drive, and what cleaning adds to it, is counted.
//!
//! ```
//! use frostline_db::{Create, Db, DbError, Direction, Options, key};
//! use frostline_zone::{Shape, in_memory};
//!
//! // A file (`file:PATH`) or a drive is made and opened in the same way.
//! let device = in_memory(&Shape { bytes: 64 << 20, ..Shape::default() })?;
//! Db::create(&device, &Create::default())?;
//! let db = Db::open(&device, &Options::default())?;
//! let stock = db.create_table("stock")?;
//!
//! let mut order = db.begin()?;
//! order.put(stock, &key::encode(&("bolt", 8u32)), b"120 left")?;
//! order.put(stock, &key::encode(&("nut", 8u32)), b"80 left")?;
//! order.commit()?; // both are durable, or neither is
//!
//! let look = db.begin_read()?; // sees what is committed now, and no later commit
//! let mut sale = db.begin()?;
//! sale.delete(stock, &key::encode(&("nut", 8u32)))?;
//! sale.commit()?;
//!
//! let mut parts = look.scan(stock, &key::encode(&("bolt",)), Direction::Forward);
//! let mut seen = Vec::new();
//! while let Some((key, value)) = parts.next()? {
//!     let part = key::decode::<(String, u32)>(key);
//!     seen.push((part, String::from_utf8_lossy(value).into_owned()));
//! }
//! assert_eq!(seen[0], (Some(("bolt".to_string(), 8)), "120 left".to_string()));
//! assert_eq!(seen.len(), 2);
//! drop(parts);
//! drop(look);
//! db.close()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Transactions
//!
//! A [`Transaction`] is atomic and isolated by snapshots; of two that write the same key the first
//! to commit wins, and the other fails with [`DbError::Conflict`] and can be tried again. Readers
//! never wait. [`Transaction::commit`] returns when the commit is durable; many threads share one
//! write to the log, and [`Transaction::commit_soon`] lets a single thread do so as well.
//!
//! # The way of a page
//!
//! Found and changed in memory (`tree/`), without latches on the way down; logged before that
//! (`transaction/`, `wal/`); given up and written when its memory is needed, with its hotness
//! record (`pool/`); placed, cleaned and read back by the store; recovered from the log
//! (`recovery/`). docs/database.md has the formats, and argues why no crash loses a commit.

mod admission;
mod aio;
mod background;
mod backoff;
mod catalog;
mod check;
mod checkpoint;
mod core;
mod db;
mod direction;
mod error;
pub mod key;
mod layout;
mod log_use;
mod logs;
mod metrics;
mod mvcc;
mod node;
mod number;
mod options;
mod overflow;
mod pages;
mod pool;
mod promised;
mod record;
mod recovery;
mod room;
mod scan;
mod space;
mod splits_owed;
mod stats;
mod tables;
mod transaction;
mod tree;
mod unlisted;
mod view;
pub mod wal;

pub use aio::{Aio, Step};
pub use catalog::Table;
pub use check::{Check, Finding, TreeCheck};
pub use db::{Databases, Db};
pub use direction::Direction;
pub use error::DbError;
pub use mvcc::VersionStats;
pub use options::{Create, Options, Progress, Replacement};
pub use overflow::{LONGEST_VALUE, LongValue, ValueReader, ValueWriter};
pub use recovery::Recovered;
pub use scan::Scan;
pub use stats::Stats;
pub use tables::TableSize;
pub use transaction::{Commit, Savepoint, Transaction};
