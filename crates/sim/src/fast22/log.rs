//! The log of the authors' simulator.

use std::ops::{Range, RangeInclusive};

use bytemuck::Zeroable;
use frostline_log::{Array, Counts, LogError, MAX_LBA, Map, MapEntry, WORD_LAST, Writes};
use frostline_placement::{
    AnyScheme, Hotness, Pages, RecordKind, Relocation, Request, Scheme, UserWrite, Victim,
    ZoneEvent,
};

use super::policy::Policy;
use super::zones::Zones;
use crate::machine::Machine;

/// The least number of zones that are opened for every scheme: unused ones still count in the
/// numbering of zones, and so decide ties.
const OPEN_AHEAD: usize = 6;

/// Garbage proportions are compared in units of one over this.
const PARTS: u64 = 1_000_000_000;

/// User writes between two sweeps that clamp old stamps.
const SWEEP: u32 = 1 << 30;

/// The layout of a log.
#[derive(Clone, Copy, Debug)]
pub struct Fast22Options {
    /// Pages in a zone.
    pub zone_pages: u32,
    /// Largest LBA + 1.
    pub space: u32,
    /// The log is cleaned while the garbage proportion exceeds this.
    pub gp: f64,
    /// Zones that may be open at once; `None` if there is no limit.
    pub max_open: Option<usize>,
    /// The least garbage proportion of a victim; equal to `gp` in the authors' simulator.
    pub least_gp: f64,
}

/// The open zone of a class, and its pages so far.
#[derive(Clone, Copy)]
struct OpenZone {
    zone: u32,
    used: u32,
}

/// A volume as the authors' simulator has it.
pub struct Fast22Log<'a> {
    scheme: AnyScheme,
    policy: Policy,
    options: Fast22Options,
    /// The trace's time of each write in microseconds; without times, the number of the write from
    /// 1 on.
    times: Option<&'a [u64]>,
    zones: Zones,
    map: Array<MapEntry<<AnyScheme as Scheme>::Page>>,
    /// The word that was written in each slot, by slot number: zone * pages in a zone + offset.
    words: Vec<u32>,
    open: Vec<Option<OpenZone>>,
    free: Vec<u32>,
    /// The hotness record of each LBA's last write; empty if there are none.
    hotness: Vec<Hotness>,
    now: u32,
    clock: u64,
    gp: u64,
    /// Pages in live zones, without those of the request that has not ended.
    written: u64,
    unended: u64,
    /// Garbage pages in sealed zones.
    garbage: u64,
    valid: u64,
    counts: Counts,
    most_zones: usize,
}

impl<'a> Fast22Log<'a> {
    /// An empty log.
    ///
    /// # Errors
    /// The garbage proportion is not valid, the scheme has more classes than zones may be open, or
    /// memory is short.
    pub fn new(
        options: Fast22Options,
        scheme: AnyScheme,
        policy: Policy,
        times: Option<&'a [u64]>,
    ) -> Result<Self, LogError> {
        let Fast22Options { zone_pages, space, gp, max_open, least_gp } = options;
        if !(gp > 0.0 && gp < 1.0) {
            return Err(LogError::GarbageProportion { gp });
        }
        if space > MAX_LBA + 1 {
            return Err(LogError::BadLba { lba: u64::from(space) - 1, last: MAX_LBA.into() });
        }
        let classes = scheme.classes().max(OPEN_AHEAD);
        if let Some(limit) = max_open.filter(|&limit| classes > limit) {
            return Err(LogError::TooManyClasses { classes, limit });
        }
        let parts = |gp: f64| (gp * PARTS as f64).round() as u64;
        let least = (parts(least_gp) * u64::from(zone_pages)).div_ceil(PARTS) as u32;
        let mut log = Fast22Log {
            scheme,
            policy,
            options,
            times,
            zones: Zones::new(zone_pages, least),
            map: Array::zeroed(space as usize)?,
            words: vec![0; zone_pages as usize],
            open: vec![None; classes],
            free: Vec::new(),
            hotness: Vec::new(),
            now: 0,
            clock: 0,
            gp: parts(gp).clamp(1, PARTS - 1),
            written: 0,
            unended: 0,
            garbage: 0,
            valid: 0,
            counts: Counts::default(),
            most_zones: 0,
        };
        log.reset_counts();
        log.open_ahead()?;
        Ok(log)
    }

