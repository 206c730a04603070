//! The cache of parts of pages that are in no frame: a delta, rows, or both.
//!
//! A *delta* has the words of a page that changed and were not written yet. A changed page is
//! evicted mostly for one record. Pages that are changed again and again, but too rarely to stay,
//! would be written each time. Their deltas take a tenth of the memory that they take, so they stay
//! about as much longer, and several changes are written as one.
//!
//! *Rows* are records for which their page had to be read. A page has some dozens of records, of
//! which one or two are asked for again and again. In place of the page these take a twentieth of
//! the memory. They are noted by their keys while the page is still in a frame.
//!
//! Rows also *wait* for their page: records that were put, patched or deleted, whether or not
//! anybody has read them. The page gets them when it comes into a frame: as something else needs
//! it, as the log has to be cut, or as the memory is needed here. What an absent page has free is
//! known, but not whether it has a record that is put already. So what waits may turn out to be too
//! much: then the page is *overfull*, and is split when it gets its rows. As many pages may be
//! overfull as there is log kept for their splits.
//!
//! Both share one budget. Deltas have a part of it for sure: beyond that the oldest is written
//! first. If rows that wait take most of the rest, that is a small part, as what waits saves reads,
//! and not only writes. Then rows are dropped that their page has, those that were used last
//! longest ago first. Once there are none, the page is loaded for which most bytes wait, if the log
//! on the device has all of them: otherwise the page could not be written before a flush.

mod delta;
mod rows;
mod slots;
mod state;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use parking_lot::{Condvar, Mutex, MutexGuard};

pub(super) use delta::CachedDelta;
pub(super) use rows::{Room, Rows, Waiting};

use super::frames::CLEAN;
use crate::DbError;
use crate::mvcc::{Change, Lookup};
use crate::node::{Node, PAGE_BYTES};
use delta::Delta;
use state::State;

/// Shards of the cache, each with a lock.
const SHARDS: usize = 16;

/// Bytes of added records, beside half of what is free, that may wait for a page: a half of the page
/// has room for so many, with a record that lies in the middle.
const BEYOND: u32 = (PAGE_BYTES / 8 * 3) as u32;

/// Pages are loaded for what waits when all but this part of those are overfull that may be.
const SPARED: usize = 16;

/// Memory is short in a shard until this part of it is free.
const SPARE: usize = 64;

/// Bytes that the allocator takes for so many.
const fn allocated(bytes: usize) -> usize {
    // It has eight of its own, and counts in sixteens.
    if bytes == 0 { 0 } else { (bytes + 8).next_multiple_of(16) }
}

/// Parts of absent pages, by page.
pub(crate) struct AbsentCache {
    shards: Box<[Shard]>,
    most_bytes: AtomicUsize,
    /// Bytes of them that deltas have for sure.
    delta_bytes: usize,
    /// Pages that may be overfull.
    most_overfull: AtomicUsize,
    /// Pages that perhaps are.
    overfull: Arc<AtomicUsize>,
}

struct Shard {
    state: Mutex<State>,
    /// A delta is not in use any more.
    released: Condvar,
}

/// Memory after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    /// All parts take no more than they may.
    Enough,
    /// They take more, or too many pages are overfull.
    Short,
}

/// What has to go so that all parts take no more memory than they may.
#[derive(Default)]
pub(crate) struct Excess {
    /// Deltas to be written. They are in use until [`AbsentCache::end_write`].
    pub deltas: Vec<(u32, CachedDelta)>,
    /// Pages to be loaded, as they lack changes of rows.
    pub lacking: Vec<u32>,
}

impl AbsentCache {
    /// No parts, and room for so many bytes, of which deltas have some for sure.
    pub(crate) fn new(most_bytes: usize, delta_bytes: usize) -> Self {
        let overfull = Arc::default();
        let shard = |_| {
            let state = State::new(Arc::clone(&overfull)).into();
            Shard { state, released: Condvar::new() }
        };
        let shards = (0..SHARDS).map(shard).collect();
        let (most_bytes, most_overfull) = (most_bytes.into(), 0.into());
        AbsentCache { shards, most_bytes, delta_bytes, most_overfull, overfull }
    }

