//! Logistic regression over all samples at once: Newton's steps, also known as iteratively
//! reweighted least squares (Hastie, Tibshirani and Friedman, The Elements of Statistical
//! Learning, 2nd edition, section 4.4.1), on what [`sgd`](crate::sgd) minimises too.

use std::f64::consts::LN_2;

use crate::{Layout, Set, Standard};

/// The limits of the iteration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps {
    /// Steps at most.
    pub most: usize,
    /// A step is the last one when it lowers the objective by less than this share.
    pub gain: f64,
}

/// As far as it goes; six steps or so arrive.
const ALL_THE_WAY: Steps = Steps { most: 30, gain: 1e-12 };

/// Weights of standardised features, and the bias last.
pub(crate) fn solve(set: &Set, standard: &Standard, penalty: f64) -> Vec<f64> {
    improve(set, standard, penalty, vec![0.0; set.width() + 1], ALL_THE_WAY)
}

/// Improves weights of standardised features, and the bias last.
pub(crate) fn improve(
    set: &Set,
    standard: &Standard,
    penalty: f64,
    mut at: Vec<f64>,
    steps: Steps,
) -> Vec<f64> {
    let mut local = Local::at(set, standard, penalty, &at);
    if local.objective > LN_2 {
        // Worse than knowing nothing; from far away no step of Newton's leads back.
        at.fill(0.0);
        local = Local::at(set, standard, penalty, &at);
    }
    for _ in 0..steps.most {
        let step = direction(&local);
        // A whole step may lead too far where the objective is flat.
        let halves = (0..20).map(|halvings| 0.5f64.powi(halvings));
        let tried = halves.map(|part| {
            let next: Vec<f64> = at.iter().zip(&step).map(|(at, step)| at - part * step).collect();
            let local = Local::at(set, standard, penalty, &next);
            (next, local)
        });
        let before = local.objective;
        match tried.into_iter().find(|(_, next)| next.objective <= before) {
            Some(better) => (at, local) = better,
            None => return at,
        }
        if before - local.objective <= steps.gain * before {
            break;
        }
    }
    at
}

/// The objective around a point.
struct Local {
    objective: f64,
    gradient: Vec<f64>,
    /// Rows one after the other, the lower triangle only.
    hessian: Vec<f64>,
}

impl Local {
    fn at(set: &Set, standard: &Standard, penalty: f64, at: &[f64]) -> Local {
        let all = at.len();
        let mut here =
            Local { objective: 0.0, gradient: vec![0.0; all], hessian: vec![0.0; all * all] };
        let mut row = [1.0; Layout::WIDEST + 1];
        let row = &mut row[..all];
        for (i, &frozen) in set.frozen().iter().enumerate() {
            standard.apply(set.row(i), &mut row[..all - 1]);
            here.add(row, frozen, at);
        }
        here.divide(set.len() as f64);
        for (i, weight) in at[..all - 1].iter().enumerate() {
            here.objective += 0.5 * penalty * weight * weight;
            here.gradient[i] += penalty * weight;
            here.hessian[i * all + i] += penalty;
        }
        here
    }

    /// Adds a sample; its features end with a 1.
    fn add(&mut self, row: &[f64], frozen: bool, at: &[f64]) {
        let score: f64 = at.iter().zip(row).map(|(w, x)| w * x).sum();
        let probability = 1.0 / (1.0 + (-score).exp());
        let margin = if frozen { score } else { -score };
        self.objective += (-margin.abs()).exp().ln_1p() + (-margin).max(0.0);
        let miss = probability - f64::from(u8::from(frozen));
        let weight = probability * (1.0 - probability);
        for (i, x) in row.iter().enumerate() {
            self.gradient[i] += miss * x;
            let line = &mut self.hessian[i * row.len()..][..=i];
            line.iter_mut().zip(row).for_each(|(h, y)| *h += weight * x * y);
        }
    }

    fn divide(&mut self, samples: f64) {
        self.objective /= samples;
        self.gradient.iter_mut().chain(&mut self.hessian).for_each(|value| *value /= samples);
    }
}

/// Newton's step: the gradient through the Hessian, by Cholesky's decomposition.
fn direction(local: &Local) -> Vec<f64> {
    let all = local.gradient.len();
    let mut lower = local.hessian.clone();
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    for i in 0..all {
        for j in 0..i {
            let known = dot(&lower[i * all..][..j], &lower[j * all..][..j]);
            lower[i * all + j] = (lower[i * all + j] - known) / lower[j * all + j];
        }
        let known = dot(&lower[i * all..][..i], &lower[i * all..][..i]);
        // Kept above 0 where all probabilities are 0 or 1.
        lower[i * all + i] = (lower[i * all + i] - known).max(1e-12).sqrt();
    }
    let mut step = local.gradient.clone();
    for i in 0..all {
        let known = dot(&lower[i * all..i * all + i], &step);
        step[i] = (step[i] - known) / lower[i * all + i];
    }
    for i in (0..all).rev() {
        let known: f64 = (i + 1..all).map(|j| lower[j * all + i] * step[j]).sum();
        step[i] = (step[i] - known) / lower[i * all + i];
    }
    step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_solves_the_equations() {
        // [4 2 0; 2 5 1; 0 1 3] x = [8, 15, 11] has the solution 1, 2, 3.
        let hessian = vec![4.0, 0.0, 0.0, 2.0, 5.0, 0.0, 0.0, 1.0, 3.0];
        let local = Local { objective: 0.0, gradient: vec![8.0, 15.0, 11.0], hessian };
        let found = direction(&local);
        for (found, expected) in found.iter().zip([1.0, 2.0, 3.0]) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }
}
