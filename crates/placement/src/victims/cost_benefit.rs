//! Cost-benefit: garbage times age over cost. Rosenblum and Ousterhout, TOCS'92; as SepBIT
//! (FAST'22, section 2.1) writes it: GP * age / (1 - GP), age since the zone was sealed.
//!
//! The authors' simulator of SepBIT takes the square root of the age, which is a policy of its
//! own here.

use multiversion::multiversion;

use super::{PolicyInfo, VictimPolicy, best_by};
use crate::{ZoneColumns, ZoneView};

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
#[derive(Clone, Debug, Default)]
pub struct CostBenefit {
    scores: Vec<i32>,
}

impl VictimPolicy for CostBenefit {
    fn pick(&mut self, zones: &ZoneView<'_>) -> Option<u32> {
        self.scores.resize(zones.len(), 0);
        rough_scores(&mut self.scores, zones);
        let top = self.scores.iter().fold(-1, |a, &x| a.max(x));
        // Rough scores err by less than one part in a million: zones within this distance of the
        // best are scored again, exactly.
        let close = f32::from_bits(top.max(0) as u32) * (1.0 - 4e-6);
        let close = if top < 0 { i32::MAX } else { close.to_bits() as i32 };
        let finalists = (0u32..).zip(&self.scores).filter(|&(_, &s)| s >= close).map(|(z, _)| z);
        best_by(zones, finalists, |z| score(zones, z, f64::from(zones.age(z))))
    }
}

/// Scores as the bits of non-negative `f32`, which order as integers do: an integer maximum is
/// vectorised, a float maximum is not. Zones that are no candidates get -1.
#[multiversion(targets("x86_64+avx2"))]
fn rough_scores(scores: &mut [i32], zones: &ZoneView<'_>) {
    let (pages, now, least) = (zones.zone_pages() as f32, zones.now(), zones.least_garbage());
    let ZoneColumns { garbage, sealed_at, .. } = zones.columns;
    for ((score, &g), &at) in scores.iter_mut().zip(garbage).zip(sealed_at) {
        let age = (now.wrapping_sub(at) as i32) as f32;
        let garbage = g as f32;
        let valid = pages - garbage;
        let s = if valid > 0.0 { garbage * age / valid } else { f32::MAX };
        *score = if g < least { -1 } else { s.to_bits() as i32 };
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
