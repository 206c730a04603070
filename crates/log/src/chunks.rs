//! Chunks of records: a store on a device writes a header before each of them, and begins each with a page.
//! So the last page of a chunk is padded. How many records a chunk has follows from their lengths and kinds
//! alone, so the volume ends chunks by itself, wherever its records are written.
//!
//! Padding is no garbage: cleaning a zone for it would only leave as much of it elsewhere. It is freed
//! with its zone. Nor does it count as used: where each commit leaves much of it, garbage would never be a large
//! enough share.

use frostline_placement::Scheme;

use crate::map::Map;
use crate::volume::Volume;

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
    /// Bytes that the row of an image has besides; that of a delta has not.
    pub hotness: u32,
}

/// The records of a chunk, as far as its size depends on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChunkFill {
    /// Records.
    pub records: u32,
    /// Deltas among them.
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
    }
}

impl ChunkShape {
    /// Pages of the user that a zone of the device can hold. A page of each two headers is for chunks that a
    /// sync ended early.
    pub fn zone_pages(&self) -> u32 {
        self.device_pages.saturating_sub(2 * self.device_pages.div_ceil(self.pages + 1))
    }

    /// Units of a chunk's header.
    pub fn header(&self, fill: &ChunkFill) -> u32 {
        (self.head + self.rows(fill)).div_ceil(self.unit)
    }

    /// Pages of a chunk behind the one where its header begins.
    pub fn pages_behind(&self, fill: &ChunkFill) -> u32 {
        (self.header(fill) + fill.units).div_ceil(self.page_units) - 1
    }

    /// Units that a chunk leaves of its last page.
    pub fn padding(&self, fill: &ChunkFill) -> u32 {
        (1 + self.pages_behind(fill)) * self.page_units - self.header(fill) - fill.units
    }

    /// True if a chunk's header has no room for another record, or not for many and the last page is as good
    /// as full: a chunk of deltas has few pages, so padding would be a large part of it.
    fn has_full_header(&self, fill: &ChunkFill) -> bool {
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
    full_headers: u32,
}

impl<S: Scheme, M: Map<S::Page>> Volume<S, M> {
    /// Ends the chunk of `class`: the next record of its open zone begins with a page. Where no other chunk
    /// fits behind it on the device, the zone is sealed. Nothing happens if the class has no chunk.
    pub fn end_chunk(&mut self, class: usize) {
        let Some(shape) = self.options.chunks else { return };
        let chunks = &mut self.chunks[class];
        let fill = std::mem::take(&mut chunks.fill);
        if fill.records == 0 {
            return;
        }
        chunks.pages += 1 + shape.pages_behind(&fill);
        chunks.full_headers += u32::from(shape.has_full_header(&fill));
        let ZoneChunks { pages, full_headers, .. } = *chunks;
        self.pad(class, self.room(class) % shape.page_units);
        if self.is_full(class) {
            self.close_zone(class);
        } else if shape.device_pages < pages + 2 {
            // Full headers take pages in every zone: those that cleaning copied it to would lose as many.
            let headers = if shape.page_units > 1 { full_headers * shape.page_units } else { 0 };
            self.pad(class, headers.min(self.room(class)));
            match self.is_full(class) {
                true => self.close_zone(class),
                false => _ = self.end_early(class),
            }
        }
    }

    /// Ends the chunks of all classes, as a sync does.
    pub fn end_chunks(&mut self) {
        (0..self.open.len()).for_each(|class| self.end_chunk(class));
    }

    /// Adds a record that was placed to its class's chunk. True if the chunk takes no more: the next record
    /// might be a whole page.
    pub(crate) fn add_to_chunk(&mut self, class: usize, lba: u32, units: u32) -> bool {
        let Some(shape) = self.options.chunks else { return false };
        let is_delta = self.options.is_delta(lba);
        let ZoneChunks { fill, pages, .. } = &mut self.chunks[class];
        fill.add(units, is_delta);
        let room = shape.device_pages.saturating_sub(*pages + 1);
        let most = shape.pages.min(room) * shape.page_units;
        shape.has_full_header(fill) || fill.units + shape.page_units > most
    }

    /// Leaves the next units of a class's open zone unused.
    fn pad(&mut self, class: usize, units: u32) {
        if units == 0 {
            return;
        }
        self.settle(class);
        let cursor = &mut self.open[class];
        // So that a walk through the zone passes over it: no page lies in this slot. It ends before the
        // unused pages of a zone.
        if let Some(length) = self.lengths.get_mut(cursor.place()) {
            *length = u8::try_from(units).unwrap_or(0);
        }
        cursor.slot += units;
        cursor.counted = cursor.slot;
        self.padding[((cursor.end - 1) >> self.shift) as usize] += units;
        self.counts.skipped += u64::from(units);
    }
}
