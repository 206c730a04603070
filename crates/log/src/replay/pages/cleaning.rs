//! Cleaning: the valid pages of victims are copied in runs.

use std::hint::select_unpredictable;

use frostline_placement::prefetch::{AHEAD, prefetch};
use frostline_placement::{Relocation, Scheme, ZoneEvent};

use super::PageReplay;
use crate::places::Slot;
use crate::zone_log::Run;
use crate::{LogError, MAX_LBA, WORD_LAST};

/// Slots of a victim that are processed together: first it is found which are valid, then where the
/// valid ones go. The map entries of one block stay in the first-level cache between the two.
const BLOCK: usize = 256;

/// The reason why a stretch of relocations ended.
enum Stop {
    Done,
    /// This class's zone is full.
    Full(usize),
    /// This class has no open zone for the page that comes next.
    NoZone(usize),
}

/// Pages that were relocated, and those of them that are frozen.
#[derive(Clone, Copy, Default)]
struct Moved {
    pages: usize,
    frozen: u64,
}

impl Moved {
    fn add(&mut self, other: Moved) {
        self.pages += other.pages;
        self.frozen += other.frozen;
    }
}

impl<S: Scheme> PageReplay<S> {
    /// Cleans until the trigger is satisfied, or nothing is left to clean.
    pub(super) fn clean_while_due(&mut self) -> Result<(), LogError> {
        while self.log.cleaning_due() {
            self.log.end_stale();
            if !self.clean_once()? {
                self.log.stall();
                break;
            }
        }
        Ok(())
    }

    /// Makes one cleaning, of the victims of one choice. False if there are none.
    fn clean_once(&mut self) -> Result<bool, LogError> {
        let victims = self.log.begin_copying();
        let cleaned = victims.iter().try_for_each(|&zone| {
            let Moved { pages, frozen } = self.relocate(zone)?;
            self.log.end_victim(zone, pages as u64, frozen);
            Ok(())
        });
        let found = !victims.is_empty();
        self.log.end_copying(victims);
        cleaned.map(|()| found)
    }

    /// Copies the valid pages of a victim.
    fn relocate(&mut self, zone: u32) -> Result<Moved, LogError> {
        let victim = self.log.begin_victim(zone);
        match self.log.scheme().destination(&victim) {
            Some(class) => self.relocate_together(&victim, class),
            None => self.relocate_one_by_one(&victim),
        }
    }

    /// Copies all valid pages of a victim into one class.
    fn relocate_together(&mut self, victim: &ZoneEvent, to: usize) -> Result<Moved, LogError> {
        let pages = self.log.zone_units() as usize;
        let (mut offset, mut moved) = (0, Moved::default());
        while offset < pages {
            if self.log.run().open[to].is_closed() {
                // A zone is opened for a page only, never for garbage.
                match self.next_valid(victim.zone, offset) {
                    Some(valid) => offset = valid,
                    None => break,
                }
            }
            let class = self.log.class_with_room(to, 1)?;
            // The zone may be new.
            self.words.cover(self.log.slots())?;
            let room = self.log.run().open[class].left() as usize;
            // Pages that can't go to their class are placed one by one.
            let stretch = if class == to { room.min(pages - offset) } else { 1 };
            moved.add(self.move_stretch(victim.zone, offset, stretch, class));
            offset += stretch;
            if self.log.is_full(class) {
                self.log.close_zone(class);
            }
        }
        Ok(moved)
    }

    /// The first valid page of a zone, from `offset` on.
    fn next_valid(&self, zone: u32, offset: usize) -> Option<usize> {
        let (base, first) = self.first_of(zone, 0);
        let words = &self.words[base..base + self.log.zone_units() as usize];
        let valid = |k: &usize| self.map[(words[*k] & MAX_LBA) as usize].slot == first + *k as u32;
        (offset..words.len()).find(valid)
    }

    /// Copies the valid pages among `len` slots of a zone, which fit into the open zone of `class`.
    /// Which pages are valid is unpredictable, so nothing here branches on it.
    fn move_stretch(&mut self, zone: u32, offset: usize, len: usize, class: usize) -> Moved {
        let (from, first) = self.first_of(zone, offset);
        let Some(cursor) = self.log.run().open.get_mut(class) else { return Moved::default() };
        let start = cursor.slot;
        let to = cursor.place();
        let Ok([source, target]) = self.words.get_disjoint_mut([from..from + len, to..to + len])
        else {
            unreachable!("a victim is sealed, its pages go to an open zone");
        };
        let map = &mut self.map[..];
        let mut moved = 0;
        let mut frozen = 0;
        for ((k, &word), slot) in source.iter().enumerate().zip(first..) {
            let ahead = source.get(k + AHEAD).unwrap_or(&word);
            prefetch::<_, 1>(map, (ahead & MAX_LBA) as usize);
            let entry = &mut map[(word & MAX_LBA) as usize];
            let valid = entry.slot == slot;
            target[moved] = word;
            entry.slot = select_unpredictable(valid, start + moved as u32, entry.slot);
            moved += usize::from(valid);
            frozen += u32::from(valid) & (word >> 31);
        }
        cursor.slot = start + moved as u32;
        Moved { pages: moved, frozen: frozen.into() }
    }

    /// Index in the reverse map, and number, of a slot.
    #[inline(always)]
    fn first_of(&self, zone: u32, offset: usize) -> (usize, u32) {
        let slot = Slot { zone, offset: offset as u32 };
        (self.log.place(slot), self.log.number(slot))
    }

