//! State shared by all threads of a database.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use frostline_store::{Buffer, Durable, PageWrite};
use parking_lot::{Condvar, Mutex};

use crate::catalog::Catalog;
use crate::layout::FEWEST_LOG_ZONES;
use crate::mvcc::WriteSet;
use crate::overflow::Unowned;
use crate::pool::CLEAN;
use crate::promised::Promised;
use crate::record::STORE;
use crate::tree::Trees;
use crate::{DbError, Options};

/// A database, shared by its transactions and its threads.
pub struct Core {
    /// The trees.
    pub trees: Trees,
    /// The tables.
    pub catalog: Catalog,
    /// See [`crate::Options::recovery_bytes`].
    recovery_bytes: Option<u64>,
    /// The number of the next long value.
    pub next_overflow: AtomicU64,
    /// See [`crate::Options::longest_logged_value`].
    longest_logged_value: usize,
    /// Pages to be freed, of values that nothing names any more.
    pub unowned: Unowned,
    /// Unused write sets.
    spare: Mutex<Vec<Arc<WriteSet>>>,
    /// The room in the store for pages that are not written.
    pub(crate) promised: Mutex<Promised>,
    /// Bytes that commits under way are about to log.
    pub(crate) logging: Mutex<u64>,
    pub(crate) logged: Condvar,
    /// A checkpoint is due.
    checkpoint_wanted: AtomicBool,
    checkpointing: Mutex<()>,
    /// Checkpoints that were taken.
    pub checkpoints: AtomicU64,
    /// The error after which nothing can be written any more.
    failure: OnceLock<DbError>,
    /// Background threads sleep on this.
    pub alarm: Alarm,
    /// True if there are background threads.
    pub background: bool,
    /// Deleted records whose ghosts stay, as their pages could not be read.
    pub ghosts_left: AtomicU64,
    /// Commits that wrote something.
    pub commits: AtomicU64,
    /// Bytes that they updated.
    pub updated_bytes: AtomicU64,
    /// Transactions that lost against another.
    pub conflicts: AtomicU64,
}

/// Wakes the threads of a database.
#[derive(Default)]
pub struct Alarm {
    closing: Mutex<bool>,
    rang: Condvar,
}

impl Alarm {
    /// Wakes all background threads.
    pub fn ring(&self) {
        drop(self.closing.lock());
        self.rang.notify_all();
    }

    /// Ends all sleeps, now and later.
    pub fn close(&self) {
        *self.closing.lock() = true;
        self.rang.notify_all();
    }

    /// True if the database is being closed.
    pub fn is_closing(&self) -> bool {
        *self.closing.lock()
    }

    /// Sleeps until the alarm rings, or so long; true if the database is being closed.
    pub fn sleep(&self, time: std::time::Duration) -> bool {
        let mut closing = self.closing.lock();
        if !*closing {
            self.rang.wait_for(&mut closing, time);
        }
        *closing
    }
}

impl Buffer for Core {
    fn write_newer(&self, lbas: &[u32], write: &mut dyn FnMut(PageWrite<'_>) -> bool) {
        // After an error memory may hold half of a transaction.
        if self.check().is_ok() {
            self.trees.pool.write_newer(lbas, write);
        }
    }
}

impl Core {
    /// The shared part of a database.
    pub fn new(trees: Trees, options: &Options) -> Self {
        Core {
            trees,
            recovery_bytes: options.recovery_bytes,
            catalog: Catalog::default(),
            next_overflow: AtomicU64::new(0),
            longest_logged_value: options.longest_logged_value,
            unowned: Unowned::default(),
            spare: Mutex::default(),
            promised: Mutex::default(),
            logging: Mutex::default(),
            logged: Condvar::new(),
            checkpoint_wanted: AtomicBool::new(false),
            checkpointing: Mutex::default(),
            checkpoints: AtomicU64::new(0),
            failure: OnceLock::new(),
            alarm: Alarm::default(),
            background: options.background,
            ghosts_left: AtomicU64::new(0),
            commits: AtomicU64::new(0),
            updated_bytes: AtomicU64::new(0),
            conflicts: AtomicU64::new(0),
        }
    }

