//! The epochs of MiDAS: at the end of one, groups are divided anew; between, a division may be
//! given up.
//!
//! Update intervals are observed for an epoch. At its end the model looks for the best division. If
//! the division is predicted to cost no more than was measured of late, it is applied. Then the
//! next epoch begins. Once every group has had a victim, the valid pages in victims are measured.
//! If a group has many more than was predicted, the model does not hold: that group and all behind
//! it are merged. If more is copied than before any group was sized, all groups are merged.

use super::event::GroupEvent;
use super::intervals::Intervals;
use super::search::{Division, search};
use crate::chain::groups::Groups;
use crate::chain::measured::Measured;
use crate::chain::model::{Hot, MOST_GROUPS, Prediction, Space};
use crate::chain::survival::SurvivalCurve;

/// User writes of an epoch, in capacities of the volume.
const CAPACITIES: u32 = 4;
/// The groups are compared with the prediction after this share of an epoch.
const CHECK: f64 = 0.3;
/// A group is given up if its share of valid pages exceeds the prediction by this much.
const TOLERANCE: f64 = 0.1;
/// The measured hot group is kept if more than this share of its pages leave it alive,
const LEAKY: f64 = 0.1;
/// or if it takes less than this share of the user writes. Otherwise its size is searched for.
const SMALL: f64 = 0.15;
/// An epoch has no result if the volume grew by more than one page in this many during it.
const GROWN: u64 = 4;
/// A division is given up if write amplification is this much larger than before it.
const WORSE: f64 = 1.02;
/// Parts of the last group if frozen pages are counted. Further relocations divide it: frozen pages
/// gather in the last part.
const PARTS: usize = 3;
/// The longest epoch, in user writes.
const LONGEST: u32 = 1 << 30;
/// The most events that are kept.
const EVENTS: usize = 256;

/// The state of a volume that is about to be cleaned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VolumeState {
    /// Time.
    pub now: u32,
    /// Pages in a zone.
    pub zone_pages: u32,
    /// Open and sealed zones.
    pub zones: u32,
    /// Valid pages.
    pub valid: u64,
}

/// The change that the groups need now.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Decision {
    /// The groups stay as they are.
    Keep,
    /// The groups get these sizes.
    Divide(Division),
    /// The groups from this class on share a pool.
    Merge(usize),
}

/// Observes a volume and decides on its groups.
#[derive(Clone, Debug)]
pub(crate) struct Epochs {
    intervals: Intervals,
    counts_frozen: bool,
    hot: bool,
    length: u32,
    started: Option<u32>,
    /// Time of the first cleaning.
    first: Option<u32>,
    /// The division that is applied.
    applied: Option<Applied>,
    /// Measured relocations of the division that was given up last, divided by the predicted ones.
    error: f64,
    /// Valid pages at the start of the epoch.
    valid: u64,
    /// The time from which the groups are measured: a zone has then left each.
    measured_from: Option<u32>,
    trouble: ModelDrift,
    events: Vec<(u32, GroupEvent)>,
}

/// A division that was applied.
#[derive(Clone, Copy, Debug)]
struct Applied {
    prediction: Prediction,
    /// Write amplification when no group was sized.
    before: f64,
}

/// Records whether divisions were given up in the present and the last epoch.
#[derive(Clone, Copy, Debug, Default)]
struct ModelDrift {
    now: bool,
    before: bool,
    doublings: u32,
}

impl Epochs {
    /// Nothing is observed yet. With `counts_frozen` the model is told the number of frozen pages;
    /// with `hot` there is a hot group.
    pub(crate) fn new(intervals: Intervals, counts_frozen: bool, hot: bool) -> Self {
        Epochs {
            intervals,
            counts_frozen,
            hot,
            length: 0,
            started: None,
            first: None,
            applied: None,
            error: 1.0,
            valid: 0,
            measured_from: None,
            trouble: ModelDrift::default(),
            events: Vec::new(),
        }
    }

    /// The page was written.
    #[inline(always)]
    pub(crate) fn written(&mut self, lba: u32, now: u32) {
        self.intervals.written(lba, now);
    }

    /// The page was trimmed.
    pub(crate) fn trimmed(&mut self, lba: u32, now: u32) {
        self.intervals.trimmed(lba, now);
    }

    /// The events, one per line.
    pub(crate) fn explain(&self) -> Vec<String> {
        self.events.iter().map(|(at, event)| format!("at {at}: {event}")).collect()
    }

