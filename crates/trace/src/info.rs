//! What one wants to know of a trace before replaying it.

use crate::error::TraceError;
use crate::lifespan::{NEVER, lifespans};
use crate::load::Writes;
use crate::squeeze::squeeze;

/// The properties of one volume's writes. Shares are from 0 to 1.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct VolumeInfo {
    /// The volume's name.
    pub name: String,
    /// Page writes.
    pub writes: u64,
    /// Write requests.
    pub requests: u64,
    /// Different pages written.
    pub unique_pages: u64,
    /// The largest LBA written.
    pub largest_lba: u32,
    /// Share of the page writes that go to the 20 % of pages written most.
    pub top20_share: f64,
    /// Of the pages written in the first 50 % of the writes, the share never written after them.
    pub frozen_at_50: f64,
    /// Of the pages written in the first 80 % of the writes, the share never written after them.
    pub frozen_at_80: f64,
    /// How long page writes live; `None` if no page is written twice.
    pub lifespans: Option<Lifespans>,
    /// Share of the page writes that live for ever.
    pub never_rewritten: f64,
    /// Microseconds from the first write to the last; `None` if times were not loaded.
    pub span_us: Option<u64>,
}

/// Percentiles of finite lifespans, in user writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Lifespans {
    /// 5 % are this or less.
    pub p5: u32,
    /// 25 % are this or less.
    pub p25: u32,
    /// The median.
    pub p50: u32,
    /// 75 % are this or less.
    pub p75: u32,
    /// 95 % are this or less.
    pub p95: u32,
}

impl VolumeInfo {
    /// Looks through a volume's writes. Takes some twelve bytes of memory a write and a page.
    ///
    /// # Errors
    /// [`TraceError::ManyWrites`] from 2^32 - 1 writes, [`TraceError::ManyPages`] over 2^31 pages.
    pub fn of(writes: &Writes) -> Result<VolumeInfo, TraceError> {
        let n = writes.lbas.len();
        if n >= u32::MAX as usize {
            let name = writes.name.clone();
            return Err(TraceError::ManyWrites { name, writes: n as u64 });
        }
        let largest_lba = writes.lbas.iter().copied().max().unwrap_or(0);
        let mut lbas = writes.lbas.clone();
        let (space, unique) = squeeze(&mut lbas)
            .map_err(|pages| TraceError::ManyPages { name: writes.name.clone(), pages })?;
        let mut finite = lifespans(&lbas, space);
        finite.retain(|&lifespan| lifespan != NEVER);
        let never = n - finite.len();
        let pages = pages(&lbas, space);
        Ok(VolumeInfo {
            name: writes.name.clone(),
            writes: n as u64,
            requests: writes.starts.as_ref().map_or(n as u64, crate::Bits::count_ones),
            unique_pages: u64::from(unique),
            largest_lba,
            top20_share: share(top_writes(&pages, unique), n as u64),
            frozen_at_50: frozen(&pages, n as u64 / 2),
            frozen_at_80: frozen(&pages, (n as u64 * 8).div_ceil(10)),
            lifespans: percentiles(&mut finite),
            never_rewritten: share(never as u64, n as u64),
            span_us: writes.times.as_deref().map(span),
        })
    }
}

/// When a page was first and last written, and how often.
#[derive(Clone, Copy, Default)]
struct Page {
    first: u32,
    last: u32,
    writes: u32,
}

/// The pages that are written.
fn pages(lbas: &[u32], space: u32) -> Vec<Page> {
    let mut pages = vec![Page::default(); space as usize];
    for (i, &lba) in lbas.iter().enumerate() {
        let page = &mut pages[lba as usize];
        if page.writes == 0 {
            page.first = i as u32;
        }
        page.last = i as u32;
        page.writes += 1;
    }
    pages.retain(|page| page.writes > 0);
    pages
}

/// How many writes go to the 20 % of pages written most.
fn top_writes(pages: &[Page], unique: u32) -> u64 {
    let mut counts: Vec<u32> = pages.iter().map(|page| page.writes).collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let top = (u64::from(unique) * 2).div_ceil(10) as usize;
    counts.iter().take(top).map(|&count| u64::from(count)).sum()
}

/// Of the pages first written before `cut`, the share last written before it.
fn frozen(pages: &[Page], cut: u64) -> f64 {
    let written = pages.iter().filter(|page| u64::from(page.first) < cut);
    let (mut all, mut frozen) = (0, 0);
    for page in written {
        all += 1;
        frozen += u64::from(u64::from(page.last) < cut);
    }
    share(frozen, all)
}

fn percentiles(finite: &mut [u32]) -> Option<Lifespans> {
    let last = finite.len().checked_sub(1)?;
    let mut at = |percent: usize| {
        // The product in 128 bits cannot overflow.
        let i = (last as u128 * percent as u128 / 100) as usize;
        *finite.select_nth_unstable(i).1
    };
    Some(Lifespans { p5: at(5), p25: at(25), p50: at(50), p75: at(75), p95: at(95) })
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn span(times: &[u64]) -> u64 {
    let first = times.iter().copied().min().unwrap_or(0);
    times.iter().copied().max().unwrap_or(0) - first
}
