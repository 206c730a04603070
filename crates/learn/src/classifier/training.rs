//! Training: one epoch in each window, a few pages at a time (PHFTL, section III-B).

use frostline_random::SplitMix;
use multiversion::multiversion;

#[cfg(all(test, feature = "gru"))]
mod candle;

use super::inference::unpacked;
use super::network::{ClassifierNetwork, Step, UNITS, VALUES};
use super::tracks::{LENGTH, TRACKS, Track};
use crate::adam::Adam;
use crate::sgd::shuffle;

/// Tracks whose gradients are added up for one step of the optimiser.
const BATCH: usize = 16;
/// The learning rate.
const RATE: f32 = 0.005;

/// The labels of versions. A version has a label once the threshold's time has passed since its
/// write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Labels {
    pub threshold: u32,
    /// The time at which the window ended.
    pub end: u32,
}

/// Trains a network with the tracks of a window.
#[derive(Debug)]
pub(crate) struct Training {
    pub network: ClassifierNetwork,
    adam: Adam,
    gradient: ClassifierNetwork,
    chance: SplitMix,
    /// The tracks of the last window.
    pub tracks: Vec<Track>,
    labels: Labels,
    /// The order of the tracks; below, the number of those done.
    order: Vec<u32>,
    done: usize,
}

impl Training {
    pub(super) fn new(mut chance: SplitMix) -> Self {
        Training {
            network: ClassifierNetwork::random(&mut chance),
            adam: Adam::new(RATE, VALUES),
            gradient: ClassifierNetwork::zeroes(),
            chance,
            tracks: Vec::with_capacity(TRACKS),
            labels: Labels { threshold: 0, end: 0 },
            order: Vec::with_capacity(TRACKS),
            done: 0,
        }
    }

    /// Begins an epoch with the present tracks.
    pub(super) fn begin(&mut self, labels: Labels) {
        self.labels = labels;
        self.order.clear();
        self.order.extend(0..self.tracks.len() as u32);
        shuffle(&mut self.order, &mut self.chance);
        self.done = 0;
    }

    /// Batches of an epoch.
    pub(super) fn batches(&self) -> u32 {
        self.tracks.len().div_ceil(BATCH) as u32
    }

    /// True while an epoch goes on.
    #[inline(always)]
    pub(super) fn goes_on(&self) -> bool {
        self.done < self.order.len()
    }

    /// Learns from the next batch of the epoch.
    pub(super) fn work(&mut self) {
        debug_assert!(self.goes_on(), "an epoch that goes on has tracks left");
        let batch = &self.order[self.done..(self.done + BATCH).min(self.order.len())];
        self.done += batch.len();
        self.gradient.values.fill(0.0);
        let mut labelled = 0;
        for &track in batch {
            let track = &self.tracks[track as usize];
            labelled += learn(&self.network, track, self.labels, &mut self.gradient);
        }
        if labelled > 0 {
            let share = 1.0 / labelled as f32;
            self.gradient.values.iter_mut().for_each(|slope| *slope *= share);
            self.adam.step(&mut self.network.values, &self.gradient.values);
        }
    }

    /// Bytes that it holds.
    pub(super) fn bytes(&self) -> usize {
        5 * size_of_val(&self.network.values[..])
            + self.tracks.capacity() * size_of::<Track>()
            + size_of_val(&self.order[..])
    }
}

