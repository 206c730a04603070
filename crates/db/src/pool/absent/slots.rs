//! Slots for the parts of pages, found by page number, each in up to two orders. Nothing is
//! allocated for a page once there are as many slots as pages.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use super::Parts;
use crate::mvcc::Hashed;

/// In place of a slot: there is none.
const NONE: u32 = u32::MAX;
/// In place of the slot before: the slot is not in the order.
const OUT: u32 = u32::MAX - 1;

/// An order of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Slots with a delta that waits: those that came last are first.
    Deltas,
    /// Slots with rows: those that were used last are first.
    Rows,
    /// Slots with rows that their page lacks, so many bytes of them that they are in this class.
    Waiting(u8),
}

impl Order {
    /// Orders with the same link: a slot is in one of them at most.
    fn link(self) -> usize {
        match self {
            Order::Deltas => 0,
            Order::Rows => 1,
            Order::Waiting(_) => 2,
        }
    }

    fn end(self) -> usize {
        match self {
            Order::Waiting(class) => 2 + usize::from(class),
            other => other.link(),
        }
    }
}

/// Classes of slots by the bytes of rows that their page lacks.
pub(super) const CLASSES: u8 = 32;

/// The parts of one page, and the slots before and after in each order.
struct Slot {
    page: u32,
    links: [Link; 3],
    /// The order of waiting rows in which it is.
    waiting: Option<Order>,
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
    by_page: HashMap<u64, u32, BuildHasherDefault<Hashed>>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    ends: [Ends; 2 + CLASSES as usize],
}

/// Bytes of a slot, and of its place in the table of numbers, about.
pub(super) const SLOT_BYTES: usize = size_of::<Slot>() + 24;

/// A hash that no other page has. The pages of a shard differ in their upper bits.
fn hash(page: u32) -> u64 {
    u64::from(page).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32)
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
        self.by_page.get(&hash(page)).copied()
    }

    /// The slot of a page; one without parts, and in no order, if it had none.
    pub(super) fn find_or_add(&mut self, page: u32) -> u32 {
        if let Some(slot) = self.find(page) {
            return slot;
        }
        let links = [Link { before: OUT, after: NONE }; 3];
        let new = Slot { page, links, waiting: None, parts: Parts::default() };
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
        self.by_page.insert(hash(page), slot);
        slot
    }

    /// Removes a slot.
    pub(super) fn remove(&mut self, slot: u32) {
        self.unlink(Order::Deltas, slot);
        self.unlink(Order::Rows, slot);
        self.set_waiting(slot, None);
        let removed = self.by_page.remove(&hash(self.page(slot)));
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

    /// All parts, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Parts> {
        self.by_page.values().map(|&slot| self.parts(slot))
    }

    /// The slots of an order, the last one first.
    pub(super) fn oldest_first(&self, order: Order) -> impl Iterator<Item = u32> {
        std::iter::successors(self.last(order), move |&slot| {
            let before = self.slots[slot as usize].links[order.link()].before;
            (before != NONE).then_some(before)
        })
    }

    /// The last slot of an order.
    pub(super) fn last(&self, order: Order) -> Option<u32> {
        let last = self.ends[order.end()].last;
        (last != NONE).then_some(last)
    }

    /// Puts a slot into an order, or takes it out. It comes first, or stays where it is.
    pub(super) fn set_in(&mut self, order: Order, slot: u32, is_in: bool) {
        let was_in = self.link(order, slot).before != OUT;
        match (was_in, is_in) {
            (false, true) => self.put_first(order, slot),
            (true, false) => self.unlink(order, slot),
            _ => {}
        }
    }

    /// Puts a slot into the class of those with rows that their page lacks, or takes it out. It
    /// comes first, or stays where it is.
    pub(super) fn set_waiting(&mut self, slot: u32, class: Option<u8>) {
        let (before, after) = (self.slots[slot as usize].waiting, class.map(Order::Waiting));
        if before != after {
            before.into_iter().for_each(|order| self.unlink(order, slot));
            after.into_iter().for_each(|order| self.put_first(order, slot));
            self.slots[slot as usize].waiting = after;
        }
    }

    /// Of the slots whose pages lack most bytes of rows the last one.
    pub(super) fn fullest(&self) -> Option<u32> {
        (0..CLASSES).rev().find_map(|class| self.last(Order::Waiting(class)))
    }

    /// Makes a slot of an order the first.
    pub(super) fn put_first(&mut self, order: Order, slot: u32) {
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
        let (mut slots, mut lists) = (Slots::default(), [VecDeque::new(), VecDeque::new()]);
        let mut classes = std::collections::BTreeMap::new();
        let mut known = std::collections::BTreeSet::new();
        for _ in 0..20_000 {
            let page = rng.random_range(0..40) * 16;
            let order = [Order::Deltas, Order::Rows][rng.random_range(0..2)];
            let list: &mut VecDeque<u32> = &mut lists[order.link()];
            match (rng.random_range(0..5), slots.find(page)) {
                (0, Some(slot)) => {
                    slots.remove(slot);
                    known.remove(&page);
                    classes.remove(&page);
                    lists.iter_mut().for_each(|list| list.retain(|&other| other != page));
                }
                (1, Some(slot)) => {
                    slots.set_in(order, slot, false);
                    list.retain(|&other| other != page);
                }
                (4, Some(slot)) => {
                    let class = [None, Some(rng.random_range(0..CLASSES))][rng.random_range(0..2)];
                    slots.set_waiting(slot, class);
                    classes.remove(&page);
                    classes.extend(class.map(|class| (page, class)));
                }
                (2, Some(slot)) => {
                    slots.set_in(order, slot, true);
                    if !list.contains(&page) {
                        list.push_front(page);
                    }
                }
                _ => {
                    let slot = slots.find_or_add(page);
                    slots.put_first(order, slot);
                    known.insert(page);
                    list.retain(|&other| other != page);
                    list.push_front(page);
                }
            }
            assert!(known.iter().all(|&page| slots.page(slots.find(page).unwrap()) == page));
            assert_eq!(slots.len(), known.len());
            let fullest = slots.fullest().map(|slot| classes[&slots.page(slot)]);
            assert_eq!(fullest, classes.values().max().copied());
            for order in [Order::Deltas, Order::Rows] {
                let pages = slots.oldest_first(order).map(|slot| slots.page(slot));
                assert!(pages.eq(lists[order.link()].iter().rev().copied()));
            }
        }
        assert!(slots.slots.len() <= 40);
    }
}
