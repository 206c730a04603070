//! Update intervals, observed on a sample of the LBAs.
//!
//! One LBA in each 2^k consecutive ones is sampled; a hash chooses it. For an epoch, the intervals
//! between its writes are counted in units of a quarter of a zone. Intervals shorter than a unit
//! mostly come from few LBAs, which a sample hits or misses. So they are counted on all LBAs, in a
//! few stretches of two units.

use crate::chain::survival::SurvivalCurve;

/// The most LBAs in the sample.
const SAMPLES: u32 = 1 << 16;
/// Stretches of an epoch in which short intervals are counted.
const STRETCHES: u32 = 10;
/// Stamps older than this are clamped at the start of an epoch.
const OLDEST: u32 = 1 << 30;

/// An LBA of the sample.
#[derive(Clone, Copy, Debug, Default)]
struct SampledLba {
    /// Time of its last write.
    at: u32,
    /// True if it has a valid version.
    valid: bool,
    /// Its writes in this epoch; two stands for that many or more.
    writes: u8,
}

/// Observes update intervals.
#[derive(Clone, Debug)]
pub(crate) struct Intervals {
    shift: u32,
    seed: u64,
    samples: Vec<SampledLba>,
    unit: u32,
    /// Intervals by their length in units; the last entry counts all longer ones.
    counts: Vec<u32>,
    /// The same counts for versions that were written before the epoch.
    inherited: Vec<u32>,
    /// Versions of the sample by their age in units at the start of the epoch.
    entered: Vec<u32>,
    recent: RecentUnit,
}

impl Intervals {
    /// An observer of a volume whose LBAs are below `space`, without intervals.
    pub(crate) fn new(space: u32, zone_pages: u32, seed: u64) -> Self {
        let shift = (space / SAMPLES).next_power_of_two().trailing_zeros();
        let unit = (zone_pages / 4).max(1);
        Intervals {
            shift,
            seed,
            samples: vec![SampledLba::default(); (space >> shift) as usize + 1],
            unit,
            counts: Vec::new(),
            inherited: Vec::new(),
            entered: Vec::new(),
            recent: RecentUnit::new(unit),
        }
    }

    /// Starts an epoch of `epoch` user writes.
    pub(crate) fn start(&mut self, now: u32, epoch: u32) {
        let bins = (epoch / self.unit) as usize + 1;
        for column in [&mut self.counts, &mut self.inherited, &mut self.entered] {
            column.clear();
            column.resize(bins, 0);
        }
        for sample in self.samples.iter_mut().filter(|sample| sample.valid) {
            sample.writes = 0;
            let age = now.wrapping_sub(sample.at).min(OLDEST);
            sample.at = now.wrapping_sub(age);
            self.entered[((age / self.unit) as usize).min(bins - 1)] += 1;
        }
        self.recent.start(now, epoch);
    }

    /// The page was written at time `now`.
    #[inline(always)]
    pub(crate) fn written(&mut self, lba: u32, now: u32) {
        if self.is_sampled(lba) {
            self.sampled(lba, now);
        }
        if self.recent.is_watching(now) {
            self.recent.written(lba, now);
        }
    }

    /// The page was trimmed at time `now`, which ends its version.
    pub(crate) fn trimmed(&mut self, lba: u32, now: u32) {
        if self.is_sampled(lba) {
            self.sampled(lba, now);
            self.samples[(lba >> self.shift) as usize] = SampledLba::default();
        }
    }

