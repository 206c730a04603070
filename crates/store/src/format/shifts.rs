//! Shifts: words of a page that were inserted among others or removed, which moved those behind.
//!
//! A page with a sorted array changes in half of its words when something is inserted. A delta that
//! says where tells the same in two bytes, besides the words that are new.
//!
//! Words that changed can be set twice; a shift must not be made twice. Cleaning may have merged a
//! delta with its base while the page's writer goes on from the base before. So the page has the
//! number of its shifts in two of its bytes, and a delta says which number its first one has: those
//! that the base has are passed over.

use std::ops::Range;

use crate::format::word_set::{WORD, WORDS, WordSet};

/// Shifts that a page may have since its base.
pub(crate) const MOST: usize = 27;

/// Words of one shift, at most.
const MOST_WORDS: usize = 64;

/// Bytes before the shifts of a record: how many, where the page's number is, the number of the
/// first, and the end of the words that it moves.
const HEAD: usize = 7;

/// Shifts of a page since its base, in order. Neighbouring ones are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(crate) struct Shifts {
    all: [u16; MOST],
    count: u8,
    /// Those that the page's delta has.
    in_delta: u8,
    /// Words that were inserted or removed until the base was written.
    before: u16,
    /// The end of the words that the first one moves.
    end: u16,
    /// The end of those that the next one moves.
    now: u16,
    /// The bytes of the page with the number of words that were inserted or removed, ever.
    number_at: u16,
}

/// Words that were inserted at a place, or removed from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shift {
    at: usize,
    words: usize,
    removes: bool,
}

impl Shift {
    /// A word was inserted before another.
    pub(crate) fn insertion(at: usize) -> Shift {
        Shift { at, words: 1, removes: false }
    }

    /// A word was removed.
    pub(crate) fn removal(at: usize) -> Shift {
        Shift { at, words: 1, removes: true }
    }

    fn from_bits(bits: u16) -> Shift {
        let bits = usize::from(bits);
        Shift { at: bits & (WORDS - 1), words: (bits >> 10) + 1, removes: bits >> 9 & 1 == 1 }
    }

    fn bits(self) -> u16 {
        (self.at | usize::from(self.removes) << 9 | (self.words - 1) << 10) as u16
    }

    /// The end of the words of which some moved. None if they can't have.
    pub(crate) fn end_after(self, end: usize) -> Option<usize> {
        let Shift { at, words, removes } = self;
        match removes {
            true if end <= WORDS => (at + words <= end).then(|| end - words),
            _ => (at <= end && end + words <= WORDS).then_some(end + words),
        }
    }

    /// The words that move, up to `end`, and where the first of them goes to.
    pub(crate) fn moves(self, end: usize) -> (Range<usize>, usize) {
        match self.removes {
            true => (self.at + self.words..end, self.at),
            false => (self.at..end, self.at + self.words),
        }
    }

    /// The words that hold anything afterwards: the inserted ones, or what the last ones were.
    pub(crate) fn left(self, end: usize) -> Range<usize> {
        match self.removes {
            true => end - self.words..end,
            false => self.at..self.at + self.words,
        }
    }

    /// What is left of it for a page that has the first words of it. All inserted words are set
    /// afterwards, and removed ones are neighbours: so it does not matter which these are.
    fn behind(self, words: usize) -> Shift {
        Shift { words: self.words - words, ..self }
    }

    /// Both as one, if they are neighbours.
    fn with(self, next: Shift) -> Option<Shift> {
        let words = self.words + next.words;
        let at = match self.removes {
            true => next.at..=next.at + next.words,
            false => next.at.saturating_sub(self.words)..=next.at,
        };
        let is_one = self.removes == next.removes && words <= MOST_WORDS && at.contains(&self.at);
        is_one.then(|| Shift { at: self.at.min(next.at), words, ..self })
    }
}

impl Shifts {
    /// None.
    pub(crate) const NONE: Shifts =
        Shifts { all: [0; MOST], count: 0, in_delta: 0, before: 0, end: 0, now: 0, number_at: 0 };

