//! The log again, in the plainest form: zones are lists of words, a page is valid if the map says
//! so, and everything else is found by search. Published semantics, user writes in requests. It
//! uses the same schemes and policies, so it checks the log alone.

use std::collections::HashMap;

use bytemuck::Zeroable;
use frostline_log::{
    Capacity, ChunkShape, Counts, LogError, MAX_LBA, Options, WORD_LAST, ZoneTable,
};
use frostline_placement::{
    AnyScheme, Choice, Pages, Relocation, Request, Scheme, UserWrite, Victim, VictimPolicy,
    ZoneEvent,
};

/// The word of a slot that was left unused; no page has this LBA.
const UNUSED: u32 = MAX_LBA;

/// The word of a slot that pads a chunk; no page has this LBA.
const PADDING: u32 = MAX_LBA - 1;

/// A zone, and an index in it.
type Place = (u32, usize);

/// A record: the word of its page, and its units.
type Record = (u32, usize);

/// A write of a page by the user.
pub(crate) struct PageWrite {
    /// The LBA of the page, and whether this is its last write.
    pub word: u32,
    /// Units of the record.
    pub units: u32,
    /// 0 for an image, 1 for a delta, 2 for a tail.
    pub kind: u32,
    pub lifespan: u32,
    /// Pages of the request that begins with this write.
    pub request: Option<u32>,
    /// Pages of the same request that follow, 3 at most.
    pub following: u8,
    /// Units of the images that merges of this version of the page make, one after the other.
    pub merged: Vec<u32>,
}

pub(crate) struct Model {
    scheme: AnyScheme,
    policy: Box<dyn VictimPolicy>,
    options: Options,
    /// The records in each zone, in the order in which they were written.
    zones: Vec<Vec<Record>>,
    /// The open zone of each class.
    open: Vec<Option<u32>>,
    /// Free zones; the last one is taken next.
    free: Vec<u32>,
    map: HashMap<u32, Place>,
    /// Units of the pages in the map.
    units: HashMap<u32, usize>,
    /// The sum of these units.
    valid_units: usize,
    states: HashMap<u32, <AnyScheme as Scheme>::Page>,
    /// Lengths of the images that the next merges of each page make. The last one is used again and
    /// again.
    merged: HashMap<u32, Vec<u32>>,
    /// The zones, as schemes and policies see them.
    table: ZoneTable,
    /// The records of each class's chunk: their units, and whether they are images.
    in_chunk: Vec<Vec<(usize, bool)>>,
    /// Pages of the device that the earlier chunks of each class's zone take.
    pages: Vec<usize>,
    /// How many of these ended because their headers were full.
    full_headers: Vec<usize>,
    /// Units that pad each zone's chunks which a sync ended.
    early: HashMap<u32, usize>,
    /// Zones that were cleaned since the last sync for resets.
    unreset: u32,
    cleaning: bool,
    /// The LBA whose page is shown to the scheme at the next user write.
    turn: u32,
    /// The first LBA of the stretch that comes after the one in turn.
    after: u32,
    /// The number of stretches of LBAs that were shown before.
    stretches: u32,
    /// The largest LBA that was written.
    last: u32,
    pub now: u32,
    pub counts: Counts,
}

