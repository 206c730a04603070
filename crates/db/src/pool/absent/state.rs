//! The parts of the absent pages of a shard: what they take, and which go first.

use std::ops::{AddAssign, SubAssign};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::Excess;
use super::delta::Delta;
use super::rows::Rows;
use super::slots::Slots;
use crate::node::PAGE_BYTES;

/// Pages of a shard that are named at once to be loaded.
const NAMED: usize = 2;

/// Bytes of waiting rows of a class of pages.
const CLASS_BYTES: usize = 64;

/// Classes of pages by the bytes of rows that they lack.
const CLASSES: u8 = 32;

/// The order of deltas that wait: those that came last are first.
const DELTAS: u8 = 0;

/// The order of rows that their page has: those that were used last are first.
const KNOWN: u8 = 0;

/// The first of the orders of rows that their page lacks, one for each class: those that came into it
/// last are first.
const WAITING: u8 = KNOWN + 1;

/// Bytes of a delta's slot.
pub(super) const DELTA_SLOT: usize = Slots::<Delta>::BYTES;

/// Bytes of a slot of rows.
pub(super) const ROWS_SLOT: usize = Slots::<Rows>::BYTES;

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

/// Parts of the absent pages of a shard.
pub(super) struct State {
    /// Deltas, by page.
    pub deltas: Slots<Delta>,
    /// Rows, by page.
    pub rows: Slots<Rows>,
    /// Memory and room of all parts.
    pub taken: Taken,
    /// Pages of all shards that perhaps are overfull.
    overfull: Arc<AtomicUsize>,
}

/// Memory and room that parts of pages take.
#[derive(Clone, Copy, Default)]
pub(super) struct Taken {
    /// Bytes of memory.
    pub bytes: usize,
    /// Bytes of them that deltas take.
    delta_bytes: usize,
    /// Bytes of them that rows of pages take which lack some.
    pub waiting_bytes: usize,
    /// Bytes that the pages may come to take more in the store.
    pub room: usize,
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

/// A part of the memory of the cache that goes next.
enum Leaving {
    /// A delta that waits.
    Delta(u32),
    /// Rows that their page has.
    Known(u32),
    /// Rows that their page lacks.
    Waiting(u32),
}

/// Memory and room of rows, without the room that a delta beside them needs if none waits.
fn taken_by(rows: &Rows) -> Taken {
    if rows.is_empty() {
        return Taken::default();
    }
    let bytes = ROWS_SLOT + rows.heap_bytes();
    if !rows.is_dirty() {
        return Taken { bytes, ..Taken::default() };
    }
    let room = (WAITING_ROOM + rows.waiting_bytes()).min(PAGE_BYTES);
    let other = if rows.are_overfull() { PAGE_BYTES } else { 0 };
    Taken { bytes, delta_bytes: 0, waiting_bytes: bytes, room: room + other }
}

/// The order of rows.
fn order_of(rows: &Rows) -> Option<u8> {
    match (rows.is_empty(), rows.is_dirty()) {
        (true, _) => None,
        (false, false) => Some(KNOWN),
        (false, true) => {
            let class = rows.waiting_bytes() / CLASS_BYTES;
            Some(WAITING + class.min(usize::from(CLASSES) - 1) as u8)
        }
    }
}

impl State {
    /// No parts. `overfull` counts pages of all shards.
    pub(super) fn new(overfull: Arc<AtomicUsize>) -> Self {
        let (deltas, rows) = (Slots::new(DELTAS + 1), Slots::new(WAITING + CLASSES));
        State { deltas, rows, taken: Taken::default(), overfull }
    }

    /// Changes the delta in a slot, which is in the order of those that wait if it does, and free if
    /// there is none.
    pub(super) fn change_delta<T>(&mut self, slot: u32, change: impl FnOnce(&mut Delta) -> T) -> T {
        let rows_wait = self.rows.of_page(self.deltas.page(slot)).is_some_and(Rows::is_dirty);
        let taken = |delta: &Delta| match delta.is_none() {
            true => Taken::default(),
            false => {
                let bytes = DELTA_SLOT + delta.memory_bytes();
                // Rows that wait have room for a delta in theirs.
                let room = if rows_wait { 0 } else { DELTA_ROOM };
                Taken { bytes, delta_bytes: bytes, waiting_bytes: 0, room }
            }
        };
        let delta = self.deltas.part_mut(slot);
        let before = taken(delta);
        let changed = change(delta);
        self.taken += taken(delta);
        self.taken -= before;
        let (is_none, is_here) = (delta.is_none(), delta.is_here());
        match is_none {
            true => self.deltas.remove(slot),
            false => self.deltas.set_order(slot, is_here.then_some(DELTAS)),
        }
        changed
    }