    /// Pages that perhaps have no room for the rows that wait for them.
    pub(crate) fn overfull(&self) -> usize {
        self.overfull.load(Relaxed)
    }

    /// So many pages may be overfull.
    pub(crate) fn set_most_overfull(&self, pages: usize) {
        self.most_overfull.store(pages, Relaxed);
    }

    /// True if nearly as many pages are overfull as may be.
    fn are_many_overfull(&self) -> bool {
        let most = self.most_overfull.load(Relaxed);
        self.overfull() > most - most / SPARED
    }

    /// The room of a page that may be overfull, if it is already, or another may be.
    fn with_split(&self, room: Room, rows: Option<&Rows>) -> Room {
        let is_overfull = rows.is_some_and(Rows::are_overfull);
        match is_overfull || self.overfull() < self.most_overfull.load(Relaxed) {
            true => Room { most: room.most.max(room.bytes / 2 + BEYOND), ..room },
            false => room,
        }
    }

    /// Bytes of memory that all parts take at most.
    pub(crate) fn most_bytes(&self) -> usize {
        self.most_bytes.load(Relaxed)
    }

    /// Gives all parts so many bytes; [`Self::take_excess`] takes them away.
    pub(crate) fn set_most_bytes(&self, bytes: usize) {
        self.most_bytes.store(bytes, Relaxed);
    }

    /// Bytes of memory that all parts take.
    pub(crate) fn bytes(&self) -> usize {
        self.shards.iter().map(|shard| shard.state.lock().taken.bytes).sum()
    }

    fn shard(&self, page: u32) -> &Shard {
        &self.shards[page as usize % SHARDS]
    }

