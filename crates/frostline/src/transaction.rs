//! Reads and writes of a transaction.

use std::ops::{Bound, Deref, RangeBounds};

use frostline_db::{Commit, Direction, Table, Transaction, ValueReader, ValueWriter};

use crate::range::{KeyValue, Keys};
use crate::{Range, Result};

/// Records that are looked at together, so that those to delete can be deleted while a range is
/// gone through.
const TOGETHER: usize = 1000;

/// A state of the database: all that was committed when the snapshot was taken. Writers neither
/// wait for it nor change it.
pub struct Snapshot<'d> {
    inner: Transaction<'d>,
}

impl<'d> Snapshot<'d> {
    pub(crate) fn new(inner: Transaction<'d>) -> Self {
        Snapshot { inner }
    }

    /// The value of a key.
    ///
    /// # Errors
    /// A damaged page; an error of the device.
    pub fn get(&self, table: Table, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        Ok(self.inner.get(table, key.as_ref())?)
    }

    /// The values of several keys, in the order of the keys that are asked for. What is not in
    /// memory is read together, so one call for many keys is faster than a call for each.
    ///
    /// # Errors
    /// Those of [`Snapshot::get`].
    pub fn get_many<K: AsRef<[u8]>>(
        &self,
        table: Table,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Vec<Option<Vec<u8>>>> {
        let keys: Vec<K> = keys.into_iter().collect();
        Ok(self.inner.get_many(table, &keys)?)
    }

    /// Reads together, into memory, what is needed to read or write the records of these keys. It
    /// answers nothing: it makes what follows fast. If memory has no room for all of it, some has
    /// to be read again.
    ///
    /// # Errors
    /// A table of another database.
    pub fn prefetch<K: AsRef<[u8]>>(
        &self,
        table: Table,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<()> {
        let keys: Vec<K> = keys.into_iter().collect();
        Ok(self.inner.prefetch(keys.iter().map(|key| (table, key.as_ref())))?)
    }

    /// A reader of the value of a key, for values that are too long for memory; none if there is no
    /// value. It reads as it is asked, and can [seek](std::io::Seek).
    ///
    /// ```
    /// use std::io::Read;
    /// # let db = frostline::Options::new().bound(256 << 20).in_memory()?;
    /// let films = db.table("films")?;
    /// db.update(|tx| tx.put_from(films, "Nosferatu", std::io::repeat(7).take(5_000_000)))?;
    /// let look = db.read()?;
    /// if let Some(mut film) = look.value_reader(films, "Nosferatu")? {
    ///     let mut frame = [0; 1000];
    ///     film.read_exact(&mut frame)?;
    ///     assert_eq!((film.len(), frame), (5_000_000, [7; 1000]));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Snapshot::get`].
    pub fn value_reader(
        &self,
        table: Table,
        key: impl AsRef<[u8]>,
    ) -> Result<Option<ValueReader<'_, 'd>>> {
        Ok(self.inner.value_reader(table, key.as_ref())?)
    }

    /// True if the key has a value, which is not read if it is too long for a page.
    ///
    /// # Errors
    /// Those of [`Snapshot::get`].
    pub fn contains_key(&self, table: Table, key: impl AsRef<[u8]>) -> Result<bool> {
        Ok(self.inner.contains(table, key.as_ref())?)
    }

    /// The first key of a table and its value.
    ///
    /// # Errors
    /// Those of [`Snapshot::get`].
    pub fn first(&self, table: Table) -> Result<Option<KeyValue>> {
        self.all(table).next().transpose()
    }

    /// The last key of a table and its value.
    ///
    /// # Errors
    /// Those of [`Snapshot::get`].
    pub fn last(&self, table: Table) -> Result<Option<KeyValue>> {
        self.all(table).next_back().transpose()
    }

    /// True if a table has no record.
    ///
    /// # Errors
    /// Those of [`Snapshot::get`].
    pub fn is_empty(&self, table: Table) -> Result<bool> {
        let mut scan = self.inner.scan_all(table, Direction::Forward);
        Ok(scan.next_key()?.is_none())
    }

    /// The number of records of a table. It counts them, so it takes as long as reading their keys:
    /// values that are too long for a page are left out.
    ///
    /// # Errors
    /// Those of [`Snapshot::get`].
    pub fn len(&self, table: Table) -> Result<u64> {
        let mut scan = self.inner.scan_all(table, Direction::Forward);
        let mut records = 0;
        while scan.next_key()?.is_some() {
            records += 1;
        }
        Ok(records)
    }

    /// The records whose keys lie in a range, in the order of keys, from both ends: see
    /// [`DoubleEndedIterator`].
    pub fn range<K: AsRef<[u8]>>(&self, table: Table, keys: impl RangeBounds<K>) -> Range<'_> {
        Range::new(&self.inner, table, Keys::of(&keys))
    }

    /// All records of a table, in the order of keys.
    pub fn all(&self, table: Table) -> Range<'_> {
        self.range::<&[u8]>(table, ..)
    }

