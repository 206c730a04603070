//! The lifespan below which a page counts as short-living, adjusted after each window (PHFTL,
//! algorithm 1).

use frostline_placement::NEVER;

use super::digits::{DIGITS, Digits};
use super::tracks::TrackedWrite;
use crate::gru::sigmoid;

/// The most samples of each label to train and test a light model.
const SAMPLES: usize = 256;
/// The least samples of each label: with fewer a light model is right by chance.
const LEAST: usize = 16;
/// Passes of a light model through its samples.
const PASSES: usize = 4;
const RATE: f32 = 0.2;
/// The lowest percentile that may become the threshold.
const LOWEST: i32 = 5;
/// The largest step in percentiles.
const LONGEST_STEP: i32 = 10;

/// The threshold and the state of its adjustment.
#[derive(Debug)]
pub(crate) struct Threshold {
    value: Option<u32>,
    /// True if the threshold is adjusted; false if the first value stays.
    adaptive: bool,
    /// Percentiles between two candidates.
    step: i32,
    /// The direction of the last adjustment: -1 down, 0 none, 1 up.
    direction: i32,
    lifespans: Vec<u32>,
    /// Indices of short-living and of long-living writes among the window's writes.
    labelled: [Vec<u32>; 2],
}

/// A threshold and the state of its adjustment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Adjusted {
    pub value: u32,
    pub step: i32,
    pub direction: i32,
}

impl Threshold {
    /// No threshold yet. A window gives at most `writes` writes to learn from. Unless `adaptive`,
    /// the first threshold stays.
    pub(super) fn new(writes: usize, adaptive: bool) -> Self {
        let labelled = [(); 2].map(|()| Vec::with_capacity(writes));
        let lifespans = Vec::with_capacity(writes);
        Threshold { value: None, adaptive, step: 5, direction: 0, lifespans, labelled }
    }

    /// The threshold: versions that live for less are short-living. `None` before the first window
    /// ends.
    pub(super) fn value(&self) -> Option<u32> {
        self.value
    }

    /// The threshold and the state of its adjustment, to be kept across a restart.
    pub(super) fn memory(&self) -> Option<Adjusted> {
        let Threshold { value, step, direction, .. } = *self;
        value.map(|value| Adjusted { value, step, direction })
    }

    /// Restores what [`Threshold::memory`] gave.
    pub(super) fn recall(&mut self, adjusted: &Adjusted) {
        self.value = Some(adjusted.value);
        self.step = adjusted.step.clamp(0, LONGEST_STEP);
        self.direction = adjusted.direction.clamp(-1, 1);
    }

    /// Ends a window with these writes at `end`. Nothing changes if fewer than two of their
    /// versions have ended.
    pub(super) fn adjust(&mut self, writes: &[TrackedWrite], end: u32) {
        self.lifespans.clear();
        self.lifespans.extend(writes.iter().map(|w| w.lifespan).filter(|&l| l != NEVER));
        self.lifespans.sort_unstable();
        if self.lifespans.len() < 2 {
            return;
        }
        let Some(previous) = self.value else {
            self.value = Some(above(inflection(&self.lifespans)));
            return;
        };
        if !self.adaptive {
            return;
        }
        let below = self.lifespans.partition_point(|&lifespan| lifespan < previous);
        let percentile = (below * 100 / self.lifespans.len()) as i32;
        let mut best = (0.0, 0, previous);
        for direction in [-1, 0, 1] {
            let percentile = (percentile + direction * self.step).clamp(LOWEST, 100) as usize;
            let value = above(self.lifespans[(self.lifespans.len() - 1) * percentile / 100]);
            let accuracy = self.accuracy(writes, value, end);
            if accuracy > best.0 {
                best = (accuracy, direction, value);
            }
        }
        if best.0 == 0.0 {
            // No candidate had enough samples.
            best.2 = above(inflection(&self.lifespans));
        }
        self.refine(best.1);
        self.value = Some(best.2);
    }

    /// Adjusts the step: longer after the same direction twice, shorter after a turn or a stop.
    fn refine(&mut self, direction: i32) {
        assert!((-1..=1).contains(&direction), "an adjustment goes down, up or nowhere");
        self.step += if direction == self.direction {
            1
        } else if direction == 0 || self.direction != 0 {
            -1
        } else {
            0
        };
        self.step = self.step.abs().min(LONGEST_STEP);
        self.direction = direction;
    }

