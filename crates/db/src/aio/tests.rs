use std::io::IoSlice;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use frostline_zone::{Device, DeviceError, Geometry, Shape, ZoneInfo, ZoneRead, in_memory};
use parking_lot::{Condvar, Mutex};

use super::*;
use crate::{Create, Db, Options};

/// A device whose reads, or flushes, wait as long as it is closed.
struct Gate {
    inner: Arc<dyn Device>,
    closed: Mutex<(bool, bool)>,
    opened: Condvar,
    submissions: AtomicUsize,
}

impl Gate {
    fn set(&self, reads: bool, flushes: bool) {
        *self.closed.lock() = (reads, flushes);
        self.opened.notify_all();
    }

    fn pass(&self, is_closed: impl Fn(&(bool, bool)) -> bool) {
        let mut closed = self.closed.lock();
        while is_closed(&closed) {
            // A test that has failed, and leaves it closed, ends.
            if self.opened.wait_for(&mut closed, PATIENCE).timed_out() {
                return;
            }
        }
    }
}

impl Device for Gate {
    fn geometry(&self) -> &Geometry {
        self.inner.geometry()
    }

    fn report(&self, first: u32, count: u32) -> Result<Vec<ZoneInfo>, DeviceError> {
        self.inner.report(first, count)
    }

    fn append_vectored(
        &self,
        zone: u32,
        at: u64,
        parts: &[IoSlice<'_>],
    ) -> Result<(), DeviceError> {
        self.inner.append_vectored(zone, at, parts)
    }

    fn read(&self, zone: u32, offset: u64, buffer: &mut [u8]) -> Result<(), DeviceError> {
        self.pass(|closed| closed.0);
        self.inner.read(zone, offset, buffer)
    }

    fn read_all(&self, reads: &mut [ZoneRead<'_>]) -> Result<(), DeviceError> {
        self.submissions.fetch_add(1, SeqCst);
        self.pass(|closed| closed.0);
        self.inner.read_all(reads)
    }

    fn reset(&self, zone: u32) -> Result<(), DeviceError> {
        self.inner.reset(zone)
    }

    fn finish(&self, zone: u32) -> Result<(), DeviceError> {
        self.inner.finish(zone)
    }

    fn flush(&self) -> Result<(), DeviceError> {
        self.pass(|closed| closed.1);
        self.inner.flush()
    }
}

/// So few that one node is above all leaves.
const RECORDS: u32 = 2500;

/// Longer than a gate is closed by far.
const PATIENCE: Duration = Duration::from_secs(60);

fn key(n: u32) -> [u8; 4] {
    n.wrapping_mul(0x9e37_79b1).to_be_bytes()
}

/// A database that was loaded and opened again, behind a gate that is open. Only the node above
/// the leaves is in memory.
fn cold(pages: usize) -> (Arc<Gate>, Db, Table) {
    let shape = Shape { bytes: 64 << 20, zone_bytes: Some(1 << 18), ..Shape::default() };
    let inner = in_memory(&shape).unwrap();
    Db::create(&inner, &Create { log_bytes: Some(8 << 20), ..Create::default() }).unwrap();
    let db = Db::open(&inner, &Options::default()).unwrap();
    let table = db.create_table("t").unwrap();
    for first in (0..RECORDS).step_by(500) {
        let mut transaction = db.begin().unwrap();
        let mut put = |n| transaction.put(table, &key(n), &[7; 200]).unwrap();
        (first..first + 500).for_each(&mut put);
        transaction.commit_soon().unwrap();
    }
    db.close().unwrap();
    let gate = Arc::new(Gate {
        inner,
        closed: Mutex::default(),
        opened: Condvar::new(),
        submissions: AtomicUsize::new(0),
    });
    let device: Arc<dyn Device> = gate.clone();
    let db =
        Db::open(&device, &Options { buffer_bytes: pages * 4096, ..Options::default() }).unwrap();
    let table = db.table("t").unwrap();
    db.begin_read().unwrap().get(table, &key(1)).unwrap();
    (gate, db, table)
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn waker() -> Waker {
    Arc::new(Unpark(thread::current())).into()
}

fn is_pending<T>(future: Pin<&mut impl Future<Output = T>>) -> bool {
    future.poll(&mut Context::from_waker(&waker())).is_pending()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker())) {
            Poll::Ready(done) => return done,
            Poll::Pending => thread::park(),
        }
    }
}

/// Runs futures until all have ended.
fn all_of<F: Future>(mut futures: Vec<Pin<Box<F>>>, ended: impl Fn(F::Output)) {
    while !futures.is_empty() {
        futures.retain_mut(|future| {
            let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            let is_pending = polled.is_pending();
            if let Poll::Ready(done) = polled {
                ended(done);
            }
            is_pending
        });
        thread::yield_now();
    }
}

