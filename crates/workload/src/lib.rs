//! Workloads, written once over a small table trait.
//!
//! An engine implements [`Engine`] and [`Transaction`]; then every workload here can be loaded into
//! it and run by [`driver::run`]. The feature `frostline` implements them for Frostline's database.
//! The database keeps a note of its loaded contents ([`Contents`]). Everything is generic over the
//! engine and compiled for it, and a running worker allocates nothing itself: so the engine alone
//! is measured.
//!
//! ```
//! use frostline_workload::driver::{self, Until};
//! use frostline_workload::memory::MemoryEngine;
//! use frostline_workload::ycsb::{self, Ycsb};
//! use frostline_workload::{Engine, Loading};
//!
//! let engine = MemoryEngine::new();
//! let options = ycsb::YcsbOptions { records: 1000, value_bytes: 100, ..ycsb::YcsbOptions::default() };
//! let ycsb = Ycsb::open(&engine, options)?;
//! ycsb.load(&engine, Loading::default(), &mut |_| true)?;
//! let run = driver::RunOptions { until: Until::Transactions(5000), ..driver::RunOptions::default() };
//! driver::run(&engine, &ycsb, run, |_| true)?;
//! assert!(ycsb.check(&engine)?.iter().all(|condition| condition.ok));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod attempt;
mod condition;
mod contents;
mod crew;
pub mod driver;
mod engine;
mod error;
mod field;
mod filling;
#[cfg(feature = "frostline")]
mod frostline;
mod ids;
pub mod linkbench;
mod loading;
pub mod memory;
mod random;
pub mod tpcc;
mod workload;
pub mod ycsb;

pub use condition::Condition;
pub use contents::Contents;
pub use engine::{Access, Direction, Engine, Ticket, Transaction, VisitRow};
pub use error::{Error, Result};
pub use loading::{LoadProgress, Loading};
pub use workload::{Done, TransactionOutcome, Worker, Workload};
