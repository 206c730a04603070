//! Little memory: more threads than frames, and pages that leave it soon after they changed.

use std::sync::{Arc, Barrier, mpsc};
use std::time::Duration;

use frostline_db::{Create, Db, DbError, Direction, Options, Table};
use frostline_zone::{Clock, Device, Drive, Shape, Timed, in_memory};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// Threads, twice as many as the fewest frames.
const THREADS: u32 = 128;

/// Records that each thread adds to its own part of the table: several leaves of them.
const RECORDS: u32 = 24;

/// Longer than it takes by far.
const PATIENCE: Duration = Duration::from_secs(100);

/// So slow that most threads are reading at any time.
const SLOW: Drive = Drive { read_latency: Duration::from_millis(1), ..Drive::ZN540 };

fn open() -> Db {
    let shape = Shape { bytes: 128 << 20, zone_bytes: Some(1 << 20), ..Shape::default() };
    let device: Arc<dyn Device> = in_memory(&shape).unwrap();
    Db::create(&device, &Create { log_bytes: Some(32 << 20), ..Create::default() }).unwrap();
    let device: Arc<dyn Device> = Arc::new(Timed::new(device, SLOW, Clock::Real));
    Db::open(&device, &Options { buffer_bytes: 0, ..Options::default() }).unwrap()
}

fn add(db: &Db, table: Table, thread: u32, records: std::ops::Range<u32>) -> Result<(), DbError> {
    for n in records {
        let mut transaction = db.begin()?;
        let key = (u64::from(thread) << 32 | u64::from(n)).to_be_bytes();
        transaction.put(table, &key, &[7; 600])?;
        transaction.commit_soon()?;
    }
    Ok(())
}

#[test]
fn threads_that_split_pages_do_not_wait_for_each_other_s_memory() {
    let db = Arc::new(open());
    let table = db.create_table("t").unwrap();
    (0..THREADS).for_each(|thread| add(&db, table, thread, 0..6).unwrap());
    let (done, all_done) = mpsc::channel();
    let together = Arc::new(Barrier::new(THREADS as usize));
    for thread in 0..THREADS {
        let (db, done, together) = (db.clone(), done.clone(), together.clone());
        // They are not joined: threads that wait for each other would never end.
        std::thread::spawn(move || {
            together.wait();
            done.send(add(&db, table, thread, 6..RECORDS)).unwrap();
        });
    }
    for ended in 0..THREADS {
        let result = all_done.recv_timeout(PATIENCE);
        result.unwrap_or_else(|_| panic!("{ended} threads ended, the others wait")).unwrap();
    }
    let look = db.begin_read().unwrap();
    let mut scan = look.scan_all(table, Direction::Forward);
    let mut records = 0;
    while scan.next().unwrap().is_some() {
        records += 1;
    }
    assert_eq!(records, THREADS * RECORDS);
}

#[test]
fn pages_that_the_log_on_the_device_does_not_have_yet_seldom_leave_memory() {
    const RECORDS: u32 = 20_000;
    let shape = Shape { bytes: 64 << 20, zone_bytes: Some(1 << 18), ..Shape::default() };
    let device = in_memory(&shape).unwrap();
    Db::create(&device, &Create { log_bytes: Some(4 << 20), ..Create::default() }).unwrap();
    let options = Options {
        buffer_bytes: 450 * 4096,
        commit_delay: Duration::from_secs(10),
        ..Options::default()
    };
    let db = Db::open(&device, &options).unwrap();
    let table = db.create_table("t").unwrap();
    let put = |n: u32| {
        let mut transaction = db.begin().unwrap();
        transaction.put(table, &n.to_be_bytes(), &[n as u8; 100]).unwrap();
        transaction.commit_soon().unwrap()
    };
    for n in 0..RECORDS {
        put(2 * n);
    }
    db.checkpoint().unwrap();
    let mut rng = SmallRng::seed_from_u64(1);
    let (before, mut waits) = (db.stats().unwrap(), 0);
    for n in 1..=30_000 {
        let key = rng.random_range(0..2 * RECORDS);
        if n % 1000 == 0 {
            db.wait(put(key)).unwrap();
            waits += 1;
        } else if n % 10 == 0 {
            put(key);
        } else {
            let look = db.begin_read().unwrap();
            let mut scan = look.scan(table, &key.to_be_bytes(), Direction::Forward);
            (0..50).for_each(|_| assert!(scan.next().is_ok()));
        }
    }
    let after = db.stats().unwrap();
    let evicted = after.pages_evicted - before.pages_evicted;
    let flushes = after.log.flushes - before.log.flushes;
    assert!(evicted > 20, "{evicted}");
    assert!(flushes <= waits + waits / 3, "{flushes} flushes, {waits} of them asked for");
}
