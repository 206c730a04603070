//! A driver of the log's steps that keeps the map, as a store does, of pages that take one slot.

use bytemuck::Zeroable;
use frostline_log::{Extent, Given, LogError, Map, Options, PageEntry, Placed, Slot, Steps, Units};
use frostline_placement::{PageState, Pages, Scheme, VictimPolicy};

/// The entries of all LBAs.
pub(crate) struct Entries<P>(Vec<PageEntry<P>>);

impl<P: PageState> Map<P> for Entries<P> {
    fn space(&self) -> u64 {
        self.0.len() as u64
    }

    fn peek(&self, lba: u64) -> Option<P> {
        self.0.get(lba as usize).filter(|entry| entry.slot != Slot::NONE).map(|entry| entry.page)
    }

    fn each_page(&mut self, visit: &mut dyn FnMut(&mut P)) {
        let written = self.0.iter_mut().filter(|entry| entry.slot != Slot::NONE);
        written.for_each(|entry| visit(&mut entry.page));
    }
}

pub(crate) struct Driver<S: Scheme> {
    pub steps: Steps<S, Entries<S::Page>>,
}

impl<S: Scheme> Driver<S> {
    pub(crate) fn new(
        options: Options,
        scheme: S,
        policy: Box<dyn VictimPolicy>,
    ) -> Result<Self, LogError> {
        let entries = Entries(vec![PageEntry::zeroed(); options.space as usize]);
        Ok(Driver { steps: Steps::over(options, scheme, policy, entries)? })
    }

    fn entry(&self, lba: u32) -> PageEntry<S::Page> {
        self.steps.map().0.get(lba as usize).copied().unwrap_or_else(Zeroable::zeroed)
    }

    fn put(&mut self, lba: u32, entry: PageEntry<S::Page>) {
        self.steps.map_mut().0[lba as usize] = entry;
    }

    pub(crate) fn slot_of(&self, lba: u32) -> Option<Slot> {
        Some(self.entry(lba).slot).filter(|&slot| slot != Slot::NONE)
    }

    /// Places a user write.
    pub(crate) fn place_user(&mut self, lba: u32) -> Result<Placed, LogError> {
        let mut entry = self.entry(lba);
        let placed = self.steps.place_user(lba.into(), &mut entry, Units::PAGE, 0, None)?;
        self.put(lba, entry);
        Ok(placed)
    }

    /// Places a relocation.
    pub(crate) fn place_relocation(
        &mut self,
        lba: u32,
        from: Slot,
        class: Option<u8>,
    ) -> Result<Option<Placed>, LogError> {
        let (mut entry, from) = (self.entry(lba), Extent::page(from));
        let given = Given { class, ..Given::default() };
        let placed = self.steps.place_relocation(lba.into(), &mut entry, from, 1, given)?;
        self.put(lba, entry);
        Ok(placed)
    }

    pub(crate) fn trim(&mut self, lba: u32) -> Result<bool, LogError> {
        let mut entry = self.entry(lba);
        let trimmed = self.steps.trim_entry(lba.into(), &mut entry, 1)?;
        self.put(lba, entry);
        Ok(trimmed)
    }

    /// All valid pages, by LBA.
    fn valid_pages(&self) -> impl Iterator<Item = (u32, Slot)> {
        let lbas = 0..self.steps.map().0.len() as u32;
        lbas.filter_map(|lba| Some((lba, self.slot_of(lba)?)))
    }

    /// The valid pages of a zone, in slot order.
    pub(crate) fn valid_pages_of(&self, zone: u32) -> Vec<(u32, Slot)> {
        let mut pages: Vec<_> = self.valid_pages().filter(|(_, slot)| slot.zone == zone).collect();
        pages.sort_by_key(|(_, slot)| slot.offset);
        pages
    }

    /// Lets the scheme place all valid pages of a victim at once.
    pub(crate) fn place_batch(&mut self, zone: u32, pages: &[(u32, Slot)]) -> Vec<Option<u8>> {
        let lbas: Vec<_> = pages.iter().map(|&(lba, _)| lba).collect();
        let states: Vec<_> = lbas.iter().map(|&lba| self.entry(lba).page).collect();
        let pages = Pages { lbas: &lbas, states: &states, hotness: None, last: &[] };
        self.steps.place_batch(zone, &pages)
    }

    /// Checks the log's zones against the map.
    pub(crate) fn verify(&self) -> Result<(), String> {
        let log = self.steps.log();
        let mut units = vec![0; log.zones().len()];
        self.valid_pages().for_each(|(_, slot)| units[slot.zone as usize] += 1);
        log.verify(self.valid_pages().count() as u64, &units)
    }
}
