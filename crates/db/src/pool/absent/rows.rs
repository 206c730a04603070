//! Rows: records of one page that stay in memory without it, or wait for it, in one piece of
//! memory.

use std::ops::Range;

use super::allocated;
use crate::mvcc::{Change, Lookup, WriteKind};
use crate::node::{Node, PAGE_BYTES, SLOT};
use crate::pool::frames::CLEAN;

/// Bytes before a record's key: the lengths of key and value (u16 each) and its marks.
const HEAD: usize = 5;

/// Bytes before all records: the bytes of those that the page lacks (u16), with a mark; the log
/// position of the last change (7 bytes); the distance from there back to the first change that the
/// page lacks (u32, or [`NO_CHANGE`]).
const BEFORE: usize = 13;

/// The bytes before records if none of these waits.
const NONE_WAITS: [u8; BEFORE] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff];

/// In place of a distance between log positions: the page has all changes.
const NO_CHANGE: u32 = u32::MAX;

/// A greater log position is taken for this one: no log comes so far.
const LAST_POSITION: u64 = (1 << 56) - 1;

/// A mark of all records: perhaps the page has no room for those that it lacks.
const OVERFULL: u16 = 1 << 15;

/// In place of the length of a value: it is in the page, which is in memory.
const IN_PAGE: u16 = u16::MAX;

/// The most bytes of records that a page may lack.
const MOST_WAITING: usize = PAGE_BYTES / 2;

/// A mark: the record was read, or changed in its place, since the marks were looked at last.
const USED: u8 = 1;
/// A mark: the page does not have the record's value yet.
const CHANGED: u8 = 2;
/// A mark: perhaps the page does not have the record at all, or has a value of another length.
const ADDED: u8 = 4;
/// A mark: the record is deleted.
const DELETED: u8 = 8;
/// A mark: the record is deleted after it was added. Snapshots may see it, which find it by a
/// ghost.
const GHOST: u8 = 16;

/// A mark: the record takes no more room in the page than there.
const OVERWRITTEN: u8 = 32;
/// A mark: in place of a value there are patches of that which the page has.
const PATCHED: u8 = 64;

/// Some records of a page, in no order.
#[derive(Default)]
pub(crate) struct Rows {
    /// Nothing, or what is before all records, and for each record its head, its key, its value.
    bytes: Box<[u8]>,
}

/// The room of an absent page for changes.
#[derive(Clone, Copy)]
pub(crate) struct Room {
    /// The bytes that it has free for sure.
    pub bytes: u32,
    /// The bytes of records that may wait for it: more if it may be split when it gets them.
    pub most: u32,
    /// True while the log is replayed. No snapshot sees a record between two changes then.
    pub is_replay: bool,
}

impl Room {
    /// Of a page that has so many bytes free for sure: none if it is unknown. While the log is
    /// replayed any rows wait then.
    pub(crate) fn of(bytes: u32, is_replay: bool) -> Room {
        let bytes = if bytes == 0 && is_replay { PAGE_BYTES as u32 } else { bytes };
        Room { bytes, most: bytes, is_replay }
    }
}

/// A change that waits for the page.
pub(crate) struct Waiting<'r> {
    /// The record's key.
    pub key: &'r [u8],
    /// A put, a delete, or patches.
    pub change: Change<'r>,
    /// False if the page has the record, with a value of the length of this one.
    pub is_added: bool,
    /// True if the record is deleted, and snapshots may see it although the page never had it.
    pub leaves_ghost: bool,
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

    fn bytes(&self) -> usize {
        self.end - self.begin
    }
}

impl Rows {
    /// Puts records, behind what is before them, in the place of these.
    fn set(&mut self, bytes: Vec<u8>) {
        match bytes.len() > BEFORE {
            true => self.bytes = bytes.into_boxed_slice(),
            false => *self = Rows::default(),
        }
    }

    /// All records, and what is before them.
    fn all_bytes(&self) -> &[u8] {
        if self.is_empty() { &NONE_WAITS } else { &self.bytes }
    }

    /// The log position of the last change of any of them, or a later one.
    pub(crate) fn position(&self) -> u64 {
        let mut position = [0; 8];
        position[..7].copy_from_slice(&self.all_bytes()[2..9]);
        u64::from_le_bytes(position)
    }

