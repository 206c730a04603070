//! Page workloads: LBAs in the order of their writes.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use frostline_trace::{AccessPattern, LoadOptions, Spec, generate, load};

use crate::{Error, Result};

/// The LBAs of page writes, in order: `zipf:ALPHA`, `uniform`, `sequential` or `trace:FILE`.
#[derive(Clone, Debug, PartialEq)]
pub enum PageWorkload {
    /// Zipf's law with this exponent, scattered over the pages.
    Zipf(f64),
    /// All pages with the same probability.
    Uniform,
    /// One page after the other, again and again.
    Sequential,
    /// The page writes of a trace, again and again.
    Trace(PathBuf),
}

impl PageWorkload {
    /// The trace that it is read from, if there is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            PageWorkload::Trace(path) => Some(path),
            _ => None,
        }
    }
}

/// The text is not a page workload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParsePageWorkloadError {
    /// No workload has this name.
    #[error("\"{0}\" is not a workload (known: zipf:ALPHA uniform sequential trace:FILE)")]
    Unknown(String),
    /// The exponent is not a number, or out of range.
    #[error("Zipf's exponent is a number from 0 to 100")]
    Exponent,
}

impl FromStr for PageWorkload {
    type Err = ParsePageWorkloadError;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let (name, rest) = text.split_once(':').map_or((text, None), |(a, b)| (a, Some(b)));
        match (name, rest) {
            ("zipf", alpha) => {
                let alpha = alpha.unwrap_or("1.0").parse::<f64>().ok();
                let alpha = alpha.filter(|alpha| (0.0..=100.0).contains(alpha));
                alpha.map(PageWorkload::Zipf).ok_or(ParsePageWorkloadError::Exponent)
            }
            ("uniform", None) => Ok(PageWorkload::Uniform),
            ("sequential", None) => Ok(PageWorkload::Sequential),
            ("trace", Some(path)) if !path.is_empty() => Ok(PageWorkload::Trace(path.into())),
            _ => Err(ParsePageWorkloadError::Unknown(text.to_string())),
        }
    }
}

impl fmt::Display for PageWorkload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PageWorkload::Zipf(alpha) => write!(f, "zipf:{alpha}"),
            PageWorkload::Uniform => f.write_str("uniform"),
            PageWorkload::Sequential => f.write_str("sequential"),
            PageWorkload::Trace(path) => write!(f, "trace:{}", path.display()),
        }
    }
}

/// A workload in memory, with its trace if it has one.
pub(super) enum LoadedWorkload {
    /// A workload for any number of pages.
    Synthetic(PageWorkload),
    /// The page writes of a trace, and the number of pages that it needs.
    Trace(Vec<u32>, u32),
}

impl LoadedWorkload {
    /// Loads a workload; a trace may take at most `memory` bytes.
    pub(super) fn new(workload: &PageWorkload, memory: Option<u64>) -> Result<LoadedWorkload> {
        let PageWorkload::Trace(path) = workload else {
            return Ok(LoadedWorkload::Synthetic(workload.clone()));
        };
        let options = LoadOptions { memory, ..LoadOptions::default() };
        let mut volumes = load(path, &options, &mut |_| {})?.volumes;
        let lbas = volumes.pop().map(|volume| volume.lbas).unwrap_or_default();
        if !volumes.is_empty() {
            return Err(Error::SeveralVolumes { path: path.clone() });
        }
        let largest = lbas.iter().max().copied().unwrap_or(0);
        Ok(LoadedWorkload::Trace(lbas, largest.saturating_add(1)))
    }

    /// The number of pages to write before the workload begins, on a store of `pages` pages.
    pub(super) fn fill(&self, pages: u64) -> Result<u32> {
        match *self {
            LoadedWorkload::Trace(_, needed) if u64::from(needed) > pages => {
                Err(Error::TooFewPages { needed, pages })
            }
            LoadedWorkload::Trace(_, needed) => Ok(needed),
            LoadedWorkload::Synthetic(_) => Ok(pages as u32),
        }
    }

    /// The LBAs, as an endless sequence.
    pub(super) fn lbas(self, pages: u32, seed: u64) -> Result<Lbas> {
        let kind = match self {
            LoadedWorkload::Trace(lbas, _) => return Ok(Box::new(lbas.into_iter().cycle())),
            LoadedWorkload::Synthetic(PageWorkload::Zipf(alpha)) => AccessPattern::Zipf { alpha },
            LoadedWorkload::Synthetic(PageWorkload::Uniform) => AccessPattern::Uniform,
            LoadedWorkload::Synthetic(_) => return Ok(Box::new((0..pages).cycle())),
        };
        let spec = Spec { kind, pages, writes: u64::MAX, fill: false, seed };
        Ok(Box::new(generate(&spec)?))
    }
}

/// LBAs in the order of their writes.
pub(super) type Lbas = Box<dyn Iterator<Item = u32> + Send>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_are_read_as_they_are_shown() {
        for text in ["zipf:1.2", "uniform", "sequential", "trace:a.u32"] {
            assert_eq!(text.parse::<PageWorkload>().unwrap().to_string(), text);
        }
        assert_eq!("zipf".parse(), Ok(PageWorkload::Zipf(1.0)));
        for wrong in ["", "zip", "zipf:", "zipf:-1", "zipf:x", "uniform:1", "trace", "trace:"] {
            assert!(wrong.parse::<PageWorkload>().is_err(), "{wrong}");
        }
    }
}
