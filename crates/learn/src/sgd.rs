//! Stochastic gradient descent on a linear model, one sample a step.
//!
//! It minimises the mean loss of the samples plus half the penalty times the squared weights; the
//! bias has no penalty. The learning rate falls as 1 / (penalty (t0 + t)), with t0 such that the
//! first step has the expected size of a weight. The result is the mean of the weights over the
//! last passes (Bottou, "Stochastic Gradient Descent Tricks", in Neural Networks: Tricks of the
//! Trade, 2012, sections 5.1 and
//! 5.3).

use frostline_random::SplitMix;

use crate::{FeatureLayout, Set, Standard};

/// Steps after which the descent usually has converged.
const STEPS: usize = 2_000_000;

/// The loss of a score that is wrong or too close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// Logistic regression.
    Logistic,
    /// A linear support vector machine.
    Hinge,
}

impl Loss {
    /// The derivative of the loss by the score, for a sample whose label is 1 or -1.
    #[inline(always)]
    fn slope(self, score: f64, label: f64) -> f64 {
        match self {
            Loss::Logistic => -label / (1.0 + (label * score).exp()),
            Loss::Hinge if label * score < 1.0 => -label,
            Loss::Hinge => 0.0,
        }
    }
}

/// The weights of standardised features; the bias is the last value.
pub(crate) fn descend(
    set: &Set,
    standard: &Standard,
    loss: Loss,
    penalty: f64,
    seed: u64,
) -> Vec<f64> {
    let width = set.width();
    let mut order: Vec<u32> = (0..set.len() as u32).collect();
    let mut chance = SplitMix::new(seed);
    let passes = STEPS.div_ceil(set.len().max(1)).max(4);
    // The weights of the second half of the passes are averaged.
    let averaged_from = passes / 2;
    let typical = penalty.powf(-0.25);
    let mut step = 1.0 / (typical * penalty);
    let mut weights = vec![0.0; width + 1];
    let mut sums = vec![0.0; width + 1];
    let mut row = [0.0; FeatureLayout::WIDEST];
    let row = &mut row[..width];
    for pass in 0..passes {
        shuffle(&mut order, &mut chance);
        for &i in &order {
            let rate = 1.0 / (penalty * step);
            step += 1.0;
            standard.apply(set.row(i as usize), row);
            let label = if set.frozen()[i as usize] { 1.0 } else { -1.0 };
            let (weights, bias) = weights.split_at_mut(width);
            let score: f64 = bias[0] + weights.iter().zip(&*row).map(|(w, x)| w * x).sum::<f64>();
            let slope = rate * loss.slope(score, label);
            let kept = 1.0 - rate * penalty;
            weights.iter_mut().zip(&*row).for_each(|(w, x)| *w = *w * kept - slope * x);
            bias[0] -= slope;
            if pass >= averaged_from {
                sums.iter_mut().zip(weights.iter().chain(&*bias)).for_each(|(sum, w)| *sum += w);
            }
        }
    }
    let averaged = (passes - averaged_from) as f64 * set.len() as f64;
    sums.iter().map(|sum| sum / averaged).collect()
}

pub(crate) fn shuffle(order: &mut [u32], chance: &mut SplitMix) {
    for i in (1..order.len()).rev() {
        order.swap(i, chance.below(i as u32 + 1) as usize);
    }
}
