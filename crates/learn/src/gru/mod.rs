//! A gated recurrent unit over a page's writes, the oldest first: the rival that SepFrozen (section
//! 5.2) takes from PHFTL (Sun et al., DAC 2023, section III). It has one layer of 32 units; the
//! score is a weighted sum of the state after the newest write. The cell is that of Cho et al.
//! (EMNLP 2014, section 2.3) with the reset gate behind the weights, as most libraries have it.
//!
//! Training uses candle and needs the feature `gru`; a trained network works without it.

#[cfg(feature = "gru")]
mod train;

use serde::{Deserialize, Serialize};

use crate::linear::weigh;
use crate::{Feature, FeatureLayout, LANES, Scorer, Tiles};

#[cfg(feature = "gru")]
pub(crate) use train::fit;

/// Units of the state.
const UNITS: usize = 32;
/// Gates: reset, update, candidate.
const GATES: usize = 3;

/// One value for each of some pages.
type PageLanes = [f32; LANES];

/// The trained weights. The rows are the reset gate's units, then the update gate's, then the
/// candidate's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// For each row, a weight for each standardised feature of a write.
    pub(super) input_weights: Vec<f32>,
    /// For each row, the bias of the features' sum.
    pub(super) input_biases: Vec<f32>,
    /// For each row, a weight for each unit of the state.
    pub(super) state_weights: Vec<f32>,
    /// For each row, the bias of the state's sum.
    pub(super) state_biases: Vec<f32>,
    /// For each unit, the weight of its last state in the score.
    pub(super) output_weights: Vec<f32>,
}

impl Network {
    /// True if the network fits this layout, and all its scores will be numbers.
    pub(crate) fn is_sound(&self, layout: FeatureLayout, features: &[Feature]) -> bool {
        let bounded = |value: f32| value.abs() < 1e9;
        let standard = |f: &Feature| bounded(f.mean) && (f.deviation == 0.0 || f.deviation > 1e-9);
        let rows = GATES * UNITS;
        let parts = [
            (&self.input_weights, rows * layout.fields().len()),
            (&self.input_biases, rows),
            (&self.state_weights, rows * UNITS),
            (&self.state_biases, rows),
            (&self.output_weights, UNITS),
        ];
        let sound = |(part, len): &(&Vec<f32>, usize)| {
            part.len() == *len && part.iter().copied().all(bounded)
        };
        features.iter().all(standard) && parts.iter().all(sound)
    }

    /// Adds a row's weighted features of a write.
    #[inline(always)]
    fn add_input(&self, row: usize, input: &[PageLanes], sums: &mut PageLanes) {
        debug_assert!((row + 1) * input.len() <= self.input_weights.len(), "a row for each unit");
        weigh(&self.input_weights[row * input.len()..], input, sums);
    }

    /// Adds a row's weighted state.
    #[inline(always)]
    fn add_state(&self, row: usize, state: &[PageLanes; UNITS], sums: &mut PageLanes) {
        weigh(&self.state_weights[row * UNITS..], state, sums);
    }

    /// The values of the reset or the update gate.
    #[inline(always)]
    fn gate(&self, row: usize, input: &[PageLanes], state: &[PageLanes; UNITS]) -> PageLanes {
        let mut sums = [self.input_biases[row] + self.state_biases[row]; LANES];
        self.add_input(row, input, &mut sums);
        self.add_state(row, state, &mut sums);
        sums
    }

    /// Sets the state after a write.
    #[inline(always)]
    fn step(&self, input: &[PageLanes], state: &[PageLanes; UNITS], next: &mut [PageLanes; UNITS]) {
        for (unit, next) in next.iter_mut().enumerate() {
            let reset = self.gate(unit, input, state);
            let update = self.gate(UNITS + unit, input, state);
            let candidate = 2 * UNITS + unit;
            let mut new = [self.input_biases[candidate]; LANES];
            self.add_input(candidate, input, &mut new);
            let mut old = [self.state_biases[candidate]; LANES];
            self.add_state(candidate, state, &mut old);
            for (lane, next) in next.iter_mut().enumerate() {
                let candidate = tanh(new[lane] + sigmoid(reset[lane]) * old[lane]);
                *next = candidate + sigmoid(update[lane]) * (state[unit][lane] - candidate);
            }
        }
    }
}

