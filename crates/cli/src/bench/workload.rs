//! Which pages are written, in which order.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::mpsc::SyncSender;
use std::sync::{Mutex, PoisonError};

use frostline_trace::{Kind, LoadOptions, Spec, generate, load};

use crate::failure::Failure;
use crate::inputs::most_memory;

/// Writes that are handed out together.
const TOGETHER: usize = 64;

/// Which pages are written, as on the command line.
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// Zipf's law with this exponent, scattered over the pages.
    Zipf(f64),
    /// All pages alike.
    Uniform,
    /// One page after the other, again and again.
    Sequential,
    /// The page writes of a trace, again and again.
    Trace(PathBuf),
}

impl Workload {
    /// The trace that it is read from, if it is.
    pub fn file(&self) -> Option<&PathBuf> {
        match self {
            Workload::Trace(path) => Some(path),
            _ => None,
        }
    }
}

impl FromStr for Workload {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, rest) = text.split_once(':').map_or((text, None), |(a, b)| (a, Some(b)));
        match (name, rest) {
            ("zipf", alpha) => {
                let alpha = alpha.unwrap_or("1.0").parse::<f64>().ok();
                let alpha = alpha.filter(|alpha| (0.0..=100.0).contains(alpha));
                let wrong = || "Zipf's exponent is a number from 0 to 100".to_string();
                alpha.map(Workload::Zipf).ok_or_else(wrong)
            }
            ("uniform", None) => Ok(Workload::Uniform),
            ("sequential", None) => Ok(Workload::Sequential),
            ("trace", Some(path)) if !path.is_empty() => Ok(Workload::Trace(path.into())),
            _ => {
                let known = "zipf:ALPHA uniform sequential trace:FILE";
                Err(format!("\"{text}\" is not a workload (known: {known})"))
            }
        }
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Workload::Zipf(alpha) => write!(f, "zipf:{alpha}"),
            Workload::Uniform => f.write_str("uniform"),
            Workload::Sequential => f.write_str("sequential"),
            Workload::Trace(path) => write!(f, "trace:{}", path.display()),
        }
    }
}

/// A workload whose trace, if it has one, is in memory.
pub enum Loaded {
    /// Made for any number of pages.
    Synthetic(Workload),
    /// The page writes of a trace, and the pages that hold them all.
    Trace(Vec<u32>, u32),
}

impl Loaded {
    /// Loads a workload.
    pub fn new(workload: &Workload) -> Result<Loaded, Failure> {
        let Workload::Trace(path) = workload else {
            return Ok(Loaded::Synthetic(workload.clone()));
        };
        let mut volumes = load(
            path,
            &LoadOptions { memory: most_memory(), ..LoadOptions::default() },
            &mut |_| {},
        )?
        .volumes;
        let lbas = volumes.pop().map(|volume| volume.lbas).unwrap_or_default();
        if !volumes.is_empty() {
            let why = format!("{} has several volumes", path.display());
            return Err(Failure::usage("bench store", &why)
                .hint("frostline trace convert --volume ID makes a trace of one"));
        }
        let largest = lbas.iter().max().copied().unwrap_or(0);
        Ok(Loaded::Trace(lbas, largest.saturating_add(1)))
    }

    /// Pages that are written before the workload begins, of a store of so many.
    pub fn fill(&self, pages: u64) -> Result<u32, Failure> {
        match self {
            Loaded::Trace(_, needed) if u64::from(*needed) > pages => {
                let why = format!("the trace writes {needed} pages, the store can hold {pages}");
                Err(Failure::usage("bench store", &why).hint("a larger --size"))
            }
            Loaded::Trace(_, needed) => Ok(*needed),
            Loaded::Synthetic(_) => Ok(pages as u32),
        }
    }

    /// The LBAs, without end.
    pub fn lbas(self, pages: u32, seed: u64) -> Result<Lbas, Failure> {
        let kind = match self {
            Loaded::Trace(lbas, _) => return Ok(Box::new(lbas.into_iter().cycle())),
            Loaded::Synthetic(Workload::Zipf(alpha)) => Kind::Zipf { alpha },
            Loaded::Synthetic(Workload::Uniform) => Kind::Uniform,
            Loaded::Synthetic(_) => return Ok(Box::new((0..pages).cycle())),
        };
        let spec = Spec { kind, pages, writes: u64::MAX, fill: false, seed };
        let lbas = generate(&spec).map_err(|e| Failure::usage("bench store", &e.to_string()))?;
        Ok(Box::new(lbas))
    }
}

/// LBAs in the order of their writes.
pub type Lbas = Box<dyn Iterator<Item = u32> + Send>;

/// Hands out a workload's writes to threads: together they write one sequence.
pub struct Feed(Mutex<State>);

struct State {
    lbas: Lbas,
    left: u64,
    record: Option<SyncSender<Vec<u32>>>,
}

impl Feed {
    /// At most `writes` of these, told to `record` as well.
    pub fn new(lbas: Lbas, writes: u64, record: Option<SyncSender<Vec<u32>>>) -> Self {
        Feed(Mutex::new(State { lbas, left: writes, record }))
    }

    /// The next writes; none at the end.
    pub fn take(&self, into: &mut Vec<u32>) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        into.clear();
        let most = state.left.min(TOGETHER as u64) as usize;
        into.extend(state.lbas.by_ref().take(most));
        state.left -= into.len() as u64;
        if let Some(record) = &state.record {
            // A recorder that failed tells so when it is asked.
            let _ = record.send(into.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_are_read_as_they_are_shown() {
        for text in ["zipf:1.2", "uniform", "sequential", "trace:a.u32"] {
            assert_eq!(text.parse::<Workload>().unwrap().to_string(), text);
        }
        assert_eq!("zipf".parse(), Ok(Workload::Zipf(1.0)));
        for wrong in ["", "zip", "zipf:", "zipf:-1", "zipf:x", "uniform:1", "trace", "trace:"] {
            assert!(wrong.parse::<Workload>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_feed_ends_after_the_writes_that_were_asked_for() {
        let feed = Feed::new(Box::new((0..10).cycle()), 100, None);
        let (mut all, mut some) = (Vec::new(), Vec::new());
        loop {
            feed.take(&mut some);
            if some.is_empty() {
                break;
            }
            all.extend_from_slice(&some);
        }
        assert_eq!(all, (0..10).cycle().take(100).collect::<Vec<_>>());
    }
}
