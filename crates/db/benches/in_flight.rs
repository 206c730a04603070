//! Transactions a second with many in flight: futures on one thread, threads, and reads together.
//!
//! `cargo bench -p frostline-db --bench in_flight -- FILE [options]`
//!
//! 200,000 records of 120 bytes are loaded into a new database in FILE, or on a copy of it where it
//! exists, and a tenth of it stays in memory. Each transaction reads one record, drawn by Zipf's
//! law (0.99), or with `--updates` every second one overwrites it. The CPU time is that of the
//! whole process, the database's threads included.
//!
//! - `--drive zn540` imitates a drive with 80 us a read;
//! - `--memory MIB`, `--seconds N`, `--updates`;
//! - `--modes futures:1,futures:64,threads:64,together:64,...`

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use frostline_db::{Create, Db, Options, Table};
use frostline_random::{Xoshiro, Zipf, mix};
use frostline_zone::{Clock, Device, Drive, OpenOptions, Shape, Timed};

const RECORDS: u64 = 200_000;
const VALUE: usize = 120;

static FIRST_SEED: AtomicU64 = AtomicU64::new(1);

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

#[derive(Clone)]
struct Load {
    seconds: f64,
    updates: bool,
}

fn key(n: u64) -> [u8; 8] {
    mix(n).to_be_bytes()
}

/// Draws the transactions of one thread or future.
struct Draw {
    zipf: Arc<Zipf>,
    random: Xoshiro,
    updates: bool,
}

impl Draw {
    fn next(&mut self) -> ([u8; 8], bool) {
        let n = self.zipf.sample(|| self.random.unit());
        (key(n), self.updates && self.random.chance(0.5))
    }
}

/// State that all threads and futures of a run share.
struct Run<'d> {
    db: &'d Db,
    table: Table,
    stop: AtomicBool,
    done: AtomicU64,
}

impl Run<'_> {
    fn is_over(&self) -> bool {
        self.stop.load(Relaxed)
    }

    fn transact(&self, draw: &mut Draw) -> Result<(), frostline_db::DbError> {
        let (key, writes) = draw.next();
        match writes {
            false => assert!(self.db.begin_read()?.get(self.table, &key)?.is_some()),
            true => {
                let mut transaction = self.db.begin()?;
                transaction.put(self.table, &key, &[7; VALUE])?;
                retried(transaction.commit_soon())?;
            }
        }
        self.done.fetch_add(1, Relaxed);
        Ok(())
    }

    async fn transact_always(&self, mut draw: Draw) -> Result<(), frostline_db::DbError> {
        let aio = self.db.aio();
        while !self.is_over() {
            let (key, writes) = draw.next();
            match writes {
                false => {
                    let look = self.db.begin_read()?;
                    assert!(aio.get(&look, self.table, &key).await?.is_some());
                }
                true => {
                    let mut transaction = self.db.begin()?;
                    transaction.put(self.table, &key, &[7; VALUE])?;
                    retried(aio.commit_soon(transaction).await)?;
                }
            }
            self.done.fetch_add(1, Relaxed);
            // So that one that needs no page does not keep the others waiting.
            turn().await;
        }
        Ok(())
    }

    fn together(&self, draw: &mut Draw, count: usize) -> Result<(), frostline_db::DbError> {
        let drawn: Vec<_> = (0..count).map(|_| draw.next()).collect();
        let look = self.db.begin_read()?;
        look.prefetch(drawn.iter().map(|(key, _)| (self.table, &key[..])))?;
        for (key, writes) in &drawn {
            match writes {
                false => assert!(self.db.begin_read()?.get(self.table, key)?.is_some()),
                true => {
                    let mut transaction = self.db.begin()?;
                    transaction.put(self.table, key, &[7; VALUE])?;
                    retried(transaction.commit_soon())?;
                }
            }
            self.done.fetch_add(1, Relaxed);
        }
        Ok(())
    }
}

/// One that loses is not tried again, and counts.
fn retried<T>(result: Result<T, frostline_db::DbError>) -> Result<(), frostline_db::DbError> {
    match result {
        Err(error) if !error.is_retryable() => Err(error),
        _ => Ok(()),
    }
}

/// Lets the other futures run.
async fn turn() {
    let mut is_over = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut is_over, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Futures that are to be polled, on one thread.
struct Ready {
    queue: Mutex<VecDeque<usize>>,
    thread: Thread,
}

struct Task {
    index: usize,
    ready: Arc<Ready>,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        let mut queue = self.ready.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.push_back(self.index);
        if queue.len() == 1 {
            self.ready.thread.unpark();
        }
    }
}

/// Runs futures on this thread until all have ended.
fn run_all<T>(mut futures: Vec<Pin<Box<impl Future<Output = T>>>>) -> Vec<T> {
    let queue = Mutex::new((0..futures.len()).collect());
    let ready = Arc::new(Ready { queue, thread: thread::current() });
    let task = |index| Waker::from(Arc::new(Task { index, ready: ready.clone() }));
    let wakers: Vec<_> = (0..futures.len()).map(task).collect();
    let mut results = Vec::new();
    while results.len() < futures.len() {
        let taken =
            std::mem::take(&mut *ready.queue.lock().unwrap_or_else(PoisonError::into_inner));
        if taken.is_empty() {
            thread::park();
        }
        for index in taken {
            let polled = futures[index].as_mut().poll(&mut Context::from_waker(&wakers[index]));
            if let Poll::Ready(result) = polled {
                results.push(result);
            }
        }
    }
    results
}

fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn measure(db: &Db, table: Table, load: &Load, zipf: &Arc<Zipf>, mode: &str) -> Outcome<()> {
    let (kind, count) = mode.split_once(':').ok_or("a mode is KIND:N")?;
    let count: usize = count.parse()?;
    let run = Run { db, table, stop: AtomicBool::new(false), done: AtomicU64::new(0) };
    let draw = |seed: usize| Draw {
        zipf: zipf.clone(),
        random: Xoshiro::new(1000 * FIRST_SEED.load(Relaxed) + seed as u64),
        updates: load.updates,
    };
    // No two runs draw the same.
    FIRST_SEED.fetch_add(1, Relaxed);
    let before = (cpu_seconds(), Instant::now(), db.stats()?.pages_read);
    thread::scope(|scope| -> Outcome<()> {
        let work = || -> Result<(), frostline_db::DbError> {
            match kind {
                "futures" => {
                    let futures = (0..count).map(|n| Box::pin(run.transact_always(draw(n))));
                    run_all(futures.collect()).into_iter().collect()
                }
                "threads" => thread::scope(|scope| {
                    let start = |n| {
                        let (run, mut draw) = (&run, draw(n));
                        scope.spawn(move || {
                            while !run.is_over() {
                                run.transact(&mut draw)?;
                            }
                            Ok(())
                        })
                    };
                    let threads: Vec<_> = (0..count).map(start).collect();
                    threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
                }),
                _ => {
                    let mut draw = draw(0);
                    while !run.is_over() {
                        run.together(&mut draw, count)?;
                    }
                    Ok(())
                }
            }
        };
        let worker = scope.spawn(work);
        thread::sleep(Duration::from_secs_f64(load.seconds));
        run.stop.store(true, Relaxed);
        Ok(worker.join().expect("no panic")?)
    })?;
    let (cpu, wall) = (cpu_seconds() - before.0, before.1.elapsed().as_secs_f64());
    let done = run.done.load(Relaxed) as f64;
    println!(
        "{mode:>14} {:>9.0} a second {:>9.0} a CPU second {:>6.3} pages read a transaction",
        done / wall,
        done / cpu,
        (db.stats()?.pages_read - before.2) as f64 / done,
    );
    Ok(())
}

fn open(file: &str, drive: bool, memory: usize) -> Outcome<(Db, Table)> {
    let uri = format!("block:{file}");
    let is_new = !std::path::Path::new(file).exists();
    let shape = Shape { bytes: 150 << 20, zone_bytes: Some(2 << 20), ..Shape::default() };
    let device = match is_new {
        true => frostline_zone::create(&uri, &shape, &OpenOptions::default())?,
        false => frostline_zone::open(&uri, &OpenOptions::default())?,
    };
    if is_new {
        Db::create(&device, &Create::default())?;
        let db = Db::open(&device, &Options::default())?;
        let table = db.create_table("records")?;
        for first in (0..RECORDS).step_by(1000) {
            let mut transaction = db.begin()?;
            (first..first + 1000).try_for_each(|n| transaction.put(table, &key(n), &[7; VALUE]))?;
            transaction.commit()?;
        }
        db.close()?;
    }
    let device: Arc<dyn Device> = match drive {
        true => Arc::new(Timed::new(device, Drive::ZN540, Clock::Real)),
        false => device,
    };
    let db = Db::open(&device, &Options { buffer_bytes: memory << 20, ..Options::default() })?;
    let table = db.table("records")?;
    Ok((db, table))
}

fn main() -> Outcome<()> {
    let (mut file, mut drive, mut memory) = ("in_flight.frost".to_string(), false, 3);
    let mut load = Load { seconds: 3.0, updates: false };
    let mut modes =
        "threads:1,threads:16,threads:64,threads:256,together:16,together:64,together:256,\
                     futures:1,futures:16,futures:64,futures:256"
            .to_string();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or("an option lacks its value");
        match &argument[..] {
            // Cargo adds this argument.
            "--bench" => {}
            "--drive" => drive = value()? == "zn540",
            "--memory" => memory = value()?.parse()?,
            "--seconds" => load.seconds = value()?.parse()?,
            "--updates" => load.updates = true,
            "--modes" => modes = value()?,
            _ => file = argument,
        }
    }
    let zipf = Arc::new(Zipf::new(RECORDS, 0.99));
    let (db, table) = open(&file, drive, memory)?;
    // Memory has what it would have after a while.
    measure(&db, table, &load, &zipf, "together:64")?;
    for mode in modes.split(',') {
        measure(&db, table, &load, &zipf, mode)?;
    }
    Ok(())
}
