//! Exceptional events of zones on a real device.

use frostline_placement::Scheme;

use crate::map::Map;
use crate::volume::{Cursor, Volume};

impl<S: Scheme, M: Map<S::Page>> Volume<S, M> {
    /// Seals the open zone of `class` before it is full, because the device has no room for its
    /// last slots, or accepts no more. The slots that are left become garbage; returns their
    /// number.
    pub fn end_early(&mut self, class: usize) -> u32 {
        let Cursor { slot, end, .. } = self.open[class];
        if slot == end {
            return 0;
        }
        let zone = self.open_zones[class];
        let skipped = end - slot;
        self.settle(class);
        // A length of 0 says that no record begins in this slot.
        if let Some(length) = self.lengths.get_mut(self.open[class].place()) {
            *length = 0;
        }
        self.leave_zone(class);
        self.zones.discard(zone, skipped);
        self.written += u64::from(skipped);
        self.garbage += u64::from(skipped);
        self.counts.skipped += u64::from(skipped);
        self.seal_zone(zone);
        skipped
    }

    /// Excludes a sealed zone from the choice of victims, because a page in it can't be read and so
    /// can't be moved. Policies see it like an open zone.
    pub fn quarantine(&mut self, zone: u32) {
        self.zones.quarantine(zone);
    }

    /// Takes a free zone out of service, because the device has one zone less. False if none is
    /// free.
    pub fn retire(&mut self) -> bool {
        match self.free.is_empty() {
            true => false,
            false => {
                self.free.remove(0);
                true
            }
        }
    }
}
