//! A network in integers of eight bits; a prediction is one step.
//!
//! The state of a page has seven bits a unit, so that instructions which add pairs of products in
//! 16 bits never overflow: all ways of computing give the same bits. Sums of products are integers;
//! after them come single operations of `f32`, which no compiler may fuse or reorder.

#[cfg(target_arch = "x86_64")]
#[path = "inference/x86.rs"]
mod x86;

use super::digits::{DIGITS, Digits};
use super::network::{
    ClassifierNetwork, HiddenState, INPUT_BIASES, OUTPUT, OUTPUT_BIASES, ROWS, STATE_BIASES, UNITS,
};
use crate::gru::{sigmoid, tanh};

/// A state of seven bits a unit: 64 stands for 0, 1 for -1 and 127 for 1. The top bits belong to
/// others.
pub(crate) type Hidden = [u8; UNITS];

/// The state of a page that was never written.
pub(crate) const NEW: Hidden = [ZERO; UNITS];

const ZERO: u8 = 64;
/// Steps of a state from 0 to 1.
const STEPS: f32 = 63.0;
/// Steps of a digit: this makes the largest digit about as large as the largest state.
const DIGIT: u8 = 4;
/// Inputs and units of the state.
const INPUTS: usize = DIGITS + UNITS;
/// The number of inputs whose products one instruction adds together.
const QUAD: usize = 4;
const QUADS: usize = INPUTS / QUAD;
/// The number of inputs whose products are added together by an instruction of every x86-64
/// processor.
const PAIR: usize = 2;
const _: () = {
    assert!(DIGITS.is_multiple_of(QUAD) && QUAD.is_multiple_of(PAIR));
    assert!(INPUTS.is_multiple_of(QUAD), "a quad has no inputs beyond the units");
    assert!(15 * DIGIT < 1 << 7 && ZERO as f32 + STEPS < 128.0, "inputs have seven bits");
};

/// Weights of four inputs for each row.
type Quad = [[i8; QUAD]; ROWS];
/// Weights of two inputs for each row.
type Pair = [[i16; PAIR]; ROWS];
/// The sums of reset gate, update gate and candidate; the candidate has two, from the inputs and
/// from the state.
type GateSums = [[i32; UNITS]; 4];

/// Instructions for predictions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instructions {
    /// Instructions of every processor of the architecture.
    Portable,
    /// AVX2.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 with its instructions for neural networks (VNNI).
    #[cfg(target_arch = "x86_64")]
    Vnni,
}

impl Instructions {
    /// All instructions that this processor has, the slowest first.
    pub fn available() -> Vec<Instructions> {
        let all = std::iter::once(Instructions::Portable);
        #[cfg(target_arch = "x86_64")]
        let all = all.chain(x86::available());
        all.collect()
    }

    /// The fastest instructions that this processor has.
    pub fn fastest() -> Instructions {
        Instructions::available().pop().unwrap_or(Instructions::Portable)
    }
}

/// A network in integers.
#[derive(Clone, Debug)]
pub(crate) struct Quantised {
    instructions: Instructions,
    weights: Box<[Quad; QUADS]>,
    /// The same weights in pairs, which a compiler turns into vector code without knowing the
    /// processor; empty if other instructions are used.
    pairs: Vec<Pair>,
    /// The start values of the sums: biases, and the correction for states that are offset by
    /// [`ZERO`].
    offsets: GateSums,
    /// The value of 1 in each sum.
    scales: [[f32; UNITS]; 4],
    /// For each unit, its weight for a long-living page less that for a short-living one.
    output: [i8; UNITS],
    /// A page is long-living if the sum of the outputs' products is above this.
    bar: i32,
}

impl Quantised {
    /// A network before the first training.
    pub(super) fn new(instructions: Instructions) -> Self {
        let pairs = if instructions == Instructions::Portable { INPUTS / PAIR } else { 0 };
        Quantised {
            instructions,
            weights: Box::new([[[0; QUAD]; ROWS]; QUADS]),
            pairs: vec![[[0; PAIR]; ROWS]; pairs],
            offsets: [[0; UNITS]; 4],
            scales: [[0.0; UNITS]; 4],
            output: [0; UNITS],
            bar: 0,
        }
    }

    /// Takes the weights of a trained network, rounded.
    pub(super) fn round(&mut self, network: &ClassifierNetwork) {
        for row in 0..ROWS {
            self.round_row(network, row);
        }
        self.round_output(network);
    }

    /// Rounds a row of weights. Inputs and state of a gate share a scale; those of the candidate
    /// have one each.
    fn round_row(&mut self, network: &ClassifierNetwork, row: usize) {
        let (gate, unit) = (row / UNITS, row % UNITS);
        let (inputs, state) = ((0, DIGITS), (DIGITS, INPUTS));
        let [new, old] = [INPUT_BIASES, STATE_BIASES].map(|from| network.values[from + row]);
        if gate < 2 {
            self.round_part(network, row, (0, INPUTS), (gate, unit), new + old);
        } else {
            self.round_part(network, row, inputs, (2, unit), new);
            self.round_part(network, row, state, (3, unit), old);
        }
    }

