//! Seeded chance: the same faults for the same seed.

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA'14).
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Chance(seed)
    }

    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to `most`, both included.
    pub fn up_to(&mut self, most: u64) -> u64 {
        let number = self.next_u64();
        most.checked_add(1).map_or(number, |n| number % n)
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.up_to(n - 1) == 0
    }

    pub fn fill(&mut self, bytes: &mut [u8]) {
        for word in bytes.chunks_mut(8) {
            word.copy_from_slice(&self.next_u64().to_le_bytes()[..word.len()]);
        }
    }
}
