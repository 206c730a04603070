//! Runs a workload on several threads, and reports the results.
//!
//! A transaction counts, and its latency ends, when it is durable. But its worker does not wait for
//! that: it continues, with a limited number of commits in flight. So an engine that makes many
//! commits durable at once is not measured as if each commit waited alone for the disk.

mod flight;
mod report;

pub use report::{KindReport, Report};

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::{Done, Engine, Ticket, TransactionOutcome, Worker, Workload, crew};
use flight::{Flight, InFlight};
use report::DriverTally;

/// The condition that ends a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// After this time; commits in flight are still waited for.
    Time(Duration),
    /// After this number of transactions in all, divided evenly among the threads. Those that were
    /// rolled back or given up count too.
    Transactions(u64),
}

/// Options of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunOptions {
    /// Threads, each with a worker of its own.
    pub threads: usize,
    /// The condition that ends it.
    pub until: Until,
    /// The most commits that a worker has in flight before it waits for the oldest to be durable.
    /// With 0 it waits after each commit.
    pub in_flight: usize,
    /// The seed of the sequence of operations. With one thread, a fixed number of transactions
    /// and no conflicts the result is the same each time.
    pub seed: u64,
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions {
            threads: 1,
            until: Until::Time(Duration::from_secs(10)),
            in_flight: 64,
            seed: 42,
        }
    }
}

/// The progress of a run.
#[derive(Clone, Debug)]
pub struct RunProgress<'p> {
    /// Time since the run began.
    pub elapsed: Duration,
    /// The number of transactions done so far, for each of [`Workload::kinds`]: those that are
    /// durable, and those that their user rolled back.
    pub done: &'p [u64],
}

/// Runs a workload whose tables are loaded. About once a second it calls `observer` on the calling
/// thread with the progress; if `observer` returns false, the run ends early.
///
/// # Errors
/// The engine's first error, conflicts apart. The other threads stop, too.
pub fn run<E: Engine, W: Workload<E>>(
    engine: &E,
    workload: &W,
    options: RunOptions,
    mut observer: impl FnMut(RunProgress<'_>) -> bool,
) -> Result<Report, E> {
    let kinds = workload.kinds();
    let threads = options.threads.max(1);
    let counters: Vec<Counters> = (0..threads).map(|_| Counters::new(kinds.len())).collect();
    let mut done = vec![0; kinds.len()];
    let stop = AtomicBool::new(false);
    let start = Instant::now();
    let work = |index: usize| {
        let worker = workload.worker(options.seed, index);
        let limit = options.until.part(index, threads);
        Loop::new(engine, worker, &counters[index], kinds.len(), options.in_flight)
            .run(limit, &stop)
    };
    let time = match options.until {
        Until::Time(time) => Some(time),
        Until::Transactions(_) => None,
    };
    let look = || {
        done.fill(0);
        counters.iter().for_each(|each| each.add_to(&mut done));
        observer(RunProgress { elapsed: start.elapsed(), done: &done })
    };
    let tallies = crew::run(threads, time, &stop, work, look, Error::Thread)?;
    Ok(Report::of(kinds, threads, start.elapsed(), &tallies))
}

impl Until {
    /// The number of transactions that thread `index` runs.
    fn part(self, index: usize, threads: usize) -> u64 {
        match self {
            Until::Time(_) => u64::MAX,
            Until::Transactions(all) => {
                let (index, threads) = (index as u64, threads as u64);
                all / threads + u64::from(index < all % threads)
            }
        }
    }
}

/// The progress of one thread, for the observer.
struct Counters(Box<[AtomicU64]>);

impl Counters {
    /// Unused counters at both ends, so that no other thread writes to the same cache lines.
    const MARGIN: usize = 16;

    fn new(kinds: usize) -> Counters {
        Counters((0..kinds + 2 * Counters::MARGIN).map(|_| AtomicU64::new(0)).collect())
    }

    fn count(&self, kind: usize) {
        // Only one thread writes, so nothing can be lost between load and store.
        let counter = &self.0[Counters::MARGIN + kind];
        counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    fn add_to(&self, done: &mut [u64]) {
        for (sum, counter) in done.iter_mut().zip(&self.0[Counters::MARGIN..]) {
            *sum += counter.load(Ordering::Relaxed);
        }
    }
}

/// One thread at work.
struct Loop<'r, E: Engine, W> {
    engine: &'r E,
    worker: W,
    counters: &'r Counters,
    flight: Flight,
    tally: DriverTally,
}

impl<'r, E: Engine, W: Worker<E>> Loop<'r, E, W> {
    fn new(
        engine: &'r E,
        worker: W,
        counters: &'r Counters,
        kinds: usize,
        in_flight: usize,
    ) -> Loop<'r, E, W> {
        let (flight, tally) = (Flight::new(in_flight), DriverTally::new(kinds));
        Loop { engine, worker, counters, flight, tally }
    }

    fn run(mut self, transactions: u64, stop: &AtomicBool) -> Result<DriverTally, E> {
        // One look at the clock is both the end of a transaction and the beginning of the next.
        let mut now = Instant::now();
        let mut left = transactions;
        while left > 0 && !stop.load(Ordering::Relaxed) {
            let started = now;
            let done = self.worker.step(self.engine)?;
            now = Instant::now();
            self.end(done, started, now);
            self.land(self.engine.durable(), now);
            if let Some(ticket) = self.flight.overdue() {
                now = self.wait(ticket)?;
            }
            left -= 1;
        }
        if let Some(ticket) = self.flight.newest() {
            self.wait(ticket)?;
        }
        self.tally.cpu = cpu_time_of_this_thread();
        Ok(self.tally)
    }

    fn end(&mut self, done: Done, started: Instant, now: Instant) {
        let kind = done.kind;
        self.tally.retried(kind, done.retries);
        match done.outcome {
            TransactionOutcome::Committed(ticket) => {
                self.flight.push(InFlight { ticket, kind, started })
            }
            TransactionOutcome::RolledBack => {
                self.counters.count(kind);
                self.tally.rolled_back(kind, now - started);
            }
            TransactionOutcome::Abandoned => self.tally.abandoned(kind),
        }
    }

    fn wait(&mut self, ticket: Ticket) -> Result<Instant, E> {
        self.engine.wait(ticket)?;
        let now = Instant::now();
        // The engine may report its progress late, but after the wait this ticket is certainly
        // durable.
        self.land(self.engine.durable().max(ticket), now);
        Ok(now)
    }

    /// Counts the commits that are durable now.
    fn land(&mut self, durable: Ticket, now: Instant) {
        while let Some(landed) = self.flight.pop(durable) {
            self.counters.count(landed.kind);
            self.tally.committed(landed.kind, now - landed.started);
        }
    }
}

fn cpu_time_of_this_thread() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}