    /// Fails with the error after which nothing can be written any more, if there was one.
    pub fn check(&self) -> Result<(), DbError> {
        self.failure.get().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Lets nothing be written any more: memory may hold half of a transaction.
    pub fn fail(&self, error: DbError) -> DbError {
        self.failure.get_or_init(|| {
            tracing::error!(%error, "the database can't be written any more");
            error.clone()
        });
        self.alarm.ring();
        self.logged.notify_all();
        error
    }

    /// A set of writes, empty.
    pub fn write_set(&self) -> Arc<WriteSet> {
        self.spare.lock().pop().unwrap_or_default()
    }

    /// Takes back a set of writes that is not needed any more.
    pub fn reuse(&self, mut set: Arc<WriteSet>) {
        const KEPT: usize = 64;
        if let Some(writes) = Arc::get_mut(&mut set) {
            writes.clear();
            let mut spare = self.spare.lock();
            if spare.len() < KEPT {
                spare.push(set);
            }
        }
    }

    /// Removes at most `most` ghosts of deleted records that no snapshot sees, and visits as many leaves that became
    /// emptier.
    pub fn purge_ghosts(&self, most: usize) {
        for ghost in std::iter::from_fn(|| self.trees.versions.next_ghost()).take(most) {
            // If its page can't be read, the ghost stays. No snapshot sees it, nothing was changed,
            // and the next access that needs the page, or the log, gets the error.
            if let Err(error) = self.trees.purge(ghost.tree, &ghost.key) {
                self.ghosts_left.fetch_add(1, Relaxed);
                tracing::warn!(tree = ghost.tree, %error, "a deleted record stays in its page");
            }
        }
        for _ in 0..most {
            if !self.trees.make_visit() {
                return;
            }
        }
    }

    /// Frees pages that have no owner, removes all ghosts that no snapshot sees, and makes all visits of leaves, also those that were put off.
    pub fn purge_all(&self) {
        if self.check().is_err() {
            return;
        }
        self.free_unowned();
        self.purge_ghosts(usize::MAX);
        self.trees.visits.all_fall_due();
        self.purge_ghosts(usize::MAX);
    }

    /// Bytes of a log of this capacity that a load of small transactions uses: twice those that recovery
    /// should read.
    pub fn usual_log(&self, capacity: u64) -> u64 {
        let Some(bytes) = self.recovery_bytes else { return capacity };
        let fewest = u64::from(FEWEST_LOG_ZONES) * self.trees.wal().zone_bytes();
        bytes.saturating_mul(2).max(fewest).min(capacity)
    }

    /// The longest value that goes through the log, which is to have room for several.
    pub fn longest_logged_value(&self) -> usize {
        self.longest_logged_value.min(self.trees.wal().largest_record() / 4)
    }

    /// Asks for a checkpoint.
    pub fn want_checkpoint(&self) {
        if !self.checkpoint_wanted.swap(true, AcqRel) {
            self.alarm.ring();
        }
    }

    /// True if a checkpoint is due.
    pub fn checkpoint_is_wanted(&self) -> bool {
        self.checkpoint_wanted.load(Acquire)
    }

    /// Writes the pages that need the oldest part of the log, and releases that: a sixteenth more than brings it
    /// down to a half of what is usual, or a zone, as zones are released whole. The less it is, the longer do
    /// changes wait in memory, where others join them.
    pub fn checkpoint(&self) -> Result<(), DbError> {
        self.purge_all();
        let wal = self.trees.wal();
        let (end, usual) = (wal.end(), self.usual_log(wal.capacity_bytes()));
        let more = wal.zone_bytes().max(usual / 16);
        let wanted = (wal.used_bytes() + more).saturating_sub(usual / 2);
        let oldest = self.needs_log_from();
        self.checkpoint_to(oldest.saturating_add(wanted).min(end))
    }

    /// Writes all changed pages, and releases the log: nothing has to be recovered then.
    pub fn checkpoint_all(&self) -> Result<(), DbError> {
        self.checkpoint_to(CLEAN)
    }

    fn checkpoint_to(&self, position: u64) -> Result<(), DbError> {
        let _one = self.checkpointing.lock();
        self.check()?;
        let trees = &self.trees;
        let (begun, used) = (Instant::now(), trees.wal().used_bytes());
        tracing::debug!(log_bytes = used, "a checkpoint begins");
        trees.trim_freed()?;
        let pages = trees.pool.write_older(position)?;
        // Before the store is synced: pages that change from here on may not be part of it.
        let needed = self.needs_log_from();
        trees.space().tell_log(trees.wal().durable())?;
        trees.store().sync()?;
        let durable = trees.store().durable()?;
        trees.wal().release(needed.saturating_sub(1))?;
        self.log_store(durable)?;
        self.checkpoint_wanted.store(false, Release);
        self.checkpoints.fetch_add(1, Release);
        self.logged.notify_all();
        let (now, millis) = (trees.wal().used_bytes(), begun.elapsed().as_millis() as u64);
        tracing::debug!(pages, log_bytes = now, millis, "a checkpoint is taken");
        Ok(())
    }

    /// Logs what is durable of the store: its own zones can't tell of what was written to them last. A log
    /// that is half full has other uses for its room.
    fn log_store(&self, Durable { chunks, notes }: Durable) -> Result<(), DbError> {
        let wal = self.trees.wal();
        if wal.used_bytes() < wal.capacity_bytes() / 2 {
            wal.append(STORE, &[&chunks.to_le_bytes(), &notes.to_le_bytes()], |_| ())?;
        }
        Ok(())
    }

    /// Releases the log before what recovery would need.
    pub fn release_log(&self) -> Result<(), DbError> {
        Ok(self.trees.wal().release(self.needs_log_from().saturating_sub(1))?)
    }

    /// The log position of the first record that recovery would need.
    fn needs_log_from(&self) -> u64 {
        // In this order: a record leaves the window after its pages have changed.
        let trees = &self.trees;
        let end = trees.wal().end() + 1;
        let open = trees.window.first_open().unwrap_or(end).min(end);
        let pinned = trees.pages.first_pinned().unwrap_or(open);
        let freed = trees.pages.first_freed().unwrap_or(open);
        open.min(pinned).min(freed).min(trees.pool.needs_log_from())
    }
}
