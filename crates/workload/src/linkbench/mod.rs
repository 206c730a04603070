//! A workload like LinkBench (Armstrong et al., "LinkBench: a database benchmark based on the
//! Facebook social graph", SIGMOD'13) over a table trait: a graph of nodes and of links between
//! them, read in lists, with a count of each list.
//!
//! The operations and their shares are the paper's. Approximated are the sizes of payloads, the
//! number of links of a node (see the module `degree`) and the popularity of nodes (see `choice`).
//! Other differences: there are two kinds of link, as in its configuration; the links of a list
//! stand side by side and are sorted by time when they are read, where the paper's schema has an
//! index; payloads do not compress; a time is the number of a transaction among those of its
//! worker.

mod check;
mod choice;
mod degree;
mod loading;
mod mix;
mod rows;
mod session;
mod tables;
mod worker;

#[cfg(test)]
mod tests;

pub use worker::LinkBenchWorker;

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::attempt::{End, attempt};
use crate::condition::Condition;
use crate::error::{Error, Result};
use crate::ids::Ids;
use crate::loading::{LoadProgress, Loading};
use crate::random::Random;
use crate::{Access, Contents, Direction, Engine, Transaction, Workload};
use choice::Choice;
use rows::NodeId;
use tables::Tables;

/// Options of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkBenchOptions {
    /// Nodes to load, 1 or more; there are about four times as many links. A database that is
    /// loaded already must have the same number.
    pub nodes: u64,
}

impl LinkBenchOptions {
    /// The data that are loaded.
    pub fn contents(&self) -> Contents {
        Contents::new("linkbench", 1, &[("nodes", self.nodes)])
    }
}

/// The workload over the tables of one engine.
#[derive(Clone, Debug)]
pub struct LinkBench<T> {
    tables: Tables<T>,
    nodes: u64,
    ids: Arc<Ids>,
}

impl<T: Copy + Send + Sync> LinkBench<T> {
    /// Opens the tables, which may still be empty. New nodes get numbers after the last existing
    /// one.
    ///
    /// # Errors
    /// The options are invalid; errors of the engine.
    pub fn open<E: Engine<Table = T>>(
        engine: &E,
        options: LinkBenchOptions,
    ) -> Result<LinkBench<T>, E> {
        if options.nodes == 0 {
            return Err(Error::Options { what: "nodes", why: "there must be at least one" });
        }
        let tables = Tables::open(engine)?;
        let last = last_node(engine, &tables)?.max(options.nodes);
        Ok(LinkBench { tables, nodes: options.nodes, ids: Arc::new(Ids::from(last + 1)) })
    }

    /// Fills the tables, which must be empty, and waits until they are durable. No transaction puts
    /// more than 1,000 records. About once a second it calls `observer` on the calling thread with
    /// the progress; if `observer` returns false, loading ends.
    ///
    /// # Errors
    /// An error of the engine.
    pub fn load<E: Engine<Table = T>>(
        &self,
        engine: &E,
        loading: Loading,
        observer: &mut dyn FnMut(LoadProgress) -> bool,
    ) -> Result<LoadProgress, E> {
        let contents = LinkBenchOptions { nodes: self.nodes }.contents();
        loading::load(engine, &self.tables, self.nodes, &contents, loading, observer)
    }

    /// Checks that every list has as many visible links as its count says, and that rows have their
    /// fields. No transaction may run meanwhile.
    ///
    /// # Errors
    /// An error of the engine.
    pub fn check<E: Engine<Table = T>>(&self, engine: &E) -> Result<Vec<Condition>, E> {
        check::check(engine, &self.tables, self.ids.settled())
    }
}

impl<E: Engine> Workload<E> for LinkBench<E::Table> {
    type Worker = LinkBenchWorker<E::Table>;

    fn kinds(&self) -> &'static [&'static str] {
        &mix::KINDS
    }

    fn worker(&self, seed: u64, index: usize) -> LinkBenchWorker<E::Table> {
        // These random streams differ from those of loading.
        let random = Random::stream(!seed, index as u64);
        LinkBenchWorker::new(self.tables, Arc::clone(&self.ids), Choice::new(self.nodes), random)
    }
}

/// The largest number of a node; 0 if there are no nodes.
fn last_node<E: Engine>(engine: &E, tables: &Tables<E::Table>) -> Result<NodeId, E> {
    let mut last = 0;
    attempt(engine, Access::ReadOnly, |transaction| {
        transaction.scan(tables.nodes, &[u8::MAX; 8], Direction::Backward, &mut |key, _| {
            last = rows::leading_node(key).unwrap_or(0);
            ControlFlow::Break(())
        })?;
        Ok(End::Commit)
    })?;
    Ok(last)
}
