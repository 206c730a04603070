//! The epochs of MiDAS: groups are divided anew, or given up.
//!
//! Update intervals are observed for an epoch. At its end the model looks for the best division; if
//! that is predicted to cost no more than was measured of late, it is applied, and the next epoch
//! begins. Once every group has had a victim, what is valid in them is measured. Where much more is
//! than was predicted, the model does not hold: that group and all behind it are merged. If more was
//! copied than before any group was sized, all are.

use super::event::Event;
use super::intervals::Intervals;
use super::search::{Division, search};
use crate::chain::groups::Groups;
use crate::chain::measured::Measured;
use crate::chain::model::{Hot, MOST_GROUPS, Prediction, Space};
use crate::chain::survival::SurvivalCurve;

/// User writes of an epoch, in capacities of the volume.
const CAPACITIES: u32 = 4;
/// Of an epoch's length, after which the groups are compared with the prediction.
const CHECK: f64 = 0.3;
/// A group is given up if its share of valid pages exceeds the prediction by this.
const TOLERANCE: f64 = 0.1;
/// The hot group is taken as it was measured if more of its pages than this leave it alive,
const LEAKY: f64 = 0.1;
/// or if it takes a smaller share of the writes than this.
const SMALL: f64 = 0.15;
/// An epoch counts for nothing if the volume has grown by one of so many pages in it.
const GROWN: u64 = 4;
/// A division is given up if write amplification is this much larger than before it.
const WORSE: f64 = 1.02;
/// Parts of the last group, if frozen pages are counted: by relocations, for in the last they gather.
const PARTS: usize = 3;
/// The longest epoch.
const LONGEST: u32 = 1 << 30;
/// Events that are kept.
const EVENTS: usize = 256;

/// The state of a volume when it is to be cleaned.
#[derive(Clone, Copy, Debug)]
pub struct VolumeState {
    /// Time.
    pub now: u32,
    /// Pages in a zone.
    pub zone_pages: u32,
    /// Open and sealed zones.
    pub zones: u32,
    /// Valid pages.
    pub valid: u64,
}

/// The change that is due to the groups.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// They stay.
    Keep,
    /// They get these sizes.
    Divide(Division),
    /// Those from this class on share a pool.
    Merge(usize),
}

/// Observes a volume and decides on its groups.
#[derive(Clone, Debug)]
pub struct Epochs {
    intervals: Intervals,
    counts_frozen: bool,
    hot: bool,
    length: u32,
    started: Option<u32>,
    /// Time of the first cleaning.
    first: Option<u32>,
    /// The division that is applied.
    applied: Option<Applied>,
    /// The relocations of the last division that was given up, over those that were predicted.
    error: f64,
    /// Valid pages at the start of the epoch.
    valid: u64,
    /// From when on the groups are measured: each has had a victim.
    measured_from: Option<u32>,
    trouble: Trouble,
    events: Vec<(u32, Event)>,
}

/// A division that was applied.
#[derive(Clone, Copy, Debug)]
struct Applied {
    prediction: Prediction,
    /// Write amplification when no group was sized.
    before: f64,
}

/// Epochs in which the groups did not hold.
#[derive(Clone, Copy, Debug, Default)]
struct Trouble {
    now: bool,
    before: bool,
    doublings: u32,
}

impl Epochs {
    /// Observes nothing yet. With `counts_frozen` the model is given the frozen pages; with `hot` there
    /// is a hot group.
    pub fn new(intervals: Intervals, counts_frozen: bool, hot: bool) -> Self {
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
            trouble: Trouble::default(),
            events: Vec::new(),
        }
    }

    /// The page was written.
    #[inline(always)]
    pub fn written(&mut self, lba: u32, now: u32) {
        self.intervals.written(lba, now);
    }

    /// The page was trimmed.
    pub fn trimmed(&mut self, lba: u32, now: u32) {
        self.intervals.trimmed(lba, now);
    }

    /// Events, a line each.
    pub fn explain(&self) -> Vec<String> {
        self.events.iter().map(|(at, event)| format!("at {at}: {event}")).collect()
    }

    /// Parts of the last group.
    pub fn parts(&self) -> usize {
        if self.counts_frozen { PARTS } else { 1 }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.intervals.bytes()
    }

    /// To be called before victims are chosen.
    pub fn decide(
        &mut self,
        volume: &VolumeState,
        groups: &Groups,
        measured: &mut Measured,
    ) -> Decision {
        let now = volume.now;
        let Some(started) = self.started else {
            // Once it is full, a volume is written once over before its habits are observed.
            let first = *self.first.get_or_insert(now);
            if u64::from(now.wrapping_sub(first)) >= volume.valid {
                self.start(volume, measured);
            }
            return Decision::Keep;
        };
        measured.at(now, self.length / CAPACITIES);
        if now.wrapping_sub(started) >= self.length {
            // Observations of a volume that grows are soon no longer true.
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

    /// Cleaning did not end, and the groups from this class on are merged for it.
    pub fn endless(&mut self, now: u32, group: usize, groups: usize) {
        self.give_up(now, Event::Endless { group }, group, groups);
    }

    fn start(&mut self, volume: &VolumeState, measured: &mut Measured) {
        let Trouble { now, before, doublings } = self.trouble;
        let twice = now && before;
        self.trouble = Trouble {
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

    /// An epoch of so many writes ends: finds the best division. The groups may be `sized` already.
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
            true => (hot.leak > LEAKY || hot.share < SMALL).then_some(hot).filter(|h| h.zones > 0),
        };
        let (zone_pages, valid) = (f64::from(zone_pages), valid as f64);
        let space = Space { zone_pages, zones, valid, frozen: frozen * valid };
        let division = search(&survival, &space, fixed, MOST_GROUPS + 1 - self.parts());
        let expected = |division: &Division| 1.0 + (division.prediction.waf - 1.0) * self.error;
        let applied = division.filter(|division| expected(division) <= measured.waf());
        let event = Event::Epoch {
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
            // One division after another is compared with the pool that was before them.
            let before = self.applied.filter(|_| sized).map_or(measured.waf(), |was| was.before);
            self.applied = Some(Applied { prediction: division.prediction, before });
            self.measured_from = None;
            Decision::Divide(division)
        })
    }

    /// Compares the groups with the prediction, when they have been measured for long enough.
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
        let after = 1.0 + measured.copied() as f64 / written;
        let irregular = irregular(&applied.prediction, groups, measured);
        measured.start_groups();
        if after > WORSE * applied.before {
            self.error = (after - 1.0) / (applied.prediction.waf - 1.0).max(1e-3);
            self.give_up(now, Event::Worse { before: applied.before, after }, 0, sized);
            return Decision::Merge(0);
        }
        irregular.map_or(Decision::Keep, |(group, predicted, measured)| {
            self.give_up(now, Event::Irregular { group, predicted, measured }, group, sized);
            Decision::Merge(group)
        })
    }

    /// Of `groups` sized ones, those from this class on are merged.
    fn give_up(&mut self, now: u32, event: Event, group: usize, groups: usize) {
        self.note(now, event);
        self.trouble.now |= group * 2 <= groups;
    }

    fn note(&mut self, now: u32, event: Event) {
        if self.events.len() < EVENTS {
            self.events.push((now, event));
        }
    }
}

/// The first group that holds more valid pages than predicted, and the shares that were predicted and
/// measured. Of a pool of several groups nothing was predicted.
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
