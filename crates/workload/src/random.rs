//! The workloads' random numbers.

use frostline_random::{SplitMix, Zipf};

/// A stream of random numbers that depends on its seed only. Its state is one word, so a batch that
/// must be tried again can start from a copy.
#[derive(Clone, Debug)]
pub(crate) struct Random(SplitMix);

impl Random {
    /// Stream number `index` of a seed; the streams of one seed are independent.
    pub(crate) fn stream(seed: u64, index: u64) -> Random {
        Random(SplitMix::stream(seed, index))
    }

    /// 64 random bits.
    #[inline]
    pub(crate) fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    /// A number from 0 to `n - 1`; `n` must not be 0.
    #[inline]
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        debug_assert!(n > 0, "there is something to choose from");
        self.0.below_u64(n)
    }

    /// A number from `low` to `high`, inclusive.
    #[inline]
    pub(crate) fn between(&mut self, low: u32, high: u32) -> u32 {
        assert!(low <= high, "a range that is not empty");
        low + self.below(u64::from(high - low) + 1) as u32
    }

    /// A number from 0 up to but not including 1, a multiple of 2^-53.
    #[inline]
    pub(crate) fn unit(&mut self) -> f64 {
        self.0.unit()
    }

    /// A rank, from 0, with the probability that `zipf` gives it.
    #[inline]
    pub(crate) fn rank(&mut self, zipf: &Zipf) -> u64 {
        zipf.sample(|| self.unit())
    }

    /// True with a probability of `share` percent.
    #[inline]
    pub(crate) fn percent(&mut self, share: u32) -> bool {
        debug_assert!(share <= 100, "a share in percent");
        self.below(100) < u64::from(share)
    }

    /// Fills `bytes` with random bytes, which do not compress.
    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        let (words, rest) = bytes.as_chunks_mut::<8>();
        words.iter_mut().for_each(|word| *word = self.bits().to_le_bytes());
        rest.copy_from_slice(&self.bits().to_le_bytes()[..rest.len()]);
    }

    /// Puts `items` into a random order; all orders are equally likely.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_reached_and_kept() {
        let mut random = Random::stream(2, 0);
        let mut seen = [false; 5];
        (0..200).for_each(|_| seen[random.between(3, 7) as usize - 3] = true);
        assert_eq!(seen, [true; 5]);
        assert_eq!(random.between(9, 9), 9);
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
