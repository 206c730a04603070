//! Writes of values that are too long for a page.

use std::sync::atomic::Ordering::Relaxed;

use super::{Isolation, Transaction};
use crate::DbError;
use crate::catalog::{Catalog, Table};
use crate::layout::{CATALOG, OVERFLOW_TREE};
use crate::mvcc::{Lookup, WriteKind};
use crate::overflow::{LONGEST_VALUE, PIECE, parse_overflow, piece_key, reference_to};

impl Transaction<'_> {
    /// Removes the pieces of the value that a key has, if there are any.
    #[inline]
    pub(super) fn drop_overflow(&mut self, table: Table, key: &[u8]) -> Result<(), DbError> {
        if !self.core.catalog.has_overflow(table) {
            return Ok(());
        }
        let mut value = Vec::new();
        if self.view.find(table.root, key, &mut value)? == Lookup::Overflow {
            let (id, len) = parse_overflow(&value)?;
            for n in 0..len.div_ceil(PIECE) {
                self.set(OVERFLOW_TREE, &piece_key(id, n), WriteKind::Delete, &[])?;
            }
        }
        Ok(())
    }

    /// Sets a value that is too long for a page, under a number of its own.
    #[cold]
    pub(super) fn put_overflow(
        &mut self,
        table: Table,
        key: &[u8],
        value: &[u8],
    ) -> Result<(), DbError> {
        if value.len() > LONGEST_VALUE {
            return Err(DbError::ValueTooLong { bytes: value.len(), longest: LONGEST_VALUE });
        }
        // Before it is copied: the commit's record has all of it.
        let (bytes, most) = (value.len() as u64, self.core.trees.wal().largest_record() as u64);
        if bytes > most {
            return Err(DbError::TooLarge { bytes, logged: bytes, most });
        }
        // In this order: after an error in one of the first two nothing is written.
        self.announce_overflow(table)?;
        self.drop_overflow(table, key)?;
        let id = self.core.next_overflow.fetch_add(1, Relaxed);
        for (n, piece) in value.chunks(PIECE).enumerate() {
            self.set(OVERFLOW_TREE, &piece_key(id, n), WriteKind::Put, piece)?;
        }
        self.set(table.root, key, WriteKind::PutOverflow, &reference_to(id, value.len()))
    }

    /// Marks a table in the catalog as one that may have overflow records. This is a commit of its
    /// own: this transaction may never commit, but others rely on the mark from now on.
    fn announce_overflow(&self, table: Table) -> Result<(), DbError> {
        let catalog = &self.core.catalog;
        let _one_at_a_time = catalog.lock();
        let (false, Some(name)) = (catalog.has_overflow(table), catalog.name(table)) else {
            return Ok(());
        };
        let mut announcement = Transaction::begin(self.core, Isolation::Snapshot)?;
        let entry = Catalog::entry(table, true);
        announcement.set(CATALOG, name.as_bytes(), WriteKind::Put, &entry)?;
        announcement.commit_soon()?;
        catalog.note_overflow(table);
        Ok(())
    }
}
