//! Slots for the parts of pages, found by page number, each in up to two orders. Nothing is
//! allocated for a page once there are as many slots as pages.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::Parts;

/// In place of a slot: there is none.
const NONE: u32 = u32::MAX;
/// In place of the slot before: the slot is not in the order.
const OUT: u32 = u32::MAX - 1;

/// An order of slots. Each is in one of the orders of rows at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Slots with a delta that waits: those that came last are first.
    Deltas,
    /// Slots with rows that their page has: those that were used last are first.
    Rows,
    /// Slots with rows that their page lacks, so many bytes of them that they are in this class:
    /// those that came into it last are first.
    Waiting(u8),
}

impl Order {
    /// Orders with the same link: a slot is in one of them at most.
    fn link(self) -> usize {
        match self {
            Order::Deltas => 0,
            Order::Rows | Order::Waiting(_) => 1,
        }
    }

    fn end(self) -> usize {
        match self {
            Order::Deltas => 0,
            Order::Rows => 1,
            Order::Waiting(class) => 2 + usize::from(class),
        }
    }
}

/// Classes of slots by the bytes of rows that their page lacks.
pub(super) const CLASSES: u8 = 32;

/// The parts of one page, and the slots before and after in the order of deltas and in that of its
/// rows.
struct Slot {
    page: u32,
    /// The order of rows in which it is.
    rows: Option<Order>,
    links: [Link; 2],
    parts: Parts,
}

#[derive(Clone, Copy)]
struct Link {
    before: u32,
    after: u32,
}

/// The first and the last slot of an order.
#[derive(Clone, Copy)]
struct Ends {
    first: u32,
    last: u32,
}

/// Slots, found by page number.
pub(super) struct Slots {
    by_page: HashMap<u32, u32, BuildHasherDefault<HashedPage>>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    ends: [Ends; 2 + CLASSES as usize],
}

/// Bytes of a slot, of its place in the table of numbers, and of what is free in both, about.
pub(super) const SLOT_BYTES: usize = size_of::<Slot>() + 18;

/// The hash of a page number. The pages of a shard differ in their upper bits.
#[derive(Default)]
struct HashedPage(u64);

impl Hasher for HashedPage {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {}

    fn write_u32(&mut self, page: u32) {
        self.0 = u64::from(page).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    }
}

impl Default for Slots {
    fn default() -> Self {
        let ends = [Ends { first: NONE, last: NONE }; 2 + CLASSES as usize];
        Slots { by_page: HashMap::default(), slots: Vec::new(), free: Vec::new(), ends }
    }
}

impl Slots {
    /// The slot of a page.
    #[inline]
    pub(super) fn find(&self, page: u32) -> Option<u32> {
        self.by_page.get(&page).copied()
    }

