//! Open zones that hardly fill.
//!
//! A class that gets few pages keeps its zone open for long. Pages that die in it meanwhile are
//! garbage that no cleaning can free, so that all other zones must be cleaned more. The fewer zones
//! a volume has, the more this costs. Published simulators leave such zones open, because their
//! schemes have few classes; a scheme with many classes has them sealed early
//! ([`Wants::seals_stale`](frostline_placement::Wants::seals_stale)).
//!
//! If the garbage that is allowed is a few zones or less, most of it may lie in open zones however
//! soon they fill. All victims are then nearly full of valid pages, and to copy these frees next to
//! nothing. So an open zone is sealed if it has more garbage than any sealed one.
//!
//! Records may leave the end of a zone too short for a page. If a volume of few zones is down to
//! its last free one, all others may be open with such ends: none takes a page, and none can be a
//! victim. So they are sealed, whatever the scheme.

use super::ZoneLog;

/// An open zone is sealed for its garbage if one in this many garbage slots lies in open zones.
const IN_OPEN: u64 = 4;
/// One in this many slots of a zone is garbage at least when it is sealed for its garbage.
const LEAST: u32 = 16;

impl ZoneLog {
    /// Seals stale zones [early](Self::end_early), if cleaning is due. To be called before each
    /// choice of victims. Returns the numbers of the zones.
    pub fn end_stale(&mut self) -> Vec<u32> {
        let seals_stale = self.scheme.wants().seals_stale;
        let is_last = self.options.capacity.zones().is_some() && self.free.len() < 2;
        if !(seals_stale || is_last) || !self.cleaning_due() {
            return Vec::new();
        }
        let mut stale = Vec::new();
        for class in 0..self.open.len() {
            let cursor = self.open[class];
            let is_short = is_last && self.room(class) < self.options.page_units;
            if !cursor.is_closed() && (is_short || seals_stale && self.is_stale(class)) {
                stale.push(self.open_zones[class]);
                self.end_early(class);
            }
        }
        if seals_stale && let Some(class) = self.most_garbage() {
            let zone = self.open_zones[class];
            stale.push(zone);
            // A policy that goes by ages would take it for young, and clean fuller zones instead.
            self.end_since(class, self.zones.opened_at(zone));
        }
        stale
    }

    /// True if the open zone of a class has been open for more user writes than the volume has
    /// valid pages, and its garbage proportion is higher than the volume's.
    fn is_stale(&self, class: usize) -> bool {
        let opened_at = self.zones.opened_at(self.open_zones[class]);
        u64::from(self.now.wrapping_sub(opened_at)) > self.valid && self.has_more_garbage(class)
    }

    /// True if the garbage proportion of the open zone of a class is higher than the volume's.
    fn has_more_garbage(&self, class: usize) -> bool {
        let zone = self.open_zones[class];
        let used = self.zone_units - self.room(class) - self.padding_of(zone);
        let garbage = u64::from(self.zones.garbage(zone));
        garbage * self.written > self.garbage * u64::from(used)
    }

    /// The class whose open zone has the most garbage, if much of all garbage lies in open zones
    /// and no sealed zone has as much as this one: to clean it frees more for fewer copies, even
    /// if each of its unused slots counted as one. With less than the [`LEAST`] garbage it stays
    /// open, so that few zones are sealed this way.
    fn most_garbage(&self) -> Option<usize> {
        let garbage = |class: usize| match self.open[class].is_closed() {
            true => 0,
            false => self.zones.garbage(self.open_zones[class]),
        };
        let classes = 0..self.open.len();
        let in_open: u64 = classes.clone().map(|class| u64::from(garbage(class))).sum();
        if in_open * IN_OPEN < self.garbage {
            return None;
        }
        let most = classes.max_by_key(|&class| garbage(class))?;
        let pays = garbage(most) >= (self.zone_units / LEAST).max(1) && self.has_more_garbage(most);
        (pays && !self.zones.is_in_sealed(garbage(most))).then_some(most)
    }
}
