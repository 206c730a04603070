//! Zipf-distributed ranks: rank `k` of `n` has a probability in proportion to `k^-alpha`.
//!
//! Ranks are sampled by rejection-inversion (Hormann and Derflinger, "Rejection-inversion to
//! generate variates from monotone discrete distributions", 1996): no table, and fewer than 1.2
//! tries a sample for any `n` and `alpha`.

use crate::exact::{exp, exp_ratio, ln, ln_ratio};

/// A Zipf distribution.
#[derive(Debug, Clone)]
pub struct Zipf {
    alpha: f64,
    n: f64,
    /// The integral of the density up to 1.5, minus the probability of rank 1; below, the integral
    /// up to `n + 0.5`.
    low: f64,
    high: f64,
    /// A sample at most this far below its rank needs no test.
    sure: f64,
}

impl Zipf {
    /// A distribution over ranks 1 to `n`, with `n` from 1 to 2^53, and `alpha` 0 or more.
    pub fn new(n: u64, alpha: f64) -> Zipf {
        let n = n as f64;
        let mut zipf = Zipf { alpha, n, low: 0.0, high: 0.0, sure: 0.0 };
        zipf.low = zipf.integral(1.5) - 1.0;
        zipf.high = zipf.integral(n + 0.5);
        zipf.sure = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    /// A random rank, from 0 (the most likely) to `n - 1`. `unit` returns random numbers from 0 up
    /// to but not including 1.
    #[inline]
    pub fn sample(&self, mut unit: impl FnMut() -> f64) -> u64 {
        loop {
            let u = self.high + unit() * (self.low - self.high);
            let x = self.inverse(u);
            // Rounds to the nearest; a cast truncates and saturates. Processors cast to signed
            // numbers faster.
            let rank = ((x + 0.5) as i64 as f64).clamp(1.0, self.n);
            if rank - x <= self.sure || u >= self.integral(rank + 0.5) - self.density(rank) {
                return (rank as i64 - 1) as u64;
            }
        }
    }

    /// `x^-alpha`.
    #[inline]
    fn density(&self, x: f64) -> f64 {
        exp(-self.alpha * ln(x))
    }

    /// An antiderivative of the density: `(x^(1 - alpha) - 1) / (1 - alpha)`, or `ln x` for `alpha
    /// = 1`, in a form that is also precise close to 1.
    #[inline]
    fn integral(&self, x: f64) -> f64 {
        let log = ln(x);
        exp_ratio((1.0 - self.alpha) * log) * log
    }

    /// The inverse of the integral.
    #[inline]
    fn inverse(&self, y: f64) -> f64 {
        // Rounding may push the argument to the logarithm's pole, so it is limited.
        let t = (y * (1.0 - self.alpha)).max(-1.0 + 1e-15);
        exp(ln_ratio(t) * y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Xoshiro;

    #[test]
    fn frequencies_are_those_of_the_distribution() {
        for alpha in [0.0, 0.5, 0.99, 1.0, 1.000_000_1, 1.3, 2.5, 8.0] {
            let n = 50u64;
            let zipf = Zipf::new(n, alpha);
            let mut random = Xoshiro::new(7);
            let samples = 200_000;
            let mut counts = vec![0f64; n as usize];
            (0..samples).for_each(|_| counts[zipf.sample(|| random.unit()) as usize] += 1.0);
            let weight = |k: u64| ((k + 1) as f64).powf(-alpha);
            let total: f64 = (0..n).map(weight).sum();
            let chi: f64 = (0..n)
                .map(|k| (weight(k) / total * f64::from(samples), counts[k as usize]))
                .filter(|(expected, _)| *expected > 5.0)
                .map(|(expected, count)| (count - expected).powi(2) / expected)
                .sum();
            // 49 degrees of freedom: a value over 100 happens once in 40,000.
            assert!(chi < 100.0, "alpha {alpha}: chi square {chi}");
        }
    }

    /// The share of each of the first ranks in many samples, and its exact probability.
    fn head(n: u64, alpha: f64, ranks: usize) -> Vec<(f64, f64)> {
        let samples = 400_000;
        let zipf = Zipf::new(n, alpha);
        let mut random = Xoshiro::new(11);
        let mut counts = vec![0u32; ranks];
        for _ in 0..samples {
            let rank = zipf.sample(|| random.unit());
            assert!(rank < n);
            if let Some(count) = counts.get_mut(rank as usize) {
                *count += 1;
            }
        }
        let weight = |k: u64| (k as f64).powf(-alpha);
        let total: f64 = (1..=n).map(weight).sum();
        let exact = (1..).map(|k| weight(k) / total);
        counts.iter().map(|count| f64::from(*count) / f64::from(samples)).zip(exact).collect()
    }

    #[test]
    fn the_head_has_the_mass_of_the_exact_sum() {
        for (n, alpha) in
            [(10, 0.0), (1000, 0.5), (2_000_000, 0.8), (2_000_000, 0.99), (50_000, 1.0), (90, 1.5)]
        {
            for (rank, (share, exact)) in head(n, alpha, 10).into_iter().enumerate() {
                // Five standard deviations of the share.
                let tolerance = 5.0 * (exact / 400_000.0).sqrt();
                assert!((share - exact).abs() < tolerance, "{n} {alpha} {rank}: {share} {exact}");
            }
        }
    }

    #[test]
    fn the_whole_range_is_reached_in_proportion() {
        let total: (f64, f64) = head(100, 0.99, 100)
            .into_iter()
            .skip(50)
            .fold((0.0, 0.0), |sum, (share, exact)| (sum.0 + share, sum.1 + exact));
        assert!((total.0 - total.1).abs() < 0.003, "{total:?}");
    }

    #[test]
    fn extreme_parameters_stay_within_ranks() {
        let mut random = Xoshiro::new(3);
        for (n, alpha) in [
            (1, 0.0),
            (1, 1.0),
            (2, 60.0),
            (1 << 40, 0.1),
            (1 << 40, 1.0),
            (9, 300.0),
            (1 << 32, 100.0),
        ] {
            let zipf = Zipf::new(n, alpha);
            assert!((0..1000).all(|_| zipf.sample(|| random.unit()) < n), "{n} {alpha}");
        }
    }
}
