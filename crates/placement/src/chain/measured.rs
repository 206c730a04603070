//! Measurements of a volume, for comparison with predictions.

use super::groups::CLASSES;
use super::model::Hot;

/// Pages of victims, and the number of them that were valid.
#[derive(Clone, Copy, Debug, Default)]
struct Victims {
    pages: u64,
    valid: u64,
}

/// Measurements of a volume.
#[derive(Clone, Debug)]
pub struct Measured {
    zone_pages: u32,
    /// Victims of each group since the groups were last divided.
    groups: [Victims; CLASSES],
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
    pub fn new(zone_pages: u32) -> Self {
        Measured {
            zone_pages,
            groups: Default::default(),
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
    pub fn hot_write(&mut self) {
        self.hot_writes += 1;
    }

    /// A zone with `valid` valid pages is cleaned.
    pub fn victim(&mut self, class: usize, valid: u32) {
        let add = |victims: &mut Victims, pages: u32| {
            victims.pages += u64::from(pages);
            victims.valid += u64::from(valid);
        };
        self.copied += u64::from(valid);
        if let Some(group) = self.groups.get_mut(class) {
            add(group, self.zone_pages);
        }
        if class == 0 {
            add(&mut self.hot, self.zone_pages);
        }
    }

    /// Records the zones of the hot group when one of them is cleaned.
    pub fn hot_zones(&mut self, zones: u32) {
        self.hot_zones += u64::from(zones);
    }

    /// Ends the window of the write amplification once it is `length` user writes long.
    pub fn at(&mut self, now: u32, length: u32) {
        let (from, copied) = *self.window.get_or_insert((now, self.copied));
        let written = now.wrapping_sub(from);
        if written >= length {
            self.waf = 1.0 + (self.copied - copied) as f64 / f64::from(written);
            self.window = Some((now, self.copied));
        }
    }

    /// Write amplification of the last whole window; infinite before the first.
    pub fn waf(&self) -> f64 {
        self.waf
    }

    /// Starts the measurement of the groups' victims anew.
    pub fn start_groups(&mut self) {
        self.groups = Default::default();
    }

    /// Pages that were copied out of all groups since [`Measured::start_groups`].
    pub fn copied(&self) -> u64 {
        self.groups.iter().map(|group| group.valid).sum()
    }

    /// Share of valid pages in a group's victims; `None` if it had no victims.
    pub fn valid(&self, class: usize) -> Option<f64> {
        let Victims { pages, valid } = *self.groups.get(class)?;
        (pages > 0).then(|| valid as f64 / pages as f64)
    }

    /// Starts the measurement of the hot group anew.
    pub fn start_hot(&mut self) {
        (self.hot, self.hot_writes, self.hot_zones) = (Victims::default(), 0, 0);
    }

    /// The hot group as it was measured during `written` user writes.
    pub fn hot(&self, written: u32) -> Hot {
        let share = self.hot_writes as f64 / f64::from(written.max(1));
        let victims = self.hot.pages / u64::from(self.zone_pages);
        if victims == 0 || share <= 0.0 {
            return Hot::NONE;
        }
        let zones = (self.hot_zones / victims).max(1) as u32;
        Hot {
            zones,
            share,
            leak: self.hot.valid as f64 / self.hot.pages as f64,
            lifetime: (f64::from(zones) - 0.5) * f64::from(self.zone_pages) / share,
        }
    }
}
