//! The cache of parts of pages that are in no frame: a delta, rows, or both.
//!
//! A *delta* has the words of a page that changed and were not written yet. A changed page is
//! evicted mostly for one record. Pages that are changed again and again, but too rarely to stay,
//! would be written each time. Their deltas take a tenth of the memory that they take, so they stay
//! about as much longer, and several changes are written as one.
//!
//! *Rows* are records for which their page had to be read. A page has some dozens of records, of
//! which one or two are asked for again and again. In place of the page these take a twentieth of
//! the memory. A row that changes here is written to its page when that comes into a frame: as
//! something else needs it, as the log has to be cut, or as the memory is needed here.
//!
//! Both share one budget. Deltas have a part of it for sure: beyond that the oldest is written
//! first; otherwise rows that were used last longest ago are dropped. Rows are noted by their keys
//! while the page is still in a frame.

mod delta;
mod rows;
mod slots;

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use parking_lot::{Condvar, Mutex, MutexGuard};

pub(super) use delta::CachedDelta;
pub(super) use rows::Rows;

use super::frames::CLEAN;
use crate::DbError;
use crate::mvcc::{Change, Lookup, WriteKind};
use crate::node::Node;
use delta::Delta;
use slots::{Order, SLOT_BYTES, Slots};

/// Shards of the cache, each with a lock.
const SHARDS: usize = 16;

/// Pages of a shard that are named at once to be loaded.
const NAMED: usize = 2;

/// Parts of absent pages, by page.
pub(crate) struct AbsentCache {
    shards: Box<[Shard]>,
    most_bytes: AtomicUsize,
    /// Bytes of them that deltas have for sure.
    delta_bytes: usize,
}

#[derive(Default)]
struct Shard {
    state: Mutex<State>,
    /// A delta is not in use any more.
    released: Condvar,
}

#[derive(Default)]
struct State {
    slots: Slots,
    /// Bytes that all parts take.
    bytes: usize,
    /// Bytes of them that deltas take.
    delta_bytes: usize,
}

/// The parts of one page.
#[derive(Default)]
struct Parts {
    delta: Delta,
    rows: Rows,
}

/// What has to go so that all parts take no more memory than they may.
#[derive(Default)]
pub(crate) struct Excess {
    /// Deltas to be written. They are in use until [`AbsentCache::end_write`].
    pub deltas: Vec<(u32, Box<CachedDelta>)>,
    /// Pages to be loaded, as they lack changes of rows.
    pub lacking: Vec<u32>,
}

impl Parts {
    fn memory_bytes(&self) -> usize {
        SLOT_BYTES + self.delta.memory_bytes() + self.rows.heap_bytes()
    }

    fn is_empty(&self) -> bool {
        self.delta.is_none() && self.rows.is_empty()
    }

    fn dirty_from(&self) -> u64 {
        self.delta.dirty_from().min(self.rows.dirty_from)
    }
}

impl State {
    /// Changes the parts in a slot, which is in the order of deltas if one waits, in that of rows
    /// if there are some, and free if there is neither.
    fn change<T>(&mut self, slot: u32, change: impl FnOnce(&mut Parts) -> T) -> T {
        let parts = self.slots.parts_mut(slot);
        let before = (parts.memory_bytes(), parts.delta.memory_bytes());
        let changed = change(parts);
        let (has_delta, has_rows) = (parts.delta.is_here(), !parts.rows.is_empty());
        let is_empty = parts.is_empty();
        let after = match is_empty {
            true => (0, 0),
            false => (parts.memory_bytes(), parts.delta.memory_bytes()),
        };
        self.bytes = self.bytes + after.0 - before.0;
        self.delta_bytes = self.delta_bytes + after.1 - before.1;
        if is_empty {
            self.slots.remove(slot);
        } else {
            self.slots.set_in(Order::Deltas, slot, has_delta);
            self.slots.set_in(Order::Rows, slot, has_rows);
        }
        changed
    }

