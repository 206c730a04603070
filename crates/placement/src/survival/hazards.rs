//! Hazards of pages by context and age: deaths over exposure, as life tables have it
//! (Kaplan and Meier, JASA 53, 1958).

use super::ages::{AGES, Ages, decay};
use super::contexts::{CONTEXTS, OCTAVES, last_octave, mean_lifespan};
use super::tally::{AgeColumn, AgeTally};

/// Rows of counts. The first [`OCTAVES`] rows are for the octaves of the last lifespan. The
/// contexts that come first get rows of their own; later ones share the row of their last
/// lifespan's octave.
pub const ROWS: usize = 8192;
/// Pseudo-deaths: the weight of a parent's hazard in a row's.
const PRIOR: f32 = 2.0;
/// The share of counts that is kept from one epoch to the next.
pub const FADE: f32 = 0.95;
/// Horizons of a survival curve.
pub const HORIZONS: usize = 8;
/// The number of pages in each octave whose lives the recalled hazards stand for.
const RECALLED: f32 = 1000.0;

/// Sums of the hazards up to the start of each bucket, and up to the end of the last.
type HazardSums = [f32; AGES + 1];

/// Counts and hazards by context and age.
#[derive(Clone, Debug)]
pub struct Hazards {
    ages: Ages,
    widths: AgeColumn,
    /// The row of each context, 0 if it has none yet.
    rows: Box<[u16; CONTEXTS]>,
    /// The context of each row in use.
    contexts: Vec<u32>,
    deaths: AgeTally,
    seen: AgeTally,
    sums: Vec<HazardSums>,
    /// Hazards by the octave of the last lifespan, parents of the rows.
    parents: [AgeColumn; OCTAVES],
    /// The horizons seen from each bucket.
    reach: [Reach; AGES],
}

/// Where horizons lie.
#[derive(Clone, Copy, Debug, Default)]
struct Reach {
    buckets: [u8; HORIZONS],
    /// Widths of these buckets.
    widths: [f32; HORIZONS],
    /// User writes from the start of the bucket on.
    times: [f32; HORIZONS],
}

impl Hazards {
    /// Hazards without counts.
    pub fn new(zone_pages: u32) -> Self {
        let ages = Ages::new(zone_pages);
        let mut hazards = Hazards {
            ages,
            widths: std::array::from_fn(|a| ages.width(a)),
            rows: bytemuck::zeroed_box(),
            contexts: Vec::with_capacity(ROWS),
            deaths: AgeTally::new(ROWS),
            seen: AgeTally::new(ROWS),
            sums: vec![[0.0; AGES + 1]; ROWS],
            parents: [std::array::from_fn(|a| ages.prior(a)); OCTAVES],
            reach: [Reach::default(); AGES],
        };
        for octave in 0..OCTAVES {
            hazards.contexts.push(octave as u32);
            hazards.sums[octave] = summed(&hazards.parents[octave], &hazards.widths);
        }
        hazards.look_ahead(2.0 * zone_pages as f32, 2.5);
        hazards
    }

    /// Sets the horizons: `first` is the first, and each further one is `ratio` times the one
    /// before.
    pub fn look_ahead(&mut self, first: f32, ratio: f32) {
        let ages = self.ages;
        let mut horizons = [first; HORIZONS];
        (1..HORIZONS).for_each(|k| horizons[k] = horizons[k - 1] * ratio);
        for (age, reach) in self.reach.iter_mut().enumerate() {
            for (k, horizon) in horizons.into_iter().enumerate() {
                let time = (ages.middle(age) + horizon).min(4e9);
                let bucket = ages.bucket(time as u32);
                reach.buckets[k] = bucket as u8;
                reach.widths[k] = self.widths[bucket];
                reach.times[k] = (time - ages.start(bucket)).max(0.0);
            }
        }
    }

    /// Rows in use.
    pub fn used(&self) -> usize {
        self.contexts.len()
    }

    /// The row of a context.
    #[inline(always)]
    pub fn row(&mut self, context: usize) -> usize {
        match self.rows[context % CONTEXTS] {
            0 => self.new_row(context % CONTEXTS),
            row => usize::from(row),
        }
    }

