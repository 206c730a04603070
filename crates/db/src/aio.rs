//! The asynchronous form: transactions that do not hold a thread while they need a page.
//!
//! There is one engine. A future runs the synchronous code as a [`Step`], which notes the pages
//! that it misses in place of reading them (`pool/misses.rs`). The page reader reads what all steps
//! miss together (`pool/page_reader.rs`), and wakes their futures, which run the step again. No
//! latch is held, and nothing is claimed, while a future is pending; dropping it leaves nothing.

#![expect(
    clippy::manual_async_fn,
    reason = "the futures say that they can be sent: the compiler can't see it in those that borrow"
)]

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::core::Core;
use crate::mvcc::Lookup;
use crate::overflow::ValueReader;
use crate::pool::misses::{self, Misses};
use crate::pool::{Ready, Waiting};
use crate::view::View;
use crate::{Commit, DbError, Scan, Table, Transaction};

/// Times that a step misses a page again which was read for it, before it waits for its pages
/// itself. So steps end even if memory is smaller than what all of them need.
const MOST_LOSSES: u32 = 8;

/// Naps before a step waits itself for what it lacks, about a second.
const MOST_NAPS: u32 = 1000;

/// Conflicts after which a transaction naps before it is tried again.
const YIELDS: u32 = 8;

/// The asynchronous form of a database. Its futures need no runtime of their own: any executor
/// polls them. They wait without a thread for pages that are not in memory, for the log to have
/// room, and for a commit to be durable.
///
/// A thread is held for the microseconds of a latch, and in these cases:
///
/// - a page was evicted again, eight times, after it was read for the step and before that ran;
/// - a page can't be read: the step reads it once more, to get the error;
/// - a value longer than [`Options::longest_logged_value`](crate::Options::longest_logged_value) is read or written;
/// - a commit splits a page and no frame is free, has more writes than a quarter of memory's pages,
///   or needs more than a sixteenth of the log; or the database is nearly full.
#[derive(Clone, Copy)]
pub struct Aio<'d> {
    core: &'d Core,
}

/// A future that runs a step until nothing is missing that it needs; see [`Aio::run`].
#[must_use = "it does nothing unless it is awaited"]
pub struct Step<'d, F> {
    core: &'d Core,
    run: F,
    misses: Misses,
    waiting: Option<Arc<Waiting>>,
    losses: u32,
    naps: u32,
}

impl<'d> Aio<'d> {
    pub(crate) fn new(core: &'d Core) -> Self {
        Aio { core }
    }

    /// Runs reads and writes of a transaction. Where they would read a page they fail with
    /// [`DbError::NotInMemory`], which `step` hands on; it runs again from its beginning when the
    /// page is there. So it should be short, and leave nothing behind where it fails.
    ///
    /// ```
    /// # use frostline_db::{Create, Db, Options};
    /// # use frostline_zone::{Shape, in_memory};
    /// # use std::task::{Context, Waker};
    /// # let device = in_memory(&Shape { bytes: 64 << 20, ..Shape::default() })?;
    /// # Db::create(&device, &Create::default())?;
    /// # let db = Db::open(&device, &Options::default())?;
    /// let stock = db.create_table("stock")?;
    /// let both = async {
    ///     let look = db.begin_read()?;
    ///     db.aio().run(|| Ok((look.get(stock, b"bolt")?, look.get(stock, b"nut")?))).await
    /// };
    /// # let mut context = Context::from_waker(Waker::noop());
    /// # assert!(std::pin::pin!(both).poll(&mut context).is_ready());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run<T, F>(self, step: F) -> Step<'d, F>
    where
        F: FnMut() -> Result<T, DbError>,
    {
        let misses = Misses::default();
        Step { core: self.core, run: step, misses, waiting: None, losses: 0, naps: 0 }
    }

    /// As [`Transaction::get`].
    ///
    /// # Errors
    /// Those of [`Transaction::get`].
    pub fn get(
        self,
        transaction: &Transaction<'_>,
        table: Table,
        key: &[u8],
    ) -> impl Future<Output = Result<Option<Vec<u8>>, DbError>> + Send {
        async move {
            let mut value = Vec::new();
            let found = self.run(|| transaction.find(table, key, None, &mut value)).await?;
            match found {
                Lookup::Nothing => Ok(None),
                Lookup::Value => Ok(Some(value)),
                Lookup::Overflow => self.join(transaction.view(), value).await.map(Some),
            }
        }
    }

    /// As [`Transaction::get_many`]: what is missing for all keys is read together.
    ///
    /// # Errors
    /// Those of [`Transaction::get`].
    pub fn get_many<K: AsRef<[u8]> + Sync>(
        self,
        transaction: &Transaction<'_>,
        table: Table,
        keys: &[K],
    ) -> impl Future<Output = Result<Vec<Option<Vec<u8>>>, DbError>> + Send {
        async move {
            let mut values = Vec::with_capacity(keys.len());
            for keys in keys.chunks(self.core.trees.records_together()) {
                values.extend(self.run(|| transaction.get_many(table, keys)).await?);
            }
            Ok(values)
        }
    }

