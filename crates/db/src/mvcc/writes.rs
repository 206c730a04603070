//! The uncommitted writes of a transaction.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::first_records::FirstRecords;
use crate::direction::Direction;

/// Kinds of writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteKind {
    /// The record gets this value.
    Put,
    /// The record, which is there as others left it, gets this value, which is as long as it had.
    Overwrite,
    /// The record gets a value that is kept in pieces elsewhere; this is the reference.
    PutOverflow,
    /// The record is deleted.
    Delete,
    /// Some of its bytes change: any number of offset (u16), length (u16), bytes.
    Patch,
}

/// One write, its bytes in the set's arena.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    /// The root of the tree.
    pub tree: u32,
    /// The kind.
    pub kind: WriteKind,
    /// Of tree and key.
    pub hash: u64,
    key: Range<u32>,
    value: Range<u32>,
    /// The write before with the same hash, and another key.
    before: u32,
}

/// A write as the trees see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change<'a> {
    /// The kind.
    pub kind: WriteKind,
    /// The new value, or patches.
    pub value: &'a [u8],
}

const NONE: u32 = u32::MAX;

/// The writes of a transaction, one a record, in the order in which records were first written.
#[derive(Default)]
pub(crate) struct WriteSet {
    writes: Vec<Write>,
    arena: Vec<u8>,
    /// The last write with a hash.
    by_hash: HashMap<u64, u32, BuildHasherDefault<Hashed>>,
    /// Bytes of all keys and values.
    bytes: usize,
    /// Marks that may be gone back to, the latest last. While there are any, the arena is only
    /// appended to.
    marks: Vec<Mark>,
    /// The writes that were replaced since the first of them, as they were.
    replaced: Vec<Replaced>,
    /// All writes, in the order of trees and keys, once a scan has asked for it.
    ordered: OnceLock<Vec<u32>>,
    /// Writes that were put in order since a scan last asked.
    unasked: AtomicUsize,
    /// Where scans begin.
    first: FirstRecords,
}

/// A write as it was before it was replaced.
struct Replaced {
    index: usize,
    kind: WriteKind,
    value: Range<u32>,
}

/// A moment of a set of writes.
struct Mark {
    writes: usize,
    arena: usize,
    bytes: usize,
    replaced: usize,
}

