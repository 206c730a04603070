//! What a serializable transaction read: keys, and ranges of keys by scans, whether or not a record
//! was there. A later insertion into a range is a change of it: that is how phantoms are noticed.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasherDefault;

use super::hash_of;
use super::writes::Hashed;

/// What a transaction read.
#[derive(Default)]
pub(crate) struct ReadSet {
    /// Hashes of keys. Two that have the same make a conflict more, and never one less.
    keys: HashSet<u64, BuildHasherDefault<Hashed>>,
    scans: Vec<Scanned>,
    /// The ranges of the scans by tree, in order, none touching another; see [`ReadSet::seal`].
    ranges: HashMap<u32, Vec<Interval>>,
}

/// The part of a tree that a scan has passed.
struct Scanned {
    tree: u32,
    forward: bool,
    /// None if it begins at the first key, or backward at the last.
    bound: Option<Box<[u8]>>,
    reached: Reached,
}

/// How far a scan has come.
enum Reached {
    /// Nothing was asked for.
    Nothing,
    /// To a key, itself included.
    Key(Vec<u8>),
    /// To the end of the tree.
    End,
}

/// Keys from `low` to `high`, both included.
struct Interval {
    low: Box<[u8]>,
    /// None if it goes on to the last key.
    high: Option<Box<[u8]>>,
}

impl ReadSet {
    /// A key was looked for.
    pub(crate) fn read(&mut self, tree: u32, key: &[u8]) {
        self.keys.insert(hash_of(tree, key));
    }

    /// A scan begins; its number.
    pub(crate) fn scan(&mut self, tree: u32, bound: Option<&[u8]>, forward: bool) -> usize {
        let bound = bound.map(Box::from);
        self.scans.push(Scanned { tree, forward, bound, reached: Reached::Nothing });
        self.scans.len() - 1
    }

    /// A scan gave the record of a key, or came to its end.
    pub(crate) fn reach(&mut self, scan: usize, key: Option<&[u8]>) {
        let reached = &mut self.scans[scan].reached;
        match (key, reached) {
            (Some(key), Reached::Key(last)) => {
                last.clear();
                last.extend_from_slice(key);
            }
            (Some(key), reached) => *reached = Reached::Key(key.to_vec()),
            (None, reached) => *reached = Reached::End,
        }
    }

    /// Nothing more is read: puts the ranges in order, so that keys can be looked for in them.
    pub(crate) fn seal(&mut self) {
        for scanned in self.scans.drain(..) {
            let tree = scanned.tree;
            if let Some(interval) = scanned.interval() {
                self.ranges.entry(tree).or_default().push(interval);
            }
        }
        for ranges in self.ranges.values_mut() {
            ranges.sort_by(|a, b| a.low.cmp(&b.low));
            ranges.dedup_by(|next, before| before.take_in(next));
        }
    }

    /// True if a key was read, or lies in a range that was. After [`ReadSet::seal`].
    pub(crate) fn covers(&self, tree: u32, key: &[u8]) -> bool {
        if self.keys.contains(&hash_of(tree, key)) {
            return true;
        }
        let Some(ranges) = self.ranges.get(&tree) else { return false };
        let behind = ranges.partition_point(|range| &*range.low <= key);
        behind > 0 && ranges[behind - 1].high.as_deref().is_none_or(|high| key <= high)
    }
}

impl Scanned {
    /// The range; none if nothing was asked for.
    fn interval(self) -> Option<Interval> {
        let reached = match self.reached {
            Reached::Nothing => return None,
            Reached::Key(key) => Some(key.into()),
            Reached::End => None,
        };
        Some(match self.forward {
            true => Interval { low: self.bound.unwrap_or_default(), high: reached },
            false => Interval { low: reached.unwrap_or_default(), high: self.bound },
        })
    }
}

impl Interval {
    /// Grows over the next one, if that begins in this one.
    fn take_in(&mut self, next: &mut Interval) -> bool {
        let Some(high) = &self.high else { return true };
        if next.low > *high {
            return false;
        }
        if next.high.as_ref().is_none_or(|next| next > high) {
            self.high = next.high.take();
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The digits of tree 1 that count as read.
    fn covered(mut set: ReadSet) -> String {
        set.seal();
        assert!((b'0'..=b'9').all(|digit| !set.covers(2, &[digit])));
        let digits = (b'0'..=b'9').filter(|&digit| set.covers(1, &[digit]));
        digits.map(char::from).collect()
    }

    fn scan(set: &mut ReadSet, bound: Option<&str>, forward: bool, reached: &[Option<&str>]) {
        let scan = set.scan(1, bound.map(str::as_bytes), forward);
        reached.iter().for_each(|key| set.reach(scan, key.map(str::as_bytes)));
    }

    #[test]
    fn a_scan_has_read_what_lies_between_its_bound_and_its_last_key() {
        type Case = (Option<&'static str>, bool, &'static [Option<&'static str>], &'static str);
        let cases: [Case; 7] = [
            (Some("3"), true, &[], ""),
            (Some("3"), true, &[Some("4"), Some("6")], "3456"),
            (Some("3"), true, &[Some("4"), None], "3456789"),
            (None, true, &[Some("2")], "012"),
            (Some("6"), false, &[Some("5"), Some("4")], "456"),
            (Some("6"), false, &[None], "0123456"),
            (None, false, &[Some("8")], "89"),
        ];
        for (bound, forward, reached, expected) in cases {
            let mut set = ReadSet::default();
            scan(&mut set, bound, forward, reached);
            assert_eq!(covered(set), expected);
        }
    }

    #[test]
    fn keys_and_ranges_in_any_order_add_up() {
        let mut set = ReadSet::default();
        set.read(1, b"9");
        set.read(1, b"1");
        scan(&mut set, Some("5"), true, &[Some("6")]);
        scan(&mut set, Some("3"), true, &[Some("3")]);
        scan(&mut set, Some("6"), false, &[Some("5")]);
        scan(&mut set, Some("6"), true, &[Some("7")]);
        assert_eq!(covered(set), "135679");
    }
}