impl Model {
    pub(crate) fn new(
        options: Options,
        scheme: impl Scheme,
        policy: Box<dyn VictimPolicy>,
    ) -> Self {
        let scheme = AnyScheme::of(scheme).expect("a page state of so many words");
        let classes = scheme.classes();
        let zone_pages = options.zone_pages - scheme.wants().meta_pages;
        let options = Options { zone_pages, ..options };
        let mut model = Model {
            scheme,
            policy,
            options,
            zones: vec![Vec::new()],
            open: vec![None; classes],
            free: Vec::new(),
            map: HashMap::new(),
            units: HashMap::new(),
            valid_units: 0,
            states: HashMap::new(),
            merged: HashMap::new(),
            table: ZoneTable::new(options.zone_pages * options.page_units),
            in_chunk: vec![Vec::new(); classes],
            pages: vec![0; classes],
            full_headers: vec![0; classes],
            early: HashMap::new(),
            unreset: 0,
            cleaning: false,
            turn: 0,
            after: 0,
            stretches: 0,
            last: 0,
            now: options.start,
            counts: Counts {
                victim_garbage: vec![0; (options.zone_pages * options.page_units) as usize + 1],
                classes: vec![Default::default(); classes],
                ..Counts::default()
            },
        };
        if let Some(zones) = options.capacity.zones() {
            (0..zones).for_each(|_| model.add_zone());
            model.free.reverse();
        }
        model
    }

    pub(crate) fn place_of(&self, lba: u32) -> Option<Place> {
        self.map.get(&lba).copied()
    }

    /// Writes a page, and cleans when the trigger asks.
    pub(crate) fn write(&mut self, write: PageWrite) -> Result<(), LogError> {
        let page = write.word & MAX_LBA;
        let (lba, units) = self.record_of(page, &write);
        let PageWrite { word, lifespan, request, following, merged, .. } = write;
        if let Some(pages) = request {
            let request = Request { lba, pages, now: self.now, valid: self.map.len() as u64 };
            self.scheme.on_request(&request);
        }
        let old = self.map.get(&lba).map_or(0, |place| place.0);
        self.now = self.now.wrapping_add(1);
        let write = UserWrite {
            lba,
            now: self.now,
            first: old == 0,
            zone: old,
            offset: self.map.get(&lba).map_or(0, |place| place.1 as u32) / self.options.page_units,
            class: self.table.class(old),
            valid: self.map.len() as u64,
            last: word & WORD_LAST != 0,
            lifespan,
            following,
            kind: self.options.kind(lba.into()),
            hotness: None,
        };
        if self.scheme.wants().others {
            let at = |lba: u32| self.states.get(&lba).filter(|_| self.map.contains_key(&lba));
            self.scheme.on_neighbour(at(lba + 1), self.now);
            if let Some(page) = at(self.turn) {
                self.scheme.on_survey(page, self.now);
            }
            self.last = self.last.max(lba);
            self.turn += 1;
            if self.turn.is_multiple_of(8) || self.turn > self.last {
                self.turn = self.after;
                // The stretch of eight after that, at a multiple of the golden ratio.
                self.stretches = self.stretches.wrapping_add(1);
                let part = self.stretches.wrapping_mul(0x9e37_79b9);
                let stretches = u64::from(self.last / 8 + 1);
                self.after = (u64::from(part) * stretches / (1 << 32)) as u32 * 8;
            }
        }
        let state = self.states.entry(lba).or_insert_with(Zeroable::zeroed);
        let class = self.scheme.place_user(&write, state);
        self.counts.user_writes += 1;
        self.counts.delta_writes += u64::from(lba > page);
        if self.options.page_units > 1 {
            self.counts.user_units += u64::from(units);
        }
        self.append((word - page + lba, units as usize), class)?;
        self.merged.insert(page, merged);
        let parts = self.parts(page);
        parts.iter().filter(|&&part| part > lba).for_each(|&part| self.forget(part));
        for part in parts.into_iter().filter(|&part| part < lba) {
            // It is a part of this version.
            let (zone, offset) = self.map[&part];
            self.record_at(zone, offset).0 |= word & WORD_LAST;
        }
        while self.is_due() {
            self.seal_stale();
            if !self.clean()? {
                self.counts.stalls += 1;
                break;
            }
        }
        Ok(())
    }

    /// The LBAs of a page's records.
    fn parts(&self, page: u32) -> Vec<u32> {
        match self.options.first_delta {
            None => vec![page],
            Some(first) => vec![page, page + first, page + 2 * first],
        }
    }

