//! Cleaning: choosing victims, copying their valid pages, and freeing them.

use std::hint::select_unpredictable;

use frostline_placement::prefetch::{AHEAD, prefetch};
use frostline_placement::{Choice, Relocation, Scheme, ZoneEvent, ZoneView};

use crate::map::Map;
use crate::volume::Volume;
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

impl<S: Scheme, M: Map<S::Page>> Volume<S, M> {
    /// Chooses victims into `self.choice`, and changes the class of zones as the scheme wants. If
    /// no zone is free, only victims whose pages fit into the open zones are kept.
    pub(crate) fn choose_victims(&mut self) {
        self.counts.cleanings += 1;
        self.choice.clear();
        // The end of a zone may be too short for a record, and is then garbage of less than a page.
        // A victim with no more garbage than that could be copied for ever.
        let zones = self.zones.view(self.now).with_short_living(self.scheme.short_living());
        let zones = zones.with_least_garbage(self.options.page_units);
        self.scheme.pick(&zones, &mut *self.policy, &mut self.choice);
        if self.choice.victims.is_empty() && self.trigger.lacks_zones(self.free.len()) {
            self.choice.victims.extend(most_padded(
                &zones,
                &self.early,
                self.open.len(),
                self.options.page_units,
            ));
        }
        let can_open = self.can_open();
        let Choice { victims, relabelled } = &mut self.choice;
        debug_assert!(victims.iter().all(|&z| zones.is_sealed(z)));
        if !can_open {
            // The end of a zone may be too short for a record, and so may that of a chunk.
            let rest = u64::from(self.options.page_units - 1);
            let chunk = self.options.chunks.map_or(0, |shape| u64::from(shape.pages));
            let ends = if chunk > 0 { 2 } else { 1 };
            let usable = |units: u32| u64::from(units).saturating_sub(ends * rest);
            let mut room: u64 = self.open.iter().map(|c| usable(c.end - c.slot)).sum();
            let emptied = usable(self.zone_units);
            victims.retain(|&z| {
                let padding = self.padding.get(z as usize).copied().unwrap_or(0);
                let valid = u64::from(zones.valid(z) - padding);
                let valid = valid + valid.checked_div(chunk).unwrap_or(0) * rest;
                let fits = valid <= room;
                room = if fits { room - valid + emptied } else { room };
                fits
            });
        }
        for &zone in victims.iter() {
            self.counts.victim_garbage[self.zones.garbage(zone) as usize] += 1;
        }
        for (zone, class) in relabelled.drain(..) {
            self.zones.relabel(zone, class);
        }
    }

    /// Frees a victim whose valid pages are all copied.
    pub(crate) fn reclaim(&mut self, zone: u32) {
        let victim = self.event(zone);
        self.counts.zones_reclaimed += 1;
        self.garbage -= u64::from(self.zones.garbage(zone));
        let padding = self.padding.get_mut(zone as usize).map_or(0, std::mem::take);
        self.early.get_mut(zone as usize).map(std::mem::take);
        self.written -= u64::from(self.zone_units - padding);
        self.zones.free(zone);
        self.free.push(zone);
        self.scheme.on_reclaimed(&victim);
    }
}

impl<S: Scheme> Volume<S> {
    /// Cleans until the trigger is satisfied, or nothing is left to clean.
    pub(crate) fn clean_while_due(&mut self) -> Result<(), LogError> {
        while self.cleaning_due() {
            self.end_stale();
            if !self.clean_once()? {
                self.counts.stalls += 1;
                break;
            }
        }
        Ok(())
    }

    /// Makes one cleaning, of the victims of one choice. False if there are none.
    pub(crate) fn clean_once(&mut self) -> Result<bool, LogError> {
        self.choose_victims();
        let victims = std::mem::take(&mut self.choice.victims);
        (0..self.open.len()).for_each(|class| self.settle(class));
        self.cleaning = true;
        let cleaned = victims.iter().try_for_each(|&zone| {
            self.relocate(zone)?;
            self.reclaim(zone);
            Ok(())
        });
        (0..self.open.len()).for_each(|class| self.settle(class));
        self.cleaning = false;
        if cleaned.is_ok() {
            self.check_totals();
        }
        let found = !victims.is_empty();
        self.choice.victims = victims;
        cleaned.map(|()| found)
    }

