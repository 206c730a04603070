//! Reservation of log space and pages for a commit, before its point of no return.
//!
//! The log can't release a record while its commit is under way, nor any record behind it. So it
//! must have room for all records that commits under way will log, those of their splits included.
//! A commit that ran out of room in the middle would wait for itself.
//!
//! Two bounds follow for a transaction. Its record takes at most a quarter of the log, as every
//! record does. With the splits that it may cause it logs at most seven sixteenths: checkpoints
//! bring the log down to a half while no other commit is under way, and a sixteenth is left for
//! records that belong to no commit. A split logs one or two images of pages, so for new records
//! the splits count most; overwritten records cause none.
//!
//! A usual load uses a part of the log alone (`log_use.rs`). A commit that is larger waits until it
//! is alone, and has all of the log.

use std::sync::atomic::Ordering::Acquire;
use std::time::Duration;

use frostline_store::RoomFor;
use parking_lot::MutexGuard;

use crate::DbError;
use crate::core::Core;
use crate::log_use::LogUse;
use crate::mvcc::WriteSet;
use crate::pages::Reservation;
use crate::record::logged_bytes;
use crate::room::PageRoom;
use crate::tree::SpaceEstimate;
use crate::wal::WalError;

/// The longest wait of a commit for room in the log before it checks again.
const WAIT: Duration = Duration::from_millis(20);

/// Checkpoints without an effect after which a commit stops waiting for room.
const IN_VAIN: u64 = 2;

/// Log space and pages that are reserved for a commit until this is dropped.
pub(crate) struct Admission<'c> {
    core: &'c Core,
    bytes: u64,
    /// It takes so much of the log that a checkpoint is due when it is done.
    is_large: bool,
    _reservation: Option<Reservation<'c>>,
    _room: PageRoom<'c>,
}

/// The state of the log when a commit began to wait, or saw it shrink last.
struct Waiting {
    checkpoints: u64,
    log: LogUse,
}

