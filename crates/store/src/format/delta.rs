//! Deltas: in place of a changed page only the words that changed since its base are written.
//!
//! The base of a page is the image of it that lies on the device. Its delta has all words that
//! changed since, and its tail all that changed since the delta; so a page is its base, and at most
//! one delta and one tail. Delta and tail of page `p` are records with LBAs of their own
//! ([`Sizes::delta_of`](crate::format::records::Sizes::delta_of)), placed like any other.

use std::ops::Range;

use crate::format::PAGE;
use crate::format::records::RecordKind;

/// Bytes of a word.
const WORD: usize = 8;

/// Words of a page.
const WORDS: usize = PAGE / WORD;

/// Bytes that a page's delta and its tail have together at most.
pub const LONGEST: usize = 1280;

/// Bytes of the longest tail. A delta that is written each time a page changes is as long as all
/// that changed so far; a tail is long only by what changed since the delta.
const LONGEST_TAIL: usize = 384;

/// Bytes of a delta that is short enough to be written again and again: a page is then read in two
/// parts, not in three.
const SHORT: usize = 320;

/// Bytes before the runs: the low half of the delta's time, and the number of runs.
const HEAD: usize = 5;

/// Words of 8 bytes in which a page may differ from its [base](crate::PageWrite::changed): those
/// that its delta has, as far as its writer knows, and those that changed since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangedWords {
    in_delta: WordSet,
    since: WordSet,
}

/// Words of a page: a bit for each, from the lowest bit of the first number on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WordSet([u64; WORDS / 64]);

impl ChangedWords {
    /// No word changed.
    pub const NONE: ChangedWords = ChangedWords { in_delta: WordSet::NONE, since: WordSet::NONE };

    /// The words of a page's delta, and those that changed since: a bit for each word, from the
    /// lowest bit of the first number on.
    pub const fn from_bits(in_delta: [u64; WORDS / 64], since: [u64; WORDS / 64]) -> Self {
        ChangedWords { in_delta: WordSet(in_delta), since: WordSet(since) }
    }

    /// A bit for each word that the page's delta has, and one for each that changed since.
    pub const fn bits(&self) -> [[u64; WORDS / 64]; 2] {
        [self.in_delta.0, self.since.0]
    }

    /// Adds words of a range that changed.
    pub fn add(&mut self, words: Range<usize>) {
        self.since.add(words);
    }

    /// True if the word may differ.
    pub fn has(&self, word: usize) -> bool {
        self.all().has(word)
    }

    /// The number of words.
    pub fn count(&self) -> usize {
        self.all().count()
    }

    /// The record that a page with these changes is written as.
    pub fn kind(&self) -> RecordKind {
        let [delta, tail, all] =
            [self.in_delta, self.since, self.all()].map(|words| words.most_bytes());
        let is_tail = self.in_delta != WordSet::NONE && tail <= LONGEST_TAIL;
        if is_tail && all > SHORT && delta + tail <= LONGEST {
            RecordKind::Tail
        } else if all <= LONGEST {
            RecordKind::Delta
        } else {
            RecordKind::Image
        }
    }

    /// Notes that the page was written with these changes. A store may have written another record
    /// than [`kind`](Self::kind) says; what is noted holds all the same.
    pub fn note_written(&mut self) {
        *self = match self.kind() {
            RecordKind::Image => ChangedWords::NONE,
            RecordKind::Delta => ChangedWords { in_delta: self.all(), since: WordSet::NONE },
            RecordKind::Tail => *self,
        }
    }

    /// All words that may differ.
    pub(crate) fn all(&self) -> WordSet {
        let mut all = self.since;
        all.0.iter_mut().zip(self.in_delta.0).for_each(|(all, bits)| *all |= bits);
        all
    }

    /// The words that a record of this kind has.
    pub(crate) fn of_kind(&self, kind: RecordKind) -> WordSet {
        if kind == RecordKind::Tail { self.since } else { self.all() }
    }

    /// The words of a delta and of a tail that were read.
    pub(crate) fn read(in_delta: WordSet, since: WordSet) -> ChangedWords {
        ChangedWords { in_delta, since }
    }
}

