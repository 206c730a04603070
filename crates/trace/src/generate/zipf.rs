//! Zipf-distributed ranks: rank `k` of `n` has a probability in proportion to `k^-alpha`.
//!
//! Sampled by rejection-inversion (Hormann and Derflinger, "Rejection-inversion to generate
//! variates from monotone discrete distributions", 1996): no table, and fewer than 1.2 tries a
//! sample whatever `n` and `alpha` are.

use super::exact::{exp, exp_ratio, ln, ln_ratio};
use super::random::Random;

/// A Zipf distribution.
#[derive(Debug, Clone)]
pub(crate) struct Zipf {
    alpha: f64,
    n: f64,
    /// The integral of the density up to `1.5`, less the probability of rank 1; and up to `n +
    /// 0.5`.
    low: f64,
    high: f64,
    /// A sample this near to its rank from below needs no test.
    sure: f64,
}

impl Zipf {
    /// Over ranks 1 to `n`, which is at least 1; `alpha` is 0 or more.
    pub(crate) fn new(n: u32, alpha: f64) -> Zipf {
        let n = f64::from(n);
        let mut zipf = Zipf { alpha, n, low: 0.0, high: 0.0, sure: 0.0 };
        zipf.low = zipf.integral(1.5) - 1.0;
        zipf.high = zipf.integral(n + 0.5);
        zipf.sure = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    /// A rank, from 0 (the most likely) to `n - 1`.
    #[inline]
    pub(crate) fn sample(&self, random: &mut Random) -> u32 {
        loop {
            let u = self.high + random.unit() * (self.low - self.high);
            let x = self.inverse(u);
            // To the nearest; a cast cuts off and saturates.
            let rank = ((x + 0.5) as u64 as f64).clamp(1.0, self.n);
            if rank - x <= self.sure || u >= self.integral(rank + 0.5) - self.density(rank) {
                return rank as u32 - 1;
            }
        }
    }

    /// `x^-alpha`.
    #[inline]
    fn density(&self, x: f64) -> f64 {
        exp(-self.alpha * ln(x))
    }

    /// An antiderivative of the density: `(x^(1 - alpha) - 1) / (1 - alpha)`, or `ln x` at `alpha =
    /// 1`, written so that nothing is lost near there.
    #[inline]
    fn integral(&self, x: f64) -> f64 {
        let log = ln(x);
        exp_ratio((1.0 - self.alpha) * log) * log
    }

    /// The inverse of the integral.
    #[inline]
    fn inverse(&self, y: f64) -> f64 {
        // Rounding may push the argument to the logarithm's pole, where the result is cut off.
        let t = (y * (1.0 - self.alpha)).max(-1.0 + 1e-15);
        exp(ln_ratio(t) * y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_are_those_of_the_distribution() {
        for alpha in [0.0, 0.5, 0.99, 1.0, 1.000_000_1, 1.3, 2.5, 8.0] {
            let n = 50u32;
            let zipf = Zipf::new(n, alpha);
            let mut random = Random::new(7);
            let samples = 200_000;
            let mut counts = vec![0f64; n as usize];
            (0..samples).for_each(|_| counts[zipf.sample(&mut random) as usize] += 1.0);
            let weight = |k: u32| f64::from(k + 1).powf(-alpha);
            let total: f64 = (0..n).map(weight).sum();
            let chi: f64 = (0..n)
                .map(|k| (weight(k) / total * f64::from(samples), counts[k as usize]))
                .filter(|(expected, _)| *expected > 5.0)
                .map(|(expected, count)| (count - expected).powi(2) / expected)
                .sum();
            // 49 degrees of freedom: over 100 happens once in 40,000.
            assert!(chi < 100.0, "alpha {alpha}: chi square {chi}");
        }
    }

    #[test]
    fn extreme_parameters_stay_within_ranks() {
        let mut random = Random::new(3);
        for (n, alpha) in [
            (1, 0.0),
            (1, 1.0),
            (2, 60.0),
            (u32::MAX, 0.1),
            (u32::MAX, 1.0),
            (9, 300.0),
            (u32::MAX, 100.0),
        ] {
            let zipf = Zipf::new(n, alpha);
            assert!((0..1000).all(|_| zipf.sample(&mut random) < n), "{n} {alpha}");
        }
    }
}
