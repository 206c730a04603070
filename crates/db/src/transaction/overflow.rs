//! Writes of values that are too long for a page.

use std::io::{ErrorKind, Read};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::{Isolation, Transaction};
use crate::DbError;
use crate::catalog::{Catalog, Table};
use crate::layout::{CATALOG, OVERFLOW_TREE};
use crate::mvcc::{Lookup, WriteKind, WriteSet, hash_of};
use crate::overflow::{
    Gathered, IN_PAGES, LONGEST_VALUE, LongValue, Owner, PIECE, ValueReader, ValueWriter, head_key,
    parse_overflow, piece_key, reference_to,
};

impl<'d> Transaction<'d> {
    /// Removes the pieces of the value that a key has, if there are any.
    #[inline]
    pub(super) fn drop_overflow(&mut self, table: Table, key: &[u8]) -> Result<(), DbError> {
        if !self.core.catalog.has_overflow(table) {
            return Ok(());
        }
        let mut value = Vec::new();
        if self.view.find(table.root, key, &mut value)? == Lookup::Overflow {
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
        if value.len() > self.core.longest_logged_value() {
            let mut long = self.long_value();
            long.append(value)?;
            return self.put_value(table, key, long);
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

    /// A writer of the value of a key: for values that are too long for memory. What it was given is in the store
    /// already when it is [finished](ValueWriter::finish), and goes again unless the transaction is committed.
    ///
    /// ```
    /// # use frostline_db::{Create, Db, Options};
    /// # use frostline_zone::{Shape, in_memory};
    /// use std::io::{Read, Write};
    /// # let device = in_memory(&Shape { bytes: 64 << 20, ..Shape::default() })?;
    /// # Db::create(&device, &Create::default())?;
    /// # let db = Db::open(&device, &Options::default())?;
    /// let films = db.create_table("films")?;
    /// let mut transaction = db.begin()?;
    /// let mut film = transaction.value_writer(films, b"Nosferatu")?;
    /// (0..1000).try_for_each(|frame| film.write_all(&[frame as u8; 1000]))?;
    /// film.finish()?;
    /// transaction.commit()?;
    ///
    /// let look = db.begin_read()?;
    /// let Some(mut film) = look.value_reader(films, b"Nosferatu")? else { return Ok(()) };
    /// assert_eq!((film.len(), film.read(&mut [0; 500])?), (1_000_000, 500));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Transaction::put`].
    pub fn value_writer(
        &mut self,
        table: Table,
        key: &[u8],
    ) -> Result<ValueWriter<'_, 'd>, DbError> {
        self.tree_for(table, key)?;
        Ok(ValueWriter::new(self, table, key))
    }

    /// A reader of the value of a key; none if it has none. A value that is too long for a page is read as it is
    /// asked for.
    ///
    /// # Errors
    /// As for [`Transaction::get`].
    pub fn value_reader(
        &self,
        table: Table,
        key: &[u8],
    ) -> Result<Option<ValueReader<'_, 'd>>, DbError> {
        let mut value = Vec::new();
        let found = self.find(table, key, &mut value)?;
        ValueReader::new(&self.view, found, value)
    }

    /// A value to be gathered, for a key of this transaction or another one.
    pub fn long_value(&self) -> LongValue<'d> {
        LongValue::new(self.core)
    }

    /// Sets the value of a key to one that was gathered.
    ///
    /// # Errors
    /// As for [`Transaction::put`]; the database is full.
    pub fn put_value(
        &mut self,
        table: Table,
        key: &[u8],
        value: LongValue<'d>,
    ) -> Result<(), DbError> {
        self.tree_for(table, key)?;
        if !std::ptr::eq(value.core(), self.core) {
            return Err(DbError::ForeignTable);
        }
        match value.end()? {
            Gathered::Whole(value) => self.put(table, key, &value),
            Gathered::Pages(number, bytes) => {
                self.made.push((number, bytes));
                self.name_value(table, key, number, bytes)
            }
        }
    }

    /// Sets the value of a key to what a reader gives up to its end; the bytes of that.
    ///
    /// # Errors
    /// As for [`Transaction::put`]; [`DbError::Input`] if the reader fails: the key has the value that it had.
    pub fn put_from(
        &mut self,
        table: Table,
        key: &[u8],
        mut reader: impl Read,
    ) -> Result<u64, DbError> {
        self.tree_for(table, key)?;
        let (mut value, mut part) = (self.long_value(), vec![0; 64 << 10]);
        loop {
            match reader.read(&mut part) {
                Ok(0) => break,
                Ok(count) => value.append(&part[..count.min(part.len())])?,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(DbError::Input(Arc::new(error))),
            }
        }
        let bytes = value.len() as u64;
        self.put_value(table, key, value)?;
        Ok(bytes)
    }

    /// Sets the value of a key to one that is in pages.
    fn name_value(
        &mut self,
        table: Table,
        key: &[u8],
        number: u64,
        bytes: usize,
    ) -> Result<(), DbError> {
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

    /// The writes are committed at `position`: pages that have no owner by them are to be freed. Returns the bytes of
    /// values in pages that were written.
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
        Ok(self.find(table, key, &mut value)? == Lookup::Overflow
            && parse_overflow(&value)?.0 & IN_PAGES != 0)
    }

    /// Overwrites bytes of a value that is in pages, which goes to others as it is copied.
    pub(super) fn patch_pages(
        &mut self,
        table: Table,
        key: &[u8],
        at: usize,
        bytes: &[u8],
    ) -> Result<(), DbError> {
        // A view of the same snapshot, as the transaction is written to meanwhile.
        let mut value = Vec::new();
        let found = self.find(table, key, &mut value)?;
        let view = self.view.alike();
        let Some(mut reader) = ValueReader::new(&view, found, value)? else { return Ok(()) };
        let (mut writer, mut begins) = (self.long_value(), 0);
        loop {
            let mut part = reader.next_part()?.to_vec();
            if part.is_empty() {
                return self.put_value(table, key, writer);
            }
            reader.pass(part.len() as u64);
            let (from, skipped) = (at.saturating_sub(begins), begins.saturating_sub(at));
            let patched = part.iter_mut().skip(from).zip(bytes.iter().skip(skipped));
            patched.for_each(|(byte, &new)| *byte = new);
            begins += part.len();
            writer.append(&part)?;
        }
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
