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
            self.0[group] |= of_group(&words, group);
        }
    }

    /// Removes the words of a range.
    pub(crate) fn remove(&mut self, words: Range<usize>) {
        for group in words.start / 64..words.end.div_ceil(64) {
            self.0[group] &= !of_group(&words, group);
        }
    }

    /// Adds the words of another set.
    pub(crate) fn unite(&mut self, other: &WordSet) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, other)| *mine |= other);
    }

    /// Moves the bits of a range to another word, up to 64 words away. Those between the range and
    /// its new place stay as they are.
    pub(crate) fn move_range(&mut self, words: Range<usize>, to: usize) {
        let moved = to..to + words.len();
        let bits = |set: &WordSet, group: usize| match set.0.get(group) {
            Some(bits) => u128::from(bits & of_group(&words, group)),
            None => 0,
        };
        let groups = moved.start / 64..moved.end.div_ceil(64);
        let set = |set: &mut WordSet, group: usize, bits: u64| {
            let replaced = of_group(&moved, group);
            set.0[group] = set.0[group] & !replaced | bits & replaced;
        };
        // In the order in which no group is replaced before its bits were read.
        match to.checked_sub(words.start) {
            Some(up) => groups.rev().for_each(|group| {
                let below = group.checked_sub(1).map_or(0, |below| bits(self, below));
                set(self, group, ((bits(self, group) << 64 | below) >> (64 - up)) as u64);
            }),
            None => groups.into_iter().for_each(|group| {
                let both = bits(self, group + 1) << 64 | bits(self, group);
                set(self, group, (both >> (words.start - to)) as u64);
            }),
        }
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

/// The bits of a group for the words of a range.
fn of_group(words: &Range<usize>, group: usize) -> u64 {
    let bit = |word: usize| word.saturating_sub(64 * group).min(64);
    lowest(bit(words.end)) & !lowest(bit(words.start))
}

/// The lowest bits of a number, up to 64.
fn lowest(bits: usize) -> u64 {
    1u64.checked_shl(bits as u32).map_or(!0, |bit| bit - 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_range_that_moves_has_the_bits_that_it_had_and_all_others_stay(
            bits: [u64; WORDS / 64], begin in 0..=WORDS, len in 0..=WORDS, by in 0..=64usize, up: bool,
        ) {
            let words = begin..(begin + len).min(WORDS);
            let to = if up { begin + by } else { begin.saturating_sub(by) };
            prop_assume!(to + words.len() <= WORDS);
            let (before, mut after) = (WordSet(bits), WordSet(bits));
            after.move_range(words.clone(), to);
            for word in 0..WORDS {
                let from = match word.checked_sub(to) {
                    Some(at) if at < words.len() => words.start + at,
                    _ => word,
                };
                prop_assert_eq!(after.has(word), before.has(from));
            }
        }
    }
}
