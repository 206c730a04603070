//! The permutation of numbers that is the last part of each step of SplitMix64, and its inverse.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// The difference between consecutive states of SplitMix64.
pub(crate) const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

const FIRST: u64 = 0xbf58_476d_1ce4_e5b9;
const SECOND: u64 = 0x94d0_49bb_1331_11eb;

/// A permutation of all 64-bit numbers; its results look random.
#[inline]
pub fn mix(z: u64) -> u64 {
    SplitMix64::seed_from_u64(z.wrapping_sub(STEP)).next_u64()
}

/// The inverse of [`mix`]: the number whose `mix` is `z`.
pub fn unmix(mut z: u64) -> u64 {
    z = (z ^ (z >> 31) ^ (z >> 62)).wrapping_mul(inverse(SECOND));
    z = (z ^ (z >> 27) ^ (z >> 54)).wrapping_mul(inverse(FIRST));
    z ^ (z >> 30) ^ (z >> 60)
}

/// The multiplicative inverse of an odd number, modulo 2^64. The number itself is right in 3 bits,
/// and each step of Newton's method doubles the number of right bits.
const fn inverse(odd: u64) -> u64 {
    let mut inverse = odd;
    let mut step = 0;
    while step < 5 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
        step += 1;
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixing_can_be_undone() {
        let numbers = (0..1000u64).map(|i| i.wrapping_mul(STEP));
        for z in [1, u64::MAX].into_iter().chain(numbers) {
            assert_eq!(unmix(mix(z)), z);
        }
    }
}
