//! Transactions. `writes.rs` has their writes, `overflow.rs` where the values lie that are too long
//! for a page, `commit.rs` the steps of a commit.

mod commit;
mod overflow;
mod savepoint;
mod writes;

use std::sync::Arc;

pub(crate) use commit::Also;
pub use commit::Commit;
pub use savepoint::Savepoint;

use crate::DbError;
use crate::catalog::{Catalog, Table};
use crate::core::Core;
use crate::direction::Direction;
use crate::layout::CATALOG;
use crate::mvcc::{Lookup, WriteKind, WriteSet};
use crate::node::LONGEST_KEY;
use crate::overflow::{PieceLeaves, ValueReader, parse_overflow};
use crate::pool::CachedFrame;
use crate::scan::Scan;
use crate::tree::{RECORDS, Wanted};
use crate::view::View;

/// A transaction. It reads the state that was committed when it began, and its own writes. Others
/// see its writes once it is committed, all at once. A transaction that is dropped writes nothing.
///
/// Readers never wait, and no transaction waits for a reader. Of two transactions that write the
/// same key and overlap, the one that commits first wins, and the other gets [`DbError::Conflict`].
/// That is snapshot isolation: no dirty writes or reads, no lost updates, no read skew, no
/// phantoms. It allows write skew: two transactions that each read a key that the other writes, and
/// write different keys.
///
/// A serializable transaction ([`crate::Db::begin_serializable`]) gets [`DbError::Conflict`] also
/// if another wrote, and committed since it began, what it read: a key, whether or not it had a
/// value, or a key within the range of a scan. Its effect is that of a transaction that ran alone
/// at the moment of its commit. A transaction that only reads has that from its snapshot already.
///
/// Records that others overwrite meanwhile are kept for it in memory. A transaction that stays open
/// for long may fail with [`DbError::SnapshotTooOld`]: see [`crate::Options::version_bytes`].
pub struct Transaction<'d> {
    core: &'d Core,
    view: View<'d>,
    /// What the commit does beside its writes.
    also: Also,
    /// Values with pages of their own: those that it wrote, with their bytes, and those that its
    /// writes replace.
    made: Vec<(u64, usize)>,
    replaced: Vec<u64>,
    /// Roots of tables of whose values it writes pieces, and perhaps no record.
    in_place: Vec<u32>,
    /// A write was made in part, as there was no room for the rest: none may be committed.
    failed: Option<DbError>,
}

/// What a transaction may do, and is promised.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Isolation {
    /// Reads of a snapshot.
    ReadOnly,
    /// Reads of a snapshot, and writes.
    Snapshot,
    /// The same; a conflict if another transaction changed what it read.
    Serializable,
}