    /// Copies the valid pages of a victim.
    fn relocate(&mut self, zone: u32) -> Result<(), LogError> {
        let victim = self.event(zone);
        self.scheme.on_victim(&victim, &self.zones.view(self.now));
        let relocated = match self.scheme.destination(&victim) {
            Some(class) => self.relocate_together(&victim, class)?,
            None => self.relocate_one_by_one(&victim)?,
        };
        let valid = (self.zone_units - self.zones.garbage(zone)) as usize;
        debug_assert_eq!(relocated, valid, "valid pages of zone {zone}");
        self.counts.relocations += relocated as u64;
        self.written += relocated as u64;
        Ok(())
    }

    /// Copies all valid pages of a victim into one class.
    fn relocate_together(&mut self, victim: &ZoneEvent, to: usize) -> Result<usize, LogError> {
        let pages = self.zone_units as usize;
        let (mut offset, mut relocated) = (0, 0);
        while offset < pages {
            if self.open[to].is_closed() {
                // A zone is opened for a page only, never for garbage.
                match self.next_valid(victim.zone, offset) {
                    Some(valid) => offset = valid,
                    None => break,
                }
            }
            let class = self.class_with_room(to, 1)?;
            let room = (self.open[class].end - self.open[class].slot) as usize;
            // Pages that can't go to their class are placed one by one.
            let stretch = if class == to { room.min(pages - offset) } else { 1 };
            relocated += self.move_stretch(victim.zone, offset, stretch, class);
            offset += stretch;
            if self.is_full(class) {
                self.close_zone(class);
            }
        }
        Ok(relocated)
    }

    /// The first valid page of a zone, from `offset` on.
    fn next_valid(&self, zone: u32, offset: usize) -> Option<usize> {
        let base = self.base(zone);
        let words = &self.words[base..base + self.zone_units as usize];
        let first = zone << self.shift;
        let valid = |k: &usize| self.map[(words[*k] & MAX_LBA) as usize].slot == first + *k as u32;
        (offset..words.len()).find(valid)
    }

    /// Copies the valid pages among `len` slots of a zone, which fit into the open zone of `class`.
    /// Which pages are valid is unpredictable, so nothing here branches on it.
    fn move_stretch(&mut self, zone: u32, offset: usize, len: usize, class: usize) -> usize {
        let from = self.base(zone) + offset;
        let first = (zone << self.shift) + offset as u32;
        let Some(cursor) = self.open.get_mut(class) else { return 0 };
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
        self.counts.frozen_relocations += u64::from(frozen);
        moved
    }

    /// Copies the valid pages of a victim to the classes that the scheme gives them.
    fn relocate_one_by_one(&mut self, victim: &ZoneEvent) -> Result<usize, LogError> {
        if S::BATCHED && self.scheme.is_batched() {
            return self.relocate_batch(victim);
        }
        let pages = self.zone_units as usize;
        let mut relocated = 0;
        let mut valid = [0u32; BLOCK];
        for offset in (0..pages).step_by(BLOCK) {
            let n = self.valid_words(victim.zone, offset, BLOCK.min(pages - offset), &mut valid);
            self.place_all(victim, &valid[..n], &[])?;
            relocated += n;
        }
        Ok(relocated)
    }

    /// The same for a scheme that places all pages of a victim at once.
    fn relocate_batch(&mut self, victim: &ZoneEvent) -> Result<usize, LogError> {
        self.ask_batch(victim.zone);
        let words = std::mem::take(&mut self.batch.words);
        let classes = std::mem::take(&mut self.batch.classes);
        let placed = words
            .chunks(BLOCK)
            .zip(classes.chunks(BLOCK))
            .try_for_each(|(words, classes)| self.place_all(victim, words, classes));
        let relocated = words.len();
        (self.batch.words, self.batch.classes) = (words, classes);
        placed.map(|()| relocated)
    }