/// Reads of so many keys by futures of their own, each polled once: those that miss their leaf.
fn begun<'f>(
    aio: Aio<'f>,
    look: &'f Transaction<'f>,
    table: Table,
    keys: u32,
) -> Vec<Pin<Box<impl Future<Output = Option<Vec<u8>>> + Send + 'f>>> {
    let get =
        move |n| async move { aio.get(look, table, &key(n * (RECORDS / keys))).await.unwrap() };
    let mut futures: Vec<_> = (0..keys).map(|n| Box::pin(get(n))).collect();
    futures.retain_mut(|future| is_pending(future.as_mut()));
    futures
}

#[test]
fn futures_hold_no_thread_while_the_device_reads_and_what_all_miss_is_read_together() {
    let (gate, db, table) = cold(1000);
    let look = db.begin_read().unwrap();
    gate.set(true, false);
    let (submissions, pages) = (gate.submissions.load(SeqCst), db.stats().unwrap().pages_read);
    let futures = begun(db.aio(), &look, table, 64);
    gate.set(false, false);
    all_of(futures, |value| assert_eq!(value.unwrap(), [7; 200]));
    let submissions = gate.submissions.load(SeqCst) - submissions;
    let pages = db.stats().unwrap().pages_read - pages;
    assert!(
        pages > 40 && 4 * submissions <= pages as usize,
        "{pages} pages in {submissions} submissions"
    );
}

#[test]
fn a_future_that_is_dropped_is_registered_nowhere() {
    let (gate, db, table) = cold(1000);
    let look = db.begin_read().unwrap();
    gate.set(true, false);
    let reader = &db.core().trees.pool.reader;
    let futures = begun(db.aio(), &look, table, 64);
    assert!(reader.registered() > 20);
    drop(futures);
    assert_eq!(reader.registered(), 0);
    let mut pause = pin!(db.aio().pause(YIELDS + 1));
    assert!(is_pending(pause.as_mut()) && reader.registered() == 1);
    pause.set(db.aio().pause(0));
    assert_eq!(reader.registered(), 0);
    gate.set(false, false);
}

#[test]
fn a_commit_waits_for_its_leaves_and_for_the_log_without_a_thread() {
    let (gate, db, table) = cold(1000);
    let (aio, begin) = (db.aio(), || db.begin());
    let put = |n: u32| async move {
        let mut transaction = begin()?;
        // Of another length: the leaf is needed.
        transaction.put(table, &key(n), &[8; 150])?;
        let commit = aio.commit_soon(transaction).await?;
        aio.wait(commit).await
    };
    gate.set(true, true);
    let mut puts: Vec<_> = (0..30).map(|n| Box::pin(put(n * 80))).collect();
    assert!(puts.iter_mut().all(|put| is_pending(put.as_mut())));
    gate.set(false, true);
    let durable = db.core().trees.wal().durable();
    while db.commits().0 < 30 {
        puts.iter_mut().for_each(|put| assert!(is_pending(put.as_mut())));
        thread::yield_now();
    }
    gate.set(false, false);
    puts.into_iter().for_each(|put| block_on(put).unwrap());
    assert!(db.core().trees.wal().durable() > durable);
}

#[test]
fn more_futures_than_memory_has_pages_end_one_and_all() {
    let (_gate, db, table) = cold(0);
    let look = db.begin_read().unwrap();
    let aio = db.aio();
    let many = |first: u32| {
        let look = &look;
        async move {
            let keys: Vec<_> = (0..40).map(|n| key((first * 13 + n * 97) % RECORDS)).collect();
            aio.get_many(look, table, &keys).await
        }
    };
    all_of((0..100).map(|first| Box::pin(many(first))).collect(), |found| {
        assert!(found.unwrap().iter().all(|value| value.as_deref() == Some(&[7; 200])));
    });
}

#[test]
fn pages_that_are_read_for_futures_are_read_once_and_noted_as_for_threads() {
    let read = |is_async: bool| {
        let (_gate, db, table) = cold(64);
        for round in 0..3 {
            for n in (0..RECORDS).step_by(7) {
                let key = key(n.wrapping_mul(31 + round) % 500);
                let look = db.begin_read().unwrap();
                let found = match is_async {
                    true => block_on(db.aio().get(&look, table, &key)),
                    false => look.get(table, &key),
                };
                assert!(found.unwrap().is_some());
            }
        }
        let stats = db.stats().unwrap();
        (stats.pages_read, stats.records_without_page)
    };
    let (threads, futures) = (read(false), read(true));
    assert!(futures.0 <= threads.0 + threads.0 / 4, "{futures:?} {threads:?}");
    assert!(futures.1 >= threads.1 / 2 && threads.1 > 100, "{futures:?} {threads:?}");
}