    /// Changes the rows in a slot, which is in one of their orders if there are some, and free if
    /// there are none.
    pub(super) fn change_rows<T>(&mut self, slot: u32, change: impl FnOnce(&mut Rows) -> T) -> T {
        let rows = self.rows.part_mut(slot);
        let (before, was_dirty, was_overfull) =
            (taken_by(rows), rows.is_dirty(), rows.are_overfull());
        let changed = change(rows);
        match (was_overfull, rows.are_overfull()) {
            (false, true) => _ = self.overfull.fetch_add(1, Relaxed),
            (true, false) => _ = self.overfull.fetch_sub(1, Relaxed),
            _ => {}
        }
        let (after, is_dirty, order) = (taken_by(rows), rows.is_dirty(), order_of(rows));
        self.taken += after;
        self.taken -= before;
        // A delta beside them has its own room as long as none waits.
        if was_dirty != is_dirty && self.deltas.find(self.rows.page(slot)).is_some() {
            match is_dirty {
                true => self.taken.room -= DELTA_ROOM,
                false => self.taken.room += DELTA_ROOM,
            }
        }
        match order {
            None => self.rows.remove(slot),
            order => self.rows.set_order(slot, order),
        }
        changed
    }

    /// Changes the delta of a page, if it has one.
    pub(super) fn alter_delta<T>(
        &mut self,
        page: u32,
        alter: impl FnOnce(&mut Delta) -> T,
    ) -> Option<T> {
        let slot = self.deltas.find(page)?;
        Some(self.change_delta(slot, alter))
    }

    /// Changes the rows of a page, if it has some.
    pub(super) fn alter_rows<T>(
        &mut self,
        page: u32,
        alter: impl FnOnce(&mut Rows) -> T,
    ) -> Option<T> {
        let slot = self.rows.find(page)?;
        Some(self.change_rows(slot, alter))
    }

    /// The rows of a page, which are the last ones used.
    pub(super) fn use_rows(&mut self, page: u32) -> Option<&mut Rows> {
        let slot = self.rows.find(page)?;
        if self.rows.order(slot) == Some(KNOWN) {
            self.rows.make_first(slot);
        }
        Some(self.rows.part_mut(slot))
    }

    /// Takes parts until the others take no more memory than the shares of all and of deltas, or
    /// there are `most` deltas. The log on the device ends at `durable`.
    pub(super) fn take_excess(
        &mut self,
        (share, deltas): (usize, usize),
        most: usize,
        durable: u64,
        excess: &mut Excess,
    ) {
        let (first, mut leaving, mut leaving_deltas) = (excess.lacking.len(), 0, 0);
        for _ in 0..2 * (self.rows.len() + self.deltas.len()) {
            if self.taken.bytes <= share + leaving {
                return;
            }
            match self.next_to_leave((share, deltas), leaving_deltas, durable) {
                Some(Leaving::Delta(slot)) if excess.deltas.len() < most => {
                    let bytes = DELTA_SLOT + self.deltas.part(slot).memory_bytes();
                    leaving_deltas += bytes;
                    leaving += bytes;
                    let page = self.deltas.page(slot);
                    let delta = self.change_delta(slot, Delta::borrow);
                    excess.deltas.extend(delta.map(|delta| (page, delta)));
                }
                Some(Leaving::Known(slot)) => self.drop_unused(slot),
                Some(Leaving::Waiting(slot)) if excess.lacking.len() - first < NAMED => {
                    leaving += self.name(slot, excess);
                }
                _ => return,
            }
        }
    }

    /// The part that goes next, as so many bytes of deltas are about to leave.
    fn next_to_leave(
        &self,
        shares: (usize, usize),
        leaving: usize,
        durable: u64,
    ) -> Option<Leaving> {
        let delta = self.deltas.last(DELTAS).map(Leaving::Delta);
        if delta.is_some() && self.taken.delta_bytes > self.for_sure(shares) + leaving {
            return delta;
        }
        let known = self.rows.last(KNOWN).map(Leaving::Known);
        known.or_else(|| self.fullest(durable).map(Leaving::Waiting)).or(delta)
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
    fn fullest(&self, durable: u64) -> Option<u32> {
        let mut last = (0..CLASSES).rev().filter_map(|class| self.rows.last(WAITING + class));
        let is_durable = |&slot: &u32| self.rows.part(slot).position() <= durable;
        last.clone().find(is_durable).or_else(|| last.next())
    }

    /// Names the pages for which most rows wait.
    pub(super) fn name_fullest(&mut self, durable: u64, excess: &mut Excess) {
        for _ in 0..NAMED {
            let Some(slot) = self.fullest(durable) else { return };
            self.name(slot, excess);
        }
    }

    /// Names a page for which rows wait. Returns the bytes that it will give back.
    fn name(&mut self, slot: u32, excess: &mut Excess) -> usize {
        // It is not named again before it could be loaded, or another change waits for it.
        self.rows.set_order(slot, None);
        excess.lacking.push(self.rows.page(slot));
        taken_by(self.rows.part(slot)).waiting_bytes
    }

    /// Drops rows that were not used. Others have a second chance.
    fn drop_unused(&mut self, slot: u32) {
        let is_left = self.change_rows(slot, |rows| {
            rows.drop_unused();
            !rows.is_empty()
        });
        if is_left {
            self.rows.make_first(slot);
        }
    }
}
