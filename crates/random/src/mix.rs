//! The permutation of numbers that SplitMix64 ends each step with, and its inverse.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// The difference of two states of SplitMix64 in a row.
pub(crate) const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

const FIRST: u64 = 0xbf58_476d_1ce4_e5b9;
const SECOND: u64 = 0x94d0_49bb_1331_11eb;

/// A permutation of all 64-bit numbers that leaves no order in them.
#[inline]
pub fn mix(z: u64) -> u64 {
    SplitMix64::seed_from_u64(z.wrapping_sub(STEP)).next_u64()
}

/// The number of which [`mix`] makes `z`.
pub fn unmix(mut z: u64) -> u64 {
    z = (z ^ (z >> 31) ^ (z >> 62)).wrapping_mul(inverse(SECOND));
    z = (z ^ (z >> 27) ^ (z >> 54)).wrapping_mul(inverse(FIRST));
    z ^ (z >> 30) ^ (z >> 60)
}

/// The factor that undoes a multiplication by an odd number, modulo 2^64: each of Newton's steps
/// doubles the number of right bits, of which an odd number has 3 to begin with.
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
