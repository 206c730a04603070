//! The asynchronous form gives the answers of the synchronous one, holds no thread, and leaves
//! nothing behind.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use frostline::zone::{Device, Fault, Faulty, Shape, in_memory};
use frostline::{Db, Error, Options, Result, Table, aio};

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// Records of the test with a model.
const RECORDS: u64 = 2000;

/// Wakes a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn waker() -> Waker {
    Arc::new(Unpark(thread::current())).into()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let (waker, mut future) = (waker(), pin!(future));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(done) => return done,
            Poll::Pending => thread::park(),
        }
    }
}

/// Whole numbers from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }

    fn bytes(&mut self, most: u64) -> Vec<u8> {
        let len = self.below(most) as usize;
        vec![self.below(256) as u8; len]
    }
}

/// A future of many on one thread, which was woken or not.
struct Task {
    is_woken: AtomicBool,
    thread: Thread,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.is_woken.store(true, SeqCst);
        self.thread.unpark();
    }
}

/// Polls futures in an order that a seed draws until all have ended: those that were woken, and at
/// times one that was not.
fn interleave<'f>(seed: u64, futures: Vec<Pin<Box<dyn Future<Output = ()> + 'f>>>) {
    let task = || Arc::new(Task { is_woken: AtomicBool::new(true), thread: thread::current() });
    let mut tasks: Vec<_> = futures.into_iter().map(|future| (future, task())).collect();
    let mut random = Random(seed);
    while !tasks.is_empty() {
        let woken: Vec<_> =
            (0..tasks.len()).filter(|&index| tasks[index].1.is_woken.load(SeqCst)).collect();
        let index = match woken.len() as u64 {
            0 => {
                thread::park();
                continue;
            }
            _ if random.below(20) == 0 => random.below(tasks.len() as u64) as usize,
            count => woken[random.below(count) as usize],
        };
        let (future, task) = &mut tasks[index];
        task.is_woken.store(false, SeqCst);
        let waker = task.clone().into();
        if future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
            drop(tasks.swap_remove(index));
        }
    }
}

fn device(bytes: u64) -> Arc<dyn Device> {
    let shape = Shape { bytes, zone_bytes: Some(1 << 20), ..Shape::default() };
    in_memory(&shape).unwrap()
}

/// Little memory: the data of the tests are several times as large.
fn options() -> Options {
    Options::new().memory(0).log_bytes(16 << 20)
}

fn key(n: u64) -> Vec<u8> {
    (n as u32).wrapping_mul(0x9e37_79b1).to_be_bytes().to_vec()
}

/// A database of so many records, which are not in memory.
fn loaded(device: &Arc<dyn Device>, records: u64, value: &[u8]) -> Db {
    let db = options().open_device(device.clone()).unwrap();
    let table = db.table("t").unwrap();
    for first in (0..records).step_by(100) {
        let all = first..records.min(first + 100);
        db.update(|tx| all.clone().try_for_each(|n| tx.put(table, key(n), value))).unwrap();
    }
    db.close().unwrap();
    options().open_device(device.clone()).unwrap()
}

/// Reads of a snapshot, compared with a model of it.
async fn compare(look: &aio::Snapshot<'_>, table: Table, model: &Map, random: &mut Random) {
    match random.below(5) {
        0 => {
            let key = key(random.below(RECORDS));
            assert_eq!(look.get(table, &key).await.unwrap().as_ref(), model.get(&key));
            assert_eq!(look.contains_key(table, &key).await.unwrap(), model.contains_key(&key));
        }
        1 => {
            let keys: Vec<_> = (0..random.below(90)).map(|_| key(random.below(RECORDS))).collect();
            let expected: Vec<_> = keys.iter().map(|key| model.get(key).cloned()).collect();
            assert_eq!(look.get_many(table, &keys).await.unwrap(), expected);
        }
        2 => {
            let first = model.first_key_value().map(|(k, v)| (k.clone(), v.clone()));
            assert_eq!(look.first(table).await.unwrap(), first);
            let last = model.last_key_value().map(|(k, v)| (k.clone(), v.clone()));
            assert_eq!(look.last(table).await.unwrap(), last);
        }
        _ => {
            let low = key(random.below(RECORDS));
            let (mut range, mut expected) = (
                look.range::<&[u8]>(table, (Bound::Excluded(&low[..]), Bound::Unbounded)),
                model.range::<Vec<u8>, _>((Bound::Excluded(&low), Bound::Unbounded)),
            );
            for _ in 0..random.below(60) {
                let (found, expected) = match random.below(3) {
                    0 => (range.next_back().await.unwrap(), expected.next_back()),
                    _ => (range.next().await.unwrap(), expected.next()),
                };
                assert_eq!(found, expected.map(|(k, v)| (k.clone(), v.clone())));
            }
        }
    }
}

