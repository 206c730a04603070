//! The payloads of log records.
//!
//! A commit is logged as its writes: replayed in the order of the log they give every key its last
//! value, no matter which of them had reached the pages. Changes of the trees' structure are logged
//! by page, and redone on pages that are older than the record.

use crate::mvcc::{Change, WriteKind, WriteSet};

/// A transaction's writes.
pub const TRANSACTION: u8 = 1;
/// A page was split in two.
pub const SPLIT: u8 = 2;
/// Pages got other contents, and some were freed.
pub const PAGES: u8 = 3;
/// A tree was made, and a transaction's writes name it.
pub const CREATE: u8 = 4;

/// Bytes of a write in a record beside key and value.
pub const WRITE_BYTES: usize = 11;

/// Bytes that the writes of a transaction take in the log.
pub fn logged_bytes(set: &WriteSet) -> usize {
    set.len() * WRITE_BYTES + set.bytes()
}

/// Appends the writes of a transaction.
pub fn put_writes(set: &WriteSet, into: &mut Vec<u8>) {
    into.reserve(logged_bytes(set));
    for write in set.iter() {
        let (key, change) = (set.key(write), set.change(write));
        into.push(kind_tag(change.kind));
        into.extend_from_slice(&write.tree.to_le_bytes());
        into.extend_from_slice(&(key.len() as u16).to_le_bytes());
        into.extend_from_slice(&(change.value.len() as u32).to_le_bytes());
        into.extend_from_slice(key);
        into.extend_from_slice(change.value);
    }
}

/// One write of a transaction, as the log has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedWrite<'a> {
    /// The root of the tree.
    pub tree: u32,
    /// The record's key.
    pub key: &'a [u8],
    /// The change.
    pub change: Change<'a>,
}

/// The writes of a record; an error in place of bytes that are no write.
pub fn writes(mut record: &[u8]) -> impl Iterator<Item = Result<LoggedWrite<'_>, Malformed>> {
    std::iter::from_fn(move || {
        if record.is_empty() {
            return None;
        }
        let write = one_write(&mut record);
        if write.is_none() {
            record = &[];
        }
        Some(write.ok_or(Malformed))
    })
}

/// A record is not what its kind says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// The number of a kind of write in the log.
fn kind_tag(kind: WriteKind) -> u8 {
    match kind {
        WriteKind::Put => 1,
        WriteKind::PutOverflow => 2,
        WriteKind::Delete => 3,
        WriteKind::Patch => 4,
    }
}

fn one_write<'a>(record: &mut &'a [u8]) -> Option<LoggedWrite<'a>> {
    let [tag] = take::<1>(record)?;
    let kinds = [WriteKind::Put, WriteKind::PutOverflow, WriteKind::Delete, WriteKind::Patch];
    let kind = kinds.into_iter().find(|&kind| kind_tag(kind) == tag)?;
    let tree = u32::from_le_bytes(take(record)?);
    let key_len = usize::from(u16::from_le_bytes(take(record)?));
    let value_len = u32::from_le_bytes(take(record)?) as usize;
    let (key, rest) = record.split_at_checked(key_len)?;
    let (value, rest) = rest.split_at_checked(value_len)?;
    *record = rest;
    Some(LoggedWrite { tree, key, change: Change { kind, value } })
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*taken)
}

/// A split: keys from `separator` on moved from one page to a new one on its right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split<'a> {
    /// The page that was split.
    pub left: u32,
    /// The new page.
    pub right: u32,
    /// The page above both.
    pub parent: u32,
    /// The smallest key that may be in the new page.
    pub separator: &'a [u8],
    /// The images of the new page and of the one that was split.
    pub images: &'a [u8],
}

impl<'a> Split<'a> {
    /// The beginning of the record; the images follow.
    pub fn head(&self) -> Vec<u8> {
        let mut head = Vec::with_capacity(16 + self.separator.len());
        for page in [self.left, self.right, self.parent] {
            head.extend_from_slice(&page.to_le_bytes());
        }
        head.extend_from_slice(&(self.separator.len() as u16).to_le_bytes());
        head.extend_from_slice(self.separator);
        head
    }

    /// Reads a record.
    pub fn parse(mut record: &'a [u8]) -> Option<Self> {
        let [left, right, parent] =
            [take(&mut record)?, take(&mut record)?, take(&mut record)?].map(u32::from_le_bytes);
        let len = usize::from(u16::from_le_bytes(take(&mut record)?));
        let (separator, images) = record.split_at_checked(len)?;
        Some(Split { left, right, parent, separator, images })
    }
}

/// Pages that are freed and pages that get new contents: the beginning of the record, which the
/// images follow in the order of their pages.
pub fn pages_head(freed: &[u32], changed: &[u32]) -> Vec<u8> {
    let mut head = Vec::with_capacity(4 + 4 * (freed.len() + changed.len()));
    for pages in [freed, changed] {
        head.extend_from_slice(&(pages.len() as u16).to_le_bytes());
        pages.iter().for_each(|page| head.extend_from_slice(&page.to_le_bytes()));
    }
    head
}

/// Reads the head that [`pages_head`] wrote: freed pages, changed pages, and the images.
pub fn parse_pages(mut record: &[u8]) -> Option<(Vec<u32>, Vec<u32>, &[u8])> {
    let mut list = || {
        let count = u16::from_le_bytes(take(&mut record)?);
        (0..count).map(|_| take(&mut record).map(u32::from_le_bytes)).collect::<Option<Vec<_>>>()
    };
    let (freed, changed) = (list()?, list()?);
    Some((freed, changed, record))
}

/// The root that a record of [`CREATE`] makes, and the writes that name it.
pub fn parse_create(mut record: &[u8]) -> Option<(u32, &[u8])> {
    let root = u32::from_le_bytes(take(&mut record)?);
    Some((root, record))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_read_as_they_were_written() {
        let mut set = WriteSet::default();
        set.set(7, b"key", WriteKind::Put, b"value");
        set.set(8, b"", WriteKind::Delete, b"");
        set.patch(9, b"patched", 3, b"x");
        let mut record = Vec::new();
        put_writes(&set, &mut record);
        assert_eq!(record.len(), logged_bytes(&set));
        let read: Vec<_> = writes(&record).map(Result::unwrap).collect();
        let written: Vec<_> = set
            .iter()
            .map(|w| LoggedWrite { tree: w.tree, key: set.key(w), change: set.change(w) })
            .collect();
        assert_eq!(read, written);

        let split = Split { left: 1, right: 2, parent: 3, separator: b"sep", images: b"images" };
        assert_eq!(Split::parse(&[&split.head()[..], b"images"].concat()), Some(split));
        let head = pages_head(&[1], &[2, 3]);
        assert_eq!(parse_pages(&head), Some((vec![1], vec![2, 3], &[][..])));
    }

    #[test]
    fn records_that_end_early_are_no_records() {
        let mut set = WriteSet::default();
        set.set(7, b"key", WriteKind::Put, b"value");
        let mut record = Vec::new();
        put_writes(&set, &mut record);
        for len in 1..record.len() {
            assert!(writes(&record[..len]).any(|write| write.is_err()), "{len}");
        }
        assert_eq!(Split::parse(&[0; 13]), None);
        assert_eq!(parse_pages(&[9, 0, 1]), None);
        assert_eq!(parse_create(&[1, 2]), None);
    }
}