    #[inline(always)]
    fn is_sampled(&self, lba: u32) -> bool {
        let block = u64::from(lba >> self.shift) ^ self.seed;
        let place = (block.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u32;
        (place ^ lba) & ((1 << self.shift) - 1) == 0
    }

    #[inline(never)]
    fn sampled(&mut self, lba: u32, now: u32) {
        let Some(sample) = self.samples.get_mut((lba >> self.shift) as usize) else { return };
        let SampledLba { at, valid, writes } = *sample;
        *sample = SampledLba { at: now, valid: true, writes: writes.saturating_add(1).min(2) };
        let bin = ((now.wrapping_sub(at) / self.unit) as usize).min(self.counts.len().max(1) - 1);
        let column = if writes > 0 { &mut self.counts } else { &mut self.inherited };
        if let Some(count) = column.get_mut(bin).filter(|_| valid) {
            *count += 1;
        }
    }

    /// Lifespans of versions from the intervals of the epoch, with MiDAS's own corrections. An LBA
    /// that was written once counts as one interval of the whole epoch. An interval may be cut off
    /// by the ends of the epoch; to make up for those, an observed interval weighs more the longer
    /// it is. The last version of an LBA that was written more than once does not count.
    pub(crate) fn survival(&self) -> SurvivalCurve {
        assert!(!self.counts.is_empty(), "an epoch was begun");
        let last = self.counts.len() - 1;
        let epoch = last as f64;
        let mut shares: Vec<f64> = (0u32..)
            .zip(&self.counts)
            .map(|(k, &count)| {
                let fits = epoch / f64::from(k.max(1));
                let cut_off = if k == 0 { 0.0 } else { (fits.fract() + 0.5) / fits };
                f64::from(count) * (1.0 + cut_off)
            })
            .collect();
        let once = self.samples.iter().filter(|sample| sample.valid && sample.writes == 1);
        shares[last] += once.count() as f64;
        let longer: f64 = shares[1..].iter().sum();
        let short = self.recent.share().min(0.999);
        let all = longer.max(f64::MIN_POSITIVE) / (1.0 - short);
        let mut alive = Vec::with_capacity(shares.len());
        let mut rest = 1.0;
        shares[0] = short * all;
        for share in &shares {
            alive.push(rest);
            rest = (rest - share / all).max(0.0);
        }
        SurvivalCurve::new(f64::from(self.unit), alive)
    }

    /// Lifespans of versions by Kaplan and Meier's estimate ("Nonparametric Estimation from
    /// Incomplete Observations", JASA 53(282), 1958): a version whose end was not seen counts for
    /// as long as it was observed. A version that is older than the epoch counts from its age at
    /// the start of the epoch on.
    pub(crate) fn survival_with_unseen_ends(&self, now: u32) -> SurvivalCurve {
        assert!(!self.counts.is_empty(), "an epoch was begun");
        let mut alive = Vec::with_capacity(self.counts.len());
        let left = self.ages(now);
        let born: u32 = self.counts.iter().sum::<u32>()
            + self.samples.iter().filter(|s| s.valid && s.writes > 0).count() as u32;
        let mut at_risk = f64::from(born);
        let mut rest = 1.0;
        for k in 0..self.counts.len() {
            alive.push(rest);
            let died = f64::from(self.counts[k] + self.inherited[k]);
            // A version that enters or leaves at this age was at risk for half a unit.
            let (came, left) = (f64::from(self.entered[k]), f64::from(left[k]));
            let exposed = at_risk + (came - left) / 2.0;
            let hazard = match k {
                0 => self.recent.share(),
                _ if exposed > 0.0 => (died / exposed).min(1.0),
                _ => 0.0,
            };
            rest *= 1.0 - hazard;
            at_risk = (at_risk + came - left - died).max(0.0);
        }
        SurvivalCurve::new(f64::from(self.unit), alive)
    }

    /// Share of the written LBAs that are never written again. A version is frozen with the
    /// probability that a version of its age lives to the end of the curve.
    pub(crate) fn frozen(&self, survival: &SurvivalCurve, now: u32) -> f64 {
        let written = self.samples.iter().filter(|sample| sample.valid);
        let (mut frozen, mut pages) = (0.0, 0.0);
        for sample in written {
            let age = f64::from(now.wrapping_sub(sample.at));
            frozen += survival.endless() / survival.alive(age).max(f64::MIN_POSITIVE);
            pages += 1.0;
        }
        if pages > 0.0 { frozen / pages } else { 0.0 }
    }

    /// Versions that are alive, counted by their age in units.
    fn ages(&self, now: u32) -> Vec<u32> {
        let mut ages = vec![0; self.counts.len()];
        for sample in self.samples.iter().filter(|sample| sample.valid) {
            let age = (now.wrapping_sub(sample.at) / self.unit) as usize;
            ages[age.min(self.counts.len() - 1)] += 1;
        }
        ages
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let columns = self.counts.capacity() + self.inherited.capacity() + self.entered.capacity();
        size_of_val(&self.samples[..]) + columns * 4 + size_of_val(&self.recent.last[..])
    }
}

/// Counts intervals shorter than a unit, on all LBAs, in stretches of two units. During the first
/// unit of a stretch it only remembers writes.
#[derive(Clone, Debug)]
struct RecentUnit {
    unit: u32,
    /// The start of the present stretch, or of the next.
    from: u32,
    /// User writes from the start of a stretch to the start of the next.
    pause: u32,
    left: u32,
    /// LBA and time of recent writes, each at the place to which the LBA is hashed.
    last: Vec<(u32, u32)>,
    short: u64,
    watched: u64,
}

impl RecentUnit {
    fn new(unit: u32) -> Self {
        let places = (unit as usize * 8).next_power_of_two();
        let last = vec![(u32::MAX, 0); places];
        RecentUnit { unit, from: 0, pause: 0, left: 0, last, short: 0, watched: 0 }
    }

