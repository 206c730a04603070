//! Random: any zone with garbage, all with the same probability.

use frostline_random::SplitMix;

use super::{PolicyInfo, VictimPolicy};
use crate::ZoneView;

pub(super) const INFO: PolicyInfo = PolicyInfo {
    name: "random",
    summary: "any zone with garbage",
    source: "Van Houdt, SIGMETRICS 2013",
    params: &[],
    build: |_, seed| Ok(Box::new(Random { rng: SplitMix::new(seed) })),
};

/// Any zone with garbage.
#[derive(Clone, Debug)]
pub struct Random {
    rng: SplitMix,
}

impl VictimPolicy for Random {
    fn pick(&mut self, zones: &ZoneView<'_>) -> Option<u32> {
        let all = zones.candidates().count();
        if all == 0 {
            return None;
        }
        zones.candidates().nth(self.rng.below(all as u32) as usize)
    }
}