    /// The LBA and the units of the record that a write of a page makes.
    fn record_of(&self, page: u32, write: &PageWrite) -> (u32, u32) {
        let &PageWrite { units, kind, .. } = write;
        let [_, delta, tail] = self.parts(page)[..] else { return (page, units) };
        match self.units.get(&page).map(|&base| base as u32) {
            Some(base) if kind > 0 && units >= base => (page, base),
            Some(_) if kind == 2 && self.map.contains_key(&delta) => (tail, units),
            Some(_) if kind > 0 => (delta, units),
            _ => (page, units),
        }
    }

    /// The record that begins at an offset; padding may take no units.
    fn record_at(&mut self, zone: u32, offset: usize) -> &mut Record {
        let mut end = 0;
        let mut records = self.zones[zone as usize].iter_mut();
        let found = records.find(|record| {
            let begin = end;
            end += record.1;
            begin == offset && end > offset
        });
        found.unwrap()
    }

    /// Forgets a page, as if it had never been written.
    pub(crate) fn trim(&mut self, page: u32) {
        self.parts(page).into_iter().for_each(|part| self.forget(part));
    }

    fn forget(&mut self, lba: u32) {
        let page = self.states.remove(&lba).filter(|_| self.map.contains_key(&lba));
        self.scheme.on_trim(lba, page.as_ref(), self.now);
        self.map.remove(&lba);
        self.valid_units -= self.units.remove(&lba).unwrap_or(0);
    }

    fn is_due(&self) -> bool {
        let (written, garbage) = self.totals();
        let dirty = |gp| garbage as f64 / written as f64 > gp;
        match self.options.capacity {
            Capacity::Elastic { gp } => dirty(gp),
            Capacity::Fixed { .. } => self.lacks_zones(),
            Capacity::Bounded { gp, .. } => dirty(gp) || self.lacks_zones(),
        }
    }

    fn lacks_zones(&self) -> bool {
        match self.options.capacity {
            Capacity::Elastic { .. } => false,
            Capacity::Fixed { reserve, .. } | Capacity::Bounded { reserve, .. } => {
                self.free.len() < reserve as usize
            }
        }
    }

    /// Seals open zones that have no room for a page, if at most one zone is free. If the scheme
    /// wants that, also those that hardly fill, and the one with the most garbage if a quarter of
    /// all garbage lies in open zones and no sealed zone has as much.
    fn seal_stale(&mut self) {
        let is_last = self.free.len() < 2 && self.options.capacity.zones().is_some();
        let seals_stale = self.scheme.wants().seals_stale;
        for class in 0..self.open.len() {
            let is_short = is_last && self.room(class) < self.options.page_units as usize;
            let ends = |&zone: &u32| is_short || seals_stale && self.is_stale(zone);
            let Some(zone) = self.open[class].filter(ends) else { continue };
            self.end(class, zone);
        }
        if !seals_stale {
            return;
        }
        let open = self.open.iter().enumerate();
        let open = open.filter_map(|(class, zone)| zone.map(|zone| (class, zone)));
        let open: Vec<_> = open.map(|(class, zone)| (self.garbage(zone), class, zone)).collect();
        let (_, garbage) = self.totals();
        let slots = self.options.zone_pages * self.options.page_units;
        if let Some(&(most, class, zone)) = open.iter().max()
            && 4 * open.iter().map(|zone| zone.0).sum::<usize>() >= garbage
            && most > self.most_in_sealed()
            && most >= slots as usize / 16
            && self.has_more_garbage(zone)
        {
            // Its age counts from its opening.
            self.end_since(class, zone, self.table.opened_at(zone));
        }
    }

    fn most_in_sealed(&self) -> usize {
        let zones = 1..self.zones.len() as u32;
        let sealed = zones.filter(|&zone| !self.open.contains(&Some(zone)));
        sealed.map(|zone| self.garbage(zone)).max().unwrap_or(0)
    }

