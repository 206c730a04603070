//! Rows: records of one page that stay in memory without it, in one piece of memory.

use std::ops::Range;

use crate::node::Node;
use crate::pool::frames::CLEAN;

/// Bytes before a record's key: the lengths of key and value (u16 each) and its marks.
const HEAD: usize = 5;

/// Bytes that the allocator adds to those of all records, about.
const OVERHEAD: usize = 16;

/// In place of the length of a value: it is in the page, which is in memory.
const IN_PAGE: u16 = u16::MAX;

/// A mark: the record was read or changed since the marks were looked at last.
const USED: u8 = 1;
/// A mark: the page does not have the record's value yet.
const CHANGED: u8 = 2;

/// Some records of a page, in no order.
pub(crate) struct Rows {
    /// For each record its head, its key, its value.
    bytes: Vec<u8>,
    /// The log position of the last change of any of them, or a later one.
    pub position: u64,
    /// The log position of the first change that the page does not have; [`CLEAN`] if there is
    /// none.
    pub dirty_from: u64,
}

/// Where a record lies.
struct At {
    begin: usize,
    value: usize,
    end: usize,
    has_value: bool,
}

impl At {
    fn key(&self) -> Range<usize> {
        self.begin + HEAD..self.value
    }
}

impl Default for Rows {
    /// None.
    fn default() -> Self {
        Rows { bytes: Vec::new(), position: 0, dirty_from: CLEAN }
    }
}

impl Rows {
    /// True if there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Bytes of memory that they take besides their own size, about.
    pub(crate) fn heap_bytes(&self) -> usize {
        match self.bytes.len() {
            0 => 0,
            len => len + OVERHEAD,
        }
    }

