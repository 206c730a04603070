//! The result of a run.

use std::time::Duration;

use hdrhistogram::Histogram;

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// Threads that ran.
    pub threads: usize,
    /// Time from before the first transaction until the last one was durable.
    pub elapsed: Duration,
    /// Processor time of all workers' threads together. The engine's own threads are not included.
    pub cpu: Duration,
    /// The results of each kind of transaction, in the order of [`crate::Workload::kinds`].
    pub kinds: Vec<KindReport>,
}

/// The results of one kind of transaction.
#[derive(Clone, Debug)]
pub struct KindReport {
    /// Its name.
    pub name: &'static str,
    /// Transactions that were committed and are durable.
    pub committed: u64,
    /// Transactions that were rolled back as their user wanted.
    pub rolled_back: u64,
    /// Transactions that were given up after too many conflicts.
    pub abandoned: u64,
    /// Retries after conflicts.
    pub retries: u64,
    /// Nanoseconds until a transaction was durable or rolled back, its retries included.
    pub latency: Histogram<u64>,
}

impl KindReport {
    /// Transactions that did what their user wanted.
    pub fn done(&self) -> u64 {
        self.committed + self.rolled_back
    }
}

impl Report {
    /// Transactions of all kinds that did what their user wanted.
    pub fn done(&self) -> u64 {
        self.kinds.iter().map(KindReport::done).sum()
    }

    /// The latencies of all kinds together, in nanoseconds.
    pub fn latency(&self) -> Histogram<u64> {
        let mut all = histogram();
        // All histograms have the same bounds, so adding can't fail.
        self.kinds.iter().for_each(|kind| all += &kind.latency);
        all
    }

    pub(super) fn of(
        names: &[&'static str],
        threads: usize,
        elapsed: Duration,
        tallies: &[DriverTally],
    ) -> Report {
        let kinds = names
            .iter()
            .enumerate()
            .map(|(kind, name)| {
                let mut sum = KindCounts::new();
                tallies.iter().for_each(|tally| sum.add(&tally.kinds[kind]));
                sum.report(name)
            })
            .collect();
        let cpu = tallies.iter().map(|tally| tally.cpu).sum();
        Report { threads, elapsed, cpu, kinds }
    }
}

/// The counts of one thread.
#[derive(Debug)]
pub(super) struct DriverTally {
    kinds: Vec<KindCounts>,
    /// Processor time of the thread.
    pub(super) cpu: Duration,
}

impl DriverTally {
    pub(super) fn new(kinds: usize) -> DriverTally {
        DriverTally { kinds: (0..kinds).map(|_| KindCounts::new()).collect(), cpu: Duration::ZERO }
    }

    pub(super) fn committed(&mut self, kind: usize, latency: Duration) {
        self.kinds[kind].committed += 1;
        self.kinds[kind].took(latency);
    }

    pub(super) fn rolled_back(&mut self, kind: usize, latency: Duration) {
        self.kinds[kind].rolled_back += 1;
        self.kinds[kind].took(latency);
    }

    pub(super) fn abandoned(&mut self, kind: usize) {
        self.kinds[kind].abandoned += 1;
    }

    pub(super) fn retried(&mut self, kind: usize, times: u32) {
        self.kinds[kind].retries += u64::from(times);
    }
}

/// The counts of one kind.
#[derive(Debug)]
struct KindCounts {
    committed: u64,
    rolled_back: u64,
    abandoned: u64,
    retries: u64,
    latency: Histogram<u64>,
}

impl KindCounts {
    fn new() -> KindCounts {
        let latency = histogram();
        KindCounts { committed: 0, rolled_back: 0, abandoned: 0, retries: 0, latency }
    }

    fn took(&mut self, latency: Duration) {
        self.latency.saturating_record(latency.as_nanos() as u64);
    }

    fn add(&mut self, other: &KindCounts) {
        self.committed += other.committed;
        self.rolled_back += other.rolled_back;
        self.abandoned += other.abandoned;
        self.retries += other.retries;
        self.latency += &other.latency;
    }

    fn report(self, name: &'static str) -> KindReport {
        let KindCounts { committed, rolled_back, abandoned, retries, latency } = self;
        KindReport { name, committed, rolled_back, abandoned, retries, latency }
    }
}

/// A histogram from 1 ns to 10 minutes, precise to three digits.
fn histogram() -> Histogram<u64> {
    const LONGEST: u64 = 600_000_000_000;
    Histogram::new_with_max(LONGEST, 3).expect("bounds that a histogram can have")
}
