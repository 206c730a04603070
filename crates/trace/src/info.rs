//! A summary of a trace, to be looked at before a replay.

use frostline_placement::NEVER;

use crate::bits::Bits;
use crate::error::TraceError;
use crate::lifespan::lifespans;
use crate::load::Writes;
use crate::squeeze::squeeze;
use crate::trim::{Trim, stretches};

/// The properties of one volume's writes. Shares are from 0 to 1.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct VolumeInfo {
    /// The volume's name.
    pub name: String,
    /// Page writes.
    pub writes: u64,
    /// Write requests.
    pub requests: u64,
    /// Trims of whole pages.
    #[serde(skip_serializing_if = "is_zero")]
    pub trims: u64,
    /// The number of different pages written.
    pub unique_pages: u64,
    /// The largest LBA that is written.
    pub largest_lba: u32,
    /// Share of the page writes that go to the 20 % most written pages.
    pub top20_share: f64,
    /// Share of the pages valid after 50 % of the writes that are neither written nor trimmed
    /// later.
    pub frozen_at_50: f64,
    /// Share of the pages valid after 80 % of the writes that are neither written nor trimmed
    /// later.
    pub frozen_at_80: f64,
    /// The lifespans of page writes; `None` if no page is written twice.
    pub lifespans: Option<Lifespans>,
    /// Share of the page writes whose version lives for ever.
    pub never_rewritten: f64,
    /// Microseconds from the first write to the last; `None` if times were not loaded.
    pub span_us: Option<u64>,
}

/// Percentiles of finite lifespans, in user writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Lifespans {
    /// 5 % of the lifespans are not above this.
    pub p5: u32,
    /// 25 % of the lifespans are not above this.
    pub p25: u32,
    /// The median.
    pub p50: u32,
    /// 75 % of the lifespans are not above this.
    pub p75: u32,
    /// 95 % of the lifespans are not above this.
    pub p95: u32,
}

impl VolumeInfo {
    /// Summarises a volume's writes. Takes about twelve bytes of memory for each write and each
    /// page.
    ///
    /// # Errors
    /// [`TraceError::ManyWrites`] for 2^32 - 1 writes or more, [`TraceError::ManyPages`] for more
    /// than 2^31 pages.
    pub fn of(writes: &Writes) -> Result<VolumeInfo, TraceError> {
        let n = writes.lbas.len();
        if n >= u32::MAX as usize {
            let name = writes.name.clone();
            return Err(TraceError::ManyWrites { name, writes: n as u64 });
        }
        let largest_lba = writes.lbas.iter().copied().max().unwrap_or(0);
        let (mut lbas, mut trims) = (writes.lbas.clone(), writes.trims.clone());
        let (space, unique) = squeeze(&mut lbas, &mut trims, &mut [])
            .map_err(|pages| TraceError::ManyPages { name: writes.name.clone(), pages })?;
        let mut finite = lifespans(&lbas, &trims, space);
        finite.retain(|&lifespan| lifespan != NEVER);
        let never = n - finite.len();
        let frozen = |cut| frozen(&lbas, &trims, space, cut);
        Ok(VolumeInfo {
            name: writes.name.clone(),
            writes: n as u64,
            requests: writes.starts.as_ref().map_or(n as u64, crate::Bits::count_ones),
            trims: writes.trims.len() as u64,
            unique_pages: u64::from(unique),
            largest_lba,
            top20_share: share(top_writes(&lbas, space, unique), n as u64),
            frozen_at_50: frozen(n / 2),
            frozen_at_80: frozen((n * 8).div_ceil(10)),
            lifespans: percentiles(&mut finite),
            never_rewritten: share(never as u64, n as u64),
            span_us: writes.times.as_deref().map(span),
        })
    }
}

/// The number of writes that go to the 20 % most written pages.
fn top_writes(lbas: &[u32], space: u32, unique: u32) -> u64 {
    let mut counts = vec![0u32; space as usize];
    lbas.iter().for_each(|&lba| counts[lba as usize] += 1);
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let top = (u64::from(unique) * 2).div_ceil(10) as usize;
    counts.iter().take(top).map(|&count| u64::from(count)).sum()
}

/// Share of the pages valid after `cut` writes that are neither written nor trimmed later.
fn frozen(lbas: &[u32], trims: &[Trim], space: u32, cut: usize) -> f64 {
    let (before, after) = trims.split_at(trims.partition_point(|trim| trim.at <= cut));
    let mut pages = Bits::zeros(space as usize);
    for (stretch, trim) in stretches(cut, before) {
        lbas[stretch].iter().for_each(|&lba| pages.set(lba as usize, true));
        trim.into_iter().for_each(|trim| pages.fill(trim.indices(), false));
    }
    let valid = pages.count_ones();
    lbas[cut..].iter().for_each(|&lba| pages.set(lba as usize, false));
    after.iter().for_each(|trim| pages.fill(trim.indices(), false));
    share(pages.count_ones(), valid)
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

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn span(times: &[u64]) -> u64 {
    let first = times.iter().copied().min().unwrap_or(0);
    times.iter().copied().max().unwrap_or(0) - first
}