    /// Changes the parts of a page, if there are any.
    fn alter<T>(&mut self, page: u32, alter: impl FnOnce(&mut Parts) -> T) -> Option<T> {
        let slot = self.slots.find(page)?;
        Some(self.change(slot, alter))
    }

    /// A slot for a page, which may have had none.
    fn slot(&mut self, page: u32) -> u32 {
        let before = self.slots.len();
        let slot = self.slots.find_or_add(page);
        if self.slots.len() > before {
            self.bytes += SLOT_BYTES;
        }
        slot
    }

    /// The rows of a page, which are the last ones used.
    fn use_rows(&mut self, page: u32) -> Option<&mut Rows> {
        let slot = self.slots.find(page)?;
        if self.slots.parts(slot).rows.is_empty() {
            return None;
        }
        self.slots.put_first(Order::Rows, slot);
        Some(&mut self.slots.parts_mut(slot).rows)
    }
}

/// True if a row is here and the change leaves it as long as it is.
fn takes(rows: &mut Rows, key: &[u8], change: Change<'_>) -> bool {
    rows.value(key).is_some_and(|value| match change.kind {
        WriteKind::Put => change.value.len() == value.len(),
        WriteKind::Patch => true,
        WriteKind::PutOverflow | WriteKind::Delete => false,
    })
}

impl AbsentCache {
    /// No parts, and room for so many bytes, of which deltas have some for sure.
    pub(crate) fn new(most_bytes: usize, delta_bytes: usize) -> Self {
        let shards = (0..SHARDS).map(|_| Shard::default()).collect();
        AbsentCache { shards, most_bytes: most_bytes.into(), delta_bytes }
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
        self.shards.iter().map(|shard| shard.state.lock().bytes).sum()
    }

    fn shard(&self, page: u32) -> &Shard {
        &self.shards[page as usize % SHARDS]
    }

