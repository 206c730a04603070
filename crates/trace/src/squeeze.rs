//! Renumbers pages so that the address space is small enough for a table, in the same order.

use crate::bits::Bits;
use crate::reads::{self, Read};
use crate::trim::{Trim, renumber};
use crate::word::FINAL;

/// Pages in an aligned region; a region in which nothing is written is dropped as a whole.
///
/// Whole regions are dropped instead of single pages, so that used neighbours stay neighbours where
/// possible.
const REGION: u32 = 1024;

/// Up to this many pages a sparse space is small enough.
const SMALL: u64 = 1 << 24;

/// A space is sparse if it has more than this many pages for each used page.
const SPARSE: u64 = 16;

/// Renumbers `lbas` if needed so that all are below 2^31, and `trims` and `reads` in the same way;
/// trims of pages that are not in the space are dropped.
///
/// Returns the space (largest LBA plus one) and the number of different pages. If there are more
/// than 2^31 pages, their number is the error.
pub(crate) fn squeeze(
    lbas: &mut [u32],
    trims: &mut Vec<Trim>,
    reads: &mut [Read],
) -> Result<(u32, u32), u64> {
    let space = lbas.iter().copied().max().map_or(0, |lba| u64::from(lba) + 1);
    let regions = Regions::of(lbas, space);
    let unique = regions.count_pages(lbas);
    assert!(unique <= space, "different pages are below the largest LBA");
    if unique > u64::from(FINAL) {
        return Err(unique);
    }
    let sparse = space > SMALL && space > SPARSE * unique;
    if space <= u64::from(FINAL) && !sparse {
        renumber(trims, |boundary| boundary.min(space));
        return Ok((space as u32, unique as u32));
    }
    let squeezed = regions.renumber(space - 1) + 1;
    assert!(unique <= squeezed && squeezed <= space, "only unused pages are dropped");
    for lba in lbas.iter_mut() {
        *lba = regions.renumber(u64::from(*lba)) as u32;
    }
    let place = |boundary| regions.boundary(boundary).min(squeezed);
    renumber(trims, place);
    reads::renumber(reads, place);
    let is_small = squeezed <= u64::from(FINAL);
    let space = if is_small { squeezed as u32 } else { by_rank(lbas, trims, reads) };
    debug_assert!(lbas.iter().all(|&lba| lba < space), "all pages are renumbered");
    Ok((space, unique as u32))
}

/// The used regions, in order.
///
/// They also keep the bitmap of used pages small if a few pages are far apart.
struct Regions {
    /// For each region, the number of used regions before it.
    ranks: Vec<u32>,
    in_use: u32,
}

impl Regions {
    fn of(lbas: &[u32], space: u64) -> Regions {
        let mut used = vec![false; space.div_ceil(u64::from(REGION)) as usize];
        lbas.iter().for_each(|lba| used[(lba / REGION) as usize] = true);
        let mut in_use = 0;
        let ranks = used.iter().map(|&used| {
            let rank = in_use;
            in_use += u32::from(used);
            rank
        });
        Regions { ranks: ranks.collect(), in_use }
    }

    /// A page's number after unused regions are dropped.
    #[inline]
    fn renumber(&self, lba: u64) -> u64 {
        let (region, page) = (lba / u64::from(REGION), lba % u64::from(REGION));
        u64::from(self.ranks[region as usize]) * u64::from(REGION) + page
    }

    /// The new position of the boundary before a page; the page may be in a dropped region.
    fn boundary(&self, lba: u64) -> u64 {
        let rank_of = |region: usize| self.ranks.get(region).copied().unwrap_or(self.in_use);
        let region = (lba / u64::from(REGION)) as usize;
        match rank_of(region) < rank_of(region + 1) {
            true => self.renumber(lba),
            false => u64::from(rank_of(region)) * u64::from(REGION),
        }
    }

    fn count_pages(&self, lbas: &[u32]) -> u64 {
        let mut pages = Bits::zeros(self.in_use as usize * REGION as usize);
        lbas.iter().for_each(|&lba| pages.set(self.renumber(u64::from(lba)) as usize, true));
        pages.count_ones()
    }
}

