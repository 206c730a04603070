//! Greedy: the zone with the most garbage. Rosenblum and Ousterhout, TOCS'92.

use super::PolicyInfo;
use super::shortlist::{Rule, Shortlist};
use crate::ZoneView;

pub(super) const INFO: PolicyInfo = PolicyInfo {
    name: "greedy",
    summary: "the zone with the most garbage",
    source: "Rosenblum and Ousterhout, TOCS 1992",
    params: &[],
    build: |_, _| Ok(Box::<Greedy>::default()),
};

/// The zone with the most garbage.
pub type Greedy = Shortlist<MostGarbage>;

/// The rule of [`Greedy`].
#[derive(Clone, Debug)]
pub struct MostGarbage;

impl Rule for MostGarbage {
    const AGES: bool = false;

    fn near(best: i32) -> i32 {
        best
    }

    #[inline(always)]
    fn rough(_: u32, garbage: i32, _: u32) -> i32 {
        garbage
    }

    #[inline(always)]
    fn limit(_: u32, garbage: i32, behind: bool, _: u32) -> i32 {
        garbage + i32::from(behind)
    }

    fn score(zones: &ZoneView<'_>, zone: u32) -> f64 {
        f64::from(zones.garbage(zone))
    }
}