    /// The next record of a scan, and none after the last. The leaves behind it are read with the
    /// one that it needs.
    ///
    /// # Errors
    /// Those of [`Transaction::get`].
    #[expect(clippy::type_complexity, reason = "a name would hide that it is a key and a value")]
    pub fn next(
        self,
        scan: &mut Scan<'_, '_>,
    ) -> impl Future<Output = Result<Option<(Vec<u8>, Vec<u8>)>, DbError>> + Send {
        async move {
            let copy = |scan: &mut Scan<'_, '_>| {
                let found = scan.next_in_page()?;
                Ok(found.map(|(key, value)| (key.to_vec(), value.map(<[u8]>::to_vec))))
            };
            match self.run(|| copy(scan)).await? {
                None => Ok(None),
                Some((key, Some(value))) => Ok(Some((key, value))),
                Some((key, None)) => {
                    let (view, reference) = scan.left_out();
                    Ok(Some((key, self.join(view, reference).await?)))
                }
            }
        }
    }

    /// The value that a reference names, read a part at a time.
    fn join(
        self,
        view: &View<'_>,
        reference: Vec<u8>,
    ) -> impl Future<Output = Result<Vec<u8>, DbError>> + Send {
        async move {
            let mut value = Vec::new();
            let Some(mut reader) = ValueReader::new(view, Lookup::Overflow, reference)? else {
                return Ok(value);
            };
            loop {
                let bytes = self.run(|| {
                    let part = reader.next_part()?;
                    value.extend_from_slice(part);
                    Ok(part.len())
                });
                match bytes.await? {
                    0 => return Ok(value),
                    bytes => reader.pass(bytes as u64),
                }
            }
        }
    }

    /// As [`Transaction::commit_soon`]: the leaves that the commit changes are read first. Dropped
    /// before its end, nothing is committed.
    ///
    /// # Errors
    /// Those of [`Transaction::commit`].
    pub fn commit_soon(
        self,
        transaction: Transaction<'_>,
    ) -> impl Future<Output = Result<Commit, DbError>> + Send {
        async move {
            self.run(|| transaction.prepare_commit()).await?;
            let _others_do_what_they_can = misses::leaving_work();
            transaction.commit_soon()
        }
    }

    /// Waits until a commit, and with it all before it, survives any crash.
    ///
    /// # Errors
    /// Those of [`crate::Db::wait`].
    pub fn wait(self, commit: Commit) -> impl Future<Output = Result<(), DbError>> + Send {
        async move {
            let wal = self.core.trees.wal();
            Ok(poll_fn(|context| wal.poll_wait(commit.0, context.waker())).await?)
        }
    }

    /// Pauses a transaction that lost so many times against another, before it is tried again.
    pub fn pause(self, lost: u32) -> impl Future<Output = ()> + Send {
        async move {
            let mut is_over = false;
            if lost > YIELDS {
                // It has no error of its own.
                let _ = self
                    .run(|| match std::mem::replace(&mut is_over, true) {
                        false => misses::lack_room(),
                        true => Ok(()),
                    })
                    .await;
                return;
            }
            poll_fn(|context| match std::mem::replace(&mut is_over, true) {
                true => Poll::Ready(()),
                false => {
                    context.waker().wake_by_ref();
                    Poll::Pending
                }
            })
            .await;
        }
    }
}

impl<T, F> Future for Step<'_, F>
where
    F: FnMut() -> Result<T, DbError> + Unpin,
{
    type Output = Result<T, DbError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let step = self.get_mut();
        if let Some(waiting) = &step.waiting {
            let Poll::Ready(ready) = waiting.poll(context.waker()) else { return Poll::Pending };
            step.waiting = None;
            if ready == Ready::Failed {
                return Poll::Ready((step.run)());
            }
        }
        let result = misses::noting(&mut step.misses, &mut step.run);
        let Err(DbError::NotInMemory { .. }) = result else { return Poll::Ready(result) };
        step.losses += u32::from(step.misses.has_lost);
        step.naps += u32::from(step.misses.pages.is_empty());
        if step.losses < MOST_LOSSES && step.naps < MOST_NAPS {
            let reader = &step.core.trees.pool.reader;
            step.waiting = reader.wait_for(&step.misses, context.waker());
        }
        match step.waiting {
            Some(_) => Poll::Pending,
            None => Poll::Ready((step.run)()),
        }
    }
}

impl<F> Drop for Step<'_, F> {
    fn drop(&mut self) {
        if let Some(waiting) = &self.waiting {
            self.core.trees.pool.reader.forget(waiting);
        }
    }
}

#[cfg(test)]
mod tests;
