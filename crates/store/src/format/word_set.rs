//! Sets of the words of a page.

use std::ops::Range;

use crate::format::PAGE;

/// Bytes of a word.
pub(crate) const WORD: usize = 8;

/// Words of a page.
pub(crate) const WORDS: usize = PAGE / WORD;

/// Words of a page: a bit for each, from the lowest bit of the first number on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WordSet(pub(crate) [u64; WORDS / 64]);

impl WordSet {
    /// No word.
    pub(crate) const NONE: WordSet = WordSet([0; WORDS / 64]);

    /// Adds the words of a range.
    pub(crate) fn add(&mut self, words: Range<usize>) {
        for group in words.start / 64..words.end.div_ceil(64) {
            let bit = |word: usize| word.saturating_sub(64 * group).min(64);
            self.0[group] |= lowest(bit(words.end)) & !lowest(bit(words.start));
        }
    }

    /// Adds the words of another set.
    pub(crate) fn unite(&mut self, other: &WordSet) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, other)| *mine |= other);
    }

    /// Removes the words of another set.
    pub(crate) fn subtract(&mut self, other: &WordSet) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, other)| *mine &= !other);
    }

    /// The words of a range, from another word on: up to 64 words away.
    pub(crate) fn moved(&self, words: Range<usize>, to: usize) -> WordSet {
        let mut moved = WordSet::NONE;
        moved.add(words.clone());
        moved.0.iter_mut().zip(self.0).for_each(|(moved, bits)| *moved &= bits);
        let before = moved.0;
        let number = |group: Option<usize>| group.and_then(|group| before.get(group)).copied();
        for (group, bits) in moved.0.iter_mut().enumerate() {
            let [below, above] =
                [group.checked_sub(1), Some(group + 1)].map(|n| number(n).unwrap_or(0));
            let both = |low: u64, high: u64, shift: usize| {
                (u128::from(high) << 64 | u128::from(low)) >> shift
            };
            *bits = match to.checked_sub(words.start) {
                Some(up) => both(below, before[group], 64 - up) as u64,
                None => both(before[group], above, words.start - to) as u64,
            };
        }
        moved
    }

    pub(crate) fn has(&self, word: usize) -> bool {
        self.0.get(word / 64).is_some_and(|bits| bits >> (word % 64) & 1 == 1)
    }

    pub(crate) fn count(&self) -> usize {
        self.0.iter().map(|bits| bits.count_ones() as usize).sum()
    }

    /// Ranges of neighbouring words.
    pub(crate) fn runs(&self) -> impl Iterator<Item = Range<usize>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let begin = self.next(at, 0)?;
            at = self.next(begin, !0).unwrap_or(WORDS);
            Some(begin..at)
        })
    }

    /// The first word from `from` on that changed; that did not if `flip` has all bits.
    fn next(&self, from: usize, flip: u64) -> Option<usize> {
        let mut above = !0 << (from % 64);
        for (index, bits) in self.0.iter().enumerate().skip(from / 64) {
            let found = (bits ^ flip) & above;
            if found != 0 {
                return Some(64 * index + found.trailing_zeros() as usize);
            }
            above = !0;
        }
        None
    }
}

/// The lowest bits of a number, up to 64.
fn lowest(bits: usize) -> u64 {
    1u64.checked_shl(bits as u32).map_or(!0, |bit| bit - 1)
}