    fn state(&self, page: u32) -> MutexGuard<'_, State> {
        self.shard(page).state.lock()
    }

    /// Puts the value of a row into `value`, and returns the log position of its last change, or a
    /// later one. None if it is not here, or `is_absent` says that its page is in a frame by now.
    pub(crate) fn get(
        &self,
        page: u32,
        key: &[u8],
        is_absent: impl FnOnce() -> bool,
        value: &mut Vec<u8>,
    ) -> Option<u64> {
        let mut state = self.state(page);
        let rows = state.use_rows(page)?;
        let cached = rows.value(key).filter(|_| is_absent())?;
        value.clear();
        value.extend_from_slice(cached);
        Some(rows.position)
    }

    /// Makes the change of a row that the log has at `position`, after `keep` got a function that
    /// appends the old value. False if it is not here, `is_absent` says that its page is in a frame
    /// by now, or the change needs the page.
    pub(crate) fn change(
        &self,
        page: u32,
        key: &[u8],
        is_absent: impl FnOnce() -> bool,
        (change, position): (Change<'_>, u64),
        keep: impl FnOnce(&mut dyn FnMut(&mut Vec<u8>) -> Lookup),
    ) -> bool {
        let mut state = self.state(page);
        let Some(rows) = state.use_rows(page) else { return false };
        if !takes(rows, key, change) || !is_absent() {
            return false;
        }
        let Some(value) = rows.change(key, position) else { return false };
        keep(&mut |before: &mut Vec<u8>| {
            before.extend_from_slice(value);
            Lookup::Value
        });
        match change.kind {
            WriteKind::Patch => change.patch(value),
            _ => value.copy_from_slice(change.value),
        }
        true
    }

    /// True if [`Self::get`] finds a row, as it is now.
    pub(crate) fn can_get(&self, page: u32, key: &[u8]) -> bool {
        self.state(page).use_rows(page).is_some_and(|rows| rows.value(key).is_some())
    }

    /// True if [`Self::change`] needs no page, as it is now.
    pub(crate) fn can_change(&self, page: u32, key: &[u8], change: Change<'_>) -> bool {
        self.state(page).use_rows(page).is_some_and(|rows| takes(rows, key, change))
    }

    /// Notes that a page had to be read for a record.
    pub(crate) fn note(&self, page: u32, key: &[u8]) {
        if self.most_bytes() > 0 {
            let mut state = self.state(page);
            let slot = state.slot(page);
            state.change(slot, |parts| parts.rows.note(key));
            state.slots.put_first(Order::Rows, slot);
        }
    }

    /// Keeps the delta of a page that is evicted, and the values of the rows that were noted; its
    /// latch is held.
    pub(crate) fn keep(&self, page: u32, node: Node<'_>, delta: Option<CachedDelta>) {
        let mut state = self.state(page);
        if let Some(delta) = delta {
            let slot = state.slot(page);
            state.change(slot, |parts| parts.delta.keep(delta));
        }
        state.alter(page, |parts| {
            assert!(!parts.rows.is_dirty(), "page {page} lacked changes of rows in its frame");
            if !parts.rows.is_empty() {
                parts.rows.take_values(node);
            }
        });
    }

    /// The delta of a page that is loading, for its use until [`Self::release`] or
    /// [`Self::give_back`]. Waits until it is not on its way to the store.
    pub(crate) fn borrow(&self, page: u32) -> Option<Box<CachedDelta>> {
        let shard = self.shard(page);
        let mut state = shard.state.lock();
        while state.alter(page, |parts| parts.delta.is_in_use())? {
            shard.released.wait(&mut state);
        }
        state.alter(page, |parts| parts.delta.borrow())?
    }

    /// The delta of a page stays, as the page could not be read.
    pub(crate) fn release(&self, page: u32, delta: Box<CachedDelta>) {
        self.end_use(page, Some(delta));
    }

    /// The delta of a page was written, or could not be.
    pub(crate) fn end_write(&self, page: u32, delta: Box<CachedDelta>, arrived: bool) {
        self.end_use(page, (!arrived).then_some(delta));
    }

    fn end_use(&self, page: u32, left: Option<Box<CachedDelta>>) {
        let shard = self.shard(page);
        shard.state.lock().alter(page, |parts| parts.delta.end_use(left));
        shard.released.notify_all();
    }

    /// Lets `give` write to a page the rows that changed here, and enter it in the table. From then
    /// on its parts are there alone; after an error they are still here, and the delta is in use.
    pub(crate) fn give_back(
        &self,
        page: u32,
        give: impl FnOnce(Option<&Rows>) -> Result<(), DbError>,
    ) -> Result<(), DbError> {
        let mut state = self.state(page);
        let parts = state.slots.find(page).map(|slot| state.slots.parts(slot));
        debug_assert!(parts.is_none_or(|parts| !parts.delta.is_here()), "it was borrowed");
        give(parts.map(|parts| &parts.rows).filter(|rows| rows.is_dirty()))?;
        state.alter(page, |parts| {
            parts.delta = Delta::None;
            parts.rows.drop_values();
        });
        Ok(())
    }

    /// Forgets all parts of a page, which is free.
    pub(crate) fn forget(&self, page: u32) {
        self.state(page).alter(page, |parts| {
            assert!(
                !parts.delta.is_in_use(),
                "page {page} is free, and its delta is being written"
            );
            *parts = Parts::default();
        });
    }

    /// Forgets rows of a page, which is lost.
    pub(crate) fn forget_rows(&self, page: u32) {
        self.state(page).alter(page, |parts| parts.rows = Rows::default());
    }

    /// Takes parts until the others take no more memory than they may, or there are `most` deltas.
    /// Rows that were used since they were looked at last get a second chance.
    pub(crate) fn take_excess(&self, most: usize) -> Excess {
        let shares = (self.most_bytes() / SHARDS, self.delta_bytes / SHARDS);
        let mut excess = Excess::default();
        for shard in &self.shards {
            shard.state.lock().take_excess(shares, most, &mut excess);
        }
        excess
    }

    /// Pages with a delta that waits and needs the log from before `position`.
    pub(crate) fn deltas_before(&self, position: u64) -> Vec<u32> {
        self.pages(Order::Deltas, |parts| parts.delta.dirty_from() < position)
    }

    /// Pages that lack changes of rows which need the log from before `position`.
    pub(crate) fn rows_before(&self, position: u64) -> Vec<u32> {
        self.pages(Order::Rows, |parts| parts.rows.dirty_from < position)
    }

    /// Pages of an order, the last of each shard first.
    fn pages(&self, order: Order, is_it: impl Fn(&Parts) -> bool) -> Vec<u32> {
        let mut pages = Vec::new();
        for shard in &self.shards {
            let slots = &shard.state.lock().slots;
            let found = slots.oldest_first(order).filter(|&slot| is_it(slots.parts(slot)));
            pages.extend(found.map(|slot| slots.page(slot)));
        }
        pages
    }

    /// The delta of a page, to be written, unless it is in use.
    pub(crate) fn borrow_unused(&self, page: u32) -> Option<Box<CachedDelta>> {
        self.state(page).alter(page, |parts| parts.delta.borrow())?
    }

    /// Pages with changes that are not on the device.
    pub(crate) fn changed(&self) -> usize {
        let is_changed = |parts: &&Parts| parts.dirty_from() != CLEAN;
        let of_shard = |shard: &Shard| shard.state.lock().slots.iter().filter(is_changed).count();
        self.shards.iter().map(of_shard).sum()
    }

    /// The log position from which recovery would redo all changes; [`CLEAN`] if there are none.
    pub(crate) fn needs_log_from(&self) -> u64 {
        let of_shard = |shard: &Shard| shard.state.lock().slots.iter().map(Parts::dirty_from).min();
        self.shards.iter().filter_map(of_shard).min().unwrap_or(CLEAN)
    }
}

