//! The quality of a recogniser.

use serde::Serialize;

use crate::{Scorer, Set, Tiles, tiled};

/// The quality of scores that tell frozen pages ("positive") from others (SepFrozen, section 5.1).
/// A share of an empty set is not a number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quality {
    /// Samples in the evaluation.
    pub samples: u64,
    /// Share of samples that are frozen.
    pub base_rate: f64,
    /// Share of samples that were classified right.
    pub accuracy: f64,
    /// Share of frozen samples that were taken for frozen.
    pub recall: f64,
    /// Share of not frozen samples that were taken for frozen.
    pub false_positive_rate: f64,
    /// Share of samples taken for frozen that are frozen.
    pub precision: f64,
    /// Area under the ROC curve: the probability that a frozen page has a higher score than
    /// another one, ties counting half. It is independent of the threshold.
    pub roc_area: f64,
    /// The accuracy if half of the pages were frozen, with the best threshold for that case: the
    /// mean of recall and of the share of not frozen samples that are classified right. One half is
    /// chance.
    pub balanced_accuracy: f64,
}

impl Quality {
    /// Evaluates a scorer on these samples; a score above `threshold` means that a page is frozen.
    pub fn of(scorer: &dyn Scorer, threshold: f32, set: &Set) -> Quality {
        let tiles = tiled(set.rows(), set.width());
        let mut scores = vec![0.0; set.len()];
        scorer.score(Tiles::new(set.width(), &tiles), &mut scores);
        Quality::of_scores(&scores, threshold, set.frozen())
    }

    /// Evaluates scores of pages, given which are frozen.
    pub fn of_scores(scores: &[f32], threshold: f32, frozen: &[bool]) -> Quality {
        assert_eq!(scores.len(), frozen.len(), "each score has a label");
        let count = |taken: bool, is: bool| {
            let pages = scores.iter().zip(frozen);
            pages.filter(|&(&score, &frozen)| (score > threshold) == taken && frozen == is).count()
                as u64
        };
        let of_frozen = [count(true, true), count(false, true)];
        let of_others = [count(true, false), count(false, false)];
        let Roc { area, balanced_accuracy } = Roc::of(scores, frozen);
        let counted = Quality::of_counts(of_frozen, of_others);
        Quality { roc_area: area, balanced_accuracy, ..counted }
    }

    /// Evaluates a rule that gives no scores. `frozen` and `others` have the numbers of frozen
    /// pages and of other pages: those taken for frozen, then those not.
    pub fn of_counts(frozen: [u64; 2], others: [u64; 2]) -> Quality {
        let ([true_positives, false_negatives], [false_positives, true_negatives]) =
            (frozen.map(|n| n as f64), others.map(|n| n as f64));
        let all = true_positives + false_negatives + false_positives + true_negatives;
        let recall = true_positives / (true_positives + false_negatives);
        let false_positive_rate = false_positives / (false_positives + true_negatives);
        Quality {
            samples: all as u64,
            base_rate: (true_positives + false_negatives) / all,
            accuracy: (true_positives + true_negatives) / all,
            recall,
            false_positive_rate,
            precision: true_positives / (true_positives + false_positives),
            roc_area: 0.5 + (recall - false_positive_rate) / 2.0,
            balanced_accuracy: 0.5 + (recall - false_positive_rate).max(0.0) / 2.0,
        }
    }
}

/// The figures that do not depend on the threshold.
struct Roc {
    area: f64,
    balanced_accuracy: f64,
}

