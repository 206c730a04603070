//! SepBIT's rule for user writes: a page is short-lived if the copy that it invalidates was
//! (FAST'22, section 3.4), with the three memories that can decide it.

use std::collections::{HashMap, VecDeque};

use crate::zone_lifespan::ZoneLifespan;
use crate::{BuildError, NEVER, Param, Params, Semantics, Setup, Stamp, UserWrite};

/// The parameter that chooses the memory.
pub const MEMORY: Param = Param::word(
    "memory",
    "exact",
    &["exact", "fifo"],
    "exact: last write times; fifo: a queue of recent LBAs as long as the threshold",
);

/// Decides whether a user write is short-lived.
#[derive(Debug)]
pub struct ShortLived {
    memory: WriteMemory,
}

#[derive(Debug)]
enum WriteMemory {
    /// The last write time of every page.
    Exact,
    /// A queue of the LBAs written last, as in the paper's implementation.
    Recent(Box<RecentLbas>),
    /// Only the length of the queue that the authors' simulator keeps.
    QueueLength(u64),
}

impl ShortLived {
    /// The rule with the memory that the parameters and the semantics ask for.
    ///
    /// # Errors
    /// An unknown memory.
    pub fn build(
        setup: &Setup<'_>,
        params: &mut Params,
        known: &[Param],
    ) -> Result<Self, BuildError> {
        let fifo = params.word(known, MEMORY.key)? == "fifo";
        let memory = match setup.semantics {
            _ if fifo => WriteMemory::Recent(Box::default()),
            Semantics::Published | Semantics::MidasFast24 => WriteMemory::Exact,
            Semantics::SepbitFast22 => WriteMemory::QueueLength(0),
        };
        Ok(ShortLived { memory })
    }

    /// True if the write is short-lived; renews the page's last write time and the memory.
    #[inline(always)]
    pub fn decide(&mut self, write: &UserWrite, page: &mut Stamp, mean: &ZoneLifespan) -> bool {
        let lifespan = if write.first { NEVER } else { page.age(write.now) };
        *page = Stamp::at(write.now);
        match &mut self.memory {
            WriteMemory::Exact => lifespan < mean.mean(),
            WriteMemory::Recent(recent) => recent.decide(write.lba, write.now, mean.mean()),
            WriteMemory::QueueLength(q) => {
                let short = u64::from(lifespan) < u64::from(mean.mean()).min(*q);
                let limit = u64::from(mean.floor());
                *q += 1;
                if *q > write.valid.min(limit) {
                    *q -= 1;
                    *q -= u64::from(*q > limit);
                }
                short
            }
        }
    }

    /// The most LBAs that the queue held, and the LBAs that it holds at the end, if there is a
    /// queue.
    pub fn gauges(&self) -> Vec<(&'static str, f64)> {
        match &self.memory {
            WriteMemory::Recent(r) => {
                vec![("lbas_held_max", r.most as f64), ("lbas_held", r.last.len() as f64)]
            }
            _ => Vec::new(),
        }
    }

    /// Bytes of the memory, besides the per-page state.
    pub fn bytes(&self) -> usize {
        match &self.memory {
            WriteMemory::Recent(r) => r.queue.capacity() * 4 + r.last.capacity() * 9,
            _ => 0,
        }
    }
}

/// The LBAs of the most recent user writes and, for each, the time of its latest one.
#[derive(Debug, Default)]
struct RecentLbas {
    queue: VecDeque<u32>,
    last: HashMap<u32, u32>,
    most: usize,
}

impl RecentLbas {
    // Takes values and not the write: a reference would force the write into memory instead of
    // registers.
    #[inline(never)]
    fn decide(&mut self, lba: u32, now: u32, limit: u32) -> bool {
        let last = self.last.insert(lba, now);
        let short = last.is_some_and(|at| now.wrapping_sub(at) < limit);
        self.queue.push_back(lba);
        for _ in 0..2 {
            if self.queue.len() as u64 > u64::from(limit) {
                self.forget_oldest(now);
            }
        }
        debug_assert!(self.last.len() <= self.queue.len(), "the queue has each LBA that is held");
        self.most = self.most.max(self.last.len());
        short
    }

    fn forget_oldest(&mut self, now: u32) {
        let written = now.wrapping_sub(self.queue.len() as u32 - 1);
        if let Some(lba) = self.queue.pop_front()
            && self.last.get(&lba) == Some(&written)
        {
            self.last.remove(&lba);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use frostline_random::SplitMix;

    fn write(lba: u32, now: u32, first: bool) -> UserWrite<'static> {
        UserWrite { first, zone: 1, valid: 100, ..UserWrite::first(lba, now) }
    }

    #[test]
    fn the_simulators_queue_stops_growing_once_it_is_longer_than_a_fractional_mean() {
        let mut mean = ZoneLifespan::new(1);
        (0..16).for_each(|i| mean.reclaimed(3 + u32::from(i == 0)));
        assert_eq!((mean.mean(), mean.floor()), (4, 3), "3.0625");
        let mut rule = ShortLived { memory: WriteMemory::QueueLength(0) };
        let mut lengths = Vec::new();
        for now in 1..6 {
            rule.decide(&write(now, now, true), &mut Stamp::default(), &mean);
            let WriteMemory::QueueLength(q) = rule.memory else { unreachable!() };
            lengths.push(q);
        }
        assert_eq!(lengths, [1, 2, 3, 3, 3], "4 is longer than 3.0625");
    }

    #[test]
    fn queue_and_exact_times_agree_once_the_queue_is_as_long_as_the_threshold() {
        let mut mean = ZoneLifespan::new(1);
        let mut exact = ShortLived { memory: WriteMemory::Exact };
        let mut fifo = ShortLived { memory: WriteMemory::Recent(Box::default()) };
        let mut pages = [Stamp::default(); 300];
        let mut rng = SplitMix::new(1);
        for now in 1..20_000u32 {
            if now % 500 == 0 {
                mean.reclaimed(50 + rng.below(200));
            }
            let lba = rng.below(300);
            let page = &mut pages[lba as usize];
            let w = write(lba, now, *page == Stamp::default());
            let mut copy = *page;
            let by_time = exact.decide(&w, page, &mean);
            let by_queue = fifo.decide(&w, &mut copy, &mean);
            // When the threshold has just grown, the queue grows by one a write: it may forget too
            // early.
            assert!(by_time || !by_queue, "write {now}");
            let WriteMemory::Recent(recent) = &fifo.memory else { unreachable!() };
            if recent.queue.len() as u64 >= u64::from(mean.mean()) {
                assert_eq!(by_time, by_queue, "write {now}");
            }
            let held: std::collections::BTreeSet<_> = recent.queue.iter().collect();
            assert_eq!(held.len(), recent.last.len());
        }
    }
}
