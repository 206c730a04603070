//! TPC-C (revision 5.11) over a table trait: order entry of a wholesale supplier.
//!
//! All nine tables, all five transactions with their mix, and the population are the standard's.
//! Left out: there are no terminals, so no keying and think times; a worker draws warehouse and
//! district anew for each transaction; dates are numbers (see the module `rows`); and what is
//! displayed is computed, but not shown.

mod buffers;
mod chance;
mod consistency;
mod deck;
mod delivery;
mod keys;
mod new_order;
mod order_status;
mod payment;
mod payments;
mod population;
mod rows;
mod scale;
mod selection;
mod session;
mod stock_level;
mod tables;
#[cfg(test)]
mod tests;
mod trim;
mod worker;

pub use scale::Scale;
pub use worker::TpccWorker;

use crate::condition::Condition;
use crate::error::{Error, Result};
use crate::loading::{Loaded, Loading};
use crate::random::Random;
use crate::{Contents, Engine, Workload};
use tables::Tables;

/// The index of New-Order among the kinds; its number per minute is the benchmark's result (tpmC):
/// those that were rolled back count.
pub const NEW_ORDER: usize = deck::Kind::NewOrder as usize;

/// Options of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The amount of data. It must be that which was loaded.
    pub scale: Scale,
    /// Delete old orders and old rows of history at the rate at which new ones come, so that the
    /// data stay the same size however long it runs; deliver as fast as is ordered. The
    /// transactions that delete are of their own kind, `trim`. This is then not TPC-C by the
    /// letter, whose data grow.
    pub steady: bool,
}

impl Options {
    /// The options that say what is loaded: all but `steady`, with or without which a run can go
    /// on.
    pub fn contents(&self) -> Contents {
        let Scale { warehouses, items, customers } = self.scale;
        let numbers = [
            ("warehouses", warehouses.into()),
            ("items", items.into()),
            ("customers a district", customers.into()),
        ];
        Contents::new("tpcc", 1, &numbers)
    }
}

/// The benchmark over the tables of one engine.
#[derive(Clone, Copy, Debug)]
pub struct Tpcc<T> {
    tables: Tables<T>,
    options: Options,
}

impl<T: Copy + Send + Sync> Tpcc<T> {
    /// Opens the tables, which may still be empty.
    ///
    /// # Errors
    /// A scale that is impossible; what the engine failed with.
    pub fn open<E: Engine<Table = T>>(engine: &E, options: Options) -> Result<Tpcc<T>, E> {
        match options.scale.flaw() {
            Some((what, why)) => Err(Error::Options { what, why }),
            None => Ok(Tpcc { tables: Tables::open(engine)?, options }),
        }
    }

    /// Fills the tables (clause 4.3.3), which must be empty, and waits until they are durable.
    ///
    /// No transaction puts more than 1,000 records. `observer` hears about once a second how far
    /// it has come, on the calling thread; it breaks off by returning false, and what was loaded
    /// until then is of no use.
    ///
    /// # Errors
    /// An error of the engine.
    pub fn load<E: Engine<Table = T>>(
        &self,
        engine: &E,
        loading: Loading,
        observer: &mut dyn FnMut(Loaded) -> bool,
    ) -> Result<Loaded, E> {
        population::load(engine, &self.tables, &self.options, loading, observer)
    }

    /// Checks the consistency conditions of clause 3.3.2, and some that the indexes must hold, on
    /// what is in the tables: not only after loading, but whenever no transaction runs.
    ///
    /// # Errors
    /// The error of the engine; keys or rows of which nothing can be made. A condition that
    /// does not hold is no error.
    pub fn check<E: Engine<Table = T>>(&self, engine: &E) -> Result<Vec<Condition>, E> {
        consistency::check(engine, &self.tables)
    }
}

impl<E: Engine> Workload<E> for Tpcc<E::Table> {
    type Worker = TpccWorker<E::Table>;

    fn kinds(&self) -> &'static [&'static str] {
        if self.options.steady { &deck::KINDS } else { &deck::KINDS[..deck::KINDS.len() - 1] }
    }

    fn worker(&self, seed: u64, index: usize) -> TpccWorker<E::Table> {
        TpccWorker::new(self.tables, &self.options, random_of_worker(seed, index))
    }
}

/// Streams of workers' chance are others than those of loading.
fn random_of_worker(seed: u64, index: usize) -> Random {
    Random::stream(!seed, index as u64)
}