    #[cold]
    fn new_row(&mut self, context: usize) -> usize {
        let mut row = last_octave(context);
        if self.used() < ROWS {
            let octave = row;
            row = self.used();
            self.contexts.push(context as u32);
            self.sums[row] = summed(&self.parents[octave], &self.widths);
        }
        self.rows[context] = row as u16;
        row
    }

    /// The harmonic mean of the lifespans in a row's context.
    pub fn mean_lifespan(&self, row: usize) -> f32 {
        mean_lifespan(self.contexts[row] as usize, self.ages)
    }

    /// A page of this row and age died.
    #[inline(always)]
    pub fn died(&mut self, row: usize, age: usize) {
        self.deaths.count(row, age);
    }

    /// A page of this row and age was seen alive.
    #[inline(always)]
    pub fn seen(&mut self, row: usize, age: usize) {
        self.seen.count(row, age);
    }

    /// The probabilities that a page of this row and age lives on to each horizon.
    pub fn survival(&self, row: usize, age: usize) -> [f32; HORIZONS] {
        let sums = &self.sums[row];
        let from = if age == 0 { 0.0 } else { (sums[age] + sums[age + 1]) / 2.0 };
        let Reach { buckets, widths, times } = &self.reach[age];
        let starts = buckets.map(|bucket| sums[usize::from(bucket)]);
        let ends = buckets.map(|bucket| sums[usize::from(bucket) + 1]);
        std::array::from_fn(|k| {
            let sum = starts[k] + (ends[k] - starts[k]) / widths[k] * times[k] - from;
            decay(if sum > 0.0 { sum } else { 0.0 })
        })
    }

    /// The probability that a page of this row lives for `time` user writes.
    pub fn survives(&self, row: usize, time: u32) -> f32 {
        let bucket = self.ages.bucket(time);
        let (start, end) = (self.sums[row][bucket], self.sums[row][bucket + 1]);
        let within = time as f32 - self.ages.start(bucket);
        decay(start + (end - start) / self.widths[bucket] * within)
    }

    /// Works out hazards from the counts, and lets the counts fade. Each page that was seen stands
    /// for `share` pages times user writes.
    pub fn learn(&mut self, share: f32) {
        self.work_out(share);
        let rows = self.used();
        self.deaths.fade(rows, FADE);
        self.seen.fade(rows, FADE);
    }

    fn work_out(&mut self, share: f32) {
        let none = ([0.0; AGES], [0.0; AGES]);
        let (mut all, mut of_octave) = (none, [none; OCTAVES]);
        let (died, seen) = (self.deaths.columns(), self.seen.columns());
        let exposure = |row: usize| exposure(&died[row], &seen[row], &self.widths, share);
        for (row, &context) in self.contexts.iter().enumerate() {
            let (died, exposure) = (&died[row], exposure(row));
            let octave = last_octave(context as usize);
            for (deaths, exposed) in [&mut all, &mut of_octave[octave]] {
                for a in 0..AGES {
                    deaths[a] += died[a];
                    exposed[a] += exposure[a];
                }
            }
        }
        let prior = std::array::from_fn(|a| self.ages.prior(a));
        let all = hazards(&all.0, &all.1, &spent(&prior));
        self.parents = of_octave.map(|(deaths, exposed)| hazards(&deaths, &exposed, &spent(&all)));
        let parents = self.parents.map(|parent| spent(&parent));
        for (row, &context) in self.contexts.iter().enumerate() {
            let parent = &parents[last_octave(context as usize)];
            let own = hazards(&died[row], &exposure(row), parent);
            self.sums[row] = summed(&own, &self.widths);
        }
    }

    /// Hazards by the octave of the last lifespan: the part that is kept across a restart.
    pub fn parents(&self) -> &[AgeColumn; OCTAVES] {
        &self.parents
    }

    /// Restores hazards that [`Hazards::parents`] gave, as if they had been counted.
    pub fn recall(&mut self, parents: &[AgeColumn; OCTAVES], share: f32) {
        for (octave, hazards) in parents.iter().enumerate() {
            let mut alive = RECALLED;
            for (a, &hazard) in hazards.iter().enumerate() {
                let died = alive * (1.0 - decay(hazard * self.widths[a]));
                self.deaths.columns()[octave][a] = died;
                self.seen.columns()[octave][a] = died / hazard / share;
                alive -= died;
            }
        }
        self.work_out(share);
    }

