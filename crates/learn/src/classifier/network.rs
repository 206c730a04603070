//! The network that is trained: one layer of 32 gated recurrent units over the writes of a page,
//! and two outputs after each write (PHFTL, section III-B and figure 3). The cell is that of
//! [`Gru`](crate::Gru), which documents its source.

use frostline_random::SplitMix;

use super::digits::{DIGITS, Digits};
use crate::gru::{sigmoid, tanh};

/// Units of the state.
pub(crate) const UNITS: usize = 32;
/// Rows of weights: reset gate, update gate, candidate.
pub(crate) const ROWS: usize = 3 * UNITS;
/// Outputs: short-living, long-living.
pub(crate) const OUTPUTS: usize = 2;

/// The state after a write.
pub(crate) type HiddenState = [f32; UNITS];
type Rows = [f32; ROWS];

/// Weights, or the gradient of a loss with respect to them. All are in one column, for the
/// optimiser.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ClassifierNetwork {
    pub values: Vec<f32>,
}

/// The start of each part in the column: weights of the inputs and of the state, a row of [`ROWS`]
/// for each; biases of both; weights of the outputs, a row of [`UNITS`] for each, and their biases.
pub(crate) const STATE: usize = DIGITS * ROWS;
pub(crate) const INPUT_BIASES: usize = STATE + UNITS * ROWS;
pub(crate) const STATE_BIASES: usize = INPUT_BIASES + ROWS;
pub(crate) const OUTPUT: usize = STATE_BIASES + ROWS;
pub(crate) const OUTPUT_BIASES: usize = OUTPUT + OUTPUTS * UNITS;
pub(crate) const VALUES: usize = OUTPUT_BIASES + OUTPUTS;

/// The values of a step that backpropagation needs.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub input: [f32; DIGITS],
    pub before: HiddenState,
    reset: HiddenState,
    update: HiddenState,
    candidate: HiddenState,
    /// The candidate's sum from the state, before the reset gate.
    old: HiddenState,
    pub after: HiddenState,
    /// The probability that the page is long-living.
    pub long: f32,
}

impl ClassifierNetwork {
    /// A network whose values are all 0.
    pub(super) fn zeroes() -> Self {
        ClassifierNetwork { values: vec![0.0; VALUES] }
    }

    /// A network before training: values spread evenly within one over the root of the number of
    /// units.
    pub(super) fn random(chance: &mut SplitMix) -> Self {
        let width = 2.0 / (UNITS as f32).sqrt();
        let values = (0..VALUES).map(|_| (chance.unit() as f32 - 0.5) * width);
        ClassifierNetwork { values: values.collect() }
    }

    /// The weights of an input or, from [`DIGITS`] on, of a unit of the state.
    pub(super) fn weights(&self, of: usize) -> &[f32; ROWS] {
        row(&self.values, of * ROWS)
    }

    #[inline(always)]
    fn sums(&self, biases: usize, first: usize, inputs: &[f32]) -> Rows {
        let mut sums = *row(&self.values, biases);
        for (k, &x) in inputs.iter().enumerate() {
            // Most digits are 0.
            if x != 0.0 {
                let weights = self.weights(first + k);
                sums.iter_mut().zip(weights).for_each(|(sum, w)| *sum += w * x);
            }
        }
        sums
    }

    /// Makes the step of a write.
    #[inline(always)]
    pub(super) fn step(&self, digits: &Digits, before: &HiddenState) -> Step {
        let input = digits.map(|digit| f32::from(digit) / 15.0);
        let new = self.sums(INPUT_BIASES, 0, &input);
        let old = self.sums(STATE_BIASES, DIGITS, before);
        let mut step = Step {
            input,
            before: *before,
            reset: [0.0; UNITS],
            update: [0.0; UNITS],
            candidate: [0.0; UNITS],
            old: [0.0; UNITS],
            after: [0.0; UNITS],
            long: 0.0,
        };
        for u in 0..UNITS {
            step.reset[u] = sigmoid(new[u] + old[u]);
            step.update[u] = sigmoid(new[UNITS + u] + old[UNITS + u]);
            step.old[u] = old[2 * UNITS + u];
            step.candidate[u] = tanh(new[2 * UNITS + u] + step.reset[u] * step.old[u]);
            step.after[u] = step.candidate[u] + step.update[u] * (before[u] - step.candidate[u]);
        }
        let [short, long] = self.outputs(&step.after);
        step.long = sigmoid(long - short);
        step
    }