    /// The number of classes into which the last group is divided.
    pub(crate) fn parts(&self) -> usize {
        if self.counts_frozen { PARTS } else { 1 }
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.intervals.bytes()
    }

    /// Decides whether the groups change. To be called before victims are chosen.
    pub(crate) fn decide(
        &mut self,
        volume: &VolumeState,
        groups: &Groups,
        measured: &mut Measured,
    ) -> Decision {
        let now = volume.now;
        let Some(started) = self.started else {
            // A full volume is first overwritten once before it is observed.
            let first = *self.first.get_or_insert(now);
            if u64::from(now.wrapping_sub(first)) >= volume.valid {
                self.start(volume, measured);
            }
            return Decision::Keep;
        };
        measured.at(now, self.length / CAPACITIES);
        if now.wrapping_sub(started) >= self.length {
            // Observations of a growing volume soon no longer hold.
            let sized = !groups.sizes().is_empty();
            let grown = volume.valid > self.valid + self.valid / GROWN;
            let decision = match grown {
                true => Decision::Keep,
                false => self.end(volume, sized, measured, now.wrapping_sub(started)),
            };
            self.start(volume, measured);
            return decision;
        }
        self.check(now, groups, measured)
    }

    /// Records that cleaning did not end, for which the groups from the class `group` on are
    /// merged.
    pub(crate) fn endless(&mut self, now: u32, group: usize, groups: usize) {
        self.give_up(now, GroupEvent::Endless { group }, group, groups);
    }

    fn start(&mut self, volume: &VolumeState, measured: &mut Measured) {
        let ModelDrift { now, before, doublings } = self.trouble;
        let twice = now && before;
        self.trouble = ModelDrift {
            now: false,
            before: now && !twice,
            doublings: (doublings + u32::from(twice)).min(3),
        };
        let capacity = u64::from(volume.zones) * u64::from(volume.zone_pages);
        let length = (capacity * u64::from(CAPACITIES)) << self.trouble.doublings;
        self.length = length.clamp(u64::from(volume.zone_pages), u64::from(LONGEST)) as u32;
        self.started = Some(volume.now);
        self.valid = volume.valid;
        self.intervals.start(volume.now, self.length);
        measured.start_hot();
    }

    /// Ends an epoch of `written` user writes: finds the best division. `sized` tells whether
    /// groups have sizes already.
    fn end(
        &mut self,
        volume: &VolumeState,
        sized: bool,
        measured: &Measured,
        written: u32,
    ) -> Decision {
        let VolumeState { now, zone_pages, zones, valid } = *volume;
        let survival = match self.counts_frozen {
            true => self.intervals.survival_with_unseen_ends(now),
            false => self.intervals.survival(),
        };
        let frozen = match self.counts_frozen {
            true => self.intervals.frozen(&survival, now),
            false => 0.0,
        };
        let hot = measured.hot(written);
        let fixed = match self.hot {
            false => Some(Hot::NONE),
            true => {
                let keeps = hot.leak > LEAKY || hot.share < SMALL;
                keeps.then(|| hot.with_own_deaths(&survival))
            }
        };
        let (zone_pages, valid) = (f64::from(zone_pages), valid as f64);
        let space = Space { zone_pages, zones, valid, frozen: frozen * valid };
        let division = search(&survival, &space, fixed, MOST_GROUPS + 1 - self.parts());
        let expected = |division: &Division| 1.0 + (division.prediction.waf - 1.0) * self.error;
        let applied = division.filter(|division| expected(division) <= measured.waf());
        let event = GroupEvent::Epoch {
            quartiles: quartiles(&survival),
            endless: survival.endless(),
            frozen,
            measured: measured.waf(),
            division: division.map(Box::new),
            error: self.error,
            is_applied: applied.is_some(),
        };
        self.note(now, event);
        applied.map_or(Decision::Keep, |division| {
            // A division that follows another is compared with the pool before the first of them.
            let before = self.applied.filter(|_| sized).map_or(measured.waf(), |was| was.before);
            self.applied = Some(Applied { prediction: division.prediction, before });
            self.measured_from = None;
            Decision::Divide(division)
        })
    }

