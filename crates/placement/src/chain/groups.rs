//! The groups of a volume: some are queues with a target size, the others share a pool.
//!
//! Class 0 is the hot group, classes 1, 2... are the chain. The first groups are *sized*: each is a
//! queue of sealed zones, and its oldest zone is cleaned when the queue is longer than its target.
//! All other groups are one pool, in which the victim policy chooses. Where the sizes fit, the pool
//! is the last group alone. At first, and where the model erred, the pool is several groups that
//! differ in the number of relocations.

use std::collections::VecDeque;

use super::model::MOST_GROUPS;
use super::pool::Pool;
use crate::{Choice, VictimPolicy, ZoneView};

/// Classes that groups may have: the hot group and the chain.
pub(crate) const CLASSES: usize = MOST_GROUPS + 1;
/// Version of the bytes of [`Groups::memory`].
const VERSION: u8 = 1;
/// The number of groups that share a pool, if the pool is not the last group alone.
const POOLED: usize = 4;

/// The groups of a volume.
#[derive(Clone, Debug)]
pub(crate) struct Groups {
    /// Target of each sized group, in sealed zones.
    sizes: Vec<u32>,
    /// The class of the last group.
    last: usize,
    /// Sealed zones of each sized group, the oldest first.
    queues: [VecDeque<u32>; CLASSES],
    pool: Pool,
}

impl Default for Groups {
    fn default() -> Self {
        Groups {
            sizes: Vec::new(),
            last: POOLED,
            queues: Default::default(),
            pool: Pool::default(),
        }
    }
}

impl Groups {
    /// Groups without sizes: all up to the class `last` share a pool.
    pub(crate) fn up_to(last: usize) -> Self {
        assert!(last < CLASSES, "each group has a queue");
        Groups { last, ..Groups::default() }
    }

    /// Targets of the sized groups.
    pub(crate) fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// The class of the last group.
    pub(crate) fn last(&self) -> usize {
        self.last
    }

    /// The class that valid pages of a victim of this class go to.
    #[inline(always)]
    pub(crate) fn after(&self, class: usize) -> usize {
        (class + 1).min(self.last)
    }

    /// The targets as bytes, to be kept across a restart.
    pub(crate) fn memory(&self) -> Vec<u8> {
        let sizes = self.sizes.iter().flat_map(|size| size.to_le_bytes());
        [VERSION, self.last as u8].into_iter().chain(sizes).collect()
    }

    /// Restores the targets of [`Groups::memory`]; ignores damaged bytes.
    pub(crate) fn recall(&mut self, memory: &[u8]) {
        let [VERSION, last, sizes @ ..] = memory else { return };
        let (sizes, rest) = sizes.as_chunks();
        let last = usize::from(*last);
        if rest.is_empty() && sizes.len() <= last && (1..CLASSES).contains(&last) {
            self.sizes = sizes.iter().map(|size| u32::from_le_bytes(*size)).collect();
            self.last = last;
        }
    }

    /// A zone was sealed.
    pub(crate) fn sealed(&mut self, zone: u32, class: usize) {
        if class < self.sizes.len() {
            debug_assert!(!self.queues[class].contains(&zone), "a zone is in its queue once");
            self.queues[class].push_back(zone);
        }
    }

    /// A zone is free again.
    pub(crate) fn reclaimed(&mut self, zone: u32, class: usize) {
        let queue = &mut self.queues[class];
        if let Some(place) = queue.iter().position(|&z| z == zone) {
            queue.remove(place);
        }
    }