    /// Copies the valid pages of a victim to the classes that the scheme gives them.
    fn relocate_one_by_one(&mut self, victim: &ZoneEvent) -> Result<Moved, LogError> {
        if S::BATCHED && self.log.scheme().is_batched() {
            return self.relocate_batch(victim);
        }
        let pages = self.log.zone_units() as usize;
        let mut moved = Moved::default();
        let mut valid = [0u32; BLOCK];
        for offset in (0..pages).step_by(BLOCK) {
            let n = self.valid_words(victim.zone, offset, BLOCK.min(pages - offset), &mut valid);
            moved.add(self.place_all(victim, &valid[..n], &[])?);
        }
        Ok(moved)
    }

    /// The same for a scheme that places all pages of a victim at once.
    fn relocate_batch(&mut self, victim: &ZoneEvent) -> Result<Moved, LogError> {
        self.ask_batch(victim.zone);
        let words = std::mem::take(&mut self.batch_words);
        let classes = std::mem::take(&mut self.batch.classes);
        let mut moved = Moved::default();
        let mut blocks = words.chunks(BLOCK).zip(classes.chunks(BLOCK));
        let placed = blocks.try_for_each(|(words, classes)| {
            moved.add(self.place_all(victim, words, classes)?);
            Ok(())
        });
        (self.batch_words, self.batch.classes) = (words, classes);
        placed.map(|()| moved)
    }

    /// Places relocations. `given` has the classes that the scheme gave them already, or is empty.
    fn place_all(
        &mut self,
        victim: &ZoneEvent,
        valid: &[u32],
        given: &[Option<u8>],
    ) -> Result<Moved, LogError> {
        let mut moved = Moved::default();
        while moved.pages < valid.len() {
            let done = moved.pages;
            let rest = given.get(done..).unwrap_or_default();
            let (some, stop) = self.place_stretch(victim, &valid[done..], rest);
            moved.add(some);
            match stop {
                Stop::Done => {}
                Stop::Full(class) => self.log.close_zone(class),
                Stop::NoZone(class) => {
                    let word = valid[moved.pages];
                    let class = self.log.class_with_room(class, 1)?;
                    self.append_alone(word, class)?;
                    moved.add(Moved { pages: 1, frozen: (word >> 31).into() });
                    if self.log.is_full(class) {
                        self.log.close_zone(class);
                    }
                }
            }
        }
        Ok(moved)
    }

    /// Lets the scheme place all valid pages of a victim at once.
    fn ask_batch(&mut self, zone: u32) {
        let pages = self.log.zone_units() as usize;
        let mut valid = [0u32; BLOCK];
        self.batch.clear();
        self.batch_words.clear();
        for offset in (0..pages).step_by(BLOCK) {
            let n = self.valid_words(zone, offset, BLOCK.min(pages - offset), &mut valid);
            self.batch_words.extend_from_slice(&valid[..n]);
            for &word in &valid[..n] {
                let lba = word & MAX_LBA;
                self.batch.add(word, self.map[lba as usize].page, self.hotness.of(lba));
            }
        }
        let victim = self.log.victim(zone);
        self.batch.ask(self.log.scheme_mut(), &victim);
    }

    /// Collects the words of the valid pages among `len` slots of a zone; returns their number.
    fn valid_words(&self, zone: u32, offset: usize, len: usize, valid: &mut [u32; BLOCK]) -> usize {
        let (base, first) = self.first_of(zone, offset);
        let (map, words) = (&self.map[..], &self.words[base..]);
        let mut n = 0;
        for ((k, &word), slot) in words[..len].iter().enumerate().zip(first..) {
            let ahead = words.get(k + AHEAD).unwrap_or(&word);
            prefetch::<_, 1>(map, (ahead & MAX_LBA) as usize);
            if S::FETCHES {
                self.log.scheme().fetch(ahead & MAX_LBA);
            }
            valid[n % BLOCK] = word;
            n += usize::from(map[(word & MAX_LBA) as usize].slot == slot);
        }
        n
    }

    /// Places relocations until all are placed, or a zone must be closed or opened. If a page finds
    /// no open zone, it has its class but is not yet copied.
    fn place_stretch(
        &mut self,
        victim: &ZoneEvent,
        valid: &[u32],
        given: &[Option<u8>],
    ) -> (Moved, Stop) {
        let Run { scheme, open, .. } = self.log.run();
        let map = &mut self.map[..];
        let words = &mut self.words[..];
        let mut frozen = 0;
        let mut stop = Stop::Done;
        let mut done = 0;
        for &word in valid {
            let lba = word & MAX_LBA;
            if S::BATCHED {
                // The cache has meanwhile seen the whole victim, so this entry is prefetched again.
                let ahead = valid.get(done + AHEAD).unwrap_or(&word);
                prefetch::<_, 1>(map, (ahead & MAX_LBA) as usize);
            }
            let entry = &mut map[lba as usize];
            let given = if S::BATCHED { given.get(done).copied().flatten() } else { None };
            let class = match given {
                Some(class) => usize::from(class),
                None => scheme.place_relocation(&relocation(victim, word), &mut entry.page),
            };
            let cursor = &mut open[class];
            let Some(place) = words.get_mut(cursor.place()) else {
                stop = Stop::NoZone(class);
                break;
            };
            *place = word;
            entry.slot = cursor.slot;
            cursor.slot += 1;
            frozen += word >> 31;
            done += 1;
            if cursor.slot == cursor.end {
                stop = Stop::Full(class);
                break;
            }
        }
        (Moved { pages: done, frozen: frozen.into() }, stop)
    }
}

#[inline(always)]
fn relocation(victim: &ZoneEvent, word: u32) -> Relocation {
    let ZoneEvent { zone, class, now } = *victim;
    Relocation { lba: word & MAX_LBA, now, zone, class, last: word & WORD_LAST != 0 }
}
