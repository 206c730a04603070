//! Writes of commits that are redone together, in the order of their keys.
//!
//! The log has them in the order of commits, which is any order of keys. In the order of keys the
//! next write mostly goes to the leaf of the one before. So leaves are looked for, loaded and
//! evicted once for many writes. A write that a later one hides is not made at all.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::DbError;
use crate::mvcc::{Change, WriteKind};
use crate::record::{LoggedWrite, LoggedWrites, Malformed};
use crate::tree::{RECORDS, Trees, Wanted};

/// A write, its bytes in [`WaitingWrites::bytes`].
struct WaitingWrite {
    tree: u32,
    kind: WriteKind,
    key_len: u16,
    value_len: u32,
    /// The first bytes of the key behind those that all keys of its tree begin with here, as a
    /// number that is ordered as they are: none before the writes are sorted.
    key_start: u64,
    /// True if that is all of the key.
    is_all: bool,
    /// Where the key is; the value is behind it. Later writes lie behind.
    at: usize,
    position: u64,
}

/// Writes that wait to be redone.
pub(super) struct WaitingWrites {
    writes: Vec<WaitingWrite>,
    bytes: Vec<u8>,
    /// Memory for them, in bytes.
    most_bytes: usize,
    /// The position of the last commit.
    position: u64,
}

impl WaitingWrite {
    /// True if the write before of the same record does not matter: all that it wrote is written
    /// again.
    fn hides(&self, older: &Self, bytes: &[u8]) -> bool {
        let places = |write: &Self| {
            let patches = write.logged(bytes).change.patches();
            patches.map(|(at, bytes)| (at, bytes.len()))
        };
        match (self.kind, older.kind) {
            (WriteKind::Patch, WriteKind::Patch) => places(self).eq(places(older)),
            (WriteKind::Patch, _) => false,
            _ => true,
        }
    }

    /// True if the write is made in its leaf: it can't wait for it among the rows of absent leaves.
    fn needs_leaf(&self, trees: &Trees) -> bool {
        self.kind == WriteKind::PutOverflow || !trees.pool.keeps_rows()
    }

    /// The order of trees and keys. Most keys are not looked at, as they may lie anywhere.
    fn cmp_key(&self, other: &Self, bytes: &[u8]) -> Ordering {
        let by_start = (self.tree, self.key_start).cmp(&(other.tree, other.key_start));
        by_start.then_with(|| match self.is_all || other.is_all {
            // The shorter one is the beginning of the other.
            true => self.key_len.cmp(&other.key_len),
            false => self.key(bytes).cmp(other.key(bytes)),
        })
    }

    fn key<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        &bytes[self.at..][..usize::from(self.key_len)]
    }

    fn logged<'b>(&self, bytes: &'b [u8]) -> LoggedWrite<'b> {
        let (key, behind) = bytes[self.at..].split_at(self.key_len.into());
        let value = &behind[..self.value_len as usize];
        LoggedWrite { tree: self.tree, key, change: Change { kind: self.kind, value } }
    }
}

/// The first bytes of a key, as a number.
fn key_start(key: &[u8]) -> u64 {
    let mut start = [0; 8];
    let len = key.len().min(8);
    start[..len].copy_from_slice(&key[..len]);
    u64::from_be_bytes(start)
}

impl WaitingWrites {
    /// None yet, and so many bytes of memory for them.
    pub(super) fn new(most_bytes: usize) -> Self {
        WaitingWrites { writes: Vec::new(), bytes: Vec::new(), most_bytes, position: 0 }
    }

    /// Adds those of the commit that the log has at `position`, but for those that are not needed.
    pub(super) fn add(
        &mut self,
        position: u64,
        record: &[u8],
        is_needed: impl Fn(u32, &[u8]) -> bool,
    ) -> Result<(), Malformed> {
        let mut logged = LoggedWrites::of(record);
        while let Some(LoggedWrite { tree, key, change }) = logged.read()? {
            if !is_needed(tree, key) {
                continue;
            }
            let at = self.bytes.len();
            self.bytes.extend_from_slice(key);
            self.bytes.extend_from_slice(change.value);
            self.writes.push(WaitingWrite {
                tree,
                kind: change.kind,
                key_len: key.len() as u16,
                value_len: change.value.len() as u32,
                key_start: 0,
                is_all: false,
                at,
                position,
            });
        }
        self.position = position;
        Ok(())
    }

    /// True if they take as much memory as they may.
    pub(super) fn are_many(&self) -> bool {
        self.bytes.len() + self.writes.len() * size_of::<WaitingWrite>() >= self.most_bytes
    }

    /// Redoes them, and forgets them.
    pub(super) fn redo(&mut self, trees: &Trees) -> Result<(), DbError> {
        self.sort();
        let (mut loaded, mut last) = (0, None);
        for (index, write) in self.writes.iter().enumerate() {
            if index >= loaded && write.needs_leaf(trees) {
                loaded = self.load_leaves(trees, index);
            }
            trees.redo_write(&write.logged(&self.bytes), write.position, &mut last)?;
        }
        trees.window.replayed(self.position);
        self.writes.clear();
        self.bytes.clear();
        Ok(())
    }

