//! The choice of victims in the authors' simulator.

use frostline_placement::victims::{self, sqrt_by_age};
use frostline_placement::{BuildError, VictimPolicy, ZoneView};

use super::zones::Zones;

/// A victim policy of the authors' simulator, or another.
pub enum Policy {
    /// The simulator's cost-benefit: with the square root of the age, in the trace's time.
    CostBenefit,
    /// Any other victim policy.
    Other(Box<dyn VictimPolicy>),
}

impl Policy {
    /// The policy of a specification, as [`victims::build`] makes it.
    ///
    /// # Errors
    /// Those of [`victims::build`].
    pub fn build(spec: &str, seed: u64) -> Result<Self, BuildError> {
        let other = victims::build(spec, seed)?;
        Ok(match spec {
            "cost-benefit" | "cost-benefit-sqrt" => Policy::CostBenefit,
            _ => Policy::Other(other),
        })
    }

    pub(super) fn pick(&mut self, zones: &Zones, view: &ZoneView<'_>, clock: u64) -> Option<u32> {
        match self {
            Policy::CostBenefit => sqrt_by_age(view, |zone| zones.age(zone, clock)),
            Policy::Other(policy) => policy.pick(view),
        }
    }
}
