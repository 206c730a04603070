//! The log again, as plainly as it can be said: zones are lists of words, a page is valid if the
//! map says so, and everything else is found by searching. Published semantics, user writes in
//! requests. It asks the same schemes and policies, so what it checks is the log.

use std::collections::HashMap;

use bytemuck::Zeroable;
use frostline_log::{Capacity, Counts, LogError, MAX_LBA, Options, WORD_LAST, ZoneTable};
use frostline_placement::{
    Choice, Pages, Relocation, Request, Scheme, UserWrite, Victim, VictimPolicy, ZoneEvent,
};

/// The word of a slot that was left unused; no page has this LBA.
const UNUSED: u32 = MAX_LBA;

/// Zone, and place in it.
type Place = (u32, usize);

pub struct Model<S: Scheme> {
    scheme: S,
    policy: Box<dyn VictimPolicy>,
    options: Options,
    /// The words of the pages in each zone, in the order in which they were written.
    zones: Vec<Vec<u32>>,
    /// The open zone of each class.
    open: Vec<Option<u32>>,
    /// Free zones; the last is taken next.
    free: Vec<u32>,
    map: HashMap<u32, Place>,
    states: HashMap<u32, S::Page>,
    /// The zones, as schemes and policies see them.
    table: ZoneTable,
    cleaning: bool,
    /// The LBA whose page is shown to the scheme at the next user write.
    turn: u32,
    /// The largest LBA that was written.
    last: u32,
    pub now: u32,
    pub counts: Counts,
}

