//! The generators' source of chance: xoshiro256** (Blackman and Vigna, 2018), seeded by SplitMix64.
//!
//! It is part of the crate so that a seed means the same trace for ever.

/// A stream of random numbers that depends on its seed only.
#[derive(Debug, Clone)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Random {
        let mut sequence = seed;
        Random { state: std::array::from_fn(|_| split_mix(&mut sequence)) }
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A number from 0 to `n - 1`, each as likely; 0 if `n` is.
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        // Lemire's method (2019): the high half of a product, rejecting what would favour some.
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
        const STEP: f64 = 1.0 / (1u64 << 53) as f64;
        (self.bits() >> 11) as f64 * STEP
    }

    /// True with the given probability.
    #[inline]
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }
}

/// The next of SplitMix64 (Steele, Lea and Flood, 2014).
fn split_mix(sequence: &mut u64) -> u64 {
    *sequence = sequence.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = *sequence;
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_mix_is_the_published_one() {
        // The first values for seed 1234567 as the authors' program prints them.
        let mut sequence = 1_234_567;
        let first: [u64; 3] = std::array::from_fn(|_| split_mix(&mut sequence));
        assert_eq!(
            first,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn xoshiro_is_the_published_one() {
        // The first values for state 1, 2, 3, 4 as the authors' program prints them.
        let mut random = Random { state: [1, 2, 3, 4] };
        let first: [u64; 4] = std::array::from_fn(|_| random.bits());
        assert_eq!(first, [11520, 0, 1_509_978_240, 1_215_971_899_390_074_240]);
    }

    #[test]
    fn below_is_even() {
        let mut random = Random::new(1);
        let mut counts = [0u32; 7];
        (0..70_000).for_each(|_| counts[random.below(7) as usize] += 1);
        assert!(counts.iter().all(|c| c.abs_diff(10_000) < 500), "{counts:?}");
        assert_eq!((random.below(1), random.below(0)), (0, 0));
    }
}
