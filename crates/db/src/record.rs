//! The payloads of log records.
//!
//! A commit is logged as its writes: replayed in the order of the log they give every key its last
//! value, no matter which of them had reached the pages. Changes of the trees' structure are logged
//! by page, and redone on pages that are older than the record.

use crate::layout::OVERFLOW_TREE;
use crate::mvcc::{Change, Write, WriteKind, WriteSet};
use crate::node::{LONGEST_KEY, OVERFLOW, REFERENCE};
use crate::number::{put_number, take, take_number};
use crate::overflow::Run;

/// Pages got other contents, some were freed, and a node lost a child.
pub(crate) const PAGES: u8 = 1;
/// A transaction's writes.
pub(crate) const TRANSACTION: u8 = 2;
/// A page was split in two.
pub(crate) const SPLIT: u8 = 3;
/// A tree was made, and a transaction's writes name it.
pub(crate) const CREATE: u8 = 4;
/// Of the store so much was durable: all chunks up to a number, and all notes before one.
pub(crate) const STORE: u8 = 5;

/// A transaction's writes, which note pages that are taken before another names them.
pub(crate) const TAKE: u8 = 6;
/// Pages are freed, and a transaction's writes are made that named them.
pub(crate) const GIVE: u8 = 7;

/// A transaction's writes, which delete a tree. Its pages are freed later.
pub(crate) const DELETE: u8 = 8;

/// Bytes of a write in a record beside key and value, at most.
pub(crate) const WRITE_BYTES: usize = 11;

/// Trees that a record names once. A write names any further tree by its root.
const TREES: usize = 15;

/// A write has several patches, or any other number than one.
const PATCHES: u8 = 5;

/// Numbers below this take half a byte; of others the half is this, and the rest of them follows.
const HALF: usize = 15;

/// Bytes that the writes of a transaction take in the log at most.
pub(crate) fn logged_bytes(set: &WriteSet) -> usize {
    set.len() * WRITE_BYTES + set.bytes()
}

/// Appends the writes of a transaction.
///
/// A write is its kind with the number of its tree in the record; the tree's root, if it is new in
/// the record; how many bytes its key has in common with the key before it in the tree, and how
/// many are left of it, in halves of a byte; but for deletes the length of the value, or of each
/// patch its place and length; the rest of the key; the value, or the patches. Numbers are as short
/// as they can be.
pub(crate) fn put_writes(set: &WriteSet, into: &mut Vec<u8>) {
    into.reserve(logged_bytes(set));
    let mut trees: [Option<&Write>; TREES] = [None; TREES];
    for write in set.iter() {
        let (key, change) = (set.key(write), set.change(write));
        let is_of = |before: &Option<&Write>| before.is_none_or(|other| other.tree == write.tree);
        let number = trees.iter().position(is_of).unwrap_or(TREES);
        let before = trees.get(number).copied().flatten();
        let many = change.kind == WriteKind::Patch && change.patches().count() != 1;
        let tag = if many { PATCHES } else { kind_tag(change.kind) };
        into.push(tag | (number as u8) << 4);
        if before.is_none() {
            put_number(write.tree as usize, into);
        }
        if let Some(last) = trees.get_mut(number) {
            *last = Some(write);
        }
        let before = before.map_or(&[][..], |before| set.key(before));
        let shared = key.iter().zip(before).take_while(|(a, b)| a == b).count();
        let rest = &key[shared..];
        into.push((shared.min(HALF) | rest.len().min(HALF) << 4) as u8);
        [shared, rest.len()].into_iter().for_each(|number| {
            if let Some(more) = number.checked_sub(HALF) {
                put_number(more, into);
            }
        });
        match change.kind {
            WriteKind::Put | WriteKind::Overwrite | WriteKind::PutOverflow => {
                put_number(change.value.len(), into);
            }
            WriteKind::Delete => {}
            WriteKind::Patch => {
                if tag == PATCHES {
                    put_number(change.patches().count(), into);
                }
                for (at, bytes) in change.patches() {
                    put_number(at, into);
                    put_number(bytes.len(), into);
                }
            }
        }
        into.extend_from_slice(rest);
        match change.kind {
            WriteKind::Patch => change.patches().for_each(|(_, new)| into.extend_from_slice(new)),
            _ => into.extend_from_slice(change.value),
        }
    }
}

