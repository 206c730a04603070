//! Counters of a page's accesses: for its hotness record, and for replacement.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use frostline_placement::Activity;

/// Accesses or modifications of a page since it was read or written, in counters that are not
/// exact when threads count at the same time: a lost count matters less than an atomic addition.
#[derive(Debug, Default)]
struct Tally {
    /// The count, and in the upper half the time of the last: one load and one store update both.
    count_and_last: AtomicU64,
    first: AtomicU32,
}

impl Tally {
    #[inline]
    fn add(&self, times: u32, now: u32) {
        let before = self.count_and_last.load(Relaxed) as u32;
        if before == 0 {
            self.first.store(now, Relaxed);
        }
        let count = before.saturating_add(times);
        self.count_and_last.store(u64::from(count) | u64::from(now) << 32, Relaxed);
    }

    fn reset(&self) {
        self.count_and_last.store(0, Relaxed);
    }

    fn counted(&self) -> Counted {
        let both = self.count_and_last.load(Relaxed);
        let (count, last) = (both as u32, (both >> 32) as u32);
        Counted { count, first: self.first.load(Relaxed), last }
    }
}

/// A count with the times of the first and the last.
#[derive(Clone, Copy)]
struct Counted {
    count: u32,
    first: u32,
    last: u32,
}

impl Counted {
    /// Both together.
    fn and(self, other: Counted) -> Counted {
        match (self.count, other.count) {
            (_, 0) => self,
            (0, _) => other,
            (a, b) => {
                let is_earlier = other.first.wrapping_sub(self.first) as i32;
                let is_later = other.last.wrapping_sub(self.last) as i32;
                Counted {
                    count: a.saturating_add(b),
                    first: if is_earlier < 0 { other.first } else { self.first },
                    last: if is_later > 0 { other.last } else { self.last },
                }
            }
        }
    }

    /// Mean time between two of them.
    fn interval(self) -> u32 {
        match self.count {
            0 | 1 => 0,
            count => self.last.wrapping_sub(self.first) / (count - 1),
        }
    }

    fn count(self) -> u16 {
        self.count.min(u32::from(u16::MAX)) as u16
    }
}

/// Accesses and modifications of a page in memory (SepFrozen, section 4.1). Times are user page
/// writes, modulo 2^32.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    reads: Tally,
    modifications: Tally,
}

impl Usage {
    /// The page was read, `times` times.
    #[inline]
    pub(crate) fn accessed(&self, times: u32, now: u64) {
        self.reads.add(times, now as u32);
    }

    /// The page was changed.
    #[inline]
    pub(crate) fn modified(&self, now: u64) {
        self.modifications.add(1, now as u32);
    }

    /// Sets the counters to zero.
    pub(crate) fn reset(&self) {
        self.reads.reset();
        self.modifications.reset();
    }

    /// The activity for the hotness record: a modification is an access as well.
    pub(crate) fn activity(&self, valid_bytes: usize) -> Activity {
        let modifications = self.modifications.counted();
        let accesses = self.reads.counted().and(modifications);
        Activity {
            valid_bytes: valid_bytes as u16,
            accesses: accesses.count(),
            modifications: modifications.count(),
            reserved: 0,
            access_interval: accesses.interval(),
            modification_interval: modifications.interval(),
        }
    }
}

/// The weight of the only use of a page that was not used again. The use for which a page was read
/// says little about the next one.
const ONCE: f32 = 1.0 / 4.0;

/// The number of remembered uses beside the last.
const REMEMBERED: usize = 3;

/// The last time at which a page was read or changed.
#[derive(Debug, Default)]
pub(super) struct Last(AtomicU32);

/// The times before.
#[derive(Debug, Default)]
pub(super) struct Earlier([AtomicU32; REMEMBERED]);

impl Last {
    /// Remembers a use, once a turn of the pool's own clock.
    #[inline]
    pub(super) fn note(&self, earlier: &Earlier, turn: u32) {
        let last = self.0.load(Relaxed);
        if last != turn {
            earlier.push(last);
            self.0.store(turn, Relaxed);
        }
    }

    /// Forgets all uses.
    pub(super) fn reset(&self, earlier: &Earlier) {
        self.0.store(0, Relaxed);
        earlier.0.iter().for_each(|turn| turn.store(0, Relaxed));
    }

    /// The highest frequency that any of the last uses up to now gives (write-aware timestamps:
    /// Vöhringer and Leis, PVLDB 16(11), 2023).
    pub(super) fn frequency(&self, earlier: &Earlier, now: u32) -> f32 {
        let (mut highest, mut uses) = (0.0, 0.0);
        for turn in std::iter::once(&self.0).chain(&earlier.0) {
            let turn = turn.load(Relaxed);
            if turn == 0 {
                break;
            }
            uses += 1.0;
            highest = f32::max(highest, uses / (now.wrapping_sub(turn) as f32 + 1.0));
        }
        if uses == 1.0 { highest * ONCE } else { highest }
    }
}

impl Earlier {
    #[cold]
    fn push(&self, turn: u32) {
        for index in (1..REMEMBERED).rev() {
            self.0[index].store(self.0[index - 1].load(Relaxed), Relaxed);
        }
        self.0[0].store(turn, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_means_between_the_first_and_the_last() {
        let usage = Usage::default();
        for now in [10, 20, 60] {
            usage.accessed(1, now);
        }
        usage.modified(70);
        let found = usage.activity(99);
        assert_eq!((found.accesses, found.access_interval, found.valid_bytes), (4, 20, 99));
        assert_eq!((found.modifications, found.modification_interval), (1, 0));
    }

    #[test]
    fn what_was_used_often_has_a_higher_frequency_than_what_was_used_once() {
        let (often, once) =
            ((Last::default(), Earlier::default()), (Last::default(), Earlier::default()));
        for turn in [10, 20, 30, 30, 40] {
            often.0.note(&often.1, turn);
        }
        once.0.note(&once.1, 40);
        let at = |(last, earlier): &(Last, Earlier)| last.frequency(earlier, 100);
        assert_eq!((at(&often), at(&once)), (4.0 / 91.0, ONCE / 61.0));
        once.0.note(&once.1, 50);
        assert_eq!(at(&once), 2.0 / 61.0);
    }
}
