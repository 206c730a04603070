//! Samples of an endless stream, in bounded memory.

use frostline_random::SplitMix;

use crate::Set;

/// A set of bounded size: if more samples come, each is kept with the same probability (Vitter,
/// "Random Sampling with a Reservoir", ACM TOMS 11(1), 1985, algorithm R).
#[derive(Clone, Debug)]
pub struct Reservoir {
    set: Set,
    most: usize,
    seen: u64,
    chance: SplitMix,
}

impl Reservoir {
    /// A reservoir for `most` samples with `width` features.
    pub fn new(width: usize, most: usize, chance: SplitMix) -> Self {
        Reservoir { set: Set::new(width), most, seen: 0, chance }
    }

    /// Offers a sample; if it is kept, its features come from `fill`.
    pub fn offer(&mut self, frozen: bool, fill: impl FnOnce(&mut dyn FnMut(f32))) {
        self.seen += 1;
        let slot = match self.set.len() < self.most {
            true => self.set.len() as u64,
            false => self.chance.bits() % self.seen,
        };
        if slot < self.most as u64 {
            self.set.put(slot as usize, frozen, fill);
        }
        assert!(self.set.len() <= self.most, "a reservoir is bounded");
    }

    /// The samples that were kept.
    pub fn set(&self) -> &Set {
        &self.set
    }

    /// The samples that were kept.
    pub fn into_set(self) -> Set {
        self.set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_is_kept_with_the_same_probability() {
        let mut kept = [0; 10];
        for seed in 0..1000 {
            let mut reservoir = Reservoir::new(1, 3, SplitMix::new(seed));
            (0..10).for_each(|i| reservoir.offer(false, |put| put(i as f32)));
            assert_eq!(reservoir.set().len(), 3);
            reservoir.set().rows().iter().for_each(|&i| kept[i as usize] += 1);
        }
        // The expected number is 300, with a deviation of 14.5.
        assert!(kept.iter().all(|kept| (240..360).contains(kept)), "{kept:?}");
    }

    #[test]
    fn without_room_nothing_is_kept() {
        let mut reservoir = Reservoir::new(1, 0, SplitMix::new(1));
        reservoir.offer(true, |put| put(1.0));
        assert!(reservoir.into_set().is_empty());
    }
}
