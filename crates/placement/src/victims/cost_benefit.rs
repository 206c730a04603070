//! Cost-benefit: garbage times age over cost. Rosenblum and Ousterhout, TOCS'92; as SepBIT
//! (FAST'22, section 2.1) writes it: GP * age / (1 - GP), age since the zone was sealed.
//!
//! The authors' simulator of SepBIT takes the square root of the age, which is a policy of its
//! own here.

use super::shortlist::{Rule, Shortlist};
use super::{PolicyInfo, VictimPolicy, best_by};
use crate::ZoneView;

pub(super) const INFO: PolicyInfo = PolicyInfo {
    name: "cost-benefit",
    summary: "the largest GP * age / (1 - GP)",
    source: "Rosenblum and Ousterhout, TOCS 1992; SepBIT, FAST 2022, section 2.1",
    params: &[],
    build: |_, _| Ok(Box::<CostBenefit>::default()),
};

pub(super) const INFO_SQRT: PolicyInfo = PolicyInfo {
    name: "cost-benefit-sqrt",
    summary: "the largest GP * sqrt(age) / (1 - GP)",
    source: "simulator and prototype published with SepBIT, FAST 2022",
    params: &[],
    build: |_, _| Ok(Box::new(CostBenefitSqrt)),
};

/// The largest GP * age / (1 - GP).
pub type CostBenefit = Shortlist<Benefit>;

/// The rule of [`CostBenefit`].
#[derive(Clone, Debug)]
pub struct Benefit;

/// Scores are the bits of non-negative `f32`, which order as integers do: an integer maximum is
/// vectorised, a float maximum is not. They err by less than one part in a million.
impl Rule for Benefit {
    const AGES: bool = true;

    fn near(best: i32) -> i32 {
        (f32::from_bits(best as u32) * (1.0 - 4e-6)).to_bits() as i32
    }

    #[inline(always)]
    fn rough(pages: u32, garbage: i32, age: u32) -> i32 {
        let (pages, garbage) = (pages as i32 as f32, garbage as f32);
        let valid = pages - garbage;
        let score = if valid > 0.0 { garbage * (age as i32 as f32) / valid } else { f32::MAX };
        score.to_bits() as i32
    }

    #[inline(always)]
    fn limit(pages: u32, score: i32, behind: bool, age: u32) -> i32 {
        // Zones without valid pages are the only equals that are many.
        if score == f32::MAX.to_bits() as i32 {
            return pages as i32 + i32::from(behind);
        }
        // Of garbage / valid * age = score, with room for what all these numbers err.
        // No zone gets older than the largest number of 31 bits.
        let (pages, age) = (pages as i32 as f32, age.min(i32::MAX as u32) as i32 as f32);
        let score = f32::from_bits(score as u32) * (1.0 - 2e-5);
        let valid = pages * (age / (age + score));
        (pages * (1.0 - 1e-6) - valid) as i32
    }

    fn score(zones: &ZoneView<'_>, zone: u32) -> f64 {
        score(zones, zone, f64::from(zones.age(zone)))
    }
}

/// The score in full precision.
pub(super) fn score(zones: &ZoneView<'_>, zone: u32, weight: f64) -> f64 {
    let pages = f64::from(zones.zone_pages());
    let garbage = f64::from(zones.garbage(zone));
    if garbage == pages { f64::MAX } else { garbage * weight / (pages - garbage) }
}

/// The largest GP * sqrt(age) / (1 - GP).
#[derive(Clone, Copy, Debug, Default)]
pub struct CostBenefitSqrt;

impl VictimPolicy for CostBenefitSqrt {
    fn pick(&mut self, zones: &ZoneView<'_>) -> Option<u32> {
        sqrt_by_age(zones, |z| u64::from(zones.age(z)))
    }
}

/// The candidate with the largest GP * sqrt(age) / (1 - GP), given the ages of zones.
pub fn sqrt_by_age(zones: &ZoneView<'_>, age: impl Fn(u32) -> u64) -> Option<u32> {
    let pages = f64::from(zones.zone_pages());
    best_by(zones, zones.candidates(), |z| {
        // The order of the authors' simulator: equality of scores, and so of victims, depends on
        // every rounding.
        let u = 1.0 - f64::from(zones.garbage(z)) / pages;
        if u == 0.0 { f64::MAX } else { (1.0 - u) / u * (age(z) as f64).sqrt() }
    })
}
