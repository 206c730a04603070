//! A plain bitmap: one bit a write, read by the simulator word by word; or one a page.

use std::ops::Range;

/// A growable sequence of bits in `u64` words, bit `i` being bit `i % 64` of word `i / 64`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bits {
    words: Vec<u64>,
    len: usize,
}

impl Bits {
    /// No bits yet.
    pub fn new() -> Bits {
        Bits::default()
    }

    /// `len` bits, all clear.
    pub fn zeros(len: usize) -> Bits {
        Bits { words: vec![0; len.div_ceil(64)], len }
    }

    /// `len` bits, all set.
    pub fn ones(len: usize) -> Bits {
        let mut bits = Bits { words: vec![u64::MAX; len.div_ceil(64)], len };
        if !len.is_multiple_of(64)
            && let Some(last) = bits.words.last_mut()
        {
            *last = (1 << (len % 64)) - 1;
        }
        bits
    }

    /// The number of bits.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if it is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The words; bits of the last one that are beyond [`Bits::len`] are clear.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Bit `i`; false beyond the end.
    #[inline]
    pub fn get(&self, i: usize) -> bool {
        i < self.len && self.words[i / 64] >> (i % 64) & 1 == 1
    }

    /// Sets bit `i` to `value`.
    ///
    /// # Panics
    /// If `i` is beyond the end, as with a slice.
    #[inline]
    pub fn set(&mut self, i: usize, value: bool) {
        assert!(i < self.len, "bit {i} of {}", self.len);
        let bit = 1 << (i % 64);
        if value {
            self.words[i / 64] |= bit;
        } else {
            self.words[i / 64] &= !bit;
        }
    }

    /// Sets bit `i`; returns whether it was set before.
    ///
    /// # Panics
    /// If `i` is beyond the end, as with a slice.
    #[inline]
    pub fn insert(&mut self, i: usize) -> bool {
        assert!(i < self.len, "bit {i} of {}", self.len);
        let (word, bit) = (&mut self.words[i / 64], 1 << (i % 64));
        let before = *word & bit != 0;
        *word |= bit;
        before
    }

    /// Sets all bits of a range to `value`.
    ///
    /// # Panics
    /// If the range goes beyond the end, as with a slice.
    pub fn fill(&mut self, range: Range<usize>, value: bool) {
        assert!(range.end <= self.len, "bits up to {} of {}", range.end, self.len);
        let whole = range.start.next_multiple_of(64)..range.end / 64 * 64;
        if whole.is_empty() {
            return range.for_each(|i| self.set(i, value));
        }
        (range.start..whole.start).for_each(|i| self.set(i, value));
        self.words[whole.start / 64..whole.end / 64].fill(if value { u64::MAX } else { 0 });
        (whole.end..range.end).for_each(|i| self.set(i, value));
    }

    /// Appends a bit.
    #[inline]
    pub fn push(&mut self, value: bool) {
        if self.len.is_multiple_of(64) {
            self.words.push(0);
        }
        if value {
            self.words[self.len / 64] |= 1 << (self.len % 64);
        }
        self.len += 1;
    }

    /// Appends `n` clear bits.
    #[inline]
    pub fn push_zeros(&mut self, n: usize) {
        self.len += n;
        let words = self.len.div_ceil(64);
        if words > self.words.len() {
            self.words.resize(words, 0);
        }
    }

    /// Appends all bits of `other`.
    pub fn extend(&mut self, other: &Bits) {
        let shift = self.len % 64;
        if shift == 0 {
            self.words.extend_from_slice(&other.words);
        } else {
            for &word in &other.words {
                if let Some(last) = self.words.last_mut() {
                    *last |= word << shift;
                }
                self.words.push(word >> (64 - shift));
            }
        }
        self.len += other.len;
        assert!(self.words.len() >= self.len.div_ceil(64), "each bit has a word");
        self.words.truncate(self.len.div_ceil(64));
        debug_assert!(
            self.len.is_multiple_of(64)
                || self.words.last().is_none_or(|last| last >> (self.len % 64) == 0),
            "bits beyond the end are clear"
        );
    }

    /// The number of bits that are set.
    pub fn count_ones(&self) -> u64 {
        self.words.iter().map(|w| u64::from(w.count_ones())).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic = "bits up to 128 of 100"]
    fn filling_beyond_the_end_panics_in_the_last_word_too() {
        Bits::zeros(100).fill(0..128, true);
    }

    #[test]
    fn extend_equals_pushing_one_by_one() {
        for (a, b) in [(0, 5), (1, 64), (63, 65), (64, 1), (100, 200), (130, 0)] {
            let mut left = Bits::ones(a);
            let mut right = Bits::new();
            (0..b).for_each(|i| right.push(i % 3 == 0));
            let mut expected = left.clone();
            (0..b).for_each(|i| expected.push(right.get(i)));
            left.extend(&right);
            assert_eq!(left, expected, "{a} + {b}");
        }
    }

    #[test]
    fn filling_a_range_equals_setting_each_of_its_bits() {
        for (from, to) in [(0, 0), (3, 9), (0, 64), (60, 70), (63, 129), (64, 192), (5, 200)] {
            let (mut ones, mut zeros, mut each) =
                (Bits::ones(200), Bits::zeros(200), Bits::zeros(200));
            ones.fill(from..to, false);
            zeros.fill(from..to, true);
            (from..to).for_each(|i| assert!(!each.insert(i)));
            assert_eq!(zeros, each, "{from}..{to}");
            (0..200).for_each(|i| assert_eq!(ones.get(i), !each.get(i), "{from}..{to}"));
        }
        assert!(Bits::ones(1).insert(0));
    }

    #[test]
    fn set_get_and_count_agree() {
        let mut bits = Bits::zeros(70);
        bits.set(69, true);
        bits.set(3, true);
        bits.set(3, false);
        assert!(bits.get(69) && !bits.get(3) && !bits.get(70));
        assert_eq!(bits.count_ones(), 1);
        assert_eq!(Bits::ones(70).count_ones(), 70);
        bits.push_zeros(100);
        assert_eq!((bits.len(), bits.words().len()), (170, 3));
    }
}
