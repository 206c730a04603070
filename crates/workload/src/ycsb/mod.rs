//! YCSB (Cooper et al., "Benchmarking cloud serving systems with YCSB", SoCC'10) over a table
//! trait: operations on single records of one table.
//!
//! There are the core workloads A to F, and two with only or half updates. A record has one value
//! of random bytes, which do not compress; an update writes it as a whole. Keys are 8 bytes: a
//! permutation of all 64-bit numbers, applied to the record's number. So likely records are
//! scattered all over the table, and no two share a key (the paper's hash may map two to one key).

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
use crate::loading::{LoadProgress, Loading};
use crate::random::Random;
use crate::{Contents, Engine, Workload};

/// The table's name.
const NAME: &str = "ycsb.usertable";

/// Options of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct YcsbOptions {
    /// The shares of the operations.
    pub mix: Mix,
    /// The choice of records for the operations.
    pub distribution: Distribution,
    /// Records to load, 1 or more.
    pub records: u64,
    /// Bytes of a value.
    pub value_bytes: usize,
    /// Operations in a transaction, 1 or more.
    pub operations_per_transaction: u32,
    /// Transactions that a worker draws before it runs them, 1 or more. If they are several, it
    /// says first which records they need, so that an engine may read these at once.
    pub drawn_together: u32,
    /// The order in which records are loaded.
    pub load_order: LoadOrder,
}

impl Default for YcsbOptions {
    /// Workload A on a million records of 1,000 bytes, the paper's size.
    fn default() -> YcsbOptions {
        YcsbOptions {
            mix: Mix::NAMED[0].1,
            distribution: Distribution::Zipf(distribution::THETA),
            records: 1_000_000,
            value_bytes: 1000,
            operations_per_transaction: 1,
            drawn_together: 1,
            load_order: LoadOrder::Hashed,
        }
    }
}

impl YcsbOptions {
    /// The loaded contents: records and their size. The operations of a run make no difference.
    pub fn contents(&self) -> Contents {
        let numbers = [("records", self.records), ("bytes a value", self.value_bytes as u64)];
        Contents::new("ycsb", 1, &numbers)
    }

    /// The first invalid option, if there is one, and the reason.
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
        if self.drawn_together == 0 {
            return Some(("transactions drawn together", "there must be at least one"));
        }
        None
    }
}

/// The benchmark over the table of one engine.
#[derive(Clone, Debug)]
pub struct Ycsb<T> {
    table: T,
    options: YcsbOptions,
    ids: Arc<Ids>,
}

impl<T: Copy + Send + Sync> Ycsb<T> {
    /// Opens the table, which may still be empty.
    ///
    /// Records that a run inserts get numbers after the last existing one.
    ///
    /// # Errors
    /// The options are invalid; errors of the engine.
    pub fn open<E: Engine<Table = T>>(engine: &E, options: YcsbOptions) -> Result<Ycsb<T>, E> {
        match options.flaw() {
            Some((what, why)) => Err(Error::Options { what, why }),
            None => {
                let table = engine.table(NAME)?;
                let next = inserted::next(engine, table, options.records)?;
                Ok(Ycsb { table, options, ids: Arc::new(Ids::from(next)) })
            }
        }
    }

    /// Fills the table, and waits until it is durable. No transaction puts more than 1,000 records,
    /// nor more than 256 KiB, unless one record is larger. About once a second it calls `observer`
    /// on the calling thread with the progress; if `observer` returns false, loading ends.
    ///
    /// # Errors
    /// An error of the engine.
    pub fn load<E: Engine<Table = T>>(
        &self,
        engine: &E,
        loading: Loading,
        observer: &mut dyn FnMut(LoadProgress) -> bool,
    ) -> Result<LoadProgress, E> {
        loading::load(engine, self.table, &self.options, loading, observer)
    }

    /// Checks that exactly the expected records exist, and that their values have the right length.
    /// No transaction may run meanwhile.
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
        // These random streams differ from those of loading.
        let random = Random::stream(!seed, index as u64);
        YcsbWorker::new(self.table, self.options, Arc::clone(&self.ids), random)
    }
}

/// The key of record `id`.
#[inline]
fn key(id: u64) -> [u8; 8] {
    frostline_random::mix(id).to_be_bytes()
}
