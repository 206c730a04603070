//! How a page in memory is used: what becomes its hotness record, and what replacement goes by.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use frostline_placement::Activity;

/// Accesses or modifications of a page since it was read or written, in counters that are not
/// exact when threads count at the same time: a lost one matters less than its cost.
#[derive(Debug, Default)]
struct Tally {
    count: AtomicU32,
    first: AtomicU32,
    last: AtomicU32,
}

impl Tally {
    #[inline]
    fn add(&self, times: u32, now: u32) {
        let count = self.count.load(Relaxed);
        if count == 0 {
            self.first.store(now, Relaxed);
        }
        self.count.store(count.saturating_add(times), Relaxed);
        self.last.store(now, Relaxed);
    }

    fn reset(&self) {
        self.count.store(0, Relaxed);
    }

    /// Mean time between two of them.
    fn interval(&self) -> u32 {
        let span = self.last.load(Relaxed).wrapping_sub(self.first.load(Relaxed));
        match self.count.load(Relaxed) {
            0 | 1 => 0,
            count => span / (count - 1),
        }
    }

    fn count(&self) -> u16 {
        self.count.load(Relaxed).min(u32::from(u16::MAX)) as u16
    }
}

/// What happened to a page in memory (SepFrozen, section 4.1). Times are user page writes,
/// modulo 2^32.
#[derive(Debug, Default)]
pub struct Usage {
    accesses: Tally,
    modifications: Tally,
}

impl Usage {
    /// The page was looked at, `times` times.
    #[inline]
    pub fn accessed(&self, times: u32, now: u64) {
        self.accesses.add(times, now as u32);
    }

    /// The page was changed.
    #[inline]
    pub fn modified(&self, now: u64) {
        self.modifications.add(1, now as u32);
    }

    /// Begins anew.
    pub fn reset(&self) {
        self.accesses.reset();
        self.modifications.reset();
    }

    /// What happened, as it is told to the store.
    pub fn activity(&self, valid_bytes: usize) -> Activity {
        Activity {
            valid_bytes: valid_bytes as u16,
            accesses: self.accesses.count(),
            modifications: self.modifications.count(),
            reserved: 0,
            access_interval: self.accesses.interval(),
            modification_interval: self.modifications.interval(),
        }
    }
}

/// How many uses are remembered.
const REMEMBERED: usize = 4;

/// The last times at which a page was read and changed, in turns of the pool's own clock
/// (write-aware timestamps: Vöhringer and Leis, PVLDB 16(11), 2023).
#[derive(Debug, Default)]
pub struct Stamps {
    reads: [AtomicU32; REMEMBERED],
    writes: [AtomicU32; REMEMBERED],
}

impl Stamps {
    /// The page was read at `turn`, which is not 0.
    #[inline]
    pub fn read(&self, turn: u32) {
        note(&self.reads, turn);
    }

    /// The page was changed at `turn`.
    #[inline]
    pub fn wrote(&self, turn: u32) {
        note(&self.writes, turn);
    }

    /// Begins anew.
    pub fn reset(&self) {
        for stamp in self.reads.iter().chain(&self.writes) {
            stamp.store(0, Relaxed);
        }
    }

    /// What the page is worth keeping: how often it was read and changed of late. Reading it
    /// again costs a read; changing it a write as well, which the device is worn by.
    pub fn value(&self, now: u32) -> f32 {
        const CHANGE: f32 = 2.0;
        frequency(&self.reads, now) + CHANGE * frequency(&self.writes, now)
    }
}

/// Remembers a time, once a turn, the latest in front.
#[inline]
fn note(stamps: &[AtomicU32; REMEMBERED], turn: u32) {
    if stamps[0].load(Relaxed) == turn {
        return;
    }
    for index in (1..REMEMBERED).rev() {
        stamps[index].store(stamps[index - 1].load(Relaxed), Relaxed);
    }
    stamps[0].store(turn, Relaxed);
}

/// The highest frequency that any of the last uses up to now gives.
fn frequency(stamps: &[AtomicU32; REMEMBERED], now: u32) -> f32 {
    let seen = stamps.iter().map(|stamp| stamp.load(Relaxed)).take_while(|&stamp| stamp != 0);
    let of =
        |(index, stamp): (usize, u32)| (index + 1) as f32 / (now.wrapping_sub(stamp) as f32 + 1.0);
    seen.enumerate().map(of).fold(0.0, f32::max)
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
        usage.modified(60);
        let found = usage.activity(99);
        assert_eq!((found.accesses, found.access_interval, found.valid_bytes), (3, 25, 99));
        assert_eq!((found.modifications, found.modification_interval), (1, 0));
    }

    #[test]
    fn pages_used_often_or_changed_are_worth_more_than_pages_used_once() {
        let (often, once, changed) = (Stamps::default(), Stamps::default(), Stamps::default());
        for turn in [10, 20, 30, 40] {
            often.read(turn);
        }
        for stamps in [&once, &changed] {
            stamps.read(40);
        }
        changed.wrote(40);
        assert!(often.value(100) > once.value(100) && changed.value(100) > once.value(100));
    }
}
