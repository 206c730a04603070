//! Adam (Kingma and Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015, algorithm 1), with
//! the paper's constants.

use multiversion::multiversion;

const BETA1: f32 = 0.9;
const BETA2: f32 = 0.999;
const EPSILON: f32 = 1e-8;

/// The moments of a network's gradient.
#[derive(Debug)]
pub(crate) struct Adam {
    rate: f32,
    /// The powers of both betas after the steps so far.
    powers: [f32; 2],
    mean: Vec<f32>,
    square: Vec<f32>,
}

impl Adam {
    /// An optimiser of `values` values, before its first step.
    pub(crate) fn new(rate: f32, values: usize) -> Self {
        Adam { rate, powers: [1.0; 2], mean: vec![0.0; values], square: vec![0.0; values] }
    }

    /// One step of a network's values down their gradient.
    pub(crate) fn step(&mut self, values: &mut [f32], gradient: &[f32]) {
        assert_eq!([values.len(), gradient.len()], [self.mean.len(); 2], "each value has a slope");
        self.powers = [self.powers[0] * BETA1, self.powers[1] * BETA2];
        let [p1, p2] = self.powers;
        let rate = self.rate * (1.0 - p2).sqrt() / (1.0 - p1);
        step(rate, values, gradient, &mut self.mean, &mut self.square);
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn step(rate: f32, values: &mut [f32], slopes: &[f32], mean: &mut [f32], square: &mut [f32]) {
    let moments = mean.iter_mut().zip(square);
    for ((value, slope), (mean, square)) in values.iter_mut().zip(slopes).zip(moments) {
        *mean += (1.0 - BETA1) * (slope - *mean);
        *square += (1.0 - BETA2) * (slope * slope - *square);
        *value -= rate * *mean / (square.sqrt() + EPSILON);
    }
}
