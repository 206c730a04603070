//! Open zones that hardly fill.
//!
//! A class that gets few pages keeps its zone open for long. Pages that die in it meanwhile are
//! garbage that no cleaning can free, so that all other zones must be cleaned more. The fewer zones
//! a volume has, the more this costs. Published simulators leave such zones open, because their
//! schemes have few classes; a scheme with many classes has them sealed early
//! ([`Scheme::seals_stale`]).

use frostline_placement::Scheme;

use crate::map::Map;
use crate::volume::{Cursor, Volume};

impl<S: Scheme, M: Map<S::Page>> Volume<S, M> {
    /// Seals stale zones [early](Self::end_early), if cleaning is due. To be called before each
    /// choice of victims. Returns the numbers of the zones.
    pub fn end_stale(&mut self) -> Vec<u32> {
        if !self.scheme.seals_stale() || !self.cleaning_due() {
            return Vec::new();
        }
        let mut stale = Vec::new();
        for class in 0..self.open.len() {
            let cursor = self.open[class];
            if !cursor.is_closed() && self.is_stale(&cursor) {
                self.end_early(class);
                stale.push((cursor.end - 1) >> self.shift);
            }
        }
        stale
    }

    /// True if an open zone has been open for more user writes than the volume has valid pages, and
    /// its garbage proportion is higher than the volume's.
    fn is_stale(&self, cursor: &Cursor) -> bool {
        let zone = (cursor.end - 1) >> self.shift;
        let used = u64::from(self.zone_units - (cursor.end - cursor.slot));
        let garbage = u64::from(self.zones.garbage(zone));
        let age = u64::from(self.now.wrapping_sub(self.zones.opened_at(zone)));
        age > self.valid && garbage * self.written > self.garbage * used
    }
}
