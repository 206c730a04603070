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

use std::ops::{AddAssign, SubAssign};
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
use slots::{CLASSES, Order, SLOT_BYTES, Slots};

/// Shards of the cache, each with a lock.
const SHARDS: usize = 16;

/// Pages of a shard that are named at once to be loaded.
const NAMED: usize = 2;

/// Bytes of waiting rows of a class of pages.
const CLASS_BYTES: usize = 64;

/// If rows that wait take more of the memory that deltas leave to rows, most deltas are written.
const MOST_WAITING: (usize, usize) = (3, 4);

/// Deltas have one of so many parts of the memory then that they have for sure otherwise: what
/// waits saves reads, and not only writes.
const BESIDE_WAITING: usize = 8;

/// Bytes that a page comes to take more in the store with a delta that waits, at most.
const DELTA_ROOM: usize = PAGE_BYTES / 8 * 3;

/// The same with rows that wait, beside their own bytes: as an image it takes the place of a base,
/// and of a delta and a tail that have three eighths of a page at least together with these rows.
const WAITING_ROOM: usize = PAGE_BYTES / 8 * 5;

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

#[derive(Default)]
struct Shard {
    state: Mutex<State>,
    /// A delta is not in use any more.
    released: Condvar,
}

#[derive(Default)]
struct State {
    slots: Slots,
    /// Memory and room of all parts.
    taken: Taken,
    /// Pages of all shards that perhaps are overfull.
    overfull: Arc<AtomicUsize>,
}

/// Memory after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    /// All parts take no more than they may.
    Enough,
    /// They take more, or too many pages are overfull.
    Short,
}

/// Memory and room that parts of pages take.
#[derive(Clone, Copy, Default)]
struct Taken {
    /// Bytes of memory.
    bytes: usize,
    /// Bytes of them that deltas take.
    delta_bytes: usize,
    /// Bytes of them that rows of pages take which lack some.
    waiting_bytes: usize,
    /// Bytes that the pages may come to take more in the store.
    room: usize,
}

impl AddAssign for Taken {
    fn add_assign(&mut self, more: Taken) {
        self.bytes += more.bytes;
        self.delta_bytes += more.delta_bytes;
        self.waiting_bytes += more.waiting_bytes;
        self.room += more.room;
    }
}

impl SubAssign for Taken {
    fn sub_assign(&mut self, less: Taken) {
        self.bytes -= less.bytes;
        self.delta_bytes -= less.delta_bytes;
        self.waiting_bytes -= less.waiting_bytes;
        self.room -= less.room;
    }
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
    pub deltas: Vec<(u32, CachedDelta)>,
    /// Pages to be loaded, as they lack changes of rows.
    pub lacking: Vec<u32>,
}

impl Parts {
    fn memory_bytes(&self) -> usize {
        SLOT_BYTES + self.delta.memory_bytes() + self.rows.heap_bytes()
    }

    fn taken(&self) -> Taken {
        if self.delta.is_none() && self.rows.is_empty() {
            return Taken::default();
        }
        let (waiting_bytes, room) = match (self.rows.is_dirty(), self.delta.is_none()) {
            (true, _) => {
                let room = (WAITING_ROOM + self.rows.waiting_bytes()).min(PAGE_BYTES);
                let other = if self.rows.are_overfull() { PAGE_BYTES } else { 0 };
                (SLOT_BYTES + self.rows.heap_bytes(), room + other)
            }
            (false, false) => (0, DELTA_ROOM),
            (false, true) => (0, 0),
        };
        let (bytes, delta_bytes) = (self.memory_bytes(), self.delta.memory_bytes());
        Taken { bytes, delta_bytes, waiting_bytes, room }
    }

    /// The order of the rows.
    fn order(&self) -> Option<Order> {
        match (self.rows.is_empty(), self.rows.is_dirty()) {
            (true, _) => None,
            (false, false) => Some(Order::Rows),
            (false, true) => {
                let class = self.rows.waiting_bytes() / CLASS_BYTES;
                Some(Order::Waiting(class.min(usize::from(CLASSES) - 1) as u8))
            }
        }
    }

    fn dirty_from(&self) -> u64 {
        self.delta.dirty_from().min(self.rows.dirty_from())
    }
}

impl State {
    /// Changes the parts in a slot, which is in the order of deltas if one waits, in one of rows if
    /// there are some, and free if there is neither.
    fn change<T>(&mut self, slot: u32, change: impl FnOnce(&mut Parts) -> T) -> T {
        let parts = self.slots.parts_mut(slot);
        let before = Taken { bytes: parts.memory_bytes(), ..parts.taken() };
        let was_overfull = parts.rows.are_overfull();
        let changed = change(parts);
        match (was_overfull, parts.rows.are_overfull()) {
            (false, true) => _ = self.overfull.fetch_add(1, Relaxed),
            (true, false) => _ = self.overfull.fetch_sub(1, Relaxed),
            _ => {}
        }
        let (after, has_delta, order) = (parts.taken(), parts.delta.is_here(), parts.order());
        self.taken += after;
        self.taken -= before;
        if after.bytes == 0 {
            self.slots.remove(slot);
        } else {
            self.slots.set_delta(slot, has_delta);
            self.slots.set_rows(slot, order);
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
            self.taken.bytes += SLOT_BYTES;
        }
        slot
    }

