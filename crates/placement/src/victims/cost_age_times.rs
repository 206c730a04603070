//! Cost-age-times (CAT): cost-benefit that also spares zones that were reset often. Chiang and
//! Chang, J. Systems and Software 48(3), 1999: the zone with the smallest
//! u/(1-u) * 1/age * times, u its valid share and times its resets.
//!
//! The paper maps the age through a table of steps that it leaves to the implementer; here the age
//! itself is taken (user writes since the zone was sealed).

use super::{PolicyInfo, VictimPolicy, best_by, cost_benefit};
use crate::ZoneView;

pub(super) const INFO: PolicyInfo = PolicyInfo {
    name: "cost-age-times",
    summary: "the largest GP * age / ((1 - GP) * resets)",
    source: "Chiang and Chang, J. Systems and Software 1999",
    params: &[],
    build: |_, _| Ok(Box::new(CostAgeTimes)),
};

/// The largest GP * age / ((1 - GP) * resets).
#[derive(Clone, Copy, Debug, Default)]
pub struct CostAgeTimes;

impl VictimPolicy for CostAgeTimes {
    fn pick(&mut self, zones: &ZoneView<'_>) -> Option<u32> {
        best_by(zones, zones.candidates(), |z| {
            let resets = f64::from(zones.resets(z)) + 1.0;
            cost_benefit::score(zones, z, f64::from(zones.age(z)) / resets)
        })
    }
}