/// A write of an update, made to a model too. Returns its key.
async fn write(
    tx: &mut aio::Update<'_>,
    table: Table,
    model: &mut Map,
    random: &mut Random,
) -> Option<Vec<u8>> {
    let key = key(random.below(RECORDS));
    match random.below(12) {
        0..6 => {
            let value = random.bytes(500);
            tx.put(table, &key, &value).await.unwrap();
            model.insert(key.clone(), value);
        }
        6 => {
            // Too long for a page.
            let value = random.bytes(9000);
            tx.put(table, &key, &value).await.unwrap();
            model.insert(key.clone(), value);
        }
        7 => {
            tx.delete(table, &key).await.unwrap();
            model.remove(&key);
        }
        8 => {
            tx.patch(table, &key, 2, b"patched").await.unwrap();
            if let Some(value) = model.get_mut(&key) {
                value.iter_mut().skip(2).zip(b"patched").for_each(|(byte, &new)| *byte = new);
            }
        }
        9 => {
            let popped = tx.pop_first(table).await.unwrap();
            assert_eq!(popped, model.pop_first());
            return popped.map(|(key, _)| key);
        }
        10 => {
            let old = model.get(&key).cloned();
            let new = random.bytes(50);
            assert!(tx.compare_and_set(table, &key, old.as_deref(), Some(&new)).await.unwrap());
            model.insert(key.clone(), new);
        }
        _ => {
            let mut part = tx.savepoint().unwrap();
            part.put(table, &key, b"undone").await.unwrap();
            assert_eq!(part.get(table, &key).await.unwrap().as_deref(), Some(&b"undone"[..]));
            return None;
        }
    }
    Some(key)
}

/// Transactions one after another, of which others run meanwhile. `newest` is the model of what is
/// committed.
async fn transact(db: &Db, table: Table, newest: &Mutex<Map>, seed: u64) {
    let mut random = Random(seed);
    for _ in 0..6 {
        // Nothing else runs between this and the beginning of the transaction.
        let mut model = newest.lock().unwrap().clone();
        if random.below(3) == 0 {
            let look = db.aio().read().unwrap();
            compare(&look, table, &model, &mut random).await;
            continue;
        }
        let (mut tx, mut written) = (db.aio().begin().unwrap(), Vec::new());
        for _ in 0..random.below(8) {
            written.extend(write(&mut tx, table, &mut model, &mut random).await);
            compare(&tx, table, &model, &mut random).await;
        }
        match tx.commit_soon().await {
            Ok(commit) => {
                // Nothing else ran since: this is the order of commits.
                for key in written {
                    let mut newest = newest.lock().unwrap();
                    match model.get(&key) {
                        Some(value) => drop(newest.insert(key, value.clone())),
                        None => drop(newest.remove(&key)),
                    }
                }
                db.aio().wait(commit).await.unwrap();
            }
            Err(error) => assert!(matches!(error, Error::Conflict), "{error}"),
        }
    }
}

#[test]
fn futures_in_any_order_see_and_leave_what_a_model_has_with_little_memory() {
    for seed in 1..=2 {
        println!("seed {seed}");
        let device = device(256 << 20);
        let db = loaded(&device, RECORDS, &[1; 300]);
        let table = db.table("t").unwrap();
        let newest = Mutex::new((0..RECORDS).map(|n| (key(n), vec![1; 300])).collect::<Map>());
        let futures = (0..30).map(|task| {
            let future = transact(&db, table, &newest, seed * 1000 + task);
            Box::pin(future) as Pin<Box<dyn Future<Output = ()> + '_>>
        });
        interleave(seed, futures.collect());
        let newest = newest.into_inner().unwrap();
        let all: Map = db.read().unwrap().all(table).collect::<Result<_>>().unwrap();
        assert_eq!(all, newest);
        // As after a crash: all that was awaited is there.
        drop(db);
        let db = options().open_device(device).unwrap();
        let table = db.table("t").unwrap();
        let all: Map = db.read().unwrap().all(table).collect::<Result<_>>().unwrap();
        assert_eq!(all, newest);
    }
}