/// Hashes of keys are hashes already.
#[derive(Default)]
pub(crate) struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {}

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// The hash of a key in a tree. It is never stored.
#[inline]
pub(crate) fn hash_of(tree: u32, key: &[u8]) -> u64 {
    const MULTIPLIER: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
    let fold = |hash: u64, word: u64| {
        let product = u128::from(hash ^ word).wrapping_mul(MULTIPLIER);
        (product >> 64) as u64 ^ product as u64
    };
    // Side by side: mixed with each other, they would be the same for many pairs.
    let mut hash = fold(u64::from(tree) << 32 | u64::from(key.len() as u32), 1 << 63);
    let (words, rest) = key.as_chunks::<8>();
    for word in words {
        hash = fold(hash, u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    fold(hash, u64::from_le_bytes(last))
}

impl WriteSet {
    /// Nothing.
    pub(crate) const fn new() -> Self {
        WriteSet {
            writes: Vec::new(),
            arena: Vec::new(),
            by_hash: HashMap::with_hasher(BuildHasherDefault::new()),
            bytes: 0,
            marks: Vec::new(),
            replaced: Vec::new(),
            ordered: OnceLock::new(),
            unasked: AtomicUsize::new(0),
            first: FirstRecords::new(),
        }
    }

    /// True if nothing is written.
    pub(crate) fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// Bytes of all keys and values.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Forgets everything, and keeps the memory unless it is a lot. A table of hashes takes as long
    /// to clear as it is large, however few writes it has.
    pub(crate) fn clear(&mut self) {
        const KEPT: usize = 1 << 20;
        const KEPT_WRITES: usize = 1 << 10;
        if self.arena.capacity() > KEPT || self.by_hash.capacity() > KEPT_WRITES {
            *self = WriteSet::default();
        }
        self.writes.clear();
        self.by_hash.clear();
        self.arena.clear();
        self.bytes = 0;
        self.marks.clear();
        self.replaced.clear();
        self.ordered.take();
        self.first.clear();
    }

    /// Marks what is written now, until [`WriteSet::undo_to`] or [`WriteSet::unmark`]; the number
    /// of the mark.
    pub(crate) fn mark(&mut self) -> usize {
        let (writes, arena, replaced) = (self.len(), self.arena.len(), self.replaced.len());
        self.marks.push(Mark { writes, arena, bytes: self.bytes, replaced });
        self.marks.len() - 1
    }

    /// Undoes what was written since a mark, and ends it and those behind it. False if it has
    /// ended.
    pub(crate) fn undo_to(&mut self, number: usize) -> bool {
        let Some(mark) = self.marks.drain(number.min(self.marks.len())..).next() else {
            return false;
        };
        for Replaced { index, kind, value } in self.replaced.drain(mark.replaced..).rev() {
            self.writes[index].kind = kind;
            self.writes[index].value = value;
        }
        for write in self.writes.drain(mark.writes..).rev() {
            match write.before {
                NONE => self.by_hash.remove(&write.hash),
                before => self.by_hash.insert(write.hash, before),
            };
        }
        self.arena.truncate(mark.arena);
        self.bytes = mark.bytes;
        self.ordered.take();
        self.first.clear();
        true
    }

    /// Ends a mark and those behind it; what was written since stays. False if it has ended.
    pub(crate) fn unmark(&mut self, number: usize) -> bool {
        let is_there = number < self.marks.len();
        self.marks.truncate(number);
        if self.marks.is_empty() {
            self.replaced.clear();
        }
        is_there
    }

    fn slice(&self, range: &Range<u32>) -> &[u8] {
        &self.arena[range.start as usize..range.end as usize]
    }

    /// A write's key.
    pub(crate) fn key(&self, write: &Write) -> &[u8] {
        self.slice(&write.key)
    }

    /// A write as trees see it.
    pub(crate) fn change(&self, write: &Write) -> Change<'_> {
        Change { kind: write.kind, value: self.slice(&write.value) }
    }

    /// All writes.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &Write> {
        self.writes.iter()
    }

    /// The write of an index.
    pub(crate) fn get(&self, index: usize) -> &Write {
        &self.writes[index]
    }

    /// The number of writes.
    pub(crate) fn len(&self) -> usize {
        self.writes.len()
    }

    /// The write of a key, whose hash with the tree is known.
    #[inline]
    pub(crate) fn find(&self, tree: u32, key: &[u8], hash: u64) -> Option<Change<'_>> {
        if self.writes.is_empty() {
            return None;
        }
        let index = self.index_of(tree, key, hash)?;
        Some(self.change(&self.writes[index]))
    }

    fn index_of(&self, tree: u32, key: &[u8], hash: u64) -> Option<usize> {
        let mut index = *self.by_hash.get(&hash)?;
        while index != NONE {
            let write = &self.writes[index as usize];
            if write.tree == tree && self.key(write) == key {
                return Some(index as usize);
            }
            index = write.before;
        }
        None
    }

    fn append(&mut self, bytes: &[u8]) -> Range<u32> {
        let start = self.arena.len() as u32;
        self.arena.extend_from_slice(bytes);
        start..self.arena.len() as u32
    }

    /// Sets the write of a record, and replaces an earlier one. False if the set is as large as it
    /// can be, which is 4 GiB.
    pub(crate) fn set(&mut self, tree: u32, key: &[u8], kind: WriteKind, value: &[u8]) -> bool {
        let hash = hash_of(tree, key);
        if self.arena.len() + key.len() + value.len() >= NONE as usize {
            return false;
        }
        if kind != WriteKind::Delete {
            self.first.forget(tree, key);
        }
        if let Some(index) = self.index_of(tree, key, hash) {
            let write = &mut self.writes[index];
            self.bytes = self.bytes - write.value.len() + value.len();
            if !self.marks.is_empty() {
                self.replaced.push(Replaced {
                    index,
                    kind: write.kind,
                    value: write.value.clone(),
                });
            }
            write.kind = kind;
            self.replace_value(index, value);
            return true;
        }
        let (key, value) = (self.append(key), self.append(value));
        self.bytes += key.len() + value.len();
        let index = self.writes.len() as u32;
        let before = self.by_hash.insert(hash, index).unwrap_or(NONE);
        self.writes.push(Write { tree, kind, hash, key, value, before });
        self.put_in_order(index);
        true
    }

    /// Puts the last write in its place among those in order, if these are known. After many that
    /// no scan asked for, the next one has to put all in order.
    fn put_in_order(&mut self, index: u32) {
        const UNASKED: usize = 64;
        let unasked = self.unasked.get_mut();
        *unasked += 1;
        let is_asked_for = *unasked <= UNASKED;
        if let Some(mut ordered) = self.ordered.take().filter(|_| is_asked_for) {
            let at = ordered.partition_point(|&other| self.place(other) < self.place(index));
            ordered.insert(at, index);
            self.ordered = OnceLock::from(ordered);
        }
    }

    fn place(&self, index: u32) -> (u32, &[u8]) {
        let write = &self.writes[index as usize];
        (write.tree, self.key(write))
    }

    fn replace_value(&mut self, index: usize, value: &[u8]) {
        let old = self.writes[index].value.clone();
        if old.len() == value.len() && self.marks.is_empty() {
            self.arena[old.start as usize..old.end as usize].copy_from_slice(value);
        } else {
            self.writes[index].value = self.append(value);
        }
    }

    /// Changes bytes of a record: of the value that is written already, or of the one that is
    /// there.
    pub(crate) fn patch(&mut self, tree: u32, key: &[u8], at: u16, bytes: &[u8]) -> bool {
        let mut patch = [0; 4];
        patch[..2].copy_from_slice(&at.to_le_bytes());
        patch[2..].copy_from_slice(&(bytes.len() as u16).to_le_bytes());
        let written = self.index_of(tree, key, hash_of(tree, key));
        let Some(index) = written else {
            let whole = [&patch, bytes].concat();
            return self.set(tree, key, WriteKind::Patch, &whole);
        };
        let write = &self.writes[index];
        match write.kind {
            WriteKind::Patch => {
                let mut whole = self.slice(&write.value).to_vec();
                whole.extend_from_slice(&patch);
                whole.extend_from_slice(bytes);
                self.set(tree, key, WriteKind::Patch, &whole)
            }
            WriteKind::Put | WriteKind::Overwrite if !self.marks.is_empty() => {
                let (kind, mut whole) = (write.kind, self.slice(&write.value).to_vec());
                whole.iter_mut().skip(at.into()).zip(bytes).for_each(|(byte, &new)| *byte = new);
                self.set(tree, key, kind, &whole)
            }
            WriteKind::Put | WriteKind::Overwrite => {
                let at = write.value.start as usize + usize::from(at);
                let end = (write.value.end as usize).min(at + bytes.len());
                if at < end {
                    self.arena[at..end].copy_from_slice(&bytes[..end - at]);
                }
                true
            }
            WriteKind::Delete | WriteKind::PutOverflow => true,
        }
    }

    /// Bytes of the keys and of their new values; of a value that is patched, those patched.
    pub(crate) fn updated_bytes(&self) -> u64 {
        let bytes = |write: &Write| {
            let value = match write.kind {
                WriteKind::Patch => self.change(write).patches().map(|(_, new)| new.len()).sum(),
                _ => write.value.len(),
            };
            (write.key.len() + value) as u64
        };
        self.writes.iter().map(bytes).sum()
    }

    /// All writes, in the order of trees and keys.
    pub(crate) fn ordered(&self) -> &[u32] {
        self.unasked.store(0, Relaxed);
        self.ordered.get_or_init(|| {
            let mut ordered: Vec<u32> = (0..self.writes.len() as u32).collect();
            ordered.sort_unstable_by(|&a, &b| self.place(a).cmp(&self.place(b)));
            ordered
        })
    }

    /// Those of them that a scan of a tree may meet.
    pub(crate) fn to_scan(
        &self,
        tree: u32,
        bound: Option<&[u8]>,
        direction: Direction,
    ) -> Range<usize> {
        if self.writes.is_empty() {
            return 0..0;
        }
        let ordered = self.ordered();
        let tree_of = |&index: &u32| self.writes[index as usize].tree;
        let mut range = ordered.partition_point(|index| tree_of(index) < tree)
            ..ordered.partition_point(|index| tree_of(index) <= tree);
        if let Some(bound) = bound {
            let is_before = |&index: &u32| self.place(index) < (tree, bound);
            let is_up_to = |&index: &u32| self.place(index) <= (tree, bound);
            match direction {
                Direction::Forward => range.start = ordered.partition_point(is_before),
                Direction::Backward => range.end = ordered.partition_point(is_up_to),
            }
        }
        range
    }

    /// Where the records that the transaction sees of a tree begin, if it is known.
    pub(crate) fn first(&self, tree: u32, direction: Direction) -> Option<Vec<u8>> {
        if self.writes.is_empty() { None } else { self.first.get(tree, direction) }
    }

    /// A scan of all records found that they begin here.
    pub(crate) fn note_first(&self, tree: u32, direction: Direction, key: &[u8]) {
        self.first.note(tree, direction, key);
    }
}