/// Adds the gradient of the cross entropy over a track's writes; returns the number of writes that
/// have a label.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn learn(
    network: &ClassifierNetwork,
    track: &Track,
    labels: Labels,
    gradient: &mut ClassifierNetwork,
) -> usize {
    let mut steps: [Option<Step>; LENGTH] = [const { None }; LENGTH];
    let mut state = unpacked(&track.before);
    for (write, kept) in track.writes().iter().zip(&mut steps) {
        let step = network.step(&write.digits, &state);
        state = step.after;
        *kept = Some(step);
    }
    let mut by_state = [0.0; UNITS];
    let mut labelled = 0;
    for (write, step) in track.writes().iter().zip(&steps).rev() {
        let Some(step) = step else { continue };
        let is_long = write.is_long(labels.threshold, labels.end);
        let slope = is_long.map_or(0.0, |is_long| step.long - f32::from(u8::from(is_long)));
        labelled += usize::from(is_long.is_some());
        network.back(step, slope, &mut by_state, gradient);
    }
    labelled
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classifier::digits::DIGITS;
    use crate::classifier::tracks::TrackedWrite;

    pub(super) const LABELS: Labels = Labels { threshold: 100, end: 10_000 };

    pub(super) fn track(chance: &mut SplitMix) -> Track {
        let mut write = |now: u32| TrackedWrite {
            digits: std::array::from_fn(|_| chance.below(16) as u8),
            // The last write is too late to be evaluated.
            now: if now + 1 == LENGTH as u32 { 9_950 } else { now },
            lifespan: chance.below(200),
        };
        let writes: Vec<_> = (0..LENGTH as u32).map(&mut write).collect();
        let before = std::array::from_fn(|_| 1 + chance.below(127) as u8);
        Track::of(7, before, &writes)
    }

    /// The cross entropy over a track.
    fn loss(network: &ClassifierNetwork, track: &Track) -> f64 {
        let mut state = unpacked(&track.before);
        let mut loss = 0.0;
        for write in track.writes() {
            let step = network.step(&write.digits, &state);
            state = step.after;
            let [short, long] = network.outputs(&step.after).map(f64::from);
            let margin = match write.is_long(LABELS.threshold, LABELS.end) {
                Some(true) => long - short,
                Some(false) => short - long,
                None => continue,
            };
            loss += (-margin).exp().ln_1p();
        }
        loss
    }

    #[test]
    fn the_gradient_is_what_finite_differences_give() {
        let mut chance = SplitMix::new(3);
        let mut network = ClassifierNetwork::random(&mut chance);
        let track = track(&mut chance);
        let mut gradient = ClassifierNetwork::zeroes();
        assert_eq!(learn(&network, &track, LABELS, &mut gradient), LENGTH - 1);
        let mut checked = 0;
        for value in (0..VALUES).step_by(17).chain(VALUES - DIGITS..VALUES) {
            const STEP: f32 = 0.01;
            let exact = network.values[value];
            let [above, below] = [STEP, -STEP].map(|step| {
                network.values[value] = exact + step;
                loss(&network, &track)
            });
            network.values[value] = exact;
            let slope = (above - below) / (2.0 * f64::from(STEP));
            let found = f64::from(gradient.values[value]);
            assert!(
                (found - slope).abs() < 2e-3 + 0.01 * slope.abs(),
                "{value}: {found}, not {slope}"
            );
            checked += u32::from(slope.abs() > 0.01);
        }
        assert!(checked > 100, "{checked} slopes were worth checking");
    }

    #[test]
    fn a_network_learns_what_one_write_alone_does_not_tell() {
        let mut chance = SplitMix::new(4);
        let mut training = Training::new(chance.clone());
        let epoch = |chance: &mut SplitMix| -> Vec<Track> {
            // A version is short-living if the write before it was of the same kind.
            let of_page = |lba: u32| {
                let mut before = 0;
                let writes: Vec<_> = (0..LENGTH)
                    .map(|_| {
                        let kind = 15 * chance.below(2) as u8;
                        let lifespan = if kind == before { 10 } else { 190 };
                        before = kind;
                        TrackedWrite { digits: [kind; DIGITS], now: 0, lifespan }
                    })
                    .collect();
                Track::of(lba, crate::classifier::inference::NEW, &writes)
            };
            (0..TRACKS as u32).map(of_page).collect()
        };
        let mean_loss = |training: &Training, tracks: &[Track]| {
            let sum: f64 = tracks.iter().map(|track| loss(&training.network, track)).sum();
            sum / (tracks.len() * LENGTH) as f64
        };
        for _ in 0..30 {
            training.tracks = epoch(&mut chance);
            training.begin(LABELS);
            (0..training.batches()).for_each(|_| training.work());
            assert!(!training.goes_on());
        }
        let left = mean_loss(&training, &epoch(&mut chance));
        assert!(left < 0.1, "{left}, and 0.69 is chance");
    }
}
