//! An OLTP-like volume: a table that is updated in place, and an area that is appended to, whose
//! newest pages are rewritten for a while and then freeze, as orders and order lines do in TPC-C.

use frostline_random::Xoshiro;

/// The shape of an OLTP-like trace.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Oltp {
    /// The Zipf exponent of writes to the table; default 0.9.
    pub alpha: f64,
    /// Share of the pages that belong to the table; default 0.5. The rest is the append area, which
    /// begins empty.
    pub table: f64,
    /// Share of the writes that go to the append area while it has room; default 0.3.
    pub append: f64,
    /// The number of newest appended pages that are rewritten; default 64.
    pub window: u32,
    /// The mean number of rewrites of a page after its first write; default 8.
    pub rewrites: f64,
    /// Share of the append area's writes that go to any appended page, however old; default 0.001.
    pub late: f64,
}

impl Default for Oltp {
    fn default() -> Oltp {
        Oltp { alpha: 0.9, table: 0.5, append: 0.3, window: 64, rewrites: 8.0, late: 0.001 }
    }
}

/// The append area of a volume.
#[derive(Debug, Clone)]
pub(crate) struct Append {
    first: u32,
    capacity: u32,
    used: u32,
    shape: Oltp,
    /// The probability that a write appends a page.
    grows: f64,
}

impl Append {
    /// An empty area of `capacity` pages from `first` on.
    pub(crate) fn new(first: u32, capacity: u32, shape: Oltp) -> Append {
        assert!(first.checked_add(capacity).is_some(), "all pages of the area have an LBA");
        Append { first, capacity, used: 0, shape, grows: 1.0 / (1.0 + shape.rewrites) }
    }

    /// The page of a write to the area; `None` if the write goes to the table.
    ///
    /// Once the area is full no write goes there: its pages are frozen.
    pub(crate) fn sample(&mut self, random: &mut Xoshiro) -> Option<u32> {
        debug_assert!(self.used <= self.capacity, "the area is appended to while it has room");
        if self.used == self.capacity || !random.chance(self.shape.append) {
            return None;
        }
        if self.used == 0 || random.chance(self.grows) {
            self.used += 1;
            return Some(self.first + self.used - 1);
        }
        if random.chance(self.shape.late) {
            return Some(self.first + random.below(self.used));
        }
        let window = self.shape.window.min(self.used);
        Some(self.first + self.used - 1 - random.below(window))
    }
}