impl Roc {
    fn of(scores: &[f32], frozen: &[bool]) -> Roc {
        let mut pages: Vec<_> = scores.iter().copied().zip(frozen.iter().copied()).collect();
        pages.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let all_frozen = frozen.iter().filter(|&&frozen| frozen).count() as f64;
        let all_others = frozen.len() as f64 - all_frozen;
        // Counts of pages with a lower score, which a threshold here classifies as not frozen.
        let (mut others, mut missed, mut pairs, mut best) = (0.0, 0.0, 0.0, 0.5_f64);
        for equal in pages.chunk_by(|a, b| a.0 == b.0) {
            let frozen = equal.iter().filter(|(_, frozen)| *frozen).count() as f64;
            let normal = equal.len() as f64 - frozen;
            pairs += frozen * (others + normal / 2.0);
            others += normal;
            missed += frozen;
            best = best.max((others / all_others + 1.0 - missed / all_frozen) / 2.0);
        }
        Roc { area: pairs / (all_frozen * all_others), balanced_accuracy: best }
    }
}

/// Pearson's correlation of each feature with being frozen; not a number for a constant feature.
pub fn correlations(set: &Set) -> Vec<f64> {
    let (all, width) = (set.len() as f64, set.width());
    let base_rate = set.frozen_samples() as f64 / all;
    let of_feature = |means: &[f64], of: &dyn Fn(f64, f64) -> f64| {
        let mut sums = vec![0.0; width];
        for (row, &frozen) in set.rows().chunks_exact(width).zip(set.frozen()) {
            let label = f64::from(u8::from(frozen)) - base_rate;
            for ((sum, value), mean) in sums.iter_mut().zip(row).zip(means) {
                *sum += of(f64::from(*value) - mean, label);
            }
        }
        sums.iter().map(|sum| sum / all).collect::<Vec<_>>()
    };
    let means = of_feature(&vec![0.0; width], &|value, _| value);
    let variances = of_feature(&means, &|value, _| value * value);
    let covariances = of_feature(&means, &|value, label| value * label);
    let labels = base_rate * (1.0 - base_rate);
    let correlation = |(cov, var): (f64, &f64)| cov / (var * labels).sqrt();
    covariances.into_iter().zip(&variances).map(correlation).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_area_are_those_counted_by_hand() {
        let scores = [3.0, 1.0, 1.0, -1.0, -2.0, 2.0];
        let frozen = [true, true, false, true, false, false];
        let found = Quality::of_scores(&scores, 0.0, &frozen);
        let third = 1.0 / 3.0;
        let expected = Quality {
            samples: 6,
            base_rate: 0.5,
            accuracy: 0.5,
            recall: 2.0 * third,
            false_positive_rate: 2.0 * third,
            precision: 0.5,
            // Of nine pairs five are in order, and one is a tie.
            roc_area: 5.5 / 9.0,
            balanced_accuracy: found.balanced_accuracy,
        };
        assert_eq!(found, expected);
        let counted = Quality::of_counts([2, 1], [2, 1]);
        assert!((counted.roc_area - 0.5).abs() < 1e-12, "{counted:?}");
        let Quality { roc_area, balanced_accuracy, .. } = found;
        assert_eq!(Quality { roc_area, balanced_accuracy, ..counted }, found);
        // With a threshold of 2 all not frozen pages are classified right, and one frozen page.
        assert!((balanced_accuracy - 2.0 * third).abs() < 1e-12, "{found:?}");
        let blind = Quality::of_scores(&[1.0; 6], 0.0, &frozen);
        assert_eq!((blind.roc_area, blind.recall, blind.false_positive_rate), (0.5, 1.0, 1.0));
        assert_eq!(blind.balanced_accuracy, 0.5);
    }

    #[test]
    fn a_feature_that_decides_alone_correlates_fully() {
        let mut set = Set::new(3);
        for (i, x) in [1.0, 2.0, 1.0, 2.0].into_iter().enumerate() {
            set.put(i, x > 1.5, |put| [x, 7.0, -x].into_iter().for_each(put));
        }
        let found = correlations(&set);
        assert!((found[0] - 1.0).abs() < 1e-12 && (found[2] + 1.0).abs() < 1e-12, "{found:?}");
        assert!(found[1].is_nan());
    }
}
