//! Counters.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use crate::DbError;
use crate::core::Core;
use crate::mvcc::VersionStats;
use crate::wal::WalStats;

/// Counters of a database since it was opened, and the resources that it uses.
#[derive(Clone, Debug)]
pub struct Stats {
    /// Commits that wrote something.
    pub commits: u64,
    /// Bytes of the keys that commits wrote, and of their new values; of values that were patched,
    /// the bytes patched.
    pub updated_bytes: u64,
    /// Transactions that lost against another.
    pub conflicts: u64,
    /// Checkpoints that were taken.
    pub checkpoints: u64,
    /// Deleted records that stay in their pages, as these could not be read.
    pub ghosts_left: u64,
    /// Pages in use.
    pub pages: u32,
    /// The most pages that the database can have.
    pub most_pages: u32,
    /// Pages passed on the way from a root to a leaf, one such way for each record that is looked
    /// for and each leaf that is scanned. The write of a record that its transaction has read
    /// before needs none. About: every 32nd way of a thread counts for 32.
    pub page_accesses: u64,
    /// Pages that were read from the store: accesses to pages that were not in memory.
    pub pages_read: u64,
    /// Records that were read or changed without their page, which was not in memory: they were
    /// left there when it went.
    pub records_without_page: u64,
    /// Those of them that were put or deleted without a read of the record or of its page. They
    /// wait in memory until the page is needed.
    pub records_unread: u64,
    /// Pages that were written because their memory was needed, or that of changes that were kept.
    pub pages_evicted: u64,
    /// Pages that left memory, and whose changes were kept there to be written later.
    pub pages_kept: u64,
    /// Pages that left memory unchanged.
    pub pages_dropped: u64,
    /// Pages that were written so that the log could be cut.
    pub pages_checkpointed: u64,
    /// Pages that were written because cleaning would have copied them.
    pub pages_rewritten: u64,
    /// Time for which threads waited for memory.
    pub stalled: Duration,
    /// The log.
    pub log: WalStats,
    /// Bytes of the log's zones in use, and of all.
    pub log_used: (u64, u64),
    /// Older versions of records, kept for transactions.
    pub versions: VersionStats,
    /// Bytes of memory for pages.
    pub buffer_bytes: usize,
    /// The store, all its databases together.
    pub store: frostline_store::Stats,
}

impl Stats {
    pub(crate) fn of(core: &Core) -> Result<Stats, DbError> {
        let pool = &core.trees.pool;
        let counters = &pool.counters;
        Ok(Stats {
            commits: core.commits.load(Relaxed),
            updated_bytes: core.updated_bytes.load(Relaxed),
            conflicts: core.conflicts.load(Relaxed),
            checkpoints: core.checkpoints.load(Relaxed),
            ghosts_left: core.ghosts_left.load(Relaxed),
            pages: core.trees.pages.used(),
            most_pages: core.trees.pages.limit(),
            page_accesses: counters.accesses.load(Relaxed),
            pages_read: counters.read.load(Relaxed),
            records_without_page: counters.without_page.load(Relaxed),
            records_unread: counters.unread.load(Relaxed),
            pages_evicted: counters.evicted_dirty.load(Relaxed),
            pages_kept: counters.kept.load(Relaxed),
            pages_dropped: counters.evicted_clean.load(Relaxed),
            pages_checkpointed: counters.checkpointed.load(Relaxed),
            pages_rewritten: counters.rewritten.load(Relaxed),
            stalled: Duration::from_nanos(counters.stalled_ns.load(Relaxed)),
            log: core.trees.wal().stats(),
            log_used: (core.trees.wal().used_bytes(), core.trees.wal().capacity_bytes()),
            versions: core.trees.versions.stats(),
            buffer_bytes: pool.bytes(),
            store: core.trees.store().stats()?,
        })
    }
}
