//! Synthetic traces: the same seed gives the same trace for ever.
//!
//! Nothing here depends on the machine: random numbers and functions are those of
//! `frostline-random`, and golden tests check that they never change.

mod oltp;

pub use oltp::Oltp;

use frostline_random::{Xoshiro, Zipf};

use self::oltp::Append;

/// The distribution by which a synthetic trace picks the pages that it writes.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum AccessPattern {
    /// Page popularity by Zipf's law; ranks are scattered over the pages by a permutation.
    Zipf {
        /// The exponent, 0 or more; at 0 all pages are equally popular.
        alpha: f64,
    },
    /// All pages are equally popular.
    Uniform,
    /// A table that is written by Zipf's law, and an area that is appended to.
    Oltp(Oltp),
}

/// A synthetic trace.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spec {
    /// The kind of trace.
    pub kind: AccessPattern,
    /// Pages of the volume: LBAs are below this.
    pub pages: u32,
    /// Page writes, without those of `fill`.
    pub writes: u64,
    /// True to write each page that exists at the start first, once and in order: all pages, but in
    /// [`AccessPattern::Oltp`] only those of the table.
    pub fill: bool,
    /// The seed; equal specifications give equal traces.
    pub seed: u64,
}

/// An error of a specification.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// The number of pages is out of range.
    #[error("a trace needs 1 to {} pages, not {pages}", 1u32 << 31)]
    Pages {
        /// The pages asked for.
        pages: u32,
    },
    /// A parameter is out of range.
    #[error("{name} {value} is not from {from} to {to}")]
    Parameter {
        /// The parameter.
        name: &'static str,
        /// The value given.
        value: f64,
        /// The smallest valid value.
        from: f64,
        /// The largest valid value.
        to: f64,
    },
}

/// The LBAs of a synthetic trace, in order of their writes.
#[derive(Debug, Clone)]
pub struct Generator {
    random: Xoshiro,
    source: Ranks,
    append: Option<Append>,
    /// The page of each rank; empty if the rank is the page.
    scattered: Vec<u32>,
    fill: std::ops::Range<u32>,
    left: u64,
}

#[derive(Debug, Clone)]
enum Ranks {
    Uniform(u32),
    Zipf(Zipf),
}

/// Begins a synthetic trace.
///
/// It takes four bytes of memory a page (none for a uniform trace), and a few tens of nanoseconds a
/// write.
/// # Errors
/// If a parameter is not in its range.
pub fn generate(spec: &Spec) -> Result<Generator, SpecError> {
    let Spec { kind, pages, writes, fill, seed } = *spec;
    if pages == 0 || pages > 1 << 31 {
        return Err(SpecError::Pages { pages });
    }
    let mut random = Xoshiro::new(seed);
    let (table, alpha, append) = match kind {
        AccessPattern::Uniform => (pages, 0.0, None),
        AccessPattern::Zipf { alpha } => (pages, alpha, None),
        AccessPattern::Oltp(shape) => {
            check(&shape)?;
            let table = ((f64::from(pages) * shape.table) as u32).clamp(1, pages);
            (table, shape.alpha, Some(Append::new(table, pages - table, shape)))
        }
    };
    in_range("alpha", alpha, 0.0, 100.0)?;
    let (source, scattered) = if alpha == 0.0 {
        (Ranks::Uniform(table), Vec::new())
    } else {
        (Ranks::Zipf(Zipf::new(table.into(), alpha)), permutation(table, &mut random))
    };
    let fill = 0..if fill { table } else { 0 };
    Ok(Generator { random, source, append, scattered, fill, left: writes })
}

fn check(shape: &Oltp) -> Result<(), SpecError> {
    in_range("table", shape.table, 0.0, 1.0)?;
    in_range("append", shape.append, 0.0, 1.0)?;
    in_range("late", shape.late, 0.0, 1.0)?;
    in_range("rewrites", shape.rewrites, 0.0, 1e9)?;
    in_range("window", f64::from(shape.window), 1.0, f64::from(u32::MAX))
}

fn in_range(name: &'static str, value: f64, from: f64, to: f64) -> Result<(), SpecError> {
    if (from..=to).contains(&value) {
        return Ok(());
    }
    Err(SpecError::Parameter { name, value, from, to })
}

/// The numbers below `n` in random order (Fisher and Yates).
fn permutation(n: u32, random: &mut Xoshiro) -> Vec<u32> {
    let mut numbers: Vec<u32> = (0..n).collect();
    for i in (1..n).rev() {
        numbers.swap(i as usize, random.below(i + 1) as usize);
    }
    numbers
}

impl Iterator for Generator {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        if let Some(lba) = self.fill.next() {
            return Some(lba);
        }
        self.left = self.left.checked_sub(1)?;
        if let Some(append) = &mut self.append
            && let Some(lba) = append.sample(&mut self.random)
        {
            return Some(lba);
        }
        Some(match &self.source {
            Ranks::Uniform(pages) => self.random.below(*pages),
            Ranks::Zipf(zipf) => self.scattered[zipf.sample(|| self.random.unit()) as usize],
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        let left = left.saturating_add(self.fill.len());
        (left, Some(left))
    }
}

impl std::iter::FusedIterator for Generator {}