impl<'a> Change<'a> {
    /// The patches, as offsets and bytes; bytes that are no patch are left out.
    pub(crate) fn patches(self) -> impl Iterator<Item = (usize, &'a [u8])> {
        let mut rest = self.value;
        std::iter::from_fn(move || {
            let (at, tail) = rest.split_first_chunk::<2>()?;
            let (len, tail) = tail.split_first_chunk::<2>()?;
            let (bytes, tail) = tail.split_at_checked(usize::from(u16::from_le_bytes(*len)))?;
            rest = tail;
            Some((usize::from(u16::from_le_bytes(*at)), bytes))
        })
    }

    /// Changes a value as the patches say.
    pub(crate) fn patch(self, value: &mut [u8]) {
        for (at, bytes) in self.patches() {
            for (byte, &new) in value.iter_mut().skip(at).zip(bytes) {
                *byte = new;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find<'a>(set: &'a WriteSet, tree: u32, key: &[u8]) -> Option<Change<'a>> {
        set.find(tree, key, hash_of(tree, key))
    }

    #[test]
    fn the_last_write_of_a_key_counts() {
        let mut set = WriteSet::default();
        for n in 0..1000u32 {
            assert!(set.set(n % 3, &(n / 3 % 100).to_be_bytes(), WriteKind::Put, &n.to_le_bytes()));
        }
        assert_eq!(set.len(), 300);
        let found = find(&set, 1, &7u32.to_be_bytes()).unwrap();
        assert_eq!(found, Change { kind: WriteKind::Put, value: &922u32.to_le_bytes() });
        assert_eq!(find(&set, 3, &7u32.to_be_bytes()), None);
    }

    #[test]
    fn writes_that_follow_are_put_in_order() {
        let mut set = WriteSet::default();
        for n in 0..300u32 {
            let key = (n.wrapping_mul(0x9e37_79b9) >> 8).to_be_bytes();
            assert!(set.set(n % 3, &key, WriteKind::Put, b""));
            // With few writes between two scans, and with many.
            if n < 100 || n % 90 == 0 {
                assert_eq!(set.ordered().len(), n as usize + 1);
            }
        }
        assert!(set.ordered().is_sorted_by_key(|&index| set.place(index)));
        let of_tree = &set.ordered()[set.to_scan(1, None, Direction::Forward)];
        assert!(of_tree.len() == 100 && of_tree.iter().all(|&index| set.place(index).0 == 1));
    }

    #[test]
    fn keys_that_end_in_zeroes_have_hashes_of_their_own_in_each_tree() {
        let keys = (1..40u32).flat_map(|tree| (0..40).map(move |len| (tree, len)));
        let hashes: std::collections::HashSet<_> =
            keys.map(|(tree, len)| hash_of(tree, &[0; 40][..len])).collect();
        assert_eq!(hashes.len(), 39 * 40);
    }

    #[test]
    fn a_set_that_had_many_writes_does_not_keep_their_table() {
        let mut set = WriteSet::default();
        let mut table_after = |writes: u32| {
            (0..writes).for_each(|n| assert!(set.set(1, &n.to_be_bytes(), WriteKind::Put, b"")));
            set.clear();
            assert!(set.is_empty() && set.bytes() == 0);
            set.by_hash.capacity()
        };
        let kept = table_after(100);
        assert!((100..1000).contains(&kept));
        assert_eq!(table_after(1), kept);
        assert_eq!(table_after(10_000), 0);
    }

    /// A write: tree, key, kind, value.
    type Written = (u32, Vec<u8>, WriteKind, Vec<u8>);

    /// Everything that a set can be asked for.
    fn content(set: &WriteSet) -> (usize, Vec<Written>) {
        let each = set.iter().map(|write| {
            let (key, change) = (set.key(write), set.change(write));
            assert_eq!(find(set, write.tree, key), Some(change));
            (write.tree, key.to_vec(), change.kind, change.value.to_vec())
        });
        (set.bytes(), each.collect())
    }

    #[test]
    fn what_was_written_since_a_mark_is_undone_and_what_was_before_stays() {
        let mut random = 1u32;
        let mut below = |most: u32| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 16) % most
        };
        for _ in 0..300 {
            let (mut set, mut marks) = (WriteSet::default(), Vec::new());
            for _ in 0..below(80) {
                let (key, value) = ([below(6) as u8], vec![below(256) as u8; below(9) as usize]);
                match below(8) {
                    0 => marks.push((content(&set), set.mark())),
                    1 => {
                        if let Some((before, mark)) = marks.pop() {
                            assert!(set.undo_to(mark));
                            assert_eq!(content(&set), before);
                        }
                    }
                    2 => {
                        if let Some((_, mark)) = marks.pop() {
                            let before = content(&set);
                            assert!(set.unmark(mark) && !set.unmark(mark));
                            assert_eq!(content(&set), before);
                        }
                    }
                    3 => assert!(set.set(1, &key, WriteKind::Delete, b"")),
                    4 | 5 => assert!(set.patch(1, &key, below(9) as u16, &value)),
                    _ => assert!(set.set(1, &key, WriteKind::Put, &value)),
                }
            }
            for (before, mark) in marks.into_iter().rev() {
                assert!(set.undo_to(mark) && !set.undo_to(mark));
                assert_eq!(content(&set), before);
                assert!((0..6).all(|key| {
                    let is_there = before.1.iter().any(|write| write.1 == [key]);
                    find(&set, 1, &[key]).is_some() == is_there
                }));
            }
        }
    }

    #[test]
    fn patches_change_what_was_written_before_and_add_up() {
        let mut set = WriteSet::default();
        set.set(1, b"put", WriteKind::Put, b"abcdef");
        set.patch(1, b"put", 2, b"XY");
        set.patch(1, b"put", 5, b"ZZZ");
        assert_eq!(find(&set, 1, b"put").unwrap().value, b"abXYeZ");
        set.patch(1, b"other", 0, b"1");
        set.patch(1, b"other", 2, b"34");
        set.patch(1, b"other", 9, b"");
        let mut value = *b"abc";
        find(&set, 1, b"other").unwrap().patch(&mut value);
        assert_eq!(&value, b"1b3");
        set.set(1, b"gone", WriteKind::Delete, b"");
        set.patch(1, b"gone", 0, b"1");
        assert_eq!(find(&set, 1, b"gone").unwrap().kind, WriteKind::Delete);
    }
}
