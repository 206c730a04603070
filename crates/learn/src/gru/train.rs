//! Training with candle.

use std::collections::HashMap;

use candle_core::{DType, Device, Result, Tensor, Var};
use candle_nn::rnn::{GRU, GRUConfig, RNN, gru};
use candle_nn::{AdamW, Optimizer, ParamsAdamW, VarBuilder};
use frostline_random::SplitMix;

use super::{GATES, Network, UNITS};
use crate::sgd::shuffle;
use crate::{FeatureLayout, Set, Standard};

/// Samples in a step: so few that candle does not start a second thread for them.
const BATCH: usize = 128;
/// Steps after which training usually has converged. If there are many samples, each is still seen
/// at least once; if there are few, each is seen at most [`PASSES`] times.
const STEPS: usize = 30_000;
/// The most passes through the samples.
const PASSES: usize = 20;
/// The learning rate of the first step; it falls linearly to 0.
const RATE: f64 = 0.005;

/// Trains a network for standardised features, and returns it with the bias of its score.
///
/// The mean loss of logistic regression is minimised by Adam (Kingma and Ba, "Adam: A Method for
/// Stochastic Optimization", ICLR 2015). The first weights and the order of samples come from the
/// seed.
pub(crate) fn fit(
    layout: FeatureLayout,
    set: &Set,
    standard: &Standard,
    seed: u64,
) -> Result<(Network, f32)> {
    let mut chance = SplitMix::new(seed);
    let pupil = Trainable::new(layout, &mut chance)?;
    let parameters = ParamsAdamW { weight_decay: 0.0, ..ParamsAdamW::default() };
    let mut optimizer = AdamW::new(pupil.variables.to_vec(), parameters)?;
    let mut order: Vec<u32> = (0..set.len() as u32).collect();
    let a_pass = set.len().div_ceil(BATCH);
    let passes = STEPS.div_ceil(a_pass).min(PASSES);
    for pass in 0..passes {
        shuffle(&mut order, &mut chance);
        for (i, batch) in order.chunks(BATCH).enumerate() {
            let done = (pass * a_pass + i) as f64 / (passes * a_pass) as f64;
            optimizer.set_learning_rate(RATE * (1.0 - done));
            optimizer.backward_step(&pupil.loss(set, standard, batch)?)?;
        }
    }
    pupil.network()
}

/// A network that is being trained.
struct Trainable {
    layout: FeatureLayout,
    cell: GRU,
    /// Weights of the input and of the state; their biases; weights of the output, and its bias.
    variables: [Var; 6],
}

impl Trainable {
    fn new(layout: FeatureLayout, chance: &mut SplitMix) -> Result<Self> {
        let (rows, fields) = (GATES * UNITS, layout.fields().len());
        // The usual width: one over the root of the number of units.
        let width = 2.0 / (UNITS as f32).sqrt();
        let mut variable = |rows: usize, columns: usize| {
            let values = (0..rows * columns).map(|_| (chance.unit() as f32 - 0.5) * width);
            Var::from_vec(values.collect(), (rows, columns), &Device::Cpu)
        };
        let flat = |variable: Var| Var::from_tensor(&variable.flatten_all()?);
        let variables = [
            variable(rows, fields)?,
            variable(rows, UNITS)?,
            flat(variable(rows, 1)?)?,
            flat(variable(rows, 1)?)?,
            variable(UNITS, 1)?,
            variable(1, 1)?,
        ];
        let names = ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"];
        let named = names.iter().zip(&variables);
        let named: HashMap<_, _> = named
            .map(|(name, variable)| (name.to_string(), variable.as_tensor().clone()))
            .collect();
        let builder = VarBuilder::from_tensors(named, DType::F32, &Device::Cpu);
        let cell = gru(fields, UNITS, GRUConfig::default(), builder)?;
        Ok(Trainable { layout, cell, variables })
    }

    /// The mean loss over some samples.
    fn loss(&self, set: &Set, standard: &Standard, batch: &[u32]) -> Result<Tensor> {
        let margins = (self.scores(set, standard, batch)? * labels(set, batch)?)?;
        // ln(1 + exp(-margin)), in a form that does not overflow.
        let tail = (margins.abs()?.neg()?.exp()? + 1.0)?.log()?;
        (margins.neg()?.relu()? + tail)?.mean_all()
    }

    /// The scores of some samples, one per row.
    fn scores(&self, set: &Set, standard: &Standard, batch: &[u32]) -> Result<Tensor> {
        let mut state = self.cell.zero_state(batch.len())?;
        for back in (0..self.layout.history()).rev() {
            state = self.cell.step(&self.input(set, standard, batch, back)?, &state)?;
        }
        let [.., weights, bias] = &self.variables;
        state.h.matmul(weights)?.broadcast_add(bias)
    }

    /// The features of one write of each sample's page, one row per sample.
    fn input(&self, set: &Set, standard: &Standard, batch: &[u32], back: usize) -> Result<Tensor> {
        let mut row = [0.0; FeatureLayout::WIDEST];
        let row = &mut row[..set.width()];
        let mut values = Vec::with_capacity(batch.len() * self.layout.fields().len());
        for &i in batch {
            standard.apply(set.row(i as usize), row);
            values.extend(self.layout.columns(back).map(|column| row[column] as f32));
        }
        Tensor::from_vec(values, (batch.len(), self.layout.fields().len()), &Device::Cpu)
    }

    /// The trained weights.
    fn network(&self) -> Result<(Network, f32)> {
        let [input_weights, state_weights, input_biases, state_biases, output_weights, bias] =
            self.variables.each_ref().map(|variable| variable.flatten_all()?.to_vec1());
        let network = Network {
            input_weights: input_weights?,
            input_biases: input_biases?,
            state_weights: state_weights?,
            state_biases: state_biases?,
            output_weights: output_weights?,
        };
        Ok((network, bias?[0]))
    }
}

/// 1 for each sample whose page is frozen, -1 for others.
fn labels(set: &Set, batch: &[u32]) -> Result<Tensor> {
    let label = |&i: &u32| if set.frozen()[i as usize] { 1f32 } else { -1.0 };
    Tensor::from_vec(batch.iter().map(label).collect(), (batch.len(), 1), &Device::Cpu)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gru::Gru;
    use crate::{Feature, RecordSource, Scorer, Tiles, tiled};

    #[test]
    fn a_network_at_work_scores_as_the_library_does() {
        for (records, history) in [(RecordSource::Engine, 2), (RecordSource::Block, 4)] {
            let layout = FeatureLayout::new(records, history).unwrap();
            let mut chance = SplitMix::new(8);
            let mut set = Set::new(layout.width());
            for i in 0..40 {
                let rows = (0..layout.width()).map(|_| chance.below(20) as f32);
                set.put(i, false, |put| rows.for_each(put));
            }
            let standard = Standard::of(&set);
            let pupil = Trainable::new(layout, &mut chance).unwrap();
            let batch: Vec<u32> = (0..40).collect();
            let expected = pupil.scores(&set, &standard, &batch).unwrap();
            let expected: Vec<f32> = expected.flatten_all().unwrap().to_vec1().unwrap();
            let (network, bias) = pupil.network().unwrap();
            let features: Vec<Feature> = crate::model::features(layout, &standard);
            let mut found = [0.0; 40];
            let tiles = tiled(set.rows(), layout.width());
            let gru = Gru::new(network, layout, &features, bias);
            gru.score(Tiles::new(layout.width(), &tiles), &mut found);
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() < 1e-4, "{found}, not {expected}");
            }
        }
    }
}
