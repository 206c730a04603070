//! The state of all zones, in columns, as victim policies and schemes read it.

use crate::page::Stamp;

/// Class of zones that have none.
pub const NO_CLASS: u8 = u8::MAX;

/// Added to the garbage count of an open zone, so that a maximum over the column passes over it
/// and one unconditional increment serves open and sealed zones alike.
pub const OPEN_BIAS: i32 = -(1 << 30);

/// Garbage column of a free zone, and of zone 0.
pub const FREE: i32 = i32::MIN;

/// Columns over zones. Zone 0 does not exist: it is where pages that were never written seem to
/// lie, so that the first write of a page needs no branch.
#[derive(Debug, Clone)]
pub struct ZoneTable {
    /// Pages in a zone.
    pub zone_pages: u32,
    /// Garbage pages of a sealed zone; negative if the zone is not sealed.
    pub garbage: Vec<i32>,
    /// Class, [`NO_CLASS`] if free.
    pub class: Vec<u8>,
    /// Time the zone was opened: of its first append (published semantics) or of its
    /// predecessor's seal.
    pub opened_at: Vec<u32>,
    /// Time of the last append, which sealed the zone.
    pub sealed_at: Vec<u32>,
    /// Number of the zone's present life: zones are numbered in the order of their opening.
    pub serial: Vec<u64>,
    /// Order of sealing.
    pub seal_order: Vec<u64>,
    /// How often the zone was reset.
    pub resets: Vec<u32>,
    /// The place of each zone among equals, the lowest first; by their numbers if empty.
    pub ranks: Vec<u64>,
    /// Time of the present cleaning.
    pub now: u32,
    /// A victim has at least this much garbage.
    pub min_garbage: i32,
    live: u64,
    serials: u64,
    seals: u64,
}

impl ZoneTable {
    /// A table of no zones but zone 0. `min_garbage` (at least 1) bars zones that would free too
    /// little from being victims.
    pub fn new(zone_pages: u32, min_garbage: i32) -> Self {
        let mut table = ZoneTable {
            zone_pages,
            garbage: Vec::new(),
            class: Vec::new(),
            opened_at: Vec::new(),
            sealed_at: Vec::new(),
            serial: Vec::new(),
            seal_order: Vec::new(),
            resets: Vec::new(),
            ranks: Vec::new(),
            now: 0,
            min_garbage: min_garbage.max(1),
            live: 0,
            serials: 0,
            seals: 0,
        };
        table.add();
        table
    }

    /// Adds a free zone and returns its number.
    pub fn add(&mut self) -> u32 {
        self.garbage.push(FREE);
        self.class.push(NO_CLASS);
        self.opened_at.push(0);
        self.sealed_at.push(0);
        self.serial.push(0);
        self.seal_order.push(0);
        self.resets.push(0);
        self.garbage.len() as u32 - 1
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

    /// Marks a free zone as open for `class`.
    pub fn open(&mut self, zone: u32, class: usize, now: u32) {
        let z = zone as usize;
        debug_assert_eq!(self.garbage[z], FREE);
        self.garbage[z] = OPEN_BIAS;
        self.class[z] = class as u8;
        self.opened_at[z] = now;
        self.serial[z] = self.serials;
        self.serials += 1;
        self.live += 1;
    }

    /// Marks a full open zone as sealed.
    pub fn seal(&mut self, zone: u32, now: u32) {
        let z = zone as usize;
        debug_assert!(self.garbage[z] >= OPEN_BIAS && self.garbage[z] < 0);
        self.garbage[z] -= OPEN_BIAS;
        self.sealed_at[z] = now;
        self.seal_order[z] = self.seals;
        self.seals += 1;
    }

    /// Marks a victim as free.
    pub fn free(&mut self, zone: u32) {
        let z = zone as usize;
        self.garbage[z] = FREE;
        self.class[z] = NO_CLASS;
        self.resets[z] += 1;
        self.live -= 1;
    }

    /// True if the zone is sealed.
    #[inline(always)]
    pub fn is_sealed(&self, zone: u32) -> bool {
        self.garbage[zone as usize] >= 0
    }

    /// True if the zone may be a victim: sealed, with enough garbage.
    #[inline(always)]
    pub fn is_candidate(&self, zone: u32) -> bool {
        self.garbage[zone as usize] >= self.min_garbage
    }

    /// All zones that may be victims, by number.
    pub fn candidates(&self) -> impl Iterator<Item = u32> + '_ {
        let min = self.min_garbage;
        (0u32..).zip(&self.garbage).filter(move |&(_, &g)| g >= min).map(|(z, _)| z)
    }

    /// User writes since the zone was sealed.
    #[inline(always)]
    pub fn age(&self, zone: u32) -> u32 {
        self.now.wrapping_sub(self.sealed_at[zone as usize])
    }

    /// Among equals, the zone with the smallest rank is taken.
    pub fn rank(&self, zone: u32) -> u64 {
        self.ranks.get(zone as usize).copied().unwrap_or(u64::from(zone))
    }

    /// Bytes the table holds.
    pub fn bytes(&self) -> usize {
        self.len() * (4 + 1 + 4 + 4 + 8 + 8 + 4)
    }

    /// Clamps the times of zones, so that ages never wrap.
    pub fn clamp(&mut self, now: u32) {
        for at in self.opened_at.iter_mut().chain(&mut self.sealed_at) {
            if now.wrapping_sub(*at) > Stamp::HORIZON {
                *at = now.wrapping_sub(Stamp::HORIZON);
            }
        }
    }
}
