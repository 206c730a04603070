//! ORA, the oracle that MiDAS compares with: groups by k-means over true lifespans, with sizes
//! found by search. Oh et al., "MiDAS: Minimizing Write Amplification in Log-Structured Systems
//! through Adaptive Group Number and Size Configuration", FAST 2024, as described in its talk.
//!
//! Each group but the last is a queue of zones with a size: a queue that is too long gives its
//! oldest zone. If there is none, the victim policy chooses in the last group. A page goes to the
//! cluster of the lifespan that is left to it, at the user write and again at each relocation.
//!
//! The talk says that k-means decides the number of groups and that sizes were found by experiment,
//! and no more. Our readings:
//! * Clusters are of the logarithms of the lifespans. There are as few as leave a twentieth of the
//!   variance, and at most `classes`. Frozen pages have a class beside the last group; the policy
//!   chooses among its zones, too.
//! * A model predicts the copies of given sizes; the sizes with the fewest are taken. The model
//!   knows the lifespans of all versions of the trace, so it knows for each group what has died
//!   when zones leave it. Sizes are searched for one after the other, when the volume is first
//!   cleaned and again each time it was written once over.

use crate::chain::groups::{CLASSES, Groups};
use crate::chain::sizes::{Clusters, SizedVolume};
use crate::future::Death;
use crate::lifespan_clusters::{cluster, histogram, unexplained};
use crate::{
    BuildError, Choice, Foresight, Info, NEVER, Param, Params, Relocation, Scheme, Setup,
    UserWrite, VictimPolicy, Victims, Wants, ZoneEvent, ZoneView,
};

/// The most groups: there are queues for [`CLASSES`] classes, and frozen pages take one.
const MOST: usize = CLASSES - 1;
/// The share of the variance that may remain within the clusters.
const UNEXPLAINED: f64 = 0.05;
/// Significant bits of the lifespans to cluster; below, of those in the model.
const BITS: u32 = 11;
const MODEL_BITS: u32 = 5;

/// Groups by k-means over true lifespans, with sizes.
#[derive(Clone, Debug)]
pub struct Ora {
    clusters: Clusters,
    groups: Groups,
    /// Open and sealed zones.
    zones: u32,
    valid: u64,
    /// Valid pages that are never written again.
    frozen: u64,
    now: u32,
    planned_at: Option<u32>,
    /// The write amplification of the last prediction.
    predicted: f64,
}

impl Ora {
    #[inline(always)]
    fn class(&self, death: Death, now: u32) -> usize {
        match death.remaining(now) {
            Some(remaining) => self.clusters.of(remaining),
            None => self.clusters.len(),
        }
    }

    fn plan(&mut self, zones: &ZoneView<'_>, choice: &mut Choice) {
        let over = u64::from(self.zones) * u64::from(zones.zone_pages());
        let lasts = |at: u32| u64::from(self.now.wrapping_sub(at)) < over;
        if self.planned_at.is_some_and(lasts) {
            return;
        }
        self.planned_at = Some(self.now);
        let volume = SizedVolume {
            zones: f64::from(self.zones),
            zone_pages: f64::from(zones.zone_pages()),
            valid: self.valid as f64,
            frozen: self.frozen as f64,
        };
        if let Some((sizes, predicted)) = self.clusters.sizes(&volume) {
            self.predicted = predicted;
            // The pool has two classes: the last group's and that of frozen pages.
            self.groups.divide(sizes.into_iter(), 2, zones, choice);
        }
    }
}

impl Scheme for Ora {
    type Page = Death;
    const INFO: Info = Info {
        name: "ora",
        summary: "future knowledge: by k-means over lifespans left, in groups of searched sizes",
        source: "Oh et al., MiDAS, FAST 2024",
        params: &[Param::whole("classes", MOST as i64, 2..=MOST as i64, "groups at most")],
    };
    const WANTS: Wants = Wants {
        foresight: Foresight::Lifespans,
        victims: Victims::Ordered("greedy"),
        whole_pages: true,
        ..Wants::NOTHING
    };
    // Its model counts the copies of greedy cleaning.