    /// Places relocations. `given` has the classes that the scheme gave them already, or is empty.
    fn place_all(
        &mut self,
        victim: &ZoneEvent,
        valid: &[u32],
        given: &[Option<u8>],
    ) -> Result<(), LogError> {
        let mut done = 0;
        while done < valid.len() {
            let rest = given.get(done..).unwrap_or_default();
            let (moved, stop) = self.place_stretch(victim, &valid[done..], rest);
            done += moved;
            match stop {
                Stop::Done => {}
                Stop::Full(class) => self.close_zone(class),
                Stop::NoZone(class) => {
                    let class = self.class_with_room(class, 1)?;
                    self.finish_relocation(valid[done], class);
                    done += 1;
                    if self.is_full(class) {
                        self.close_zone(class);
                    }
                }
            }
        }
        Ok(())
    }

    /// Lets the scheme place all valid pages of a victim at once.
    fn ask_batch(&mut self, zone: u32) {
        let pages = self.zone_units as usize;
        let mut valid = [0u32; BLOCK];
        self.batch.clear();
        for offset in (0..pages).step_by(BLOCK) {
            let n = self.valid_words(zone, offset, BLOCK.min(pages - offset), &mut valid);
            let lbas = valid[..n].iter().map(|word| word & MAX_LBA);
            let batch = &mut self.batch;
            batch.words.extend_from_slice(&valid[..n]);
            batch.lbas.extend(lbas.clone());
            batch.last.extend(valid[..n].iter().map(|word| word & WORD_LAST != 0));
            batch.states.extend(lbas.clone().map(|lba| self.map[lba as usize].page));
            if !self.hotness.is_empty() {
                batch.hotness.extend(lbas.map(|lba| self.hotness[lba as usize]));
            }
        }
        let victim = self.victim(zone);
        self.batch.ask(&mut self.scheme, &victim);
    }

    /// Collects the words of the valid pages among `len` slots of a zone; returns their number.
    fn valid_words(&self, zone: u32, offset: usize, len: usize, valid: &mut [u32; BLOCK]) -> usize {
        let base = self.base(zone) + offset;
        let first = (zone << self.shift) + offset as u32;
        let (map, words) = (&self.map[..], &self.words[base..]);
        let mut n = 0;
        for ((k, &word), slot) in words[..len].iter().enumerate().zip(first..) {
            let ahead = words.get(k + AHEAD).unwrap_or(&word);
            prefetch::<_, 1>(map, (ahead & MAX_LBA) as usize);
            if S::FETCHES {
                self.scheme.fetch(ahead & MAX_LBA);
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
    ) -> (usize, Stop) {
        let scheme = &mut self.scheme;
        let map = &mut self.map[..];
        let words = &mut self.words[..];
        let open = &mut self.open[..];
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
        self.counts.frozen_relocations += u64::from(frozen);
        (done, stop)
    }

    /// Copies a page whose class had no open zone when it was placed.
    fn finish_relocation(&mut self, word: u32, class: usize) {
        let cursor = &mut self.open[class];
        self.map[(word & MAX_LBA) as usize].slot = cursor.slot;
        self.words[cursor.place()] = word;
        cursor.slot += 1;
        self.counts.frozen_relocations += u64::from(word >> 31);
    }
}

/// The sealed zone with the most garbage and padding of chunks that were ended early, if cleaning
/// it makes room: until its copies are durable, a page may be left behind in each class.
fn most_padded(zones: &ZoneView<'_>, early: &[u32], classes: usize, page: u32) -> Option<u32> {
    let least = (zones.zone_pages() / 4).max((classes as u32 + 2) * page);
    let sealed = (1..early.len() as u32).filter(|&zone| zones.is_sealed(zone));
    let by_gain = sealed.map(|zone| (zones.garbage(zone) + early[zone as usize], zone));
    by_gain.max().filter(|&(gain, _)| gain >= least).map(|(_, zone)| zone)
}

#[inline(always)]
pub(crate) fn relocation(victim: &ZoneEvent, word: u32) -> Relocation {
    let ZoneEvent { zone, class, now } = *victim;
    Relocation { lba: word & MAX_LBA, now, zone, class, last: word & WORD_LAST != 0 }
}
