//! What is kept for splits of leaves that are not in memory, and may have no room for what waits for
//! them.
//!
//! Their splits come after the commits that cause them. Each of these reserved pages, room and log
//! for splits of its own, and what it did not use stays kept: pages and room as they are counted here,
//! and that part of the log which usual commits do not use. Before a larger commit all leaves get what
//! waits for them.
//!
//! A crash leaves such leaves to recovery, which does not know them from others. Until the log of
//! that time is released, they count as many as there may be, and leave less to others.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use crate::DbError;
use crate::core::Core;
use crate::pool::CLEAN;

/// Pages that splits of a leaf may take: it is split again if a half has too little room.
const PAGES: usize = 2;

/// Bytes that a split may log: both halves, and a part of a node above. Most log one half alone, so
/// there is enough for those that are split again.
const LOGGED: u64 = 5 << 10;

/// Leaves that a crash left, and that may have no room for what waits for them.
#[derive(Default)]
pub(crate) struct LeftByCrash {
    leaves: AtomicUsize,
    /// The end of the log that they need.
    log_end: u64,
}

impl Core {
    /// Lets leaves be overfull from now on: the log is replayed.
    pub(crate) fn begin_overfull(&mut self) {
        let lacking = self.trees.pool.lacking(CLEAN).len();
        let left = lacking.min(self.most_overfull());
        self.left = LeftByCrash { leaves: left.into(), log_end: self.trees.wal().end() };
        self.trees.pool.set_most_overfull(self.most_overfull() - left);
    }

    /// Leaves that may be overfull, those that a crash left among them.
    pub(crate) fn most_overfull(&self) -> usize {
        (self.log_use(0).kept_for_splits() / LOGGED) as usize
    }

    /// All pages have the changes that the log has from before this position.
    pub(crate) fn end_left_by_crash(&self, position: u64) {
        if position > self.left.log_end && self.left.leaves.swap(0, Relaxed) > 0 {
            self.trees.pool.set_most_overfull(self.most_overfull());
        }
    }

    /// Pages that leaves which may be overfull take when they are split.
    pub(crate) fn pages_owed(&self) -> usize {
        PAGES * (self.trees.pool.overfull() + self.left.leaves.load(Relaxed))
    }

    /// Of these, the pages that the store keeps room for beside what it does for changed pages.
    pub(crate) fn room_owed(&self) -> u64 {
        self.left.leaves.load(Relaxed) as u64
    }

    /// Gives all leaves what waits for them, if any may be overfull.
    pub(crate) fn split_overfull(&self) -> Result<(), DbError> {
        if self.pages_owed() == 0 {
            return Ok(());
        }
        self.load_lacking(CLEAN)?;
        self.end_left_by_crash(CLEAN);
        Ok(())
    }
}
