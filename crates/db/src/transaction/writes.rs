//! Writes of a transaction, of values of any length.

use std::io::{ErrorKind, Read};
use std::sync::Arc;

use super::Transaction;
use crate::DbError;
use crate::catalog::Table;
use crate::layout::IN_PAGES;
use crate::mvcc::WriteKind;
use crate::node::LONGEST_RECORD;
use crate::overflow::{Gathered, LONGEST_VALUE, LongValue, ValueReader, ValueWriter};

impl<'d> Transaction<'d> {
    /// Sets the value of a key.
    ///
    /// # Errors
    /// A read-only transaction; a key or a value that is too long; a damaged page; an error of
    /// the device; [`DbError::ForeignTable`]. The transaction is as it was before. One that has
    /// written 4 GiB gets [`DbError::TooLarge`], and can't be committed.
    #[inline]
    pub fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<(), DbError> {
        let tree = self.tree_for(table, key)?;
        if key.len() + value.len() > LONGEST_RECORD {
            return self.put_long(table, key, value);
        }
        self.drop_overflow(table, key)?;
        self.set(tree, key, WriteKind::Put, value)
    }

    /// Overwrites bytes of the value of a key from `at`: cheaper than to get and put it all.
    /// Bytes beyond the end of the value are left out, and nothing happens if there is no value.
    ///
    /// # Errors
    /// As for [`Transaction::put`].
    pub fn patch(
        &mut self,
        table: Table,
        key: &[u8],
        at: usize,
        bytes: &[u8],
    ) -> Result<(), DbError> {
        let tree = self.tree_for(table, key)?;
        match self.overflow_of(table, key)? {
            Some((id, _)) if id & IN_PAGES != 0 => self.patch_pages(table, key, at, bytes),
            Some(value) => self.patch_pieces(table, value, at, bytes),
            None => {
                let at = at.min(LONGEST_RECORD);
                let bytes = &bytes[..bytes.len().min(LONGEST_RECORD - at)];
                let is_set = self.own()?.patch(tree, key, at as u16, bytes);
                self.check_room(is_set)
            }
        }
    }

    /// Removes a key and its value, if they are there.
    ///
    /// # Errors
    /// As for [`Transaction::put`].
    pub fn delete(&mut self, table: Table, key: &[u8]) -> Result<(), DbError> {
        let tree = self.tree_for(table, key)?;
        self.drop_overflow(table, key)?;
        self.set(tree, key, WriteKind::Delete, &[])
    }

    /// Sets a value that is too long for a page.
    #[cold]
    fn put_long(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<(), DbError> {
        if value.len() > LONGEST_VALUE {
            return Err(DbError::ValueTooLong { bytes: value.len(), longest: LONGEST_VALUE });
        }
        if value.len() <= self.core.longest_logged_value() {
            return self.put_pieces(table, key, value);
        }
        let mut long = self.long_value();
        long.append(value)?;
        self.put_value(table, key, long)
    }

    /// A writer of the value of a key: for values that are too long for memory. What it was given
    /// is in the store already when it is [finished](ValueWriter::finish), and goes again unless
    /// the transaction is committed.
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
            Gathered::Pages(number, bytes) => self.put_pages(table, key, number, bytes),
        }
    }

    /// Sets the value of a key to what a reader gives up to its end; the bytes of that.
    ///
    /// # Errors
    /// As for [`Transaction::put`]; [`DbError::Input`] if the reader fails: the key has the value
    /// that it had.
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

    /// Overwrites bytes of a value that is in pages, which goes to others as it is copied.
    fn patch_pages(
        &mut self,
        table: Table,
        key: &[u8],
        at: usize,
        bytes: &[u8],
    ) -> Result<(), DbError> {
        // A view of the same snapshot, as the transaction is written to meanwhile.
        let mut value = Vec::new();
        let found = self.find(table, key, None, &mut value)?;
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
}
