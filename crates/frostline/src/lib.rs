//! The crate to add: an embedded database, a page store and a simulator of write traces. All three
//! use one engine, which decides where a page goes so that cleaning copies little.
//!
//! # The database
//!
//! ```
//! # let directory = tempfile::tempdir()?;
//! # std::env::set_current_dir(&directory)?;
//! let db = frostline::Db::open("my.frost")?; // made if absent; grows as needed up to a bound
//! let items = db.table("items")?; // made if absent
//! db.update(|tx| {
//!     tx.put(items, "a", "hello")?;
//!     tx.put(items, "b", "world")
//! })?; // run again on conflict
//! let look = db.read()?;
//! assert_eq!(look.get(items, "a")?.as_deref(), Some(&b"hello"[..]));
//! for kv in look.range(items, "a".."z").rev() {
//!     let (key, value) = kv?;
//! #   assert!([("a", "hello"), ("b", "world")].map(|(k, v)| (k.into(), v.into())).contains(&(key, value)));
//! }
//! look.prefix(items, "user:").take(10);
//! # assert_eq!(look.range(items, "a".."z").count(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Db`] has tables of keys and values, ordered by key. Its transactions are isolated by snapshots
//! and survive any crash once [`Db::update`] has returned. [`Options`] sets the memory, the largest
//! size, the scheme that places pages, and the device.
//!
//! [`Typed`] tables have keys and values of Rust's types. [`Db::begin`] begins a transaction that
//! the program commits itself, [`Db::update_soon`] does not wait for the device, and
//! [`Options::read_only`] opens a database that stays as it is. [`aio`] is the asynchronous form:
//! transactions that hold no thread while they need a page.
//!
//! # The simulator
//!
//! It comes with the feature `sim`:
//!
//! ```
//! # #[cfg(feature = "sim")] {
//! use frostline::sim::{self, Settings, Trace};
//!
//! let trace = Trace::of_pages((0..200_000).map(|write: u32| write.wrapping_mul(2_654_435_761) >> 20))?;
//! let outcome = sim::replay(&trace, "sepbit", "cost-benefit", &Settings::default())?;
//! println!("SepBIT writes {:.3} pages for each page of the user", outcome.counts.waf());
//! # assert!(outcome.counts.waf() > 1.0);
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Watching it
//!
//! With the feature `watch`, a program serves metrics and a page that draws the
//! zones of its database live:
//!
//! ```
//! # #[cfg(feature = "watch")] {
//! use std::sync::Arc;
//! use frostline::{Options, watch};
//!
//! let db = Arc::new(Options::new().bound(64 << 20).in_memory()?);
//! let watching = watch::Server::bind("127.0.0.1:0".parse()?)?.spawn(db.clone())?;
//! println!("http://{}/", watching.address());
//! # assert_eq!(watch::fetch(watching.address())?.scheme, "frostline");
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The parts
//!
//! [`engine`] is the database without this crate's conveniences, [`store`] the page store below it,
//! [`zone`] the devices below that, and [`placement`] the schemes and victim policies. With the
//! feature `sim`, `trace` has the formats of write traces.
//!
//! # Features
//!
//! All but `zstd` are off by default, so that a program with a database compiles nothing that it
//! does not use.
//!
//! | feature | what it adds |
//! |---|---|
//! | `sim` | the simulator, and traces |
//! | `parquet` | its traces in Parquet |
//! | `models` | schemes that train models, in a database; `sim` has it |
//! | `zstd` | the log of a database, pages and traces compressed with zstd, which needs a C compiler; without it the log has LZ4, and one with zstd that was not closed is not opened |
//! | `json` | values of typed tables that serde writes and reads, as JSON |
//! | `backup` | backups to a directory |
//! | `s3` | backups to a bucket of S3 |
//! | `watch` | metrics over HTTP, and a page that draws the zones |

pub mod aio;
#[cfg(feature = "backup")]
mod backup;
mod db;
mod error;
mod open;
mod options;
mod range;
mod retries;
#[cfg(feature = "sim")]
pub mod sim;
mod transaction;
mod typed;
mod value;

pub use db::Db;
pub use error::{Error, Result};
#[cfg(feature = "backup")]
pub use frostline_backup::{Backup, BackupError, Followed, Follower, Target};
pub use frostline_db::{Commit, Stats, Table, TableSize, ValueReader, ValueWriter};
pub use options::Options;
pub use range::{KeyValue, Range};
pub use retries::Retries;
pub use transaction::{Snapshot, Update};
pub use typed::{Typed, TypedRange};
#[cfg(feature = "json")]
pub use value::Json;
pub use value::Value;

pub use frostline_db as engine;
pub use frostline_placement as placement;
pub use frostline_store as store;
#[cfg(feature = "sim")]
pub use frostline_trace as trace;
#[cfg(feature = "watch")]
pub use frostline_watch as watch;
pub use frostline_zone as zone;
