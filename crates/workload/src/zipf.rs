//! Zipf-distributed ranks: rank `k` of `n` has a probability in proportion to `k^-theta`.
//!
//! Sampled by rejection-inversion (Hormann and Derflinger, "Rejection-inversion to generate
//! variates from monotone discrete distributions", 1996): exact, with no table and no sum over all
//! ranks beforehand, and fewer than 1.2 tries a sample whatever `n` and `theta` are.

use crate::random::Random;

/// A Zipf distribution.
#[derive(Clone, Debug)]
pub(crate) struct Zipf {
    theta: f64,
    n: f64,
    /// The integral of the density up to `1.5`, less the probability of rank 1; and up to `n +
    /// 0.5`.
    low: f64,
    high: f64,
    /// A sample this near to its rank from below needs no test.
    sure: f64,
}

impl Zipf {
    /// Over ranks 1 to `n`, which is at least 1; `theta` is 0 or more.
    pub(crate) fn new(n: u64, theta: f64) -> Zipf {
        let mut zipf = Zipf { theta, n: n as f64, low: 0.0, high: 0.0, sure: 0.0 };
        zipf.low = zipf.integral(1.5) - 1.0;
        zipf.high = zipf.integral(zipf.n + 0.5);
        zipf.sure = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    /// A rank, from 0 (the most likely) to `n - 1`.
    #[inline]
    pub(crate) fn sample(&self, random: &mut Random) -> u64 {
        loop {
            let u = self.high + random.unit() * (self.low - self.high);
            let x = self.inverse(u);
            // To the nearest; a cast cuts off and saturates.
            let rank = ((x + 0.5) as u64 as f64).clamp(1.0, self.n);
            if rank - x <= self.sure || u >= self.integral(rank + 0.5) - self.density(rank) {
                return rank as u64 - 1;
            }
        }
    }

    /// `x^-theta`.
    #[inline]
    fn density(&self, x: f64) -> f64 {
        (-self.theta * x.ln()).exp()
    }

    /// An antiderivative of the density: `(x^(1 - theta) - 1) / (1 - theta)`, or `ln x` at `theta =
    /// 1`, written so that nothing is lost near there.
    #[inline]
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        let t = (1.0 - self.theta) * log;
        if t.abs() < 1e-8 { log * (1.0 + t / 2.0) } else { t.exp_m1() / t * log }
    }

    /// The inverse of the integral.
    #[inline]
    fn inverse(&self, y: f64) -> f64 {
        // Rounding may push the argument to the logarithm's pole, where the result is cut off.
        let t = (y * (1.0 - self.theta)).max(-1.0 + 1e-15);
        let log = if t.abs() < 1e-8 { y * (1.0 - t / 2.0) } else { t.ln_1p() / t * y };
        log.exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share of each of the first ranks in many samples, and its exact probability.
    fn head(n: u64, theta: f64, ranks: usize) -> Vec<(f64, f64)> {
        let samples = 400_000;
        let zipf = Zipf::new(n, theta);
        let mut random = Random::stream(11, n);
        let mut counts = vec![0u32; ranks];
        for _ in 0..samples {
            let rank = zipf.sample(&mut random);
            assert!(rank < n);
            if let Some(count) = counts.get_mut(rank as usize) {
                *count += 1;
            }
        }
        let weight = |k: u64| (k as f64).powf(-theta);
        let total: f64 = (1..=n).map(weight).sum();
        let exact = (1..).map(|k| weight(k) / total);
        counts.iter().map(|count| f64::from(*count) / f64::from(samples)).zip(exact).collect()
    }

    #[test]
    fn the_head_has_the_mass_of_the_exact_sum() {
        for (n, theta) in
            [(10, 0.0), (1000, 0.5), (2_000_000, 0.8), (2_000_000, 0.99), (50_000, 1.0), (90, 1.5)]
        {
            for (rank, (share, exact)) in head(n, theta, 10).into_iter().enumerate() {
                // Five standard deviations of the share.
                let tolerance = 5.0 * (exact / 400_000.0).sqrt();
                assert!((share - exact).abs() < tolerance, "{n} {theta} {rank}: {share} {exact}");
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
        let mut random = Random::stream(3, 0);
        for (n, theta) in
            [(1, 0.0), (1, 1.0), (2, 60.0), (1 << 40, 0.1), (1 << 40, 1.0), (9, 300.0)]
        {
            let zipf = Zipf::new(n, theta);
            assert!((0..1000).all(|_| zipf.sample(&mut random) < n), "{n} {theta}");
        }
    }
}
