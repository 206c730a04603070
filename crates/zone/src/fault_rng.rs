//! Random choices from a seed: the same faults for the same seed.

use frostline_random::SplitMix;

/// A stream of random numbers for faults.
#[derive(Clone, Debug)]
pub(crate) struct FaultRng(SplitMix);

impl FaultRng {
    pub(crate) fn new(seed: u64) -> Self {
        FaultRng(SplitMix::new(seed))
    }

    pub(crate) fn next_u64(&mut self) -> u64 {
        self.0.bits()
    }

    /// A number from 0 to `most`, inclusive.
    pub(crate) fn up_to(&mut self, most: u64) -> u64 {
        let number = self.next_u64();
        most.checked_add(1).map_or(number, |n| number % n)
    }

    /// True with the probability 1 / `n`.
    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.up_to(n - 1) == 0
    }

    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        for word in bytes.chunks_mut(8) {
            word.copy_from_slice(&self.next_u64().to_le_bytes()[..word.len()]);
        }
    }
}