fn amount(value: Option<Vec<u8>>) -> u64 {
    u64::from_le_bytes(value.unwrap()[..8].try_into().unwrap())
}

fn account(amount: u64) -> Vec<u8> {
    let mut value = vec![0; 400];
    value[..8].copy_from_slice(&amount.to_le_bytes());
    value
}

#[test]
fn futures_and_threads_move_money_and_every_snapshot_has_all_of_it() {
    const ACCOUNTS: u64 = 1000;
    let device = device(256 << 20);
    let db = loaded(&device, ACCOUNTS, &account(100));
    let table = db.table("t").unwrap();
    let stop = AtomicBool::new(false);
    let moving = |seed: u64| {
        let db = &db;
        async move {
            let mut random = Random(seed);
            for _ in 0..15 {
                let (from, to) = (key(random.below(ACCOUNTS)), key(random.below(ACCOUNTS)));
                let (from, to) = (&from, &to);
                let moved = db.aio().update(|mut tx| async move {
                    let left = amount(tx.get(table, from).await?).saturating_sub(1);
                    let taken = amount(tx.get(table, from).await?) - left;
                    tx.put(table, from, account(left)).await?;
                    let has = amount(tx.get(table, to).await?);
                    tx.put(table, to, account(has + taken)).await?;
                    Ok((tx, ()))
                });
                moved.await.unwrap();
            }
        }
    };
    let counting = |seed: u64| {
        let db = &db;
        async move {
            let mut random = Random(seed);
            for _ in 0..2 {
                let look = db.aio().read().unwrap();
                let mut sum = 0;
                if random.below(2) == 0 {
                    let mut all = look.all(table);
                    while let Some((_, value)) = all.next().await.unwrap() {
                        sum += amount(Some(value));
                    }
                } else {
                    let all = look.get_many(table, (0..ACCOUNTS).map(key)).await.unwrap();
                    sum = all.into_iter().map(amount).sum();
                }
                assert_eq!(sum, 100 * ACCOUNTS);
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = Random(99);
            while !stop.load(SeqCst) {
                let (from, to) = (key(random.below(ACCOUNTS)), key(random.below(ACCOUNTS)));
                let moved = db.update_soon(|tx| {
                    let left = amount(tx.get(table, &from)?).saturating_sub(1);
                    let taken = amount(tx.get(table, &from)?) - left;
                    tx.put(table, &from, account(left))?;
                    let has = amount(tx.get(table, &to)?);
                    tx.put(table, &to, account(has + taken))
                });
                moved.unwrap();
            }
        });
        let movers =
            (1..=16).map(|n| Box::pin(moving(n)) as Pin<Box<dyn Future<Output = ()> + '_>>);
        let counters =
            (1..=4).map(|n| Box::pin(counting(n)) as Pin<Box<dyn Future<Output = ()> + '_>>);
        interleave(7, movers.chain(counters).collect());
        stop.store(true, SeqCst);
    });
    assert!(db.engine().check().unwrap().findings.is_empty());
}

/// Polls a future so often, woken each time; its answer if it ended.
fn poll_times<T>(future: Pin<&mut impl Future<Output = T>>, times: u32) -> Option<T> {
    let (waker, mut future) = (waker(), future);
    for _ in 0..times {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(done) => return Some(done),
            Poll::Pending => thread::park(),
        }
    }
    None
}

#[test]
fn a_future_that_is_dropped_at_any_await_has_written_all_or_nothing_and_keeps_nothing() {
    let device = device(64 << 20);
    loaded(&device, 2000, &[3; 400]).close().unwrap();
    for times in 0.. {
        let db = options().open_device(device.clone()).unwrap();
        let table = db.table("t").unwrap();
        let ended = {
            let aio = db.aio();
            let update = aio.update(|mut tx| async move {
                assert!(tx.get(table, key(5)).await?.is_some());
                tx.put(table, key(10), b"first").await?;
                let mut range = tx.range(table, key(700)..);
                for _ in 0..30 {
                    range.next().await?;
                }
                drop(range);
                tx.put(table, key(1500), b"second").await?;
                Ok((tx, ()))
            });
            poll_times(pin!(update), times).is_some()
        };
        // Nothing keeps old versions for a transaction that is gone.
        db.update(|tx| tx.put(table, key(20), b"later")).unwrap();
        assert_eq!(db.stats().unwrap().versions.versions, 0, "after {times} polls");
        let look = db.read().unwrap();
        let found = (look.get(table, key(10)).unwrap(), look.get(table, key(1500)).unwrap());
        let is_written = found == (Some(b"first".to_vec()), Some(b"second".to_vec()));
        assert!(is_written || found == (Some(vec![3; 400]), Some(vec![3; 400])), "{found:?}");
        drop(look);
        db.close().unwrap();
        if ended {
            assert!(is_written && times > 3, "{times}");
            return;
        }
    }
}

