//! The way of changes from pages that leave memory to where they wait, and on to the store.

use std::sync::Arc;
use std::sync::atomic::Ordering::*;

use super::Pool;
use super::eviction::BATCH;
use super::kept_changes::Changes;
use super::records::is_lost;
use crate::DbError;
use crate::node::{PAGE_BYTES, middle};
use crate::space::{Outgoing, OutgoingDelta};

impl Pool {
    /// Keeps the changes of a page that is about to be written, and frees its frame. False if it has too many
    /// of them, or changed meanwhile.
    pub(super) fn keep(&self, frame: u32, out: &Outgoing<'_>) -> bool {
        let Some(changed) = out.changed.filter(|_| self.kept.most_bytes() > 0) else {
            return false;
        };
        let mut held = self.hold_free(frame);
        let header = held.header();
        let delta = self.space.store.delta(out.bytes, &changed);
        let is_same = header.page() == out.page && !header.is_dirty();
        let Some(delta) = delta.filter(|_| is_same) else {
            held.leave_unchanged();
            return false;
        };
        let changes = Changes {
            delta,
            position: out.position,
            dirty_from: header.needs_log_from(),
            hotness: out.hotness,
        };
        self.kept.keep(out.page, changes);
        self.counters.kept.fetch_add(1, Relaxed);
        header.end_write(true);
        self.leave(held);
        true
    }

    /// Writes the oldest changes that are kept, until all take no more memory than they may.
    pub(super) fn write_excess(&self) -> Result<(), DbError> {
        loop {
            let some = self.kept.borrow_oldest(u64::MAX, self.kept.excess(), BATCH);
            if some.is_empty() {
                return Ok(());
            }
            self.write_kept(&some)?;
            self.counters.evicted_dirty.fetch_add(some.len() as u64, Relaxed);
        }
    }

    /// Writes the changes that are kept and need the log from before `position`.
    pub(super) fn write_kept_before(&self, position: u64) -> Result<(), DbError> {
        loop {
            let some = self.kept.borrow_oldest(position, usize::MAX, BATCH);
            if some.is_empty() {
                return Ok(());
            }
            self.write_kept(&some)?;
            self.counters.checkpointed.fetch_add(some.len() as u64, Relaxed);
        }
    }

    /// Writes borrowed changes, once the log is durable up to the last of them.
    fn write_kept(&self, some: &[(u32, Arc<Changes>)]) -> Result<(), DbError> {
        let needed = some.iter().map(|(_, changes)| changes.position).max().unwrap_or(0);
        let written = self.wait_for_log(needed).and_then(|()| self.write_deltas(some));
        for (page, _) in some {
            match written {
                Ok(()) => self.kept.forget(*page),
                Err(_) => self.kept.release(*page),
            }
        }
        self.clocks.writes.fetch_add(some.len() as u64, Relaxed);
        written
    }

    fn write_deltas(&self, some: &[(u32, Arc<Changes>)]) -> Result<(), DbError> {
        let deltas: Vec<_> = some
            .iter()
            .map(|(page, changes)| {
                let Changes { delta, hotness, .. } = &**changes;
                OutgoingDelta { page: *page, delta, hotness: *hotness }
            })
            .collect();
        let refused = self.space.write_deltas(&deltas)?;
        for (page, changes) in some.iter().filter(|(page, _)| refused.contains(page)) {
            self.write_whole(*page, changes)?;
        }
        Ok(())
    }

    /// Writes a page whose base takes no delta of its changes.
    fn write_whole(&self, page: u32, changes: &Changes) -> Result<(), DbError> {
        let mut bytes = [0; PAGE_BYTES];
        let read = self.space.read_with(page, &changes.delta, &mut bytes);
        if is_lost(page, &read) {
            return Ok(());
        }
        read?;
        let middle = middle(&bytes);
        bytes[middle].fill(0);
        let Changes { position, hotness, .. } = *changes;
        self.space.write(&[Outgoing { page, bytes: &bytes, position, hotness, changed: None }])
    }
}
