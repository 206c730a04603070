//! The leaves of the map, and which has the entry of an LBA.

use std::ops::Range;

use crate::records::Sizes;

/// Entries in a leaf.
pub const LEAF: usize = 1024;

/// The division of the map into leaves. In a store with deltas a leaf has the entries of a third as many pages,
/// and behind them those of their deltas and of their tails, so that a page needs one leaf.
#[derive(Clone, Copy, Debug)]
pub struct Leaves {
    /// LBA of the first delta; 0 if there are none.
    first_delta: u32,
}

impl Leaves {
    /// The leaves of a store.
    pub fn of(sizes: Sizes) -> Self {
        Leaves { first_delta: sizes.first_delta() }
    }

    /// Pages whose entries are in one leaf.
    pub fn pages(self) -> u32 {
        LEAF as u32 / self.kinds()
    }

    /// Entries that each page has.
    pub fn kinds(self) -> u32 {
        if self.first_delta > 0 { 3 } else { 1 }
    }

    /// Entries of a leaf; what is behind them is not used.
    pub fn entries(self) -> usize {
        (self.pages() * self.kinds()) as usize
    }

    /// Leaves of a store of so many pages.
    pub fn count(self, pages: u64) -> u32 {
        pages.div_ceil(self.pages().into()) as u32
    }

    /// The leaf that has an LBA's entry, and the entry's index there.
    pub fn find(self, lba: u32) -> (u32, usize) {
        let kind = lba.checked_div(self.first_delta).unwrap_or(0);
        let page = lba - kind * self.first_delta;
        let (leaf, index) = (page / self.pages(), page % self.pages());
        (leaf, (kind * self.pages() + index) as usize)
    }

    /// The LBA of a leaf's entry.
    pub fn lba(self, leaf: u32, index: usize) -> u32 {
        let (kind, page) = (index as u32 / self.pages(), index as u32 % self.pages());
        kind * self.first_delta + leaf * self.pages() + page
    }

    /// A sentence that names the pages whose places a leaf has.
    pub fn tells(self, leaf: u32) -> String {
        let (first, others) = (self.pages_of(leaf).start, self.pages() - 1);
        format!("it tells where LBA {first} and the next {others} are")
    }

    /// The pages whose entries are in a leaf.
    pub fn pages_of(self, leaf: u32) -> Range<u32> {
        leaf * self.pages()..(leaf + 1) * self.pages()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entries_of_a_page_its_delta_and_its_tail_are_in_one_leaf() {
        for (unit, pages) in [(4096, 1024), (64, 341)] {
            let sizes = Sizes::new(unit).unwrap().with_pages(3000);
            let leaves = Leaves::of(sizes);
            assert_eq!(leaves.count(3000), 3000u32.div_ceil(pages));
            for lba in 0..3000 {
                let (leaf, index) = leaves.find(lba);
                assert!(leaves.pages_of(leaf).contains(&lba));
                assert_eq!(leaves.lba(leaf, index), lba);
                for other in sizes.delta_of(lba).into_iter().chain(sizes.tail_of(lba)) {
                    let (with, index) = leaves.find(other);
                    assert!(index < leaves.entries());
                    assert_eq!((with, leaves.lba(with, index)), (leaf, other));
                }
            }
        }
    }
}