    fn build(setup: &Setup<'_>, params: &mut Params) -> Result<Self, BuildError> {
        let most: usize = params.whole(Self::INFO.params, "classes")?;
        let lifespans =
            setup.lifespans.ok_or(BuildError::NeedsForesight { name: Self::INFO.name })?;
        let ending = || lifespans.iter().copied().filter(|&lifespan| lifespan != NEVER);
        let all = histogram(ending(), BITS);
        let cuts = |groups: usize| cluster(&all, groups, true);
        let enough = |groups: &usize| unexplained(&all, &cuts(*groups)) <= UNEXPLAINED;
        let groups = (2..most).find(enough).unwrap_or(most);
        let clusters =
            Clusters::new(cuts(groups), &histogram(ending(), MODEL_BITS), lifespans.len());
        assert!(clusters.len() <= MOST, "each cluster has a group");
        Ok(Ora {
            groups: Groups::up_to(clusters.len()),
            clusters,
            zones: 0,
            valid: 0,
            frozen: 0,
            now: 0,
            planned_at: None,
            predicted: 0.0,
        })
    }

    fn classes(&self) -> usize {
        self.clusters.len() + 1
    }

    #[inline(always)]
    fn place_user(&mut self, write: &UserWrite, page: &mut Death) -> usize {
        (self.now, self.valid) = (write.now, write.valid);
        self.frozen += u64::from(write.lifespan == NEVER);
        *page = Death::of(write);
        self.class(*page, write.now)
    }

    #[inline(always)]
    fn place_relocation(&mut self, relocation: &Relocation, page: &mut Death) -> usize {
        self.class(*page, relocation.now)
    }

    fn on_opened(&mut self, _: &ZoneEvent) {
        self.zones += 1;
    }

    fn on_sealed(&mut self, zone: &ZoneEvent, _: &ZoneView<'_>) {
        self.groups.sealed(zone.zone, zone.class);
    }

    fn on_reclaimed(&mut self, zone: &ZoneEvent) {
        self.groups.reclaimed(zone.zone, zone.class);
        assert!(self.zones > 0, "a zone is opened before it is reclaimed");
        self.zones -= 1;
    }

    fn pick(&mut self, zones: &ZoneView<'_>, policy: &mut dyn VictimPolicy, choice: &mut Choice) {
        self.plan(zones, choice);
        if !self.groups.pick(zones, policy, choice) {
            choice.victims.extend(policy.pick(zones));
        }
    }

    fn bytes(&self) -> usize {
        self.groups.bytes() + self.clusters.bytes()
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        vec![("groups", self.clusters.len() as f64), ("predicted_waf", self.predicted)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ora(lifespans: &[u32], params: &str) -> Ora {
        let setup = Setup { lifespans: Some(lifespans), ..Setup::new(16, 1000) };
        let (_, mut params) = Params::parse(&format!("ora{params}")).unwrap();
        Ora::build(&setup, &mut params).unwrap()
    }

    #[test]
    fn groups_are_as_many_as_lifespans_are_of_kinds() {
        let three = [vec![10; 500], vec![12; 500], vec![1000; 500], vec![90_000; 500]].concat();
        assert_eq!(ora(&three, "").classes(), 3 + 1);
        assert_eq!(ora(&three, ":classes=2").classes(), 2 + 1);
    }

    #[test]
    fn a_page_goes_to_the_cluster_of_the_lifespan_that_is_left() {
        let lifespans =
            [vec![10; 500], vec![1000; 500], vec![90_000; 500], vec![NEVER; 9]].concat();
        let mut ora = ora(&lifespans, "");
        let mut page = bytemuck::Zeroable::zeroed();
        let write = |lifespan| UserWrite { lifespan, ..UserWrite::first(7, 100) };
        let classes = [10, 1000, 90_000, NEVER].map(|l| ora.place_user(&write(l), &mut page));
        assert_eq!(classes, [0, 1, 2, 3]);
        ora.place_user(&write(1000), &mut page);
        let left = |now| Relocation { lba: 7, now, zone: 1, class: 1, last: false };
        assert_eq!(ora.place_relocation(&left(100), &mut page), 1);
        assert_eq!(ora.place_relocation(&left(1090), &mut page), 0);
    }
}