/// A feature of a write, and its standardisation.
#[derive(Clone, Debug, PartialEq)]
struct Input {
    column: usize,
    mean: f32,
    /// One over the deviation; 0 leaves the feature out.
    scale: f32,
}

/// The network in use: it takes features that are not standardised.
#[derive(Clone, Debug, PartialEq)]
pub struct Gru {
    network: Network,
    /// The inputs of each write, the oldest first.
    writes: Vec<Vec<Input>>,
    bias: f32,
}

impl Gru {
    /// Puts a sound network for this layout to use.
    pub(crate) fn new(
        network: Network,
        layout: FeatureLayout,
        features: &[Feature],
        bias: f32,
    ) -> Gru {
        assert_eq!(features.len(), layout.width(), "each feature has a scale");
        let input = |column: usize| {
            let Feature { mean, deviation, .. } = features[column];
            let scale = if deviation > 0.0 { 1.0 / deviation } else { 0.0 };
            Input { column, mean, scale }
        };
        let writes = (0..layout.history()).rev();
        let writes = writes.map(|back| layout.columns(back).map(input).collect());
        Gru { network, writes: writes.collect(), bias }
    }

    #[inline(always)]
    fn score_tile(&self, columns: &[PageLanes], scores: &mut PageLanes) {
        let (mut state, mut next) = ([[0.0; LANES]; UNITS], [[0.0; LANES]; UNITS]);
        for inputs in &self.writes {
            let mut values = [[0.0; LANES]; FeatureLayout::MOST_FIELDS];
            for (values, Input { column, mean, scale }) in values.iter_mut().zip(inputs) {
                for (value, from) in values.iter_mut().zip(&columns[*column]) {
                    *value = (from - mean) * scale;
                }
            }
            self.network.step(&values[..inputs.len()], &state, &mut next);
            std::mem::swap(&mut state, &mut next);
        }
        *scores = [self.bias; LANES];
        weigh(&self.network.output_weights, &state, scores);
    }
}

impl Scorer for Gru {
    fn score(&self, tiles: Tiles<'_>, scores: &mut [f32]) {
        let mut of_tile = [0.0; LANES];
        for (columns, scores) in tiles.columns().zip(scores.chunks_mut(LANES)) {
            self.score_tile(columns, &mut of_tile);
            scores.copy_from_slice(&of_tile[..scores.len()]);
        }
    }
}

#[inline(always)]
pub(crate) fn sigmoid(x: f32) -> f32 {
    0.5 + 0.5 * tanh(0.5 * x)
}

/// The hyperbolic tangent to within 0.00001, by a convergent of Lambert's continued fraction:
/// without branches, so that it is computed for many pages at once, and the same on every machine.
#[inline(always)]
pub(crate) fn tanh(x: f32) -> f32 {
    let x = x.clamp(-6.0, 6.0);
    let s = x * x;
    let above = 34_459_425.0 + s * (4_729_725.0 + s * (135_135.0 + s * (990.0 + s)));
    let below = 34_459_425.0 + s * (16_216_200.0 + s * (945_945.0 + s * (13_860.0 + s * 45.0)));
    x * above / below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fraction_is_the_hyperbolic_tangent() {
        for i in -2000..=2000 {
            let x = i as f32 / 100.0;
            assert!((tanh(x) - x.tanh()).abs() < 1e-5, "{x}: {}", tanh(x));
        }
        assert!((sigmoid(1.0) - 0.731_058_6).abs() < 1e-5);
    }
}
