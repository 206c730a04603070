//! A recogniser that learns while it is at work.
//!
//! The learner watches a sample of the valid pages that cleaning meets, for a horizon: as many user
//! writes as the volume has valid pages. A page that is not written in that time counts as frozen.
//! The labelled samples are learned in the order in which they were taken, so that short lifespans
//! do not come first. Before a sample is learned, it tests the model in use; while the model fails
//! that test, no page is taken for frozen. The model follows a change of the workload within about
//! two horizons.
//!
//! Learning runs while pages are recognised, that is during cleaning, in bounded memory and with a
//! bounded amount of work. There are no threads and no clock: the same pages in the same order give
//! the same answers.

mod confusion;
mod watch;

use frostline_placement::{Candidates, Recogniser};
use frostline_random::SplitMix;

use crate::newton::{self, Steps};
use crate::online::confusion::Confusion;
use crate::online::watch::{Labelled, Watch};
use crate::train::PENALTY;
use crate::{FeatureLayout, LearnError, Linear, PageRecogniser, RecordSource, Set, Standard};

/// Labelled samples that a training uses: the most recent ones.
const REMEMBERED: usize = 4096;
/// A training needs at least this many samples.
const FEWEST: usize = 256;
/// The limits of a training.
const EFFORT: Steps = Steps { most: 4, gain: 1e-4 };

/// Learns to recognise frozen pages from the pages that it scores.
#[derive(Debug)]
pub struct Online {
    model: PageRecogniser<Linear>,
    watch: Watch,
    confusion: Confusion,
    /// Labelled samples; the oldest is overwritten next.
    known: Set,
    next: usize,
    trainings: u64,
    /// Buffer for a page's features.
    row: Vec<f32>,
}

/// The version of the memory's format.
const VERSION: u32 = 1;

impl Online {
    /// A recogniser that learns from all that is kept with a page: an engine's two records, or the
    /// block layer's view of its last four writes.
    ///
    /// # Errors
    /// Those of [`PageRecogniser::new`].
    pub fn new(records: RecordSource, seed: u64) -> Result<Self, LearnError> {
        let history = if records == RecordSource::Engine { 2 } else { FeatureLayout::LONGEST };
        let layout = FeatureLayout::new(records, history)?;
        let width = layout.width();
        let untrained = Linear { weights: vec![0.0; width], bias: f32::NEG_INFINITY };
        Ok(Online {
            model: PageRecogniser::new(layout, 0.0, untrained)?,
            watch: Watch::new(width, SplitMix::new(seed)),
            confusion: Confusion::default(),
            known: Set::new(width),
            next: 0,
            trainings: 0,
            row: Vec::with_capacity(width),
        })
    }

    /// Learns the labelled samples of an epoch that is over; returns false if there is none.
    fn learn(&mut self, now: u32, valid: u32) -> bool {
        let Online { watch, confusion, known, next, .. } = self;
        let is_over = watch.finish_epoch(now, valid, |sample: &Labelled<'_>| {
            if let Some(taken) = sample.taken {
                confusion.add(taken, sample.frozen);
            }
            known.put_row(*next, sample.frozen, sample.row);
            *next = (*next + 1) % REMEMBERED;
        });
        if !is_over {
            return false;
        }
        assert!(self.known.len() <= REMEMBERED, "a new sample takes the place of the oldest");
        let frozen = self.known.frozen_samples();
        if self.known.len() >= FEWEST && (1..self.known.len()).contains(&frozen) {
            self.train();
        }
        true
    }

    fn train(&mut self) {
        let standard = Standard::of(&self.known);
        let from = match self.trainings {
            0 => vec![0.0; self.known.width() + 1],
            _ => standard.weights_of(&self.model.scorer),
        };
        let weights = newton::improve(&self.known, &standard, PENALTY, from, EFFORT);
        let model = standard.linear(&weights);
        if model.weights.iter().chain([&model.bias]).all(|weight| weight.is_finite()) {
            self.model.scorer = model;
            self.trainings += 1;
        }
    }
}

impl Recogniser for Online {
    fn wants_hotness(&self) -> bool {
        self.model.wants_hotness()
    }

    fn score(&mut self, pages: &Candidates<'_>, scores: &mut [f32]) {
        self.model.score(pages, scores);
    }

    fn is_trusted(&self) -> bool {
        self.confusion.is_trusted()
    }

    fn follow(&mut self, pages: &Candidates<'_>, taken: &[bool], follow: &mut [bool]) {
        if self.wants_hotness() && pages.hotness.is_none() {
            return;
        }
        let columns = [pages.pasts.len(), taken.len(), follow.len()];
        assert_eq!(columns, [pages.lbas.len(); 3], "columns of the same pages");
        while self.learn(pages.now, pages.valid) {}
        let is_trained = self.trainings > 0;
        let row = &mut self.row;
        for (i, follow) in follow.iter_mut().enumerate() {
            let Some(place) = self.watch.choose() else { continue };
            row.clear();
            self.model.features(pages, i, |value| row.push(value));
            self.watch.put(place, pages.lbas[i], row, is_trained.then_some(taken[i]));
            *follow = true;
        }
    }

    fn ended(&mut self, lba: u32, written: bool) {
        self.watch.end(lba, written);
    }

    fn memory(&self) -> Vec<u8> {
        if self.trainings == 0 {
            return Vec::new();
        }
        let Linear { weights, bias } = &self.model.scorer;
        let engine = u32::from(self.wants_hotness());
        let mut bytes = Vec::new();
        for word in [VERSION, engine, weights.len() as u32] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        for value in weights.iter().chain([bias]).copied().chain(self.confusion.counts()) {
            bytes.extend_from_slice(&value.to_le_bytes());
        }
        bytes
    }

    fn recall(&mut self, memory: &[u8]) {
        let (words, rest) = memory.as_chunks::<4>();
        let width = self.known.width();
        let head = [VERSION, u32::from(self.wants_hotness()), width as u32].map(u32::to_le_bytes);
        let counts = Confusion::COUNTS;
        if !rest.is_empty() || words.len() != head.len() + width + 1 + counts {
            return;
        }
        let values: Vec<f32> = words[head.len()..].iter().map(|w| f32::from_le_bytes(*w)).collect();
        let is_small = |value: &f32| value.abs() < 1e30;
        let matrix = &values[width + 1..];
        if words[..head.len()] != head
            || !values.iter().all(is_small)
            || !matrix.iter().all(|count| (0.0..=Confusion::LARGEST).contains(count))
        {
            return;
        }
        self.model.scorer = Linear { weights: values[..width].to_vec(), bias: values[width] };
        self.confusion = Confusion::of(matrix);
        self.trainings = 1;
    }

    fn bytes(&self) -> usize {
        size_of_val(self.known.rows()) + size_of_val(self.known.frozen()) + self.watch.bytes()
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("trainings", self.trainings as f64),
            ("precision", self.confusion.precision()),
            ("false positive rate", self.confusion.false_positive_rate()),
            ("recall", self.confusion.recall()),
        ]
    }
}