/// One write of a transaction, as the log has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoggedWrite<'a> {
    /// The root of the tree.
    pub tree: u32,
    /// The record's key.
    pub key: &'a [u8],
    /// The change.
    pub change: Change<'a>,
}

/// Reads the writes of a record.
pub(crate) struct LoggedWrites<'a> {
    rest: &'a [u8],
    /// The trees that were named, each with its last key.
    trees: Vec<(u32, Vec<u8>)>,
    /// Patches, as a change has them.
    patches: Vec<u8>,
}

/// A record is not what its kind says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

impl<'a> LoggedWrites<'a> {
    /// The writes of this record.
    pub(crate) fn of(record: &'a [u8]) -> Self {
        LoggedWrites { rest: record, trees: Vec::new(), patches: Vec::new() }
    }

    /// The next write; an error in place of bytes that are no write.
    pub(crate) fn read(&mut self) -> Result<Option<LoggedWrite<'_>>, Malformed> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        self.one().map(Some).ok_or(Malformed)
    }

    fn one(&mut self) -> Option<LoggedWrite<'_>> {
        let rest = &mut self.rest;
        let [tag] = take::<1>(rest)?;
        let (tag, number) = (tag & HALF as u8, usize::from(tag >> 4));
        let kinds = [WriteKind::Put, WriteKind::PutOverflow, WriteKind::Delete, WriteKind::Patch];
        let kind = kinds.into_iter().find(|&kind| kind_tag(kind) == tag);
        let kind = kind.or((tag == PATCHES).then_some(WriteKind::Patch))?;
        // A tree that has no number was behind them for one write.
        self.trees.truncate(TREES);
        if number >= self.trees.len() {
            self.trees.push((u32::try_from(take_number(rest)?).ok()?, Vec::new()));
        }
        let (tree, key) = self.trees.get_mut(number)?;
        let [lengths] = take::<1>(rest)?;
        let mut length = |half: usize| match half {
            HALF => take_number(rest)?.checked_add(HALF),
            _ => Some(half),
        };
        let shared = length(usize::from(lengths) & HALF)?;
        let left = length(usize::from(lengths >> 4))?;
        if shared > key.len() {
            return None;
        }
        let mut places = Vec::new();
        let value_len = match kind {
            WriteKind::Delete => 0,
            WriteKind::Put | WriteKind::Overwrite | WriteKind::PutOverflow => take_number(rest)?,
            WriteKind::Patch => {
                let count = if tag == PATCHES { take_number(rest)? } else { 1 };
                for _ in 0..count {
                    let mut field = || u16::try_from(take_number(rest)?).ok();
                    places.push((field()?, field()?));
                }
                0
            }
        };
        let (of_key, behind) = rest.split_at_checked(left)?;
        key.truncate(shared);
        key.extend_from_slice(of_key);
        let (mut value, mut behind) = behind.split_at_checked(value_len)?;
        let is_reference = kind != WriteKind::PutOverflow || value_len == REFERENCE;
        if !is_reference || key.len() > LONGEST_KEY || value_len >= OVERFLOW.into() {
            return None;
        }
        if kind == WriteKind::Patch {
            self.patches.clear();
            for (at, len) in places {
                let (bytes, more) = behind.split_at_checked(usize::from(len))?;
                behind = more;
                self.patches.extend_from_slice(&at.to_le_bytes());
                self.patches.extend_from_slice(&len.to_le_bytes());
                self.patches.extend_from_slice(bytes);
            }
            value = &self.patches;
        }
        self.rest = behind;
        Some(LoggedWrite { tree: *tree, key, change: Change { kind, value } })
    }
}

/// The number of a kind of write in the log; [`PATCHES`] stands for patches that are not one.
fn kind_tag(kind: WriteKind) -> u8 {
    match kind {
        WriteKind::Put | WriteKind::Overwrite => 1,
        WriteKind::PutOverflow => 2,
        WriteKind::Delete => 3,
        WriteKind::Patch => 4,
    }
}

