//! Adjusted greedy: the most garbage, but zones of short-living pages are given time (PHFTL, DAC
//! 2023, section III-D, equation 1).
//!
//! The scheme names the class of these zones and the lifespan that counts as short
//! ([`Scheme::short_living`](crate::Scheme::short_living)). With other schemes it is greedy.

use super::{PolicyInfo, VictimPolicy, best_by};
use crate::ZoneView;

pub(super) const INFO: PolicyInfo = PolicyInfo {
    name: "adjusted-greedy",
    summary: "the largest GP, of short-living pages GP / (1 + (1 - GP) * threshold / age)",
    source: "Sun et al., PHFTL, DAC 2023, section III-D",
    params: &[],
    build: |_, _| Ok(Box::new(AdjustedGreedy)),
};

/// The most garbage, with the garbage of zones of short-living pages discounted.
#[derive(Clone, Copy, Debug, Default)]
pub struct AdjustedGreedy;

impl VictimPolicy for AdjustedGreedy {
    fn pick(&mut self, zones: &ZoneView<'_>) -> Option<u32> {
        let pages = f64::from(zones.zone_pages());
        best_by(zones, zones.candidates(), |z| {
            let invalid = f64::from(zones.garbage(z)) / pages;
            let short = zones.short_living.filter(|s| s.class == zones.class(z));
            let discount = short.map_or(0.0, |short| {
                (1.0 - invalid) * f64::from(short.threshold) / f64::from(zones.age(z).max(1))
            });
            invalid / (1.0 + discount)
        })
    }
}