    /// The records whose keys begin with a prefix, in the order of keys.
    pub fn prefix(&self, table: Table, prefix: impl AsRef<[u8]>) -> Range<'_> {
        Range::new(&self.inner, table, Keys::with_prefix(prefix.as_ref()))
    }
}

/// A transaction that writes: it reads like a [`Snapshot`], and also sees its own writes. The
/// bodies of
/// [`Db::update`](crate::Db::update) get one, and so do those who [begin](crate::Db::begin) one.
/// One that is dropped writes nothing.
pub struct Update<'d> {
    snapshot: Snapshot<'d>,
}

impl<'d> Update<'d> {
    pub(crate) fn new(inner: Transaction<'d>) -> Self {
        Update { snapshot: Snapshot::new(inner) }
    }

    /// Sets the value of a key.
    ///
    /// # Errors
    /// The key or the value is too long; a damaged page; an error of the device.
    pub fn put(
        &mut self,
        table: Table,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> Result<()> {
        Ok(self.snapshot.inner.put(table, key.as_ref(), value.as_ref())?)
    }

    /// Sets the value of a key to what a reader gives up to its end, and returns how many bytes
    /// that is. Up to 1 GiB of it goes to the database as it is read, in 5 MB of memory; what is
    /// longer than 256 KiB does not go through the log. If the transaction runs again, the reader
    /// has to be made again: so it is made in the body of an update.
    ///
    /// # Errors
    /// Those of [`Update::put`]; [`Error::Input`](crate::Error::Input) if the reader fails: the key
    /// has the value that it had.
    pub fn put_from(
        &mut self,
        table: Table,
        key: impl AsRef<[u8]>,
        reader: impl std::io::Read,
    ) -> Result<u64> {
        Ok(self.snapshot.inner.put_from(table, key.as_ref(), reader)?)
    }

    /// A writer of the value of a key, which has it once the writer is
    /// [finished](ValueWriter::finish). As for
    /// [`Update::put_from`], it may be longer than memory.
    ///
    /// ```
    /// use std::io::Write;
    /// # let db = frostline::Options::new().bound(256 << 20).in_memory()?;
    /// let films = db.table("films")?;
    /// db.try_update(|tx| {
    ///     let mut film = tx.value_writer(films, "Nosferatu")?;
    ///     for frame in 0..1000u32 {
    ///         writeln!(film, "frame {frame}")?;
    ///     }
    ///     film.finish()?;
    ///     Ok::<_, Box<dyn std::error::Error>>(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Update::put`].
    pub fn value_writer(
        &mut self,
        table: Table,
        key: impl AsRef<[u8]>,
    ) -> Result<ValueWriter<'_, 'd>> {
        Ok(self.snapshot.inner.value_writer(table, key.as_ref())?)
    }

    /// Overwrites bytes of the value of a key from `at`: cheaper than to get it and put it all.
    /// Bytes beyond the end of the value are left out, and nothing happens if there is no value.
    ///
    /// # Errors
    /// Those of [`Update::put`].
    pub fn patch(
        &mut self,
        table: Table,
        key: impl AsRef<[u8]>,
        at: usize,
        bytes: impl AsRef<[u8]>,
    ) -> Result<()> {
        Ok(self.snapshot.inner.patch(table, key.as_ref(), at, bytes.as_ref())?)
    }

    /// Sets the value of a key, or with `None` deletes it, if it has the `expected` value, or none.
    /// False if it has another.
    ///
    /// ```
    /// # let db = frostline::Options::new().bound(64 << 20).in_memory()?;
    /// let locks = db.table("locks")?;
    /// let takes = |owner: &str| {
    ///     db.update(|tx| tx.compare_and_set(locks, "door", None, Some(owner.as_bytes())))
    /// };
    /// assert!(takes("Ada")? && !takes("Grace")?);
    /// db.update(|tx| tx.compare_and_set(locks, "door", Some(b"Ada"), None))?;
    /// assert!(takes("Grace")?);
    /// # Ok::<(), frostline::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Update::put`].
    pub fn compare_and_set(
        &mut self,
        table: Table,
        key: impl AsRef<[u8]>,
        expected: Option<&[u8]>,
        value: Option<&[u8]>,
    ) -> Result<bool> {
        let key = key.as_ref();
        if self.get(table, key)?.as_deref() != expected {
            return Ok(false);
        }
        match value {
            Some(value) => self.put(table, key, value)?,
            None => self.delete(table, key)?,
        }
        Ok(true)
    }

    /// Removes a key and its value, if the key exists.
    ///
    /// # Errors
    /// Those of [`Update::put`].
    pub fn delete(&mut self, table: Table, key: impl AsRef<[u8]>) -> Result<()> {
        Ok(self.snapshot.inner.delete(table, key.as_ref())?)
    }

    /// Removes the first key of a table and its value, and returns both.
    ///
    /// # Errors
    /// Those of [`Update::put`].
    pub fn pop_first(&mut self, table: Table) -> Result<Option<KeyValue>> {
        let first = self.first(table)?;
        self.pop(table, first)
    }

    /// Removes the last key of a table and its value, and returns both.
    ///
    /// # Errors
    /// Those of [`Update::put`].
    pub fn pop_last(&mut self, table: Table) -> Result<Option<KeyValue>> {
        let last = self.last(table)?;
        self.pop(table, last)
    }

    fn pop(&mut self, table: Table, record: Option<KeyValue>) -> Result<Option<KeyValue>> {
        if let Some((key, _)) = &record {
            self.delete(table, key)?;
        }
        Ok(record)
    }

    /// Deletes the records of a table that `keep` is false of, and returns how many.
    /// All are deleted in this one transaction, whose keys must fit into memory and into the log.
    ///
    /// # Errors
    /// Those of [`Update::put`].
    pub fn retain(
        &mut self,
        table: Table,
        mut keep: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<u64> {
        let (mut keys, mut deleted) = (Keys::all(), 0);
        loop {
            let mut seen = 0;
            let mut range = Range::new(&self.snapshot.inner, table, keys.clone());
            let mut leaving = Vec::new();
            for record in range.by_ref().take(TOGETHER) {
                let (key, value) = record?;
                seen += 1;
                if !keep(&key, &value) {
                    leaving.push(key);
                }
            }
            keys = range.rest();
            for key in &leaving {
                self.delete(table, key)?;
            }
            deleted += leaving.len() as u64;
            if seen < TOGETHER {
                return Ok(deleted);
            }
        }
    }

    /// Deletes the records whose keys lie in a range, and returns how many. All are deleted in this
    /// one transaction, whose keys must fit into memory and into the log:
    /// [`Db::delete_range`](crate::Db::delete_range) takes as many transactions as it needs.
    ///
    /// # Errors
    /// Those of [`Update::put`].
    pub fn delete_range<K: AsRef<[u8]>>(
        &mut self,
        table: Table,
        keys: impl RangeBounds<K>,
    ) -> Result<u64> {
        let (mut keys, mut deleted) = (Keys::of(&keys), 0);
        while let (some, Some(last)) = self.delete_some(table, &keys)? {
            deleted += some;
            keys.low = Bound::Excluded(last);
        }
        Ok(deleted)
    }

    /// Deletes the first records of a range: so many that a log of any size takes their deletion,
    /// if it took each of them. Returns their number, and the last of them; none if the range is
    /// empty.
    pub(crate) fn delete_some(
        &mut self,
        table: Table,
        keys: &Keys,
    ) -> Result<(u64, Option<Vec<u8>>)> {
        /// The deletion of a long value logs one byte of eighty.
        const MOST_BYTES: usize = 4 << 20;
        let (mut leaving, mut bytes) = (Vec::new(), 0);
        let mut scan = keys.scan(&self.snapshot.inner, table, None);
        while leaving.len() < TOGETHER
            && bytes < MOST_BYTES
            && let Some((key, value_bytes)) = scan.next_key()?
            && keys.is_below_high(key)
        {
            // The scan includes its bound.
            if keys.is_above_low(key) {
                leaving.push(key.to_vec());
                bytes += value_bytes;
            }
        }
        drop(scan);
        for key in &leaving {
            self.delete(table, key)?;
        }
        Ok((leaving.len() as u64, leaving.pop()))
    }

    /// Runs `body`, and undoes what it wrote if it fails. What was written before stays, to be
    /// committed or not. Savepoints may be within each other.
    ///
    /// ```
    /// # use std::error::Error;
    /// # let db = frostline::Options::new().bound(64 << 20).in_memory()?;
    /// let (orders, stock) = (db.table("orders")?, db.table("stock")?);
    /// db.update(|tx| {
    ///     tx.put(orders, "1", "bolts")?;
    ///     let delivered = tx.savepoint(|tx| {
    ///         tx.put(orders, "1", "bolts, delivered")?;
    ///         match tx.get(stock, "bolts")? {
    ///             Some(_) => Ok(()),
    ///             None => Err(Box::<dyn Error>::from("there are no bolts")),
    ///         }
    ///     });
    ///     assert!(delivered.is_err());
    ///     Ok(())
    /// })?;
    /// assert_eq!(db.read()?.get(orders, "1")?.as_deref(), Some(&b"bolts"[..]));
    /// # Ok::<(), frostline::Error>(())
    /// ```
    ///
    /// # Errors
    /// The error of `body`; the transaction can't write any more.
    pub fn savepoint<T, E: From<crate::Error>>(
        &mut self,
        body: impl FnOnce(&mut Update<'d>) -> Result<T, E>,
    ) -> Result<T, E> {
        let savepoint = self.snapshot.inner.savepoint().map_err(crate::Error::from)?;
        let done = body(self);
        let inner = &mut self.snapshot.inner;
        let ended = match &done {
            Ok(_) => inner.forget(savepoint),
            Err(_) => inner.undo(savepoint),
        };
        ended.map_err(crate::Error::from)?;
        done
    }

    /// The transaction without the conveniences of this crate.
    pub fn engine(&mut self) -> &mut Transaction<'d> {
        &mut self.snapshot.inner
    }

    /// Makes what was written visible to transactions that begin from now on, and durable.
    ///
    /// # Errors
    /// [`Error::Conflict`](crate::Error::Conflict), [`Error::TooOld`](crate::Error::TooOld):
    /// nothing was written, and all can be tried again from [`Db::begin`](crate::Db::begin) on. The
    /// database is full or the transaction too large: nothing was written. An error of the device.
    pub fn commit(self) -> Result<()> {
        Ok(self.snapshot.inner.commit()?)
    }

    /// As [`Update::commit`], but durable a little later: [`Db::wait`](crate::Db::wait) waits for
    /// that.
    ///
    /// # Errors
    /// Those of [`Update::commit`].
    pub fn commit_soon(self) -> Result<Commit> {
        Ok(self.snapshot.inner.commit_soon()?)
    }

    /// Ends the transaction; nothing was written. Dropping it does the same.
    pub fn rollback(self) {}
}

impl<'d> Deref for Update<'d> {
    type Target = Snapshot<'d>;

    fn deref(&self) -> &Snapshot<'d> {
        &self.snapshot
    }
}