/// A split: keys from `separator` on moved from one page to a new one on its right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Split<'a> {
    /// The page that was split.
    pub left: u32,
    /// The new page.
    pub right: u32,
    /// The page above both.
    pub parent: u32,
    /// The smallest key that may be in the new page.
    pub separator: &'a [u8],
    /// The image of the new page, and of the one that was split unless it is cut: what is left of
    /// it are its records below the separator.
    pub images: &'a [u8],
}

impl<'a> Split<'a> {
    /// The beginning of the record; the images follow.
    pub(crate) fn head(&self) -> Vec<u8> {
        let mut head = Vec::with_capacity(16 + self.separator.len());
        for page in [self.left, self.right, self.parent] {
            head.extend_from_slice(&page.to_le_bytes());
        }
        head.extend_from_slice(&(self.separator.len() as u16).to_le_bytes());
        head.extend_from_slice(self.separator);
        head
    }

    /// Reads a record.
    pub(crate) fn parse(mut record: &'a [u8]) -> Option<Self> {
        let [left, right, parent] =
            [take(&mut record)?, take(&mut record)?, take(&mut record)?].map(u32::from_le_bytes);
        let len = usize::from(u16::from_le_bytes(take(&mut record)?));
        let (separator, images) = record.split_at_checked(len)?;
        Some(Split { left, right, parent, separator, images })
    }
}

/// A change of pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PageChanges<'a> {
    /// Pages that are freed.
    pub freed: Vec<u32>,
    /// Pages that get new contents.
    pub changed: Vec<u32>,
    /// A page that loses a child, and the smallest key of that, which is not empty: the first child
    /// stays.
    pub loses: Option<(u32, &'a [u8])>,
    /// Images of the changed pages, in their order.
    pub images: &'a [u8],
}

impl<'a> PageChanges<'a> {
    /// The beginning of the record; the images follow.
    pub(crate) fn head(&self) -> Vec<u8> {
        let mut head = Vec::with_capacity(16 + 4 * (self.freed.len() + self.changed.len()));
        for pages in [&self.freed, &self.changed] {
            head.extend_from_slice(&(pages.len() as u16).to_le_bytes());
            pages.iter().for_each(|page| head.extend_from_slice(&page.to_le_bytes()));
        }
        let (parent, key) = self.loses.unwrap_or_default();
        head.extend_from_slice(&(key.len() as u16).to_le_bytes());
        if !key.is_empty() {
            head.extend_from_slice(&parent.to_le_bytes());
            head.extend_from_slice(key);
        }
        head
    }

    /// Reads a record.
    pub(crate) fn parse(mut record: &'a [u8]) -> Option<Self> {
        let mut list = || {
            let count = u16::from_le_bytes(take(&mut record)?);
            let page = |_| take(&mut record).map(u32::from_le_bytes);
            (0..count).map(page).collect::<Option<Vec<_>>>()
        };
        let (freed, changed) = (list()?, list()?);
        let len = usize::from(u16::from_le_bytes(take(&mut record)?));
        if len == 0 {
            return Some(PageChanges { freed, changed, loses: None, images: record });
        }
        let parent = u32::from_le_bytes(take(&mut record)?);
        let (key, images) = record.split_at_checked(len)?;
        Some(PageChanges { freed, changed, loses: Some((parent, key)), images })
    }
}

/// The pages that a change of structure may read, as far as its record tells.
pub(crate) fn pages_of_change(kind: u8, record: &[u8]) -> Vec<u32> {
    let pages = match kind {
        SPLIT => Split::parse(record).map(|split| vec![split.left, split.right, split.parent]),
        PAGES => PageChanges::parse(record).map(|PageChanges { freed, changed, loses, .. }| {
            [freed, changed, loses.map(|(parent, _)| parent).into_iter().collect()].concat()
        }),
        CREATE => parse_create(record).map(|(root, _)| vec![root]),
        _ => None,
    };
    pages.unwrap_or_default()
}

/// The root that a record of [`CREATE`] makes, and the writes that name it.
pub(crate) fn parse_create(mut record: &[u8]) -> Option<(u32, &[u8])> {
    let root = u32::from_le_bytes(take(&mut record)?);
    Some((root, record))
}

