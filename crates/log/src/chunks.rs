//! Chunks of records: a store writes a header before each of them, which lies in a page of its own. So
//! the last page of a chunk is padded.
//!
//! Padding is no garbage: cleaning a zone for it would only leave as much of it elsewhere. It is freed
//! with its zone. Nor does it count as used: where each commit leaves much of it, garbage would never be a large
//! enough share.

use frostline_placement::Scheme;

use crate::map::Map;
use crate::volume::{Options, Volume};

impl<S: Scheme, M: Map<S::Page>> Volume<S, M> {
    /// Ends the chunk of `class`: the next record of its open zone begins with a page. The zone is
    /// sealed if no page is left.
    pub fn pad(&mut self, class: usize) {
        self.fill_page(class);
        if self.is_full(class) {
            self.close_zone(class);
        }
    }

    /// Seals the open zone of `class` [early](Self::end_early), because its chunks left no room on the
    /// device; up to `padding` of its units count as padding.
    pub fn end_padded(&mut self, class: usize, padding: u32) {
        let units = padding.min(self.room(class));
        self.take_padding(class, units);
        if self.is_full(class) {
            self.close_zone(class);
        }
        self.end_early(class);
    }

    /// A record was placed in this class: its chunk ends if it has as many as it may have.
    pub(crate) fn count_in_chunk(&mut self, class: usize) {
        // The driver of deltas knows what its headers have room for, and pads.
        let Options { page_units, chunk_records, deltas, .. } = self.options;
        if page_units > 1 && chunk_records > 0 && !deltas {
            self.in_chunk[class] += 1;
            if self.in_chunk[class] == chunk_records {
                self.fill_page(class);
            }
        }
    }

    /// Pads the page that the open zone of a class writes to.
    fn fill_page(&mut self, class: usize) {
        self.in_chunk[class] = 0;
        let cursor = self.open[class];
        self.take_padding(class, (cursor.end - cursor.slot) % self.options.page_units);
    }

    fn take_padding(&mut self, class: usize, units: u32) {
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