#[test]
fn a_savepoint_that_is_dropped_is_undone_and_its_transaction_goes_on() {
    let device = device(64 << 20);
    let db = loaded(&device, 2000, &[3; 400]);
    let table = db.table("t").unwrap();
    block_on(async {
        let mut tx = db.aio().begin()?;
        tx.put(table, key(1), "kept").await?;
        {
            let part = async {
                let mut part = tx.savepoint()?;
                part.put(table, key(1), "undone").await?;
                part.get(table, key(900)).await?;
                part.keep()
            };
            let mut part = pin!(part);
            assert!(part.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        }
        assert_eq!(tx.get(table, key(1)).await?.unwrap(), b"kept");
        tx.commit().await
    })
    .unwrap();
    assert_eq!(db.read().unwrap().get(table, key(1)).unwrap().unwrap(), b"kept");
}

#[test]
fn a_record_of_a_range_is_given_again_if_its_future_was_dropped() {
    let device = device(64 << 20);
    let db = loaded(&device, 1000, &[3; 6000]);
    let table = db.table("t").unwrap();
    let expected: Vec<_> = db.read().unwrap().all(table).collect::<Result<_>>().unwrap();
    drop(db);
    let mut all_dropped = 0;
    for times in 1..4 {
        let db = options().open_device(device.clone()).unwrap();
        let table = db.table("t").unwrap();
        let look = db.aio().read().unwrap();
        let (mut range, mut found, mut dropped) = (look.all(table), Vec::new(), 0);
        loop {
            let polled = poll_times(pin!(range.next()), times);
            dropped += u32::from(polled.is_none());
            match polled.unwrap_or_else(|| block_on(range.next())).unwrap() {
                Some(record) => found.push(record),
                None => break,
            }
        }
        assert!(found == expected && dropped > 0, "{dropped} after {times} polls");
        all_dropped += dropped;
    }
    assert!(all_dropped > 100, "{all_dropped}");
}

#[test]
fn the_first_of_two_that_write_a_key_wins_and_an_update_runs_again() {
    let db = Options::new().bound(64 << 20).in_memory().unwrap();
    let table = db.table("t").unwrap();
    block_on(async {
        let (mut one, mut two) = (db.aio().begin()?, db.aio().begin()?);
        one.put(table, "a", "1").await?;
        two.put(table, "a", "2").await?;
        one.commit().await?;
        assert!(matches!(two.commit().await, Err(Error::Conflict)));
        let (mut runs, other) = (0, &db);
        db.aio()
            .update(|mut tx| {
                runs += 1;
                async move {
                    let old = tx.get(table, "a").await?;
                    if runs < 12 {
                        other.aio().put(table, "a", [runs]).await?;
                    }
                    tx.put(table, "b", old.unwrap_or_default()).await?;
                    tx.put(table, "a", "end").await?;
                    Ok((tx, ()))
                }
            })
            .await?;
        assert_eq!(runs, 12);
        assert_eq!(db.aio().get(table, "b").await?, Some(vec![11]));
        db.aio().delete(table, "a").await?;
        db.aio().sync().await?;
        assert_eq!(db.aio().get(table, "a").await?, None);
        Ok::<_, Error>(())
    })
    .unwrap();
}

#[test]
fn an_update_that_always_loses_is_given_up() {
    let db = Options::new().bound(64 << 20).tries(20).in_memory().unwrap();
    let table = db.table("t").unwrap();
    let (mut runs, other) = (0, &db);
    let lost = block_on(db.aio().update(|mut tx| {
        runs += 1;
        async move {
            tx.put(table, "a", "1").await?;
            other.aio().put(table, "a", "2").await?;
            Ok((tx, ()))
        }
    }));
    assert!(matches!(lost, Err(Error::Conflict)) && runs == 20, "{runs}");
}

#[test]
fn a_serializable_update_conflicts_with_a_change_of_what_it_read() {
    let db = Options::new().bound(64 << 20).serializable(true).in_memory().unwrap();
    let table = db.table("t").unwrap();
    block_on(async {
        let mut tx = db.aio().begin()?;
        assert_eq!(tx.range(table, "a".."c").next().await?, None);
        db.aio().put(table, "b", "phantom").await?;
        tx.put(table, "d", "relies on there being none").await?;
        assert!(matches!(tx.commit().await, Err(Error::Conflict)));
        Ok::<_, Error>(())
    })
    .unwrap();
}

#[test]
fn wrong_calls_and_read_only_databases_get_the_errors_of_the_synchronous_form() {
    let device = device(64 << 20);
    let db = loaded(&device, 10, b"value");
    let other = Options::new().bound(64 << 20).in_memory().unwrap();
    let (table, foreign) = (db.table("t").unwrap(), other.table("t").unwrap());
    let long = vec![7; 600];
    assert!(matches!(block_on(db.aio().get(foreign, "a")), Err(Error::Refused(_))));
    assert!(matches!(block_on(db.aio().put(table, &long, "")), Err(Error::Refused(_))));
    db.close().unwrap();
    let db = options().read_only(true).open_device(device).unwrap();
    let table = db.table("t").unwrap();
    assert_eq!(block_on(db.aio().get(table, key(3))).unwrap().unwrap(), b"value");
    assert!(matches!(block_on(db.aio().put(table, "a", "")), Err(Error::ReadOnly)));
}

#[test]
fn errors_of_the_device_come_out_of_the_future_that_needs_the_page_and_of_no_other() {
    let faulty = Arc::new(Faulty::new(device(64 << 20), 1));
    let device: Arc<dyn Device> = faulty.clone();
    let db = loaded(&device, 2000, &[3; 400]);
    let table = db.table("t").unwrap();
    let all: Vec<_> = (0..60).map(|n| key(n * 33)).collect();
    assert!(block_on(db.aio().get(table, &all[0])).unwrap().is_some());
    for zone in 0..device.geometry().zones {
        let written = device.zone(zone).unwrap().write_pointer;
        (0..written).step_by(4096).for_each(|at| faulty.fail_reads(zone, at));
    }
    assert!(block_on(db.aio().get(table, &all[0])).unwrap().is_some());
    let errors = all.iter().filter(|key| {
        let found = block_on(db.aio().get(table, key));
        assert!(matches!(found, Ok(Some(_)) | Err(Error::Device(_))), "{found:?}");
        found.is_err()
    });
    assert!(errors.count() > 30);
    let mut tx = db.aio().begin().unwrap();
    block_on(tx.put(table, &all[7], vec![4; 300])).unwrap();
    assert!(matches!(block_on(tx.commit()), Err(Error::Device(_))));
}

#[test]
fn a_log_that_fails_ends_the_futures_that_wait_for_it() {
    let faulty = Arc::new(Faulty::new(device(64 << 20), 1));
    let device: Arc<dyn Device> = faulty.clone();
    let db = loaded(&device, 10, b"value");
    let table = db.table("t").unwrap();
    block_on(db.aio().put(table, "a", "0")).unwrap();
    faulty.schedule(faulty.operations() + 1, Fault::PowerCut);
    assert!(matches!(block_on(db.aio().put(table, "a", "1")), Err(Error::Device(_))));
}

/// Whole futures may go to other threads.
#[test]
fn futures_can_be_sent_to_threads() {
    fn sent<T: Send>(future: T) -> T {
        future
    }
    let db = Arc::new(Options::new().bound(64 << 20).in_memory().unwrap());
    let table = db.table("t").unwrap();
    let threads: Vec<_> = (0..4u8)
        .map(|n| {
            let db = db.clone();
            let future = sent(async move {
                db.aio().put(table, [n], "value").await?;
                let mut tx = db.aio().begin()?;
                tx.put(table, [n, n], "value").await?;
                tx.commit().await?;
                let key = vec![n, n, n];
                let aio = db.aio();
                let key = &key;
                aio.update(|mut tx| async move {
                    let old = tx.get(table, [n, n]).await?.unwrap_or_default();
                    let mut part = tx.savepoint()?;
                    part.put(table, key, &old).await?;
                    part.keep()?;
                    Ok((tx, ()))
                })
                .await?;
                let look = db.aio().read()?;
                let mut range = look.all(table);
                let mut records = 0;
                while range.next().await?.is_some() {
                    records += 1;
                }
                Ok::<_, Error>(records)
            });
            thread::spawn(move || block_on(future))
        })
        .collect();
    let most = threads.into_iter().map(|thread| thread.join().unwrap().unwrap()).max();
    assert_eq!(most, Some(12));
}