    fn is_stale(&self, zone: u32) -> bool {
        let age = self.now.wrapping_sub(self.table.opened_at(zone)) as usize;
        age > self.map.len() && self.has_more_garbage(zone)
    }

    fn has_more_garbage(&self, zone: u32) -> bool {
        let (written, garbage) = self.totals();
        self.garbage(zone) * written > garbage * (self.used(zone) - self.padding(zone))
    }

    fn clean(&mut self) -> Result<bool, LogError> {
        let victims = self.choose();
        self.cleaning = true;
        for &zone in &victims {
            self.relocate(zone)?;
            self.reset_if_due();
            self.reclaim(zone);
        }
        self.cleaning = false;
        Ok(!victims.is_empty())
    }

    /// Before as many cleaned zones wait to be reset as there are spare ones, a sync ends all
    /// chunks.
    fn reset_if_due(&mut self) {
        let Some(shape) = self.options.chunks else { return };
        if self.unreset >= self.options.spare.max(1) {
            self.unreset = 0;
            for class in 0..self.open.len() {
                let Some(zone) = self.open[class] else { continue };
                let before = self.padding(zone);
                self.end_chunk(shape, class);
                *self.early.entry(zone).or_default() += self.padding(zone) - before;
                if self.open[class].is_some() && self.room(class) == 0 {
                    self.seal(class, zone);
                }
            }
        }
        self.unreset += 1;
    }

    fn choose(&mut self) -> Vec<u32> {
        self.counts.cleanings += 1;
        self.show_garbage();
        let zones = self.table.view(self.now).with_short_living(self.scheme.short_living());
        let zones = zones.with_least_garbage(self.options.page_units);
        let mut choice = Choice::default();
        self.scheme.pick(&zones, &mut *self.policy, &mut choice);
        let Choice { mut victims, relabelled } = choice;
        if victims.is_empty() && self.lacks_zones() {
            victims.extend(self.most_padded());
        }
        if !self.can_open() {
            let rest = self.options.page_units as usize - 1;
            let chunk = self.options.chunks.map_or(0, |shape| shape.pages as usize);
            let ends = if chunk > 0 { 2 } else { 1 };
            let usable = |units: usize| units.saturating_sub(ends * rest);
            let mut room: usize = (0..self.open.len()).map(|class| usable(self.room(class))).sum();
            victims.retain(|&zone| {
                let valid = self.used(zone) - self.garbage(zone);
                let valid = valid + valid.checked_div(chunk).unwrap_or(0) * rest;
                let fits = valid <= room;
                room = if fits { room - valid + usable(self.zone_units()) } else { room };
                fits
            });
        }
        for &zone in &victims {
            let garbage = self.garbage(zone);
            self.counts.victim_garbage[garbage] += 1;
        }
        for (zone, class) in relabelled {
            self.table.relabel(zone, class);
        }
        victims
    }

    /// The sealed zone that gives the most units, the garbage of its records and what pads its
    /// chunks, if these are a quarter of a zone and a page for each class and two more.
    fn most_padded(&self) -> Option<u32> {
        let page = self.options.page_units as usize;
        let sealed = (1..self.zones.len() as u32).filter(|&zone| {
            !self.zones[zone as usize].is_empty() && !self.open.contains(&Some(zone))
        });
        let early = |zone| self.early.get(&zone).copied().unwrap_or(0);
        let most = sealed.map(|zone| (self.garbage(zone) + early(zone), zone)).max();
        let least = (self.zone_units() / 4).max((self.open.len() + 2) * page);
        most.filter(|&(gain, _)| page > 1 && gain >= least).map(|(_, zone)| zone)
    }