impl State {
    fn take_excess(&mut self, (share, deltas): (usize, usize), most: usize, excess: &mut Excess) {
        let (first, mut leaving, mut leaving_deltas) = (excess.lacking.len(), 0, 0);
        for _ in 0..2 * self.slots.len() {
            if self.bytes <= share + leaving {
                return;
            }
            let (delta, rows) = (self.slots.last(Order::Deltas), self.slots.last(Order::Rows));
            let is_delta = self.delta_bytes > deltas + leaving_deltas || rows.is_none();
            match (delta.filter(|_| is_delta), rows) {
                (Some(_), _) if excess.deltas.len() == most => return,
                (Some(slot), _) => {
                    let parts = self.slots.parts(slot);
                    let bytes = parts.delta.memory_bytes();
                    leaving_deltas += bytes;
                    leaving += bytes + if parts.rows.is_empty() { SLOT_BYTES } else { 0 };
                    let page = self.slots.page(slot);
                    let delta = self.change(slot, |parts| parts.delta.borrow());
                    excess.deltas.extend(delta.map(|delta| (page, delta)));
                }
                (None, Some(slot)) => {
                    let rows = &self.slots.parts(slot).rows;
                    let has_to_be_loaded = rows.is_dirty() && !rows.is_used();
                    if has_to_be_loaded && excess.lacking.len() - first == NAMED {
                        return;
                    }
                    if has_to_be_loaded {
                        excess.lacking.push(self.slots.page(slot));
                    }
                    let is_left = has_to_be_loaded || self.drop_unused(slot);
                    if is_left {
                        self.slots.put_first(Order::Rows, slot);
                    }
                }
                (None, None) => return,
            }
        }
    }

    /// Drops rows that were not used. True if some are left.
    fn drop_unused(&mut self, slot: u32) -> bool {
        self.change(slot, |parts| {
            parts.rows.drop_unused();
            !parts.rows.is_empty()
        })
    }
}

#[cfg(test)]
mod tests;
