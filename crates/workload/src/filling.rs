//! Filling tables by several threads, in transactions of bounded size.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::error::{Error, Result};
use crate::random::Random;
use crate::{
    Access, Contents, Engine, LoadProgress, Loading, Ticket, Transaction, TransactionOutcome,
    attempt, crew,
};

/// Calls `fill` for each part from 0 to `parts`, on several threads, and waits until everything is
/// durable. Calls `observer` on the calling thread with the progress, before the first part and
/// then about once a second; if it returns false, loading ends. The database notes the load before
/// the first part, and after the last part that the load is complete.
pub(crate) fn in_parts<E: Engine>(
    engine: &E,
    contents: &Contents,
    loading: Loading,
    parts: u64,
    observer: &mut dyn FnMut(LoadProgress) -> bool,
    fill: impl Fn(u64, &mut Batches<'_, E>) -> Result<(), E> + Sync,
) -> Result<LoadProgress, E> {
    contents.begin(engine, loading)?;
    let stop = AtomicBool::new(false);
    let (next, done, records) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let so_far = || LoadProgress {
        records: records.load(Ordering::Relaxed),
        parts: done.load(Ordering::Relaxed),
        parts_in_all: parts,
    };
    if !observer(so_far()) {
        return Ok(so_far());
    }
    let work = |_| {
        while !stop.load(Ordering::Relaxed) {
            let part = next.fetch_add(1, Ordering::Relaxed);
            if part >= parts {
                break;
            }
            let mut batches = Batches::new(engine, Random::stream(loading.seed, part), &records);
            fill(part, &mut batches)?;
            engine.wait(batches.last)?;
            done.fetch_add(1, Ordering::Relaxed);
        }
        Ok::<(), Error<E::Error>>(())
    };
    crew::run(loading.threads, None, &stop, work, || observer(so_far()), Error::Thread)?;
    if so_far().is_complete() {
        contents.complete(engine, loading)?;
    }
    Ok(so_far())
}

/// The transactions that load one part.
pub(crate) struct Batches<'e, E: Engine> {
    engine: &'e E,
    /// Random numbers for the part as a whole.
    pub(crate) random: Random,
    records: &'e AtomicU64,
    last: Ticket,
}

impl<'e, E: Engine> Batches<'e, E> {
    fn new(engine: &'e E, random: Random, records: &'e AtomicU64) -> Batches<'e, E> {
        Batches { engine, random, records, last: Ticket(0) }
    }

    /// Calls `put` for each number, with `to_a_batch` numbers in a transaction, or fewer if the
    /// engine does not take so many. If `put` is called again with the same number and the same
    /// random numbers, it must put the same records.
    pub(crate) fn each(
        &mut self,
        numbers: Range<u64>,
        to_a_batch: u64,
        mut put: impl FnMut(&mut LoadBatch<'_, 'e, E>, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        assert!(to_a_batch > 0, "a batch has numbers");
        let (mut start, mut most) = (numbers.start, to_a_batch);
        while start < numbers.end {
            let end = numbers.end.min(start + most);
            match self.one(|batch| (start..end).try_for_each(|number| put(batch, number))) {
                Err(Error::Engine(error)) if end - start > 1 && E::is_too_large(&error) => {
                    most = (end - start) / 2;
                }
                result => {
                    result?;
                    start = end;
                }
            }
        }
        Ok(())
    }

    fn one(
        &mut self,
        mut fill: impl FnMut(&mut LoadBatch<'_, 'e, E>) -> Result<(), E>,
    ) -> Result<(), E> {
        let before = self.random.clone();
        let mut records = 0;
        let random = &mut self.random;
        let outcome = attempt::attempt(self.engine, Access::ReadWrite, |transaction| {
            *random = before.clone();
            let mut batch = LoadBatch { transaction, random, records: 0 };
            fill(&mut batch)?;
            records = batch.records;
            Ok(attempt::End::Commit)
        });
        if outcome.is_err() {
            self.random = before;
        }
        let (outcome, _) = outcome?;
        let TransactionOutcome::Committed(ticket) = outcome else {
            return Err(Error::Options { what: "load", why: "conflicts with other transactions" });
        };
        self.last = ticket;
        self.records.fetch_add(records, Ordering::Relaxed);
        Ok(())
    }
}

/// A loading transaction.
pub(crate) struct LoadBatch<'b, 'e, E: Engine + 'e> {
    transaction: &'b mut E::Transaction<'e>,
    /// Random numbers for the records.
    pub(crate) random: &'b mut Random,
    records: u64,
}

impl<'e, E: Engine + 'e> LoadBatch<'_, 'e, E> {
    /// Puts a record.
    pub(crate) fn put(&mut self, table: E::Table, key: &[u8], value: &[u8]) -> Result<(), E> {
        self.records += 1;
        Ok(self.transaction.put(table, key, value)?)
    }
}