    fn state(&self, page: u32) -> MutexGuard<'_, State> {
        self.shard(page).state.lock()
    }

    /// Puts the value of a row into `value`, and returns what it found, and the log position of its
    /// last change, or a later one. None if it is not here, or `is_absent` says that its page is in
    /// a frame by now.
    pub(crate) fn get(
        &self,
        page: u32,
        key: &[u8],
        is_absent: impl FnOnce() -> bool,
        value: &mut Vec<u8>,
    ) -> Option<(Lookup, u64)> {
        let mut state = self.state(page);
        let rows = state.use_rows(page)?;
        let position = rows.position();
        let (found, cached) = rows.get(key).filter(|_| is_absent())?;
        value.clear();
        value.extend_from_slice(cached);
        Some((found, position))
    }

    /// True if a change of a record waits for the page.
    pub(crate) fn has_waiting(&self, page: u32, key: &[u8]) -> bool {
        let state = self.state(page);
        state.rows.of_page(page).is_some_and(|rows| rows.has_waiting(key))
    }

    /// Makes the change of a record that the log has at `position`, after `keep` got a function
    /// that appends the old value, or says that only the page has it. None if the change needs the
    /// page, or `room`, which this allows, says that it is in a frame by now.
    pub(crate) fn change(
        &self,
        page: u32,
        key: &[u8],
        room: impl FnOnce() -> Option<Room>,
        change: (Change<'_>, u64),
        keep: impl FnOnce(&mut dyn FnMut(&mut Vec<u8>) -> Option<Lookup>),
    ) -> Option<Memory> {
        let most_bytes = self.most_bytes();
        let mut state = self.state(page);
        let room = room().filter(|_| most_bytes > 0)?;
        let slot = state.rows.find_or_add(page);
        let room = self.with_split(room, Some(state.rows.part(slot)));
        if !state.change_rows(slot, |rows| rows.change(key, change, room, keep)) {
            return None;
        }
        let is_short = state.taken.bytes > most_bytes / SHARDS || self.are_many_overfull();
        Some(if is_short { Memory::Short } else { Memory::Enough })
    }

    /// True if [`Self::get`] finds a row, as it is now.
    pub(crate) fn can_get(&self, page: u32, key: &[u8]) -> bool {
        self.state(page).use_rows(page).is_some_and(|rows| rows.get(key).is_some())
    }

    /// True if [`Self::change`] does not need the page, as it is now, with this room.
    pub(crate) fn can_change(
        &self,
        page: u32,
        key: &[u8],
        change: Change<'_>,
        room: Option<Room>,
    ) -> bool {
        let Some(room) = room.filter(|_| self.most_bytes() > 0) else { return false };
        let state = self.state(page);
        let rows = state.rows.of_page(page);
        let room = self.with_split(room, rows);
        match rows {
            Some(rows) => rows.can_change(key, change, room),
            None => Rows::default().can_change(key, change, room),
        }
    }

    /// Notes that a page had to be read for a record.
    pub(crate) fn note(&self, page: u32, key: &[u8]) {
        if self.most_bytes() > 0 {
            let mut state = self.state(page);
            let slot = state.rows.find_or_add(page);
            state.change_rows(slot, |rows| rows.note(key));
            state.use_rows(page);
        }
    }

    /// Keeps the delta of a page that is evicted, and the values of the rows that were noted; its
    /// latch is held.
    pub(crate) fn keep(&self, page: u32, node: Node<'_>, delta: Option<CachedDelta>) {
        let mut state = self.state(page);
        if let Some(delta) = delta {
            let slot = state.deltas.find_or_add(page);
            state.change_delta(slot, |place| place.keep(delta));
        }
        state.alter_rows(page, |rows| {
            // A page that had no room for what waits leaves as it came.
            if !rows.is_dirty() {
                rows.take_values(node);
            }
        });
    }

    /// The delta of a page that is loading, for its use until [`Self::release`] or
    /// [`Self::give_back`]. Waits until it is not on its way to the store.
    pub(crate) fn borrow(&self, page: u32) -> Option<CachedDelta> {
        let shard = self.shard(page);
        let mut state = shard.state.lock();
        while state.deltas.of_page(page)?.is_in_use() {
            shard.released.wait(&mut state);
        }
        state.alter_delta(page, Delta::borrow)?
    }

    /// The delta of a page stays, as the page could not be read.
    pub(crate) fn release(&self, page: u32, delta: CachedDelta) {
        self.end_use(page, Some(delta));
    }

    /// The delta of a page was written, or could not be.
    pub(crate) fn end_write(&self, page: u32, delta: CachedDelta, arrived: bool) {
        self.end_use(page, (!arrived).then_some(delta));
    }

    fn end_use(&self, page: u32, left: Option<CachedDelta>) {
        let shard = self.shard(page);
        shard.state.lock().alter_delta(page, |delta| delta.end_use(left));
        shard.released.notify_all();
    }

    /// Lets `give` write to a page the rows that changed here, and enter it in the table. From then
    /// on its parts are there alone, but for rows that it has no room for: then `give` returns
    /// false. After an error they are still here, and the delta is in use.
    pub(crate) fn give_back(
        &self,
        page: u32,
        give: impl FnOnce(Option<&Rows>) -> Result<bool, DbError>,
    ) -> Result<bool, DbError> {
        let mut state = self.state(page);
        debug_assert!(!state.deltas.of_page(page).is_some_and(Delta::is_here), "it was borrowed");
        let has_all = give(state.rows.of_page(page).filter(|rows| rows.is_dirty()))?;
        state.alter_delta(page, std::mem::take);
        state.alter_rows(page, |rows| {
            if has_all {
                rows.drop_values();
            }
        });
        Ok(has_all)
    }

    /// The log position of the first change of rows that a page lacks; [`CLEAN`] if it lacks none.
    pub(crate) fn lacks_from(&self, page: u32) -> u64 {
        self.state(page).rows.of_page(page).map_or(CLEAN, Rows::dirty_from)
    }

    /// A page that lacks changes of rows was split: those from `separator` on wait for the other
    /// page. The latches of both are held, and their frames need the log for these changes.
    pub(crate) fn split(&self, page: u32, separator: &[u8], other: u32) {
        let mut moved = Rows::default();
        self.state(page).alter_rows(page, |rows| moved = rows.split_off(separator));
        if !moved.is_empty() {
            let mut state = self.state(other);
            let slot = state.rows.find_or_add(other);
            state.change_rows(slot, |rows| *rows = moved);
        }
    }

    /// Forgets all parts of a page, which is free, once its delta is not on its way to the store. If
    /// some of them are changes, `keep_log` gets the log position of the first one before.
    pub(crate) fn forget(&self, page: u32, keep_log: impl FnOnce(u64)) {
        let shard = self.shard(page);
        let mut state = shard.state.lock();
        while state.deltas.of_page(page).is_some_and(Delta::is_in_use) {
            shard.released.wait(&mut state);
        }
        let delta = state.alter_delta(page, std::mem::take).unwrap_or_default();
        let rows = state.alter_rows(page, std::mem::take).unwrap_or_default();
        let from = delta.dirty_from().min(rows.dirty_from());
        if from != CLEAN {
            keep_log(from);
        }
    }

    /// Drops rows of a page, which is lost, or about to be freed. If some of them are changes,
    /// `keep_log` gets the log position of the first one before.
    pub(crate) fn drop_rows(&self, page: u32, keep_log: impl FnOnce(u64)) {
        self.state(page).alter_rows(page, |rows| {
            let from = rows.dirty_from();
            if from != CLEAN {
                keep_log(from);
            }
            *rows = Rows::default();
        });
    }

    /// Takes parts until the others take no more memory than they may, or there are `most` deltas.
    /// Rows that were used since they were looked at last get a second chance.
    pub(crate) fn take_excess(&self, most: usize, durable: u64) -> Excess {
        let shares = (self.most_bytes() / SHARDS, self.delta_bytes / SHARDS);
        self.take(shares, most, durable)
    }

    /// The same, and some memory more: it is short.
    pub(crate) fn take_spare(&self, most: usize, durable: u64) -> Excess {
        let share = self.most_bytes() / SHARDS;
        self.take((share - share / SPARE, self.delta_bytes / SHARDS), most, durable)
    }

    fn take(&self, shares: (usize, usize), most: usize, durable: u64) -> Excess {
        let mut excess = Excess::default();
        for shard in &self.shards {
            let mut state = shard.state.lock();
            state.take_excess(shares, most, durable, &mut excess);
            if self.are_many_overfull() {
                state.name_fullest(durable, &mut excess);
            }
        }
        excess
    }

    /// A page that was named may be named again, if rows wait for it.
    pub(crate) fn rename(&self, page: u32) {
        self.state(page).alter_rows(page, |_| ());
    }

    /// Pages with a delta that waits and needs the log from before `position`, those that need most
    /// of it first.
    pub(crate) fn deltas_before(&self, position: u64) -> Vec<u32> {
        self.pages_before(position, |state, pages| {
            let here = state.deltas.iter().filter(|(_, delta)| delta.is_here());
            pages.extend(here.map(|(page, delta)| (delta.dirty_from(), page)));
        })
    }

    /// Pages that lack changes of rows which need the log from before `position`, those that need
    /// most of it first.
    pub(crate) fn rows_before(&self, position: u64) -> Vec<u32> {
        self.pages_before(position, |state, pages| {
            pages.extend(state.rows.iter().map(|(page, rows)| (rows.dirty_from(), page)));
        })
    }

    fn pages_before(&self, position: u64, of: impl Fn(&State, &mut Vec<(u64, u32)>)) -> Vec<u32> {
        let mut pages = Vec::new();
        for shard in &self.shards {
            let mut of_shard = Vec::new();
            of(&shard.state.lock(), &mut of_shard);
            pages.extend(of_shard.into_iter().filter(|&(from, _)| from < position));
        }
        pages.sort_unstable();
        pages.into_iter().map(|(_, page)| page).collect()
    }

    /// The delta of a page, to be written, unless it is in use.
    pub(crate) fn borrow_unused(&self, page: u32) -> Option<CachedDelta> {
        self.state(page).alter_delta(page, Delta::borrow)?
    }

    /// Bytes that pages with changes which are not on the device may come to take more there.
    pub(crate) fn room(&self) -> usize {
        self.shards.iter().map(|shard| shard.state.lock().taken.room).sum()
    }

    /// The log position from which recovery would redo all changes; [`CLEAN`] if there are none.
    pub(crate) fn needs_log_from(&self) -> u64 {
        let of_shard = |shard: &Shard| {
            let state = shard.state.lock();
            let deltas = state.deltas.iter().map(|(_, delta)| delta.dirty_from()).min();
            let rows = state.rows.iter().map(|(_, rows)| rows.dirty_from()).min();
            deltas.into_iter().chain(rows).min()
        };
        self.shards.iter().filter_map(of_shard).min().unwrap_or(CLEAN)
    }
}

#[cfg(test)]
mod tests;