    fn slot(&self, zone: u32, offset: u32) -> u32 {
        debug_assert!(offset < self.options.zone_pages, "a slot of the zone");
        zone * self.options.zone_pages + offset
    }

    /// Writes page `i` of the user, and cleans the log if a request ends with it.
    fn write_page(&mut self, writes: &Writes<'_>, i: usize) -> Result<(), LogError> {
        let word = writes.words[i];
        let lba = word & MAX_LBA;
        if lba >= self.options.space {
            let last = self.options.space.saturating_sub(1).into();
            return Err(LogError::BadLba { lba: lba.into(), last });
        }
        let class = self.place_user(writes, i, lba);
        self.counts.user_writes += 1;
        self.counts.runs += 1;
        let class = self.append(word, class)?;
        self.counts.classes[class].user_writes += 1;
        if self.scheme.wants().batches
            && let Some(hotness) = writes.hotness(i)
        {
            self.hotness.resize(self.options.space as usize, Hotness::default());
            self.hotness[lba as usize] = *hotness;
        }
        self.close_if_full(class)?;
        if i + 1 >= writes.words.len() || writes.begins(i + 1) {
            self.end_request()?;
        }
        if self.now.is_multiple_of(SWEEP) {
            self.sweep();
        }
        Ok(())
    }

    fn place_user(&mut self, writes: &Writes<'_>, i: usize, lba: u32) -> usize {
        self.clock = self.times.map_or(u64::from(self.now) + 1, |times| times[i]);
        if let Some(simulated) = self.scheme.fast22() {
            simulated.at(self.clock);
        }
        let valid = self.written - self.garbage;
        if writes.begins(i) {
            let pages = (writes.request_end(i) - i) as u32;
            self.scheme.on_request(&Request { lba, pages, now: self.now, valid });
        }
        self.now = self.now.wrapping_add(1);
        self.show_others(lba);
        let entry = &mut self.map[lba as usize];
        let zone = entry.slot / self.options.zone_pages;
        let sealed = self.zones.table.is_sealed(zone);
        if zone > 0 {
            self.zones.table.discard(zone, 1);
        }
        let write = UserWrite {
            lba,
            now: self.now,
            first: zone == 0,
            zone,
            offset: entry.slot % self.options.zone_pages,
            class: self.zones.table.class(zone),
            valid: valid - u64::from(sealed),
            last: writes.words[i] & WORD_LAST != 0,
            lifespan: writes.lifespan(i),
            following: writes.following(i),
            kind: RecordKind::Image,
            hotness: writes.hotness(i),
        };
        self.valid += u64::from(zone == 0);
        self.unended += 1;
        self.garbage += u64::from(sealed);
        self.scheme.place_user(&write, &mut entry.page)
    }

    /// Shows the scheme the page behind, and one page in turn, if the scheme sees others.
    fn show_others(&mut self, lba: u32) {
        if !self.scheme.wants().others {
            return;
        }
        let next = self.map.get(lba as usize + 1).filter(|entry| entry.slot != 0);
        self.scheme.on_neighbour(next.map(|entry| &entry.page), self.now);
        let turn = &self.map[self.now as usize % self.map.len()];
        if turn.slot != 0 {
            self.scheme.on_survey(&turn.page, self.now);
        }
    }

    /// Ends a request: only now do its pages count as written, and only now is the log cleaned, of
    /// one victim.
    fn end_request(&mut self) -> Result<(), LogError> {
        self.written += std::mem::take(&mut self.unended);
        if self.garbage * PARTS > self.gp * self.written {
            self.clean()?;
        }
        Ok(())
    }

    fn clean(&mut self) -> Result<(), LogError> {
        self.counts.cleanings += 1;
        let view = self.zones.view(self.now).with_short_living(self.scheme.short_living());
        let Some(zone) = self.policy.pick(&self.zones, &view, self.clock) else { return Ok(()) };
        let garbage = self.zones.table.garbage(zone);
        self.counts.victim_garbage[garbage as usize] += 1;
        let victim = self.event(zone);
        self.scheme.on_victim(&victim, &self.zones.view(self.now));
        self.relocate(&victim)?;
        self.counts.zones_reclaimed += 1;
        assert!(u64::from(garbage) <= self.garbage, "a victim's garbage is counted");
        assert!(u64::from(self.options.zone_pages) <= self.written, "a victim's pages are counted");
        self.garbage -= u64::from(garbage);
        self.written -= u64::from(self.options.zone_pages);
        self.zones.table.free(zone);
        self.free.push(zone);
        self.scheme.on_reclaimed(&victim);
        Ok(())
    }