    fn iter(&self) -> impl Iterator<Item = Shift> + '_ {
        self.all[..usize::from(self.count).min(MOST)].iter().copied().map(Shift::from_bits)
    }

    /// Words that were inserted or removed, ever.
    pub(crate) fn number(&self) -> u16 {
        self.iter().fold(self.before, |number, shift| number.wrapping_add(shift.words as u16))
    }

    /// The same, for a page that has no shifts since its base.
    pub(crate) fn begin(&mut self, number: u16) {
        *self = Shifts { before: number, ..Shifts::NONE };
    }

    /// True if there are shifts since the base.
    pub(crate) fn is_any(&self) -> bool {
        self.count > 0
    }

    /// The bytes of the page with its number.
    pub(crate) fn number_at(&self) -> u16 {
        self.number_at
    }

    /// The page has its number in these bytes.
    pub(crate) fn set_number_at(&mut self, at: u16) {
        self.number_at = at;
    }

    /// True if there is no room for one more of words up to `end`.
    pub(crate) fn is_full(&self, end: usize) -> bool {
        usize::from(self.count) >= MOST && usize::from(self.now) == end
    }

    /// Adds a shift of words up to `end`. False if there are too many, or the one before left
    /// another end.
    pub(crate) fn push(&mut self, shift: Shift, end: usize) -> bool {
        let count = usize::from(self.count).min(MOST);
        if count == 0 {
            (self.end, self.now) = (end as u16, end as u16);
        }
        let Some(after) = shift.end_after(end).filter(|_| usize::from(self.now) == end) else {
            return false;
        };
        let last = self.all[..count].last_mut().filter(|_| self.count > self.in_delta);
        let both = last.as_ref().and_then(|last| Shift::from_bits(**last).with(shift));
        match (last, both) {
            (Some(last), Some(both)) => *last = both.bits(),
            _ if count == MOST => return false,
            _ => {
                self.all[count] = shift.bits();
                self.count += 1;
            }
        }
        self.now = after as u16;
        true
    }

    /// The delta has all shifts.
    pub(crate) fn begin_delta(&mut self) {
        self.in_delta = self.count;
    }

    /// The delta has none.
    pub(crate) fn forget_delta(&mut self) {
        self.in_delta = 0;
    }

    /// Those that the delta has, and those since.
    pub(crate) fn parts(&self) -> [Shifts; 2] {
        let in_delta = Shifts { count: self.in_delta, ..*self };
        let after = |end: usize, shift: Shift| shift.end_after(end).unwrap_or(end);
        let mut since = Shifts {
            count: self.count.saturating_sub(self.in_delta),
            before: in_delta.number(),
            end: in_delta.iter().fold(self.end.into(), after) as u16,
            ..*self
        };
        since.all.rotate_left(usize::from(self.in_delta).min(MOST));
        [in_delta, since]
    }

    /// Bytes of them in a record.
    pub(crate) fn bytes(&self) -> usize {
        bytes_of(self.count)
    }

    /// The same of those that the delta has, and of those since.
    pub(crate) fn bytes_of_parts(&self) -> [usize; 2] {
        [self.in_delta, self.count.saturating_sub(self.in_delta)].map(bytes_of)
    }

    /// As they are in a record; nothing if there are none.
    pub(crate) fn encode(&self) -> ([u8; HEAD + 2 * MOST], usize) {
        let mut bytes = [0; HEAD + 2 * MOST];
        bytes[0] = self.count;
        for (to, field) in
            bytes[1..].as_chunks_mut().0.iter_mut().zip([self.number_at, self.before, self.end])
        {
            *to = field.to_le_bytes();
        }
        for (to, shift) in bytes[HEAD..].as_chunks_mut().0.iter_mut().zip(self.all) {
            *to = shift.to_le_bytes();
        }
        (bytes, self.bytes())
    }

    /// Reads those at the beginning of `bytes`, and returns what is behind.
    pub(crate) fn parse(bytes: &[u8]) -> Option<(Shifts, &[u8])> {
        let (head, rest) = bytes.split_first_chunk::<HEAD>()?;
        let field = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
        let count = usize::from(head[0]);
        let (bytes, rest) = rest.split_at_checked(2 * count)?;
        let mut shifts = Shifts { before: field(3), end: field(5), ..Shifts::NONE };
        shifts.number_at = field(1);
        shifts.count = head[0];
        for (to, &bytes) in shifts.all.get_mut(..count)?.iter_mut().zip(bytes.as_chunks().0) {
            *to = u16::from_le_bytes(bytes);
        }
        Some((shifts, rest))
    }

    /// The number of shifts that a page says it has.
    pub(crate) fn number_in(&self, page: &[u8]) -> Option<u16> {
        let at = usize::from(self.number_at);
        let number = page.get(at..at + 2)?;
        Some(u16::from_le_bytes([number[0], number[1]]))
    }

    /// Makes those in a page that it does not have, and calls `made` with each and the end of the
    /// words that it moves. None if they are not of this page.
    pub(crate) fn apply(
        &self,
        page: &mut [u8],
        mut made: impl FnMut(Shift, usize) -> bool,
    ) -> Option<()> {
        let mut passed = usize::from(self.number_in(page)?.wrapping_sub(self.before));
        let mut end = usize::from(self.end);
        for shift in self.iter() {
            let has = passed.min(shift.words);
            passed -= has;
            let after = shift.end_after(end)?;
            if has < shift.words {
                // Its end is that behind the words that the page has of it.
                let begun = if shift.removes { end - has } else { end + has };
                let rest = shift.behind(has);
                let (words, to) = rest.moves(begun);
                page.copy_within(words.start * WORD..words.end * WORD, to * WORD);
                made(rest, begun).then_some(())?;
            }
            end = after;
        }
        (passed == 0).then_some(())
    }
}

/// Bytes of so many shifts in a record.
fn bytes_of(count: u8) -> usize {
    if count == 0 { 0 } else { HEAD + 2 * usize::from(count) }
}

impl WordSet {
    /// Moves the bits of words as a shift moves the words, and sets those of the words that hold
    /// anything afterwards to `left`.
    pub(crate) fn shift(&mut self, shift: Shift, end: usize, left: bool) {
        let (words, to) = shift.moves(end);
        self.move_range(words, to);
        match left {
            true => self.add(shift.left(end)),
            false => self.remove(shift.left(end)),
        }
    }
}
