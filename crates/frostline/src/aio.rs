//! The database for programs of many tasks and few threads: a task that needs a page, or waits for
//! its commit to be durable, holds no thread.
//!
//! [`Db::aio`](crate::Db::aio) gives the asynchronous form of a database. Its calls have the names
//! of the synchronous ones, and are awaited. Futures have no runtime of their own: they run under
//! tokio and under any other executor. Pages that are missing for several futures are read
//! together, so a server is faster the more requests it has.
//!
//! ```
//! # use std::task::{Context, Poll, Waker};
//! # fn block_on<T>(future: impl Future<Output = T>) -> T {
//! #     let mut future = std::pin::pin!(future);
//! #     loop {
//! #         if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
//! #             return done;
//! #         }
//! #         std::thread::yield_now();
//! #     }
//! # }
//! # let db = frostline::Options::new().bound(64 << 20).in_memory()?;
//! # block_on(async {
//! let items = db.table("items")?;
//! db.aio().put(items, "a", "hello").await?; // durable
//! let length = db
//!     .aio()
//!     .update(|mut tx| async move {
//!         let old = tx.get(items, "a").await?.unwrap_or_default();
//!         tx.put(items, "b", &old).await?;
//!         Ok((tx, old.len()))
//!     })
//!     .await?; // run again on conflict
//! assert_eq!(length, 5);
//! let look = db.aio().read()?;
//! let mut range = look.range(items, "a"..);
//! while let Some((key, value)) = range.next().await? {
//!     assert_eq!(value, b"hello");
//! #   let _ = key;
//! }
//! # Ok::<(), frostline::Error>(())
//! # })?;
//! # Ok::<(), frostline::Error>(())
//! ```
//!
//! A future that is dropped leaves nothing: an update that was not committed is rolled back. One
//! that is dropped while it waits for its commit to be durable is committed.
//!
//! Tables are made, renamed, filled and deleted by [`crate::Db`], which waits.
//! [`Aio`] says when a future may hold its thread for longer than microseconds:
//! long values are the case to know.

#![expect(
    clippy::manual_async_fn,
    reason = "the futures say that they can be sent: the compiler can't see it in those that borrow"
)]

use std::ops::{Bound, Deref, DerefMut, RangeBounds};

use frostline_db::{Aio, Commit, DbError, Scan, Table, Transaction};

use crate::range::{KeyValue, Keys};
use crate::{Error, Result};

/// The asynchronous form of a database, from [`crate::Db::aio`].
#[derive(Clone, Copy)]
pub struct Db<'d> {
    db: &'d crate::Db,
    aio: Aio<'d>,
}

impl crate::Db {
    /// The asynchronous form of the database. The first call starts a thread, which reads pages for
    /// all futures.
    pub fn aio(&self) -> Db<'_> {
        Db { db: self, aio: self.inner.aio() }
    }
}

