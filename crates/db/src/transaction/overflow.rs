//! Where values lie that are too long for a page: in pieces or in pages, which go when they are
//! replaced.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use super::{Isolation, Transaction};
use crate::DbError;
use crate::catalog::{Catalog, Table};
use crate::layout::{CATALOG, IN_PAGES, OVERFLOW_TREE};
use crate::mvcc::{WriteKind, WriteSet, hash_of};
use crate::overflow::{Owner, PIECE, head_key, parse_overflow, piece_key, reference_to};

impl Transaction<'_> {
    /// Number and length of the long value that a key has; none if it has none.
    #[inline]
    pub(super) fn overflow_of(
        &self,
        table: Table,
        key: &[u8],
    ) -> Result<Option<(u64, usize)>, DbError> {
        if !self.core.catalog.has_overflow(table) {
            return Ok(None);
        }
        let mut value = Vec::new();
        let is_long = self.view.find_reference(table.root, key, &mut value)?;
        is_long.then(|| parse_overflow(&value)).transpose()
    }

    /// Removes the pieces of the value that a key has, if there are any.
    #[inline]
    pub(super) fn drop_overflow(&mut self, table: Table, key: &[u8]) -> Result<(), DbError> {
        match self.overflow_of(table, key)? {
            Some((id, _)) if id & IN_PAGES != 0 => self.drop_pages(id),
            Some((id, len)) => self.drop_pieces(id, 0..len.div_ceil(PIECE)),
            None => Ok(()),
        }
    }

    fn drop_pages(&mut self, id: u64) -> Result<(), DbError> {
        self.replaced.push(id);
        self.set_owner(id, Owner::Nothing)
    }

    fn drop_pieces(&mut self, id: u64, places: Range<usize>) -> Result<(), DbError> {
        for n in places {
            self.set(OVERFLOW_TREE, &piece_key(id, n), WriteKind::Delete, &[])?;
        }
        Ok(())
    }

    /// Sets the value of a key to pieces of it. Those of the value before get other bytes, so the
    /// key's record stays as it is if the length does. Whoever writes to a key whose value is in
    /// pieces writes to the first piece: that is how a conflict is noticed.
    pub(super) fn put_pieces(
        &mut self,
        table: Table,
        key: &[u8],
        value: &[u8],
    ) -> Result<(), DbError> {
        // In this order: after an error in one of the first two nothing is written.
        self.announce_overflow(table)?;
        let before = self.overflow_of(table, key)?;
        let (id, len) = match before {
            Some((id, len)) if id & IN_PAGES == 0 => (id, len),
            _ => {
                if let Some((id, _)) = before {
                    self.drop_pages(id)?;
                }
                (self.core.next_overflow.fetch_add(1, Relaxed), 0)
            }
        };
        for (n, piece) in value.chunks(PIECE).enumerate() {
            let is_as_long = piece.len() == len.saturating_sub(n * PIECE).min(PIECE);
            self.put_piece(&piece_key(id, n), piece, is_as_long)?;
        }
        self.drop_pieces(id, value.len().div_ceil(PIECE)..len.div_ceil(PIECE))?;
        if before == Some((id, value.len())) {
            self.writes_in_place_to(table);
            return Ok(());
        }
        self.set(table.root, key, WriteKind::PutOverflow, &reference_to(id, value.len()))
    }

    /// Sets a piece, which may be as long as the one before, its own or another's.
    fn put_piece(&mut self, key: &[u8], piece: &[u8], is_as_long: bool) -> Result<(), DbError> {
        let own = self.writes().find(OVERFLOW_TREE, key, hash_of(OVERFLOW_TREE, key));
        let is_put = own.is_some_and(|change| change.kind == WriteKind::Put);
        let kind = if is_as_long && !is_put { WriteKind::Overwrite } else { WriteKind::Put };
        self.set(OVERFLOW_TREE, key, kind, piece)
    }

    /// Overwrites bytes of a value in pieces.
    pub(super) fn patch_pieces(
        &mut self,
        table: Table,
        (id, len): (u64, usize),
        at: usize,
        bytes: &[u8],
    ) -> Result<(), DbError> {
        self.writes_in_place_to(table);
        let bytes = &bytes[..bytes.len().min(len.saturating_sub(at))];
        let mut patch = |n, at, part: &[u8]| {
            let is_set = self.own()?.patch(OVERFLOW_TREE, &piece_key(id, n), at as u16, part);
            self.check_room(is_set)
        };
        // Of the others none may be the first.
        patch(0, 0, &[])?;
        let (mut at, mut rest) = (at, bytes);
        while !rest.is_empty() {
            let (part, behind) = rest.split_at(rest.len().min(PIECE - at % PIECE));
            patch(at / PIECE, at % PIECE, part)?;
            (at, rest) = (at + part.len(), behind);
        }
        Ok(())
    }

    /// Notes that pieces of a table's values are written, and perhaps no record of the table.
    fn writes_in_place_to(&mut self, table: Table) {
        if !self.in_place.contains(&table.root) {
            self.in_place.push(table.root);
        }
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
