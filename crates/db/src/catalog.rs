//! The tables of a database.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};

use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard};

use crate::DbError;
use crate::layout::{CATALOG, OVERFLOW_TREE};

/// Tables that there can be.
pub(crate) const MOST_TABLES: usize = 4096;

/// The handle of a table, for transactions of the database that gave it.
///
/// It is valid until that database is closed or dropped, or the table is deleted. Neither
/// another database takes it, nor the same one once it was opened again, whose tables may be
/// others by then: restored from a backup, or as they were before a crash. Both refuse it
/// with [`DbError::ForeignTable`], and the database whose table was deleted with
/// [`DbError::TableDeleted`]; [`crate::Db::table`] gives a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Table {
    /// The opening of a database that it is of.
    opening: u64,
    /// No other table of the opening has the same.
    stamp: u64,
    /// Snapshots before this position of the log see nothing of it.
    pub(crate) since: u64,
    /// The page number of the root.
    pub(crate) root: u32,
    /// Its place among the tables.
    pub(crate) number: u32,
}

/// All tables.
pub(crate) struct Catalog {
    /// No other opening of a database in this process has the same.
    opening: u64,
    names: RwLock<Vec<(String, Table)>>,
    making: Mutex<()>,
    /// By number: whether a value of the table may be in pieces.
    has_overflow: Box<[AtomicBool]>,
    /// By number: the stamp of the table that has it; 0 if none has.
    stamps: Box<[AtomicU64]>,
    next_stamp: AtomicU64,
    /// Tables that were deleted, and whose pages are not all freed, by their roots: their numbers.
    deleted: RwLock<BTreeMap<u32, u32>>,
    /// Numbers of tables that are being made.
    promised: Mutex<BTreeSet<u32>>,
    /// Each commit shares this until its writes are made.
    committing: RwLock<()>,
}

impl Default for Catalog {
    fn default() -> Self {
        static OPENINGS: AtomicU64 = AtomicU64::new(0);
        Catalog {
            opening: OPENINGS.fetch_add(1, Relaxed),
            names: RwLock::default(),
            making: Mutex::default(),
            has_overflow: (0..MOST_TABLES).map(|_| AtomicBool::new(false)).collect(),
            stamps: (0..MOST_TABLES).map(|_| AtomicU64::new(0)).collect(),
            next_stamp: AtomicU64::new(1),
            deleted: RwLock::default(),
            promised: Mutex::default(),
            committing: RwLock::default(),
        }
    }
}

/// Bytes of a table's entry in the catalog's tree: root, number, whether values may be in pieces.
const ENTRY: usize = 9;

/// The number of a table that is being made.
pub(crate) struct Number<'c> {
    catalog: &'c Catalog,
    /// The number.
    pub number: u32,
}

impl Drop for Number<'_> {
    fn drop(&mut self) {
        self.catalog.promised.lock().remove(&self.number);
    }
}

impl Catalog {
    /// The root of a table's tree; an error if the handle is of another database, or opening, or of
    /// a table that was deleted.
    #[inline]
    pub(crate) fn tree(&self, table: Table) -> Result<u32, DbError> {
        let stamp = &self.stamps[table.number as usize];
        match (table.opening == self.opening, stamp.load(Acquire) == table.stamp) {
            (true, true) => Ok(table.root),
            (true, false) => Err(DbError::TableDeleted),
            (false, _) => Err(DbError::ForeignTable),
        }
    }

    /// The entry in the tree of a table with this root and number.
    pub(crate) fn entry(root: u32, number: u32, has_overflow: bool) -> [u8; ENTRY] {
        let mut entry = [0; ENTRY];
        entry[..4].copy_from_slice(&root.to_le_bytes());
        entry[4..8].copy_from_slice(&number.to_le_bytes());
        entry[8] = u8::from(has_overflow);
        entry
    }

    /// Takes a table over from its entry. Snapshots before `since` see nothing of it.
    pub(crate) fn add(&self, name: &[u8], entry: &[u8], since: u64) -> Result<Table, DbError> {
        let wrong = || DbError::Page { page: CATALOG, what: "names no table" };
        let entry: &[u8; ENTRY] = entry.try_into().map_err(|_| wrong())?;
        let field = |at: usize| {
            u32::from_le_bytes([entry[at], entry[at + 1], entry[at + 2], entry[at + 3]])
        };
        let (root, number, stamp) = (field(0), field(4), self.next_stamp.fetch_add(1, Relaxed));
        let table = Table { opening: self.opening, stamp, since, root, number };
        let flag = self.has_overflow.get(table.number as usize).ok_or_else(wrong)?;
        let name = String::from_utf8(name.to_vec()).map_err(|_| wrong())?;
        flag.store(entry[8] != 0, Release);
        self.stamps[number as usize].store(stamp, Release);
        let mut names = self.names.write();
        names.push((name, table));
        Ok(table)
    }

