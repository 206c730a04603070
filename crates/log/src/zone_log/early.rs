//! Exceptional events of zones on a real device.

use super::ZoneLog;

impl ZoneLog {
    /// Seals the open zone of `class` before it is full, because the device has no room for its
    /// last slots, or accepts no more. The slots that are left become garbage; returns their
    /// number.
    pub fn end_early(&mut self, class: usize) -> u32 {
        self.end_since(class, self.now)
    }

    /// The same; the zone's age counts from `since`.
    pub(super) fn end_since(&mut self, class: usize, since: u32) -> u32 {
        let skipped = self.open[class].left();
        if skipped == 0 {
            return 0;
        }
        let zone = self.leave_zone(class);
        self.zones.discard(zone, skipped);
        self.written += u64::from(skipped);
        self.garbage += u64::from(skipped);
        self.counts.skipped += u64::from(skipped);
        assert!(self.garbage <= self.written, "more garbage than was written");
        self.seal_zone(zone, since);
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

    /// Takes zones out of service for those that wait to be reset.
    pub(crate) fn retire_spare(&mut self) {
        let mut missing = self.options.spare;
        while missing > 0 && self.retire() {
            missing -= 1;
        }
    }
}
