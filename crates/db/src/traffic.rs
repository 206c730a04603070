//! Reads and writes of pages by tree, to know the trees whose pages are read seldom.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::node::{PAGE_BYTES, TREE};

/// Trees with counts of their own; others share them.
const TREES: usize = 64;

/// Writes after which all counts are halved, so that they are of late.
const WRITES: u64 = 4096;

/// Reads for each write, from which on a page is read often. An image of zstd saves a quarter of its bytes, and takes
/// three microseconds more at each read and six when it is written.
const OFTEN: u64 = 4;

/// Pages of a tree that came from the store and went there, of late.
#[derive(Default)]
struct Traffic {
    reads: AtomicU64,
    writes: AtomicU64,
}

/// Counts of reads and writes by tree. Counts of threads may get lost: they only have to be about right.
pub struct TreeTraffic([Traffic; TREES]);

impl TreeTraffic {
    /// Without reads and writes.
    pub fn new() -> TreeTraffic {
        TreeTraffic(std::array::from_fn(|_| Traffic::default()))
    }

    /// Those of a page's tree, by the lowest byte of its root's number.
    fn of(&self, page: &[u8]) -> &Traffic {
        &self.0[usize::from(page[TREE]) % TREES]
    }

    /// Counts a read of a page.
    pub fn count_read(&self, page: &[u8]) {
        self.of(page).reads.fetch_add(1, Relaxed);
    }

    /// Counts a write of a page. True if pages of its tree are read seldom.
    pub fn count_write(&self, page: &[u8; PAGE_BYTES]) -> bool {
        let tree = self.of(page);
        tree.writes.fetch_add(1, Relaxed);
        let total = |count: fn(&Traffic) -> &AtomicU64| -> u64 {
            self.0.iter().map(|tree| count(tree).load(Relaxed)).sum()
        };
        let (reads, writes) = (total(|tree| &tree.reads), total(|tree| &tree.writes));
        // While little is read, as in loading, nothing tells what will be.
        let is_known = reads >= writes;
        let is_seldom = tree.reads.load(Relaxed) < OFTEN * tree.writes.load(Relaxed);
        if writes >= WRITES {
            for count in self.0.iter().flat_map(|tree| [&tree.reads, &tree.writes]) {
                count.store(count.load(Relaxed) / 2, Relaxed);
            }
        }
        is_known && is_seldom
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_that_are_read_less_than_others_are_read_seldom_but_not_while_all_are_only_written() {
        let traffic = TreeTraffic::new();
        let [one, other] = [3, 9].map(|tree| {
            let mut page = [0; PAGE_BYTES];
            page[TREE] = tree;
            page
        });
        assert!((0..5000).all(|_| !traffic.count_write(&one) && !traffic.count_write(&other)));
        (0..50_000).for_each(|_| traffic.count_read(&one));
        assert!(!traffic.count_write(&one) && traffic.count_write(&other));
        // What was long ago does not count.
        (0..50_000).for_each(|n| {
            traffic.count_write(&one);
            if n % 2 < 1 {
                traffic.count_read(&one);
            }
            (0..8).for_each(|_| traffic.count_read(&other));
        });
        assert!(traffic.count_write(&one) && !traffic.count_write(&other));
    }
}
