//! Deltas: in place of a changed page only the words that changed since its base are written.
//!
//! The base of a page is the image of it that lies on the device. Its delta has all words that
//! changed since, and its tail all that changed since the delta; so a page is its base, and at most
//! one delta and one tail. Words that others moved are not among them ([`shifts`](super::shifts)).
//! Delta and tail of page `p` are records with LBAs of their own
//! ([`Sizes::delta_of`](crate::format::records::Sizes::delta_of)), placed like any other.

use std::ops::Range;

use crate::format::PAGE;
use crate::format::records::RecordKind;
use crate::format::shifts::{Shift, Shifts};
use crate::format::word_set::{WORD, WORDS, WordSet};

/// Bytes that a page's delta and its tail have together at most.
pub(crate) const LONGEST: usize = 1792;

/// Bytes of the longest tail. A delta that is written each time a page changes is as long as all
/// that changed so far; a tail is long only by what changed since the delta.
const LONGEST_TAIL: usize = 384;

/// Bytes of a delta that is short enough to be written again and again: a page is then read in two
/// parts, not in three.
const SHORT: usize = 320;

/// Bytes before the runs: the low half of the delta's time, and the number of runs.
const HEAD: usize = 5;

/// In the number of runs: shifts are before them.
const HAS_SHIFTS: u8 = 1 << 7;

/// Runs of a record, at most.
const MOST_RUNS: u8 = 127;

/// Words of 8 bytes in which a page may differ from its [base](crate::PageWrite::changed): those
/// that its delta has, as far as its writer knows, and those that changed since. Words that were
/// inserted among others, or removed, make others move, which are not among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangedWords {
    in_delta: WordSet,
    since: WordSet,
    shifts: Shifts,
}

impl Default for ChangedWords {
    fn default() -> Self {
        ChangedWords::NONE
    }
}

impl ChangedWords {
    /// No word changed.
    pub const NONE: ChangedWords =
        ChangedWords { in_delta: WordSet::NONE, since: WordSet::NONE, shifts: Shifts::NONE };

    /// What [`bits`](Self::bits) gave; without shifts if the third is of zeroes.
    pub fn from_bits([in_delta, since, shifts]: [[u64; WORDS / 64]; 3]) -> Self {
        let (in_delta, since) = (WordSet(in_delta), WordSet(since));
        ChangedWords { in_delta, since, shifts: bytemuck::cast(shifts) }
    }

    /// A bit for each word that the page's delta has, from the lowest bit of the first number on;
    /// one for each that changed since; and the insertions and removals.
    pub fn bits(&self) -> [[u64; WORDS / 64]; 3] {
        [self.in_delta.0, self.since.0, bytemuck::cast(self.shifts)]
    }

    /// A word was inserted before word `at`: it and those behind, up to `end`, moved up by one.
    /// False, and nothing is noted, if a delta can't say so: then the page has to be written as a
    /// whole.
    ///
    /// A page of which words are inserted or removed has [how many](Self::shift_number) in two of
    /// its bytes.
    #[must_use]
    pub fn insert_word(&mut self, at: usize, end: usize) -> bool {
        self.shift(Shift::insertion(at), end)
    }

    /// Word `at` was removed: those behind it, up to `end`, moved down by one. What is left in the
    /// place of the last one does not matter, unless it is set. False as for an insertion.
    #[must_use]
    pub fn remove_word(&mut self, at: usize, end: usize) -> bool {
        self.shift(Shift::removal(at), end)
    }

    fn shift(&mut self, shift: Shift, end: usize) -> bool {
        let is_noted = self.shifts.push(shift, end);
        if is_noted {
            self.in_delta.shift(shift, end, false);
            self.since.shift(shift, end, true);
        }
        is_noted
    }

    /// Words that were inserted into the page and removed from it, ever: the page has this number
    /// as it is written.
    pub fn shift_number(&self) -> u16 {
        self.shifts.number()
    }

    /// The page has that number in the two bytes from `at` on, the lower one first.
    pub fn set_shift_number_at(&mut self, at: u16) {
        self.shifts.set_number_at(at);
    }

