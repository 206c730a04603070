//! The state of all zones.

use frostline_placement::{Bell, Stamp, ZoneColumns, ZoneEvent, ZoneView};

use super::garbage::Garbage;

/// The class of a free zone.
const NO_CLASS: u8 = u8::MAX;

/// Columns over zones. Zone 0 does not exist: pages that were never written count as lying in it,
/// so that the first write of a page needs no branch.
#[derive(Debug, Clone)]
pub struct ZoneTable {
    zone_pages: u32,
    garbage: Vec<Garbage>,
    class: Vec<u8>,
    opened_at: Vec<u32>,
    /// Time at which the zone was full, or opened if it was sealed for its garbage.
    sealed_at: Vec<u32>,
    /// The number of each zone in the order in which zones were opened.
    open_order: Vec<u64>,
    seal_order: Vec<u64>,
    resets: Vec<u32>,
    live: u64,
    opened: u64,
    sealed: u64,
}

impl ZoneTable {
    /// A table with zone 0 only.
    pub fn new(zone_pages: u32) -> Self {
        let mut table = ZoneTable {
            zone_pages,
            garbage: Vec::new(),
            class: Vec::new(),
            opened_at: Vec::new(),
            sealed_at: Vec::new(),
            open_order: Vec::new(),
            seal_order: Vec::new(),
            resets: Vec::new(),
            live: 0,
            opened: 0,
            sealed: 0,
        };
        table.add();
        table
    }

    /// Adds a free zone and returns its number.
    pub fn add(&mut self) -> u32 {
        assert!(self.garbage.len() < u32::MAX as usize, "zones are numbered by 32 bits");
        self.garbage.push(Garbage::FREE);
        self.class.push(NO_CLASS);
        self.opened_at.push(0);
        self.sealed_at.push(0);
        self.open_order.push(0);
        self.seal_order.push(0);
        self.resets.push(0);
        self.garbage.len() as u32 - 1
    }

    /// Pages in a zone.
    pub fn zone_pages(&self) -> u32 {
        self.zone_pages
    }

    /// Number of zones, zone 0 included.
    pub fn len(&self) -> usize {
        self.garbage.len()
    }

    /// True if there is no zone but zone 0.
    pub fn is_empty(&self) -> bool {
        self.len() == 1
    }

    /// Zones that hold pages: open or sealed.
    pub fn live(&self) -> u64 {
        self.live
    }

    /// Bytes the table holds.
    pub fn bytes(&self) -> usize {
        self.len() * (4 + 1 + 4 + 4 + 8 + 8 + 4)
    }

