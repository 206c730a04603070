//! The tables of a database.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};

use parking_lot::{Mutex, MutexGuard, RwLock};

use crate::DbError;

/// Tables that there can be.
pub const MOST_TABLES: usize = 4096;

/// The handle of a table, for transactions of the database that gave it.
///
/// It is valid until that database is closed or dropped. Neither another database takes it, nor the same one
/// once it was opened again, whose tables may be others by then: restored from a backup, or as they were
/// before a crash. Both refuse it with [`DbError::ForeignTable`]; [`crate::Db::table`] gives a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Table {
    /// The opening of a database that it is of.
    opening: u64,
    /// The page number of the root.
    pub(crate) root: u32,
    /// Its place among the tables.
    pub(crate) number: u32,
}

/// All tables.
pub struct Catalog {
    /// No other opening of a database in this process has the same.
    opening: u64,
    names: RwLock<Vec<(String, Table)>>,
    making: Mutex<()>,
    /// By number: whether a value of the table may be in pieces.
    has_overflow: Box<[AtomicBool]>,
}

impl Default for Catalog {
    fn default() -> Self {
        static OPENINGS: AtomicU64 = AtomicU64::new(0);
        Catalog {
            opening: OPENINGS.fetch_add(1, Relaxed),
            names: RwLock::default(),
            making: Mutex::default(),
            has_overflow: (0..MOST_TABLES).map(|_| AtomicBool::new(false)).collect(),
        }
    }
}

/// Bytes of a table's entry in the catalog's tree: root, number, whether values may be in pieces.
const ENTRY: usize = 9;

impl Catalog {
    /// The handle of a table with this root and number.
    pub fn handle(&self, root: u32, number: u32) -> Table {
        Table { opening: self.opening, root, number }
    }

    /// The root of a table's tree; an error if the handle is of another database, or opening.
    #[inline]
    pub fn tree(&self, table: Table) -> Result<u32, DbError> {
        if table.opening == self.opening { Ok(table.root) } else { Err(DbError::ForeignTable) }
    }

    /// A table's entry in the tree.
    pub fn entry(table: Table, has_overflow: bool) -> [u8; ENTRY] {
        let mut entry = [0; ENTRY];
        entry[..4].copy_from_slice(&table.root.to_le_bytes());
        entry[4..8].copy_from_slice(&table.number.to_le_bytes());
        entry[8] = u8::from(has_overflow);
        entry
    }

    /// Takes a table over from its entry.
    pub fn add(&self, name: &[u8], entry: &[u8]) -> Result<Table, DbError> {
        let wrong = || DbError::Page { page: crate::layout::CATALOG, what: "names no table" };
        let entry: &[u8; ENTRY] = entry.try_into().map_err(|_| wrong())?;
        let number = |at: usize| {
            u32::from_le_bytes([entry[at], entry[at + 1], entry[at + 2], entry[at + 3]])
        };
        let table = self.handle(number(0), number(4));
        let flag = self.has_overflow.get(table.number as usize).ok_or_else(wrong)?;
        let name = String::from_utf8(name.to_vec()).map_err(|_| wrong())?;
        flag.store(entry[8] != 0, Release);
        let mut names = self.names.write();
        names.push((name, table));
        Ok(table)
    }

    /// Held by the thread that makes a table.
    pub fn lock(&self) -> MutexGuard<'_, ()> {
        self.making.lock()
    }

    /// The table of this name.
    pub fn find(&self, name: &str) -> Option<Table> {
        let names = self.names.read();
        names.iter().find(|(other, _)| other == name).map(|&(_, table)| table)
    }

    /// All tables, by name.
    pub fn list(&self) -> Vec<(String, Table)> {
        let mut names = self.names.read().clone();
        names.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        names
    }

    /// The name of a table.
    pub fn name(&self, table: Table) -> Option<String> {
        let names = self.names.read();
        names.iter().find(|(_, other)| *other == table).map(|(name, _)| name.clone())
    }

    /// The number that the next table gets.
    pub fn next_number(&self) -> u32 {
        let names = self.names.read();
        names.iter().map(|(_, table)| table.number + 1).max().unwrap_or(0)
    }

    /// True if a value of the table may be in pieces.
    #[inline]
    pub fn has_overflow(&self, table: Table) -> bool {
        self.has_overflow[table.number as usize].load(Acquire)
    }

    /// A value of the table may be in pieces from now on, as its entry says.
    pub fn note_overflow(&self, table: Table) {
        self.has_overflow[table.number as usize].store(true, Release);
    }
}
