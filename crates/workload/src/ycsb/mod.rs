//! YCSB (Cooper et al., "Benchmarking cloud serving systems with YCSB", SoCC'10) over a table
//! trait: operations on single records of one table.
//!
//! The core workloads A to F, and two of updates only or to a half. A record has one value of
//! random bytes, which do not compress; an update writes it as a whole. Keys are 8 bytes: the
//! record's number, put through a permutation of all 64-bit numbers, so that likely records are
//! scattered all over the table, and no two share a key (the paper's hash may make two alike).

mod check;
mod distribution;
mod inserted;
mod loading;
mod mix;
mod worker;

#[cfg(test)]
mod tests;

pub use distribution::{Distribution, ParseDistributionError};
pub use loading::LoadOrder;
pub use mix::{Mix, NamedMix, UnknownMix};
pub use worker::YcsbWorker;

use std::sync::Arc;

use crate::condition::Condition;
use crate::error::{Error, Result};
use crate::ids::Ids;
use crate::loading::{Loaded, Loading};
use crate::random::Random;
use crate::{Contents, Engine, Workload};

/// The table's name.
const NAME: &str = "ycsb.usertable";

/// Options of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// The shares of the operations.
    pub mix: Mix,
    /// The choice of records that they are about.
    pub distribution: Distribution,
    /// Records that are loaded, 1 or more.
    pub records: u64,
    /// Bytes of a value.
    pub value_bytes: usize,
    /// Operations of a transaction, 1 or more.
    pub operations_per_transaction: u32,
    /// In which order records are loaded.
    pub load_order: LoadOrder,
}

impl Default for Options {
    /// Workload A on a million records of 1,000 bytes, the size of the paper's.
    fn default() -> Options {
        Options {
            mix: Mix::NAMED[0].1,
            distribution: Distribution::Zipf(distribution::THETA),
            records: 1_000_000,
            value_bytes: 1000,
            operations_per_transaction: 1,
            load_order: LoadOrder::Hashed,
        }
    }
}

impl Options {
    /// The loaded data: records and their size. The operations that are run make no difference.
    pub fn contents(&self) -> Contents {
        let numbers = [("records", self.records), ("bytes a value", self.value_bytes as u64)];
        Contents::new("ycsb", 1, &numbers)
    }

    /// The option that is impossible, if one is, and the reason.
    fn flaw(&self) -> Option<(&'static str, &'static str)> {
        let (Distribution::Zipf(theta) | Distribution::Latest(theta)) = self.distribution else {
            return self.flaw_of_numbers();
        };
        match theta.is_finite() && theta >= 0.0 {
            true => self.flaw_of_numbers(),
            false => Some(("distribution", "the exponent must be 0 or more")),
        }
    }

    fn flaw_of_numbers(&self) -> Option<(&'static str, &'static str)> {
        if !self.mix.is_whole() {
            return Some(("mix", "the shares must be 100 in all"));
        }
        if self.records == 0 {
            return Some(("records", "there must be at least one"));
        }
        if self.operations_per_transaction == 0 {
            return Some(("operations per transaction", "there must be at least one"));
        }
        None
    }
}

/// The benchmark over the table of one engine.
#[derive(Clone, Debug)]
pub struct Ycsb<T> {
    table: T,
    options: Options,
    ids: Arc<Ids>,
}

impl<T: Copy + Send + Sync> Ycsb<T> {
    /// Opens the table, which may still be empty.
    ///
    /// Records that a run inserts are numbered on from the last that is there.
    ///
    /// # Errors
    /// Options that are impossible; what the engine failed with.
    pub fn open<E: Engine<Table = T>>(engine: &E, options: Options) -> Result<Ycsb<T>, E> {
        match options.flaw() {
            Some((what, why)) => Err(Error::Options { what, why }),
            None => {
                let table = engine.table(NAME)?;
                let next = inserted::next(engine, table, options.records)?;
                Ok(Ycsb { table, options, ids: Arc::new(Ids::from(next)) })
            }
        }
    }

    /// Fills the table, and waits until it is durable. No transaction puts more than 1,000
    /// records, nor more than 256 KiB, unless one record has more. `observer` hears about once a
    /// second how far it has come, on the calling thread, and breaks off by returning false.
    ///
    /// # Errors
    /// An error of the engine.
    pub fn load<E: Engine<Table = T>>(
        &self,
        engine: &E,
        loading: Loading,
        observer: &mut dyn FnMut(Loaded) -> bool,
    ) -> Result<Loaded, E> {
        loading::load(engine, self.table, &self.options, loading, observer)
    }

    /// Checks that all records are there, and no others, and that their values are as long as they
    /// should be. No transaction may run.
    ///
    /// # Errors
    /// An error of the engine.
    pub fn check<E: Engine<Table = T>>(&self, engine: &E) -> Result<Vec<Condition>, E> {
        check::check(engine, self.table, &self.options, self.ids.settled())
    }
}

impl<E: Engine> Workload<E> for Ycsb<E::Table> {
    type Worker = YcsbWorker<E::Table>;

    fn kinds(&self) -> &'static [&'static str] {
        &mix::KINDS
    }

    fn worker(&self, seed: u64, index: usize) -> YcsbWorker<E::Table> {
        // Other streams of chance than those of loading.
        let random = Random::stream(!seed, index as u64);
        YcsbWorker::new(self.table, self.options, Arc::clone(&self.ids), random)
    }
}

/// The key of record `id`.
#[inline]
fn key(id: u64) -> [u8; 8] {
    frostline_random::mix(id).to_be_bytes()
}