    /// Bytes that the rows in use hold.
    pub fn bytes(&self) -> usize {
        2 * CONTEXTS + self.used() * (2 * size_of::<AgeColumn>() + size_of::<HazardSums>() + 4)
    }
}

/// User writes that pages of a row spent in each bucket: as sampled, or as later deaths prove,
/// whichever is more.
fn exposure(deaths: &AgeColumn, seen: &AgeColumn, widths: &AgeColumn, share: f32) -> AgeColumn {
    let mut later = [0.0; AGES];
    for a in (1..AGES).rev() {
        later[a - 1] = later[a] + deaths[a];
    }
    std::array::from_fn(|a| {
        let proven = (later[a] + deaths[a] / 2.0) * widths[a];
        let sampled = seen[a] * share;
        if proven > sampled { proven } else { sampled }
    })
}

/// The sums of hazards.
fn summed(hazards: &AgeColumn, widths: &AgeColumn) -> HazardSums {
    let mut sums = [0.0; AGES + 1];
    for a in 0..AGES {
        sums[a + 1] = sums[a] + hazards[a] * widths[a];
    }
    sums
}

/// The exposure in which pages with these hazards have [`PRIOR`] deaths.
fn spent(hazards: &AgeColumn) -> AgeColumn {
    hazards.map(|hazard| PRIOR / hazard)
}

/// Hazards from deaths and exposure, drawn towards [`PRIOR`] deaths in the exposure `parent`.
fn hazards(deaths: &AgeColumn, exposure: &AgeColumn, parent: &AgeColumn) -> AgeColumn {
    std::array::from_fn(|a| (deaths[a] + PRIOR) / (exposure[a] + parent[a]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ZONE: u32 = 64;

    #[test]
    fn what_is_not_known_lives_as_long_again() {
        let mut hazards = Hazards::new(ZONE);
        let row = hazards.row(5);
        let (young, old) = (hazards.survival(row, 4), hazards.survival(row, 16));
        assert!(young[0] < 0.5 && old[0] > 0.7, "{young:?} {old:?}");
    }

    #[test]
    fn a_cliff_is_seen_from_before_it() {
        let mut hazards = Hazards::new(ZONE);
        let (row, cliff) = (hazards.row(5), 14);
        for _ in 0..10_000 {
            hazards.died(row, cliff);
        }
        hazards.learn(1.0);
        let at = Ages::new(ZONE).start(cliff) as u32;
        assert!(hazards.survives(row, at) > 0.95 && hazards.survives(row, 2 * at) < 0.1);
    }

    #[test]
    fn frozen_pages_are_seen_though_none_of_them_dies() {
        let mut hazards = Hazards::new(ZONE);
        let row = hazards.row(5);
        for age in 0..20 {
            (0..1000).for_each(|_| hazards.seen(row, age));
        }
        hazards.learn(1000.0);
        assert!(hazards.survives(row, 5 * ZONE) > 0.99);
    }

    #[test]
    fn what_is_recalled_is_what_was_learned() {
        let mut hazards = Hazards::new(ZONE);
        let row = hazards.row(5);
        (0..10_000).for_each(|_| hazards.died(row, 14));
        hazards.learn(1.0);
        let mut again = Hazards::new(ZONE);
        again.recall(hazards.parents(), 1.0);
        for time in [10, 100, 1000, 10_000] {
            let (one, other) = (hazards.survives(5, time), again.survives(5, time));
            assert!((one - other).abs() < 0.1, "{time}: {one} {other}");
        }
    }

    #[test]
    fn contexts_beyond_the_rows_share_those_of_their_octaves() {
        let mut hazards = Hazards::new(ZONE);
        let rows: Vec<_> = (1..CONTEXTS).map(|context| hazards.row(context)).collect();
        assert_eq!(hazards.used(), ROWS);
        assert_eq!(rows[CONTEXTS - 2], last_octave(CONTEXTS - 1));
    }
}
