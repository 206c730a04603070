//! The shape of chunks: how many records a chunk has, and how many pages it takes, follow from the
//! lengths and kinds of its records alone.

/// Bytes at the end of a chunk's last page that are little to lose.
const LITTLE: u32 = 128;

/// How a store lays records out on the zones of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkShape {
    /// Pages of a zone of the device, those for headers included.
    pub device_pages: u32,
    /// Images that a header has room for; a chunk has no more pages either, besides its header's.
    pub pages: u32,
    /// Units of a whole page.
    pub page_units: u32,
    /// Bytes of a unit.
    pub unit: u32,
    /// Bytes of a header before its rows.
    pub head: u32,
    /// Bytes of a record's row.
    pub row: u32,
    /// Bytes that the row of an image has besides; those of deltas and tails have not.
    pub hotness: u32,
}

/// The records of a chunk, as far as its size depends on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChunkFill {
    /// Records.
    pub records: u32,
    /// Deltas and tails among them.
    pub deltas: u32,
    /// Their units.
    pub units: u32,
}

impl ChunkFill {
    /// Adds a record.
    pub fn add(&mut self, units: u32, is_delta: bool) {
        self.records += 1;
        self.deltas += u32::from(is_delta);
        self.units += units;
        debug_assert!(self.deltas <= self.records, "deltas are records");
    }
}

impl ChunkShape {
    /// Pages of the user that a zone of the device can hold. A page of each two headers is for
    /// chunks that a sync ended early.
    pub fn zone_pages(&self) -> u32 {
        self.device_pages.saturating_sub(2 * self.device_pages.div_ceil(self.pages + 1))
    }

    /// Units of a chunk's header.
    pub fn header(&self, fill: &ChunkFill) -> u32 {
        let units = (self.head + self.rows(fill)).div_ceil(self.unit);
        debug_assert!(units <= self.page_units, "the header of {fill:?} is longer than a page");
        units
    }

    /// Pages of a chunk behind the one where its header begins.
    pub fn pages_behind(&self, fill: &ChunkFill) -> u32 {
        (self.header(fill) + fill.units).div_ceil(self.page_units) - 1
    }

    /// Units that a chunk leaves of its last page.
    pub fn padding(&self, fill: &ChunkFill) -> u32 {
        (1 + self.pages_behind(fill)) * self.page_units - self.header(fill) - fill.units
    }

    /// True if a chunk's header has no room for another record, or not for many and the last page
    /// is as good as full: a chunk of deltas has few pages, so padding would be a large part of it.
    pub(crate) fn has_full_header(&self, fill: &ChunkFill) -> bool {
        if fill.deltas == 0 {
            return fill.records == self.pages;
        }
        let (room, used) = (self.page_units * self.unit - self.head, self.rows(fill));
        let left = self.padding(fill) * self.unit;
        used + self.row + self.hotness > room || used > room * 2 / 3 && left <= LITTLE
    }

    /// Bytes of the rows in a chunk's header.
    fn rows(&self, fill: &ChunkFill) -> u32 {
        fill.records * self.row + (fill.records - fill.deltas) * self.hotness
    }
}

/// The chunks of a class's open zone.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ZoneChunks {
    /// The chunk that is being filled; without records if there is none.
    pub fill: ChunkFill,
    /// Pages of the device's zone that earlier chunks take.
    pub pages: u32,
    /// Earlier chunks that ended because their headers were full.
    pub full_headers: u32,
}