/// Gives each page its rank among the used ones; returns their number.
fn by_rank(lbas: &mut [u32], trims: &mut Vec<Trim>, reads: &mut [Read]) -> u32 {
    let space = lbas.iter().copied().max().map_or(0, |lba| lba as usize + 1);
    let mut pages = Bits::zeros(space);
    lbas.iter().for_each(|&lba| pages.set(lba as usize, true));
    let mut in_use = 0u32;
    let ranks: Vec<u32> = pages
        .words()
        .iter()
        .map(|word| {
            let rank = in_use;
            in_use += word.count_ones();
            rank
        })
        .collect();
    let rank = |lba: usize| match ranks.get(lba / 64) {
        Some(rank) => {
            let below = pages.words()[lba / 64] & ((1u64 << (lba % 64)) - 1);
            rank + below.count_ones()
        }
        None => in_use,
    };
    lbas.iter_mut().for_each(|lba| *lba = rank(*lba as usize));
    let place = |boundary: u64| u64::from(rank(boundary as usize));
    renumber(trims, place);
    reads::renumber(reads, place);
    in_use
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trims(pages: &[(u32, u32)]) -> Vec<Trim> {
        pages.iter().map(|&(first, last)| Trim { at: 0, first, last }).collect()
    }

    fn pages(trims: &[Trim]) -> Vec<(u32, u32)> {
        trims.iter().map(|trim| (trim.first, trim.last)).collect()
    }

    fn reads(all: &[(u32, u32)]) -> Vec<Read> {
        all.iter().map(|&(first, pages)| Read { at: 0, first, pages }).collect()
    }

    fn read_pages(reads: &[Read]) -> Vec<(u32, u32)> {
        reads.iter().map(|read| (read.first, read.pages)).collect()
    }

    #[test]
    fn small_spaces_stay_as_they_are() {
        let mut lbas = vec![5, 1 << 20, 0];
        let mut trims = trims(&[(4, 5), (1 << 20, u32::MAX), (2 << 20, 3 << 20)]);
        let mut reads = reads(&[(4, 2), (2 << 20, 7)]);
        assert_eq!(squeeze(&mut lbas, &mut trims, &mut reads), Ok(((1 << 20) + 1, 3)));
        assert_eq!(read_pages(&reads), [(4, 2), (2 << 20, 7)]);
        assert_eq!(pages(&trims), [(4, 5), (1 << 20, 1 << 20)]);
        assert_eq!(lbas, [5, 1 << 20, 0]);
    }

    #[test]
    fn sparse_spaces_lose_their_untouched_regions() {
        let mut lbas = vec![u32::MAX, 7, 5000, 1 << 30, 7];
        let mut trims = trims(&[(6, 4500), (2000, 3000), (5000, u32::MAX), (1 << 29, 1 << 30)]);
        let mut reads = reads(&[(6, 4495), (2000, 1001), (5000, 1), (u32::MAX, 1)]);
        assert_eq!(squeeze(&mut lbas, &mut trims, &mut reads), Ok((4096, 4)));
        assert_eq!(read_pages(&reads), [(6, 1423), (1024, 0), (1928, 1), (4095, 1)]);
        assert_eq!(pages(&trims), [(6, 1024 + 404), (1928, 4095), (2048, 2048)]);
        assert_eq!(lbas, [4095, 7, 1024 + 5000 - 4096, 2048, 7]);
    }

    #[test]
    fn ranks_are_in_order_and_dense() {
        let mut lbas = vec![40_000_000, 64, 63, 128, 64];
        let mut trims = trims(&[(0, 63), (65, 127), (65, 128), (129, 50_000_000)]);
        let mut reads = reads(&[(64, 65), (65, 63), (41_000_000, 9)]);
        assert_eq!(by_rank(&mut lbas, &mut trims, &mut reads), 4);
        assert_eq!(read_pages(&reads), [(1, 2), (2, 0), (4, 0)]);
        assert_eq!(pages(&trims), [(0, 0), (2, 2), (3, 3)]);
        assert_eq!(lbas, [3, 1, 0, 2, 1]);
    }
}