    fn relocate(&mut self, zone: u32) -> Result<(), LogError> {
        let victim = self.event(zone);
        self.scheme.on_victim(&victim, &self.table.view(self.now));
        let together = self.scheme.destination(&victim);
        let records = self.valid(zone);
        let lbas: Vec<_> = records.iter().map(|(word, _)| word & MAX_LBA).collect();
        let ZoneEvent { zone, class, now } = victim;
        let mut classes = vec![together.map(|class| class as u8); lbas.len()];
        if self.scheme.wants().batches && together.is_none() {
            let states: Vec<_> = lbas.iter().map(|lba| self.states[lba]).collect();
            let last: Vec<_> = records.iter().map(|(word, _)| word & WORD_LAST != 0).collect();
            let pages = Pages { lbas: &lbas, states: &states, hotness: None, last: &last };
            let victim = Victim { zone, class, now, valid: self.map.len() as u64 };
            self.scheme.place_batch(&victim, &pages, &mut classes);
        }
        let places: Vec<_> = lbas.iter().map(|lba| self.map[lba]).collect();
        let valid = records.into_iter().zip(lbas).zip(classes).zip(places);
        for (((record, lba), class), place) in valid {
            if self.place_of(lba) != Some(place) {
                // It was merged into the page's image.
                continue;
            }
            let class = class.map(usize::from).unwrap_or_else(|| {
                let last = record.0 & WORD_LAST != 0;
                let relocation = Relocation { lba, now, zone, class: victim.class, last };
                self.scheme.place_relocation(&relocation, self.states.get_mut(&lba).unwrap())
            });
            self.counts.relocations += 1;
            self.counts.frozen_relocations += u64::from(record.0 & WORD_LAST != 0);
            let merged = self.merge(lba, record.1);
            let units = merged.unwrap_or(record.1);
            if self.options.page_units > 1 {
                self.counts.relocated_units += units as u64;
            }
            self.append((record.0, units), class)?;
            if merged.is_some() {
                self.counts.merges += 1;
                self.parts(lba)[1..].iter().for_each(|&part| self.forget(part));
            }
        }
        Ok(())
    }

    /// Units of the image that a base makes with its delta and tail, if they are merged.
    fn merge(&mut self, lba: u32, base: usize) -> Option<usize> {
        let is_image = self.options.first_delta.is_some_and(|first| lba < first);
        let parts = if is_image { self.parts(lba) } else { Vec::new() };
        let delta = parts.get(1)?;
        if !self.map.contains_key(delta) || !self.can_open() {
            return None;
        }
        let room: usize = parts.iter().filter_map(|part| self.units.get(part)).sum();
        let merged = match self.merged.get_mut(&lba) {
            Some(next) if next.len() > 1 => next.remove(0) as usize,
            Some(next) => next.first().map_or(base, |&units| units as usize),
            None => base,
        };
        (merged <= room).then_some(merged)
    }

    fn reclaim(&mut self, zone: u32) {
        let victim = self.event(zone);
        self.counts.zones_reclaimed += 1;
        self.zones[zone as usize].clear();
        self.early.remove(&zone);
        self.table.free(zone);
        self.free.push(zone);
        self.scheme.on_reclaimed(&victim);
    }

    fn append(&mut self, record: Record, class: usize) -> Result<(), LogError> {
        let class = self.class_with_room(class, record.1)?;
        let zone = self.open[class].unwrap();
        let lba = record.0 & MAX_LBA;
        self.map.insert(lba, (zone, self.used(zone)));
        self.valid_units += record.1;
        self.valid_units -= self.units.insert(lba, record.1).unwrap_or(0);
        self.zones[zone as usize].push(record);
        match self.cleaning {
            true => self.counts.classes[class].relocations += 1,
            false => self.counts.classes[class].user_writes += 1,
        }
        if let Some(shape) = self.options.chunks {
            let is_image = self.options.first_delta.is_none_or(|first| lba < first);
            self.add_to_chunk(shape, class, (record.1, is_image));
        }
        if self.open[class].is_some() && self.room(class) == 0 {
            self.seal(class, zone);
        }
        Ok(())
    }

