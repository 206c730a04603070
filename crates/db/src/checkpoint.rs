//! Checkpoints: what needs the oldest part of the log is written, and that part is released.

use std::sync::atomic::Ordering::{Relaxed, Release};
use std::time::Instant;

use frostline_store::Durable;

use crate::DbError;
use crate::core::Core;
use crate::overflow::Unfreed;
use crate::pool::CLEAN;
use crate::record::STORE;

/// Ghosts and visits after which it is asked whether a commit needs a checkpoint meanwhile.
const PART: usize = 16;

impl Core {
    /// Removes at most `most` ghosts of deleted records that no snapshot sees, and visits as many
    /// leaves that became emptier. True if there may be more to do.
    pub(crate) fn purge_ghosts(&self, most: usize) -> bool {
        self.trees.note_sunk_while_absent();
        let mut ghosts = 0;
        for ghost in std::iter::from_fn(|| self.trees.versions.next_ghost()).take(most) {
            ghosts += 1;
            // If its page can't be read, the ghost stays. No snapshot sees it, nothing was changed,
            // and the next access that needs the page, or the log, gets the error. The pages of a
            // deleted table may be free by now.
            if let Err(error) = self.trees.purge(ghost.tree, &ghost.key)
                && self.catalog.has_tree(ghost.tree)
            {
                self.ghosts_left.fetch_add(1, Relaxed);
                tracing::warn!(tree = ghost.tree, %error, "a deleted record stays in its page");
            }
        }
        let visits = (0..most).take_while(|_| self.trees.make_visit()).count();
        ghosts.max(visits) == most
    }

    /// The same for all ghosts and leaves, in parts, as long as `goes_on` before each.
    pub(crate) fn purge_in_parts(&self, goes_on: impl Fn() -> bool) {
        while goes_on() && self.purge_ghosts(PART) {}
    }

    /// Frees pages that have no owner, removes all ghosts that no snapshot sees, and makes all
    /// visits of leaves, also those that were put off.
    pub(crate) fn purge_all(&self) {
        self.purge_while(|| true);
    }

    /// The same, as long as `goes_on`.
    fn purge_while(&self, goes_on: impl Fn() -> bool) {
        if self.check().is_err() {
            return;
        }
        self.free_unowned(Unfreed::All, &goes_on);
        self.purge_in_parts(&goes_on);
        if goes_on() {
            self.trees.visits.all_fall_due();
            self.purge_in_parts(&goes_on);
        }
    }

    /// Writes the pages that need the oldest part of the log, and releases that, as far as
    /// [`crate::log_use`] says. What is late comes in parts: commits that wait go on after each.
    pub(crate) fn checkpoint(&self) -> Result<(), DbError> {
        let wal = self.trees.wal();
        let (end, from) = (wal.end(), self.needs_log_from());
        let (kept, records) =
            (wal.kept_bytes_from(from.saturating_sub(1)), end.saturating_sub(from));
        let log = self.log_use(0);
        let released = log.to_release(kept, records, wal.zone_bytes());
        // Without background threads it is always late, and only this commit waits.
        let parts = if self.background { log.parts(kept) } else { 1 };
        (1..=parts).try_for_each(|part| {
            let released = (u128::from(released) * u128::from(part) / u128::from(parts)) as u64;
            self.checkpoint_older(from.saturating_add(released).min(end))
        })
    }

    /// Writes the pages that need the oldest eighth of the log which is needed, and releases that.
    pub(crate) fn checkpoint_eighth(&self) -> Result<(), DbError> {
        let (oldest, end) = (self.needs_log_from(), self.trees.wal().end());
        self.checkpoint_older(oldest + (end.saturating_sub(oldest) / 8))
    }

    fn checkpoint_older(&self, position: u64) -> Result<(), DbError> {
        self.load_lacking(position)?;
        // Leaves that got deletes which waited for them are merged before they are written, as long
        // as no commit has to wait for that. The rest is left to the naps between checkpoints.
        self.purge_while(|| !self.background || !self.log_is_pressed());
        self.checkpoint_to(position)
    }

    /// Writes all changed pages, and releases the log: nothing has to be recovered then.
    pub(crate) fn checkpoint_all(&self) -> Result<(), DbError> {
        self.make_all_visits()?;
        self.write_all()
    }

    /// Gives pages the changes that wait for them, removes all ghosts that no snapshot sees, and
    /// makes all visits of leaves.
    pub(crate) fn make_all_visits(&self) -> Result<(), DbError> {
        self.load_lacking(CLEAN)?;
        self.purge_all();
        Ok(())
    }

    /// Gives pages the changes that wait for them, and need the log from before `position`.
    pub(crate) fn load_lacking(&self, position: u64) -> Result<(), DbError> {
        self.trees.pool.load_lacking(position)?;
        self.trees.give_rows_before(position)
    }

    /// Gives all leaves what waits for them, if any may be overfull.
    pub(crate) fn split_overfull(&self) -> Result<(), DbError> {
        if self.pages_owed() > 0 {
            self.load_lacking(CLEAN)?;
            self.end_left_by_crash(CLEAN);
        }
        Ok(())
    }

    /// Writes all changed pages, and releases the log.
    pub(crate) fn write_all(&self) -> Result<(), DbError> {
        // A thread that changes a page holds its latch. Such a page would be left out.
        if let Some(last) = self.trees.window.last_open() {
            self.trees.window.wait(last, || self.check().is_err());
        }
        let wal = self.trees.wal();
        wal.wait(wal.end())?;
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
        trees.space().publish_durable(trees.wal().durable())?;
        trees.store().sync()?;
        let durable = trees.store().durable()?;
        trees.wal().release(needed.saturating_sub(1))?;
        self.end_left_by_crash(needed);
        self.log_store(durable)?;
        self.checkpoint_wanted.store(false, Release);
        self.checkpoints.fetch_add(1, Release);
        self.logged.notify_all();
        let (now, millis) = (trees.wal().used_bytes(), begun.elapsed().as_millis() as u64);
        tracing::debug!(pages, log_bytes = now, millis, "a checkpoint is taken");
        Ok(())
    }

    /// Logs what is durable of the store: its own zones can't tell of what was written to them
    /// last. A log that is half full has other uses for its room.
    fn log_store(&self, Durable { chunks, notes }: Durable) -> Result<(), DbError> {
        let wal = self.trees.wal();
        if wal.used_bytes() < wal.capacity_bytes() / 2 {
            wal.append(STORE, &[&chunks.to_le_bytes(), &notes.to_le_bytes()], |_| ())?;
        }
        Ok(())
    }

    /// Releases the log before what recovery would need.
    pub(crate) fn release_log(&self) -> Result<(), DbError> {
        Ok(self.trees.wal().release(self.needs_log_from().saturating_sub(1))?)
    }

    /// The log position of the first record that recovery would need.
    fn needs_log_from(&self) -> u64 {
        // In this order: a record leaves the window after its pages have changed.
        let trees = &self.trees;
        let end = trees.wal().end() + 1;
        let open = trees.window.first_open().unwrap_or(end).min(end);
        let pinned = || trees.pages.first_pinned().unwrap_or(open);
        let needed = open.min(pinned()).min(trees.pool.needs_log_from());
        // A page that is freed is pinned on its way from the pool.
        let needed = needed.min(pinned());
        let needed = needed.min(trees.pages.first_freed().unwrap_or(open));
        assert!(needed <= end, "recovery needs no log that is not written");
        needed
    }
}
