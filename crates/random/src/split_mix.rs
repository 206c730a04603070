//! SplitMix64: a stream whose state is one word.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::mix::{STEP, mix};

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA'14): the
/// same numbers for the same seed.
#[derive(Clone, Debug)]
pub struct SplitMix(SplitMix64);

impl SplitMix {
    /// The stream of a seed.
    pub fn new(seed: u64) -> SplitMix {
        SplitMix(SplitMix64::seed_from_u64(seed))
    }

    /// Stream number `index` of a seed; the streams of one seed are independent.
    pub fn stream(seed: u64, index: u64) -> SplitMix {
        SplitMix::new(mix(mix(seed.wrapping_add(STEP)) ^ index.wrapping_mul(STEP)))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number from 0 to `n - 1`, made of 32 random bits; 0 if `n` is 0.
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        (((self.bits() >> 32) * u64::from(n)) >> 32) as u32
    }

    /// A number from 0 to `n - 1`, made of 64 random bits; 0 if `n` is 0.
    #[inline]
    pub fn below_u64(&mut self, n: u64) -> u64 {
        // The high half of a product; the bias is at most one part in 2^64 / n.
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// A number from 0 up to but not including 1, a multiple of 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        crate::unit(self.bits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_mix_is_the_published_one() {
        // The first values for seed 1234567, as the authors' program prints them.
        let mut random = SplitMix::new(1_234_567);
        let first: [u64; 3] = std::array::from_fn(|_| random.bits());
        assert_eq!(
            first,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn streams_of_one_seed_differ() {
        let firsts: std::collections::BTreeSet<u64> =
            (0..1000).map(|index| SplitMix::stream(3, index).bits()).collect();
        assert_eq!(firsts.len(), 1000);
    }

    #[test]
    fn the_numbers_below_a_bound_are_pinned() {
        let mut random = SplitMix::stream(7, 1);
        let below: [u32; 4] = std::array::from_fn(|_| random.below(1000));
        let wide: [u64; 4] = std::array::from_fn(|_| random.below_u64(1 << 40));
        assert_eq!(below, [747, 908, 587, 654]);
        assert_eq!(wide, [1_039_954_276_547, 540_949_948_123, 151_226_716_503, 797_432_447_663]);
    }
}