    /// Adds a record to its class's chunk, and ends this where there is no room for another.
    fn add_to_chunk(&mut self, shape: ChunkShape, class: usize, record: (usize, bool)) {
        self.in_chunk[class].push(record);
        let most = (shape.device_pages as usize - self.pages[class] - 1).min(shape.pages as usize);
        let chunk = &self.in_chunk[class];
        let page = shape.page_units as usize;
        let is_full = has_full_header(shape, chunk) || units_of(chunk) + page > most * page;
        if is_full && self.room(class) > 0 {
            self.end_chunk(shape, class);
        }
    }

    /// Ends the chunk of a class, if it has one, and the zone, where no other one fits behind it.
    fn end_chunk(&mut self, shape: ChunkShape, class: usize) {
        let chunk = std::mem::take(&mut self.in_chunk[class]);
        let Some(zone) = self.open[class].filter(|_| !chunk.is_empty()) else { return };
        let page = shape.page_units as usize;
        self.full_headers[class] += usize::from(has_full_header(shape, &chunk));
        self.pages[class] += (header_of(shape, &chunk) + units_of(&chunk)).div_ceil(page);
        self.pad(zone, self.room(class) % page);
        if self.room(class) > 0 && shape.device_pages as usize - self.pages[class] < 2 {
            self.pad(zone, self.room(class).min(self.full_headers[class] * page));
            if self.room(class) > 0 {
                self.end(class, zone);
            }
        }
    }

    fn pad(&mut self, zone: u32, units: usize) {
        self.counts.skipped += units as u64;
        self.zones[zone as usize].push((PADDING, units));
    }

    /// `class`, if need be and allowed with a new zone; else the first of the classes with the most
    /// room.
    fn class_with_room(&mut self, class: usize, units: usize) -> Result<usize, LogError> {
        if self.room(class) >= units {
            return Ok(class);
        }
        let most = (0..self.open.len()).map(|c| self.room(c)).max().unwrap();
        if self.can_open() && (self.cleaning || most < units || !self.is_last()) {
            if let Some(zone) = self.open[class] {
                self.end(class, zone);
            }
            self.open(class);
            return Ok(class);
        }
        if most < units {
            return Err(self.full());
        }
        self.counts.spilled += 1;
        Ok((0..self.open.len()).find(|&c| self.room(c) == most).unwrap())
    }

    fn open(&mut self, class: usize) {
        if self.free.is_empty() {
            self.add_zone();
        }
        let zone = self.free.pop().unwrap();
        self.open[class] = Some(zone);
        self.in_chunk[class].clear();
        (self.pages[class], self.full_headers[class]) = (0, 0);
        self.table.open(zone, class, self.now);
        self.scheme.on_opened(&self.event(zone));
    }

    /// Seals a zone before it is full.
    fn end(&mut self, class: usize, zone: u32) {
        self.end_since(class, zone, self.now);
    }

    fn end_since(&mut self, class: usize, zone: u32, since: u32) {
        let room = self.room(class);
        self.counts.skipped += room as u64;
        self.zones[zone as usize].push((UNUSED, room));
        self.seal_since(class, zone, since);
    }

    fn seal(&mut self, class: usize, zone: u32) {
        self.seal_since(class, zone, self.now);
    }

    fn seal_since(&mut self, class: usize, zone: u32, since: u32) {
        // Schemes do not see the pages that a victim has already lost in the present cleaning.
        if !self.cleaning {
            self.show_garbage();
        }
        self.open[class] = None;
        self.table.seal(zone, since);
        self.counts.meta_pages += u64::from(self.scheme.wants().meta_pages);
        self.scheme.on_sealed(&self.event(zone), &self.table.view(self.now));
    }

    fn add_zone(&mut self) {
        self.free.push(self.table.add());
        self.zones.push(Vec::new());
    }

    fn show_garbage(&mut self) {
        for zone in (1..self.zones.len() as u32).filter(|&z| !self.zones[z as usize].is_empty()) {
            let more = self.garbage(zone) as u32 - self.table.garbage(zone);
            self.table.discard(zone, more);
        }
    }

