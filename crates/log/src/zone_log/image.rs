//! The state of a log that a store writes down and reads back.

use super::{Padding, ZoneLog};
use crate::LogError;

/// A zone that holds pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneImage {
    /// Its number, from 1.
    pub zone: u32,
    /// Its class.
    pub class: u32,
    /// Time of its first append.
    pub opened_at: u32,
    /// If it is sealed, the time at which it was full, or opened if it was sealed for its garbage.
    pub sealed_at: Option<u32>,
    /// Slots that were used, or can't be used any more.
    pub used: u32,
    /// Garbage slots among `used`.
    pub garbage: u32,
    /// Slots among `used` that pad chunks.
    pub padding: u32,
    /// Pages of the device's zone that its chunks take, if it is open.
    pub pages: u32,
}

impl ZoneImage {
    /// Valid slots.
    pub fn valid(&self) -> u32 {
        self.used.saturating_sub(self.garbage).saturating_sub(self.padding)
    }
}

impl ZoneLog {
    /// All zones that hold pages; the sealed ones first, in the order of sealing.
    pub fn images(&self) -> Vec<ZoneImage> {
        let live = (1..self.zones.len() as u32).filter(|&z| !self.zones.is_free(z));
        let mut images: Vec<_> = live.map(|zone| self.image(zone)).collect();
        let order = |image: &ZoneImage| match image.sealed_at {
            Some(_) => (false, self.zones.seal_order(image.zone)),
            None => (true, self.zones.open_order(image.zone)),
        };
        images.sort_by_key(order);
        images
    }

    fn image(&self, zone: u32) -> ZoneImage {
        let class = self.zones.class(zone);
        let open = self.is_open(zone);
        ZoneImage {
            zone,
            class: class as u32,
            opened_at: self.zones.opened_at(zone),
            sealed_at: (!open).then_some(self.zones.sealed_at(zone)),
            used: self.used(zone),
            garbage: self.zones.garbage(zone),
            padding: self.padding_of(zone),
            pages: if open { self.chunks[class].pages } else { 0 },
        }
    }

    /// Restores an earlier state in an empty log.
    pub(crate) fn restore(
        &mut self,
        now: u32,
        valid: u64,
        images: &[ZoneImage],
    ) -> Result<(), LogError> {
        assert!(self.zones.live() == 0 && self.valid == 0, "only an empty log is restored");
        self.now = now;
        self.next_sweep = now;
        self.valid = valid;
        for image in images {
            self.check_image(image)?;
            self.restore_zone(image);
        }
        let holds = self.written - self.garbage;
        let most = valid.saturating_mul(self.options.page_units.into());
        if !(valid..=most).contains(&holds) {
            return Err(LogError::Image {
                why: format!("zones hold {holds} valid slots, the map {valid} pages"),
            });
        }
        self.free = (1..self.zones.len() as u32).rev().filter(|&z| self.zones.is_free(z)).collect();
        Ok(())
    }

    fn check_image(&self, image: &ZoneImage) -> Result<(), LogError> {
        let ZoneImage { zone, class, sealed_at, used, garbage, padding, .. } = *image;
        let pages = self.zone_units;
        let wrong = |what: &str| Err(LogError::Image { why: format!("zone {zone}: {what}") });
        if zone == 0 || zone as usize >= self.zones.len() {
            return wrong("not a zone of this volume");
        }
        if !self.zones.is_free(zone) {
            return wrong("named twice");
        }
        if class as usize >= self.open.len() {
            return wrong("a class that the scheme does not have");
        }
        let counts = u64::from(garbage) + u64::from(padding) <= used.into();
        let pads = padding == 0 || self.options.page_units > 1;
        if used > pages || !counts || !pads || sealed_at.is_some() && used < pages {
            return wrong("more pages than it has");
        }
        if sealed_at.is_none() && !(self.open[class as usize].is_closed() && used < pages) {
            return wrong("can't be open");
        }
        Ok(())
    }

    fn restore_zone(&mut self, image: &ZoneImage) {
        let ZoneImage { zone, class, opened_at, sealed_at, used, garbage, padding, pages } = *image;
        self.zones.open(zone, class as usize, opened_at);
        self.zones.discard(zone, garbage);
        self.padding[zone as usize] = Padding { units: padding, early: padding };
        self.written += u64::from(used - padding);
        self.garbage += u64::from(garbage);
        let now = self.now;
        self.now = opened_at;
        let opened = self.event(zone);
        self.scheme.on_opened(&opened);
        match sealed_at {
            Some(at) => {
                self.now = at;
                self.seal_zone(zone, at);
            }
            None => {
                self.begin_zone(class as usize, zone, used);
                self.chunks[class as usize].pages = pages;
            }
        }
        self.now = now;
    }

    /// Shows the scheme that zones were opened and sealed, as if it happened now.
    pub(super) fn show_zones(&mut self) {
        for ZoneImage { zone, opened_at, sealed_at, .. } in self.images() {
            self.scheme.on_opened(&self.zones.event(zone, opened_at));
            if let Some(at) = sealed_at {
                self.scheme.on_sealed(&self.zones.event(zone, at), &self.zones.view(at));
            }
        }
    }
}
