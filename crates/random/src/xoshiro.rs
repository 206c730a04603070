//! xoshiro256**: a stream with a state of four words, for many numbers.

use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// xoshiro256** (Blackman and Vigna, 2018), seeded by SplitMix64: the same numbers for the same
/// seed.
#[derive(Debug, Clone)]
pub struct Xoshiro(Xoshiro256StarStar);

impl Xoshiro {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Xoshiro {
        Xoshiro(Xoshiro256StarStar::seed_from_u64(seed))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number from 0 to `n - 1`, all with the same probability; 0 if `n` is 0.
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        // Lemire's method (2019): the high half of a product; products that would cause a bias are
        // rejected.
        let n = u64::from(n);
        let mut product = (self.bits() >> 32) * n;
        if (product as u32 as u64) < n {
            let reject_under = (1u64 << 32).checked_rem(n).unwrap_or(0);
            while (product as u32 as u64) < reject_under {
                product = (self.bits() >> 32) * n;
            }
        }
        (product >> 32) as u32
    }

    /// A number from 0 up to but not including 1, a multiple of 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        crate::unit(self.bits())
    }

    /// True with the given probability.
    #[inline]
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xoshiro_is_the_published_one() {
        // The first values for state 1, 2, 3, 4, as the authors' program prints them.
        let state = [1u64, 2, 3, 4].map(u64::to_le_bytes);
        let seed = state.as_flattened().try_into().expect("32 bytes");
        let mut random = Xoshiro(Xoshiro256StarStar::from_seed(seed));
        let first: [u64; 4] = std::array::from_fn(|_| random.bits());
        assert_eq!(first, [11520, 0, 1_509_978_240, 1_215_971_899_390_074_240]);
    }

    #[test]
    fn below_is_even() {
        let mut random = Xoshiro::new(1);
        let mut counts = [0u32; 7];
        (0..70_000).for_each(|_| counts[random.below(7) as usize] += 1);
        assert!(counts.iter().all(|c| c.abs_diff(10_000) < 500), "{counts:?}");
        assert_eq!((random.below(1), random.below(0)), (0, 0));
    }
}