impl<S: Scheme> Model<S> {
    pub fn new(options: Options, scheme: S, policy: Box<dyn VictimPolicy>) -> Self {
        let classes = scheme.classes();
        let zone_pages = options.zone_pages - scheme.meta_pages();
        let options = Options { zone_pages, ..options };
        let mut model = Model {
            scheme,
            policy,
            options,
            zones: vec![Vec::new()],
            open: vec![None; classes],
            free: Vec::new(),
            map: HashMap::new(),
            states: HashMap::new(),
            table: ZoneTable::new(options.zone_pages),
            cleaning: false,
            turn: 0,
            last: 0,
            now: options.start,
            counts: Counts {
                victim_garbage: vec![0; options.zone_pages as usize + 1],
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

    pub fn place_of(&self, lba: u32) -> Option<Place> {
        self.map.get(&lba).copied()
    }

    /// Begins a request of the user.
    pub fn request(&mut self, lba: u32, pages: u32) {
        let request = Request { lba, pages, now: self.now, valid: self.map.len() as u64 };
        self.scheme.on_request(&request);
    }

    /// Writes a page, and cleans as the trigger asks.
    pub fn write(&mut self, word: u32, lifespan: u32) -> Result<(), LogError> {
        let lba = word & MAX_LBA;
        let old = self.map.get(&lba).map_or(0, |place| place.0);
        self.now = self.now.wrapping_add(1);
        let write = UserWrite {
            lba,
            now: self.now,
            first: old == 0,
            zone: old,
            offset: self.map.get(&lba).map_or(0, |place| place.1 as u32),
            class: self.table.class(old),
            valid: self.map.len() as u64,
            last: word & WORD_LAST != 0,
            lifespan,
            hotness: None,
        };
        if self.scheme.sees_others() {
            let at = |lba: u32| self.states.get(&lba).filter(|_| self.map.contains_key(&lba));
            self.scheme.on_neighbour(at(lba + 1), self.now);
            if let Some(page) = at(self.turn) {
                self.scheme.on_survey(page, self.now);
            }
            self.last = self.last.max(lba);
            self.turn = if self.turn < self.last { self.turn + 1 } else { 0 };
        }
        let state = self.states.entry(lba).or_insert_with(Zeroable::zeroed);
        let class = self.scheme.place_user(&write, state);
        self.counts.user_writes += 1;
        self.append(word, class)?;
        while self.is_due() {
            self.seal_stale();
            if !self.clean()? {
                self.counts.stalls += 1;
                break;
            }
        }
        Ok(())
    }

    /// Forgets a page, as if it had never been written.
    pub fn trim(&mut self, lba: u32) {
        self.scheme.on_trim(lba);
        self.map.remove(&lba);
        self.states.remove(&lba);
    }

    fn is_due(&self) -> bool {
        let written: usize = self.zones.iter().map(Vec::len).sum();
        let garbage = written - self.map.len();
        let dirty = |gp| garbage as f64 / written as f64 > gp;
        let short = |reserve| self.free.len() < reserve as usize;
        match self.options.capacity {
            Capacity::Elastic { gp } => dirty(gp),
            Capacity::Fixed { reserve, .. } => short(reserve),
            Capacity::Bounded { gp, reserve, .. } => dirty(gp) || short(reserve),
        }
    }

    /// Seals open zones as they are that hardly fill, if the scheme has it so.
    fn seal_stale(&mut self) {
        for class in 0..self.open.len() {
            let Some(zone) = self.open[class].filter(|&zone| self.is_stale(zone)) else { continue };
            self.counts.skipped += self.room(class) as u64;
            self.zones[zone as usize].resize(self.options.zone_pages as usize, UNUSED);
            self.seal(class, zone);
        }
    }

    fn is_stale(&self, zone: u32) -> bool {
        let written: usize = self.zones.iter().map(Vec::len).sum();
        let garbage = written - self.map.len();
        let age = self.now.wrapping_sub(self.table.opened_at(zone)) as usize;
        let here = (self.garbage(zone), self.zones[zone as usize].len());
        self.scheme.seals_stale() && age > self.map.len() && here.0 * written > garbage * here.1
    }

    fn clean(&mut self) -> Result<bool, LogError> {
        let victims = self.choose();
        self.cleaning = true;
        for &zone in &victims {
            self.relocate(zone)?;
            self.reclaim(zone);
        }
        self.cleaning = false;
        Ok(!victims.is_empty())
    }

    fn choose(&mut self) -> Vec<u32> {
        self.counts.cleanings += 1;
        self.show_garbage();
        let zones = self.table.view(self.now).with_short_living(self.scheme.short_living());
        let mut choice = Choice::default();
        self.scheme.pick(&zones, &mut *self.policy, &mut choice);
        let Choice { mut victims, relabelled } = choice;
        if !self.can_open() {
            let mut room: usize = (0..self.open.len()).map(|class| self.room(class)).sum();
            victims.retain(|&zone| {
                let fits = self.valid(zone).len() <= room;
                room += if fits { self.garbage(zone) } else { 0 };
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

    fn relocate(&mut self, zone: u32) -> Result<(), LogError> {
        let victim = self.event(zone);
        self.scheme.on_victim(&victim, &self.table.view(self.now));
        let together = self.scheme.destination(&victim);
        let words = self.valid(zone);
        let lbas: Vec<_> = words.iter().map(|word| word & MAX_LBA).collect();
        let ZoneEvent { zone, class, now } = victim;
        let mut classes = vec![together.map(|class| class as u8); lbas.len()];
        if S::BATCHED && together.is_none() {
            let states: Vec<_> = lbas.iter().map(|lba| self.states[lba]).collect();
            let pages = Pages { lbas: &lbas, states: &states, hotness: None };
            let victim = Victim { zone, class, now, valid: self.map.len() as u64 };
            self.scheme.place_batch(&victim, &pages, &mut classes);
        }
        for ((word, lba), class) in words.into_iter().zip(lbas).zip(classes) {
            let class = class.map(usize::from).unwrap_or_else(|| {
                let relocation = Relocation { lba, now, zone, class: victim.class };
                self.scheme.place_relocation(&relocation, self.states.get_mut(&lba).unwrap())
            });
            self.counts.relocations += 1;
            self.counts.frozen_relocations += u64::from(word & WORD_LAST != 0);
            self.append(word, class)?;
        }
        Ok(())
    }

    fn reclaim(&mut self, zone: u32) {
        let victim = self.event(zone);
        self.counts.zones_reclaimed += 1;
        self.zones[zone as usize].clear();
        self.table.free(zone);
        self.free.push(zone);
        self.scheme.on_reclaimed(&victim);
    }

    fn append(&mut self, word: u32, class: usize) -> Result<(), LogError> {
        let class = self.class_with_room(class)?;
        let zone = self.open[class].unwrap();
        let pages = &mut self.zones[zone as usize];
        self.map.insert(word & MAX_LBA, (zone, pages.len()));
        pages.push(word);
        match self.cleaning {
            true => self.counts.classes[class].relocations += 1,
            false => self.counts.classes[class].user_writes += 1,
        }
        if self.room(class) == 0 {
            self.seal(class, zone);
        }
        Ok(())
    }

    /// `class`, with a zone opened if need be and allowed; else, of the classes with the most room,
    /// the first.
    fn class_with_room(&mut self, class: usize) -> Result<usize, LogError> {
        if self.open[class].is_some() {
            return Ok(class);
        }
        let most = (0..self.open.len()).map(|c| self.room(c)).max().unwrap();
        if self.can_open() && (self.cleaning || most == 0 || !self.is_last()) {
            self.open(class);
            return Ok(class);
        }
        if most == 0 {
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
        self.table.open(zone, class, self.now);
        self.scheme.on_opened(&self.event(zone));
    }

    fn seal(&mut self, class: usize, zone: u32) {
        // Schemes do not see the pages that a victim has lost so far in the present cleaning.
        if !self.cleaning {
            self.show_garbage();
        }
        self.open[class] = None;
        self.table.seal(zone, self.now);
        self.counts.meta_pages += u64::from(self.scheme.meta_pages());
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

    fn valid(&self, zone: u32) -> Vec<u32> {
        let words = self.zones[zone as usize].iter().copied().enumerate();
        words
            .filter(|(k, word)| self.place_of(word & MAX_LBA) == Some((zone, *k)))
            .map(|p| p.1)
            .collect()
    }

    fn garbage(&self, zone: u32) -> usize {
        self.zones[zone as usize].len() - self.valid(zone).len()
    }

    fn room(&self, class: usize) -> usize {
        let zone = self.open[class].map(|zone| &self.zones[zone as usize]);
        zone.map_or(0, |words| self.options.zone_pages as usize - words.len())
    }

    fn can_open(&self) -> bool {
        !self.free.is_empty() || self.options.capacity.zones().is_none()
    }

    /// True if but one zone is free, which is kept for cleaning.
    fn is_last(&self) -> bool {
        self.free.len() == 1 && self.options.capacity.zones().is_some()
    }

    pub fn has_room(&self) -> bool {
        self.can_open() || self.open.iter().any(Option::is_some)
    }

    pub fn full(&self) -> LogError {
        let slots = (self.zones.len() - 1) as u64 * u64::from(self.options.zone_pages);
        LogError::Full { valid: self.map.len() as u64, slots }
    }

    fn event(&self, zone: u32) -> ZoneEvent {
        self.table.event(zone, self.now)
    }
}
