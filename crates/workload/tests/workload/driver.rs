//! The driver, with a workload of one key.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use frostline_workload::driver::{self, RunOptions, Until};
use frostline_workload::memory::{MemoryEngine, MemoryError, MemoryTransaction};
use frostline_workload::{
    Access, Done, Engine, Error, Result, Ticket, Transaction, TransactionOutcome, Worker, Workload,
};

/// Counts a key up; every tenth transaction is rolled back.
struct Count;

struct Counter {
    steps: u64,
}

impl<E: Engine> Workload<E> for Count {
    type Worker = Counter;

    fn kinds(&self) -> &'static [&'static str] {
        &["count", "regret"]
    }

    fn worker(&self, _seed: u64, _index: usize) -> Counter {
        Counter { steps: 0 }
    }
}

impl<E: Engine> Worker<E> for Counter {
    fn step(&mut self, engine: &E) -> Result<Done, E> {
        self.steps += 1;
        let table = engine.table("count")?;
        let mut transaction = engine.begin(Access::ReadWrite)?;
        let mut value = Vec::new();
        let found = transaction.get(table, b"key", &mut value)?;
        let count = if found { u64::from_le_bytes(value[..].try_into().unwrap()) } else { 0 };
        transaction.put(table, b"key", &(count + 1).to_le_bytes())?;
        if self.steps.is_multiple_of(10) {
            return Ok(Done { kind: 1, outcome: TransactionOutcome::RolledBack, retries: 2 });
        }
        let ticket = transaction.commit()?;
        Ok(Done { kind: 0, outcome: TransactionOutcome::Committed(ticket), retries: 0 })
    }
}

/// Records how far commits got ahead of the waits for them.
struct Watched {
    memory: MemoryEngine,
    committed: AtomicU64,
    waits: AtomicU64,
    furthest: AtomicU64,
}

impl Watched {
    fn new() -> Watched {
        Watched {
            memory: MemoryEngine::new().with_lag(u64::MAX),
            committed: AtomicU64::new(0),
            waits: AtomicU64::new(0),
            furthest: AtomicU64::new(0),
        }
    }
}

impl Engine for Watched {
    type Error = MemoryError;
    type Table = usize;
    type Transaction<'e> = MemoryTransaction<'e>;

    fn table(&self, name: &str) -> std::result::Result<usize, MemoryError> {
        self.memory.table(name)
    }

    fn begin(&self, access: Access) -> std::result::Result<MemoryTransaction<'_>, MemoryError> {
        self.committed.fetch_add(1, Ordering::Relaxed);
        self.memory.begin(access)
    }

    fn is_conflict(error: &MemoryError) -> bool {
        MemoryEngine::is_conflict(error)
    }

    fn durable(&self) -> Ticket {
        let durable = self.memory.durable();
        let ahead = self.committed.load(Ordering::Relaxed) - durable.0;
        self.furthest.fetch_max(ahead, Ordering::Relaxed);
        durable
    }

    fn wait(&self, ticket: Ticket) -> std::result::Result<(), MemoryError> {
        self.waits.fetch_add(1, Ordering::Relaxed);
        self.memory.wait(ticket)
    }
}

fn transactions(threads: usize, transactions: u64) -> RunOptions {
    RunOptions { threads, until: Until::Transactions(transactions), ..RunOptions::default() }
}

#[test]
fn a_fixed_number_of_transactions_is_exact_in_total() {
    for (threads, wanted) in [(1, 0), (1, 1), (3, 1000), (4, 3)] {
        let engine = MemoryEngine::new().with_lag(50);
        let report = driver::run(&engine, &Count, transactions(threads, wanted), |_| true).unwrap();
        assert_eq!(report.done(), wanted);
        assert_eq!(report.threads, threads);
        let count = engine.contents().remove("count").unwrap_or_default();
        let count =
            count.get(&b"key"[..]).map_or(0, |n| n[..].try_into().map_or(0, u64::from_le_bytes));
        assert_eq!(count, report.kinds[0].committed);
    }
}

#[test]
fn kinds_outcomes_retries_and_latencies_are_told_apart() {
    let report = driver::run(&MemoryEngine::new(), &Count, transactions(1, 100), |_| true).unwrap();
    let [count, regret] = &report.kinds[..] else { panic!("two kinds") };
    assert_eq!(
        (count.name, count.committed, count.rolled_back, count.retries),
        ("count", 90, 0, 0)
    );
    assert_eq!((regret.name, regret.committed, regret.rolled_back), ("regret", 0, 10));
    assert_eq!(regret.retries, 20);
    assert_eq!((count.latency.len(), regret.latency.len()), (90, 10));
    assert_eq!(report.latency().len(), 100);
    assert!(count.latency.max() < 600_000_000_000);
    assert!(report.cpu > Duration::ZERO && report.cpu <= report.elapsed * 2);
}

#[test]
fn no_more_commits_are_in_flight_than_allowed() {
    for in_flight in [0, 1, 8] {
        let engine = Watched::new();
        let options = RunOptions { in_flight, ..transactions(1, 90) };
        let report = driver::run(&engine, &Count, options, |_| true).unwrap();
        assert_eq!(report.done(), 90);
        // Nothing is durable here until it is waited for. Every tenth transaction commits nothing:
        // it was begun, but is not in flight.
        let furthest = engine.furthest.load(Ordering::Relaxed);
        assert!(furthest <= in_flight as u64 + 1 + 9, "{furthest}");
        assert!(furthest > in_flight as u64);
        // The worker waits once for each commit beyond the limit, and at the end for the rest.
        let rest = u64::from(in_flight > 0);
        assert_eq!(engine.waits.load(Ordering::Relaxed), 81 - in_flight as u64 + rest);
    }
}

#[test]
fn the_time_ends_a_run() {
    let until = Until::Time(Duration::from_millis(60));
    let start = Instant::now();
    let report = driver::run(
        &MemoryEngine::new(),
        &Count,
        RunOptions { until, ..RunOptions::default() },
        |_| true,
    )
    .unwrap();
    assert!(report.elapsed >= Duration::from_millis(60));
    assert!(start.elapsed() < Duration::from_secs(10));
    assert!(report.done() > 0);
}

#[test]
fn the_observer_sees_progress_and_may_end_a_run() {
    let until = Until::Time(Duration::from_secs(600));
    let (mut seen, mut calls) = (0, 0);
    let options = RunOptions { until, threads: 2, ..RunOptions::default() };
    let report = driver::run(&MemoryEngine::new(), &Count, options, |progress| {
        assert!(progress.elapsed >= Duration::from_secs(1));
        calls += 1;
        seen = progress.done.iter().sum();
        false
    })
    .unwrap();
    assert_eq!(calls, 1);
    assert!(seen > 0 && report.done() >= seen);
}

#[test]
fn an_error_ends_a_run() {
    let engine = MemoryEngine::new();
    engine.conflict_every(100);
    // This workload does not retry: for the driver a conflict is then an error like any other.
    let error = driver::run(&engine, &Count, transactions(2, 10_000), |_| true).unwrap_err();
    assert!(matches!(error, Error::Engine(MemoryError::Conflict)));
}
