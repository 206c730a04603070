//! Victim policies: the choice of the zone that is cleaned next.
//!
//! A policy sees the [`ZoneView`] and answers with one of its candidates: a sealed zone with
//! garbage. To add one: write its file, and add its line to [`POLICIES`].

mod adjusted_greedy;
mod cost_age_times;
mod cost_benefit;
mod d_choices;
mod fifo;
mod greedy;
mod newer;
mod random;
mod shortlist;
mod survival;
mod windowed_greedy;

use crate::{BuildError, Param, Params, Watch, ZoneView};

pub use adjusted_greedy::AdjustedGreedy;
pub use cost_age_times::CostAgeTimes;
pub use cost_benefit::{CostBenefit, CostBenefitSqrt, sqrt_by_age};
pub use d_choices::DChoices;
pub use fifo::Fifo;
pub use greedy::Greedy;
pub use random::Random;
pub use windowed_greedy::WindowedGreedy;

/// Chooses the zone that is cleaned next.
pub trait VictimPolicy: Send {
    /// A candidate of `zones`, or `None` if there is no candidate.
    fn pick(&mut self, zones: &ZoneView<'_>) -> Option<u32>;

    /// The same, for the zones of a log that reports what happens to them: the policy may set limits
    /// and then need not look at all zones. It is asked so for one log only, and about all its zones.
    fn pick_watched(&mut self, zones: &ZoneView<'_>, _watch: &mut Watch) -> Option<u32> {
        self.pick(zones)
    }

    /// The pages of a picked zone are about to be copied. Those of which an engine had newer
    /// versions were written instead, and are garbage now. Only a store with such an engine tells.
    fn copying_begins(&mut self, _zones: &ZoneView<'_>, _zone: u32) {}
}

type Build = fn(&mut Params, u64) -> Result<Box<dyn VictimPolicy>, BuildError>;

/// A victim policy of the registry.
#[derive(Clone, Copy)]
pub struct PolicyInfo {
    /// Name on the command line.
    pub name: &'static str,
    /// Its rule, in a sentence.
    pub summary: &'static str,
    /// The paper that published it.
    pub source: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    build: Build,
}

/// All victim policies.
pub const POLICIES: &[PolicyInfo] = &[
    greedy::INFO,
    cost_benefit::INFO,
    cost_benefit::INFO_SQRT,
    fifo::INFO,
    windowed_greedy::INFO,
    d_choices::INFO,
    random::INFO,
    cost_age_times::INFO,
    adjusted_greedy::INFO,
    survival::INFO,
];

/// Builds the policy of a specification such as `greedy` or `d-choices:d=4`.
///
/// # Errors
/// An unknown name (the error lists the known ones), parameter or value.
pub fn build(spec: &str, seed: u64) -> Result<Box<dyn VictimPolicy>, BuildError> {
    let (name, mut params) = Params::parse(spec)?;
    let info = POLICIES.iter().find(|p| p.name == name).ok_or_else(|| BuildError::UnknownName {
        kind: "victim policy",
        name,
        known: POLICIES.iter().map(|p| p.name).collect::<Vec<_>>().join(" "),
    })?;
    params.check(info.params)?;
    (info.build)(&mut params, seed)
}

/// The candidate with the highest score; ties go by [`ZoneView::rank`].
fn best_by(
    zones: &ZoneView<'_>,
    candidates: impl Iterator<Item = u32>,
    mut score: impl FnMut(u32) -> f64,
) -> Option<u32> {
    let mut best: Option<(f64, u32)> = None;
    for zone in candidates {
        let s = score(zone);
        debug_assert!(zones.is_candidate(zone) && !s.is_nan(), "candidates have an order");
        let better = best.is_none_or(|(top, holder)| {
            s > top || (s == top && zones.rank(zone) < zones.rank(holder))
        });
        if better {
            best = Some((s, zone));
        }
    }
    best.map(|(_, zone)| zone)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ShortLiving;
    use crate::zones::table::ZoneRows;

    /// Five sealed zones of 100 pages, in sealing order: garbage and seal time. Zone 0 does not
    /// exist.
    fn zones(rows: &[(i32, u32)]) -> ZoneRows {
        let mut zones = ZoneRows::new(100);
        zones.now = 1000;
        for &(garbage, sealed_at) in rows {
            zones.seal(0, garbage, sealed_at);
        }
        zones
    }

    fn pick(spec: &str, zones: &ZoneRows) -> Option<u32> {
        build(spec, 7).unwrap().pick(&zones.view())
    }

    #[test]
    fn greedy_takes_the_most_garbage_and_the_lowest_number_of_equals() {
        assert_eq!(pick("greedy", &zones(&[(5, 1), (9, 2), (9, 3), (1, 4)])), Some(2));
    }

    #[test]
    fn cost_benefit_weighs_age_linearly_and_by_its_root() {
        // 20/80 * 900 = 225 beats 50/50 * 100 = 100; with roots 7.5 loses to 10.
        let zones = zones(&[(20, 100), (50, 900)]);
        assert_eq!(pick("cost-benefit", &zones), Some(1));
        assert_eq!(pick("cost-benefit-sqrt", &zones), Some(2));
    }

    #[test]
    fn a_zone_of_garbage_only_beats_every_cost_benefit() {
        let zones = zones(&[(99, 1), (100, 1000)]);
        assert_eq!(pick("cost-benefit", &zones), Some(2));
        assert_eq!(pick("cost-age-times", &zones), Some(2));
    }

    #[test]
    fn cost_age_times_spares_zones_that_were_reset_often() {
        let mut zones = zones(&[(50, 1), (50, 1)]);
        zones.resets[1] = 3;
        assert_eq!(pick("cost-age-times", &zones), Some(2));
    }

    #[test]
    fn adjusted_greedy_gives_zones_of_short_living_pages_time() {
        let table = zones(&[(60, 990), (50, 1), (9, 1)]);
        let of = |threshold: u32| {
            let short_living = Some(ShortLiving { class: 0, threshold });
            build("adjusted-greedy", 7).unwrap().pick(&table.view().with_short_living(short_living))
        };
        // Without a word from the scheme it is greedy. With it, 0.6 / (1 + 0.4 * 100 / 10) loses to
        // 0.5 / (1 + 0.5 * 100 / 999).
        assert_eq!(pick("adjusted-greedy", &table), Some(1));
        assert_eq!(of(100), Some(2));
        assert_eq!(of(1), Some(1));
    }

    #[test]
    fn fifo_takes_the_oldest_zone_with_garbage() {
        assert_eq!(pick("fifo", &zones(&[(0, 1), (1, 2), (90, 3)])), Some(2));
    }

    #[test]
    fn windowed_greedy_looks_at_the_oldest_only() {
        let zones = zones(&[(1, 1), (2, 2), (3, 3), (90, 4)]);
        assert_eq!(pick("windowed-greedy:window=0.5", &zones), Some(2));
        assert_eq!(pick("windowed-greedy:window=1", &zones), Some(4));
    }

    #[test]
    fn d_choices_with_many_choices_is_greedy_and_with_one_is_random() {
        let zones = zones(&[(1, 1), (2, 2), (3, 3)]);
        assert_eq!(pick("d-choices:d=1000", &zones), Some(3));
        let mut one = build("d-choices:d=1", 7).unwrap();
        let seen: std::collections::BTreeSet<_> =
            (0..100).map(|_| one.pick(&zones.view())).collect();
        assert_eq!(seen.len(), 3);
    }

    #[test]
    fn no_policy_takes_a_zone_without_garbage() {
        for info in POLICIES {
            assert_eq!(pick(info.name, &zones(&[(0, 1), (0, 2)])), None, "{}", info.name);
            assert_eq!(pick(info.name, &zones(&[])), None, "{}", info.name);
            assert_eq!(pick(info.name, &zones(&[(0, 1), (3, 2)])), Some(2), "{}", info.name);
        }
    }

    #[test]
    fn fast_scans_agree_with_the_definition_on_random_tables() {
        let mut rng = frostline_random::SplitMix::new(3);
        for n in [1usize, 5, 255, 256, 257, 1000] {
            let rows: Vec<_> = (0..n).map(|_| (rng.below(101) as i32, rng.below(1000))).collect();
            let zones = zones(&rows);
            let view = zones.view();
            let greedy = best_by(&view, view.candidates(), |z| f64::from(view.garbage(z)));
            assert_eq!(pick("greedy", &zones), greedy);
            let benefit = best_by(&view, view.candidates(), |z| {
                cost_benefit::score(&view, z, f64::from(view.age(z)))
            });
            assert_eq!(pick("cost-benefit", &zones), benefit);
        }
    }

    #[test]
    fn among_equals_the_lowest_rank_is_taken() {
        let mut zones = zones(&[(9, 2), (9, 2), (9, 2)]);
        zones.ranks = vec![0, 30, 10, 20];
        for policy in ["greedy", "cost-benefit", "cost-benefit-sqrt", "cost-age-times"] {
            assert_eq!(pick(policy, &zones), Some(2), "{policy}");
        }
    }
}