impl Core {
    /// Lets a commit make its writes, once there is room for it. Its record has so many bytes
    /// before them. The last pages are for those that free others.
    pub(crate) fn admit(
        &self,
        writes: &WriteSet,
        before: usize,
        frees: bool,
    ) -> Result<Admission<'_>, DbError> {
        let wal = self.trees.wal();
        let bytes = (before + logged_bytes(writes)) as u64;
        let too_large = |logged, most| Err(DbError::TooLarge { bytes, logged, most });
        let most = wal.largest_record() as u64;
        if bytes > most {
            return too_large(bytes, most);
        }
        let capacity = wal.capacity_bytes();
        let mut needs = SpaceEstimate::at_most(&self.trees, writes);
        if needs.log_bytes > capacity / 16 {
            needs = SpaceEstimate::looked_up(&self.trees, writes)?;
        }
        needs.log_bytes += before as u64;
        let most = capacity / 16 * 7;
        if needs.log_bytes > most {
            return too_large(needs.log_bytes, most);
        }
        let _reservation = self.reserve(&needs, writes, frees)?;
        let _room = self.room_for(&mut needs, writes, frees)?;
        let bytes = needs.log_bytes;
        if !self.log_use(0).is_usual(bytes) {
            self.split_overfull()?;
        }
        let is_large = !self.wait_for_log(bytes, frees)?.is_usual(bytes);
        Ok(Admission { core: self, bytes, is_large, _reservation, _room })
    }

    /// Makes sure of room for the pages that a commit changes. What it frees pages with is shorter than
    /// these.
    fn room_for(
        &self,
        needs: &mut SpaceEstimate,
        writes: &WriteSet,
        frees: bool,
    ) -> Result<PageRoom<'_>, DbError> {
        let room = |needs: &SpaceEstimate| if frees { RoomFor::Last } else { needs.room };
        if let Some(room) = self.room_at_hand(needs.changed, room(needs))? {
            return Ok(room);
        }
        // That is less than a checkpoint.
        *needs = SpaceEstimate::looked_up(&self.trees, writes)?;
        self.page_room(needs.changed, room(needs))
    }

    /// Reserves pages.
    pub(crate) fn reserve_pages(&self, count: u32) -> Result<Reservation<'_>, DbError> {
        let pages = &self.trees.pages;
        pages.reserve(count, self.pages_owed()).or_else(|_| {
            self.free_pages()?;
            pages.reserve(count, self.pages_owed())
        })
    }

    /// Frees pages that are kept for what may not come: leaves that are overfull perhaps, or empty.
    fn free_pages(&self) -> Result<(), DbError> {
        self.split_overfull()?;
        self.purge_all();
        Ok(())
    }

    /// Reserves the pages of a commit.
    fn reserve(
        &self,
        needs: &SpaceEstimate,
        writes: &WriteSet,
        frees: bool,
    ) -> Result<Option<Reservation<'_>>, DbError> {
        // Deletes work on a full database.
        if needs.pages == 0 {
            return Ok(None);
        }
        let pages = &self.trees.pages;
        if frees {
            let reserve = || pages.reserve_to_free(needs.pages, self.pages_owed());
            let reservation = reserve().or_else(|_| {
                self.split_overfull()?;
                reserve()
            });
            return reservation.map(Some);
        }
        match pages.reserve(needs.pages, self.pages_owed()) {
            Err(DbError::Full { .. }) => {
                self.free_pages()?;
                let needs = SpaceEstimate::looked_up(&self.trees, writes)?;
                pages.reserve(needs.pages, self.pages_owed()).map(Some)
            }
            reservation => reservation.map(Some),
        }
    }

    /// True if the log has room for writes that are to be committed; else a checkpoint is under way
    /// that makes some. Large ones are left to [`Self::admit`].
    pub(crate) fn log_has_room(&self, writes: &WriteSet) -> bool {
        let (logged, logging) = (logged_bytes(writes), *self.logging());
        let (bytes, log) = (logged as u64, self.log_use(logging));
        if !log.is_usual(4 * bytes) {
            return true;
        }
        let has_room = log.admits(bytes) || logging == 0 && !log.is_checkpoint_due();
        if !has_room {
            self.want_checkpoint();
        }
        has_room && self.trees.wal().admits(logged)
    }

    /// Waits until the log has room for the bytes, and reserves them. Returns the log before that.
    /// A commit that frees pages makes the checkpoint itself: the thread of checkpoints makes such
    /// commits, and would wait for itself.
    fn wait_for_log(&self, bytes: u64, frees: bool) -> Result<LogUse, DbError> {
        let mut logging = self.logging();
        let mut waiting = None;
        loop {
            let log = self.log_use(*logging);
            let is_due = log.is_checkpoint_due();
            if is_due {
                self.want_checkpoint();
            }
            let is_alone = *logging == 0;
            let has_room = log.admits(bytes) || is_alone && !is_due;
            let is_in_vain = is_alone && self.is_in_vain(&mut waiting, log);
            if has_room || is_in_vain && log.has_room(bytes) {
                *logging += bytes;
                return Ok(log);
            }
            self.check()?;
            if is_in_vain {
                return Err(WalError::Full { used: log.taken(), capacity: log.capacity() }.into());
            }
            let makes_room = frees || !self.background;
            if makes_room {
                drop(logging);
                self.checkpoint()?;
                logging = self.logging();
            }
            // Those that are under way hold the log: another checkpoint would release as little.
            if self.background && (!makes_room || *logging > 0) {
                self.logged.wait_for(&mut logging, WAIT);
            }
        }
    }

    /// True if checkpoints release nothing any more.
    fn is_in_vain(&self, waiting: &mut Option<Waiting>, log: LogUse) -> bool {
        let checkpoints = self.checkpoints.load(Acquire);
        let since = match waiting {
            Some(since) if !log.is_below(&since.log) => since,
            _ => waiting.insert(Waiting { checkpoints, log }),
        };
        checkpoints >= since.checkpoints + IN_VAIN
    }

    fn logging(&self) -> MutexGuard<'_, u64> {
        self.logging.lock()
    }
}

impl Drop for Admission<'_> {
    fn drop(&mut self) {
        *self.core.logging() -= self.bytes;
        if self.is_large {
            // Another commit, which would ask for it, may not come.
            self.core.want_checkpoint();
        }
        self.core.logged.notify_one();
    }
}