    /// Brings them into the order of trees, keys and log, without those that are hidden.
    fn sort(&mut self) {
        self.set_key_starts();
        let bytes = &self.bytes;
        self.writes.sort_unstable_by(|a, b| b.cmp_key(a, bytes).then(b.at.cmp(&a.at)));
        self.writes.dedup_by(|older, newer| {
            older.cmp_key(newer, bytes).is_eq() && newer.hides(older, bytes)
        });
        self.writes.reverse();
    }

    /// Keys of a tree often begin alike, and that says nothing of their order.
    fn set_key_starts(&mut self) {
        // The first key of each tree, and how many of its bytes all others begin with.
        let mut shared: BTreeMap<u32, (&[u8], usize)> = BTreeMap::new();
        for write in &self.writes {
            let key = write.key(&self.bytes);
            let (first, len) = shared.entry(write.tree).or_insert((key, key.len()));
            *len = first[..*len].iter().zip(key).take_while(|(a, b)| a == b).count();
        }
        for write in &mut self.writes {
            let (_, len) = shared[&write.tree];
            let rest = &write.key(&self.bytes)[len..];
            (write.key_start, write.is_all) = (key_start(rest), rest.len() <= 8);
        }
    }

    /// Loads leaves that the next writes need, from that at `from` on. Returns the index behind
    /// these writes.
    fn load_leaves(&self, trees: &Trees, from: usize) -> usize {
        let next = self.writes.iter().enumerate().skip(from);
        let needed = next.filter(|(_, write)| write.needs_leaf(trees));
        let (mut indices, mut count) = ([0; RECORDS], 0);
        for ((index, _), entry) in needed.zip(&mut indices).take(trees.records_together()) {
            *entry = index;
            count += 1;
        }
        let wanted = |number: usize| {
            let write = &self.writes[indices[number]];
            Wanted { tree: write.tree, key: write.key(&self.bytes) }
        };
        trees.load_leaves(count, wanted, |_, _| false, |_, _| ());
        indices[count - 1] + 1
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use frostline_store::Cleaning;
    use frostline_zone::{Device, Shape, in_memory};

    use super::WaitingWrites;
    use crate::mvcc::{WriteKind, WriteSet};
    use crate::pool::CLEAN;
    use crate::record::put_writes;
    use crate::{Create, Db, Options, Transaction};

    fn device() -> Arc<dyn Device> {
        let shape = Shape { bytes: 24 << 20, zone_bytes: Some(1 << 17), ..Shape::default() };
        let device = in_memory(&shape).unwrap();
        Db::create(&device, &Create { log_bytes: Some(4 << 20), ..Create::default() }).unwrap();
        device
    }

    fn open(device: &Arc<dyn Device>) -> Db {
        let options =
            Options { background: false, cleaning: Cleaning::Inline, ..Options::default() };
        Db::open(device, &options).unwrap()
    }

    #[test]
    fn writes_are_sorted_by_key_and_age_without_those_that_others_hide() {
        let mut waiting = WaitingWrites::new(1 << 20);
        let (patch, put, delete) = (WriteKind::Patch, WriteKind::Put, WriteKind::Delete);
        let long: &[u8] = b"ten bytes_";
        let commits: [&[(u32, &[u8], WriteKind)]; 6] = [
            &[(7, b"b", put), (7, long, put), (2, b"z", patch)],
            &[(7, b"b", patch), (7, b"b\0", put), (2, b"z", put)],
            &[(7, b"b", put), (7, long, delete), (2, b"z", patch)],
            &[(7, b"b", patch), (7, b"ten bytes", put)],
            &[(7, b"b", patch), (2, b"y", patch)],
            &[(7, b"b", patch)],
        ];
        for (commit, position) in commits.into_iter().zip(10..) {
            let (mut writes, mut record) = (WriteSet::default(), Vec::new());
            for &(tree, key, kind) in commit {
                let value: &[u8] = match kind {
                    WriteKind::Patch if position == 13 => &[1, 0, 1, 0, b'_'],
                    WriteKind::Patch => &[0, 0, 1, 0, b'_'],
                    WriteKind::Put => b"value",
                    _ => b"",
                };
                writes.set(tree, key, kind, value);
            }
            put_writes(&writes, &mut record);
            waiting.add(position, &record, |_, _| true).unwrap();
        }
        waiting.sort();
        let sorted: Vec<_> = waiting
            .writes
            .iter()
            .map(|write| (write.tree, write.key(&waiting.bytes), write.kind, write.position))
            .collect();
        let expected: [(u32, &[u8], WriteKind, u64); 9] = [
            (2, b"y", WriteKind::Patch, 14),
            (2, b"z", WriteKind::Put, 11),
            (2, b"z", WriteKind::Patch, 12),
            (7, b"b", WriteKind::Put, 12),
            (7, b"b", WriteKind::Patch, 13),
            (7, b"b", WriteKind::Patch, 15),
            (7, b"b\0", WriteKind::Put, 11),
            (7, b"ten bytes", WriteKind::Put, 13),
            (7, long, WriteKind::Delete, 12),
        ];
        assert_eq!(sorted, expected);
    }

    #[test]
    fn keys_that_begin_alike_are_sorted_as_they_are() {
        let mut waiting = WaitingWrites::new(1 << 20);
        let keys: [&[u8]; 6] = [
            b"a long beginning",
            b"a long beginning\0",
            b"a long beginning\0\0end",
            b"a long b",
            b"a long c",
            b"a long beginning of eight bytes and more",
        ];
        let (mut writes, mut record) = (WriteSet::default(), Vec::new());
        for key in keys {
            writes.set(7, key, WriteKind::Put, b"value");
            writes.set(8, &key[3..], WriteKind::Put, b"value");
        }
        put_writes(&writes, &mut record);
        waiting.add(10, &record, |_, _| true).unwrap();
        waiting.sort();
        let sorted = waiting.writes.iter().map(|write| (write.tree, write.key(&waiting.bytes)));
        let sorted: Vec<_> = sorted.collect();
        assert!(sorted.len() == 2 * keys.len() && sorted.is_sorted(), "{sorted:?}");
    }

    #[test]
    fn recovery_reads_no_leaf_whose_records_were_patched() {
        let device = device();
        let db = open(&device);
        let table = db.create_table("t").unwrap();
        let change = |n: u32, change: &dyn Fn(&mut Transaction<'_>, &[u8])| {
            let mut transaction = db.begin().unwrap();
            change(&mut transaction, &n.to_be_bytes());
            transaction.commit_soon().unwrap();
        };
        (0..2000).for_each(|n| change(n, &|all, key| all.put(table, key, &[b'_'; 300]).unwrap()));
        db.checkpoint().unwrap();
        for round in 0..3 {
            let at = round * 10;
            (0..2000).step_by(50).for_each(|n| {
                change(n, &|all, key| all.patch(table, key, at, b"patched").unwrap());
            });
        }
        db.wait(db.begin().unwrap().commit_soon().unwrap()).unwrap();
        drop(db);
        let db = open(&device);
        assert_eq!(db.recovered().commits, 120);
        let read = || db.stats().unwrap().pages_read;
        assert!(read() < 10, "{} pages", read());
        let (table, look) = (db.table("t").unwrap(), db.begin_read().unwrap());
        for n in (0..2000u32).step_by(25) {
            let mut expected = [b'_'; 300];
            if n % 50 == 0 {
                (0..3).for_each(|round| expected[round * 10..][..7].copy_from_slice(b"patched"));
            }
            assert_eq!(look.get(table, &n.to_be_bytes()).unwrap().as_deref(), Some(&expected[..]));
        }
        assert!(read() >= 40, "{} pages", read());
    }

    #[test]
    fn a_leaf_that_has_newer_values_than_wait_for_it_gets_them_again() {
        let device = device();
        let db = open(&device);
        let table = db.create_table("t").unwrap();
        let put = |key: &[u8], value: &[u8]| {
            let mut transaction = db.begin().unwrap();
            transaction.put(table, key, value).unwrap();
            transaction.commit().unwrap();
        };
        put(b"b", b"aaaa");
        // There is a node above the leaf.
        (0..100u8).for_each(|n| put(&[b'c', n], &[n; 100]));
        db.checkpoint().unwrap();
        put(b"b", b"AAAA");
        let patch = |key: &[u8], at: usize, bytes: &[u8]| {
            let mut transaction = db.begin().unwrap();
            transaction.patch(table, key, at, bytes).unwrap();
            transaction.commit().unwrap();
        };
        patch(b"b", 1, b"B");
        patch(&[b'c', 7], 0, b"first");
        patch(&[b'c', 7], 3, b"second");
        // The leaf on the device has all of this, and lacks the last put, which waits for it with
        // the first one.
        db.core().trees.pool.write_older(CLEAN).unwrap();
        db.core().trees.space().store.sync().unwrap();
        put(b"a", b"a");
        drop(db);
        let db = open(&device);
        assert_eq!(db.recovered().commits, 5);
        let table = db.table("t").unwrap();
        let look = db.begin_read().unwrap();
        let patched = look.get(table, &[b'c', 7]).unwrap().unwrap();
        assert_eq!((&patched[..9], patched[9]), (&b"firsecond"[..], 7));
        assert_eq!(look.get(table, b"a").unwrap().as_deref(), Some(&b"a"[..]));
        assert_eq!(look.get(table, b"b").unwrap().as_deref(), Some(&b"ABAA"[..]));
    }
}
