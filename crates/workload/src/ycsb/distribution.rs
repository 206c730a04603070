//! The choice of the record for an operation.

use std::fmt;
use std::str::FromStr;

use frostline_random::Zipf;

use crate::random::Random;

/// The default exponent of Zipf's law.
pub(super) const THETA: f64 = 0.99;

/// The probability of each record: `uniform`, `zipf:THETA` or `latest:THETA`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// All records are equally likely, including those added during the run.
    Uniform,
    /// Loaded record number `k` (from 1) has a probability in proportion to `k^-theta`. Numbers say
    /// nothing about the place of the keys, which are scattered.
    Zipf(f64),
    /// Like [`Distribution::Zipf`], with `k` counted back from the newest record.
    Latest(f64),
}

/// The text is not a distribution.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseDistributionError {
    /// No distribution has this name.
    #[error("\"{0}\" is not a distribution (known: zipf:THETA uniform latest:THETA)")]
    Unknown(String),
    /// The exponent is not a number, or out of range.
    #[error("the exponent is a number from 0 to 100")]
    Exponent,
}

impl FromStr for Distribution {
    type Err = ParseDistributionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, theta) = text.split_once(':').map_or((text, None), |(a, b)| (a, Some(b)));
        let exponent = || {
            let theta = theta.map_or(Some(THETA), |theta| theta.parse().ok());
            theta.filter(|theta| (0.0..=100.0).contains(theta))
        };
        let exponent = || exponent().ok_or(ParseDistributionError::Exponent);
        match (name, theta) {
            ("zipf", _) => exponent().map(Distribution::Zipf),
            ("latest", _) => exponent().map(Distribution::Latest),
            ("uniform", None) => Ok(Distribution::Uniform),
            _ => Err(ParseDistributionError::Unknown(text.to_string())),
        }
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Distribution::Uniform => f.write_str("uniform"),
            Distribution::Zipf(theta) => write!(f, "zipf:{theta}"),
            Distribution::Latest(theta) => write!(f, "latest:{theta}"),
        }
    }
}

/// Chooses records.
#[derive(Clone, Debug)]
pub(super) enum Chooser {
    Uniform,
    Zipf(Zipf),
    Latest(Zipf),
}

impl Chooser {
    /// The chooser of a distribution over the loaded records.
    pub(super) fn new(distribution: Distribution, records: u64) -> Chooser {
        match distribution {
            Distribution::Uniform => Chooser::Uniform,
            Distribution::Zipf(theta) => Chooser::Zipf(Zipf::new(records, theta)),
            Distribution::Latest(theta) => Chooser::Latest(Zipf::new(records, theta)),
        }
    }

    /// The number of a record, from 0; `there` is the present number of records.
    #[inline]
    pub(super) fn choose(&self, random: &mut Random, there: u64) -> u64 {
        match self {
            Chooser::Uniform => random.below(there),
            Chooser::Zipf(zipf) => random.rank(zipf),
            Chooser::Latest(zipf) => {
                let back = random.rank(zipf);
                assert!(back < there, "a record that is there");
                there - 1 - back
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share_of(distribution: Distribution, there: u64, record: u64) -> f64 {
        let chooser = Chooser::new(distribution, 1000);
        let mut random = Random::stream(1, 0);
        let hits = (0..100_000).filter(|_| chooser.choose(&mut random, there) == record).count();
        hits as f64 / 100_000.0
    }

    #[test]
    fn the_likeliest_record_has_its_probability() {
        let first = 1.0 / (1..=1000).map(|k| f64::from(k).powf(-0.99)).sum::<f64>();
        assert!((share_of(Distribution::Zipf(0.99), 1500, 0) - first).abs() < 0.005);
        assert!((share_of(Distribution::Latest(0.99), 1500, 1499) - first).abs() < 0.005);
        assert!((share_of(Distribution::Uniform, 1500, 1499) - 1.0 / 1500.0).abs() < 0.0005);
    }

    #[test]
    fn all_records_may_be_chosen_and_no_others() {
        let mut random = Random::stream(2, 0);
        let mut seen = |distribution| {
            let chooser = Chooser::new(distribution, 20);
            let chosen = (0..20_000).map(|_| chooser.choose(&mut random, 30));
            chosen.collect::<std::collections::BTreeSet<u64>>()
        };
        assert_eq!(seen(Distribution::Uniform), (0..30).collect());
        assert_eq!(seen(Distribution::Zipf(0.8)), (0..20).collect());
        assert_eq!(seen(Distribution::Latest(0.8)), (10..30).collect());
    }

    #[test]
    fn distributions_are_read_as_they_are_shown() {
        for text in ["zipf:0.5", "uniform", "latest:1.2"] {
            assert_eq!(text.parse::<Distribution>().unwrap().to_string(), text);
        }
        assert_eq!("zipf".parse(), Ok(Distribution::Zipf(0.99)));
        for wrong in ["", "zip", "zipf:", "zipf:-1", "uniform:1", "latest:x"] {
            assert!(wrong.parse::<Distribution>().is_err(), "{wrong}");
        }
    }
}