    fn round_part(
        &mut self,
        network: &ClassifierNetwork,
        row: usize,
        (from, to): (usize, usize),
        (sum, unit): (usize, usize),
        bias: f32,
    ) {
        // The value of one step of the input.
        let a_step = |k: usize| if k < DIGITS { 15.0 * f32::from(DIGIT) } else { STEPS };
        let weight = |k: usize| network.weights(k)[row] / a_step(k);
        let largest = (from..to).map(|k| weight(k).abs()).fold(1e-9, f32::max);
        let scale = largest / 127.0;
        let mut zero = 0;
        for k in from..to {
            let rounded = (weight(k) / scale).round() as i8;
            self.weights[k / QUAD][row][k % QUAD] = rounded;
            if let Some(pair) = self.pairs.get_mut(k / PAIR) {
                pair[row][k % PAIR] = i16::from(rounded);
            }
            zero += if k < DIGITS { 0 } else { i32::from(rounded) * i32::from(ZERO) };
        }
        self.scales[sum][unit] = scale;
        self.offsets[sum][unit] = (bias / scale).round() as i32 - zero;
    }

    fn round_output(&mut self, network: &ClassifierNetwork) {
        let weight = |o: usize, u: usize| network.values[OUTPUT + o * UNITS + u];
        let weights: HiddenState = std::array::from_fn(|u| weight(1, u) - weight(0, u));
        let scale = weights.iter().fold(1e-9, |most: f32, w| most.max(w.abs())) / 127.0;
        self.output = weights.map(|w| (w / scale).round() as i8);
        let bias = network.values[OUTPUT_BIASES + 1] - network.values[OUTPUT_BIASES];
        let zero: i32 = self.output.iter().map(|&w| i32::from(w) * i32::from(ZERO)).sum();
        self.bar = zero - (bias * STEPS / scale).round() as i32;
    }

    /// Bytes that it holds.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.weights) + size_of_val(&self.pairs[..])
    }

    /// Makes the step of a write; returns true if the page is predicted to be long-living.
    #[inline]
    pub(super) fn step(&self, digits: &Digits, hidden: &mut Hidden) -> bool {
        // A loop: `map` of an array is a call for each digit unless compilers inline it.
        let mut inputs = *digits;
        inputs.iter_mut().for_each(|digit| *digit *= DIGIT);
        hidden.iter_mut().for_each(|h| *h &= 127);
        match self.instructions {
            Instructions::Portable => self.step_portable(&inputs, hidden),
            #[cfg(target_arch = "x86_64")]
            fast => x86::step(self, fast, &inputs, hidden),
        }
    }

    fn step_portable(&self, inputs: &Digits, hidden: &mut Hidden) -> bool {
        let mut sums = self.offsets;
        let [reset, update, new, old] = &mut sums;
        let (of_inputs, of_state) = self.pairs.split_at(DIGITS / PAIR);
        let inputs = inputs.as_chunks().0;
        // Most digits are 0.
        for (weights, &x) in of_inputs.iter().zip(inputs).filter(|(_, x)| **x != [0; PAIR]) {
            add_products([reset, update, new], weights, x);
        }
        for (weights, &x) in of_state.iter().zip(hidden.as_chunks().0) {
            add_products([reset, update, old], weights, x);
        }
        self.finish(&sums, hidden)
    }

    /// Computes the next state and the prediction from the sums. It is compiled anew wherever it is
    /// inlined, with the instructions that are allowed there.
    #[inline(always)]
    fn finish(&self, sums: &GateSums, hidden: &mut Hidden) -> bool {
        // Adding a number as large as this one rounds the other number to a whole number, which
        // then stands in the lowest bits.
        const ROUND: f32 = 12_582_912.0 + ZERO as f32;
        let mut next = [0.0f32; UNITS];
        for unit in 0..UNITS {
            let scaled = |sum: usize| sums[sum][unit] as f32 * self.scales[sum][unit];
            let (reset, update) = (sigmoid(scaled(0)), sigmoid(scaled(1)));
            let candidate = tanh(scaled(2) + reset * scaled(3));
            let before = (i32::from(hidden[unit]) - i32::from(ZERO)) as f32 * (1.0 / STEPS);
            next[unit] = candidate + update * (before - candidate);
        }
        let mut output = 0;
        for unit in 0..UNITS {
            hidden[unit] = (next[unit] * STEPS + ROUND).to_bits() as u8 & 127;
            output += i32::from(hidden[unit]) * i32::from(self.output[unit]);
        }
        output > self.bar
    }
}

#[inline(always)]
fn add_products(sums: [&mut [i32; UNITS]; 3], weights: &Pair, x: [u8; PAIR]) {
    let x = x.map(i16::from).map(i32::from);
    for (sums, weights) in sums.into_iter().zip(weights.as_chunks::<UNITS>().0) {
        for (sum, &[a, b]) in sums.iter_mut().zip(weights) {
            *sum += i32::from(a) * x[0] + i32::from(b) * x[1];
        }
    }
}

/// Unpacks the state of a page.
pub(crate) fn unpacked(hidden: &Hidden) -> HiddenState {
    hidden.map(|h| (f32::from(h & 127) - f32::from(ZERO)) / STEPS)
}

#[cfg(test)]
#[path = "inference/tests.rs"]
mod tests;
