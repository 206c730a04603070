//! The threshold that SepBIT and the schemes built on it measure from the log itself: the mean
//! lifespan of recently reclaimed zones of the hottest class (SepBIT, FAST'22, section 3.4).

use crate::{NEVER, ZoneEvent, ZoneView};

/// Reclaimed zones that make one mean (n_c in the paper).
const ZONES: u32 = 16;

/// The most cuts of a ladder: the last is then 4^8 means, longer than any trace.
pub(crate) const CUTS: usize = 8;

/// Mean lifespan of the last 16 reclaimed zones, renewed at every 16th; infinite before.
///
/// Callers compare the mean of integers with integers, so two roundings serve: `v < mean` exactly
/// if `v < ceil(mean)`, and `v > mean` exactly if `v > floor(mean)`.
#[derive(Clone, Debug)]
pub struct ZoneLifespan {
    sum: u64,
    zones: u32,
    mean: u32,
    floor: u32,
    cuts: [u32; CUTS],
    rungs: usize,
}

impl ZoneLifespan {
    /// A monitor with a ladder of `rungs` classes by age. The cuts are 4, 16, 64... means.
    pub fn new(rungs: usize) -> Self {
        debug_assert!((1..=CUTS + 1).contains(&rungs));
        let cuts = [NEVER; CUTS];
        ZoneLifespan { sum: 0, zones: 0, mean: NEVER, floor: NEVER, cuts, rungs }
    }

    /// A zone was chosen as a victim: if its class is the hottest, its lifespan counts.
    pub fn on_victim(&mut self, victim: &ZoneEvent, zones: &ZoneView<'_>) {
        if victim.class == 0 {
            self.reclaimed(victim.now.wrapping_sub(zones.opened_at(victim.zone)));
        }
    }

    /// A zone of the hottest class was chosen as a victim, `lifespan` user writes after it was
    /// opened.
    pub fn reclaimed(&mut self, lifespan: u32) {
        self.sum += u64::from(lifespan);
        self.zones += 1;
        if self.zones < ZONES {
            return;
        }
        let sum = self.sum;
        let times = |factor: u64| {
            let exact = sum.saturating_mul(factor).div_ceil(u64::from(ZONES));
            exact.min(u64::from(NEVER)) as u32
        };
        self.mean = times(1);
        self.floor = (self.sum / u64::from(ZONES)).min(u64::from(NEVER)) as u32;
        let cuts = (1..self.rungs).map(|k| times(1 << (2 * k)));
        cuts.zip(&mut self.cuts).for_each(|(new, cut)| *cut = new);
        assert!(self.floor <= self.mean, "a mean lies between its roundings");
        assert!(self.cuts.is_sorted(), "each rung of the ladder is for older pages");
        self.sum = 0;
        self.zones = 0;
    }

    /// The mean, in user writes, rounded up, for `v < mean`; [`NEVER`] until it is known.
    #[inline(always)]
    pub fn mean(&self) -> u32 {
        self.mean
    }

    /// The mean rounded down, for `v > mean`; [`NEVER`] until it is known.
    #[inline(always)]
    pub fn floor(&self) -> u32 {
        self.floor
    }

    /// The rung of an age: the number of cuts that it has reached.
    #[inline(always)]
    pub fn rung(&self, age: u32) -> usize {
        let reached = |cuts: &[u32]| cuts.iter().map(|&cut| usize::from(age >= cut)).sum::<usize>();
        // The published ladder has three rungs.
        let (published, more) = self.cuts.split_at(2);
        let rung = reached(published) + if self.rungs > 3 { reached(more) } else { 0 };
        debug_assert!(rung < self.rungs, "an age is on the ladder");
        rung
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_renewed_at_every_sixteenth_zone() {
        let mut monitor = ZoneLifespan::new(3);
        for _ in 0..15 {
            monitor.reclaimed(100);
        }
        assert_eq!((monitor.mean(), monitor.rung(1 << 30)), (NEVER, 0));
        monitor.reclaimed(101);
        assert_eq!((monitor.mean(), monitor.floor()), (101, 100), "100.0625");
        let rungs = [400, 401, 1600, 1601].map(|age| monitor.rung(age));
        assert_eq!(rungs, [0, 1, 1, 2]);
    }
}