    /// The page was read, and has this number. What was read says it if it has shifts.
    pub fn set_shift_number(&mut self, number: u16) {
        if !self.shifts.is_any() {
            self.shifts.begin(number);
        }
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
        let [in_delta, since] = self.shifts.bytes_of_parts();
        let [delta, tail, all] =
            [(self.in_delta, in_delta), (self.since, since), (self.all(), self.shifts.bytes())]
                .map(|(words, shifts)| words.most_bytes() + shifts);
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
        match self.kind() {
            RecordKind::Image => self.begin_base(self.shift_number()),
            RecordKind::Delta => self.begin_delta(),
            RecordKind::Tail => {}
        }
    }

    /// The page is written as a delta: no word changed since that.
    pub fn begin_delta(&mut self) {
        (self.in_delta, self.since) = (self.all(), WordSet::NONE);
        self.shifts.begin_delta();
    }

    /// The page's delta may not have been written: its words changed since the base.
    pub fn forget_delta(&mut self) {
        (self.in_delta, self.since) = (WordSet::NONE, self.all());
        self.shifts.forget_delta();
    }

    /// The page is a base, with so many words inserted and removed.
    pub fn begin_base(&mut self, shift_number: u16) {
        *self = ChangedWords::NONE;
        self.shifts.begin(shift_number);
    }

    /// The page has no base.
    pub fn forget_base(&mut self) {
        self.begin_base(self.shift_number());
        self.add(0..WORDS);
    }

    /// All words that may differ.
    pub(crate) fn all(&self) -> WordSet {
        let mut all = self.since;
        all.unite(&self.in_delta);
        all
    }

    /// The words and the shifts that a record of this kind has.
    fn of_kind(&self, kind: RecordKind) -> (WordSet, Shifts) {
        match kind {
            RecordKind::Tail => (self.since, self.shifts.parts()[1]),
            _ => (self.all(), self.shifts),
        }
    }

