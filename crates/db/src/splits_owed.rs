//! Pages, room and log that are kept for splits of overfull leaves.
//!
//! These are leaves that are not in memory, and may have no room for what waits for them. They are
//! split later than in the commits that add to them. Each commit reserves pages, room and log for
//! splits. What it leaves to such a leaf stays kept: pages and room are counted here, and of the log it
//! is the part that usual commits do not use. Before a larger commit all leaves get what waits for
//! them.
//!
//! A crash leaves overfull leaves to recovery, which can't tell them from others. So all leaves for
//! which something waits count then, until the log of that time is released.

use std::sync::atomic::Ordering::Relaxed;

use crate::core::{Core, LeftByCrash};
use crate::pool::CLEAN;

/// Pages that splits of a leaf may take: it is split again if a half has too little room.
const PAGES: u32 = 2;

/// Bytes that a split may log: both halves, and a part of a node above. Most log one half alone, so
/// there is enough for those that are split again.
const LOGGED: u64 = 5 << 10;

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
    pub(crate) fn pages_owed(&self) -> u32 {
        PAGES * (self.trees.pool.overfull() + self.left.leaves.load(Relaxed)) as u32
    }

    /// Of these, the pages that the store keeps room for beside what it does for changed pages.
    pub(crate) fn room_owed(&self) -> u64 {
        self.left.leaves.load(Relaxed) as u64
    }
}