impl WordSet {
    /// No word.
    pub const NONE: WordSet = WordSet([0; WORDS / 64]);

    /// Adds the words of a range.
    fn add(&mut self, words: Range<usize>) {
        for group in words.start / 64..words.end.div_ceil(64) {
            let bit = |word: usize| word.saturating_sub(64 * group).min(64);
            self.0[group] |= lowest(bit(words.end)) & !lowest(bit(words.start));
        }
    }

    fn has(&self, word: usize) -> bool {
        self.0.get(word / 64).is_some_and(|bits| bits >> (word % 64) & 1 == 1)
    }

    fn count(&self) -> usize {
        self.0.iter().map(|bits| bits.count_ones() as usize).sum()
    }

    /// Bytes that a record of these words has at most.
    fn most_bytes(&self) -> usize {
        let (mut runs, mut before) = (0, 0);
        for bits in self.0 {
            runs += (bits & !(bits << 1 | before)).count_ones() as usize;
            before = bits >> 63;
        }
        // The unchanged words before the runs may take two more pairs of bytes.
        HEAD + 2 * (runs + 2) + self.count() * WORD
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

/// Encodes those words of a page, as a delta or a tail; none if it would be too long. Its time is
/// [set](set_time) later.
///
/// The record: the low half of its time, the number of runs (u8), for each run the unchanged words
/// before it and its length (u8 each), then the words of all runs.
pub fn encode(page: &[u8], changed: &WordSet) -> Option<Vec<u8>> {
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

/// Applies a delta to its base, or a tail to both; returns its words. None if it is neither: the
/// page is then changed in part.
pub fn apply(page: &mut [u8], delta: &[u8]) -> Option<WordSet> {
    let runs = usize::from(*delta.get(HEAD - 1)?);
    let (runs, mut words) = delta[HEAD..].split_at_checked(2 * runs)?;
    let (mut changed, mut at) = (WordSet::NONE, 0);
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
            let mut changed = WordSet::NONE;
            for (begin, len) in ranges {
                changed.add(begin..(begin + len).min(WORDS));
            }
            let content: Vec<u8> = (0..PAGE).map(|at| (at as u8).wrapping_add(page)).collect();
            let mut bytes = vec![base; PAGE];
            match encode(&content, &changed) {
                None => {
                    prop_assert!(changed.count() * WORD > LONGEST - HEAD - 2 * 256);
                    prop_assert!(changed.most_bytes() > LONGEST);
                }
                Some(mut delta) => {
                    prop_assert!(delta.len() <= changed.most_bytes());
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
        fn a_writer_tells_all_words_that_a_record_needs_whatever_the_store_did_before(
            steps in prop::collection::vec((0..WORDS, 1..25usize, 0..8u8), 1..60),
        ) {
            let mut page = vec![0; PAGE];
            let (mut base, mut parts) = (page.clone(), [None, None]);
            let mut changed = ChangedWords::NONE;
            let read = |base: &[u8], parts: &[Option<Vec<u8>>; 2]| {
                let mut page = base.to_vec();
                parts.iter().flatten().for_each(|part| assert!(apply(&mut page, part).is_some()));
                page
            };
            for (round, (begin, len, chance)) in (1u8..).zip(steps) {
                let end = (begin + len).min(WORDS);
                page[begin * WORD..end * WORD].fill(round);
                changed.add(begin..end);
                let kind = changed.kind();
                let encoded = |kind| encode(&page, &changed.of_kind(kind));
                match kind {
                    // The store writes an image, in place of a copy for example.
                    _ if chance == 0 => (base, parts) = (page.clone(), [None, None]),
                    RecordKind::Image => (base, parts) = (page.clone(), [None, None]),
                    RecordKind::Tail if parts[0].is_some() => parts[1] = encoded(kind),
                    kind => parts = [encoded(kind), None],
                }
                changed.note_written();
                prop_assert!(read(&base, &parts) == page, "written as {kind:?}");
                if chance == 1 {
                    // Cleaning merges.
                    (base, parts) = (read(&base, &parts), [None, None]);
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