    /// The accuracy of a light model that tells lifespans below `threshold` from others: logistic
    /// regression of the digits, trained and tested on as many short as long lifespans. 0 if one
    /// kind has too few samples.
    fn accuracy(&mut self, writes: &[TrackedWrite], threshold: u32, end: u32) -> f64 {
        self.labelled.iter_mut().for_each(Vec::clear);
        for (i, write) in (0u32..).zip(writes) {
            if let Some(is_long) = write.is_long(threshold, end) {
                self.labelled[usize::from(is_long)].push(i);
            }
        }
        let samples = self.labelled.iter().map(Vec::len).min().unwrap_or(0).min(SAMPLES);
        if samples < LEAST {
            return 0.0;
        }
        // Samples are spread evenly over each label; short and long lifespans take turns.
        let sample = |i: usize| {
            let labelled = &self.labelled[i % 2];
            (&writes[labelled[i / 2 * labelled.len() / samples] as usize].digits, i % 2 == 1)
        };
        // Of each four samples, two are for training and two for the test.
        let is_trial = |i: &usize| i / 2 % 2 == 1;
        let mut weights = [0.0; DIGITS + 1];
        for _ in 0..PASSES {
            for (digits, is_long) in (0..2 * samples).filter(|i| !is_trial(i)).map(sample) {
                let error = f32::from(u8::from(is_long)) - sigmoid(score(&weights, digits));
                for (weight, &digit) in weights.iter_mut().zip(digits) {
                    *weight += RATE * error * f32::from(digit) / 15.0;
                }
                weights[DIGITS] += RATE * error;
            }
        }
        let trials = (0..2 * samples).filter(is_trial);
        let right = |i: &usize| {
            let (digits, is_long) = sample(*i);
            (score(&weights, digits) > 0.0) == is_long
        };
        trials.clone().filter(right).count() as f64 / trials.count() as f64
    }
}

/// The threshold just above a lifespan. Many lifespans may be equal; they are then all below it.
fn above(lifespan: u32) -> u32 {
    lifespan.saturating_add(1)
}

/// The lifespan at which the curve of sorted lifespans is farthest from a straight line between its
/// ends.
fn inflection(lifespans: &[u32]) -> u32 {
    debug_assert!(lifespans.len() > 1 && lifespans.is_sorted(), "a curve has two ends");
    let lifespan = |i: usize| f64::from(lifespans[i]);
    let last = lifespans.len() - 1;
    let (from, to) = (lifespan(0), lifespan(last));
    // The distance times a constant factor.
    let distance = |i: usize| ((lifespan(i) - from) * last as f64 - (to - from) * i as f64).abs();
    let farthest = (0..=last).max_by(|&a, &b| distance(a).total_cmp(&distance(b)));
    lifespans[farthest.unwrap_or(0)]
}

fn score(weights: &[f32; DIGITS + 1], digits: &Digits) -> f32 {
    let products = weights.iter().zip(digits).map(|(w, &digit)| w * f32::from(digit) / 15.0);
    weights[DIGITS] + products.sum::<f32>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes whose versions ended after these lifespans; the first digit tells which lifespans are
    /// below 100.
    fn writes(lifespans: impl Iterator<Item = u32>) -> Vec<TrackedWrite> {
        let of = |lifespan: u32| {
            let mut digits = [0; DIGITS];
            digits[0] = if lifespan < 100 { 15 } else { 0 };
            TrackedWrite { lifespan, digits, now: 0 }
        };
        lifespans.map(of).collect()
    }

    fn threshold(value: u32) -> Threshold {
        Threshold { value: Some(value), ..Threshold::new(1000, true) }
    }

    #[test]
    fn the_first_threshold_is_where_the_long_tail_begins() {
        let mut threshold = Threshold::new(1000, true);
        // 900 lifespans up to 90, and 100 lifespans evenly up to 10,000.
        let lifespans = (0..900).map(|i| i / 10).chain((1..=100).map(|i| i * 100));
        threshold.adjust(&writes(lifespans), 20_000);
        let value = threshold.value().unwrap();
        assert!((80..=200).contains(&value), "{value}");
    }

    #[test]
    fn one_that_is_not_adaptive_stays_as_the_first_window_gave_it() {
        let mut threshold = Threshold { adaptive: false, ..Threshold::new(1000, true) };
        threshold.adjust(&writes((1..100).chain([9000])), 20_000);
        let first = threshold.value();
        assert!(first.is_some());
        threshold.adjust(&writes(0..500), 1000);
        assert_eq!(threshold.value(), first);
    }

    #[test]
    fn the_threshold_moves_to_where_features_tell_most() {
        let mut threshold = threshold(400);
        for _ in 0..40 {
            threshold.adjust(&writes(0..500), 1000);
        }
        let value = threshold.value().unwrap();
        assert!((80..=120).contains(&value), "{value}");
    }

    #[test]
    fn a_step_grows_as_long_as_it_leads_on_and_shrinks_where_it_turns() {
        let mut threshold = threshold(1);
        let mut steps = Vec::new();
        for direction in [0, 1, 1, -1, 0, 0] {
            threshold.refine(direction);
            steps.push(threshold.step);
        }
        assert_eq!(steps, [6, 6, 7, 6, 5, 6]);
        (0..20).for_each(|_| threshold.refine(0));
        assert_eq!(threshold.step, 10);
    }

    #[test]
    fn without_versions_that_ended_nothing_changes() {
        let mut threshold = threshold(70);
        threshold.adjust(&writes([NEVER; 100].into_iter()), 1000);
        assert_eq!(threshold.value(), Some(70));
    }
}
