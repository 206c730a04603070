//! The log step by step, for a driver whose writes take time.
//!
//! A placement reserves a slot; a commit, when the page is written there, makes it the page's
//! valid copy. In between the old copy stays valid. A relocation counts only if the page was not
//! written again meanwhile. A zone is sealed when it is full and none of its pages is in flight.

use bytemuck::Zeroable;
use frostline_placement::{Hotness, NEVER, Pages, Request, Scheme, UserWrite};

use crate::cleaning::relocation;
use crate::map::{Entry, Map};
use crate::volume::{Cursor, Volume};
use crate::{LogError, MAX_LBA, WORD_LAST};

/// A physical page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    /// Zone, from 1.
    pub zone: u32,
    /// Page in the zone, from 0.
    pub offset: u32,
}

/// A page that has a slot, and is being written there.
#[derive(Clone, Copy, Debug)]
#[must_use = "a placed page must be committed, or its zone is never sealed"]
pub struct Ticket<P> {
    /// The page.
    pub lba: u32,
    /// Where it goes.
    pub slot: Slot,
    /// Its class.
    pub class: usize,
    /// The copy it is made from, if this is a relocation.
    pub from: Option<Slot>,
    /// How often that copy's zone had been reset: in a later life its slot is another.
    resets: u32,
    /// True for a user write of a page that had no valid copy yet.
    first: bool,
    page: P,
}

impl<S: Scheme, M: Map<S::Page>> Volume<S, M> {
    /// Places a page written by the user, a request of its own, with what the engine tells of it.
    /// Does not clean: see [`Volume::begin_cleaning`].
    ///
    /// # Errors
    /// An LBA beyond the volume; a volume that already holds its logical pages, or has no slot.
    pub fn place_user(
        &mut self,
        lba: u32,
        hotness: Option<&Hotness>,
    ) -> Result<Ticket<S::Page>, LogError> {
        self.check_lba(lba)?;
        let first = self.map.entry(lba).slot >> self.shift == 0;
        if !self.has_room() || first && self.valid + self.firsts >= self.options.logical_pages {
            return Err(self.full());
        }
        if S::PER_REQUEST {
            let (now, valid) = (self.now, self.valid);
            self.scheme.on_request(&Request { lba, pages: 1, now, valid });
        }
        self.now = self.now.wrapping_add(1);
        self.sweep_if_due();
        let mut entry = self.map.entry(lba);
        let old = entry.slot >> self.shift;
        let write = UserWrite {
            lba,
            now: self.now,
            first,
            zone: old,
            class: self.zones.class(old),
            valid: self.valid,
            last: false,
            lifespan: NEVER,
            hotness,
        };
        let class = self.scheme.place_user(&write, &mut entry.page);
        self.map.set(lba, entry);
        let class = self.class_for_user(class)?;
        self.counts.user_writes += 1;
        self.counts.classes[class].user_writes += 1;
        let slot = self.reserve(lba, class)?;
        self.firsts += u64::from(first);
        Ok(Ticket { lba, slot, class, from: None, resets: 0, first, page: entry.page })
    }

    /// The page is written: its slot is its valid copy from now on.
    pub fn commit_user(&mut self, ticket: Ticket<S::Page>) {
        let old = self.map.entry(ticket.lba).slot;
        // A copy of the old version may have put back the state from before this write.
        let entry = Entry { slot: self.number(ticket.slot), page: ticket.page };
        self.map.set(ticket.lba, entry);
        self.firsts -= u64::from(ticket.first);
        if old >> self.shift == 0 {
            self.valid += 1;
        } else {
            self.discard(old >> self.shift);
        }
        self.settle_pending(ticket.slot.zone);
    }

    /// The page is no longer needed: its slot is garbage, and it is as if it had never been
    /// written: its next write is a first one. Takes no time, and cleaning waits for the next write.
    /// False if the page has no slot.
    ///
    /// # Errors
    /// An LBA beyond the volume.
    pub fn trim(&mut self, lba: u32) -> Result<bool, LogError> {
        self.check_lba(lba)?;
        self.scheme.on_trim(lba);
        let entry = self.map.entry(lba);
        self.map.set(lba, Entry::zeroed());
        if entry.slot >> self.shift != 0 {
            self.valid -= 1;
            self.discard(entry.slot >> self.shift);
        }
        Ok(entry.slot != 0)
    }

    /// Chooses victims, if cleaning is due and there are any. Their valid pages are to be placed
    /// with [`Volume::place_relocation`], and then each is to be released.
    pub fn begin_cleaning(&mut self) -> Vec<u32> {
        if !self.cleaning_due() {
            return Vec::new();
        }
        self.choose_victims();
        for i in 0..self.victims.len() {
            let zone = self.victims[i];
            let victim = self.event(zone);
            self.scheme.on_victim(&victim, &self.zones.view(self.now));
        }
        if self.victims.is_empty() {
            self.counts.stalls += 1;
        }
        self.victims.clone()
    }

