//! How much of the log is in use, and when that is too much.
//!
//! Two things are bounded. Records need *room*, which comes free by zones as a whole. And recovery
//! redoes all records from the first one that a page may lack, so a usual load leaves only so many
//! bytes of them ([`Options::recovery_bytes`](crate::Options::recovery_bytes)), however large the
//! log is and its zones are. Past either bound a checkpoint is due, and at one and a half times as
//! much commits wait for it. Half way between these, a checkpoint does nothing else any more.
//!
//! A usual load needs no more room than twice these bytes, and some zones. What it does not use of the
//! log is kept for splits of leaves that are overfull ([`LogUse::kept_for_splits`]).

use crate::core::Core;
use crate::wal::InUse;

/// Zones that a usual load has beside twice what recovery may redo: room comes free by zones.
const ZONES: u64 = 8;

/// The log, as commits and checkpoints see it.
#[derive(Clone, Copy)]
pub(crate) struct LogUse {
    /// Bytes of the zones in use, of those that a usual load has, and of all zones.
    taken: u64,
    usual: u64,
    capacity: u64,
    /// Bytes of records that recovery would read, and that a usual load leaves to it.
    kept: u64,
    recovery: u64,
}

impl Core {
    /// The log as it is now, once `logging` bytes more are in it.
    pub(crate) fn log_use(&self, logging: u64) -> LogUse {
        let InUse { used, capacity, kept } = self.trees.wal().in_use();
        let recovery = self.recovery_bytes().min(capacity / 2);
        let usual = (2 * recovery + ZONES * self.trees.wal().zone_bytes()).min(capacity);
        LogUse { taken: used + logging, usual, capacity, kept: kept + logging, recovery }
    }

    /// True if commits will wait for a checkpoint soon, or do.
    pub(crate) fn log_is_pressed(&self) -> bool {
        self.log_use(*self.logging.lock()).is_pressed()
    }
}

impl LogUse {
    /// True if a checkpoint is due.
    pub(crate) fn is_checkpoint_due(&self) -> bool {
        self.taken > self.usual / 2 || self.kept > self.recovery
    }

    /// True if commits wait soon: half of what they may log until then is logged.
    pub(crate) fn is_pressed(&self) -> bool {
        self.taken > self.usual / 8 * 5 || self.kept > self.recovery / 4 * 5
    }

    /// True if a commit that logs so many bytes need not wait.
    pub(crate) fn admits(&self, bytes: u64) -> bool {
        self.taken + bytes <= self.usual / 4 * 3 && self.kept + bytes <= self.recovery / 2 * 3
    }

    /// True if there is room for so many bytes at all.
    pub(crate) fn has_room(&self, bytes: u64) -> bool {
        self.taken + bytes <= self.capacity
    }

    /// True if so many bytes are a usual commit's: it does not wait until it is alone.
    pub(crate) fn is_usual(&self, bytes: u64) -> bool {
        bytes <= self.recovery / 2
    }

    /// True if less is in use than earlier, by either measure.
    pub(crate) fn is_below(&self, earlier: &LogUse) -> bool {
        self.taken < earlier.taken || self.kept < earlier.kept
    }

    /// Bytes of records that a checkpoint releases: an eighth more than it must, or a zone if room
    /// is short. The less it is, the longer do changes wait in memory, where others join them.
    /// Recovery would need `kept` bytes of the log, which has `records` bytes of records behind the
    /// first that it needs.
    pub(crate) fn to_release(self, kept: u64, records: u64, zone: u64) -> u64 {
        let room = self.taken.checked_sub(self.usual / 2 + 1);
        let room = room.map_or(0, |above| above + zone.max(self.usual / 16));
        let Some(above) = kept.checked_sub(self.recovery + 1) else { return room };
        let released = u128::from(records) * u128::from(above + self.recovery / 8);
        room.max((released / u128::from(kept)) as u64).max(1)
    }

    /// Bytes that commits which need not wait for room leave to splits of overfull leaves. A sixteenth
    /// is for records that belong to no commit.
    pub(crate) fn kept_for_splits(&self) -> u64 {
        self.capacity / 16 * 15 - self.usual / 4 * 3
    }

    /// Parts of about an eighth in which a checkpoint releases what recovery would need `kept` bytes
    /// of the log for.
    pub(crate) fn parts(self, kept: u64) -> u64 {
        (1 + 8 * kept.saturating_sub(self.recovery) / self.recovery.max(1)).min(8)
    }

    /// Bytes of the zones in use.
    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }

    /// Bytes of all zones.
    pub(crate) fn capacity(&self) -> u64 {
        self.capacity
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: LogUse =
        LogUse { taken: 100, usual: 1600, capacity: 3200, kept: 80, recovery: 160 };

    #[test]
    fn a_checkpoint_is_due_at_half_of_the_room_or_at_what_recovery_may_redo() {
        assert!(!SMALL.is_checkpoint_due());
        assert!(LogUse { taken: 801, ..SMALL }.is_checkpoint_due());
        assert!(LogUse { kept: 161, ..SMALL }.is_checkpoint_due());
    }

    #[test]
    fn commits_wait_at_one_and_a_half_times_either() {
        assert!(SMALL.admits(160) && !SMALL.admits(161));
        let full = LogUse { taken: 1190, ..SMALL };
        assert!(full.admits(10) && !full.admits(11));
    }

    #[test]
    fn the_log_is_pressed_half_way_between_a_due_checkpoint_and_waiting_commits() {
        let [half, more] = [200, 201].map(|kept| LogUse { kept, ..SMALL });
        assert!(!half.is_pressed() && more.is_pressed() && half.is_checkpoint_due());
        assert!(more.admits(39), "commits go on");
        assert!(LogUse { taken: 1001, ..SMALL }.is_pressed());
    }

    #[test]
    fn an_eighth_more_is_released_than_must_be_of_the_records_in_these_bytes() {
        assert_eq!(SMALL.to_release(160, 160, 10), 0);
        assert_eq!(SMALL.to_release(201, 201, 10), 60);
        // Of ten bytes in the log one is a record's.
        assert_eq!(SMALL.to_release(201, 20, 10), 5);
        // One record has all of it, so it goes as a whole.
        assert_eq!(SMALL.to_release(500, 0, 10), 1);
        assert_eq!(LogUse { taken: 850, ..SMALL }.to_release(80, 80, 10), 149);
    }

    #[test]
    fn splits_have_what_usual_commits_leave_but_a_sixteenth() {
        assert_eq!(SMALL.kept_for_splits(), 3200 - 200 - 1200);
        assert_eq!(LogUse { usual: 3200, ..SMALL }.kept_for_splits(), 3200 / 16 * 3);
    }

    #[test]
    fn what_is_late_is_released_in_parts() {
        assert_eq!([0, 160, 179, 180, 240, 9999].map(|kept| SMALL.parts(kept)), [1, 1, 1, 2, 5, 8]);
    }
}