/// The pages that a record of [`TAKE`] notes.
pub(crate) fn parse_take(record: &[u8]) -> Option<Vec<Run>> {
    let (mut runs, mut writes) = (Vec::new(), LoggedWrites::of(record));
    while let Some(LoggedWrite { tree, change, .. }) = writes.read().ok()? {
        let is_put = tree == OVERFLOW_TREE && change.kind == WriteKind::Put;
        // The head of a value is no run of pages.
        if is_put && change.value.len() > 1 {
            runs.extend(Run::parse(change.value)?);
        }
    }
    Some(runs)
}

/// The beginning of a record of [`GIVE`]: the number of runs of pages, and the runs. The writes
/// follow.
pub(crate) fn give_head(runs: &[Run]) -> Vec<u8> {
    let mut head = (runs.len() as u32).to_le_bytes().to_vec();
    head.extend_from_slice(&Run::encode(runs));
    head
}

/// The pages that a record of [`GIVE`] frees, and the writes.
pub(crate) fn parse_give(mut record: &[u8]) -> Option<(Vec<Run>, &[u8])> {
    let count = u32::from_le_bytes(take(&mut record)?) as usize;
    let (runs, writes) = record.split_at_checked(count.checked_mul(8)?)?;
    Some((Run::parse(runs)?, writes))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The writes of a record, as they would be in one of their own.
    fn read(record: &[u8]) -> Result<WriteSet, Malformed> {
        let (mut set, mut writes) = (WriteSet::default(), LoggedWrites::of(record));
        while let Some(LoggedWrite { tree, key, change }) = writes.read()? {
            set.set(tree, key, change.kind, change.value);
        }
        Ok(set)
    }

    fn all(set: &WriteSet) -> Vec<LoggedWrite<'_>> {
        let mut all = Vec::new();
        for write in set.iter() {
            let (key, change) = (set.key(write), set.change(write));
            all.push(LoggedWrite { tree: write.tree, key, change });
        }
        all
    }

    proptest! {
        #[test]
        fn writes_read_as_they_were_written(
            writes in prop::collection::vec((0..40u32, 0..4u8, 0..3usize, any::<u16>(), 0..999u16), 0..60)
        ) {
            let mut set = WriteSet::default();
            for (tree, kind, long, number, at) in writes {
                let key = [&[7; 300][..[0, 3, 300][long]], &number.to_be_bytes()].concat();
                let value = vec![kind; usize::from(at)];
                match kind {
                    0 => set.set(tree % 20, &key, WriteKind::Delete, &[]),
                    1 => set.set(tree << 27, &key, WriteKind::PutOverflow, &[7; REFERENCE]),
                    2 => set.set(tree % 3, &key, WriteKind::Put, &value),
                    _ => set.patch(tree % 3, &key[..key.len() - 1], at, &value),
                };
            }
            let mut record = Vec::new();
            put_writes(&set, &mut record);
            prop_assert!(record.len() <= logged_bytes(&set));
            let found = read(&record).unwrap();
            prop_assert_eq!(all(&found), all(&set));
        }

        #[test]
        fn any_bytes_are_writes_or_none(record in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&record);
        }
    }

    #[test]
    fn changes_of_pages_read_as_they_were_written() {
        let split = Split { left: 1, right: 2, parent: 3, separator: b"sep", images: b"images" };
        assert_eq!(Split::parse(&[&split.head()[..], b"images"].concat()), Some(split));
        for loses in [None, Some((4, &b"key"[..]))] {
            let (freed, changed) = (vec![1], vec![2, 3]);
            let pages = PageChanges { freed, changed, loses, images: b"images" };
            let record = [&pages.head()[..], b"images"].concat();
            assert_eq!(PageChanges::parse(&record), Some(pages));
        }
    }

    #[test]
    fn records_that_end_early_are_no_records() {
        let mut set = WriteSet::default();
        set.set(7, b"key", WriteKind::Put, b"value");
        let mut record = Vec::new();
        put_writes(&set, &mut record);
        for len in 1..record.len() {
            assert!(read(&record[..len]).is_err(), "{len}");
        }
        assert_eq!(Split::parse(&[0; 13]), None);
        assert_eq!(PageChanges::parse(&[9, 0, 1]), None);
        assert_eq!(PageChanges::parse(&[0, 0, 0, 0, 3, 0, 1, 0, 0, 0, b'k']), None);
        assert_eq!(parse_create(&[1, 2]), None);
    }
}