    /// The page as a delta or a tail; none if it would be too long. Its time is [set](set_time)
    /// later.
    ///
    /// The record: the low half of its time; the number of runs, with its highest bit set if shifts
    /// follow; for each run the unchanged words before it and its length (u8 each); then the words
    /// of all runs.
    pub(crate) fn encode(&self, page: &[u8], kind: RecordKind) -> Option<Vec<u8>> {
        let (words, shifts) = self.of_kind(kind);
        if HEAD + words.count() * WORD > LONGEST {
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
        let (bytes, len) = shifts.encode();
        push(&bytes[..len])?;
        let mut runs = 0usize;
        for run in words.runs() {
            let mut before = run.start - end;
            while before > most {
                push(&[u8::MAX, 0])?;
                (before, runs) = (before - most, runs + 1);
            }
            for part in run.clone().step_by(most) {
                push(&[before as u8, (run.end - part).min(most) as u8])?;
                (before, runs) = (0, runs + 1);
            }
            end = run.end;
        }
        for run in words.runs() {
            push(&page[run.start * WORD..run.end * WORD])?;
        }
        let runs = u8::try_from(runs).ok().filter(|&runs| runs <= MOST_RUNS)?;
        delta[HEAD - 1] = if shifts.is_any() { runs | HAS_SHIFTS } else { runs };
        Some(delta[..at].to_vec())
    }

    /// Applies a delta and a tail, those that there are, to their base, and returns what they
    /// change. None if they are not of it: the page is then changed in part.
    pub(crate) fn read([delta, tail]: [&[u8]; 2], page: &mut [u8]) -> Option<ChangedWords> {
        let mut changed = ChangedWords::NONE;
        if !delta.is_empty() {
            changed.apply(page, delta)?;
            changed.begin_delta();
        }
        if !tail.is_empty() {
            changed.apply(page, tail)?;
        }
        Some(changed)
    }

    /// Applies a delta to its base, or a tail to both, and notes what that changes.
    fn apply(&mut self, page: &mut [u8], delta: &[u8]) -> Option<()> {
        let (head, mut rest) = delta.split_at_checked(HEAD)?;
        let runs = head[HEAD - 1];
        let mut unnoted = None;
        if runs & HAS_SHIFTS != 0 {
            let (shifts, behind) = Shifts::parse(rest)?;
            self.set_shift_number(shifts.number_in(page)?);
            self.set_shift_number_at(shifts.number_at());
            shifts.apply(page, |shift, end| {
                // The delta may end within a shift of the tail: then there is one more here than
                // their writer has.
                let is_full = self.shifts.is_full(end);
                let is_noted = unnoted.is_none() && self.shift(shift, end);
                if is_full && !is_noted {
                    unnoted = Some(shifts.number());
                }
                is_noted || unnoted.is_some()
            })?;
            rest = behind;
        }
        let (runs, mut words) = rest.split_at_checked(2 * usize::from(runs & !HAS_SHIFTS))?;
        let mut at = 0;
        for &[before, len] in runs.as_chunks().0 {
            let begin = at + usize::from(before);
            at = begin + usize::from(len);
            let (run, behind) = words.split_at_checked(usize::from(len) * WORD)?;
            page.get_mut(begin * WORD..at * WORD)?.copy_from_slice(run);
            self.since.add(begin..at);
            words = behind;
        }
        if let Some(number) = unnoted {
            self.begin_base(number);
            self.forget_base();
        }
        Some(())
    }
}

impl WordSet {
    /// Bytes that a record of these words has at most.
    fn most_bytes(&self) -> usize {
        let (mut runs, mut before) = (0, 0);
        for bits in self.0 {
            runs += (bits & !(bits << 1 | before)).count_ones() as usize;
            before = bits >> 63;
        }
        // The unchanged words before the runs may take two more pairs of bytes.
        match runs + 2 {
            runs if runs <= usize::from(MOST_RUNS) => HEAD + 2 * runs + self.count() * WORD,
            _ => PAGE,
        }
    }
}

/// Sets the time of an encoded delta.
pub(crate) fn set_time(delta: &mut [u8], time: u64) {
    delta[..4].copy_from_slice(&(time as u32).to_le_bytes());
}

/// The time of a delta, which was written before `now` and not 2^32 writes earlier.
pub(crate) fn time_of(delta: &[u8], now: u64) -> Option<u64> {
    let low = u32::from_le_bytes(*delta.first_chunk()?);
    now.checked_sub((now as u32).wrapping_sub(low).into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::format::shifts;

    /// Sorted words of a page with this many at the beginning, behind the number of shifts.
    const SORTED: [usize; 3] = [0, 40, 300];
    const NUMBER: usize = 4;

    /// A page with sorted words, and what its writer notes.
    struct Page {
        bytes: Vec<u8>,
        sorted: usize,
        changed: ChangedWords,
    }

    #[derive(Clone, Debug)]
    enum Change {
        Write(usize, usize),
        Insert(usize),
        Remove(usize),
        /// Words at a place, one after the other.
        InsertMany(usize, usize),
        RemoveMany(usize, usize),
    }

    fn change() -> impl Strategy<Value = Change> {
        prop_oneof![
            (0..WORDS, 1..25usize).prop_map(|(begin, len)| Change::Write(begin, len)),
            (0..WORDS).prop_map(Change::Insert),
            (0..WORDS).prop_map(Change::Remove),
            (0..WORDS, 1..70usize).prop_map(|(at, count)| Change::InsertMany(at, count)),
            (0..WORDS, 1..70usize).prop_map(|(at, count)| Change::RemoveMany(at, count)),
        ]
    }

    impl Page {
        fn with(sorted: usize) -> Page {
            let bytes = (0..PAGE).map(|at| (at / WORD * 7 + at % WORD) as u8).collect();
            let mut page = Page { bytes, sorted: SORTED[sorted], changed: ChangedWords::NONE };
            page.note_number(65_530);
            page.changed.begin_base(65_530);
            page
        }

        fn note_number(&mut self, number: u16) {
            self.bytes[8 * NUMBER..8 * NUMBER + 2].copy_from_slice(&number.to_le_bytes());
        }

        fn make(&mut self, change: Change, fill: u8) {
            match change {
                Change::Write(begin, len) => {
                    let words = begin..(begin + len).min(WORDS);
                    self.bytes[8 * words.start..8 * words.end].fill(fill);
                    self.changed.add(words);
                }
                Change::Insert(at) => self.insert(at, fill),
                Change::Remove(at) => self.remove(at),
                Change::InsertMany(at, count) => {
                    (0..count).for_each(|n| self.insert(at % (self.sorted + 1) + n % 3, fill));
                }
                Change::RemoveMany(at, count) => (0..count).for_each(|_| self.remove(at)),
            }
            let number = self.changed.shift_number();
            self.note_number(number);
            self.changed.add(NUMBER..NUMBER + 1);
            self.changed.set_shift_number_at(8 * NUMBER as u16);
        }

        fn insert(&mut self, at: usize, fill: u8) {
            let first = NUMBER + 1;
            let (at, end) = (first + at % (self.sorted + 1), first + self.sorted);
            if end < WORDS {
                self.bytes.copy_within(8 * at..8 * end, 8 * at + 8);
                self.bytes[8 * at..8 * at + 8].fill(fill);
                self.sorted += 1;
                if !self.changed.insert_word(at, end) {
                    self.changed.forget_base();
                }
            }
        }

        fn remove(&mut self, at: usize) {
            let first = NUMBER + 1;
            if self.sorted > 0 {
                let (at, end) = (first + at % self.sorted, first + self.sorted);
                self.bytes.copy_within(8 * at + 8..8 * end, 8 * at);
                self.sorted -= 1;
                if !self.changed.remove_word(at, end) {
                    self.changed.forget_base();
                }
            }
        }
    }

    fn read(base: &[u8], [delta, tail]: &[Vec<u8>; 2]) -> (Vec<u8>, ChangedWords) {
        let mut page = base.to_vec();
        let mut changed = ChangedWords::read([delta, tail], &mut page).expect("they are of it");
        let number = [page[8 * NUMBER], page[8 * NUMBER + 1]];
        changed.set_shift_number(u16::from_le_bytes(number));
        (page, changed)
    }

    #[test]
    fn a_page_with_more_runs_than_a_record_counts_is_written_whole() {
        for (words, kind) in [(125, RecordKind::Delta), (126, RecordKind::Image)] {
            let mut changed = ChangedWords::NONE;
            (0..words).for_each(|n| changed.add(4 * n + 2..4 * n + 3));
            assert_eq!(changed.kind(), kind);
        }
        let mut changed = ChangedWords::NONE;
        (0..128).for_each(|n| changed.add(4 * n + 2..4 * n + 3));
        assert_eq!(changed.encode(&[0; PAGE], RecordKind::Delta), None);
    }

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
            let most = changed.all().most_bytes();
            match changed.encode(&content, RecordKind::Delta) {
                None => {
                    prop_assert!(changed.count() * WORD > LONGEST - HEAD - 2 * 256);
                    prop_assert!(most > LONGEST);
                }
                Some(mut delta) => {
                    prop_assert!(delta.len() <= most);
                    prop_assert!(delta.len() <= LONGEST);
                    let now = time.saturating_add(later);
                    set_time(&mut delta, time);
                    prop_assert_eq!(time_of(&delta, now), Some(time));
                    delta.resize(delta.len() + 60, 0);
                    let mut read = ChangedWords::read([&[], &delta], &mut bytes);
                    prop_assert_eq!(read, Some(changed));
                    read = ChangedWords::read([&delta, &[]], &mut bytes);
                    changed.begin_delta();
                    prop_assert_eq!(read, Some(changed));
                    for (word, range) in (0..WORDS).map(|word| (word, word * WORD..(word + 1) * WORD)) {
                        let expected =
                            if changed.has(word) { content[range.clone()].to_vec() } else { vec![base; WORD] };
                        prop_assert_eq!(&bytes[range], &expected[..]);
                    }
                }
            }
        }

        #[test]
        fn a_writer_tells_all_that_a_record_needs_whatever_the_store_did_before(
            sorted in 0..SORTED.len(),
            steps in prop::collection::vec((change(), 0..10u8), 1..100),
        ) {
            let mut page = Page::with(sorted);
            let (mut base, mut parts) = (page.bytes.clone(), [vec![], vec![]]);
            for (round, (change, chance)) in (1u8..).zip(steps) {
                page.make(change, round);
                let (kind, at) = (page.changed.kind(), page.changed);
                let encoded = |kind| at.encode(&page.bytes, kind).unwrap();
                match kind {
                    // The store writes an image, in place of a copy for example.
                    _ if chance == 0 => (base, parts) = (page.bytes.clone(), [vec![], vec![]]),
                    // Or nothing is written yet.
                    _ if chance < 4 => continue,
                    RecordKind::Image => (base, parts) = (page.bytes.clone(), [vec![], vec![]]),
                    // One of a page that has no delta is its delta.
                    RecordKind::Tail if parts[0].is_empty() => parts = [encoded(kind), vec![]],
                    // In place of a tail for which there is no room.
                    RecordKind::Tail if chance == 7 => parts = [encoded(RecordKind::Delta), vec![]],
                    RecordKind::Tail => parts[1] = encoded(kind),
                    kind => parts = [encoded(kind), vec![]],
                }
                page.changed.note_written();
                let (read, changed) = read(&base, &parts);
                prop_assert!(read == page.bytes, "written as {:?}", kind);
                match chance {
                    // Cleaning merges.
                    4 => (base, parts) = (read, [vec![], vec![]]),
                    // The page is read again.
                    5 => page.changed = changed,
                    // It could not be written, as far as its writer knows.
                    6 if kind == RecordKind::Delta => page.changed.forget_delta(),
                    _ => {}
                }
            }
        }

        #[test]
        fn a_delta_may_end_within_a_shift_of_the_tail_behind_it(
            made in 2..=shifts::MOST, in_delta in 1..shifts::MOST, removes: bool,
        ) {
            let mut page = Page::with(2);
            let base = page.bytes.clone();
            // No two are neighbours.
            let shift = |n: usize| if removes { Change::Remove(3 * n) } else { Change::Insert(3 * n) };
            let in_delta = in_delta.min(made - 1);
            (0..in_delta).for_each(|n| page.make(shift(n), 1));
            page.changed.begin_delta();
            (in_delta..made).for_each(|n| page.make(shift(n), 2));
            // The store writes a delta where its writer thinks of a tail.
            let delta = page.changed.encode(&page.bytes, RecordKind::Delta).unwrap();
            page.make(shift(made - 1), 3);
            let tail = page.changed.encode(&page.bytes, RecordKind::Tail).unwrap();
            let (bytes, changed) = read(&base, &[delta, tail]);
            prop_assert!(bytes == page.bytes);
            // The next delta has these changes too, or the page is written whole.
            page.changed = changed;
            page.make(Change::Write(WORDS - 1, 1), 4);
            if page.changed.kind() != RecordKind::Image {
                let delta = page.changed.encode(&page.bytes, RecordKind::Delta).unwrap();
                prop_assert!(read(&base, &[delta, vec![]]).0 == page.bytes);
            }
        }

        #[test]
        fn any_bytes_are_a_delta_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..800)) {
            let mut page = vec![0; PAGE];
            let _ = ChangedWords::read([&[], &bytes], &mut page);
            let _ = ChangedWords::read([&bytes, &bytes], &mut page);
        }

        #[test]
        fn any_shifts_are_those_of_a_page_or_refused(
            shifts in prop::collection::vec(any::<u16>(), 0..40),
            (at, before, end) in (0..PAGE as u16 + 2, 0..9u16, 0..700u16),
            page in prop::collection::vec(0..9u8, PAGE),
        ) {
            let fields = [&[at, before, end][..], &shifts].concat();
            let numbers: Vec<_> = fields.iter().flat_map(|number| number.to_le_bytes()).collect();
            let record = [&[0, 0, 0, 0, HAS_SHIFTS, shifts.len() as u8][..], &numbers].concat();
            let mut bytes = page.clone();
            if let Some(changed) = ChangedWords::read([&[], &record], &mut bytes) {
                prop_assert!(shifts.len() <= 27 && changed.shift_number().wrapping_sub(before) <= 27 * 64);
                let moved = bytes.chunks(WORD).filter(|word| !page.chunks(WORD).any(|other| other == *word));
                prop_assert_eq!(moved.count(), 0, "words come from nowhere");
            }
        }
    }
}