    fn relocate(&mut self, victim: &ZoneEvent) -> Result<(), LogError> {
        let ZoneEvent { zone, class, now } = *victim;
        let words = self.valid_words(zone);
        let together = self.scheme.destination(victim);
        let mut classes = vec![together.map(|class| class as u8); words.len()];
        if self.scheme.wants().batches && together.is_none() && !words.is_empty() {
            self.place_batch(&Victim { zone, class, now, valid: self.valid }, &words, &mut classes);
        }
        for (&word, given) in words.iter().zip(classes) {
            let lba = word & MAX_LBA;
            let relocation = Relocation { lba, now, zone, class, last: word & WORD_LAST != 0 };
            let page = &mut self.map[lba as usize].page;
            let to = match given {
                Some(class) => usize::from(class),
                None => self.scheme.place_relocation(&relocation, page),
            };
            let to = self.append(word, to)?;
            self.counts.classes[to].relocations += 1;
            self.counts.frozen_relocations += u64::from(word / WORD_LAST);
            self.close_if_full(to)?;
        }
        self.counts.relocations += words.len() as u64;
        self.written += words.len() as u64;
        Ok(())
    }

    fn place_batch(&mut self, victim: &Victim, words: &[u32], classes: &mut [Option<u8>]) {
        let lbas: Vec<_> = words.iter().map(|word| word & MAX_LBA).collect();
        let states: Vec<_> = lbas.iter().map(|&lba| self.map[lba as usize].page).collect();
        let hotness: Option<Vec<_>> =
            lbas.iter().map(|&lba| self.hotness.get(lba as usize).copied()).collect();
        let last: Vec<_> = words.iter().map(|word| word & WORD_LAST != 0).collect();
        let hotness = hotness.as_deref();
        let pages = Pages { lbas: &lbas, states: &states, hotness, last: &last };
        self.scheme.place_batch(victim, &pages, classes);
    }

    /// The words of a zone's valid pages, in slot order.
    fn valid_words(&self, zone: u32) -> Vec<u32> {
        let (map, first) = (&self.map[..], self.slot(zone, 0));
        let words = &self.words[first as usize..][..self.options.zone_pages as usize];
        let mut valid = Vec::new();
        for (slot, &word) in (first..).zip(words) {
            if map[(word & MAX_LBA) as usize].slot == slot {
                valid.push(word);
            }
        }
        valid
    }

    /// Appends a page to the open zone of a class; returns the class.
    fn append(&mut self, word: u32, class: usize) -> Result<usize, LogError> {
        let OpenZone { zone, used } = match self.open[class] {
            Some(open) => open,
            None => self.open_zone(class)?,
        };
        let slot = self.slot(zone, used);
        self.map[(word & MAX_LBA) as usize].slot = slot;
        self.words[slot as usize] = word;
        self.open[class] = Some(OpenZone { zone, used: used + 1 });
        Ok(class)
    }

    fn open_zone(&mut self, class: usize) -> Result<OpenZone, LogError> {
        debug_assert!(self.open[class].is_none(), "a class has one open zone");
        if self.free.is_empty() {
            self.grow()?;
        }
        let Some(zone) = self.free.pop() else { return Err(self.full()) };
        self.zones.open(zone, class, self.now);
        self.most_zones = self.most_zones.max(self.zones.table.live() as usize);
        let open = OpenZone { zone, used: 0 };
        self.open[class] = Some(open);
        if class < self.scheme.classes() {
            let event = self.event(zone);
            self.scheme.on_opened(&event);
        }
        Ok(open)
    }

    /// Adds an eighth of the present zones, and a few more.
    fn grow(&mut self) -> Result<(), LogError> {
        let first = self.zones.table.len();
        let zones = first + (first - 1) / 8 + 16;
        if zones as u64 * u64::from(self.options.zone_pages) > u64::from(u32::MAX) {
            return Err(self.full());
        }
        for _ in first..zones {
            self.zones.add();
        }
        self.words.resize(zones * self.options.zone_pages as usize, 0);
        // Zones are taken from the end: low numbers first.
        self.free.extend((first as u32..zones as u32).rev());
        Ok(())
    }