    /// The classes that the scheme gives the valid pages of a victim at once: of some, of all, or of
    /// none if it is not asked about batches ([`Scheme::BATCHED`]).
    pub fn place_batch(&mut self, zone: u32, pages: &Pages<'_, S::Page>) -> Vec<Option<u8>> {
        let mut classes = vec![None; pages.lbas.len()];
        let event = self.event(zone);
        if self.scheme.is_batched() && self.scheme.destination(&event).is_none() {
            let victim = self.victim(zone);
            self.scheme.place_batch(&victim, pages, &mut classes);
        }
        classes
    }

    /// Places a valid page of a victim, which has the class that [`Volume::place_batch`] gave it, if it
    /// gave one; none if the page was written again since.
    ///
    /// # Errors
    /// No slot is left.
    pub fn place_relocation(
        &mut self,
        lba: u32,
        from: Slot,
        class: Option<u8>,
    ) -> Result<Option<Ticket<S::Page>>, LogError> {
        if self.slot_of(lba) != Some(from) {
            return Ok(None);
        }
        let victim = self.event(from.zone);
        let mut page = self.map.entry(lba).page;
        let class = match class.map(usize::from).or_else(|| self.scheme.destination(&victim)) {
            Some(class) => class,
            None => self.scheme.place_relocation(&relocation(&victim, lba), &mut page),
        };
        let class = self.class_with_room(class)?;
        let place = self.base(from.zone) + from.offset as usize;
        let word = self.words.get(place).copied().unwrap_or(lba);
        self.counts.relocations += 1;
        self.counts.frozen_relocations += u64::from(word / WORD_LAST);
        self.counts.classes[class].relocations += 1;
        let slot = self.reserve(word, class)?;
        let resets = self.zones.resets(from.zone);
        Ok(Some(Ticket { lba, slot, class, from: Some(from), resets, first: false, page }))
    }

    /// The copy is written: it is the page's valid copy, unless the page was written again since;
    /// then it is garbage, and the answer is false.
    pub fn commit_relocation(&mut self, ticket: Ticket<S::Page>) -> bool {
        let Some(from) = ticket.from else {
            return false;
        };
        let current = self.map.entry(ticket.lba).slot == self.number(from)
            && self.zones.resets(from.zone) == ticket.resets;
        if current {
            let entry = Entry { slot: self.number(ticket.slot), page: ticket.page };
            self.map.set(ticket.lba, entry);
            self.discard(from.zone);
        } else {
            self.discard(ticket.slot.zone);
        }
        self.settle_pending(ticket.slot.zone);
        current
    }

    /// The victim's pages are all copied and it may be reset: it is free again. False, and
    /// nothing happens, while it holds a valid page.
    pub fn release(&mut self, zone: u32) -> bool {
        let all_garbage = self.zones.garbage(zone) == self.options.zone_pages;
        let emptied = all_garbage && self.zones.is_sealed(zone);
        if emptied {
            self.reclaim(zone);
        }
        emptied
    }

    /// Takes the next slot of a class that has room, and that has counted the page.
    fn reserve(&mut self, word: u32, class: usize) -> Result<Slot, LogError> {
        self.settle(class);
        let cursor = &mut self.open[class];
        let number = cursor.slot;
        if let Some(place) = self.words.get_mut(cursor.place()) {
            *place = word;
        }
        cursor.slot += 1;
        cursor.counted = cursor.slot;
        let slot = self.slot(number);
        self.pending[slot.zone as usize] += 1;
        self.written += 1;
        if self.is_full(class) {
            self.close_zone(class)?;
        }
        Ok(slot)
    }

    /// The number of a slot, as it stands in the map.
    pub fn number(&self, slot: Slot) -> u32 {
        (slot.zone << self.shift) + slot.offset
    }

    /// A copy in this zone became garbage.
    fn discard(&mut self, zone: u32) {
        self.zones.discard(zone, 1);
        self.garbage += 1;
    }

    /// A page of this zone is no longer in flight; a zone that was closed meanwhile is sealed.
    fn settle_pending(&mut self, zone: u32) {
        self.pending[zone as usize] -= 1;
        let of_zone = |c: &Cursor| !c.is_closed() && (c.end - 1) >> self.shift == zone;
        let is_open = self.open.iter().any(of_zone);
        if self.pending[zone as usize] == 0 && !is_open {
            self.seal_zone(zone);
        }
    }
}

impl<S: Scheme> Volume<S> {
    /// The valid pages of a zone, in slot order, into `pages`. A driver that keeps the map keeps
    /// what lies in a zone as well, and asks [`Volume::slot_of`].
    pub fn valid_pages_of(&self, zone: u32, pages: &mut Vec<(u32, Slot)>) {
        pages.clear();
        let all = (0..self.options.zone_pages).map(|offset| {
            let slot = Slot { zone, offset };
            (self.words[self.base(zone) + offset as usize] & MAX_LBA, slot)
        });
        pages.extend(all.filter(|&(lba, slot)| self.slot_of(lba) == Some(slot)));
    }
}
