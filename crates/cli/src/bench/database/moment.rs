//! What everything stood at, at one moment.

use std::time::Duration;

use frostline_db::{DbError, Instances};
use frostline_store::Stats;
use rustix::time::{ClockId, clock_gettime};

/// What everything stood at, at one moment.
pub struct Moment {
    /// The store.
    pub store: Stats,
    /// All databases together.
    pub sum: Sum,
    /// What the process took of the processors.
    pub cpu: Duration,
}

/// What the databases counted, in sum.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum {
    /// Pages in use.
    pub pages: u64,
    /// Pages that there can be.
    pub most_pages: u64,
    /// Pages that were looked for.
    pub accesses: u64,
    /// Pages that were read from the store.
    pub read: u64,
    /// Pages that were written because their memory was needed.
    pub evicted: u64,
    /// Pages that left memory unchanged.
    pub dropped: u64,
    /// Pages that were written so that the log could be cut.
    pub checkpointed: u64,
    /// Transactions that lost against another.
    pub conflicts: u64,
    /// Pages of the logs.
    pub log_pages: u64,
    /// Bytes of the records in them.
    pub log_bytes: u64,
    /// Flushes of the logs.
    pub log_flushes: u64,
    /// Bytes of the logs' zones.
    pub log_capacity: u64,
    /// Time for which threads waited for memory.
    pub stalled: Duration,
    /// Bytes of the versions that are kept for snapshots.
    pub version_bytes: u64,
    /// Snapshots that were ended, as too many bytes of versions were kept for them.
    pub snapshots_ended: u64,
}

impl Moment {
    /// Now.
    pub fn now(instances: &Instances) -> Result<Moment, DbError> {
        let mut sum = Sum::default();
        for db in &instances.all {
            let stats = db.stats()?;
            sum.pages += u64::from(stats.pages);
            sum.most_pages += u64::from(stats.most_pages);
            sum.accesses += stats.page_accesses;
            sum.read += stats.pages_read;
            sum.evicted += stats.pages_evicted;
            sum.dropped += stats.pages_dropped;
            sum.checkpointed += stats.pages_checkpointed;
            sum.conflicts += stats.conflicts;
            sum.log_pages += stats.log.pages;
            sum.log_bytes += stats.log.bytes;
            sum.log_flushes += stats.log.flushes;
            sum.log_capacity += stats.log_used.1;
            sum.stalled += stats.stalled;
            sum.version_bytes += stats.versions.bytes;
            sum.snapshots_ended += stats.versions.snapshots_ended;
        }
        Ok(Moment { store: instances.store.stats()?, sum, cpu: cpu_time() })
    }
}

impl Sum {
    /// Share of the pages looked for that were in memory; NaN if none was looked for.
    pub fn hits(&self) -> f64 {
        if self.accesses == 0 {
            return f64::NAN;
        }
        // Few accesses are not counted exactly.
        1.0 - (self.read as f64 / self.accesses as f64).min(1.0)
    }

    /// What was counted since an earlier moment; what there is, is as it is.
    pub fn since(&self, earlier: &Sum) -> Sum {
        Sum {
            accesses: self.accesses - earlier.accesses,
            read: self.read - earlier.read,
            evicted: self.evicted - earlier.evicted,
            dropped: self.dropped - earlier.dropped,
            checkpointed: self.checkpointed - earlier.checkpointed,
            conflicts: self.conflicts - earlier.conflicts,
            log_pages: self.log_pages - earlier.log_pages,
            log_bytes: self.log_bytes - earlier.log_bytes,
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