    /// The zones at time `now`, as victim policies and schemes read them.
    pub fn view(&self, now: u32) -> ZoneView<'_> {
        ZoneView::new(ZoneColumns {
            zone_pages: self.zone_pages,
            now,
            garbage: bytemuck::cast_slice(&self.garbage),
            class: &self.class,
            opened_at: &self.opened_at,
            sealed_at: &self.sealed_at,
            seal_order: &self.seal_order,
            resets: &self.resets,
        })
    }

    /// Marks a free zone as open for `class`.
    pub fn open(&mut self, zone: u32, class: usize, now: u32) {
        let z = zone as usize;
        assert_ne!(zone, 0, "zone 0 does not exist");
        assert!(self.garbage[z].is_free(), "zone {zone} is opened twice");
        assert!(class < usize::from(NO_CLASS), "class {class} is the mark of a free zone");
        self.garbage[z] = Garbage::OPENED;
        self.class[z] = class as u8;
        self.opened_at[z] = now;
        self.open_order[z] = self.opened;
        self.opened += 1;
        self.live += 1;
    }

    /// Marks an open zone as sealed. Its age counts from `since`.
    pub fn seal(&mut self, zone: u32, since: u32) {
        let z = zone as usize;
        assert_ne!(self.class[z], NO_CLASS, "zone {zone} is sealed and has no class");
        self.garbage[z].admit();
        assert!(self.garbage(zone) <= self.zone_pages, "zone {zone}: more garbage than pages");
        self.sealed_at[z] = since;
        self.seal_order[z] = self.sealed;
        self.sealed += 1;
    }

    /// Marks a victim as free.
    pub fn free(&mut self, zone: u32) {
        let z = zone as usize;
        assert!(self.garbage[z].is_sealed(), "zone {zone} is freed and was no victim");
        self.garbage[z] = Garbage::FREE;
        self.class[z] = NO_CLASS;
        self.resets[z] += 1;
        assert!(self.live > 0, "zone {zone} is freed, and none is live");
        self.live -= 1;
    }

    /// Gives a zone that takes no more pages another class.
    pub fn relabel(&mut self, zone: u32, class: u8) {
        assert!(!self.is_free(zone), "zone {zone} has a class and no pages");
        assert_ne!(class, NO_CLASS, "zone {zone} has pages and no class");
        self.class[zone as usize] = class;
    }

    /// Excludes a sealed zone from the choice of victims: policies see it like an open zone.
    pub(super) fn quarantine(&mut self, zone: u32) {
        if self.is_sealed(zone) {
            self.garbage[zone as usize].bar();
        }
    }

    /// Pages of a zone became garbage.
    pub fn discard(&mut self, zone: u32, pages: u32) {
        debug_assert!(!self.is_free(zone), "pages of zone {zone} die, which has none");
        self.garbage[zone as usize].add(pages);
        assert!(self.garbage(zone) <= self.zone_pages, "zone {zone}: more garbage than pages");
    }

    /// The zone's number in the column of garbage.
    pub(super) fn garbage_number(&self, zone: u32) -> i32 {
        self.garbage[zone as usize].number()
    }

    /// Garbage pages of a zone, whether it is free, open, sealed or quarantined.
    pub fn garbage(&self, zone: u32) -> u32 {
        self.garbage[zone as usize].pages()
    }

    /// True if a sealed zone has at least so many garbage pages.
    pub(super) fn is_in_sealed(&self, pages: u32) -> bool {
        self.garbage.iter().any(|garbage| garbage.is_sealed() && garbage.pages() >= pages)
    }

    /// True if the zone holds no pages.
    pub fn is_free(&self, zone: u32) -> bool {
        self.garbage[zone as usize].is_free()
    }

    /// True if the zone is sealed, and not quarantined.
    #[inline(always)]
    pub fn is_sealed(&self, zone: u32) -> bool {
        self.garbage[zone as usize].is_sealed()
    }

    /// Class of a zone; 255 if it is free.
    #[inline(always)]
    pub fn class(&self, zone: u32) -> usize {
        usize::from(self.class[zone as usize])
    }

    /// Time the zone was opened.
    pub fn opened_at(&self, zone: u32) -> u32 {
        self.opened_at[zone as usize]
    }

    /// Time at which the zone was full, or opened if it was sealed for its garbage.
    pub fn sealed_at(&self, zone: u32) -> u32 {
        self.sealed_at[zone as usize]
    }

    /// The zone's place in the order in which zones were opened.
    pub fn open_order(&self, zone: u32) -> u64 {
        self.open_order[zone as usize]
    }

    /// The zone's place in the order in which zones were sealed.
    pub fn seal_order(&self, zone: u32) -> u64 {
        self.seal_order[zone as usize]
    }

    /// Resets of the zone so far.
    pub fn resets(&self, zone: u32) -> u32 {
        self.resets[zone as usize]
    }

    /// An event of a zone at time `now`.
    #[inline(always)]
    pub fn event(&self, zone: u32, now: u32) -> ZoneEvent {
        ZoneEvent { zone, class: self.class(zone), now }
    }

    /// Clamps the times of zones, so that ages never wrap.
    pub fn clamp(&mut self, now: u32) {
        for at in self.opened_at.iter_mut().chain(&mut self.sealed_at) {
            if now.wrapping_sub(*at) > Stamp::HORIZON {
                *at = now.wrapping_sub(Stamp::HORIZON);
            }
        }
    }

    /// The part of the table that the inner loop works on.
    #[inline(always)]
    pub(super) fn overwrites<'a>(&'a mut self, bell: Bell<'a>) -> Overwrites<'a> {
        let class = &self.class[..self.garbage.len()];
        Overwrites { garbage: &mut self.garbage, class, bell }
    }

    /// The number of first writes of pages since the last call.
    pub(super) fn take_firsts(&mut self) -> u64 {
        std::mem::replace(&mut self.garbage[0], Garbage::FREE).since(Garbage::FREE)
    }
}

/// Counts the copies that a run of user writes makes garbage.
pub(crate) struct Overwrites<'a> {
    garbage: &'a mut [Garbage],
    class: &'a [u8],
    bell: Bell<'a>,
}

impl Overwrites<'_> {
    /// First writes of pages in this run; they make nothing garbage.
    #[inline(always)]
    pub(crate) fn firsts(&self) -> u64 {
        self.garbage[0].since(Garbage::FREE)
    }

    /// Turns a copy in this zone into garbage; zone 0 if the page had no copy. Returns the zone's
    /// class.
    #[inline(always)]
    pub(crate) fn discard(&mut self, zone: u32) -> usize {
        let garbage = &mut self.garbage[zone as usize];
        garbage.increment();
        self.bell.note(zone, garbage.number());
        usize::from(self.class[zone as usize])
    }
}
