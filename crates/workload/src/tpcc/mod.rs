//! TPC-C (revision 5.11) over a table trait: order entry of a wholesale supplier.
//!
//! All nine tables, all five transactions with their mix, and the population are the standard's.
//! Differences: there are no terminals, so no keying and think times; a worker draws warehouse and
//! district anew for each transaction; dates are numbers (see the module `rows`); output is
//! computed, but not displayed.

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

pub use scale::{Scale, TpccOptions};
pub use worker::TpccWorker;

use crate::condition::Condition;
use crate::error::{Error, Result};
use crate::loading::{LoadProgress, Loading};
use crate::random::Random;
use crate::{Engine, Workload};
use tables::Tables;

/// The index of New-Order among the kinds. The benchmark's result (tpmC) is their number per
/// minute, including those that were rolled back.
pub const NEW_ORDER: usize = deck::TransactionKind::NewOrder as usize;

/// The benchmark over the tables of one engine.
#[derive(Clone, Copy, Debug)]
pub struct Tpcc<T> {
    tables: Tables<T>,
    options: TpccOptions,
}

impl<T: Copy + Send + Sync> Tpcc<T> {
    /// Opens the tables, which may still be empty.
    ///
    /// # Errors
    /// The scale is invalid; errors of the engine.
    pub fn open<E: Engine<Table = T>>(engine: &E, options: TpccOptions) -> Result<Tpcc<T>, E> {
        match options.scale.flaw() {
            Some((what, why)) => Err(Error::Options { what, why }),
            None => Ok(Tpcc { tables: Tables::open(engine)?, options }),
        }
    }

    /// Fills the tables (clause 4.3.3), which must be empty, and waits until they are durable.
    ///
    /// No transaction puts more than 1,000 records. About once a second it calls `observer` on the
    /// calling thread with the progress; if `observer` returns false, loading ends, and the data
    /// loaded so far can't be used.
    ///
    /// # Errors
    /// An error of the engine.
    pub fn load<E: Engine<Table = T>>(
        &self,
        engine: &E,
        loading: Loading,
        observer: &mut dyn FnMut(LoadProgress) -> bool,
    ) -> Result<LoadProgress, E> {
        population::load(engine, &self.tables, &self.options, loading, observer)
    }

    /// Checks the consistency conditions of clause 3.3.2, and some conditions of the indexes, on
    /// the content of the tables. It can be used not only after loading, but whenever no
    /// transaction runs.
    ///
    /// # Errors
    /// Errors of the engine; damaged keys or rows. A condition that does not hold is not an error.
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

/// The random numbers of a worker; the stream differs from those of loading.
fn random_of_worker(seed: u64, index: usize) -> Random {
    Random::stream(!seed, index as u64)
}
