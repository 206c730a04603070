//! Measurements of a volume, for comparison with predictions.

use super::groups::CLASSES;
use super::model::Hot;

/// Pages of victims, and the number of them that were valid.
#[derive(Clone, Copy, Debug, Default)]
struct Victims {
    pages: u64,
    valid: u64,
}

impl Victims {
    fn add(&mut self, pages: u32, valid: u32) {
        assert!(valid <= pages, "a victim has no more valid pages than slots");
        self.pages += u64::from(pages);
        self.valid += u64::from(valid);
    }
}

/// Measurements of a volume.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    zone_pages: u32,
    /// Victims of each group since [`Measured::start_groups`].
    groups: [Victims; CLASSES],
    /// Pages that were copied out of all groups since then.
    copied_from_groups: u64,
    /// Victims of the hot group since the epoch began.
    hot: Victims,
    hot_writes: u64,
    hot_zones: u64,
    copied: u64,
    /// Start of the present window, and pages copied before it.
    window: Option<(u32, u64)>,
    waf: f64,
}

impl Measured {
    /// Measurements before the first page.
    pub(crate) fn new(zone_pages: u32) -> Self {
        Measured {
            zone_pages,
            groups: Default::default(),
            copied_from_groups: 0,
            hot: Victims::default(),
            hot_writes: 0,
            hot_zones: 0,
            copied: 0,
            window: None,
            waf: f64::INFINITY,
        }
    }

    /// A user write went to the hot group.
    #[inline(always)]
    pub(crate) fn hot_write(&mut self) {
        self.hot_writes += 1;
    }

    /// A zone with `valid` valid pages is cleaned.
    pub(crate) fn victim(&mut self, class: usize, valid: u32) {
        self.copied += u64::from(valid);
        if class < CLASSES {
            self.copied_from_groups += u64::from(valid);
        }
        if class == 0 {
            self.hot.add(self.zone_pages, valid);
        }
        self.passed(class, valid);
    }

    /// A zone with `valid` valid pages leaves a group, cleaned or uncopied.
    pub(crate) fn passed(&mut self, class: usize, valid: u32) {
        if let Some(group) = self.groups.get_mut(class) {
            group.add(self.zone_pages, valid);
        }
    }

    /// Records the zones of the hot group when one of them is cleaned.
    pub(crate) fn hot_zones(&mut self, zones: u32) {
        self.hot_zones += u64::from(zones);
    }

    /// Ends the window of the write amplification once it is `length` user writes long.
    pub(crate) fn at(&mut self, now: u32, length: u32) {
        assert!(length > 0, "a window has user writes");
        let (from, copied) = *self.window.get_or_insert((now, self.copied));
        let written = now.wrapping_sub(from);
        if written >= length {
            self.waf = 1.0 + (self.copied - copied) as f64 / f64::from(written);
            self.window = Some((now, self.copied));
        }
    }

    /// Write amplification of the last whole window; infinite before the first.
    pub(crate) fn waf(&self) -> f64 {
        self.waf
    }

    /// Starts the measurement of the groups' victims anew.
    pub(crate) fn start_groups(&mut self) {
        self.groups = Default::default();
        self.copied_from_groups = 0;
    }

    /// Pages that were copied out of all groups since [`Measured::start_groups`].
    pub(crate) fn copied_from_groups(&self) -> u64 {
        self.copied_from_groups
    }

    /// Share of valid pages in the zones that left a group; `None` if none did.
    pub(crate) fn valid(&self, class: usize) -> Option<f64> {
        let Victims { pages, valid } = *self.groups.get(class)?;
        (pages > 0).then(|| valid as f64 / pages as f64)
    }

    /// Starts the measurement of the hot group anew.
    pub(crate) fn start_hot(&mut self) {
        (self.hot, self.hot_writes, self.hot_zones) = (Victims::default(), 0, 0);
    }

    /// The hot group as it was measured during `written` user writes. One that had no victim has
    /// the zones that its writes fill.
    pub(crate) fn hot(&self, written: u32) -> Hot {
        debug_assert!(self.hot_writes <= u64::from(written), "hot writes are user writes");
        let share = self.hot_writes as f64 / f64::from(written.max(1));
        if share <= 0.0 {
            return Hot::NONE;
        }
        let zone_pages = u64::from(self.zone_pages);
        let victims = self.hot.pages / zone_pages;
        let mean = self.hot_zones.checked_div(victims);
        let zones = mean.unwrap_or(self.hot_writes.div_ceil(zone_pages)).max(1) as u32;
        Hot {
            zones,
            share,
            leak: self.hot.valid as f64 / self.hot.pages.max(1) as f64,
            lifetime: (f64::from(zones) - 0.5) * f64::from(self.zone_pages) / share,
        }
    }
}
