//! The workloads' source of chance.

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA'14): a
/// stream of random numbers that depends on its seed only. Its state is one word, so that a
/// batch that has to be tried again can start from a copy.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Random {
    /// Stream number `index` of a seed: streams of one seed have nothing in common.
    pub(crate) fn stream(seed: u64, index: u64) -> Random {
        Random(mix(mix(seed.wrapping_add(STEP)) ^ index.wrapping_mul(STEP)))
    }

    /// 64 random bits.
    #[inline]
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }

    /// A number from 0 to `n - 1`, which is not empty.
    #[inline]
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        // The high half of a product: favours none by more than one part in 2^64 / n.
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// A number from `low` to `high`, both included.
    #[inline]
    pub(crate) fn between(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(u64::from(high - low) + 1) as u32
    }

    /// A number from 0 up to but not including 1, a multiple of 2^-53.
    #[inline]
    pub(crate) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True in so many of a hundred cases.
    #[inline]
    pub(crate) fn percent(&mut self, share: u32) -> bool {
        self.below(100) < u64::from(share)
    }

    /// Fills `bytes`, which then do not compress.
    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        let (words, rest) = bytes.as_chunks_mut::<8>();
        words.iter_mut().for_each(|word| *word = self.bits().to_le_bytes());
        rest.copy_from_slice(&self.bits().to_le_bytes()[..rest.len()]);
    }

    /// Puts `items` into an order of which each is as likely.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

const FIRST: u64 = 0xbf58_476d_1ce4_e5b9;
const SECOND: u64 = 0x94d0_49bb_1331_11eb;

/// A permutation of all 64-bit numbers that leaves no order in them: SplitMix64's.
#[inline]
pub(crate) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(FIRST);
    z = (z ^ (z >> 27)).wrapping_mul(SECOND);
    z ^ (z >> 31)
}

/// What [`mix`] made `z` of.
pub(crate) fn unmix(mut z: u64) -> u64 {
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
        let mut random = Random::stream(1, 0);
        for z in [0, 1, u64::MAX].into_iter().chain((0..1000).map(|_| random.bits())) {
            assert_eq!(unmix(mix(z)), z);
        }
    }

    #[test]
    fn bounds_are_reached_and_kept() {
        let mut random = Random::stream(2, 0);
        let mut seen = [false; 5];
        (0..200).for_each(|_| seen[random.between(3, 7) as usize - 3] = true);
        assert_eq!(seen, [true; 5]);
        assert_eq!(random.between(9, 9), 9);
    }

    #[test]
    fn streams_of_one_seed_differ() {
        let firsts: std::collections::BTreeSet<u64> =
            (0..1000).map(|index| Random::stream(3, index).bits()).collect();
        assert_eq!(firsts.len(), 1000);
    }

    #[test]
    fn shuffling_keeps_what_is_there() {
        let mut items: Vec<u32> = (0..100).collect();
        Random::stream(4, 0).shuffle(&mut items);
        assert!(items.windows(2).any(|pair| pair[0] > pair[1]));
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<u32>>());
    }
}
