//! User writes in runs: the inner loop of the simulator.
//!
//! A run is a stretch of writes in which nothing but writing can happen. It ends when a zone is
//! full, when a zone must be opened, or when cleaning might be due. The earliest time of that is
//! known beforehand, so the loop tests only for the end of a zone.

use std::ops::Range;

use frostline_placement::prefetch::{AHEAD, prefetch};
use frostline_placement::{Request, Scheme, UserWrite};

use crate::memory::Array;
use crate::survey::{TOGETHER, sees_others};
use crate::volume::{Volume, WORD_LAST};
use crate::writes::Writes;
use crate::{LogError, MAX_LBA};

/// The reason why a run ended.
enum Stop {
    /// All writes are done.
    Done,
    /// This class's zone is full.
    Full(usize),
    /// This class has no open zone for the last write of the run, which is not appended yet.
    NoZone(usize),
    /// The next write goes to an LBA beyond the volume.
    BadLba(u32),
}

impl<S: Scheme> Volume<S> {
    /// Writes `range` of `writes`, cleaning when the trigger asks; everything completes at once.
    ///
    /// # Errors
    /// An LBA is beyond the volume, or there is no room. Earlier writes of the range stay.
    pub fn write(&mut self, writes: &Writes<'_>, range: Range<usize>) -> Result<(), LogError> {
        let mut next = range.start;
        if S::BATCHED && writes.hotness.is_some() && self.hotness.is_empty() {
            self.hotness = Array::zeroed(self.options.space as usize)?;
        }
        if let Some(write_records) = self.write_records {
            return write_records(self, writes, range);
        }
        while next < range.end {
            if !self.has_room() {
                return Err(self.full());
            }
            let slack = self.trigger.slack(self.garbage, self.written, self.free.len());
            let run = (slack.min(1 << 28) as usize).min(range.end - next);
            let (written, stop) = self.run(writes, next, run);
            if S::BATCHED {
                self.hear(writes, next..next + written);
            }
            next += written;
            let filled = match stop {
                Stop::BadLba(lba) => return self.check_lba(lba.into()),
                Stop::Done => None,
                Stop::Full(class) => Some(class),
                Stop::NoZone(class) => {
                    let class = self.finish_write(writes.words[next - 1], class)?;
                    self.is_full(class).then_some(class)
                }
            };
            if let Some(class) = filled {
                self.close_zone(class);
            }
            self.check_totals();
            self.clean_while_due()?;
            self.sweep_if_due();
        }
        Ok(())
    }

    /// Keeps the hotness records of these writes until cleaning meets their pages.
    pub(crate) fn hear(&mut self, writes: &Writes<'_>, range: Range<usize>) {
        let records = writes.hotness.and_then(|hotness| hotness.get(range.clone()));
        for (word, hotness) in writes.words[range].iter().zip(records.unwrap_or_default()) {
            self.hotness[(word & MAX_LBA) as usize] = *hotness;
        }
    }

    /// Appends a page that ended its run because its class had no open zone.
    fn finish_write(&mut self, word: u32, class: usize) -> Result<usize, LogError> {
        let class = self.class_for_user(class, 1)?;
        let cursor = &mut self.open[class];
        self.map[(word & MAX_LBA) as usize].slot = cursor.slot;
        self.words[cursor.place()] = word;
        cursor.slot += 1;
        Ok(class)
    }

    /// Writes up to `most` pages from `from` on, and updates the totals; returns the number of
    /// pages written, and the reason why it stopped.
    fn run(&mut self, writes: &Writes<'_>, from: usize, most: usize) -> (usize, Stop) {
        let (written, stop) = self.append(writes, from, from + most);
        let firsts = self.zones.take_firsts();
        self.valid += firsts;
        self.counts.user_writes += written as u64;
        self.counts.runs += 1;
        self.now = self.now.wrapping_add(written as u32);
        self.written += written as u64;
        self.garbage += written as u64 - firsts;
        (written, stop)
    }

    /// The inner loop. Returns the number of pages written.
    fn append(&mut self, writes: &Writes<'_>, from: usize, to: usize) -> (usize, Stop) {
        let (shift, valid_before) = (self.shift, self.valid);
        let scheme = &mut self.scheme;
        let sees_others = sees_others(scheme);
        let map = &mut self.map[..];
        let words = &mut self.words[..];
        let open = &mut self.open[..];
        let mut zones = self.zones.overwrites();
        let (run, rest) = (&writes.words[from..to], &writes.words[from..]);
        let (mut now, survey) = (self.now, &mut self.survey);
        for (k, &word) in run.iter().enumerate() {
            let ahead = rest.get(k + AHEAD).unwrap_or(&word);
            let ahead = (ahead & MAX_LBA) as usize;
            if sees_others {
                prefetch::<_, 2>(map, ahead)
            } else {
                prefetch::<_, 1>(map, ahead)
            }
            if S::FETCHES {
                scheme.fetch(ahead as u32);
            }
            let lba = word & MAX_LBA;
            if sees_others {
                let next = now.wrapping_add(1);
                let at = |lba| {
                    let entry = map.get(lba as usize).filter(|entry| entry.slot != 0);
                    entry.map(|entry| entry.page)
                };
                survey.show(scheme, lba.into(), next, at, |first| {
                    const HALF: usize = TOGETHER as usize / 2;
                    prefetch::<_, HALF>(map, first as usize);
                    prefetch::<_, HALF>(map, first as usize + HALF);
                });
            }
            let Some(entry) = map.get_mut(lba as usize) else {
                return (k, Stop::BadLba(lba));
            };
            let valid = valid_before + zones.firsts();
            if S::PER_REQUEST && writes.begins(from + k) {
                let pages = (writes.request_end(from + k) - (from + k)) as u32;
                scheme.on_request(&Request { lba, pages, now, valid });
            }
            now = now.wrapping_add(1);
            let zone = entry.slot >> shift;
            let write = UserWrite {
                lba,
                now,
                first: entry.slot == 0,
                zone,
                offset: entry.slot - (zone << shift),
                class: zones.discard(zone),
                valid,
                last: word & WORD_LAST != 0,
                lifespan: writes.lifespan(from + k),
                following: writes.following(from + k),
                hotness: writes.hotness(from + k),
            };
            let class = scheme.place_user(&write, &mut entry.page);
            let cursor = &mut open[class];
            let Some(place) = words.get_mut(cursor.place()) else {
                return (k + 1, Stop::NoZone(class));
            };
            debug_assert!(cursor.slot < cursor.end, "class {class}: slots in order, to the end");
            *place = word;
            entry.slot = cursor.slot;
            cursor.slot += 1;
            if cursor.slot == cursor.end {
                return (k + 1, Stop::Full(class));
            }
        }
        (run.len(), Stop::Done)
    }
}
