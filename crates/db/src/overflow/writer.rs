//! The way of a long value into a transaction, a part at a time.

use std::io::{self, Write};

use frostline_store::RoomFor;

use super::{Ahead, LONGEST_VALUE, PAGE_DATA, PageOfValue, value_page};
use crate::DbError;
use crate::catalog::Table;
use crate::core::Core;
use crate::node::PAGE_BYTES;
use crate::space::Outgoing;
use crate::transaction::Transaction;

/// Pages that are taken together: each time the log is flushed.
const TOGETHER: usize = 1024;

/// Bytes of a value that are written together.
const PART: usize = TOGETHER * PAGE_DATA;

/// Pages that the store gets at once.
const BATCH: usize = 64;

/// A value that is gathered, of any length up to [`LONGEST_VALUE`], in 5 MB of memory: what is
/// longer is in pages of the store, which are freed again unless the value becomes that of a key:
/// see [`Transaction::put_value`].
pub struct LongValue<'d> {
    core: &'d Core,
    /// The end of the value, which is in no page yet.
    rest: Vec<u8>,
    pages: Option<Ahead<'d>>,
    bytes: usize,
}

/// Where a value was gathered.
pub(crate) enum Gathered {
    /// In memory: it is to go through the log.
    Whole(Vec<u8>),
    /// In pages under this number, so many bytes.
    Pages(u64, usize),
}

impl<'d> LongValue<'d> {
    /// An empty value.
    pub(crate) fn new(core: &'d Core) -> Self {
        LongValue { core, rest: Vec::new(), pages: None, bytes: 0 }
    }

    pub(crate) fn core(&self) -> &'d Core {
        self.core
    }

    /// Bytes so far.
    #[expect(clippy::len_without_is_empty, reason = "a value is not a collection")]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Appends bytes to the value.
    ///
    /// # Errors
    /// The value becomes too long; the database is full; an error of the device. The value is of no
    /// use then.
    pub fn append(&mut self, mut bytes: &[u8]) -> Result<(), DbError> {
        let all = self.bytes.saturating_add(bytes.len());
        if all > LONGEST_VALUE {
            return Err(DbError::ValueTooLong { bytes: all, longest: LONGEST_VALUE });
        }
        while !bytes.is_empty() {
            let room = PART - self.rest.len();
            let (first, others) = bytes.split_at(room.min(bytes.len()));
            if first.len() == PART {
                self.write_part(first)?;
            } else {
                self.rest.extend_from_slice(first);
                if self.rest.len() == PART {
                    self.write_rest()?;
                }
            }
            self.bytes += first.len();
            bytes = others;
        }
        Ok(())
    }

    /// Ends the value. The caller owns its pages.
    pub(crate) fn end(mut self) -> Result<Gathered, DbError> {
        if self.pages.is_none() && self.bytes <= self.core.longest_logged_value() {
            return Ok(Gathered::Whole(std::mem::take(&mut self.rest)));
        }
        if !self.rest.is_empty() {
            self.write_rest()?;
        }
        let pages = self.pages.take().ok_or(DbError::Panicked)?;
        Ok(Gathered::Pages(pages.number(), self.bytes))
    }

    fn write_rest(&mut self) -> Result<(), DbError> {
        let rest = std::mem::take(&mut self.rest);
        self.write_part(&rest)?;
        self.rest = rest;
        self.rest.clear();
        Ok(())
    }

    /// Writes a part of the value to pages.
    fn write_part(&mut self, part: &[u8]) -> Result<(), DbError> {
        let pages = self.pages.get_or_insert_with(|| Ahead::begin(self.core));
        let (number, mut place) = (pages.number(), pages.taken());
        let taken = pages.take(part.len().div_ceil(PAGE_DATA))?;
        let pool = &self.core.trees.pool;
        let mut copies = vec![[0; PAGE_BYTES]; BATCH.min(taken.pages.len())];
        for (pages, data) in taken.pages.chunks(BATCH).zip(part.chunks(BATCH * PAGE_DATA)) {
            for (copy, data) in copies.iter_mut().zip(data.chunks(PAGE_DATA)) {
                value_page(PageOfValue { number, place, data }, taken.position, copy);
                place += 1;
            }
            let outgoing = pages.iter().zip(&copies).map(|(&page, bytes)| Outgoing {
                page,
                bytes,
                position: taken.position,
                hotness: pool.of_values(),
                changed: None,
            });
            // The store's room is promised to changed pages otherwise.
            let _room = self.core.page_room(pages.len() as u64, RoomFor::Any)?;
            pool.write_ahead(&outgoing.collect::<Vec<_>>())?;
        }
        Ok(())
    }
}

impl Drop for LongValue<'_> {
    fn drop(&mut self) {
        if let Some(pages) = &self.pages {
            self.core.unowned.add(0, pages.number());
        }
    }
}

impl Write for LongValue<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.append(bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes the value of a key, of any length: see [`Transaction::value_writer`]. The key has the
/// value once
/// [`ValueWriter::finish`] has returned; one that is dropped instead changes nothing.
pub struct ValueWriter<'t, 'd> {
    transaction: &'t mut Transaction<'d>,
    table: Table,
    key: Vec<u8>,
    value: LongValue<'d>,
}

impl<'t, 'd> ValueWriter<'t, 'd> {
    pub(crate) fn new(transaction: &'t mut Transaction<'d>, table: Table, key: &[u8]) -> Self {
        let (key, value) = (key.to_vec(), transaction.long_value());
        ValueWriter { transaction, table, key, value }
    }

    /// Appends bytes to the value.
    ///
    /// # Errors
    /// Those of [`LongValue::append`].
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), DbError> {
        self.value.append(bytes)
    }

    /// Sets the value of the key to what was written.
    ///
    /// # Errors
    /// Those of [`Transaction::put_value`].
    pub fn finish(self) -> Result<(), DbError> {
        self.transaction.put_value(self.table, &self.key, self.value)
    }
}

impl Write for ValueWriter<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.value.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