    /// The rows of a page, which are the last ones used.
    fn use_rows(&mut self, page: u32) -> Option<&mut Rows> {
        let slot = self.slots.find(page)?;
        self.slots.use_rows(slot);
        Some(&mut self.slots.parts_mut(slot).rows)
    }
}

impl AbsentCache {
    /// No parts, and room for so many bytes, of which deltas have some for sure.
    pub(crate) fn new(most_bytes: usize, delta_bytes: usize) -> Self {
        let overfull = Arc::default();
        let shard = |_| {
            let state = State { overfull: Arc::clone(&overfull), ..State::default() };
            Shard { state: state.into(), ..Shard::default() }
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
        let slot = state.slots.find(page);
        slot.is_some_and(|slot| state.slots.parts(slot).rows.has_waiting(key))
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
        let slot = state.slot(page);
        let room = self.with_split(room, Some(&state.slots.parts(slot).rows));
        if !state.change(slot, |parts| parts.rows.change(key, change, room, keep)) {
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
        let rows = state.slots.find(page).map(|slot| &state.slots.parts(slot).rows);
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
            let slot = state.slot(page);
            state.change(slot, |parts| parts.rows.note(key));
            state.slots.use_rows(slot);
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
            // A page that had no room for what waits leaves as it came.
            if !parts.rows.is_empty() && !parts.rows.is_dirty() {
                parts.rows.take_values(node);
            }
        });
    }

    /// The delta of a page that is loading, for its use until [`Self::release`] or
    /// [`Self::give_back`]. Waits until it is not on its way to the store.
    pub(crate) fn borrow(&self, page: u32) -> Option<CachedDelta> {
        let shard = self.shard(page);
        let mut state = shard.state.lock();
        while state.alter(page, |parts| parts.delta.is_in_use())? {
            shard.released.wait(&mut state);
        }
        state.alter(page, |parts| parts.delta.borrow())?
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
        shard.state.lock().alter(page, |parts| parts.delta.end_use(left));
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
        let parts = state.slots.find(page).map(|slot| state.slots.parts(slot));
        debug_assert!(parts.is_none_or(|parts| !parts.delta.is_here()), "it was borrowed");
        let has_all = give(parts.map(|parts| &parts.rows).filter(|rows| rows.is_dirty()))?;
        state.alter(page, |parts| {
            parts.delta = Delta::default();
            if has_all {
                parts.rows.drop_values();
            }
        });
        Ok(has_all)
    }

    /// The log position of the first change of rows that a page lacks; [`CLEAN`] if it lacks none.
    pub(crate) fn lacks_from(&self, page: u32) -> u64 {
        let state = self.state(page);
        state.slots.find(page).map_or(CLEAN, |slot| state.slots.parts(slot).rows.dirty_from())
    }

    /// A page that lacks changes of rows was split: those from `separator` on wait for the other
    /// page. The latches of both are held, and their frames need the log for these changes.
    pub(crate) fn split(&self, page: u32, separator: &[u8], other: u32) {
        let mut moved = Rows::default();
        self.state(page).alter(page, |parts| moved = parts.rows.split_off(separator));
        if !moved.is_empty() {
            let mut state = self.state(other);
            let slot = state.slot(other);
            state.change(slot, |parts| parts.rows = moved);
        }
    }

    /// Forgets all parts of a page, which is free, once its delta is not on its way to the store. If
    /// some of them are changes, `keep_log` gets the log position of the first one before.
    pub(crate) fn forget(&self, page: u32, keep_log: impl FnOnce(u64)) {
        let shard = self.shard(page);
        let mut state = shard.state.lock();
        while state.alter(page, |parts| parts.delta.is_in_use()) == Some(true) {
            shard.released.wait(&mut state);
        }
        state.alter(page, |parts| {
            let from = parts.dirty_from();
            if from != CLEAN {
                keep_log(from);
            }
            *parts = Parts::default();
        });
    }

