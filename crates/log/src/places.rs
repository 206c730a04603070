//! Places of pages and records in zones.

/// A physical page; of records in units, the place of the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    /// Zone, from 1.
    pub zone: u32,
    /// Page, or unit, in the zone, from 0.
    pub offset: u32,
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

/// The units of a page's record before it is written and after that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units {
    /// Of the record that becomes garbage, if there is one.
    pub before: u32,
    /// Of the record that is placed.
    pub after: u32,
}
