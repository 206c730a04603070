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
    let samples = Samples::new(set, standard, penalty);
    let mut fit = samples.fit(&at);
    if fit.objective > LN_2 {
        // Worse than knowing nothing; from far away no step of Newton's leads back.
        at.fill(0.0);
        fit = samples.fit(&at);
    }
    for _ in 0..steps.most {
        let step = direction(&samples.local(&fit, &at));
        // A whole step may lead too far where the objective is flat.
        let halves = (0..20).map(|halvings| 0.5f64.powi(halvings));
        let tried = halves.map(|part| {
            let next: Vec<f64> = at.iter().zip(&step).map(|(at, step)| at - part * step).collect();
            let fit = samples.fit(&next);
            (next, fit)
        });
        let before = fit.objective;
        match tried.into_iter().find(|(_, next)| next.objective <= before) {
            Some(better) => (at, fit) = better,
            None => return at,
        }
        if before - fit.objective <= steps.gain * before {
            break;
        }
    }
    at
}

/// Features in a chunk: what vector instructions take at once.
const CHUNK: usize = 4;
/// Samples whose parts of the Hessian are added together, so that it is loaded once for all.
const TOGETHER: usize = 8;
/// Chunks of the widest row.
const CHUNKS: usize = (Layout::WIDEST + 1).div_ceil(CHUNK);

/// Standardised samples, and the objective's penalty.
struct Samples<'a> {
    frozen: &'a [bool],
    /// Features and a 1, of one sample after the other, each filled up to whole chunks.
    rows: Vec<[f64; CHUNK]>,
    /// Features and 1.
    width: usize,
    penalty: f64,
}

/// The samples' probabilities at a point.
struct Fit {
    objective: f64,
    /// For each sample, how far its probability is from what became of it, and the weight of its
    /// part of the Hessian.
    misses: Vec<(f64, f64)>,
}

/// The slope and the curvature of the objective at a point.
struct Local {
    gradient: Vec<f64>,
    /// Rows one after the other; the lower triangle counts.
    hessian: Vec<f64>,
}

impl<'a> Samples<'a> {
    fn new(set: &'a Set, standard: &Standard, penalty: f64) -> Self {
        let width = set.width() + 1;
        let chunks = width.div_ceil(CHUNK);
        let mut rows = vec![[0.0; CHUNK]; set.len() * chunks];
        for (i, row) in rows.chunks_exact_mut(chunks).enumerate() {
            let row = row.as_flattened_mut();
            standard.apply(set.row(i), &mut row[..width - 1]);
            row[width - 1] = 1.0;
        }
        Samples { frozen: set.frozen(), rows, width, penalty }
    }

    fn chunks(&self) -> usize {
        self.width.div_ceil(CHUNK)
    }

    fn fit(&self, at: &[f64]) -> Fit {
        let mut fit = Fit { objective: 0.0, misses: Vec::with_capacity(self.frozen.len()) };
        for (row, &frozen) in self.rows.chunks_exact(self.chunks()).zip(self.frozen) {
            let score: f64 = at.iter().zip(row.as_flattened()).map(|(w, x)| w * x).sum();
            let probability = 1.0 / (1.0 + (-score).exp());
            let margin = if frozen { score } else { -score };
            fit.objective += (-margin.abs()).exp().ln_1p() + (-margin).max(0.0);
            let miss = probability - f64::from(u8::from(frozen));
            fit.misses.push((miss, probability * (1.0 - probability)));
        }
        fit.objective /= self.frozen.len() as f64;
        for weight in &at[..self.width - 1] {
            fit.objective += 0.5 * self.penalty * weight * weight;
        }
        fit
    }

    fn local(&self, fit: &Fit, at: &[f64]) -> Local {
        let (width, chunks) = (self.width, self.chunks());
        let mut gradient = vec![0.0; width];
        let mut sums = vec![[[0.0; CHUNK]; CHUNKS]; width];
        let samples = self.rows.chunks(chunks * TOGETHER).zip(fit.misses.chunks(TOGETHER));
        for (rows, misses) in samples {
            for i in 0..width {
                let mut weighted = [0.0; TOGETHER];
                for (s, (miss, weight)) in misses.iter().enumerate() {
                    let x = rows[s * chunks + i / CHUNK][i % CHUNK];
                    gradient[i] += miss * x;
                    weighted[s] = weight * x;
                }
                for c in 0..=i / CHUNK {
                    let mut sum = sums[i][c];
                    for (s, weighted) in weighted[..misses.len()].iter().enumerate() {
                        let row = rows[s * chunks + c];
                        sum = std::array::from_fn(|k| sum[k] + weighted * row[k]);
                    }
                    sums[i][c] = sum;
                }
            }
        }
        let mut hessian: Vec<f64> =
            sums.iter().flat_map(|sums| &sums.as_flattened()[..width]).copied().collect();
        let samples = self.frozen.len() as f64;
        gradient.iter_mut().chain(&mut hessian).for_each(|value| *value /= samples);
        for (i, weight) in at[..width - 1].iter().enumerate() {
            gradient[i] += self.penalty * weight;
            hessian[i * width + i] += self.penalty;
        }
        Local { gradient, hessian }
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
        let local = Local { gradient: vec![8.0, 15.0, 11.0], hessian };
        let found = direction(&local);
        for (found, expected) in found.iter().zip([1.0, 2.0, 3.0]) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }
}