    /// Chooses a victim: the oldest zone of the first sized group that is too long, else the
    /// policy's choice in the pool. If that oldest zone has too little garbage to be a victim, it
    /// joins the next group uncopied. False if only sized groups have garbage, and none of them is
    /// too long.
    pub(crate) fn pick(
        &mut self,
        zones: &ZoneView<'_>,
        policy: &mut dyn VictimPolicy,
        choice: &mut Choice,
    ) -> bool {
        while let Some(group) = (0..self.sizes.len()).find(|&g| self.exceeds(g)) {
            let Some(zone) = self.queues[group].front().copied() else { break };
            if zones.is_candidate(zone) {
                choice.victims.push(zone);
                return true;
            }
            self.queues[group].pop_front();
            self.give(zone, group + 1, choice);
        }
        let first = self.sizes.len();
        let victim = self.pool.pick(first, zones, policy, choice);
        debug_assert!(victim.is_none_or(|zone| zones.is_candidate(zone)), "a victim has garbage");
        choice.victims.extend(victim);
        !choice.victims.is_empty() || self.sizes.is_empty()
    }

    fn exceeds(&self, group: usize) -> bool {
        self.queues[group].len() > self.sizes[group] as usize
    }

    /// Moves a zone to another group.
    fn give(&mut self, zone: u32, group: usize, choice: &mut Choice) {
        assert!(group <= self.sizes.len(), "a zone joins the next group, or the pool");
        choice.relabelled.push((zone, group as u8));
        self.sealed(zone, group);
    }

    /// Divides the zones anew, with targets for the groups before the last. The last group is the
    /// pool; further relocations divide it into `parts` classes. No page is moved. Zones of the old
    /// last group join the new last group, and so do the oldest zones of groups that are too long.
    pub(crate) fn divide(
        &mut self,
        sizes: impl Iterator<Item = u32>,
        parts: usize,
        zones: &ZoneView<'_>,
        choice: &mut Choice,
    ) {
        self.sizes.clear();
        self.sizes.extend(sizes);
        let first = self.sizes.len();
        let last = first + parts - 1;
        assert!(parts > 0 && last < CLASSES, "each group has a class");
        let was = std::mem::replace(&mut self.last, last);
        let new_class = |class: usize| if class >= was || class >= last { last } else { class };
        self.enqueue(zones, choice, new_class);
        for group in 0..first {
            while self.exceeds(group) {
                let Some(zone) = self.queues[group].pop_front() else { break };
                choice.relabelled.push((zone, first as u8));
            }
        }
    }

    /// Fills the queues from the zones' classes, which `new_class` renumbers.
    fn enqueue(
        &mut self,
        zones: &ZoneView<'_>,
        choice: &mut Choice,
        new_class: impl Fn(usize) -> usize,
    ) {
        self.queues.iter_mut().for_each(VecDeque::clear);
        for zone in (1..zones.len() as u32).filter(|&zone| zones.is_sealed(zone)) {
            let class = zones.class(zone);
            // Zones of other classes belong to no group: they are in the pool.
            if class >= CLASSES {
                continue;
            }
            if new_class(class) != class {
                choice.relabelled.push((zone, new_class(class) as u8));
            }
            self.sealed(zone, new_class(class));
        }
        for queue in &mut self.queues {
            queue.make_contiguous().sort_unstable_by_key(|&z| zones.seal_order(z));
        }
    }