    fn number(&self, at: usize) -> u16 {
        u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]])
    }

    fn marks(&self, at: &At) -> u8 {
        self.bytes[at.begin + HEAD - 1]
    }

    fn mark(&mut self, at: &At, marks: u8) {
        self.bytes[at.begin + HEAD - 1] |= marks;
    }

    fn all(&self) -> impl Iterator<Item = At> {
        let mut next = 0;
        std::iter::from_fn(move || {
            let begin = next;
            if begin == self.bytes.len() {
                return None;
            }
            let len = self.number(begin + 2);
            let value = begin + HEAD + usize::from(self.number(begin));
            next = if len == IN_PAGE { value } else { value + usize::from(len) };
            Some(At { begin, value, end: next, has_value: len != IN_PAGE })
        })
    }

    fn find(&self, key: &[u8]) -> Option<At> {
        self.all().find(|at| self.bytes[at.key()] == *key)
    }

    /// The value of a record, which counts as used from then on; none if it is not here.
    pub(crate) fn value(&mut self, key: &[u8]) -> Option<&[u8]> {
        let at = self.find(key).filter(|at| at.has_value)?;
        self.mark(&at, USED);
        Some(&self.bytes[at.value..at.end])
    }

    /// The value of a record that the log record at `position` changes, to be changed; its length
    /// stays.
    pub(crate) fn change(&mut self, key: &[u8], position: u64) -> Option<&mut [u8]> {
        let at = self.find(key).filter(|at| at.has_value)?;
        self.mark(&at, USED | CHANGED);
        self.position = self.position.max(position);
        self.dirty_from = self.dirty_from.min(position);
        Some(&mut self.bytes[at.value..at.end])
    }

    /// Adds a record whose page is in memory, or notes that it is used.
    pub(crate) fn note(&mut self, key: &[u8]) {
        match self.find(key) {
            Some(at) => self.mark(&at, USED),
            None => self.push(0, key, IN_PAGE),
        }
    }

    /// Appends the head and the key of a record; its value follows, unless it is in the page.
    fn push(&mut self, marks: u8, key: &[u8], value_len: u16) {
        self.bytes.extend_from_slice(&(key.len() as u16).to_le_bytes());
        self.bytes.extend_from_slice(&value_len.to_le_bytes());
        self.bytes.push(marks);
        self.bytes.extend_from_slice(key);
    }

    /// Takes the values from the page, which leaves memory. Records that it does not have, or only
    /// the ghost or the reference of, are dropped.
    pub(crate) fn take_values(&mut self, page: Node<'_>) {
        let mut taken = Rows { position: page.position(), ..Rows::default() };
        for at in self.all() {
            let key = &self.bytes[at.key()];
            let (index, found) = page.search(key);
            if !found || !page.covers(key) {
                continue;
            }
            let slot = page.slot(index);
            if !slot.is_ghost() && !slot.is_overflow() {
                taken.push(self.marks(&at), key, slot.value_len() as u16);
                page.value(slot, &mut taken.bytes);
            }
        }
        *self = taken.fitted();
    }

    /// Drops the values: the page is in memory, and has them.
    pub(crate) fn drop_values(&mut self) {
        if self.is_empty() {
            return;
        }
        let mut left = Rows::default();
        for at in self.all() {
            left.push(self.marks(&at) & USED, &self.bytes[at.key()], IN_PAGE);
        }
        *self = left.fitted();
    }

    /// In as much memory as they need.
    fn fitted(mut self) -> Self {
        self.bytes.shrink_to_fit();
        self
    }

    /// True if a record is marked as used.
    pub(crate) fn is_used(&self) -> bool {
        self.all().any(|at| self.marks(&at) & USED != 0)
    }

    /// Drops records that are not marked as used, nor have a value that their page lacks, and the
    /// marks.
    pub(crate) fn drop_unused(&mut self) {
        let mut left = Rows { bytes: Vec::new(), ..*self };
        for at in self.all().filter(|at| self.marks(at) != 0) {
            let begin = left.bytes.len();
            left.bytes.extend_from_slice(&self.bytes[at.begin..at.end]);
            left.bytes[begin + HEAD - 1] &= CHANGED;
        }
        *self = left.fitted();
    }

    /// True if the page lacks values.
    pub(crate) fn is_dirty(&self) -> bool {
        self.dirty_from != CLEAN
    }

    /// The keys and values that the page lacks.
    pub(crate) fn changed(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let changed = self.all().filter(|at| self.marks(at) & CHANGED != 0);
        changed.map(|at| (&self.bytes[at.key()], &self.bytes[at.value..at.end]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::{Fences, NodeMut, PageBytes, Record};

    fn page(records: &[(&[u8; 1], &[u8])], position: u64) -> Box<PageBytes> {
        let page = PageBytes::zeroed();
        let mut node = NodeMut::format(&page, 9, 0, Fences { lower: b"b", upper: Some(b"y") });
        for (key, value) in records {
            assert!(node.push(&key[..], Record { value, flags: 0 }));
        }
        node.raise_position(position);
        page
    }

    fn value(records: &mut Rows, key: u8) -> Option<&[u8]> {
        records.value(&[key])
    }

    fn changed(records: &Rows) -> Vec<(&[u8], &[u8])> {
        records.changed().collect()
    }

    #[test]
    fn records_get_their_values_from_the_page_that_leaves_and_give_back_what_changed() {
        let mut records = Rows::default();
        b"dfka".iter().for_each(|&key| records.note(&[key]));
        assert_eq!(value(&mut records, b'd'), None, "it is in the page");
        assert!(records.change(b"d", 5).is_none(), "it is in the page");
        records.take_values(Node::of(&page(&[(b"d", b"four"), (b"k", b"kay"), (b"m", b"em")], 70)));
        assert_eq!(value(&mut records, b'd'), Some(&b"four"[..]));
        for (key, why) in
            [(b'f', "not in the page"), (b'a', "not of the page"), (b'm', "not noted")]
        {
            assert_eq!(value(&mut records, key), None, "{why}");
        }
        assert_eq!((records.position, records.dirty_from), (70, CLEAN));
        records.change(b"k", 90).unwrap().copy_from_slice(b"KAY");
        records.change(b"k", 80).unwrap()[0] = b'_';
        assert_eq!((records.position, records.dirty_from), (90, 80));
        assert_eq!(changed(&records), [(&b"k"[..], &b"_AY"[..])]);
        records.drop_values();
        assert!(!records.is_dirty() && changed(&records).is_empty());
        assert_eq!(value(&mut records, b'k'), None, "it is in the page again");
    }

    #[test]
    fn records_that_were_not_used_are_dropped_unless_their_page_lacks_them() {
        let mut records = Rows::default();
        b"cde".iter().for_each(|&key| records.note(&[key]));
        records.take_values(Node::of(&page(&[(b"c", b"1"), (b"d", b"2"), (b"e", b"3")], 1)));
        assert!(!records.is_used());
        value(&mut records, b'c');
        records.change(b"e", 8).unwrap()[0] = b'5';
        assert!(records.is_used());
        records.drop_unused();
        assert!(!records.is_used(), "the marks are gone");
        assert_eq!(value(&mut records, b'd'), None);
        assert_eq!(value(&mut records, b'c'), Some(&b"1"[..]));
        (0..2).for_each(|_| records.drop_unused());
        assert_eq!(value(&mut records, b'c'), None);
        assert_eq!(changed(&records), [(&b"e"[..], &b"5"[..])]);
    }
}