    fn close_if_full(&mut self, class: usize) -> Result<(), LogError> {
        let full = |open: &OpenZone| open.used == self.options.zone_pages;
        let Some(OpenZone { zone, .. }) = self.open[class].filter(full) else { return Ok(()) };
        self.open[class] = None;
        self.zones.seal(zone, self.now, self.clock);
        self.garbage += u64::from(self.zones.table.garbage(zone));
        let event = self.event(zone);
        self.scheme.on_sealed(&event, &self.zones.view(self.now));
        self.open_ahead()
    }

    /// Opens a zone for every class that should have one.
    fn open_ahead(&mut self) -> Result<(), LogError> {
        for class in 0..self.open.len() {
            let wanted = self.scheme.fast22().is_none_or(|scheme| scheme.keeps_open(class));
            if self.open[class].is_none() && wanted {
                self.open_zone(class)?;
            }
        }
        Ok(())
    }

    fn sweep(&mut self) {
        let (scheme, now) = (&self.scheme, self.now);
        self.map.each_page(&mut |page| scheme.clamp(page, now));
        self.zones.table.clamp(now);
    }

    fn event(&self, zone: u32) -> ZoneEvent {
        self.zones.table.event(zone, self.now)
    }

    fn full(&self) -> LogError {
        LogError::Full { valid: self.valid, slots: self.words.len() as u64 }
    }

    /// The garbage of a zone; `None` unless it is sealed.
    fn garbage_of(&self, zone: u32) -> Option<u32> {
        self.zones.table.is_sealed(zone).then(|| self.zones.table.garbage(zone))
    }
}

impl Machine for Fast22Log<'_> {
    fn write(&mut self, writes: &Writes<'_>, range: Range<usize>) -> Result<(), LogError> {
        range.into_iter().try_for_each(|i| self.write_page(writes, i))
    }

    fn trim(&mut self, mut lbas: RangeInclusive<u32>) -> Result<(), LogError> {
        lbas.try_for_each(|lba| {
            if lba >= self.options.space {
                let last = self.options.space.saturating_sub(1).into();
                return Err(LogError::BadLba { lba: lba.into(), last });
            }
            let entry = std::mem::replace(&mut self.map[lba as usize], MapEntry::zeroed());
            let zone = entry.slot / self.options.zone_pages;
            self.scheme.on_trim(lba, (zone > 0).then_some(&entry.page), self.now);
            if zone > 0 {
                assert!(self.valid > 0, "a valid page is counted");
                self.valid -= 1;
                self.garbage += u64::from(self.zones.table.is_sealed(zone));
                self.zones.table.discard(zone, 1);
            }
            Ok(())
        })
    }

    // It is no store: it has no chunks, and is never closed.
    fn sync(&mut self) {}
    fn restart(&mut self, _: AnyScheme) {}

    fn read(&mut self, lba: u32, pages: u32) {
        self.scheme.on_read(&Request { lba, pages, now: self.now, valid: self.valid });
    }

    fn counts(&mut self) -> &Counts {
        &self.counts
    }

    fn reset_counts(&mut self) {
        self.counts = Counts {
            victim_garbage: vec![0; self.options.zone_pages as usize + 1],
            classes: vec![Default::default(); self.open.len()],
            ..Counts::default()
        };
    }

    fn peak_bytes(&self) -> usize {
        let slots = (self.most_zones + 1) * self.options.zone_pages as usize;
        self.map.len() * size_of::<MapEntry<<AnyScheme as Scheme>::Page>>()
            + slots.min(self.words.len()) * size_of::<u32>()
            + size_of_val(&self.hotness[..])
            + self.zones.table.bytes()
            + self.scheme.bytes()
    }

    fn explain(&self) -> Vec<String> {
        self.scheme.explain()
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        self.scheme.gauges()
    }

    fn verify(&self) -> Result<(), String> {
        let mut garbage = 0;
        for zone in 1..self.zones.table.len() as u32 {
            let Some(counted) = self.garbage_of(zone) else { continue };
            let found = self.options.zone_pages as usize - self.valid_words(zone).len();
            if counted as usize != found {
                return Err(format!("zone {zone}: {counted} garbage counted, {found} found"));
            }
            garbage += found as u64;
        }
        let mapped = self.map.iter().filter(|entry| entry.slot != 0).count() as u64;
        match (mapped, garbage) == (self.valid, self.garbage) {
            true => Ok(()),
            false => Err(format!(
                "{mapped} pages are mapped and {garbage} garbage, {} and {} counted",
                self.valid, self.garbage
            )),
        }
    }
}
