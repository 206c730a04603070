//! Workloads, written once over a small table trait.
//!
//! An engine implements [`Engine`] and [`Transaction`]; then every workload here can be loaded
//! into it and run by [`driver::run`]. Everything is generic over the engine and compiled for it,
//! and once a worker runs it allocates nothing of its own: what is measured is the engine.

mod attempt;
mod condition;
mod crew;
pub mod driver;
mod engine;
mod error;
mod field;
mod frostline;
mod ids;
pub mod linkbench;
mod loading;
pub mod memory;
mod random;
pub mod tpcc;
mod workload;
pub mod ycsb;
mod zipf;

pub use condition::Condition;
pub use engine::{Access, Direction, Engine, Ticket, Transaction, Visit};
pub use error::{Error, Result};
pub use loading::{Loaded, Loading};
pub use workload::{Done, Outcome, Worker, Workload};
