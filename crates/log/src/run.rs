//! User writes in runs: the inner loop of the simulator.
//!
//! A run is a stretch of writes in which nothing but writing can happen. It ends when a zone is
//! full, when a zone must be opened, or when cleaning might be due. The earliest time of that is
//! known beforehand, so the loop tests only for the end of a zone.

use std::ops::Range;

use frostline_placement::prefetch::{AHEAD, prefetch};
use frostline_placement::{Hotness, NEVER, Request, Scheme, UserWrite};

use crate::memory::Array;
use crate::survey::sees_others;
use crate::volume::{Volume, WORD_LAST};
use crate::{LogError, MAX_LBA};

/// User writes, one entry a page. All columns are as long as `words`.
#[derive(Clone, Copy, Debug)]
pub struct Writes<'a> {
    /// The LBA, with [`WORD_LAST`] if this version lives to the end of the trace.
    pub words: &'a [u32],
    /// Bitmap of the writes that begin a request (bit i % 64 of word i / 64); if `None`, all writes
    /// do.
    pub starts: Option<&'a [u64]>,
    /// User writes until the LBA is written again or trimmed; [`NEVER`] if that does not happen.
    pub lifespans: Option<&'a [u32]>,
    /// The engine's hotness record of each write.
    pub hotness: Option<&'a [Hotness]>,
    /// The length of each write's record; if `None`, all are whole pages.
    pub lengths: Option<Lengths<'a>>,
}

/// The lengths of records.
#[derive(Clone, Copy, Debug)]
pub struct Lengths<'a> {
    /// Bytes of each record.
    pub bytes: &'a [u16],
    /// Bytes in a unit.
    pub unit: u32,
    /// Bitmap of the writes that are deltas or tails; if `None`, none is.
    pub deltas: Option<&'a [u64]>,
    /// Bitmap of the deltas that are tails; if `None`, none is.
    pub tails: Option<&'a [u64]>,
    /// The merged images that are known, in the order of their versions.
    pub merges: &'a [Merge],
}

/// The length of an image that was made of a page's base, delta and tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merge {
    /// The number of the last write that is in it.
    pub write: u32,
    /// Bytes of the image.
    pub bytes: u16,
}

impl Lengths<'_> {
    /// Units of a record of so many bytes.
    pub(crate) fn units_of(&self, bytes: u16) -> u32 {
        u32::from(bytes).div_ceil(self.unit.max(1)).max(1)
    }
}

impl<'a> Writes<'a> {
    /// Writes that are each a request of their own, with only their words known.
    pub fn new(words: &'a [u32]) -> Self {
        Writes { words, starts: None, lifespans: None, hotness: None, lengths: None }
    }

    /// True if write `i` begins a request.
    #[inline(always)]
    pub fn begins(&self, i: usize) -> bool {
        self.starts.is_none_or(|s| s.get(i / 64).is_some_and(|w| w >> (i % 64) & 1 == 1))
    }

    /// Lifespan of write `i`, [`NEVER`] if it is not known.
    #[inline(always)]
    pub fn lifespan(&self, i: usize) -> u32 {
        self.lifespans.and_then(|l| l.get(i)).copied().unwrap_or(NEVER)
    }

    /// The hotness record of write `i`, if there is one.
    #[inline(always)]
    pub fn hotness(&self, i: usize) -> Option<&Hotness> {
        self.hotness.and_then(|h| h.get(i))
    }

    /// Units of the record of write `i`: as many as its bytes need, but at least one and at most
    /// `page_units`; `page_units` if its bytes are not known.
    pub fn units(&self, i: usize, page_units: u32) -> u32 {
        let units = self.lengths.and_then(|all| Some(all.units_of(*all.bytes.get(i)?)));
        units.map_or(page_units, |units| units.min(page_units))
    }

    /// True if write `i` is a delta or a tail.
    pub fn is_delta(&self, i: usize) -> bool {
        has(self.lengths.and_then(|lengths| lengths.deltas), i)
    }

    /// True if write `i` is a tail.
    pub fn is_tail(&self, i: usize) -> bool {
        has(self.lengths.and_then(|lengths| lengths.tails), i)
    }

    /// The merges that are known.
    pub(crate) fn merges(&self) -> &'a [Merge] {
        self.lengths.map_or(&[], |lengths| lengths.merges)
    }

    /// The first write after the request that write `i` belongs to.
    pub fn request_end(&self, i: usize) -> usize {
        let Some(starts) = self.starts else {
            return i + 1;
        };
        let from = i + 1;
        let first = starts.get(from / 64).map_or(0, |w| w >> (from % 64) << (from % 64));
        let rest = starts.get(from / 64 + 1..).unwrap_or_default();
        let mut words = std::iter::once(&first).chain(rest).enumerate();
        let next = words.find(|(_, w)| **w != 0);
        let end = next.map(|(k, w)| (from / 64 + k) * 64 + w.trailing_zeros() as usize);
        end.unwrap_or(self.words.len()).min(self.words.len())
    }
}

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

/// True if a bitmap has bit `i`.
fn has(bitmap: Option<&[u64]>, i: usize) -> bool {
    bitmap.is_some_and(|words| words.get(i / 64).is_some_and(|word| word >> (i % 64) & 1 == 1))
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
                Stop::BadLba(lba) => return self.check_lba(lba),
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
                survey.show(scheme, lba, next, shift, |lba| map.get(lba as usize).copied());
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