    /// Compares the groups with the prediction, once they were measured for long enough.
    fn check(&mut self, now: u32, groups: &Groups, measured: &mut Measured) -> Decision {
        let sized = groups.sizes().len();
        let Some(applied) = self.applied.filter(|_| sized > 0) else { return Decision::Keep };
        let Some(from) = self.measured_from else {
            if (0..=groups.last()).all(|class| measured.valid(class).is_some()) {
                self.measured_from = Some(now);
                measured.start_groups();
            }
            return Decision::Keep;
        };
        let written = f64::from(now.wrapping_sub(from));
        if written < CHECK * f64::from(self.length) {
            return Decision::Keep;
        }
        self.measured_from = Some(now);
        let after = 1.0 + measured.copied_from_groups() as f64 / written;
        let irregular = irregular(&applied.prediction, groups, measured);
        measured.start_groups();
        if after > WORSE * applied.before {
            self.error = (after - 1.0) / (applied.prediction.waf - 1.0).max(1e-3);
            self.give_up(now, GroupEvent::Worse { before: applied.before, after }, 0, sized);
            return Decision::Merge(0);
        }
        irregular.map_or(Decision::Keep, |(group, predicted, measured)| {
            self.give_up(now, GroupEvent::Irregular { group, predicted, measured }, group, sized);
            Decision::Merge(group)
        })
    }

    /// Records that, of `groups` sized groups, those from the class `group` on are merged.
    fn give_up(&mut self, now: u32, event: GroupEvent, group: usize, groups: usize) {
        self.note(now, event);
        self.trouble.now |= group * 2 <= groups;
    }

    fn note(&mut self, now: u32, event: GroupEvent) {
        if self.events.len() < EVENTS {
            self.events.push((now, event));
        }
    }
}

/// The first group with more valid pages in victims than predicted, the predicted share and the
/// measured one. There is no prediction for a pool of several groups.
fn irregular(
    prediction: &Prediction,
    groups: &Groups,
    measured: &Measured,
) -> Option<(usize, f64, f64)> {
    let sized = groups.sizes().len();
    let end = sized + usize::from(sized == groups.last());
    let mut shares =
        (1..end).map(|g| (g, prediction.valid[g - 1], measured.valid(g).unwrap_or(0.0)));
    shares.find(|&(_, predicted, measured)| measured - predicted >= TOLERANCE)
}

fn quartiles(survival: &SurvivalCurve) -> [f64; 3] {
    [0.75, 0.5, 0.25].map(|share| survival.age_at(share).unwrap_or(f64::INFINITY))
}

#[cfg(test)]
mod tests {
    use super::*;
    use frostline_random::SplitMix;

    const PAGES: u32 = 5000;
    const VOLUME: VolumeState =
        VolumeState { now: 0, zone_pages: 16, zones: 336, valid: PAGES as u64 };

    /// The division found after an epoch of uniform writes, of which each 200th went to the hot
    /// group. The hot group has eight zones, of which `victims` were cleaned, all of them dead.
    fn division_of_uniform_writes(victims: u32) -> Division {
        let mut epochs = Epochs::new(Intervals::new(PAGES, VOLUME.zone_pages, 1), false, true);
        let (groups, mut measured) = (Groups::default(), Measured::new(VOLUME.zone_pages));
        let mut rng = SplitMix::new(7);
        // The first cleaning, the first epoch, the second.
        for length in [0, PAGES, VOLUME.zones * VOLUME.zone_pages * CAPACITIES] {
            let from = epochs.started.or(epochs.first).unwrap_or(0);
            for now in from + 1..=from + length {
                epochs.written(rng.below(PAGES), now);
                (now % 200 == 0).then(|| measured.hot_write());
            }
            for _ in 0..victims {
                measured.hot_zones(8);
                measured.victim(0, 0);
            }
            let volume = VolumeState { now: from + length, ..VOLUME };
            epochs.decide(&volume, &groups, &mut measured);
        }
        match &epochs.events[..] {
            [(_, GroupEvent::Epoch { division: Some(division), .. })] => **division,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_hot_group_that_few_pages_come_to_does_not_make_the_others_die_young() {
        let Division { hot, prediction, .. } = division_of_uniform_writes(4);
        assert_eq!(hot.zones, 8);
        // Greedy cleaning of uniform writes costs 5.9 with this room.
        assert!(prediction.waf > 5.0, "{prediction:?}");
    }

    #[test]
    fn a_hot_group_without_a_victim_is_taken_as_it_was_measured() {
        let Division { hot, prediction, .. } = division_of_uniform_writes(0);
        assert!((hot.share - 0.005).abs() < 1e-4, "{hot:?}");
        assert!(prediction.waf > 5.0, "{prediction:?}");
    }
}