    fn valid(&self, zone: u32) -> Vec<Record> {
        let mut offset = 0;
        let mut valid = Vec::new();
        for &(word, units) in &self.zones[zone as usize] {
            if self.place_of(word & MAX_LBA) == Some((zone, offset)) {
                valid.push((word, units));
            }
            offset += units;
        }
        valid
    }

    /// Written units without padding, and garbage units among them.
    fn totals(&self) -> (usize, usize) {
        let written: usize = (0..self.zones.len() as u32).map(|zone| self.used(zone)).sum();
        let padding: usize = (0..self.zones.len() as u32).map(|zone| self.padding(zone)).sum();
        (written - padding, written - padding - self.valid_units)
    }

    fn padding(&self, zone: u32) -> usize {
        let records = self.zones[zone as usize].iter();
        records.filter(|record| record.0 == PADDING).map(|record| record.1).sum()
    }

    fn used(&self, zone: u32) -> usize {
        self.zones[zone as usize].iter().map(|record| record.1).sum()
    }

    fn garbage(&self, zone: u32) -> usize {
        let valid: usize = self.valid(zone).iter().map(|record| record.1).sum();
        self.used(zone) - valid - self.padding(zone)
    }

    fn zone_units(&self) -> usize {
        (self.options.zone_pages * self.options.page_units) as usize
    }

    fn room(&self, class: usize) -> usize {
        self.open[class].map_or(0, |zone| self.zone_units() - self.used(zone))
    }

    fn can_open(&self) -> bool {
        !self.free.is_empty() || self.options.capacity.zones().is_none()
    }

    /// True if only one zone is free, which is kept for cleaning.
    fn is_last(&self) -> bool {
        self.free.len() == 1 && self.options.capacity.zones().is_some()
    }

    pub(crate) fn has_room(&self) -> bool {
        let most = (0..self.open.len()).map(|class| self.room(class)).max();
        self.can_open() || most.unwrap() >= self.options.page_units as usize
    }

    pub(crate) fn full(&self) -> LogError {
        let slots = (self.zones.len() - 1) as u64 * self.zone_units() as u64;
        LogError::Full { valid: self.map.len() as u64, slots }
    }

    fn event(&self, zone: u32) -> ZoneEvent {
        self.table.event(zone, self.now)
    }
}

/// Units of a chunk's records.
fn units_of(chunk: &[(usize, bool)]) -> usize {
    chunk.iter().map(|record| record.0).sum()
}

/// Bytes of the rows in a chunk's header.
fn rows_of(shape: ChunkShape, chunk: &[(usize, bool)]) -> usize {
    let row = |record: &(usize, bool)| shape.row + if record.1 { shape.hotness } else { 0 };
    chunk.iter().map(|record| row(record) as usize).sum()
}

/// Units of a chunk's header.
fn header_of(shape: ChunkShape, chunk: &[(usize, bool)]) -> usize {
    (shape.head as usize + rows_of(shape, chunk)).div_ceil(shape.unit as usize)
}

/// True if a chunk's header takes no more records: as many images as it has room for, or with
/// deltas if another image might not fit, or two thirds are full and of the last page hardly any
/// bytes are left.
fn has_full_header(shape: ChunkShape, chunk: &[(usize, bool)]) -> bool {
    if chunk.iter().all(|record| record.1) {
        return chunk.len() == shape.pages as usize;
    }
    let page = shape.page_units as usize;
    let (room, used) = (page * shape.unit as usize - shape.head as usize, rows_of(shape, chunk));
    let over = (header_of(shape, chunk) + units_of(chunk)) % page;
    let left = if over == 0 { 0 } else { page - over };
    let is_next = used + (shape.row + shape.hotness) as usize <= room;
    !is_next || used > room * 2 / 3 && left * shape.unit as usize <= 128
}