    fn start(&mut self, now: u32, epoch: u32) {
        self.pause = (epoch / STRETCHES).max(2 * self.unit);
        self.left = STRETCHES;
        (self.short, self.watched) = (0, 0);
        self.prepare(now.wrapping_add(1));
    }

    fn prepare(&mut self, from: u32) {
        self.from = from;
        self.last.fill((u32::MAX, 0));
    }

    #[inline(always)]
    fn is_watching(&self, now: u32) -> bool {
        now.wrapping_sub(self.from) < 2 * self.unit && self.left > 0
    }

    #[inline(never)]
    fn written(&mut self, lba: u32, now: u32) {
        let place = (u64::from(lba).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize;
        let place = place & (self.last.len() - 1);
        let (held, at) = std::mem::replace(&mut self.last[place], (lba, now));
        let since = now.wrapping_sub(self.from);
        debug_assert!(since < 2 * self.unit && self.left > 0, "writes outside are not watched");
        if since >= self.unit {
            self.watched += 1;
            self.short += u64::from(held == lba && now.wrapping_sub(at) < self.unit);
        }
        if since == 2 * self.unit - 1 {
            self.left -= 1;
            self.prepare(self.from.wrapping_add(self.pause));
        }
    }

    /// Share of the writes whose interval was shorter than a unit.
    fn share(&self) -> f64 {
        assert!(self.short <= self.watched, "short intervals end in watched writes");
        if self.watched == 0 { 0.0 } else { self.short as f64 / self.watched as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use frostline_random::SplitMix;

    /// Writes LBA i % `pages` at times from 1 on, for two epochs; the second is observed.
    fn in_turn(pages: u32, epoch: u32) -> (Intervals, u32) {
        let mut intervals = Intervals::new(pages, 40, 1);
        for now in 1..=2 * epoch {
            if now == epoch {
                intervals.start(now, epoch);
            }
            intervals.written(now % pages, now);
        }
        (intervals, 2 * epoch)
    }

    #[test]
    fn pages_written_in_turn_all_live_for_a_turn() {
        let (intervals, now) = in_turn(1000, 20_000);
        for survival in [intervals.survival(), intervals.survival_with_unseen_ends(now)] {
            let alive = [500.0, 995.0, 1015.0].map(|age| survival.alive(age));
            assert!(alive[0] > 0.99 && alive[1] > 0.9 && alive[2] < 0.01, "{alive:?}");
        }
    }

    #[test]
    fn short_intervals_are_counted_on_all_pages() {
        // Every other write is to page 0, which may not be in the sample.
        let mut intervals = Intervals::new(1 << 20, 400, 1);
        intervals.start(0, 20_000);
        for now in 1..=20_000 {
            intervals.written(if now % 2 == 0 { 0 } else { now }, now);
        }
        let alive = intervals.survival().alive(100.0);
        assert!((alive - 0.5).abs() < 0.02, "{alive}");
    }

    #[test]
    fn one_page_of_each_run_is_sampled() {
        let intervals = Intervals::new(1 << 20, 64, 1);
        let sampled: Vec<_> = (0..1 << 20).filter(|&lba| intervals.is_sampled(lba)).collect();
        assert_eq!(sampled.len(), 1 << 16);
        assert!(sampled.iter().zip(0..).all(|(lba, run)| lba >> 4 == run));
        let fifth = sampled.iter().filter(|&lba| lba % 16 == 5).count();
        assert!(fifth > 3500 && fifth < 4700, "no place in a run is preferred: {fifth}");
    }

    #[test]
    fn a_last_version_counts_if_unseen_ends_do() {
        // A window of 100 pages moves over 20,000 pages; each page is written ten times on average,
        // then never.
        let mut rng = SplitMix::new(7);
        let mut intervals = Intervals::new(1 << 15, 40, 1);
        for now in 1..=160_000u32 {
            if now == 80_000 {
                intervals.start(now, 80_000);
            }
            intervals.written(now / 10 + rng.below(100), now);
        }
        let (short, unseen) = (intervals.survival(), intervals.survival_with_unseen_ends(160_000));
        assert!(short.endless() < 0.001, "{}", short.endless());
        assert!((unseen.endless() - 0.1).abs() < 0.02, "{}", unseen.endless());
        let frozen = intervals.frozen(&unseen, 160_000);
        assert!(frozen > 0.95, "all but the window's: {frozen}");
    }
}