    /// Both outputs of a state.
    #[inline(always)]
    pub(super) fn outputs(&self, state: &HiddenState) -> [f32; OUTPUTS] {
        std::array::from_fn(|o| {
            let weights = &self.values[OUTPUT + o * UNITS..][..UNITS];
            let sum: f32 = weights.iter().zip(state).map(|(w, h)| w * h).sum();
            sum + self.values[OUTPUT_BIASES + o]
        })
    }

    /// Backpropagation through a step: adds to `gradient`, and turns `by_state` from the loss's
    /// derivative by the state after the step into that by the state before. `slope` is the
    /// derivative by the output for long-living.
    #[inline(always)]
    pub(super) fn back(
        &self,
        step: &Step,
        slope: f32,
        by_state: &mut HiddenState,
        gradient: &mut ClassifierNetwork,
    ) {
        let gradient = &mut gradient.values;
        for (o, slope) in [-slope, slope].into_iter().enumerate() {
            gradient[OUTPUT_BIASES + o] += slope;
            for u in 0..UNITS {
                gradient[OUTPUT + o * UNITS + u] += slope * step.after[u];
                by_state[u] += slope * self.values[OUTPUT + o * UNITS + u];
            }
        }
        // Derivatives by the sums of each row: of the inputs (`new`), and of the state (`old`).
        let (mut new, mut old) = ([0.0; ROWS], [0.0; ROWS]);
        let mut by_before = [0.0; UNITS];
        for u in 0..UNITS {
            let (reset, update, candidate) = (step.reset[u], step.update[u], step.candidate[u]);
            let by_candidate = by_state[u] * (1.0 - update) * (1.0 - candidate * candidate);
            let by_update = by_state[u] * (step.before[u] - candidate) * update * (1.0 - update);
            let by_reset = by_candidate * step.old[u] * reset * (1.0 - reset);
            (new[u], old[u]) = (by_reset, by_reset);
            (new[UNITS + u], old[UNITS + u]) = (by_update, by_update);
            (new[2 * UNITS + u], old[2 * UNITS + u]) = (by_candidate, by_candidate * reset);
            by_before[u] = by_state[u] * update;
        }
        add(&mut gradient[INPUT_BIASES..], &new, 1.0);
        add(&mut gradient[STATE_BIASES..], &old, 1.0);
        for (k, &x) in step.input.iter().enumerate().filter(|(_, x)| **x != 0.0) {
            add(&mut gradient[k * ROWS..], &new, x);
        }
        for (k, by_before) in by_before.iter_mut().enumerate() {
            add(&mut gradient[STATE + k * ROWS..], &old, step.before[k]);
            *by_before += dot(self.weights(DIGITS + k), &old);
        }
        *by_state = by_before;
    }
}

fn row(values: &[f32], from: usize) -> &[f32; ROWS] {
    values[from..].first_chunk().expect("the column has all rows")
}

#[inline(always)]
fn add(to: &mut [f32], rows: &Rows, times: f32) {
    to.iter_mut().zip(rows).for_each(|(to, row)| *to += row * times);
}

/// The dot product, summed in a fixed order that vector instructions can follow.
#[inline(always)]
fn dot(a: &Rows, b: &Rows) -> f32 {
    let mut sums = [0.0; 16];
    for (a, b) in a.as_chunks::<16>().0.iter().zip(b.as_chunks::<16>().0) {
        for lane in 0..16 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum()
}