impl<'d> Db<'d> {
    /// As [`crate::Db::read`].
    ///
    /// # Errors
    /// Those of [`crate::Db::read`].
    pub fn read(self) -> Result<Snapshot<'d>> {
        Ok(Snapshot { aio: self.aio, inner: self.db.inner.begin_read()? })
    }

    /// As [`crate::Db::begin`].
    ///
    /// # Errors
    /// Those of [`crate::Db::begin`].
    pub fn begin(self) -> Result<Update<'d>> {
        let inner = self.db.begin_transaction()?;
        Ok(Update { snapshot: Snapshot { aio: self.aio, inner } })
    }

    /// The newest value of a key.
    ///
    /// # Errors
    /// Those of [`Snapshot::get`].
    pub fn get(
        self,
        table: Table,
        key: impl AsRef<[u8]> + Send,
    ) -> impl Future<Output = Result<Option<Vec<u8>>>> + Send {
        async move { self.read()?.get(table, key).await }
    }

    /// Sets the value of a key, in a transaction of its own, which is durable then.
    ///
    /// # Errors
    /// Those of [`Db::update`].
    pub fn put(
        self,
        table: Table,
        key: impl AsRef<[u8]> + Send,
        value: impl AsRef<[u8]> + Send,
    ) -> impl Future<Output = Result<()>> + Send {
        async move {
            let (key, value) = (key.as_ref(), value.as_ref());
            self.write(|transaction| transaction.put(table, key, value)).await
        }
    }

    /// Removes a key and its value, in a transaction of its own, which is durable then.
    ///
    /// # Errors
    /// Those of [`Db::update`].
    pub fn delete(
        self,
        table: Table,
        key: impl AsRef<[u8]> + Send,
    ) -> impl Future<Output = Result<()>> + Send {
        async move {
            let key = key.as_ref();
            self.write(|transaction| transaction.delete(table, key)).await
        }
    }

    /// A step in a transaction of its own.
    fn write(
        self,
        mut step: impl FnMut(&mut Transaction<'d>) -> Result<(), DbError> + Send + Unpin,
    ) -> impl Future<Output = Result<()>> + Send {
        async move {
            let mut lost = 0;
            loop {
                let mut update = self.begin()?;
                let transaction = &mut update.snapshot.inner;
                self.aio.run(|| step(transaction)).await?;
                match update.commit_soon().await {
                    Ok(commit) => return self.wait(commit).await,
                    Err(error) => self.lose(error, &mut lost).await?,
                }
            }
        }
    }

    /// Pauses a transaction that lost against another.
    ///
    /// # Errors
    /// It failed otherwise, or has lost as often as it may.
    fn lose(self, error: Error, lost: &mut u32) -> impl Future<Output = Result<()>> + Send {
        async move {
            *lost += 1;
            if !matches!(error, Error::Conflict) || *lost >= self.db.tries {
                return Err(error);
            }
            self.aio.pause(*lost).await;
            Ok(())
        }
    }

    /// Runs `body` in a transaction that it gets and gives back, and commits that: all its writes
    /// survive any crash once this returns. If `body` fails, nothing is written. If it loses
    /// against another it runs again, as for [`crate::Db::update`].
    ///
    /// # Errors
    /// Those of [`crate::Db::update`].
    pub async fn update<T, F>(self, body: impl FnMut(Update<'d>) -> F) -> Result<T>
    where
        F: Future<Output = Result<(Update<'d>, T)>>,
    {
        self.try_update(body).await
    }

    /// As [`Db::update`], for a `body` that has errors of its own.
    ///
    /// # Errors
    /// Those of [`crate::Db::update`].
    pub async fn try_update<T, F, E>(self, body: impl FnMut(Update<'d>) -> F) -> Result<T, E>
    where
        F: Future<Output = Result<(Update<'d>, T), E>>,
        E: From<Error>,
    {
        let (value, commit) = self.try_update_soon(body).await?;
        self.wait(commit).await?;
        Ok(value)
    }

    /// As [`Db::update`], but durable a little later: see [`crate::Db::update_soon`].
    ///
    /// # Errors
    /// Those of [`crate::Db::update`].
    pub async fn update_soon<T, F>(self, body: impl FnMut(Update<'d>) -> F) -> Result<(T, Commit)>
    where
        F: Future<Output = Result<(Update<'d>, T)>>,
    {
        self.try_update_soon(body).await
    }

    async fn try_update_soon<T, F, E>(
        self,
        mut body: impl FnMut(Update<'d>) -> F,
    ) -> Result<(T, Commit), E>
    where
        F: Future<Output = Result<(Update<'d>, T), E>>,
        E: From<Error>,
    {
        let mut lost = 0;
        loop {
            let (update, value) = body(self.begin()?).await?;
            match update.commit_soon().await {
                Ok(commit) => return Ok((value, commit)),
                Err(error) => self.lose(error, &mut lost).await?,
            }
        }
    }

    /// As [`crate::Db::wait`].
    ///
    /// # Errors
    /// Those of [`crate::Db::wait`].
    pub fn wait(self, commit: Commit) -> impl Future<Output = Result<()>> + Send {
        async move { Ok(self.aio.wait(commit).await?) }
    }

    /// As [`crate::Db::sync`].
    ///
    /// # Errors
    /// Those of [`crate::Db::wait`].
    pub fn sync(self) -> impl Future<Output = Result<()>> + Send {
        async move {
            let commit = self.read()?.inner.commit_soon()?;
            self.wait(commit).await
        }
    }
}

/// A state of the database, as [`crate::Snapshot`].
pub struct Snapshot<'d> {
    aio: Aio<'d>,
    inner: Transaction<'d>,
}

impl<'d> Snapshot<'d> {
    /// The value of a key.
    ///
    /// # Errors
    /// A damaged page; an error of the device.
    pub fn get(
        &self,
        table: Table,
        key: impl AsRef<[u8]> + Send,
    ) -> impl Future<Output = Result<Option<Vec<u8>>>> + Send {
        async move { Ok(self.aio.get(&self.inner, table, key.as_ref()).await?) }
    }

    /// The values of several keys, in the order of the keys. What is not in memory is read
    /// together.
    ///
    /// # Errors
    /// Those of [`Snapshot::get`].
    pub fn get_many<K: AsRef<[u8]> + Send + Sync>(
        &self,
        table: Table,
        keys: impl IntoIterator<Item = K>,
    ) -> impl Future<Output = Result<Vec<Option<Vec<u8>>>>> + Send {
        let keys: Vec<K> = keys.into_iter().collect();
        async move { Ok(self.aio.get_many(&self.inner, table, &keys).await?) }
    }

    /// True if the key has a value, which is not read if it is too long for a page.
    ///
    /// # Errors
    /// Those of [`Snapshot::get`].
    pub fn contains_key(
        &self,
        table: Table,
        key: impl AsRef<[u8]> + Send,
    ) -> impl Future<Output = Result<bool>> + Send {
        async move {
            let key = key.as_ref();
            Ok(self.aio.run(|| self.inner.contains(table, key)).await?)
        }
    }

    /// The first key of a table and its value.
    ///
    /// # Errors
    /// Those of [`Snapshot::get`].
    pub fn first(&self, table: Table) -> impl Future<Output = Result<Option<KeyValue>>> + Send {
        async move { self.all(table).next().await }
    }

    /// The last key of a table and its value.
    ///
    /// # Errors
    /// Those of [`Snapshot::get`].
    pub fn last(&self, table: Table) -> impl Future<Output = Result<Option<KeyValue>>> + Send {
        async move { self.all(table).next_back().await }
    }

    /// The records whose keys lie in a range, in the order of keys, from both ends.
    pub fn range<K: AsRef<[u8]>>(&self, table: Table, keys: impl RangeBounds<K>) -> Range<'_> {
        self.range_of(table, Keys::of(&keys))
    }

    /// All records of a table, in the order of keys.
    pub fn all(&self, table: Table) -> Range<'_> {
        self.range_of(table, Keys::all())
    }

    /// The records whose keys begin with a prefix, in the order of keys.
    pub fn prefix(&self, table: Table, prefix: impl AsRef<[u8]>) -> Range<'_> {
        self.range_of(table, Keys::with_prefix(prefix.as_ref()))
    }

    fn range_of(&self, table: Table, keys: Keys) -> Range<'_> {
        let (forward, backward) = (None, None);
        Range { aio: self.aio, transaction: &self.inner, table, keys, forward, backward }
    }
}

/// A transaction that writes, as [`crate::Update`]. One that is dropped writes nothing.
pub struct Update<'d> {
    snapshot: Snapshot<'d>,
}

impl<'d> Update<'d> {
    /// Sets the value of a key.
    ///
    /// # Errors
    /// The key or the value is too long; a damaged page; an error of the device.
    pub fn put(
        &mut self,
        table: Table,
        key: impl AsRef<[u8]> + Send,
        value: impl AsRef<[u8]> + Send,
    ) -> impl Future<Output = Result<()>> + Send {
        async move {
            let (key, value) = (key.as_ref(), value.as_ref());
            let Snapshot { aio, inner } = &mut self.snapshot;
            Ok(aio.run(|| inner.put(table, key, value)).await?)
        }
    }

    /// Overwrites bytes of the value of a key from `at`; see [`crate::Update::patch`].
    ///
    /// # Errors
    /// Those of [`Update::put`].
    pub fn patch(
        &mut self,
        table: Table,
        key: impl AsRef<[u8]> + Send,
        at: usize,
        bytes: impl AsRef<[u8]> + Send,
    ) -> impl Future<Output = Result<()>> + Send {
        async move {
            let (key, bytes) = (key.as_ref(), bytes.as_ref());
            let Snapshot { aio, inner } = &mut self.snapshot;
            Ok(aio.run(|| inner.patch(table, key, at, bytes)).await?)
        }
    }

    /// Sets the value of a key, or with `None` deletes it, if it has the `expected` value, or none.
    ///
    /// # Errors
    /// Those of [`Update::put`].
    pub fn compare_and_set(
        &mut self,
        table: Table,
        key: impl AsRef<[u8]> + Send,
        expected: Option<&[u8]>,
        value: Option<&[u8]>,
    ) -> impl Future<Output = Result<bool>> + Send {
        async move {
            let key = key.as_ref();
            if self.get(table, key).await?.as_deref() != expected {
                return Ok(false);
            }
            match value {
                Some(value) => self.put(table, key, value).await?,
                None => self.delete(table, key).await?,
            }
            Ok(true)
        }
    }

    /// Removes a key and its value, if the key exists.
    ///
    /// # Errors
    /// Those of [`Update::put`].
    pub fn delete(
        &mut self,
        table: Table,
        key: impl AsRef<[u8]> + Send,
    ) -> impl Future<Output = Result<()>> + Send {
        async move {
            let key = key.as_ref();
            let Snapshot { aio, inner } = &mut self.snapshot;
            Ok(aio.run(|| inner.delete(table, key)).await?)
        }
    }

    /// Removes the first key of a table and its value, and returns both.
    ///
    /// # Errors
    /// Those of [`Update::put`].
    pub fn pop_first(
        &mut self,
        table: Table,
    ) -> impl Future<Output = Result<Option<KeyValue>>> + Send {
        async move {
            let first = self.first(table).await?;
            self.pop(table, first).await
        }
    }

    /// Removes the last key of a table and its value, and returns both.
    ///
    /// # Errors
    /// Those of [`Update::put`].
    pub fn pop_last(
        &mut self,
        table: Table,
    ) -> impl Future<Output = Result<Option<KeyValue>>> + Send {
        async move {
            let last = self.last(table).await?;
            self.pop(table, last).await
        }
    }

    fn pop(
        &mut self,
        table: Table,
        record: Option<KeyValue>,
    ) -> impl Future<Output = Result<Option<KeyValue>>> + Send {
        async move {
            if let Some((key, _)) = &record {
                self.delete(table, key).await?;
            }
            Ok(record)
        }
    }

    /// The transaction from here on: what is written through the savepoint is undone when that is
    /// dropped, unless it is [kept](Savepoint::keep). Savepoints may be within each other.
    ///
    /// ```
    /// # use std::task::{Context, Waker};
    /// # let db = frostline::Options::new().bound(64 << 20).in_memory()?;
    /// # let (orders, stock) = (db.table("orders")?, db.table("stock")?);
    /// # let order = async {
    /// let mut tx = db.aio().begin()?;
    /// tx.put(orders, "1", "bolts").await?;
    /// let mut delivery = tx.savepoint()?;
    /// delivery.put(orders, "1", "bolts, delivered").await?;
    /// match delivery.get(stock, "bolts").await? {
    ///     Some(_) => delivery.keep()?,
    ///     None => drop(delivery),
    /// }
    /// assert_eq!(tx.get(orders, "1").await?.as_deref(), Some(&b"bolts"[..]));
    /// # Ok::<(), frostline::Error>(())
    /// # };
    /// # assert!(std::pin::pin!(order).poll(&mut Context::from_waker(Waker::noop())).is_ready());
    /// # Ok::<(), frostline::Error>(())
    /// ```
    ///
    /// # Errors
    /// The transaction can't write any more.
    pub fn savepoint(&mut self) -> Result<Savepoint<'_, 'd>> {
        let taken = self.snapshot.inner.savepoint()?;
        Ok(Savepoint { update: self, taken: Some(taken) })
    }

    /// As [`crate::Update::commit`].
    ///
    /// # Errors
    /// Those of [`crate::Update::commit`].
    pub fn commit(self) -> impl Future<Output = Result<()>> + Send {
        async move {
            let aio = self.snapshot.aio;
            let commit = self.commit_soon().await?;
            Ok(aio.wait(commit).await?)
        }
    }

    /// As [`crate::Update::commit_soon`].
    ///
    /// # Errors
    /// Those of [`crate::Update::commit`].
    pub fn commit_soon(self) -> impl Future<Output = Result<Commit>> + Send {
        async move {
            let Snapshot { aio, inner } = self.snapshot;
            Ok(aio.commit_soon(inner).await?)
        }
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

/// A transaction from a [savepoint](Update::savepoint) on.
pub struct Savepoint<'u, 'd> {
    update: &'u mut Update<'d>,
    taken: Option<frostline_db::Savepoint>,
}

impl Savepoint<'_, '_> {
    /// Ends the savepoint; what was written stays in the transaction.
    ///
    /// # Errors
    /// The transaction can't write any more.
    pub fn keep(mut self) -> Result<()> {
        let taken = self.taken.take();
        taken.map_or(Ok(()), |taken| Ok(self.update.snapshot.inner.forget(taken)?))
    }
}

impl<'d> Deref for Savepoint<'_, 'd> {
    type Target = Update<'d>;

    fn deref(&self) -> &Update<'d> {
        self.update
    }
}

impl<'d> DerefMut for Savepoint<'_, 'd> {
    fn deref_mut(&mut self) -> &mut Update<'d> {
        self.update
    }
}

impl Drop for Savepoint<'_, '_> {
    fn drop(&mut self) {
        if let Some(taken) = self.taken.take() {
            // It fails only if the savepoint has ended, or nothing can be written.
            let _ = self.update.snapshot.inner.undo(taken);
        }
    }
}

/// The records of a range of keys in the order of keys, from the front and from the back.
pub struct Range<'t> {
    aio: Aio<'t>,
    transaction: &'t Transaction<'t>,
    table: Table,
    /// The rest of the range: each returned record moves a bound.
    keys: Keys,
    forward: Option<Scan<'t, 't>>,
    backward: Option<Scan<'t, 't>>,
}

impl Range<'_> {
    /// The next record from the front; none at the end.
    ///
    /// # Errors
    /// Those of [`Snapshot::get`].
    #[expect(clippy::should_implement_trait, reason = "an iterator's does not wait")]
    pub fn next(&mut self) -> impl Future<Output = Result<Option<KeyValue>>> + Send {
        async move {
            let (transaction, table, keys) = (self.transaction, self.table, &mut self.keys);
            // A future that is dropped drops the scan: it may have passed a record.
            let other = self.backward.as_ref();
            let scan = self.forward.take();
            let mut scan = scan.unwrap_or_else(|| keys.scan(transaction, table, other));
            while let Some((key, value)) = self.aio.next(&mut scan).await? {
                if !keys.is_below_high(&key) {
                    break;
                }
                // The scan includes its bound.
                if keys.is_above_low(&key) {
                    keys.low = Bound::Excluded(key.clone());
                    self.forward = Some(scan);
                    return Ok(Some((key, value)));
                }
            }
            Ok(None)
        }
    }

    /// The next record from the back; none at the end.
    ///
    /// # Errors
    /// Those of [`Snapshot::get`].
    pub fn next_back(&mut self) -> impl Future<Output = Result<Option<KeyValue>>> + Send {
        async move {
            let (transaction, table, keys) = (self.transaction, self.table, &mut self.keys);
            let other = self.forward.as_ref();
            let scan = self.backward.take();
            let mut scan = scan.unwrap_or_else(|| keys.scan_back(transaction, table, other));
            while let Some((key, value)) = self.aio.next(&mut scan).await? {
                if !keys.is_above_low(&key) {
                    break;
                }
                if keys.is_below_high(&key) {
                    keys.high = Bound::Excluded(key.clone());
                    self.backward = Some(scan);
                    return Ok(Some((key, value)));
                }
            }
            Ok(None)
        }
    }
}
