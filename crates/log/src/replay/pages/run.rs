//! User writes in runs: the inner loop of the simulator.
//!
//! A run is a stretch of writes in which nothing but writing can happen. It ends when a zone is
//! full, when a zone must be opened, or when cleaning might be due. The earliest time of that is
//! known beforehand, so the loop tests only for the end of a zone.

use std::ops::Range;

use frostline_placement::prefetch::{AHEAD, prefetch};
use frostline_placement::{RecordKind, Request, Scheme, UserWrite};

use super::PageReplay;
use crate::map::Map;
use crate::survey::{TOGETHER, sees_others};
use crate::writes::Writes;
use crate::zone_log::{Run, ZoneLog};
use crate::{LogError, MAX_LBA, WORD_LAST};

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

impl<S: Scheme> PageReplay<S> {
    /// Writes `range` of `writes`, cleaning when the trigger asks.
    pub(super) fn write_all(
        &mut self,
        writes: &Writes<'_>,
        range: Range<usize>,
    ) -> Result<(), LogError> {
        let mut next = range.start;
        while next < range.end {
            self.log.check_room(false)?;
            let run = (self.log.slack().min(1 << 28) as usize).min(range.end - next);
            let (written, stop) = self.append(writes, next, next + run);
            self.log.end_run(written as u64);
            if S::WANTS.batches {
                self.hotness.record(writes, next..next + written, self.map.len())?;
            }
            next += written;
            let filled = match stop {
                Stop::BadLba(lba) => {
                    return ZoneLog::check_lba(lba.into(), self.map.len() as u64);
                }
                Stop::Done => None,
                Stop::Full(class) => Some(class),
                Stop::NoZone(class) => {
                    let class = self.log.class_for_user(class, 1)?;
                    self.append_alone(writes.words[next - 1], class)?;
                    self.log.is_full(class).then_some(class)
                }
            };
            self.log.after_run(filled);
            self.clean_while_due()?;
            self.sweep_if_due();
        }
        Ok(())
    }

    /// Clamps the states of pages, if it is time for that.
    fn sweep_if_due(&mut self) {
        if self.log.sweep_if_due() {
            let (scheme, now) = (self.log.scheme(), self.log.now());
            self.map.each_page(&mut |page| scheme.clamp(page, now));
        }
    }

    /// The inner loop. Returns the number of pages written.
    fn append(&mut self, writes: &Writes<'_>, from: usize, to: usize) -> (usize, Stop) {
        let (shift, valid_before) = (self.log.shift(), self.log.valid_pages());
        let mut now = self.log.now();
        let Run { scheme, open, mut zones } = self.log.run();
        let sees_others = sees_others(scheme);
        let map = &mut self.map[..];
        let words = &mut self.words[..];
        let survey = &mut self.survey;
        let (run, rest) = (&writes.words[from..to], &writes.words[from..]);
        for (k, &word) in run.iter().enumerate() {
            let ahead = rest.get(k + AHEAD).unwrap_or(&word);
            let ahead = (ahead & MAX_LBA) as usize;
            if sees_others {
                prefetch::<_, 2>(map, ahead)
            } else {
                prefetch::<_, 1>(map, ahead)
            }
            if S::WANTS.fetches {
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
            if S::WANTS.requests && writes.begins(from + k) {
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
                kind: RecordKind::Image,
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
