//! The counters of a store and its databases at one moment, and how fast they grow.

use std::time::Duration;

use frostline_db::{Databases, DbError};
use frostline_store::Stats;
use rustix::time::{ClockId, clock_gettime};

use crate::monitor::Transactions;
use crate::report::with_victims;

/// All counters at one moment.
pub(super) struct Moment {
    /// Counters of the store.
    pub(super) store: Stats,
    /// Counters of all databases together.
    pub(super) sum: CounterSums,
    /// CPU time of the process.
    pub(super) cpu: Duration,
}

/// The sums of all databases' counters.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CounterSums {
    /// Used pages.
    pub(super) pages: u64,
    /// The most pages that the databases can have.
    pub(super) most_pages: u64,
    /// Accesses to pages.
    pub(super) accesses: u64,
    /// Pages that were read from the store.
    pub(super) read: u64,
    /// Records that were read or changed without their page.
    pub(super) without_page: u64,
    /// Pages that were written because their memory was needed.
    pub(super) evicted: u64,
    /// Pages that left memory, and whose changes were kept.
    pub(super) kept: u64,
    /// Pages that left memory unchanged.
    pub(super) dropped: u64,
    /// Pages that were written so that the log could be truncated.
    pub(super) checkpointed: u64,
    /// Pages that were written because cleaning would have copied them.
    pub(super) rewritten: u64,
    /// Transactions that lost against another.
    pub(super) conflicts: u64,
    /// Pages of the logs.
    pub(super) log_pages: u64,
    /// Bytes of records in the logs.
    pub(super) log_bytes: u64,
    /// Bytes that transactions updated.
    pub(super) updated_bytes: u64,
    /// Flushes of the logs.
    pub(super) log_flushes: u64,
    /// Bytes of the logs' zones.
    pub(super) log_capacity: u64,
    /// Time for which threads waited for memory.
    pub(super) stalled: Duration,
    /// Bytes of versions kept for snapshots.
    pub(super) version_bytes: u64,
    /// Snapshots that were ended because too many bytes of versions were kept for them.
    pub(super) snapshots_ended: u64,
}

impl Moment {
    /// Reads all counters.
    pub(super) fn now(instances: &Databases) -> Result<Moment, DbError> {
        let mut sum = CounterSums::default();
        for db in &instances.all {
            let stats = db.stats()?;
            sum.pages += u64::from(stats.pages);
            sum.most_pages += u64::from(stats.most_pages);
            sum.accesses += stats.page_accesses;
            sum.read += stats.pages_read;
            sum.without_page += stats.records_without_page;
            sum.evicted += stats.pages_evicted;
            sum.kept += stats.pages_kept;
            sum.dropped += stats.pages_dropped;
            sum.checkpointed += stats.pages_checkpointed;
            sum.rewritten += stats.pages_rewritten;
            sum.conflicts += stats.conflicts;
            sum.log_pages += stats.log.pages;
            sum.log_bytes += stats.log.bytes;
            sum.updated_bytes += stats.updated_bytes;
            sum.log_flushes += stats.log.flushes;
            sum.log_capacity += stats.log_used.1;
            sum.stalled += stats.stalled;
            sum.version_bytes += stats.versions.bytes;
            sum.snapshots_ended += stats.versions.snapshots_ended;
        }
        Ok(Moment { store: instances.store.stats()?, sum, cpu: cpu_time() })
    }

    /// The same with the victims by garbage.
    pub(super) fn with_victims(instances: &Databases) -> Result<Moment, DbError> {
        Ok(Moment { store: with_victims(&instances.store)?, ..Moment::now(instances)? })
    }
}

impl CounterSums {
    /// Share of the page accesses that found the page in memory; `None` if there were no accesses.
    pub(super) fn hits(&self) -> Option<f64> {
        // With few accesses the count is not exact.
        let missed = || (self.read as f64 / self.accesses as f64).min(1.0);
        (self.accesses > 0).then(|| 1.0 - missed())
    }

    /// The events since an earlier moment. Numbers of existing things stay as they are.
    pub(super) fn since(&self, earlier: &CounterSums) -> CounterSums {
        CounterSums {
            accesses: self.accesses - earlier.accesses,
            read: self.read - earlier.read,
            evicted: self.evicted - earlier.evicted,
            kept: self.kept - earlier.kept,
            dropped: self.dropped - earlier.dropped,
            checkpointed: self.checkpointed - earlier.checkpointed,
            rewritten: self.rewritten - earlier.rewritten,
            conflicts: self.conflicts - earlier.conflicts,
            log_pages: self.log_pages - earlier.log_pages,
            log_bytes: self.log_bytes - earlier.log_bytes,
            updated_bytes: self.updated_bytes - earlier.updated_bytes,
            log_flushes: self.log_flushes - earlier.log_flushes,
            stalled: self.stalled.saturating_sub(earlier.stalled),
            snapshots_ended: self.snapshots_ended - earlier.snapshots_ended,
            ..*self
        }
    }
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// Transaction rates, second by second.
pub(super) struct Rates {
    counted_kind: Option<usize>,
    transactions: u64,
    counted: u64,
    sum: CounterSums,
}

impl Rates {
    /// Rates from a moment on.
    pub(super) fn new(counted_kind: Option<usize>, begun: &Moment) -> Self {
        Rates { counted_kind, transactions: 0, counted: 0, sum: begun.sum }
    }

    /// Ends a second of length `seconds`, given the transactions `done` since the beginning, by
    /// kind, and the present counters.
    pub(super) fn next(&mut self, seconds: f64, done: &[u64], sum: CounterSums) -> Transactions {
        let transactions = done.iter().sum();
        let counted = self.counted_kind.and_then(|kind| done.get(kind)).copied().unwrap_or(0);
        let in_it = sum.since(&self.sum);
        let minute = (counted - self.counted) as f64 / seconds * 60.0;
        let rates = Transactions {
            per_second: (transactions - self.transactions) as f64 / seconds,
            tpmc: self.counted_kind.map(|_| minute),
            hits: in_it.hits(),
            log_bytes_per_second: in_it.log_pages as f64 * 4096.0 / seconds,
        };
        *self = Rates { transactions, counted, sum, ..*self };
        rates
    }
}