    /// Held by the thread that makes, renames or deletes a table.
    pub(crate) fn lock(&self) -> MutexGuard<'_, ()> {
        self.making.lock()
    }

    /// The table of this name.
    pub(crate) fn find(&self, name: &str) -> Option<Table> {
        let names = self.names.read();
        names.iter().find(|(other, _)| other == name).map(|&(_, table)| table)
    }

    /// All tables, by name.
    pub(crate) fn list(&self) -> Vec<(String, Table)> {
        let mut names = self.names.read().clone();
        names.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        names
    }

    /// The name of a table.
    pub(crate) fn name(&self, table: Table) -> Option<String> {
        let names = self.names.read();
        names.iter().find(|(_, other)| *other == table).map(|(name, _)| name.clone())
    }

    /// True if a tree is of a table that is not deleted, or of none.
    pub(crate) fn has_tree(&self, root: u32) -> bool {
        let is_of_none = matches!(root, CATALOG | OVERFLOW_TREE);
        is_of_none || self.names.read().iter().any(|(_, table)| table.root == root)
    }

    /// Gives a table another name.
    pub(crate) fn rename(&self, table: Table, name: &str) {
        let mut names = self.names.write();
        names
            .iter_mut()
            .filter(|(_, other)| *other == table)
            .for_each(|(old, _)| *old = name.to_string());
    }

    /// A number that no table has, and the next table gets.
    pub(crate) fn next_number(&self) -> Result<Number<'_>, DbError> {
        let (names, deleted, mut promised) =
            (self.names.read(), self.deleted.read(), self.promised.lock());
        let mut is_free = vec![true; MOST_TABLES];
        let tables = names.iter().map(|(_, table)| table.number);
        for number in tables.chain(deleted.values().copied()).chain(promised.iter().copied()) {
            if let Some(is_free) = is_free.get_mut(number as usize) {
                *is_free = false;
            }
        }
        let full =
            || DbError::Options { what: "tables", why: format!("there are {MOST_TABLES} already") };
        let number = is_free.iter().position(|&is_free| is_free).ok_or_else(full)? as u32;
        promised.insert(number);
        drop(promised);
        Ok(Number { catalog: self, number })
    }

    /// A table is deleted: no handle of it is taken from now on, and no commit that writes to it is
    /// under way when this returns.
    pub(crate) fn delete(&self, table: Table) {
        let _none_is_under_way = self.committing.write();
        self.deleted.write().insert(table.root, table.number);
        self.stamps[table.number as usize].store(0, Release);
    }

    /// A table was not deleted after all.
    pub(crate) fn undelete(&self, table: Table) {
        self.stamps[table.number as usize].store(table.stamp, Release);
        self.deleted.write().remove(&table.root);
    }

    /// The name of a table that is deleted is free.
    pub(crate) fn forget_name(&self, table: Table) {
        self.names.write().retain(|(_, other)| *other != table);
    }

    /// All pages of a deleted table are free: another may have its root and its number.
    pub(crate) fn forget(&self, root: u32) {
        self.deleted.write().remove(&root);
    }

    /// A commit makes its writes: no table is deleted until the guard is dropped. A commit that
    /// others may wait for, and that writes to no table, does not wait for a deletion that waits
    /// for those.
    pub(crate) fn committing(&self, is_waited_for: bool) -> RwLockReadGuard<'_, ()> {
        if is_waited_for { self.committing.read_recursive() } else { self.committing.read() }
    }

    /// Fails if a tree is of a table that was deleted.
    pub(crate) fn check_trees(&self, mut trees: impl Iterator<Item = u32>) -> Result<(), DbError> {
        let deleted = self.deleted.read();
        match deleted.is_empty() || !trees.any(|tree| deleted.contains_key(&tree)) {
            true => Ok(()),
            false => Err(DbError::TableDeleted),
        }
    }

    /// True if a value of the table may be in pieces.
    #[inline]
    pub(crate) fn has_overflow(&self, table: Table) -> bool {
        self.has_overflow[table.number as usize].load(Acquire)
    }

    /// A value of the table may be in pieces from now on, as its entry says.
    pub(crate) fn note_overflow(&self, table: Table) {
        self.has_overflow[table.number as usize].store(true, Release);
    }
}
