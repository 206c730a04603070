//! Where values lie that are too long for a page: in pieces or in pages, which go when they are
//! replaced.

use std::sync::atomic::Ordering::Relaxed;

use super::{Isolation, Transaction};
use crate::DbError;
use crate::catalog::{Catalog, Table};
use crate::layout::{CATALOG, OVERFLOW_TREE};
use crate::mvcc::{Lookup, WriteKind, WriteSet, hash_of};
use crate::overflow::{IN_PAGES, Owner, PIECE, head_key, parse_overflow, piece_key, reference_to};

impl Transaction<'_> {
    /// Removes the pieces of the value that a key has, if there are any.
    #[inline]
    pub(super) fn drop_overflow(&mut self, table: Table, key: &[u8]) -> Result<(), DbError> {
        if !self.core.catalog.has_overflow(table) {
            return Ok(());
        }
        let mut value = Vec::new();
        if self.view.find(table.root, key, None, &mut value)? == Lookup::Overflow {
            let (id, len) = parse_overflow(&value)?;
            if id & IN_PAGES != 0 {
                self.replaced.push(id);
                return self.set_owner(id, Owner::Nothing);
            }
            for n in 0..len.div_ceil(PIECE) {
                self.set(OVERFLOW_TREE, &piece_key(id, n), WriteKind::Delete, &[])?;
            }
        }
        Ok(())
    }

    /// Sets the value of a key to pieces of it, under a number of its own.
    pub(super) fn put_pieces(
        &mut self,
        table: Table,
        key: &[u8],
        value: &[u8],
    ) -> Result<(), DbError> {
        // In this order: after an error in one of the first two nothing is written.
        self.announce_overflow(table)?;
        self.drop_overflow(table, key)?;
        let id = self.core.next_overflow.fetch_add(1, Relaxed);
        for (n, piece) in value.chunks(PIECE).enumerate() {
            self.set(OVERFLOW_TREE, &piece_key(id, n), WriteKind::Put, piece)?;
        }
        self.set(table.root, key, WriteKind::PutOverflow, &reference_to(id, value.len()))
    }

    /// Sets the value of a key to one that this transaction wrote to pages.
    pub(super) fn put_pages(
        &mut self,
        table: Table,
        key: &[u8],
        number: u64,
        bytes: usize,
    ) -> Result<(), DbError> {
        self.made.push((number, bytes));
        let tree = self.tree_for(table, key)?;
        self.announce_overflow(table)?;
        self.drop_overflow(table, key)?;
        self.set_owner(number, Owner::Record)?;
        self.set(tree, key, WriteKind::PutOverflow, &reference_to(number, bytes))
    }

    /// Writes into the head of a value who has it. Heads exist already, so it needs no room.
    pub(crate) fn set_owner(&mut self, number: u64, owner: Owner) -> Result<(), DbError> {
        let is_set = self.own()?.patch(OVERFLOW_TREE, &head_key(number), 0, &[owner as u8]);
        self.check_room(is_set)
    }

    /// The owner of a value's pages once these writes are made; none if they do not say.
    pub(super) fn owner(&self, writes: &WriteSet, number: u64) -> Option<Owner> {
        let key = head_key(number);
        let change = writes.find(OVERFLOW_TREE, &key, hash_of(OVERFLOW_TREE, &key))?;
        change.patches().last().and_then(|(_, state)| Owner::parse(state))
    }

    /// The writes are committed at `position`: pages that have no owner by them are to be freed.
    /// Returns the bytes of values in pages that were written.
    pub(super) fn tell_unowned(&mut self, writes: &WriteSet, position: u64) -> u64 {
        let (made, replaced) = (std::mem::take(&mut self.made), std::mem::take(&mut self.replaced));
        for &number in
            replaced.iter().filter(|number| !made.iter().any(|(made, _)| made == *number))
        {
            if self.owner(writes, number) == Some(Owner::Nothing) {
                self.core.unowned.add(position, number);
            }
        }
        let mut written = 0;
        for (number, bytes) in made {
            match self.owner(writes, number) {
                Some(Owner::Record) => written += bytes as u64,
                _ => self.core.unowned.add(0, number),
            }
        }
        written
    }

    /// True if the value of a key is in pages.
    pub(super) fn has_pages(&self, table: Table, key: &[u8]) -> Result<bool, DbError> {
        let mut value = Vec::new();
        Ok(self.find(table, key, None, &mut value)? == Lookup::Overflow
            && parse_overflow(&value)?.0 & IN_PAGES != 0)
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
        let entry = Catalog::entry(table.root, table.number, true);
        announcement.set(CATALOG, name.as_bytes(), WriteKind::Put, &entry)?;
        announcement.commit_soon()?;
        catalog.note_overflow(table);
        Ok(())
    }
}
