//! Leaves of several records, read together: the device has all requests at once.

use super::Trees;
use super::leaf_cache;
use crate::DbError;
use crate::mvcc::WriteSet;
use crate::pool::{AbsentLeaf, CachedFrame, OptimisticGuard, misses};

/// Records whose leaves are looked for together, at most: a bit of a word each.
pub(crate) const RECORDS: usize = 64;

/// A record whose leaf is needed soon.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'k> {
    /// The root of its tree.
    pub tree: u32,
    /// Its key.
    pub key: &'k [u8],
}

/// A leaf that was looked for.
#[derive(Clone, Copy)]
pub(crate) struct FoundLeaf {
    /// Where it is.
    pub frame: CachedFrame,
    /// It had to be read.
    pub was_absent: bool,
}

/// The end of a way down that reads nothing.
enum WayEnd {
    /// The leaf, in its frame.
    Leaf(CachedFrame),
    /// The leaf is not in memory, and not needed.
    Without,
    /// This page is not in memory: the leaf, or a node above it.
    Absent { page: u32, is_leaf: bool },
}

impl Trees {
    /// Records whose leaves are looked for together: they take a small part of memory.
    pub(crate) fn records_together(&self) -> usize {
        (self.pool.frames_in_use() / 8).clamp(1, RECORDS)
    }

    /// Loads the leaves of so many records, at most [`RECORDS`], that are in no frame: level by
    /// level, those of a level side by side. `without` says of a record whose leaf is absent
    /// whether it can do without; `found` gets each leaf that is in a frame. A page that can't be
    /// read stays absent, and the next access to it gets the error. Returns a bit for each record
    /// whose leaf is needed and in no frame. No latch may be held.
    pub(crate) fn load_leaves<'k>(
        &self,
        count: usize,
        wanted: impl Fn(usize) -> Wanted<'k>,
        mut without: impl FnMut(usize, &AbsentLeaf<'_, '_>) -> bool,
        mut found: impl FnMut(usize, FoundLeaf),
    ) -> u64 {
        let mut pending = u64::MAX.checked_shr((RECORDS - count) as u32).unwrap_or(0);
        let (mut were_absent, mut lost) = (0, 0);
        let mut absent: Vec<u32> = Vec::new();
        loop {
            let mut left = pending;
            while left != 0 {
                let (index, bit) = (left.trailing_zeros() as usize, left & left.wrapping_neg());
                left &= !bit;
                match self.way_in_memory(wanted(index), |leaf| without(index, leaf)) {
                    Ok(WayEnd::Absent { page, is_leaf }) => {
                        were_absent |= if is_leaf { bit } else { 0 };
                        if !absent.contains(&page) {
                            absent.push(page);
                        }
                        continue;
                    }
                    Ok(WayEnd::Leaf(frame)) => {
                        let was_absent = were_absent & bit != 0 || misses::was_missed(frame.page());
                        found(index, FoundLeaf { frame, was_absent });
                    }
                    Ok(WayEnd::Without) => {}
                    // The next access to the record gets the error.
                    Err(_) => lost |= bit,
                }
                pending &= !bit;
            }
            if pending == 0 {
                return lost;
            }
            let needed = absent.len();
            self.pool.load_needed(&mut absent);
            if absent.len() == needed {
                return lost | pending;
            }
            absent.clear();
        }
    }

    /// As [`Trees::load_leaves`], for records that are read or changed: those whose leaf had to be
    /// read are noted.
    pub(crate) fn load_leaves_of_records<'k>(
        &self,
        count: usize,
        wanted: impl Fn(usize) -> Wanted<'k>,
        without: impl FnMut(usize, &AbsentLeaf<'_, '_>) -> bool,
        mut found: impl FnMut(usize, CachedFrame),
    ) -> u64 {
        self.load_leaves(count, &wanted, without, |index, leaf| {
            if leaf.was_absent {
                self.pool.note_record(leaf.frame.page(), wanted(index).key);
            }
            found(index, leaf.frame);
        })
    }

    /// Loads the leaves that the next writes of a set will change, from the one at `from` on, and
    /// returns the index behind them; an error if one that a write needs can't be read. No latch may
    /// be held.
    pub(crate) fn load_leaves_of_writes(
        &self,
        writes: &WriteSet,
        from: usize,
    ) -> Result<usize, DbError> {
        let wanted = |index: usize| {
            let write = writes.get(index);
            Wanted { tree: write.tree, key: writes.key(write) }
        };
        let is_known = |index: usize| {
            let Wanted { tree, key } = wanted(index);
            let cached = leaf_cache::find(writes.get(index).hash);
            cached.and_then(|cached| self.cached_leaf(cached, tree, key)).is_some()
        };
        let (mut unknown, mut count, mut next) = ([0; RECORDS], 0, from);
        let most = self.records_together();
        while next < writes.len() && count < most {
            if !is_known(next) {
                unknown[count] = next;
                count += 1;
            }
            next += 1;
        }
        let without = |index: usize, leaf: &AbsentLeaf<'_, '_>| {
            let write = writes.get(unknown[index]);
            leaf.can_change(writes.key(write), writes.change(write))
        };
        let mut lost = self.load_leaves_of_records(
            count,
            |index| wanted(unknown[index]),
            without,
            |index, frame| {
                leaf_cache::note(writes.get(unknown[index]).hash, frame);
            },
        );
        misses::check()?;
        while lost != 0 {
            let index = lost.trailing_zeros() as usize;
            lost &= lost - 1;
            let Wanted { tree, key } = wanted(unknown[index]);
            self.leaf_unless(tree, key, |leaf| without(index, &leaf).then_some(()))?;
        }
        Ok(next)
    }

    /// The way down to a record's leaf, as far as it is in memory. `without` says whether the
    /// record can do without its leaf.
    fn way_in_memory(
        &self,
        Wanted { tree, key }: Wanted<'_>,
        mut without: impl FnMut(&AbsentLeaf<'_, '_>) -> bool,
    ) -> Result<WayEnd, DbError> {
        'again: loop {
            let Some(mut seen) = self.root(tree)? else { continue };
            let (mut above, mut pages) = (None::<OptimisticGuard<'_>>, 1);
            loop {
                let node = seen.node();
                let level = node.level();
                if level == 0 {
                    if !seen.is_unchanged() {
                        continue 'again;
                    }
                    // Ways that end before are gone again, and count then.
                    let weight = self.pool.sample();
                    self.pool.count_descent(pages, weight);
                    if let Some(above) = above.filter(|_| weight > 0) {
                        above.accessed(weight);
                    }
                    return Ok(WayEnd::Leaf(seen.cached_frame()));
                }
                let index = node.child_index(key);
                if let Some(absent) = self.pool.absent_child(&seen, index) {
                    let (page, is_leaf) = (absent.page(), level == 1);
                    let is_needed = !(is_leaf && without(&absent));
                    if !seen.is_unchanged() {
                        continue 'again;
                    }
                    return Ok(match is_needed {
                        true => WayEnd::Absent { page, is_leaf },
                        false => WayEnd::Without,
                    });
                }
                let Some(child) = self.child(&seen, index)? else { continue 'again };
                above = Some(seen);
                pages += 1;
                seen = child;
            }
        }
    }
}
