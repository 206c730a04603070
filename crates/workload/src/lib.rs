//! Workloads, written once over a small table trait.

mod engine;

pub use engine::{Access, Direction, Engine, Ticket, Transaction};