    /// Makes the groups from `first` on one pool.
    pub(crate) fn merge(&mut self, first: usize) {
        self.sizes.truncate(first);
        self.last = (first.max(1) + POOLED - 1).max(self.last).min(CLASSES - 1);
        assert!(self.sizes.len() <= self.last, "the last group has no size");
        self.queues[first..].iter_mut().for_each(VecDeque::clear);
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let queued: usize = self.queues.iter().map(VecDeque::capacity).sum();
        queued * size_of::<u32>() + self.pool.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::victims::Greedy;
    use crate::zones::table::ZoneRows;

    /// Zones of 10 pages, sealed in this order: (class, garbage). No group is sized.
    fn table(rows: &[(usize, i32)]) -> ZoneRows {
        let mut table = ZoneRows::new(10);
        for &(class, garbage) in rows {
            table.seal(class, garbage, 0);
        }
        table
    }

    fn divided(table: &ZoneRows, sizes: &[u32]) -> (Groups, Vec<(u32, u8)>) {
        let (mut groups, mut choice) = (Groups::default(), Choice::default());
        groups.divide(sizes.iter().copied(), 1, &table.view(), &mut choice);
        (groups, choice.relabelled)
    }

    fn pick(groups: &mut Groups, table: &ZoneRows) -> (bool, Choice) {
        let mut choice = Choice::default();
        let found = groups.pick(&table.view(), &mut Greedy::default(), &mut choice);
        (found, choice)
    }

    #[test]
    fn at_first_all_groups_are_one_pool() {
        let table = table(&[(0, 3), (1, 9), (4, 5)]);
        assert_eq!(pick(&mut Groups::default(), &table).1.victims, [2]);
        assert_eq!([0, 1, 3, 4].map(|class| Groups::default().after(class)), [1, 2, 4, 4]);
    }

    #[test]
    fn a_group_with_too_many_zones_gives_its_oldest_and_else_the_policy_chooses_in_the_last() {
        let table = table(&[(0, 1), (1, 2), (1, 9), (2, 3), (2, 4)]);
        let (mut groups, relabelled) = divided(&table, &[1, 2]);
        assert_eq!(relabelled, []);
        assert_eq!(pick(&mut groups, &table).1.victims, [5], "the most garbage of the last group");
        groups.sealed(9, 1);
        assert_eq!(pick(&mut groups, &table).1.victims, [2], "the oldest, not the emptiest");
        groups.reclaimed(2, 1);
        assert_eq!(pick(&mut groups, &table).1.victims, [5]);
    }

    #[test]
    fn a_zone_that_would_free_nothing_goes_on_uncopied() {
        let table = table(&[(1, 0), (1, 2), (2, 3)]);
        let (mut groups, _) = divided(&table, &[0, 2]);
        groups.sealed(9, 1);
        let (_, choice) = pick(&mut groups, &table);
        assert_eq!((choice.relabelled, choice.victims), (vec![(1, 2)], vec![3]));
    }

    #[test]
    fn zones_too_many_for_a_new_size_join_the_last_group() {
        let table = table(&[(4, 1), (1, 1), (1, 1), (1, 1), (3, 1)]);
        let (groups, relabelled) = divided(&table, &[1, 1, 1, 1, 1, 1]);
        assert_eq!(
            relabelled,
            [(1, 6), (2, 6), (3, 6)],
            "what was the last group is the last again"
        );
        assert_eq!(groups.last(), 6);
        let (_, relabelled) = divided(&table, &[1, 3]);
        assert_eq!(relabelled, [(1, 2), (5, 2)], "groups that are no more are the last");
    }

    #[test]
    fn merged_groups_share_a_pool_and_stay_apart_by_relocations() {
        let table = table(&[(0, 1), (1, 9), (2, 3), (3, 4)]);
        let (mut groups, _) = divided(&table, &[1, 1, 1]);
        assert_eq!(pick(&mut groups, &table).1.victims, [4]);
        groups.merge(1);
        assert_eq!(pick(&mut groups, &table).1.victims, [2]);
        assert_eq!([1, 2, 3, 4].map(|class| groups.after(class)), [2, 3, 4, 4]);
    }

    #[test]
    fn it_says_so_if_no_victim_is_left_but_in_sized_groups() {
        let table = table(&[(1, 5), (2, 0)]);
        let (mut groups, _) = divided(&table, &[1, 1]);
        assert!(!pick(&mut groups, &table).0);
        groups.merge(0);
        assert_eq!(pick(&mut groups, &table).1.victims, [1]);
    }

    #[test]
    fn sizes_outlive_a_restart_and_bytes_that_are_none_do_nothing() {
        let (groups, _) = divided(&table(&[]), &[3, 500]);
        let mut other = Groups::default();
        other.recall(&groups.memory());
        assert_eq!((other.sizes(), other.last()), (&[3, 500][..], 2));
        for bytes in
            [&[][..], &[9, 2], &[1, 0], &[1, 99], &[1, 2, 3], &[1, 1, 0, 0, 0, 0, 0, 0, 0, 0]]
        {
            other.recall(bytes);
            assert_eq!(other.last(), 2, "{bytes:?}");
        }
    }
}
