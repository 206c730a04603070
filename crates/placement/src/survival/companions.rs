//! Clusters whose pages die together.
//!
//! A file system that writes everything elsewhere comes round to an area again and ends what was
//! written there together: heads and tails of files, runs and single pages. Their contexts differ,
//! and so may their curves. To part them means that each zone has pages of more files, and all
//! zones come to be alike, where some would be empty and others full.
//!
//! So two versions that end shortly after each other are looked at, again and again. If both were
//! written at about the same time, their clusters met. Clusters that meet each other as often as
//! themselves, by a share, are united: user writes of both go to one class.

use super::clusters::MOST_CLASSES;

/// User writes, of which one begins a look.
const EACH: u64 = 64;
/// User writes between the two that are looked at.
pub const APART: u64 = 16;
/// The versions were written together if no more than this many user writes lie between them.
const TOGETHER: u32 = 64;
/// The least number of deaths of a cluster that is judged.
const FEWEST: f32 = 20.0;
/// The share of a cluster's deaths in which it meets another or itself, for it to be united.
const MEETING: f32 = 0.3;
/// How often two clusters meet, by the geometric mean of how often each meets itself, from which
/// they are united. It is 1 if chance decides about a page's cluster.
const ALIKE: f32 = 0.15;

/// A version that ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// The cluster of its context.
    pub cluster: usize,
    /// Time of its write.
    pub written: u32,
    /// True if it lived long enough for its zone to be cleaned.
    pub lived: bool,
}

/// How often clusters met, and which are united.
#[derive(Clone, Debug)]
pub struct Companions {
    /// The version that began a look, with the number of the write that ended it.
    first: Option<(Ended, u64)>,
    deaths: [f32; MOST_CLASSES],
    /// By cluster of the first and of the second.
    met: [[f32; MOST_CLASSES]; MOST_CLASSES],
    united: [u8; MOST_CLASSES],
}

impl Default for Companions {
    /// No cluster met another.
    fn default() -> Self {
        Companions {
            first: None,
            deaths: [0.0; MOST_CLASSES],
            met: [[0.0; MOST_CLASSES]; MOST_CLASSES],
            united: std::array::from_fn(|cluster| cluster as u8),
        }
    }
}

impl Companions {
    /// True if the version that this user write ends is looked at: the first of each 64 and the one
    /// 16 later. Their numbers, modulo 64, differ in one bit.
    #[inline(always)]
    pub fn looks(writes: u64) -> bool {
        writes & (EACH - 1 - APART) == 0
    }

    /// A user write that is looked at ends a version, if one of a known cluster.
    pub fn look(&mut self, writes: u64, ended: Option<Ended>) {
        let Some(ended) = ended else { return };
        if writes.is_multiple_of(EACH) {
            self.deaths[ended.cluster] += 1.0;
            self.first = Some((ended, writes)).filter(|_| ended.lived);
        } else if let Some((first, at)) = self.first.take() {
            let between = ended.written.wrapping_sub(first.written) as i32;
            if at + APART == writes && between.unsigned_abs() <= TOGETHER {
                self.met[first.cluster][ended.cluster] += 1.0;
            }
        }
    }

    /// The cluster that stands for this one and all that are united with it.
    pub fn of(&self, cluster: usize) -> usize {
        usize::from(self.united[cluster])
    }

    /// Unites clusters anew, those most alike first. Keeps `share` of what was counted.
    pub fn unite(&mut self, share: f32) {
        self.united = std::array::from_fn(|cluster| cluster as u8);
        let (mut deaths, mut met) = (self.deaths, self.met);
        while let Some((one, other)) = most_alike(&deaths, &met) {
            let row = std::mem::take(&mut met[other]);
            met[one].iter_mut().zip(row).for_each(|(met, of_other)| *met += of_other);
            for row in &mut met {
                row[one] += std::mem::take(&mut row[other]);
            }
            deaths[one] += std::mem::take(&mut deaths[other]);
            let united = self.united.iter_mut().filter(|united| usize::from(**united) == other);
            united.for_each(|united| *united = one as u8);
        }
        let counts = self.met.as_flattened_mut().iter_mut().chain(&mut self.deaths);
        counts.for_each(|count| *count *= share);
    }
}

/// The two clusters that are most alike, if any are alike enough, the lower one first.
fn most_alike(
    deaths: &[f32; MOST_CLASSES],
    met: &[[f32; MOST_CLASSES]; MOST_CLASSES],
) -> Option<(usize, usize)> {
    let mean = |one: usize, other: usize| (met[one][other] + met[other][one]) / 2.0;
    let meets = |&one: &usize| {
        let all: f32 = (0..MOST_CLASSES).map(|other| mean(one, other)).sum();
        deaths[one] >= FEWEST && all >= MEETING * deaths[one]
    };
    let (mut most, mut pair) = (ALIKE, None);
    for one in (0..MOST_CLASSES).filter(meets) {
        for other in (one + 1..MOST_CLASSES).filter(meets) {
            let own = (met[one][one] * met[other][other]).sqrt();
            let alike = mean(one, other) / own.max(1.0);
            if alike > most {
                (most, pair) = (alike, Some((one, other)));
            }
        }
    }
    pair
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Companions that saw versions end in the order in which they were written, an epoch after
    /// they were. `cluster` says which cluster each was in.
    fn after(cluster: impl Fn(u64) -> usize, written: impl Fn(u64) -> u32) -> Companions {
        let mut companions = Companions::default();
        for writes in (1..100_000).filter(|&writes| Companions::looks(writes)) {
            let ended = Ended { cluster: cluster(writes), written: written(writes), lived: true };
            companions.look(writes, Some(ended));
        }
        companions.unite(0.5);
        companions
    }

    fn mixed(writes: u64) -> usize {
        frostline_random::SplitMix::new(writes).below(2) as usize
    }

    #[test]
    fn clusters_whose_pages_are_written_and_die_together_are_united() {
        let companions = after(mixed, |writes| writes as u32);
        assert_eq!((companions.of(0), companions.of(1), companions.of(2)), (0, 0, 2));
    }

    #[test]
    fn clusters_that_die_each_by_itself_stay_apart() {
        let in_turns = after(|writes| (writes / 4096 % 2) as usize, |writes| writes as u32);
        assert_eq!(in_turns.of(1), 1);
    }

    #[test]
    fn pages_that_die_at_any_time_unite_nothing() {
        let scattered = |writes| frostline_random::SplitMix::new(writes).below(1 << 20);
        assert_eq!(after(mixed, scattered).of(1), 1);
    }

    #[test]
    fn what_no_longer_dies_together_is_parted_again() {
        let mut companions = after(mixed, |writes| writes as u32);
        (0..20).for_each(|_| companions.unite(0.5));
        assert_eq!(companions.of(1), 1);
    }
}
