//! How a log ends chunks of records. A store on a device writes a header before each of them,
//! and begins each with a page. So the last page of a chunk is padded.
//!
//! Padding is no garbage: cleaning a zone for it would only leave as much of it elsewhere. It is
//! freed with its zone. Nor does it count as used: where each commit leaves much of it, garbage
//! would never be a large enough share.
//!
//! But where zones run out and none has garbage, those are cleaned whose chunks were ended early,
//! by syncs: copies of their records lie side by side.

use super::ZoneLog;
use super::chunk_shape::ZoneChunks;

impl ZoneLog {
    /// Ends the chunk of `class`: the next record of its open zone begins with a page. Where no
    /// other chunk fits behind it on the device, the zone is sealed. Nothing happens if the class
    /// has no chunk.
    pub fn end_chunk(&mut self, class: usize) {
        let zone = self.open_zones[class];
        let before = self.padding_of(zone);
        self.end_full_chunk(class);
        let after = self.padding_of(zone);
        assert!(before <= after, "the end of a chunk takes padding away");
        self.padding[zone as usize].early += after - before;
    }

    /// The same for a chunk that takes no more.
    pub(super) fn end_full_chunk(&mut self, class: usize) {
        let Some(shape) = self.options.chunks else { return };
        let chunks = &mut self.chunks[class];
        let fill = std::mem::take(&mut chunks.fill);
        if fill.records == 0 {
            return;
        }
        chunks.pages += 1 + shape.pages_behind(&fill);
        assert!(chunks.pages <= shape.device_pages, "a chunk ends behind its zone of the device");
        chunks.full_headers += u32::from(shape.has_full_header(&fill));
        let ZoneChunks { pages, full_headers, .. } = *chunks;
        self.pad(class, self.room(class) % shape.page_units);
        if self.is_full(class) {
            self.close_zone(class);
        } else if shape.device_pages < pages + 2 {
            // Full headers take pages in every zone: those that cleaning copied it to would lose as
            // many.
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

    /// Adds a record that was placed to its class's chunk. True if the chunk takes no more: the
    /// next record might be a whole page.
    pub(super) fn add_to_chunk(&mut self, class: usize, lba: u64, units: u32) -> bool {
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
        self.update_counts(class);
        self.open[class].take(units);
        let padding = &mut self.padding[self.open_zones[class] as usize];
        padding.units += units;
        assert!(padding.units < self.zone_units, "a zone holds more than padding");
        self.counts.skipped += u64::from(units);
    }
}
