//! d-choices: the most garbage among d zones drawn at random. Van Houdt, SIGMETRICS'13; Li, Lee
//! and Lui, SIGMETRICS'13.

use frostline_random::SplitMix;

use super::{PolicyInfo, VictimPolicy, best_by};
use crate::{Param, ZoneView};

pub(super) const INFO: PolicyInfo = PolicyInfo {
    name: "d-choices",
    summary: "the zone with the most garbage among d drawn at random",
    source: "Van Houdt, SIGMETRICS 2013; Li, Lee and Lui, SIGMETRICS 2013",
    params: &[Param::whole("d", 10, 1..=1_000_000, "zones drawn")],
    build: |params, seed| {
        let d = params.whole(INFO.params, "d")?;
        Ok(Box::new(DChoices { d, rng: SplitMix::new(seed), drawn: Vec::new() }))
    },
};

/// The zone with the most garbage among d drawn at random, with replacement.
#[derive(Clone, Debug)]
pub struct DChoices {
    d: usize,
    rng: SplitMix,
    drawn: Vec<u32>,
}

impl VictimPolicy for DChoices {
    fn pick(&mut self, zones: &ZoneView<'_>) -> Option<u32> {
        self.drawn.clear();
        self.drawn.extend(zones.candidates());
        let all = self.drawn.len();
        if all == 0 {
            return None;
        }
        let (rng, drawn) = (&mut self.rng, &self.drawn);
        let choices = (0..self.d).map(|_| drawn[rng.below(all as u32) as usize]);
        best_by(zones, choices, |z| f64::from(zones.garbage(z)))
    }
}
