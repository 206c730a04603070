//! The logistic function and its loss: the same bits on every machine, and without branches, so
//! that they are computed for many samples at once.

use std::f64::consts::{LN_2, LOG2_E};

/// `e` to the power of -`x` for `x` of 0 and more; an `x` above 700 counts as 700.
#[inline(always)]
fn decay(x: f64) -> f64 {
    // -x = n ln 2 + rest, the rest at most ln(2) / 2 in size. Adding a number to 1.5 * 2^52 rounds
    // it to a whole number, which then stands in the lowest bits.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    let x = -x.min(700.0);
    let rounded = x * LOG2_E + ROUND;
    let rest = x - (rounded - ROUND) * LN_2;
    let power = f64::from_bits(rounded.to_bits().wrapping_add(1023) << 52);
    // The sum of rest^k / k!.
    let mut sum = 1.0;
    for k in [13.0, 12.0, 11.0, 10.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0] {
        sum = 1.0 + sum * rest * (1.0 / k);
    }
    power * sum
}

/// The logarithm of `1 + x`, for `x` from 0 to 1.
#[inline(always)]
fn ln_1p(x: f64) -> f64 {
    // 2 artanh(s) = 2 (s + s^3 / 3 + s^5 / 5 + ...), where s is at most 1/3.
    let s = x / (2.0 + x);
    let q = s * s;
    let mut sum = 1.0 / 33.0;
    for k in (0..16).rev() {
        sum = sum * q + 1.0 / f64::from(2 * k + 1);
    }
    2.0 * s * sum
}

/// A sample's part in logistic regression.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Logistic {
    /// The cross entropy.
    pub loss: f64,
    /// The derivative of the loss by the score.
    pub slope: f64,
    /// The second derivative of the loss by the score.
    pub curvature: f64,
}

impl Logistic {
    /// The part of a sample with this score and this label, 0 or 1.
    #[inline(always)]
    pub(crate) fn of(score: f64, label: f64) -> Self {
        let e = decay(score.abs());
        let share = 1.0 / (1.0 + e);
        let probability = if score < 0.0 { e * share } else { share };
        let wrong = if score < 0.0 { label } else { 1.0 - label };
        Logistic {
            loss: ln_1p(e) + wrong * score.abs(),
            slope: probability - label,
            curvature: e * share * share,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loss_and_slopes_are_those_of_the_definition() {
        for i in -3000..=3000 {
            let score = f64::from(i) / 75.0;
            for label in [0.0, 1.0] {
                let found = Logistic::of(score, label);
                let margin = if label == 1.0 { score } else { -score };
                let loss = (-margin.abs()).exp().ln_1p() + (-margin).max(0.0);
                let probability = 1.0 / (1.0 + (-score).exp());
                let near = |a: f64, b: f64| (a - b).abs() <= 1e-14 * b.abs() + 1e-15;
                assert!(near(found.loss, loss), "{score}: {found:?}, not {loss}");
                assert!(near(found.slope, probability - label), "{score}: {found:?}");
                let curvature = probability * (1.0 / (1.0 + score.exp()));
                assert!(near(found.curvature, curvature), "{score}: {found:?}");
            }
        }
    }

    #[test]
    fn a_score_beyond_all_bounds_has_no_slope_left() {
        let certain = Logistic::of(1e300, 1.0);
        assert_eq!((certain.slope, certain.curvature.is_finite()), (0.0, true));
        assert!(Logistic::of(f64::NEG_INFINITY, 0.0).slope < 1e-300);
    }
}
