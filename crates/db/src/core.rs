//! State shared by all threads of a database.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::*};
use std::sync::{Arc, OnceLock};

use frostline_store::{Buffer, PageWrite};
use parking_lot::{Condvar, Mutex};

use crate::catalog::Catalog;
use crate::mvcc::WriteSet;
use crate::overflow::Unowned;
use crate::promised::Promised;
use crate::tree::Trees;
use crate::{DbError, Options};

/// Leaves that a crash left, and that may have no room for what waits for them.
#[derive(Default)]
pub(crate) struct LeftByCrash {
    pub(crate) leaves: AtomicUsize,
    /// The end of the log that they need.
    pub(crate) log_end: u64,
}

/// A database, shared by its transactions and its threads.
pub(crate) struct Core {
    /// The trees.
    pub trees: Trees,
    /// The tables.
    pub catalog: Catalog,
    /// See [`crate::Options::recovery_bytes`].
    recovery_bytes: u64,
    /// The number of the next long value.
    pub next_overflow: AtomicU64,
    /// See [`crate::Options::longest_logged_value`].
    longest_logged_value: usize,
    /// Pages to be freed, of values that nothing names any more.
    pub unowned: Unowned,
    /// Unused write sets.
    spare: Mutex<Vec<Arc<WriteSet>>>,
    /// Leaves that a crash left.
    pub(crate) left: LeftByCrash,
    /// The room in the store for pages that are not written.
    pub(crate) promised: Mutex<Promised>,
    /// Bytes that commits under way are about to log.
    pub(crate) logging: Mutex<u64>,
    pub(crate) logged: Condvar,
    /// A checkpoint is due.
    pub(crate) checkpoint_wanted: AtomicBool,
    /// A checkpoint is being taken.
    pub(crate) checkpointing: Mutex<()>,
    /// Checkpoints that were taken.
    pub checkpoints: AtomicU64,
    /// The error after which nothing can be written any more.
    failure: OnceLock<DbError>,
    /// Background threads sleep on this.
    pub alarm: Notifier,
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
pub(crate) struct Notifier {
    closing: Mutex<bool>,
    rang: Condvar,
}

impl Notifier {
    /// Wakes all background threads.
    pub(crate) fn ring(&self) {
        drop(self.closing.lock());
        self.rang.notify_all();
    }

    /// Ends all sleeps, now and later.
    pub(crate) fn close(&self) {
        *self.closing.lock() = true;
        self.rang.notify_all();
    }

    /// True if the database is being closed.
    pub(crate) fn is_closing(&self) -> bool {
        *self.closing.lock()
    }

    /// Sleeps until the alarm rings, or so long; true if the database is being closed.
    pub(crate) fn sleep(&self, time: std::time::Duration) -> bool {
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
    pub(crate) fn new(trees: Trees, options: &Options) -> Self {
        Core {
            trees,
            recovery_bytes: options.recovery_bytes(),
            catalog: Catalog::default(),
            next_overflow: AtomicU64::new(0),
            longest_logged_value: options.longest_logged_value,
            unowned: Unowned::default(),
            spare: Mutex::default(),
            left: LeftByCrash::default(),
            promised: Mutex::default(),
            logging: Mutex::default(),
            logged: Condvar::new(),
            checkpoint_wanted: AtomicBool::new(false),
            checkpointing: Mutex::default(),
            checkpoints: AtomicU64::new(0),
            failure: OnceLock::new(),
            alarm: Notifier::default(),
            background: options.background,
            ghosts_left: AtomicU64::new(0),
            commits: AtomicU64::new(0),
            updated_bytes: AtomicU64::new(0),
            conflicts: AtomicU64::new(0),
        }
    }

    /// Fails with the error after which nothing can be written any more, if there was one.
    pub(crate) fn check(&self) -> Result<(), DbError> {
        self.failure.get().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Lets nothing be written any more: memory may hold half of a transaction.
    pub(crate) fn fail(&self, error: DbError) -> DbError {
        self.failure.get_or_init(|| {
            tracing::error!(%error, "the database can't be written any more");
            error.clone()
        });
        self.alarm.ring();
        self.logged.notify_all();
        error
    }

    /// A set of writes, empty.
    pub(crate) fn write_set(&self) -> Arc<WriteSet> {
        self.spare.lock().pop().unwrap_or_default()
    }

    /// Takes back a set of writes that is not needed any more.
    pub(crate) fn reuse(&self, mut set: Arc<WriteSet>) {
        const KEPT: usize = 64;
        if let Some(writes) = Arc::get_mut(&mut set) {
            writes.clear();
            let mut spare = self.spare.lock();
            if spare.len() < KEPT {
                spare.push(set);
            }
        }
    }

    /// See [`crate::Options::recovery_bytes`].
    pub(crate) fn recovery_bytes(&self) -> u64 {
        self.recovery_bytes
    }

    /// The longest value that goes through the log, which is to have room for several.
    pub(crate) fn longest_logged_value(&self) -> usize {
        self.longest_logged_value.min(self.trees.wal().largest_record() / 4)
    }

    /// Asks for a checkpoint.
    pub(crate) fn want_checkpoint(&self) {
        if !self.checkpoint_wanted.swap(true, AcqRel) {
            self.alarm.ring();
        }
    }

    /// True if a checkpoint is due.
    pub(crate) fn checkpoint_is_wanted(&self) -> bool {
        self.checkpoint_wanted.load(Acquire)
    }
}
