//! Open zones that hardly fill.
//!
//! A class that is given few pages keeps its zone open for long. What dies there meanwhile is
//! garbage that no cleaning can take, so that all other zones must be cleaned the more: the fewer
//! zones a volume has, the more this costs. Published simulators let such zones be, for their
//! schemes have few classes; a scheme with many asks to have them sealed as they are
//! ([`Scheme::seals_stale`]).

use frostline_placement::Scheme;

use crate::map::Map;
use crate::volume::{Cursor, Volume};

impl<S: Scheme, M: Map<S::Page>> Volume<S, M> {
    /// Ends stale zones [early](Self::end_early), if cleaning is due; to be called before each
    /// choice of victims. Returns their numbers.
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

    /// True if an open zone has been so for more user writes than the volume has valid pages, and
    /// has more garbage among its pages than the volume has among all.
    fn is_stale(&self, cursor: &Cursor) -> bool {
        let zone = (cursor.end - 1) >> self.shift;
        let used = u64::from(self.zone_units - (cursor.end - cursor.slot));
        let garbage = u64::from(self.zones.garbage(zone));
        let age = u64::from(self.now.wrapping_sub(self.zones.opened_at(zone)));
        age > self.valid && garbage * self.written > self.garbage * used
    }
}
