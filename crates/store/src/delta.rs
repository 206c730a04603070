//! Deltas: in place of a changed page only the words that changed since its base are written.
//!
//! The base of a page is the image of it that lies on the device. A delta is cumulative: it has all words
//! that changed since, so a page is its base and one delta at most. The delta of page `p` is a record
//! with an LBA of its own ([`Sizes::delta_of`](crate::records::Sizes::delta_of)), placed like any other.

use std::ops::Range;

use crate::format::PAGE;

/// Bytes of a word.
const WORD: usize = 8;

/// Words of a page.
const WORDS: usize = PAGE / WORD;

/// The longest delta. Longer ones bring less than the image costs (from 640 to 1,024 bytes that hardly
/// matters).
pub const LONGEST: usize = 768;

/// Bytes before the runs: the low half of the delta's time, and the number of runs.
const HEAD: usize = 5;

/// Words of 8 bytes in which a page may differ from its [base](crate::PageWrite::changed).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangedWords([u64; WORDS / 64]);

impl ChangedWords {
    /// No word changed.
    pub const NONE: ChangedWords = ChangedWords([0; WORDS / 64]);

    /// The words whose bits are set, from the lowest bit of the first number on.
    pub const fn from_bits(bits: [u64; WORDS / 64]) -> Self {
        ChangedWords(bits)
    }

    /// A bit for each word.
    pub const fn bits(&self) -> [u64; WORDS / 64] {
        self.0
    }

    /// Adds the words of a range.
    pub fn add(&mut self, words: Range<usize>) {
        for group in words.start / 64..words.end.div_ceil(64) {
            let bit = |word: usize| word.saturating_sub(64 * group).min(64);
            self.0[group] |= lowest(bit(words.end)) & !lowest(bit(words.start));
        }
    }

    /// True if the word may differ.
    pub fn has(&self, word: usize) -> bool {
        self.0.get(word / 64).is_some_and(|bits| bits >> (word % 64) & 1 == 1)
    }

    /// The number of words.
    pub fn count(&self) -> usize {
        self.0.iter().map(|bits| bits.count_ones() as usize).sum()
    }

    /// True if a delta of these words is not too long.
    pub fn fits_delta(&self) -> bool {
        let (mut runs, mut before) = (0, 0);
        for bits in self.0 {
            runs += (bits & !(bits << 1 | before)).count_ones() as usize;
            before = bits >> 63;
        }
        // The unchanged words before the runs may take two more pairs of bytes.
        HEAD + 2 * (runs + 2) + self.count() * WORD <= LONGEST
    }

    /// Ranges of neighbouring words.
    fn runs(&self) -> impl Iterator<Item = Range<usize>> {
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

/// Encodes those words of a page; none if the delta would be too long. Its time is
/// [set](set_time) later.
///
/// The record: the low half of its time, the number of runs (u8), for each run the unchanged words before
/// it and its length (u8 each), then the words of all runs.
pub fn encode(page: &[u8], changed: &ChangedWords) -> Option<Vec<u8>> {
    if HEAD + changed.count() * WORD > LONGEST {
        return None;
    }
    // On the stack first, so that the record is allocated once, as long as it is.
    let mut delta = [0; LONGEST];
    let (mut at, mut end, most) = (HEAD, 0, usize::from(u8::MAX));
    let mut push = |bytes: &[u8]| {
        delta.get_mut(at..at + bytes.len())?.copy_from_slice(bytes);
        at += bytes.len();
        Some(())
    };
    for run in changed.runs() {
        let mut before = run.start - end;
        while before > most {
            push(&[u8::MAX, 0])?;
            before -= most;
        }
        for part in run.clone().step_by(most) {
            push(&[before as u8, (run.end - part).min(most) as u8])?;
            before = 0;
        }
        end = run.end;
    }
    for run in changed.runs() {
        push(&page[run.start * WORD..run.end * WORD])?;
    }
    delta[HEAD - 1] = u8::try_from((at - HEAD - changed.count() * WORD) / 2).ok()?;
    Some(delta[..at].to_vec())
}

/// Sets the time of an encoded delta.
pub fn set_time(delta: &mut [u8], time: u64) {
    delta[..4].copy_from_slice(&(time as u32).to_le_bytes());
}

/// The time of a delta, which was written before `now` and not 2^32 writes earlier.
pub fn time_of(delta: &[u8], now: u64) -> Option<u64> {
    let low = u32::from_le_bytes(*delta.first_chunk()?);
    now.checked_sub((now as u32).wrapping_sub(low).into())
}

/// Applies a delta to its base; returns its words. None if it is not a delta: the page is then changed in
/// part.
pub fn apply(page: &mut [u8], delta: &[u8]) -> Option<ChangedWords> {
    let runs = usize::from(*delta.get(HEAD - 1)?);
    let (runs, mut words) = delta[HEAD..].split_at_checked(2 * runs)?;
    let (mut changed, mut at) = (ChangedWords::NONE, 0);
    for &[before, len] in runs.as_chunks().0 {
        let begin = at + usize::from(before);
        at = begin + usize::from(len);
        let (run, rest) = words.split_at_checked(usize::from(len) * WORD)?;
        page.get_mut(begin * WORD..at * WORD)?.copy_from_slice(run);
        changed.add(begin..at);
        words = rest;
    }
    Some(changed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_delta_brings_the_base_to_the_page(
            ranges in prop::collection::vec((0..WORDS, 1..20usize), 0..12),
            base: u8, page: u8, time: u64, later in 0..u64::from(u32::MAX),
        ) {
            let mut changed = ChangedWords::NONE;
            for (begin, len) in ranges {
                changed.add(begin..(begin + len).min(WORDS));
            }
            let content: Vec<u8> = (0..PAGE).map(|at| (at as u8).wrapping_add(page)).collect();
            let mut bytes = vec![base; PAGE];
            match encode(&content, &changed) {
                None => {
                    prop_assert!(changed.count() * WORD > LONGEST - HEAD - 2 * 256);
                    prop_assert!(!changed.fits_delta());
                }
                Some(mut delta) => {
                    prop_assert!(changed.fits_delta() || delta.len() + 4 > LONGEST);
                    prop_assert!(delta.len() <= LONGEST);
                    let now = time.saturating_add(later);
                    set_time(&mut delta, time);
                    prop_assert_eq!(time_of(&delta, now), Some(time));
                    delta.resize(delta.len() + 60, 0);
                    prop_assert_eq!(apply(&mut bytes, &delta), Some(changed));
                    for (word, range) in (0..WORDS).map(|word| (word, word * WORD..(word + 1) * WORD)) {
                        let expected =
                            if changed.has(word) { content[range.clone()].to_vec() } else { vec![base; WORD] };
                        prop_assert_eq!(&bytes[range], &expected[..]);
                    }
                }
            }
        }

        #[test]
        fn any_bytes_are_a_delta_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..800)) {
            let mut page = vec![0; PAGE];
            if let Some(changed) = apply(&mut page, &bytes) {
                prop_assert!(changed.count() * WORD <= bytes.len());
            }
        }
    }
}
