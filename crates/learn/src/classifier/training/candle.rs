//! The gradient of a training step equals the one that candle computes for the same network.

use std::collections::HashMap;

use candle_core::{DType, Device, Result, Tensor, Var};
use candle_nn::VarBuilder;
use candle_nn::rnn::{GRUConfig, RNN, gru};
use frostline_random::SplitMix;

use super::learn;
use super::tests::{LABELS, track};
use crate::classifier::digits::DIGITS;
use crate::classifier::inference::unpacked;
use crate::classifier::network::{
    ClassifierNetwork, INPUT_BIASES, OUTPUT, OUTPUT_BIASES, OUTPUTS, ROWS, STATE, STATE_BIASES,
    UNITS,
};
use crate::classifier::tracks::{LENGTH, Track};

/// The parts of a network: where each begins in the column, and its shape.
const PARTS: [(usize, [usize; 2]); 6] = [
    (0, [DIGITS, ROWS]),
    (STATE, [UNITS, ROWS]),
    (INPUT_BIASES, [1, ROWS]),
    (STATE_BIASES, [1, ROWS]),
    (OUTPUT, [OUTPUTS, UNITS]),
    (OUTPUT_BIASES, [1, OUTPUTS]),
];

/// The gradient of the cross entropy over a track, in the order of the network's values.
fn gradient(network: &ClassifierNetwork, track: &Track) -> Result<Vec<f32>> {
    let device = Device::Cpu;
    let variable = |(from, [rows, columns]): (usize, [usize; 2])| {
        let values = network.values[from..from + rows * columns].to_vec();
        Var::from_vec(values, (rows, columns), &device)
    };
    let variables = PARTS.iter().map(|&part| variable(part)).collect::<Result<Vec<_>>>()?;
    let [of_input, of_state, input_biases, state_biases, of_output, output_biases] = &variables[..]
    else {
        unreachable!("there are six parts")
    };
    let named = HashMap::from([
        ("weight_ih_l0".to_string(), of_input.t()?),
        ("weight_hh_l0".to_string(), of_state.t()?),
        ("bias_ih_l0".to_string(), input_biases.flatten_all()?),
        ("bias_hh_l0".to_string(), state_biases.flatten_all()?),
    ]);
    let builder = VarBuilder::from_tensors(named, DType::F32, &device);
    let cell = gru(DIGITS, UNITS, GRUConfig::default(), builder)?;
    let mut state = cell.zero_state(1)?;
    state.h = Tensor::from_slice(&unpacked(&track.before), (1, UNITS), &device)?;
    let mut loss = Tensor::zeros((), DType::F32, &device)?;
    for write in track.writes() {
        let input = write.digits.map(|digit| f32::from(digit) / 15.0);
        state = cell.step(&Tensor::from_slice(&input, (1, DIGITS), &device)?, &state)?;
        if let Some(is_long) = write.is_long(LABELS.threshold, LABELS.end) {
            let outputs = state.h.matmul(&of_output.t()?)?.broadcast_add(output_biases)?;
            let label = Tensor::from_slice(&[u32::from(is_long)], 1, &device)?;
            loss = (loss + candle_nn::loss::cross_entropy(&outputs, &label)?)?;
        }
    }
    let slopes = loss.backward()?;
    let mut column = Vec::new();
    for variable in &variables {
        let slope = slopes.get(variable).expect("the loss depends on every part");
        column.extend(slope.flatten_all()?.to_vec1::<f32>()?);
    }
    Ok(column)
}

#[test]
fn the_gradient_is_what_candle_gives() {
    for seed in 0..5 {
        let mut chance = SplitMix::new(seed);
        let network = ClassifierNetwork::random(&mut chance);
        let track = track(&mut chance);
        let mut ours = ClassifierNetwork::zeroes();
        assert_eq!(learn(&network, &track, LABELS, &mut ours), LENGTH - 1);
        let theirs = gradient(&network, &track).unwrap();
        assert_eq!(theirs.len(), ours.values.len());
        let largest = theirs.iter().fold(0f32, |most, slope| most.max(slope.abs()));
        for (value, (ours, theirs)) in ours.values.iter().zip(&theirs).enumerate() {
            assert!(
                (ours - theirs).abs() < 1e-5 * largest.max(1.0),
                "seed {seed}, value {value}: {ours}, not {theirs}"
            );
        }
    }
}
