//! Slots for the parts of pages, found by page number, each in one of some orders. Nothing is
//! allocated for a page once there are as many slots as pages.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// In place of a slot: there is none.
const NONE: u32 = u32::MAX;

/// In place of an order: the slot is in none.
const OUT: u8 = u8::MAX;

/// The part of one page, and the slots before and after in its order.
struct Slot<T> {
    page: u32,
    before: u32,
    after: u32,
    order: u8,
    part: T,
}

/// The first and the last slot of an order.
#[derive(Clone, Copy)]
struct Ends {
    first: u32,
    last: u32,
}

/// Slots, found by page number.
pub(super) struct Slots<T> {
    by_page: HashMap<u32, u32, BuildHasherDefault<HashedPage>>,
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
    ends: Box<[Ends]>,
}

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

impl<T: Default> Slots<T> {
    /// Bytes of a slot, of its place in the table of numbers, and of what is free in both, about.
    pub(super) const BYTES: usize = size_of::<Slot<T>>() + 18;

    /// No slots, and so many orders, which are numbered.
    pub(super) fn new(orders: u8) -> Self {
        let ends = vec![Ends { first: NONE, last: NONE }; orders.into()].into_boxed_slice();
        Slots { by_page: HashMap::default(), slots: Vec::new(), free: Vec::new(), ends }
    }

    /// The slot of a page.
    #[inline]
    pub(super) fn find(&self, page: u32) -> Option<u32> {
        self.by_page.get(&page).copied()
    }

    /// The slot of a page; one without a part, and in no order, if it had none.
    pub(super) fn find_or_add(&mut self, page: u32) -> u32 {
        if let Some(slot) = self.find(page) {
            return slot;
        }
        let new = Slot { page, before: NONE, after: NONE, order: OUT, part: T::default() };
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
        self.set_order(slot, None);
        let removed = self.by_page.remove(&self.page(slot));
        assert_eq!(removed, Some(slot), "a page has one slot");
        self.slots[slot as usize].part = T::default();
        self.free.push(slot);
    }

    /// The page of a slot.
    pub(super) fn page(&self, slot: u32) -> u32 {
        self.slots[slot as usize].page
    }

    /// The part in a slot.
    pub(super) fn part(&self, slot: u32) -> &T {
        &self.slots[slot as usize].part
    }

    /// The part in a slot, to be changed.
    pub(super) fn part_mut(&mut self, slot: u32) -> &mut T {
        &mut self.slots[slot as usize].part
    }

    /// The part of a page, if it has one.
    pub(super) fn of_page(&self, page: u32) -> Option<&T> {
        self.find(page).map(|slot| self.part(slot))
    }

    /// The number of pages.
    pub(super) fn len(&self) -> usize {
        self.by_page.len()
    }

    /// All pages and their parts, in no order. Slots that are free are among them, and have no
    /// parts.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.slots.iter().map(|slot| (slot.page, &slot.part))
    }

    /// The order of a slot.
    pub(super) fn order(&self, slot: u32) -> Option<u8> {
        let order = self.slots[slot as usize].order;
        (order != OUT).then_some(order)
    }

    /// The last slot of an order.
    pub(super) fn last(&self, order: u8) -> Option<u32> {
        let last = self.ends[usize::from(order)].last;
        (last != NONE).then_some(last)
    }

    /// Puts a slot into an order, or takes it out of all. It comes first, or stays where it is.
    pub(super) fn set_order(&mut self, slot: u32, after: Option<u8>) {
        if self.order(slot) != after {
            self.unlink(slot);
            if let Some(order) = after {
                self.link(slot, order);
            }
        }
    }

    /// Makes a slot the first of its order.
    pub(super) fn make_first(&mut self, slot: u32) {
        if let Some(order) = self.order(slot)
            && self.ends[usize::from(order)].first != slot
        {
            self.unlink(slot);
            self.link(slot, order);
        }
    }

    /// Makes a slot that is in no order the first of one.
    fn link(&mut self, slot: u32, order: u8) {
        let first = self.ends[usize::from(order)].first;
        match first {
            NONE => self.ends[usize::from(order)].last = slot,
            first => self.slots[first as usize].before = slot,
        }
        self.ends[usize::from(order)].first = slot;
        let this = &mut self.slots[slot as usize];
        (this.order, this.before, this.after) = (order, NONE, first);
    }

    fn unlink(&mut self, slot: u32) {
        let Some(order) = self.order(slot) else { return };
        let Slot { before, after, .. } = self.slots[slot as usize];
        match before {
            NONE => self.ends[usize::from(order)].first = after,
            before => self.slots[before as usize].after = after,
        }
        match after {
            NONE => self.ends[usize::from(order)].last = before,
            after => self.slots[after as usize].before = before,
        }
        self.slots[slot as usize].order = OUT;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, VecDeque};

    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    #[test]
    fn slots_are_found_and_ordered_as_in_plain_lists() {
        const ORDERS: u8 = 5;
        let mut rng = SmallRng::seed_from_u64(1);
        let mut slots = Slots::<u32>::new(ORDERS);
        let mut lists: [VecDeque<u32>; ORDERS as usize] = Default::default();
        let mut known = BTreeSet::new();
        for _ in 0..20_000 {
            let page = rng.random_range(0..40) * 16;
            let slot = match slots.find(page) {
                Some(slot) if rng.random_range(0..5) == 0 => {
                    slots.remove(slot);
                    known.remove(&page);
                    lists.iter_mut().for_each(|list| list.retain(|&other| other != page));
                    continue;
                }
                _ => slots.find_or_add(page),
            };
            *slots.part_mut(slot) = page + 1;
            known.insert(page);
            let was_in = (0..ORDERS).find(|&order| lists[usize::from(order)].contains(&page));
            assert_eq!(slots.order(slot), was_in);
            match rng.random_range(0..3) {
                0 => {
                    slots.make_first(slot);
                    if let Some(order) = was_in {
                        let list = &mut lists[usize::from(order)];
                        list.retain(|&other| other != page);
                        list.push_front(page);
                    }
                }
                kind => {
                    let order = (kind == 1).then(|| rng.random_range(0..ORDERS));
                    slots.set_order(slot, order);
                    if was_in != order {
                        lists.iter_mut().for_each(|list| list.retain(|&other| other != page));
                        if let Some(order) = order {
                            lists[usize::from(order)].push_front(page);
                        }
                    }
                }
            }
            assert!(known.iter().all(|&page| slots.page(slots.find(page).unwrap()) == page));
            assert!(known.iter().all(|&page| slots.of_page(page) == Some(&(page + 1))));
            assert_eq!(slots.len(), known.len());
            for (order, list) in (0..ORDERS).zip(&lists) {
                let before = |&slot: &u32| {
                    let before = slots.slots[slot as usize].before;
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
