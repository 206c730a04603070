//! Logistic regression over all samples at once by Newton's method, also known as iteratively
//! reweighted least squares (Hastie, Tibshirani and Friedman, The Elements of Statistical Learning,
//! 2nd edition, section 4.4.1). It minimises the same objective as [`sgd`](crate::sgd).

use std::f64::consts::LN_2;

use multiversion::multiversion;

use crate::logistic::Logistic;
use crate::{FeatureLayout, Set, Standard};

/// The limits of the iteration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps {
    /// The most steps.
    pub most: usize,
    /// The iteration ends when a step lowers the objective by less than this share.
    pub gain: f64,
}

/// Limits for full convergence, which takes about six steps.
const ALL_THE_WAY: Steps = Steps { most: 30, gain: 1e-12 };

/// The weights of standardised features; the bias is the last value.
pub(crate) fn solve(set: &Set, standard: &Standard, penalty: f64) -> Vec<f64> {
    improve(set, standard, penalty, vec![0.0; set.width() + 1], ALL_THE_WAY)
}

/// Improves the weights `at` of standardised features, whose last value is the bias.
pub(crate) fn improve(
    set: &Set,
    standard: &Standard,
    penalty: f64,
    mut at: Vec<f64>,
    steps: Steps,
) -> Vec<f64> {
    let mut local = Local::at(set, standard, penalty, &at);
    if local.objective > LN_2 {
        // This start is worse than all zeroes; Newton's method does not come back from so far away.
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

/// Columns that vector instructions process together.
const LANES: usize = 8;
/// Groups of such columns in a sample: its features, a 1, and zeroes.
const GROUPS: usize = (FeatureLayout::WIDEST + 1).div_ceil(LANES);
/// Rows of the Hessian that are summed together.
const ROWS: usize = 4;
/// Samples in a block.
const BLOCK: usize = 64;
const _: () = assert!(LANES.is_multiple_of(ROWS), "rows that are summed together share a group");

type FeatureLanes = [f64; LANES];
type FeatureRow = [FeatureLanes; GROUPS];

/// The objective around a point.
struct Local {
    objective: f64,
    gradient: Vec<f64>,
    /// The rows one after the other; entries above the diagonal are incomplete.
    hessian: Vec<f64>,
}

impl Local {
    fn at(set: &Set, standard: &Standard, penalty: f64, at: &[f64]) -> Local {
        let all = at.len();
        assert_eq!(all, set.width() + 1, "a weight for each feature, and the bias");
        assert!(!set.is_empty(), "a mean is of some samples");
        let (point, mut sums) = (Iterate::new(standard, at), SampleSums::new());
        let rows = set.rows().chunks(BLOCK * set.width());
        for (rows, frozen) in rows.zip(set.frozen().chunks(BLOCK)) {
            sums.values[..rows.len()].copy_from_slice(rows);
            add(&mut sums, &point, frozen);
        }
        let samples = set.len() as f64;
        let mut here = Local {
            objective: sums.objective / samples,
            gradient: vec![0.0; all],
            hessian: vec![0.0; all * all],
        };
        let mean = |to: &mut [f64], row: &FeatureRow| {
            to.iter_mut().zip(row.as_flattened()).for_each(|(to, sum)| *to = sum / samples);
        };
        mean(&mut here.gradient, &sums.gradient);
        let rows = here.hessian.chunks_exact_mut(all).zip(&sums.hessian);
        rows.for_each(|(to, row)| mean(to, row));
        for (i, weight) in at[..all - 1].iter().enumerate() {
            here.objective += 0.5 * penalty * weight * weight;
            here.gradient[i] += penalty * weight;
            here.hessian[i * all + i] += penalty;
        }
        here
    }
}

/// Weights, and the standardisation of the features.
struct Iterate {
    weights: FeatureRow,
    means: FeatureRow,
    /// One over the deviation of each feature; 0 leaves the feature out.
    scales: FeatureRow,
    /// 1 after the features, 0 elsewhere.
    one: FeatureRow,
    /// Features.
    width: usize,
}

impl Iterate {
    fn new(standard: &Standard, at: &[f64]) -> Self {
        let padded = |from: &[f64]| -> FeatureRow {
            let mut row = [[0.0; LANES]; GROUPS];
            row.as_flattened_mut()[..from.len()].copy_from_slice(from);
            row
        };
        let width = at.len() - 1;
        let mut one = [[0.0; LANES]; GROUPS];
        one[width / LANES][width % LANES] = 1.0;
        let inverse = |deviation: f64| if deviation > 0.0 { 1.0 / deviation } else { 0.0 };
        Iterate {
            weights: padded(at),
            means: padded(&standard.means),
            scales: padded(&standard.deviations).map(|lanes| lanes.map(inverse)),
            one,
            width,
        }
    }

    /// Standardises a sample's features, puts a 1 after them, and returns its score. Values after
    /// the features in `values` count for nothing. The 1 is added to a whole group: a single store
    /// would make the loads of the group wait.
    #[inline(always)]
    fn score(&self, values: &[f32], to: &mut FeatureRow) -> f64 {
        let groups = self.width / LANES + 1;
        for (g, values) in values.as_chunks::<LANES>().0[..groups].iter().enumerate() {
            for lane in 0..LANES {
                let from_mean = f64::from(values[lane]) - self.means[g][lane];
                to[g][lane] = from_mean * self.scales[g][lane] + self.one[g][lane];
            }
        }
        let mut sums = [0.0; LANES];
        for (to, weights) in to.iter().zip(&self.weights).take(groups) {
            for lane in 0..LANES {
                sums[lane] += weights[lane] * to[lane];
            }
        }
        let [a, b, c, d, e, f, g, h] = sums;
        ((a + e) + (c + g)) + ((b + f) + (d + h))
    }
}

/// Sums over samples, and buffers for a block of them.
struct SampleSums {
    objective: f64,
    gradient: FeatureRow,
    /// The Hessian, of which only the lower triangle is complete.
    hessian: [FeatureRow; GROUPS * LANES],
    /// The features of the block's samples.
    values: [f32; BLOCK * FeatureLayout::WIDEST + GROUPS * LANES],
    block: [FeatureRow; BLOCK],
    /// The block's standardised features times the curvature.
    weighted: [FeatureRow; BLOCK],
    scores: [f64; BLOCK],
    labels: [f64; BLOCK],
    losses: [f64; BLOCK],
    slopes: [f64; BLOCK],
    curvatures: [f64; BLOCK],
}

impl SampleSums {
    fn new() -> Self {
        const ROW: FeatureRow = [[0.0; LANES]; GROUPS];
        SampleSums {
            objective: 0.0,
            gradient: ROW,
            hessian: [ROW; GROUPS * LANES],
            values: [0.0; BLOCK * FeatureLayout::WIDEST + GROUPS * LANES],
            block: [ROW; BLOCK],
            weighted: [ROW; BLOCK],
            scores: [0.0; BLOCK],
            labels: [0.0; BLOCK],
            losses: [0.0; BLOCK],
            slopes: [0.0; BLOCK],
            curvatures: [0.0; BLOCK],
        }
    }
}

/// Adds a block of samples, whose features are in the buffer.
#[multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn add(sums: &mut SampleSums, point: &Iterate, frozen: &[bool]) {
    let samples = frozen.len().min(BLOCK);
    for (i, &frozen) in frozen[..samples].iter().enumerate() {
        sums.scores[i] = point.score(&sums.values[i * point.width..], &mut sums.block[i]);
        sums.labels[i] = f64::from(u8::from(frozen));
    }
    for i in 0..BLOCK {
        let Logistic { loss, slope, curvature } = Logistic::of(sums.scores[i], sums.labels[i]);
        (sums.losses[i], sums.slopes[i], sums.curvatures[i]) = (loss, slope, curvature);
    }
    let groups = point.width / LANES + 1;
    for i in 0..samples {
        sums.objective += sums.losses[i];
        for g in 0..groups {
            let (mut gradient, row) = (sums.gradient[g], sums.block[i][g]);
            gradient.iter_mut().zip(row).for_each(|(sum, x)| *sum += sums.slopes[i] * x);
            sums.gradient[g] = gradient;
            sums.weighted[i][g] = row.map(|x| sums.curvatures[i] * x);
        }
    }
    let samples = sums.block[..samples].iter().zip(&sums.weighted);
    for (hessian, first) in sums.hessian.chunks_exact_mut(ROWS).zip((0..=point.width).step_by(ROWS))
    {
        for g in 0..=first / LANES {
            let mut tile: [FeatureLanes; ROWS] = std::array::from_fn(|i| hessian[i][g]);
            for (row, weighted) in samples.clone() {
                let weighted: &[f64; ROWS] = &weighted.as_flattened().as_chunks().0[first / ROWS];
                for i in 0..ROWS {
                    for lane in 0..LANES {
                        tile[i][lane] += weighted[i] * row[g][lane];
                    }
                }
            }
            hessian.iter_mut().zip(tile).for_each(|(row, lanes)| row[g] = lanes);
        }
    }
}

/// Newton's step: the Hessian's inverse times the gradient, by Cholesky's decomposition.
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
        // Kept above 0, also where all probabilities are 0 or 1.
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
