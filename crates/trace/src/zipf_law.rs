//! The probabilities of lifespans under Zipf's law, summed over all pages.

/// Writes to pages whose popularity follows Zipf's law, each independent of the others.
#[derive(Clone, Debug)]
pub struct ZipfLaw {
    /// The probability of each page, the most popular first.
    shares: Vec<f64>,
}

impl ZipfLaw {
    /// Writes to `pages` pages with this exponent.
    pub fn new(pages: u32, alpha: f64) -> ZipfLaw {
        let mut shares: Vec<f64> = (1..=pages).map(|rank| f64::from(rank).powf(-alpha)).collect();
        // Summed from the smallest on, so that rounding errors are small.
        let all: f64 = shares.iter().rev().sum();
        shares.iter_mut().for_each(|share| *share /= all);
        ZipfLaw { shares }
    }

    /// The mean over all writes of a function of probabilities: for each of `times`, the
    /// probability that the page is not written by that many writes in a row.
    fn mean<const N: usize>(&self, times: [f64; N], of: impl Fn([f64; N]) -> f64) -> f64 {
        let each = self.shares.iter().rev().map(|&share| {
            let spared = (-share).ln_1p();
            share * of(times.map(|time| (time * spared).exp()))
        });
        each.sum()
    }

    /// The probability that a page written now dies within `lifespan`, if the previous version died
    /// within `previous`.
    pub fn dies_soon_again(&self, lifespan: f64, previous: f64) -> f64 {
        let both = self.mean([lifespan, previous], |[u, v]| (1.0 - u) * (1.0 - v));
        both / self.mean([previous], |[v]| 1.0 - v)
    }

    /// The probability that a page of this age dies within `residual`.
    pub fn dies_after_age(&self, age: f64, residual: f64) -> f64 {
        let within = self.mean([age, age + residual], |[aged, later]| aged - later);
        within / self.mean([age], |[aged]| aged)
    }

    /// The share of the writes that go to the most written fifth of the pages.
    pub fn top_share(&self) -> f64 {
        self.shares[..self.shares.len() / 5].iter().rev().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AccessPattern, Spec, generate};

    #[test]
    fn drawing_pages_finds_the_same_probabilities() {
        const N: u32 = 1000;
        let law = ZipfLaw::new(N, 0.8);
        let kind = AccessPattern::Zipf { alpha: 0.8 };
        let spec = Spec { kind, pages: N, writes: 400_000, fill: false, seed: 1 };
        let draws: Vec<usize> = generate(&spec).unwrap().map(|page| page as usize).collect();
        let mut next = vec![None; N as usize];
        let mut lifespans = vec![None; draws.len()];
        for (at, &page) in draws.iter().enumerate().rev() {
            lifespans[at] = next[page].replace(at).map(|later: usize| later - at);
        }
        // A version and the next version of the same page, both of which have ended.
        let pairs: Vec<(usize, usize)> = (0..draws.len())
            .filter_map(|at| lifespans[at].and_then(|v| Some((v, lifespans[at + v]?))))
            .collect();
        let share = |of: &dyn Fn(&&(usize, usize)) -> bool,
                     among: &dyn Fn(&&(usize, usize)) -> bool| {
            let among: Vec<_> = pairs.iter().filter(among).collect();
            among.iter().filter(|pair| of(pair)).count() as f64 / among.len() as f64
        };
        let again = share(&|(_, u)| *u <= 300, &|(v, _)| *v <= 100);
        assert!((again - law.dies_soon_again(300.0, 100.0)).abs() < 0.01, "{again}");
        let aged = share(&|(v, _)| *v <= 900, &|(v, _)| *v > 400);
        assert!((aged - law.dies_after_age(400.0, 500.0)).abs() < 0.01, "{aged}");
    }
}
