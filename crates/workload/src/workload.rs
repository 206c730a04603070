//! A workload in the view of the driver.

use crate::error::Result;
use crate::{Engine, Ticket};

/// A mix of transactions over loaded tables.
pub trait Workload<E: Engine>: Sync {
    /// The part of the workload that one thread runs.
    type Worker: Worker<E>;

    /// The names of the kinds of transaction; [`Done::kind`] counts them from 0.
    fn kinds(&self) -> &'static [&'static str];

    /// Worker `index` of a run: the same seed and index give the same sequence of operations.
    fn worker(&self, seed: u64, index: usize) -> Self::Worker;
}

/// One thread's part of a workload.
pub trait Worker<E: Engine> {
    /// Runs one transaction to its end, without waiting until it is durable.
    ///
    /// # Errors
    /// An error of the engine other than a conflict; after a conflict the transaction is tried
    /// again.
    fn step(&mut self, engine: &E) -> Result<Done, E>;
}

/// A transaction that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Its index in [`Workload::kinds`].
    pub kind: usize,
    /// Its outcome.
    pub outcome: TransactionOutcome,
    /// The number of retries after conflicts.
    pub retries: u32,
}

/// The outcome of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionOutcome {
    /// Committed; durable once the engine has reached the ticket.
    Committed(Ticket),
    /// Rolled back as its user wanted; it counts as done.
    RolledBack,
    /// Given up after too many conflicts, without any effect.
    Abandoned,
}
