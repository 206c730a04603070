//! Makes an address space small enough for a table, keeping the order of pages.

use crate::bits::Bits;
use crate::prepare::FINAL;

/// Pages in an aligned region that is dropped whole when nothing in it is written.
///
/// Regions instead of single pages, so that neighbours in use stay neighbours where possible.
const REGION: u32 = 1024;

/// Up to this many pages a sparse space does no harm.
const SMALL: u64 = 1 << 24;

/// A space is sparse when it has more than this many pages for each in use.
const SPARSE: u64 = 16;

/// Renumbers `lbas` where needed so that all are under 2^31.
///
/// Returns the space (largest LBA plus one) and the number of different pages, or `None` if they
/// are more than 2^31.
pub(crate) fn squeeze(lbas: &mut [u32]) -> Option<(u32, u32)> {
    let touched_pages = touched(lbas);
    let unique = touched_pages.count_ones();
    let space = touched_pages.len() as u64;
    if unique > u64::from(FINAL) {
        return None;
    }
    let sparse = space > SMALL && space > SPARSE * unique;
    if space <= u64::from(FINAL) && !sparse {
        return Some((space as u32, unique as u32));
    }
    let squeezed = by_region(&touched_pages, lbas).unwrap_or_else(|| by_rank(&touched_pages, lbas));
    Some((squeezed, unique as u32))
}

/// Which pages occur; as long as the largest LBA plus one.
///
/// The bitmap takes at most 512 MiB, and untouched parts of it no memory.
pub(crate) fn touched(lbas: &[u32]) -> Bits {
    let space = lbas.iter().copied().max().map_or(0, |lba| lba as usize + 1);
    let mut bits = Bits::zeros(space);
    for &lba in lbas {
        bits.set(lba as usize, true);
    }
    bits
}

/// Drops regions without a page in use; `None`, and nothing changed, if that is not enough.
fn by_region(touched: &Bits, lbas: &mut [u32]) -> Option<u32> {
    let words_per_region = REGION as usize / 64;
    let mut next = 0u64;
    let bases: Vec<u64> = touched
        .words()
        .chunks(words_per_region)
        .map(|words| {
            let base = next;
            next += if words.iter().any(|&w| w != 0) { u64::from(REGION) } else { 0 };
            base
        })
        .collect();
    let renumber = |lba: u32| bases[(lba / REGION) as usize] + u64::from(lba % REGION);
    let last = renumber((touched.len() - 1) as u32);
    if last >= u64::from(FINAL) {
        return None;
    }
    for lba in lbas.iter_mut() {
        *lba = renumber(*lba) as u32;
    }
    Some(last as u32 + 1)
}

/// Gives each page its rank among those in use.
fn by_rank(touched: &Bits, lbas: &mut [u32]) -> u32 {
    let mut next = 0u32;
    let ranks: Vec<u32> = touched
        .words()
        .iter()
        .map(|word| {
            let rank = next;
            next += word.count_ones();
            rank
        })
        .collect();
    for lba in lbas.iter_mut() {
        let word = *lba as usize / 64;
        let below = touched.words()[word] & ((1u64 << (*lba % 64)) - 1);
        *lba = ranks[word] + below.count_ones();
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_spaces_stay_as_they_are() {
        let mut lbas = vec![5, 1 << 20, 0];
        assert_eq!(squeeze(&mut lbas), Some(((1 << 20) + 1, 3)));
        assert_eq!(lbas, [5, 1 << 20, 0]);
    }

    #[test]
    fn sparse_spaces_lose_their_untouched_regions() {
        let mut lbas = vec![u32::MAX, 7, 5000, 1 << 30, 7];
        assert_eq!(squeeze(&mut lbas), Some((4096, 4)));
        assert_eq!(lbas, [4095, 7, 1024 + 5000 - 4096, 2048, 7]);
    }

    #[test]
    fn ranks_are_in_order_and_dense() {
        let mut lbas = vec![4_000_000_000, 64, 63, 128, 64];
        let pages = touched(&lbas);
        assert_eq!(by_rank(&pages, &mut lbas), 4);
        assert_eq!(lbas, [3, 1, 0, 2, 1]);
    }
}