    /// Drops rows of a page, which is lost, or about to be freed. If some of them are changes,
    /// `keep_log` gets the log position of the first one before.
    pub(crate) fn drop_rows(&self, page: u32, keep_log: impl FnOnce(u64)) {
        self.state(page).alter(page, |parts| {
            let from = parts.rows.dirty_from();
            if from != CLEAN {
                keep_log(from);
            }
            parts.rows = Rows::default();
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
        self.state(page).alter(page, |_| ());
    }

    /// Pages with a delta that waits and needs the log from before `position`.
    pub(crate) fn deltas_before(&self, position: u64) -> Vec<u32> {
        self.pages_before(position, |parts| match parts.delta.is_here() {
            true => parts.delta.dirty_from(),
            false => CLEAN,
        })
    }

    /// Pages that lack changes of rows which need the log from before `position`.
    pub(crate) fn rows_before(&self, position: u64) -> Vec<u32> {
        self.pages_before(position, |parts| parts.rows.dirty_from())
    }

    /// Pages whose parts need the log from before `position`, those that need most of it first.
    fn pages_before(&self, position: u64, from: impl Fn(&Parts) -> u64) -> Vec<u32> {
        let mut pages = Vec::new();
        for shard in &self.shards {
            let slots = &shard.state.lock().slots;
            let froms = slots.iter().map(|(page, parts)| (from(parts), page));
            pages.extend(froms.filter(|&(from, _)| from < position));
        }
        pages.sort_unstable();
        pages.into_iter().map(|(_, page)| page).collect()
    }

    /// The delta of a page, to be written, unless it is in use.
    pub(crate) fn borrow_unused(&self, page: u32) -> Option<CachedDelta> {
        self.state(page).alter(page, |parts| parts.delta.borrow())?
    }

    /// Bytes that pages with changes which are not on the device may come to take more there.
    pub(crate) fn room(&self) -> usize {
        self.shards.iter().map(|shard| shard.state.lock().taken.room).sum()
    }

    /// The log position from which recovery would redo all changes; [`CLEAN`] if there are none.
    pub(crate) fn needs_log_from(&self) -> u64 {
        let of_shard = |shard: &Shard| {
            let slots = &shard.state.lock().slots;
            slots.iter().map(|(_, parts)| parts.dirty_from()).min()
        };
        self.shards.iter().filter_map(of_shard).min().unwrap_or(CLEAN)
    }
}

impl State {
    fn take_excess(
        &mut self,
        (share, deltas): (usize, usize),
        most: usize,
        durable: u64,
        excess: &mut Excess,
    ) {
        let (first, mut leaving, mut leaving_deltas) = (excess.lacking.len(), 0, 0);
        for _ in 0..2 * self.slots.len() {
            if self.taken.bytes <= share + leaving {
                return;
            }
            match self.next_to_leave((share, deltas), leaving_deltas, durable) {
                Some((Order::Deltas, slot)) if excess.deltas.len() < most => {
                    let parts = self.slots.parts(slot);
                    let bytes = parts.delta.memory_bytes();
                    leaving_deltas += bytes;
                    leaving += bytes + if parts.rows.is_empty() { SLOT_BYTES } else { 0 };
                    let page = self.slots.page(slot);
                    let delta = self.change(slot, |parts| parts.delta.borrow());
                    excess.deltas.extend(delta.map(|delta| (page, delta)));
                }
                Some((Order::Rows, slot)) => self.drop_unused(slot),
                Some((Order::Waiting(_), slot)) if excess.lacking.len() - first < NAMED => {
                    leaving += self.name(slot, excess);
                }
                _ => return,
            }
        }
    }

    /// The slot whose delta or rows go next, as so many bytes of deltas are about to leave.
    fn next_to_leave(
        &self,
        shares: (usize, usize),
        leaving: usize,
        durable: u64,
    ) -> Option<(Order, u32)> {
        let last = |order| self.slots.last(order).map(|slot| (order, slot));
        let (delta, rows) = (last(Order::Deltas), last(Order::Rows));
        let beyond = delta.filter(|_| self.taken.delta_bytes > self.for_sure(shares) + leaving);
        beyond.or(rows).or_else(|| self.fullest(durable)).or(delta)
    }

    /// Bytes that deltas have for sure of a share of the memory.
    fn for_sure(&self, (share, deltas): (usize, usize)) -> usize {
        let (part, of) = MOST_WAITING;
        let rows = share.saturating_sub(self.taken.delta_bytes);
        match self.taken.waiting_bytes > rows / of * part {
            true => deltas / BESIDE_WAITING,
            false => deltas,
        }
    }

    /// The slot for which most rows wait, of those that can be written at once: the log on the
    /// device has their last change. If there is none, the fullest of all.
    fn fullest(&self, durable: u64) -> Option<(Order, u32)> {
        let is_durable = |slot| self.slots.parts(slot).rows.position() <= durable;
        self.slots.fullest(is_durable).or_else(|| self.slots.fullest(|_| true))
    }

    /// Names the pages for which most rows wait.
    fn name_fullest(&mut self, durable: u64, excess: &mut Excess) {
        for _ in 0..NAMED {
            let Some((_, slot)) = self.fullest(durable) else { return };
            self.name(slot, excess);
        }
    }

    /// Names a page for which rows wait. Returns the bytes that it will give back.
    fn name(&mut self, slot: u32, excess: &mut Excess) -> usize {
        // It is not named again before it could be loaded, or another change waits for it.
        self.slots.set_rows(slot, None);
        excess.lacking.push(self.slots.page(slot));
        self.slots.parts(slot).taken().waiting_bytes
    }

    /// Drops rows that were not used. Others have a second chance.
    fn drop_unused(&mut self, slot: u32) {
        let is_left = self.change(slot, |parts| {
            parts.rows.drop_unused();
            !parts.rows.is_empty()
        });
        if is_left {
            self.slots.use_rows(slot);
        }
    }
}

#[cfg(test)]
mod tests;