impl<'d> Transaction<'d> {
    pub(crate) fn begin(core: &'d Core, isolation: Isolation) -> Result<Self, DbError> {
        core.check()?;
        let writes = (isolation != Isolation::ReadOnly).then(|| core.write_set());
        let view = View::begin(&core.trees, writes, isolation == Isolation::Serializable);
        let (made, replaced, in_place) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Transaction { core, view, also: Also::Nothing, made, replaced, in_place, failed: None })
    }

    pub(crate) fn view(&self) -> &View<'d> {
        &self.view
    }

    pub(crate) fn writes(&self) -> &WriteSet {
        self.view.writes()
    }

    /// The value of a key.
    ///
    /// # Errors
    /// A damaged page; an error of the device; [`DbError::SnapshotTooOld`];
    /// [`DbError::ForeignTable`].
    pub fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, DbError> {
        let mut value = Vec::new();
        Ok(self.get_into(table, key, &mut value)?.then_some(value))
    }

    /// Puts the value of a key into `value`, whose content is lost; false if there is none.
    ///
    /// # Errors
    /// As for [`Transaction::get`].
    #[inline]
    pub fn get_into(&self, table: Table, key: &[u8], value: &mut Vec<u8>) -> Result<bool, DbError> {
        match self.find(table, key, None, value)? {
            Lookup::Nothing => Ok(false),
            Lookup::Value => Ok(true),
            Lookup::Overflow => self.view.join(value).map(|()| true),
        }
    }

    /// The values of keys, in their order. What has to be read for them is read together, so this
    /// is faster than a [`Transaction::get`] for each where pages are not in memory.
    ///
    /// # Errors
    /// As for [`Transaction::get`].
    pub fn get_many<K: AsRef<[u8]>>(
        &self,
        table: Table,
        keys: &[K],
    ) -> Result<Vec<Option<Vec<u8>>>, DbError> {
        let tree = self.core.catalog.tree(table)?;
        let mut values = Vec::with_capacity(keys.len());
        for keys in keys.chunks(self.core.trees.records_together()) {
            let wanted = |index: usize| Wanted { tree, key: keys[index].as_ref() };
            let frames = self.view.load_leaves(keys.len(), wanted);
            let mut references = Vec::new();
            for (index, key) in keys.iter().enumerate() {
                let mut value = Vec::new();
                let found = self.find(table, key.as_ref(), frames[index], &mut value)?;
                if found == Lookup::Overflow {
                    references.push(values.len());
                }
                values.push((found != Lookup::Nothing).then_some(value));
            }
            self.join_all(&mut values, &references)?;
        }
        Ok(values)
    }

    /// Replaces those of the values that are references by the long values, whose pieces are read
    /// together.
    fn join_all(
        &self,
        values: &mut [Option<Vec<u8>>],
        mut references: &[usize],
    ) -> Result<(), DbError> {
        while !references.is_empty() {
            let (mut leaves, mut count) = (PieceLeaves::at_most(&self.core.trees, RECORDS), 0);
            while count < references.len() && !leaves.are_enough() {
                if let Some(reference) = &values[references[count]] {
                    let (number, bytes) = parse_overflow(reference)?;
                    leaves.add_record(number, bytes);
                }
                count += 1;
            }
            leaves.load(&self.core.trees);
            let (together, rest) = references.split_at(count);
            for &index in together {
                values[index].as_mut().map_or(Ok(()), |value| self.view.join(value))?;
            }
            references = rest;
        }
        Ok(())
    }

    /// Reads together, into memory, what is needed to read or write records. It answers nothing: it
    /// makes what follows fast. What can't be read is left to who needs it. If memory has no room
    /// for all of it, some has to be read again.
    ///
    /// # Errors
    /// [`DbError::ForeignTable`].
    pub fn prefetch<'k>(
        &self,
        records: impl IntoIterator<Item = (Table, &'k [u8])>,
    ) -> Result<(), DbError> {
        let (mut records, together) = (records.into_iter(), self.core.trees.records_together());
        loop {
            let mut wanted = Vec::new();
            for (table, key) in records.by_ref().take(together) {
                wanted.push(Wanted { tree: self.core.catalog.tree(table)?, key });
            }
            if wanted.is_empty() {
                return Ok(());
            }
            self.view.load_leaves(wanted.len(), |index| wanted[index]);
        }
    }

    #[inline]
    pub(crate) fn find(
        &self,
        table: Table,
        key: &[u8],
        cached: Option<CachedFrame>,
        value: &mut Vec<u8>,
    ) -> Result<Lookup, DbError> {
        let tree = self.core.catalog.tree(table)?;
        if table.since > self.view.position() {
            return self.is_older(tree).map(|_| Lookup::Nothing);
        }
        if let Some(reads) = &self.view.reads {
            reads.read(tree, key);
        }
        self.view.find(tree, key, cached, value)
    }

    /// The tree of a table that was made after the snapshot was taken. To this snapshot it has no
    /// records. A transaction that writes to it conflicts with the one that made it.
    #[cold]
    fn is_older(&self, tree: u32) -> Result<u32, DbError> {
        if self.view.writes.is_none() { Ok(tree) } else { Err(DbError::Conflict) }
    }

    /// The tree of a table to be scanned; none if this sees nothing of it.
    fn tree_to_scan(&self, table: Table) -> Result<Option<u32>, DbError> {
        let tree = self.core.catalog.tree(table)?;
        match table.since > self.view.position() {
            true => self.is_older(tree).map(|_| None),
            false => Ok(Some(tree)),
        }
    }

    /// True if a key has a value, which is not read if it is in pieces. A serializable transaction
    /// that asks no more does not conflict with another that gives such a value other bytes, as
    /// many as before.
    ///
    /// # Errors
    /// As for [`Transaction::get`].
    pub fn contains(&self, table: Table, key: &[u8]) -> Result<bool, DbError> {
        Ok(self.find(table, key, None, &mut Vec::new())? != Lookup::Nothing)
    }

    /// A reader of the value of a key; none if it has none. A value that is too long for a page is
    /// read as it is asked for.
    ///
    /// # Errors
    /// As for [`Transaction::get`].
    pub fn value_reader(
        &self,
        table: Table,
        key: &[u8],
    ) -> Result<Option<ValueReader<'_, 'd>>, DbError> {
        let mut value = Vec::new();
        let found = self.find(table, key, None, &mut value)?;
        ValueReader::new(&self.view, found, value)
    }

    fn own(&mut self) -> Result<&mut WriteSet, DbError> {
        let writes = self.view.writes.as_mut().ok_or(DbError::ReadOnly)?;
        // It is shared only during the commit.
        Arc::get_mut(writes).ok_or(DbError::Panicked)
    }

    /// The tree of a table, if a record with this key may be written to it. This is asked before
    /// the first of the writes that belong together: after an error there is none of them.
    #[inline]
    fn tree_for(&self, table: Table, key: &[u8]) -> Result<u32, DbError> {
        let tree = self.core.catalog.tree(table)?;
        if self.view.writes.is_none() {
            return Err(DbError::ReadOnly);
        }
        if table.since > self.view.position() {
            self.is_older(tree)?;
        }
        check_key(key).map(|()| tree)
    }

    pub(crate) fn also(&mut self, also: Also) {
        self.also = also;
    }

    pub(crate) fn set(
        &mut self,
        tree: u32,
        key: &[u8],
        kind: WriteKind,
        value: &[u8],
    ) -> Result<(), DbError> {
        let is_set = self.own()?.set(tree, key, kind, value);
        self.check_room(is_set)
    }

    /// Fails for good if there was no room for a write: others that belong to it may have been
    /// made.
    fn check_room(&mut self, is_set: bool) -> Result<(), DbError> {
        if is_set {
            return Ok(());
        }
        let bytes = self.view.writes().bytes() as u64;
        let too_large = DbError::TooLarge { bytes, logged: bytes, most: u32::MAX.into() };
        Err(self.failed.insert(too_large).clone())
    }

    /// The records from `bound` (itself included) in the direction's order. Of a table of another
    /// database the scan gives [`DbError::ForeignTable`].
    pub fn scan(&self, table: Table, bound: &[u8], direction: Direction) -> Scan<'_, 'd> {
        Scan::new(&self.view, self.tree_to_scan(table), Some(bound), direction)
    }

    /// All records in the direction's order; as [`Transaction::scan`].
    pub fn scan_all(&self, table: Table, direction: Direction) -> Scan<'_, 'd> {
        Scan::new(&self.view, self.tree_to_scan(table), None, direction)
    }

    /// The commit makes a tree, and names it.
    pub(crate) fn create_tree(
        &mut self,
        name: &str,
        root: u32,
        number: u32,
    ) -> Result<(), DbError> {
        self.also = Also::Makes(root);
        self.name_tree(name, &Catalog::entry(root, number, false))
    }

    /// The commit gives a name to a table with this entry.
    pub(crate) fn name_tree(&mut self, name: &str, entry: &[u8]) -> Result<(), DbError> {
        check_key(name.as_bytes())?;
        self.set(CATALOG, name.as_bytes(), WriteKind::Put, entry)
    }

    /// Ends the transaction; nothing was written.
    pub fn rollback(self) {}
}

#[inline]
fn check_key(key: &[u8]) -> Result<(), DbError> {
    match key.len() <= LONGEST_KEY {
        true => Ok(()),
        false => Err(DbError::KeyTooLong { bytes: key.len(), longest: LONGEST_KEY }),
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if let Some(writes) = self.view.writes.take() {
            self.core.reuse(writes);
        }
        for &(number, _) in &self.made {
            self.core.unowned.add(0, number);
        }
    }
}
