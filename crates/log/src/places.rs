//! Places of pages and records in zones.

use bytemuck::Zeroable;

/// A physical page; if records are counted in units, the place of a record's first unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Zeroable)]
pub struct Slot {
    /// Zone, from 1.
    pub zone: u32,
    /// Page, or unit, within the zone, from 0.
    pub offset: u32,
}

impl Slot {
    /// That of a page without a slot.
    pub const NONE: Slot = Slot { zone: 0, offset: 0 };

    /// The slot of a page whose content is lost because a driver found it damaged. It lies in zone
    /// 0, which does not exist, so the volume treats the page as never written.
    pub const LOST: Slot = Slot { zone: 0, offset: 1 };
}

/// The place of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extent {
    /// Its first unit.
    pub slot: Slot,
    /// Its units.
    pub units: u32,
}

impl Extent {
    /// The extent of a page that takes one slot.
    pub fn page(slot: Slot) -> Self {
        Extent { slot, units: 1 }
    }
}

/// The units of a page's record before and after a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units {
    /// Units of the record that becomes garbage; 0 if there is none.
    pub before: u32,
    /// Units of the record that is placed.
    pub after: u32,
}

impl Units {
    /// Units of pages that take one slot each.
    pub const PAGE: Units = Units { before: 1, after: 1 };
}