    /// The log position of the first change that the page does not have; [`CLEAN`] if there is
    /// none.
    pub(crate) fn dirty_from(&self) -> u64 {
        let mut distance = [0; 4];
        distance.copy_from_slice(&self.all_bytes()[9..BEFORE]);
        match u32::from_le_bytes(distance) {
            NO_CHANGE => CLEAN,
            distance => self.position() - u64::from(distance),
        }
    }

    /// The log position of the last change, and the distance to the first one that the page does not
    /// have, with one more change. None if they are too far from each other.
    fn positions_with(&self, at: u64) -> Option<(u64, u32)> {
        let (position, first) = (self.position().max(at), self.dirty_from().min(at));
        let distance = u32::try_from(position - first).ok();
        distance.filter(|&distance| distance != NO_CHANGE).map(|distance| (position, distance))
    }

    /// True if there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Bytes of memory that they take besides their own size.
    pub(crate) fn heap_bytes(&self) -> usize {
        allocated(self.bytes.len())
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
        let mut next = BEFORE;
        std::iter::from_fn(move || {
            let begin = next;
            if begin >= self.bytes.len() {
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

    /// The state of a record, which counts as used from then on; none if only the page can tell it.
    pub(crate) fn get(&mut self, key: &[u8]) -> Option<(Lookup, &[u8])> {
        let at = self.find(key).filter(|at| self.is_known(at))?;
        self.mark(&at, USED);
        Some(self.state(&at))
    }

    fn is_patched(&self, at: &At) -> bool {
        self.marks(at) & PATCHED != 0
    }

    fn is_known(&self, at: &At) -> bool {
        at.has_value && !self.is_patched(at)
    }

    fn state(&self, at: &At) -> (Lookup, &[u8]) {
        match self.marks(at) & DELETED {
            0 => (Lookup::Value, &self.bytes[at.value..at.end]),
            _ => (Lookup::Nothing, &[]),
        }
    }

    /// True if a change of the record waits for the page.
    pub(crate) fn has_waiting(&self, key: &[u8]) -> bool {
        self.find(key).is_some_and(|at| self.marks(&at) & CHANGED != 0)
    }

    /// True if [`Self::change`] does not need the page, which has this room.
    pub(crate) fn can_change(&self, key: &[u8], change: Change<'_>, room: Room) -> bool {
        let at = self.find(key);
        let added = self.added_with(key, change);
        self.is_in_place(at.as_ref(), change) || self.can_add(key, at.as_ref(), change, added, room)
    }

    /// True if a change leaves a record, which is known, as long as it is.
    fn is_in_place(&self, at: Option<&At>, change: Change<'_>) -> bool {
        at.filter(|at| self.is_known(at)).is_some_and(|at| match change.kind {
            WriteKind::Put | WriteKind::Overwrite => {
                self.marks(at) & DELETED == 0 && at.end - at.value == change.value.len()
            }
            WriteKind::Patch => true,
            WriteKind::Delete | WriteKind::PutOverflow => false,
        })
    }

    /// True if a change of a record can wait, whatever the page has of it, with so many bytes that
    /// are added then. If patches wait, the page gets them first: snapshots may see the record as they
    /// leave it.
    fn can_add(
        &self,
        key: &[u8],
        at: Option<&At>,
        change: Change<'_>,
        added: usize,
        room: Room,
    ) -> bool {
        if !room.is_replay && at.is_some_and(|at| self.is_patched(at)) {
            return false;
        }
        let waiting = self.waiting_bytes() + HEAD + key.len() + change.value.len();
        let fits = added <= room.most as usize && waiting <= MOST_WAITING;
        fits && change.kind != WriteKind::PutOverflow
    }

    /// Makes the change of a record that the log has at `position`, after `keep` got a function
    /// that appends the old value, or says that only the page has it. False if the change needs the
    /// page, which has this room.
    pub(crate) fn change(
        &mut self,
        key: &[u8],
        (change, position): (Change<'_>, u64),
        room: Room,
        keep: impl FnOnce(&mut dyn FnMut(&mut Vec<u8>) -> Option<Lookup>),
    ) -> bool {
        let at = self.find(key);
        let known = at.as_ref().filter(|at| self.is_known(at));
        let value = known.map(|at| at.value..at.end);
        let in_place = self.is_in_place(known, change);
        let added = if in_place { 0 } else { self.added_with(key, change) };
        let is_made = in_place || self.can_add(key, at.as_ref(), change, added, room);
        let positions = self.positions_with(position).filter(|_| is_made);
        let Some((position, distance)) = positions else { return false };
        let is_overfull = added > room.bytes as usize || self.are_overfull();
        let mark = if is_overfull { OVERFULL } else { 0 };
        keep(&mut |before: &mut Vec<u8>| {
            let (found, value) = self.state(known?);
            before.extend_from_slice(value);
            Some(found)
        });
        let marks = at.as_ref().map_or(0, |at| self.marks(at));
        let waited = at.as_ref().filter(|_| marks & CHANGED != 0).map_or(0, At::bytes);
        let others = self.waiting_bytes() - waited;
        let bytes = match (value.filter(|_| in_place), at) {
            (Some(value), Some(at)) => {
                let value = &mut self.bytes[value];
                match change.kind {
                    WriteKind::Patch => change.patch(value),
                    _ => value.copy_from_slice(change.value),
                }
                self.mark(&at, if marks & ADDED == 0 { USED | CHANGED } else { CHANGED });
                at.bytes()
            }
            (_, at) => self.replace(key, at, change),
        };
        self.bytes[..2].copy_from_slice(&((others + bytes) as u16 | mark).to_le_bytes());
        put_positions(&mut self.bytes, position, distance);
        true
    }

    /// Puts what a change makes of a record in the place of what was known of it. Returns the bytes
    /// of the record.
    fn replace(&mut self, key: &[u8], at: Option<At>, change: Change<'_>) -> usize {
        let marks = at.as_ref().map_or(0, |at| self.marks(at));
        let old = at.map_or(BEFORE..BEFORE, |at| at.begin..at.end);
        let patches = match change.kind == WriteKind::Patch && marks & PATCHED != 0 {
            true => &self.bytes[old.start + HEAD + key.len()..old.end],
            false => &[],
        };
        let kind = match (change.kind, marks & (ADDED | DELETED)) {
            (WriteKind::Delete, ADDED) => DELETED | GHOST,
            (WriteKind::Delete, _) => DELETED | marks & GHOST,
            (WriteKind::Overwrite, _) => OVERWRITTEN,
            (WriteKind::Patch, _) => OVERWRITTEN | PATCHED,
            (WriteKind::Put | WriteKind::PutOverflow, _) => 0,
        };
        let len = patches.len() + change.value.len();
        let all = self.all_bytes();
        let others = [&all[..old.start], &all[old.end..]];
        let bytes = others[0].len() + others[1].len() + HEAD + key.len() + len;
        let mut bytes = Vec::with_capacity(bytes);
        others.into_iter().for_each(|part| bytes.extend_from_slice(part));
        push(&mut bytes, marks & USED | CHANGED | ADDED | kind, key, len as u16);
        bytes.extend_from_slice(patches);
        bytes.extend_from_slice(change.value);
        self.set(bytes);
        HEAD + key.len() + len
    }

    /// Bytes of the page that all records take which are added to it, with one more: each may be
    /// new there, or longer. None if the change adds none.
    fn added_with(&self, key: &[u8], change: Change<'_>) -> usize {
        if change.kind != WriteKind::Put {
            return 0;
        }
        let is_added = |at: &At| {
            let marks = self.marks(at);
            marks & (ADDED | OVERWRITTEN) == ADDED && marks & (DELETED | GHOST) != DELETED
        };
        let added = self.all().filter(is_added).map(|at| SLOT + at.end - at.begin - HEAD);
        added.sum::<usize>() + SLOT + key.len() + change.value.len()
    }

    /// True if perhaps the page has no room for the records that it lacks: then it is split when it
    /// gets them.
    pub(crate) fn are_overfull(&self) -> bool {
        self.lacked() & OVERFULL != 0
    }

    fn lacked(&self) -> u16 {
        if self.is_empty() { 0 } else { self.number(0) }
    }

    /// Bytes of the records that the page lacks.
    pub(crate) fn waiting_bytes(&self) -> usize {
        (self.lacked() & !OVERFULL).into()
    }

    /// Adds a record whose page is in memory, or notes that it is used.
    pub(crate) fn note(&mut self, key: &[u8]) {
        match self.find(key) {
            Some(at) => self.mark(&at, USED),
            None => {
                let all = self.all_bytes();
                let mut bytes = Vec::with_capacity(all.len() + HEAD + key.len());
                bytes.extend_from_slice(all);
                push(&mut bytes, 0, key, IN_PAGE);
                self.set(bytes);
            }
        }
    }

    /// Takes the values from the page, which leaves memory. Records that it does not have, or only
    /// the ghost or the reference of, are dropped.
    pub(crate) fn take_values(&mut self, page: Node<'_>) {
        let mut taken = before(self.bytes.len());
        for at in self.all() {
            let key = &self.bytes[at.key()];
            let (index, found) = page.search(key);
            if !found || !page.covers(key) {
                continue;
            }
            let slot = page.slot(index);
            if !slot.is_ghost() && !slot.is_overflow() {
                push(&mut taken, self.marks(&at), key, slot.value_len() as u16);
                page.value(slot, &mut taken);
            }
        }
        put_positions(&mut taken, page.position(), NO_CHANGE);
        self.set(taken);
    }

    /// Drops the values: the page is in memory, and has them. Records that were added and not read
    /// are dropped too.
    pub(crate) fn drop_values(&mut self) {
        if self.is_empty() {
            return;
        }
        let stays = |at: &At| self.marks(at) & (ADDED | USED) != ADDED;
        let bytes = self.all().filter(stays).map(|at| at.value - at.begin).sum();
        let mut left = before(bytes);
        for at in self.all().filter(stays) {
            push(&mut left, self.marks(&at) & USED, &self.bytes[at.key()], IN_PAGE);
        }
        self.set(left);
    }

    /// Drops records that are not marked as used, nor have a value that their page lacks, and the
    /// marks.
    pub(crate) fn drop_unused(&mut self) {
        let mut left = self.all_bytes()[..BEFORE].to_vec();
        for at in self.all().filter(|at| self.marks(at) != 0) {
            let begin = left.len();
            left.extend_from_slice(&self.bytes[at.begin..at.end]);
            left[begin + HEAD - 1] &= !USED;
        }
        self.set(left);
    }

    /// Takes the records from a key on: another page has them now.
    pub(crate) fn split_off(&mut self, separator: &[u8]) -> Rows {
        let all: Vec<_> = self.all().collect();
        let (right, left): (Vec<_>, Vec<_>) =
            all.iter().partition(|at| self.bytes[at.key()] >= *separator);
        let [left, right] = [left, right].map(|side| self.part(&side));
        *self = left;
        right
    }

    /// Some of the records.
    fn part(&self, records: &[&At]) -> Rows {
        let waits = |at: &&&At| self.marks(at) & CHANGED != 0;
        let waiting: usize = records.iter().filter(waits).map(|at| at.bytes()).sum();
        let waiting = waiting as u16 | self.lacked() & OVERFULL;
        let mut bytes = self.all_bytes()[..BEFORE].to_vec();
        bytes[..2].copy_from_slice(&waiting.to_le_bytes());
        records.iter().for_each(|at| bytes.extend_from_slice(&self.bytes[at.begin..at.end]));
        let mut part = Rows::default();
        part.set(bytes);
        part
    }

    /// True if the page lacks values.
    pub(crate) fn is_dirty(&self) -> bool {
        self.dirty_from() != CLEAN
    }

    /// The changes that the page lacks.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = Waiting<'_>> {
        let changed = self.all().filter(|at| self.marks(at) & CHANGED != 0);
        changed.map(|at| {
            let marks = self.marks(&at);
            let kind = match marks & (DELETED | PATCHED) {
                0 => WriteKind::Put,
                PATCHED => WriteKind::Patch,
                _ => WriteKind::Delete,
            };
            Waiting {
                key: &self.bytes[at.key()],
                change: Change { kind, value: &self.bytes[at.value..at.end] },
                is_added: marks & ADDED != 0,
                leaves_ghost: marks & GHOST != 0,
            }
        })
    }
}

/// Memory for so many bytes of records, none of which waits. It has what is before them.
fn before(records: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(BEFORE + records);
    bytes.extend_from_slice(&NONE_WAITS);
    bytes
}

/// Puts log positions before records.
fn put_positions(bytes: &mut [u8], position: u64, distance: u32) {
    bytes[2..9].copy_from_slice(&position.min(LAST_POSITION).to_le_bytes()[..7]);
    bytes[9..BEFORE].copy_from_slice(&distance.to_le_bytes());
}

/// Appends the head and the key of a record; its value follows, unless it is in the page.
fn push(bytes: &mut Vec<u8>, marks: u8, key: &[u8], value_len: u16) {
    bytes.extend_from_slice(&(key.len() as u16).to_le_bytes());
    bytes.extend_from_slice(&value_len.to_le_bytes());
    bytes.push(marks);
    bytes.extend_from_slice(key);
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
        let (found, value) = records.get(&[key])?;
        assert_eq!(found, Lookup::Value);
        Some(value)
    }

    /// Keys and values that wait for the page; of records that are deleted no value.
    fn waiting(records: &Rows) -> Vec<(&[u8], Option<&[u8]>)> {
        let bytes = records.waiting().map(|one| HEAD + one.key.len() + one.change.value.len());
        assert_eq!(records.waiting_bytes(), bytes.sum::<usize>());
        let of = |one: &Waiting<'_>| one.change.kind == WriteKind::Put;
        records.waiting().map(|one| (one.key, of(&one).then_some(one.change.value))).collect()
    }

    fn of(bytes: usize, is_replay: bool) -> Room {
        Room::of(bytes as u32, is_replay)
    }

    /// Makes a change, and returns what it replaced, if that is known; none if it needs the page.
    fn change(
        records: &mut Rows,
        key: &[u8],
        (kind, value): (WriteKind, &[u8]),
        position: u64,
        room: usize,
    ) -> Option<Option<(Lookup, Vec<u8>)>> {
        let mut before = None;
        let keep = |append: &mut dyn FnMut(&mut Vec<u8>) -> Option<Lookup>| {
            let mut value = Vec::new();
            before = append(&mut value).map(|found| (found, value));
        };
        let change = (Change { kind, value }, position);
        records.change(key, change, of(room, false), keep).then_some(before)
    }

    #[test]
    fn records_get_their_values_from_the_page_that_leaves_and_give_back_what_changed() {
        let mut records = Rows::default();
        b"dfka".iter().for_each(|&key| records.note(&[key]));
        assert_eq!(value(&mut records, b'd'), None, "it is in the page");
        let put = (WriteKind::Put, &b"four"[..]);
        assert_eq!(change(&mut records, b"d", put, 5, 0), None, "it is in the page");
        records.take_values(Node::of(&page(&[(b"d", b"four"), (b"k", b"kay"), (b"m", b"em")], 70)));
        assert_eq!(value(&mut records, b'd'), Some(&b"four"[..]));
        for (key, why) in
            [(b'f', "not in the page"), (b'a', "not of the page"), (b'm', "not noted")]
        {
            assert_eq!(value(&mut records, key), None, "{why}");
        }
        assert_eq!((records.position(), records.dirty_from()), (70, CLEAN));
        let known = |value: &[u8]| Some(Some((Lookup::Value, value.to_vec())));
        let put = (WriteKind::Put, &b"KAY"[..]);
        assert_eq!(change(&mut records, b"k", put, 90, 0), known(b"kay"));
        let patch = (WriteKind::Patch, &[0, 0, 1, 0, b'_'][..]);
        assert_eq!(change(&mut records, b"k", patch, 80, 0), known(b"KAY"));
        assert_eq!((records.position(), records.dirty_from()), (90, 80));
        assert_eq!(waiting(&records), [(&b"k"[..], Some(&b"_AY"[..]))]);
        records.drop_values();
        assert!(!records.is_dirty() && waiting(&records).is_empty());
        assert_eq!(value(&mut records, b'k'), None, "it is in the page again");
    }

    #[test]
    fn records_that_were_not_used_are_dropped_unless_their_page_lacks_them() {
        let mut records = Rows::default();
        b"cde".iter().for_each(|&key| records.note(&[key]));
        records.take_values(Node::of(&page(&[(b"c", b"1"), (b"d", b"2"), (b"e", b"3")], 1)));
        value(&mut records, b'c');
        assert!(change(&mut records, b"e", (WriteKind::Put, b"5"), 8, 0).is_some());
        records.drop_unused();
        assert_eq!(value(&mut records, b'd'), None);
        assert_eq!(value(&mut records, b'c'), Some(&b"1"[..]));
        (0..2).for_each(|_| records.drop_unused());
        assert_eq!(value(&mut records, b'c'), None);
        assert_eq!(waiting(&records), [(&b"e"[..], Some(&b"5"[..]))]);
    }

    #[test]
    fn both_halves_of_a_page_know_how_much_waits_for_them() {
        let mut records = Rows::default();
        for (at, key) in (b'a'..=b'z').enumerate() {
            let kind = [WriteKind::Put, WriteKind::Patch, WriteKind::Delete][at % 3];
            let value = if kind == WriteKind::Delete { &[][..] } else { &[0, 0, 1, 0, 7] };
            assert!(change(&mut records, &[key], (kind, value), 10 + at as u64, 4000).is_some());
        }
        records.drop_unused();
        assert_eq!(waiting(&records).len(), 26);
        let right = records.split_off(b"k");
        assert_eq!((waiting(&records).len(), waiting(&right).len()), (10, 16));
        assert_eq!((right.position(), right.dirty_from()), (35, 10));
        assert!(
            records.split_off(b"z").is_empty() && records.split_off(b"a").waiting().count() == 10
        );
        assert!(records.is_empty() && waiting(&records).is_empty());
    }

    #[test]
    fn a_record_that_is_overwritten_needs_no_room_until_its_length_changes() {
        let (mut records, one) = (Rows::default(), SLOT + 1 + 5);
        fn overwrite(value: &[u8]) -> (WriteKind, &[u8]) {
            (WriteKind::Overwrite, value)
        }
        assert_eq!(change(&mut records, b"c", overwrite(b"12345"), 10, 0), Some(None), "unread");
        assert_eq!(change(&mut records, b"d", overwrite(b"12345"), 11, 0), Some(None));
        let known = |value: &[u8]| Some(Some((Lookup::Value, value.to_vec())));
        assert_eq!(change(&mut records, b"c", overwrite(b"54321"), 12, 0), known(b"12345"));
        assert_eq!(change(&mut records, b"e", (WriteKind::Put, b"12345"), 13, one), Some(None));
        assert_eq!(change(&mut records, b"c", (WriteKind::Put, b"123456"), 14, one), None);
        let longer = change(&mut records, b"c", (WriteKind::Put, b"123456"), 15, 2 * one + 1);
        assert_eq!(longer, known(b"54321"));
        assert_eq!(change(&mut records, b"f", (WriteKind::Put, b"12345"), 16, 2 * one + 1), None);
        let all =
            [(&b"d"[..], Some(&b"12345"[..])), (b"e", Some(b"12345")), (b"c", Some(b"123456"))];
        assert_eq!(waiting(&records), all);
        let long = [7; MOST_WAITING];
        assert_eq!(change(&mut records, b"x", overwrite(&long), 17, 0), None, "too much waits");
        records.drop_values();
        assert!(records.is_empty(), "no record was read");
    }

    #[test]
    fn patches_of_an_unknown_record_wait_and_what_follows_needs_the_page_but_in_a_replay() {
        let (patch, more) = (&[1, 0, 1, 0, b'_'][..], &[0, 0, 2, 0, b'A', b'B'][..]);
        let put = Change { kind: WriteKind::Put, value: b"five5" };
        let delete = Change { kind: WriteKind::Delete, value: b"" };
        let patch_with = |value| Change { kind: WriteKind::Patch, value };
        for (next, is_replay) in [patch_with(more), put, delete]
            .into_iter()
            .flat_map(|next| [(next, false), (next, true)])
        {
            let mut records = Rows::default();
            assert_eq!(change(&mut records, b"c", (WriteKind::Patch, patch), 10, 0), Some(None));
            assert!(records.has_waiting(b"c") && records.get(b"c").is_none());
            assert_eq!(records.can_change(b"c", next, of(100, is_replay)), is_replay);
            let mut was = None;
            let keep =
                |append: &mut dyn FnMut(&mut Vec<u8>) -> Option<Lookup>| was = append(&mut vec![]);
            assert_eq!(records.change(b"c", (next, 12), of(100, is_replay), keep), is_replay);
            assert_eq!(was, None, "only the page has it");
            let all: Vec<_> = records.waiting().map(|one| one.change).collect();
            let expected = match (is_replay, next.kind) {
                (false, _) => patch_with(patch),
                (true, WriteKind::Patch) => patch_with(b"\x01\0\x01\0_\0\0\x02\0AB"),
                (true, _) => next,
            };
            assert_eq!(all, [expected]);
            assert_eq!(records.position(), if is_replay { 12 } else { 10 });
        }
    }

    #[test]
    fn records_that_nobody_has_read_wait_as_long_as_they_fit_into_the_page() {
        let mut records = Rows::default();
        let one = SLOT + 1 + 5;
        fn put(value: &[u8]) -> (WriteKind, &[u8]) {
            (WriteKind::Put, value)
        }
        let delete = (WriteKind::Delete, &b""[..]);
        assert_eq!(change(&mut records, b"c", put(b"12345"), 10, one), Some(None), "not known");
        assert_eq!(change(&mut records, b"d", put(b"12345"), 11, 2 * one - 1), None, "no room");
        assert_eq!(change(&mut records, b"d", put(b"12345"), 12, 2 * one), Some(None));
        let known = |value: &[u8]| Some(Some((Lookup::Value, value.to_vec())));
        assert_eq!(change(&mut records, b"c", put(b"54321"), 13, 0), known(b"12345"), "in place");
        assert_eq!(change(&mut records, b"c", delete, 14, 0), known(b"54321"));
        assert_eq!(records.get(b"c"), Some((Lookup::Nothing, &b""[..])));
        let patch = (WriteKind::Patch, &[0, 0, 1, 0, b'_'][..]);
        let nothing = Some(Some((Lookup::Nothing, Vec::new())));
        assert_eq!(change(&mut records, b"c", patch, 15, 0), nothing);
        assert_eq!(change(&mut records, b"x", delete, 17, 0), Some(None), "it needs no room");
        let room = 2 * one + SLOT + 1;
        assert_eq!(change(&mut records, b"e", put(b"12345"), 18, room), Some(None), "and a ghost");
        let room = 2 * one + 2 * (SLOT + 1);
        assert!(records.waiting().all(|one| one.leaves_ghost == (one.key == b"c")));
        assert_eq!(
            change(&mut records, b"c", put(b""), 19, room - 1),
            None,
            "its ghost counts too"
        );
        assert_eq!(change(&mut records, b"c", put(b""), 20, room), nothing);
        let all = [
            (&b"d"[..], Some(&b"12345"[..])),
            (b"x", None),
            (b"e", Some(b"12345")),
            (b"c", Some(b"")),
        ];
        assert_eq!(waiting(&records), all);
        assert!(records.waiting().all(|one| one.is_added));
        assert_eq!((records.position(), records.dirty_from()), (20, 10));
        assert!(records.has_waiting(b"x") && !records.has_waiting(b"y"));
        let more = (0..200u8).filter(|&n| {
            let long = [n; 100];
            change(&mut records, &[b'_', n], put(&long), 21, PAGE_BYTES).is_some()
        });
        assert_eq!(more.count(), (MOST_WAITING - 50) / 107, "a page may lack so much");
        records.drop_values();
        assert_eq!(
            change(&mut records, b"c", put(b""), 22, 0),
            None,
            "in the page, as it was read"
        );
        records.take_values(Node::of(&page(&[(b"c", b"")], 30)));
        assert_eq!(value(&mut records, b'c'), Some(&b""[..]));
        assert_eq!(value(&mut records, b'd'), None, "it was not read");
    }

    #[test]
    fn a_change_that_lies_too_far_behind_the_first_one_needs_the_page() {
        let mut records = Rows::default();
        let last = 10 + u64::from(NO_CHANGE) - 1;
        let mut put = |key: &[u8], at| {
            let made = change(&mut records, key, (WriteKind::Put, b"1"), at, PAGE_BYTES).is_some();
            (made, records.position(), records.dirty_from())
        };
        assert_eq!(put(b"a", 10), (true, 10, 10));
        assert_eq!(put(b"b", last), (true, last, 10));
        assert_eq!(put(b"a", last + 1), (false, last, 10));
        assert_eq!(put(b"c", last + 1), (false, last, 10));
    }
}
