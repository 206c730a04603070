//! Random: any zone with garbage, each as likely as the other.

use super::{PolicyInfo, VictimPolicy};
use crate::ZoneView;
use crate::rng::Rng;

pub(super) const INFO: PolicyInfo = PolicyInfo {
    name: "random",
    summary: "any zone with garbage",
    source: "Van Houdt, SIGMETRICS 2013",
    params: &[],
    build: |_, seed| Ok(Box::new(Random { rng: Rng::new(seed) })),
};

/// Any zone with garbage.
#[derive(Clone, Debug)]
pub struct Random {
    rng: Rng,
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
