//! YCSB as a bench.

use std::fmt;
use std::str::FromStr;

use frostline_db::{Db, Table};
use frostline_workload::ycsb::{self, LoadOrder, Options, Ycsb};
use frostline_workload::{Condition, Contents, Loaded, Loading};

use super::benchmark::{Benchmark, WorkloadError};
use crate::args::BenchYcsbArgs;

/// Exponent of Zipf's law, unless given.
const THETA: f64 = 0.99;

/// Bytes of a record beside its value, and of a page beside its records.
const BESIDE: u64 = 24;
const OF_PAGE: u64 = 200;

/// Longer values are kept in pieces of up to so many bytes.
const LONGEST: u64 = 892;
const PIECE: u64 = 1240;

/// Bytes of a page that a piece may have alone, and of its part of inner pages.
const OF_PIECE: u64 = 4300;

/// Pages are full to this share, in percent, when keys come in no order.
const FULL: u64 = 62;

/// A mix of operations that has a name.
#[derive(Clone, Copy, Debug)]
pub struct Mix {
    name: &'static str,
    mix: ycsb::Mix,
    distribution: ycsb::Distribution,
}

impl FromStr for Mix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = || ycsb::Mix::NAMED.iter().map(|(name, _)| *name);
        let name = known().find(|name| name.eq_ignore_ascii_case(text));
        let found = name.and_then(|name| Some((name, ycsb::Mix::named(name)?)));
        let Some((name, (mix, distribution))) = found else {
            let known: Vec<_> = known().collect();
            return Err(format!("\"{text}\" is not a workload (known: {})", known.join(" ")));
        };
        Ok(Mix { name, mix, distribution })
    }
}

/// Which records operations are about, as on the command line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distribution(ycsb::Distribution);

impl FromStr for Distribution {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, theta) = text.split_once(':').map_or((text, None), |(a, b)| (a, Some(b)));
        let theta = match theta {
            None => Ok(THETA),
            Some(theta) => {
                let theta = theta.parse::<f64>().ok().filter(|theta| (0.0..=100.0).contains(theta));
                theta.ok_or("the exponent is a number from 0 to 100")
            }
        };
        match (name, text.contains(':')) {
            ("zipf", _) => Ok(Distribution(ycsb::Distribution::Zipf(theta?))),
            ("latest", _) => Ok(Distribution(ycsb::Distribution::Latest(theta?))),
            ("uniform", false) => Ok(Distribution(ycsb::Distribution::Uniform)),
            _ => {
                let known = "zipf:THETA uniform latest:THETA";
                Err(format!("\"{text}\" is not a distribution (known: {known})"))
            }
        }
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ycsb::Distribution::Uniform => f.write_str("uniform"),
            ycsb::Distribution::Zipf(theta) => write!(f, "zipf:{theta}"),
            ycsb::Distribution::Latest(theta) => write!(f, "latest:{theta}"),
        }
    }
}

impl BenchYcsbArgs {
    fn distribution(&self) -> Distribution {
        self.distribution.unwrap_or(Distribution(self.workload.distribution))
    }

    fn options(&self) -> Options {
        Options {
            mix: self.workload.mix,
            distribution: self.distribution().0,
            records: self.records,
            value_bytes: self.value_bytes as usize,
            operations_per_transaction: self.operations,
            load_order: LoadOrder::default(),
        }
    }

    /// Bytes of pages that go with a record.
    fn record_bytes(&self) -> u64 {
        let of = |bytes: u64| 4096 * 100 / ((4096 - OF_PAGE) / (bytes + BESIDE) * FULL);
        match u64::from(self.value_bytes) {
            bytes if bytes <= LONGEST => of(bytes),
            bytes => of(BESIDE) + bytes.div_ceil(PIECE) * OF_PIECE,
        }
    }
}

impl Benchmark for BenchYcsbArgs {
    type Opened = Ycsb<Table>;

    const COMMAND: &'static str = "bench ycsb";

    const RATE: u64 = 1_000_000;

    fn describe(&self) -> String {
        let (mix, records, bytes) = (self.workload.name, self.records, self.value_bytes);
        let text = format!("ycsb {mix}, {}, {records} records of {bytes} B", self.distribution());
        match self.operations {
            1 => text,
            operations => format!("{text}, {operations} operations a transaction"),
        }
    }

    fn loaded_bytes(&self) -> u64 {
        self.records * self.record_bytes() + (1 << 20)
    }

    fn grown_bytes(&self) -> u64 {
        let inserts = u64::from(self.workload.mix.insert) * u64::from(self.operations);
        (inserts * self.record_bytes()).div_ceil(100)
    }

    fn counted_kind(&self) -> Option<usize> {
        None
    }

    fn contents(&self) -> Contents {
        self.options().contents()
    }

    fn open(&self, db: &Db) -> Result<Ycsb<Table>, WorkloadError> {
        Ycsb::open(db, self.options())
    }

    fn load(
        &self,
        opened: &Ycsb<Table>,
        db: &Db,
        loading: Loading,
        observer: &mut dyn FnMut(Loaded) -> bool,
    ) -> Result<Loaded, WorkloadError> {
        opened.load(db, loading, observer)
    }

    fn check(&self, opened: &Ycsb<Table>, db: &Db) -> Result<Vec<Condition>, WorkloadError> {
        opened.check(db)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_are_read_as_they_are_shown() {
        for text in ["zipf:0.5", "uniform", "latest:1.2"] {
            assert_eq!(text.parse::<Distribution>().unwrap().to_string(), text);
        }
        assert_eq!("zipf".parse::<Distribution>().unwrap().to_string(), "zipf:0.99");
        for wrong in ["", "zip", "zipf:", "zipf:-1", "uniform:1", "latest:x"] {
            assert!(wrong.parse::<Distribution>().is_err(), "{wrong}");
        }
    }
}
