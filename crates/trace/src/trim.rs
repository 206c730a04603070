//! Trims: pages that are no longer needed, at a place between the writes of a volume.
//!
//! There are few of them, so they have a list of their own, and writes stay one word each.

use std::ops::{Range, RangeInclusive};

/// Neighbouring pages that are trimmed at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Trim {
    /// The number of the volume's page writes before it.
    pub at: usize,
    /// The first page's LBA.
    pub first: u32,
    /// The last page's LBA.
    pub last: u32,
}

impl Trim {
    /// Its pages.
    pub fn lbas(&self) -> RangeInclusive<u32> {
        self.first..=self.last
    }

    /// Its pages as indices of a table.
    pub(crate) fn indices(&self) -> Range<usize> {
        self.first as usize..self.last as usize + 1
    }
}

/// The stretches of writes between trims, each with the trim that follows it; the last has none.
pub(crate) fn stretches(
    writes: usize,
    trims: &[Trim],
) -> impl DoubleEndedIterator<Item = (Range<usize>, Option<&Trim>)> {
    let end = move |i: usize| trims.get(i).map_or(writes, |trim| trim.at);
    debug_assert!(trims.is_sorted_by_key(|trim| trim.at), "trims are in order");
    assert!(trims.last().is_none_or(|trim| trim.at <= writes), "trims lie among the writes");
    (0..=trims.len()).map(move |i| {
        let start = i.checked_sub(1).map_or(0, end);
        (start..end(i), trims.get(i))
    })
}

/// Renumbers the pages of trims, given the new position of each boundary between pages. Trims
/// without a remaining page are dropped.
pub(crate) fn renumber(trims: &mut Vec<Trim>, boundary: impl Fn(u64) -> u64) {
    trims.retain_mut(|trim| {
        let (from, to) = (boundary(trim.first.into()), boundary(u64::from(trim.last) + 1));
        assert!(to <= 1 << 32, "all pages have an LBA");
        if from < to {
            (trim.first, trim.last) = (from as u32, (to - 1) as u32);
        }
        from < to
    });
}