    /// The slot of a page; one without parts, and in no order, if it had none.
    pub(super) fn find_or_add(&mut self, page: u32) -> u32 {
        if let Some(slot) = self.find(page) {
            return slot;
        }
        let links = [Link { before: OUT, after: NONE }; 2];
        let new = Slot { page, rows: None, links, parts: Parts::default() };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = new;
                slot
            }
            None => {
                if self.slots.len() == self.slots.capacity() {
                    self.slots.reserve_exact(self.slots.len() / 8 + 16);
                }
                self.slots.push(new);
                self.slots.len() as u32 - 1
            }
        };
        self.by_page.insert(page, slot);
        slot
    }

    /// Removes a slot.
    pub(super) fn remove(&mut self, slot: u32) {
        self.unlink(Order::Deltas, slot);
        self.set_rows(slot, None);
        let removed = self.by_page.remove(&self.page(slot));
        assert_eq!(removed, Some(slot), "a page has one slot");
        self.slots[slot as usize].parts = Parts::default();
        self.free.push(slot);
    }

    /// The page of a slot.
    pub(super) fn page(&self, slot: u32) -> u32 {
        self.slots[slot as usize].page
    }

    /// The parts in a slot.
    pub(super) fn parts(&self, slot: u32) -> &Parts {
        &self.slots[slot as usize].parts
    }

    /// The parts in a slot, to be changed.
    pub(super) fn parts_mut(&mut self, slot: u32) -> &mut Parts {
        &mut self.slots[slot as usize].parts
    }

    /// The number of pages.
    pub(super) fn len(&self) -> usize {
        self.by_page.len()
    }

    /// All pages and their parts, in no order. Slots that are free are among them, and have no
    /// parts.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Parts)> {
        self.slots.iter().map(|slot| (slot.page, &slot.parts))
    }

    /// The last slot of an order.
    pub(super) fn last(&self, order: Order) -> Option<u32> {
        let last = self.ends[order.end()].last;
        (last != NONE).then_some(last)
    }

    /// Puts a slot into the order of deltas, or takes it out. It comes first, or stays where it is.
    pub(super) fn set_delta(&mut self, slot: u32, is_here: bool) {
        let was_here = self.link(Order::Deltas, slot).before != OUT;
        match (was_here, is_here) {
            (false, true) => self.put_first(Order::Deltas, slot),
            (true, false) => self.unlink(Order::Deltas, slot),
            _ => {}
        }
    }

    /// Puts a slot into an order of rows, or takes it out of all. It comes first, or stays where it
    /// is.
    pub(super) fn set_rows(&mut self, slot: u32, after: Option<Order>) {
        let before = self.slots[slot as usize].rows;
        if before != after {
            before.into_iter().for_each(|order| self.unlink(order, slot));
            after.into_iter().for_each(|order| self.put_first(order, slot));
            self.slots[slot as usize].rows = after;
        }
    }

    /// The rows of a slot are the last ones used, unless some wait for their page.
    pub(super) fn use_rows(&mut self, slot: u32) {
        if self.slots[slot as usize].rows == Some(Order::Rows) {
            self.put_first(Order::Rows, slot);
        }
    }

    /// Of the last slots of the classes that one whose page lacks most bytes of rows, and its order.
    /// Slots that `may` says no of are passed over.
    pub(super) fn fullest(&self, may: impl Fn(u32) -> bool) -> Option<(Order, u32)> {
        let mut classes = (0..CLASSES).rev().map(Order::Waiting);
        classes.find_map(|order| Some((order, self.last(order).filter(|&slot| may(slot))?)))
    }

    /// Makes a slot of an order, or of none, the first.
    fn put_first(&mut self, order: Order, slot: u32) {
        let first = self.ends[order.end()].first;
        if first == slot {
            return;
        }
        self.unlink(order, slot);
        *self.link(order, slot) = Link { before: NONE, after: first };
        match first {
            NONE => self.ends[order.end()].last = slot,
            first => self.link(order, first).before = slot,
        }
        self.ends[order.end()].first = slot;
    }

    fn link(&mut self, order: Order, slot: u32) -> &mut Link {
        &mut self.slots[slot as usize].links[order.link()]
    }

    fn unlink(&mut self, order: Order, slot: u32) {
        let Link { before, after } = *self.link(order, slot);
        match before {
            OUT => return,
            NONE => self.ends[order.end()].first = after,
            before => self.link(order, before).after = after,
        }
        match after {
            NONE => self.ends[order.end()].last = before,
            after => self.link(order, after).before = before,
        }
        self.link(order, slot).before = OUT;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    #[test]
    fn slots_are_found_and_ordered_as_in_plain_lists() {
        let mut rng = SmallRng::seed_from_u64(1);
        let (mut slots, mut deltas, mut used) =
            (Slots::default(), VecDeque::new(), VecDeque::new());
        let mut classes: [VecDeque<u32>; CLASSES as usize] = Default::default();
        let mut known = std::collections::BTreeSet::new();
        for _ in 0..20_000 {
            let page = rng.random_range(0..40) * 16;
            let slot = match slots.find(page) {
                Some(slot) if rng.random_range(0..5) == 0 => {
                    slots.remove(slot);
                    known.remove(&page);
                    let lists = classes.iter_mut().chain([&mut deltas, &mut used]);
                    lists.for_each(|list| list.retain(|&other| other != page));
                    continue;
                }
                _ => slots.find_or_add(page),
            };
            known.insert(page);
            match rng.random_range(0..6usize) {
                0 => {
                    slots.set_delta(slot, false);
                    deltas.retain(|&other| other != page);
                }
                1 => {
                    slots.set_delta(slot, true);
                    if !deltas.contains(&page) {
                        deltas.push_front(page);
                    }
                }
                2 if used.contains(&page) => {
                    slots.use_rows(slot);
                    used.retain(|&other| other != page);
                    used.push_front(page);
                }
                2 => slots.use_rows(slot),
                kind => {
                    let class = rng.random_range(0..CLASSES);
                    let order = [None, Some(Order::Rows), Some(Order::Waiting(class))][kind - 3];
                    slots.set_rows(slot, order);
                    let to = match order {
                        None => None,
                        Some(Order::Waiting(class)) => Some(2 + usize::from(class)),
                        Some(_) => Some(1),
                    };
                    let lists = [&mut deltas, &mut used].into_iter().chain(&mut classes);
                    for (number, list) in lists.enumerate().skip(1) {
                        match Some(number) == to {
                            true if !list.contains(&page) => list.push_front(page),
                            true => {}
                            false => list.retain(|&other| other != page),
                        }
                    }
                }
            }
            assert!(known.iter().all(|&page| slots.page(slots.find(page).unwrap()) == page));
            assert_eq!(slots.len(), known.len());
            let fullest = classes.iter().rev().find_map(|list| list.back().copied());
            assert_eq!(slots.fullest(|_| true).map(|(_, slot)| slots.page(slot)), fullest);
            for (order, list) in [(Order::Deltas, &deltas), (Order::Rows, &used)] {
                let before = |&slot: &u32| {
                    let before = slots.slots[slot as usize].links[order.link()].before;
                    (before != NONE).then_some(before)
                };
                let oldest_first = std::iter::successors(slots.last(order), before);
                let pages = oldest_first.map(|slot| slots.page(slot));
                assert!(pages.eq(list.iter().rev().copied()));
            }
        }
        assert!(slots.slots.len() <= 40);
    }
}
