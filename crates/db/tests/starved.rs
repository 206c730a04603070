//! Processes that the system gives no thread, or no memory. A thread that can't be started makes
//! opening fail with an error, and leaves none behind. An allocation that fails ends the process,
//! as Rust's standard library has it, and that loses no commit that was acknowledged.
//!
//! `FROSTLINE_TIMES=n` fails n times as many allocations.

#![cfg(target_os = "linux")]
#![allow(unsafe_code)]

#[path = "starved/bounded.rs"]
mod bounded;

use std::alloc::{GlobalAlloc, Layout, System};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use frostline_db::{Create, Db, DbError, Options};
use frostline_store::{Cleaning, StoreError};
use frostline_testkit::seeds;
use frostline_zone::{Device, OpenOptions, Shape, create, in_memory, open};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Fails one allocation.
struct Failing;

/// Allocations so far, and the number of the one that fails, from 1.
static COUNT: AtomicU64 = AtomicU64::new(0);
static FAILS: AtomicU64 = AtomicU64::new(0);

impl Failing {
    fn fails(&self) -> bool {
        let fails = FAILS.load(Relaxed);
        fails != 0 && COUNT.fetch_add(1, Relaxed) + 1 == fails
    }
}

// SAFETY: all is the system's allocator's, but for one allocation that it refuses by null, as the
// trait allows.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match self.fails() {
            true => std::ptr::null_mut(),
            // SAFETY: as the caller promises.
            false => unsafe { System.alloc(layout) },
        }
    }

    // By the system, which writes no zeroes to new memory.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match self.fails() {
            true => std::ptr::null_mut(),
            // SAFETY: as the caller promises.
            false => unsafe { System.alloc_zeroed(layout) },
        }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        match self.fails() {
            true => std::ptr::null_mut(),
            // SAFETY: as the caller promises.
            false => unsafe { System.realloc(at, layout, bytes) },
        }
    }
}

#[global_allocator]
static ALLOCATOR: Failing = Failing;

const TASK: &str = "FROSTLINE_STARVED";

/// Runs one test of this program in a process of its own.
fn run(test: &str, task: &str) -> Output {
    run_with_stacks(test, task, STACK)
}

/// The same with stacks of this length, in bytes.
fn run_with_stacks(test: &str, task: &str, stack: u64) -> Output {
    let program = std::env::current_exe().unwrap();
    Command::new(program)
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(TASK, task)
        .env("RUST_MIN_STACK", stack.to_string())
        .output()
        .unwrap()
}

/// Bytes of a thread's stack: much more than anything else takes.
const STACK: u64 = 1 << 30;

fn shape() -> Shape {
    let zone_bytes = Some(32 * 4096);
    Shape { bytes: 60 * 32 * 4096, zone_bytes, ..Shape::default() }
}

fn options(background: bool) -> Options {
    let cleaning = if background { Cleaning::Background } else { Cleaning::Inline };
    Options { buffer_bytes: 64 * 4096, background, cleaning, ..Options::default() }
}

/// A number in a file of the system that tells of this process.
fn of_process(file: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/self/{file}")).unwrap();
    let line = text.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Allows so many threads more than there are.
fn limit_threads(most: u64) {
    let bytes = of_process("status", "VmSize:") * 1024 + most * STACK + STACK / 2;
    setrlimit(Resource::As, Rlimit { current: Some(bytes), ..getrlimit(Resource::As) }).unwrap();
}

/// Opens a database while only so many threads can be started, and then without a limit.
#[test]
fn as_a_process_of_few_threads() {
    let Ok(task) = std::env::var(TASK) else { return };
    let device: Arc<dyn Device> = in_memory(&shape()).unwrap();
    Db::create(&device, &Create::default()).unwrap();
    let db = Db::open(&device, &options(false)).unwrap();
    let table = db.create_table("t").unwrap();
    let mut transaction = db.begin().unwrap();
    transaction.put(table, b"key", b"value").unwrap();
    transaction.commit().unwrap();
    drop(db);
    let threads = of_process("status", "Threads:");
    limit_threads(task.parse().unwrap());
    let opened = Db::open(&device, &options(true));
    let result = match &opened {
        Ok(_) => "all".to_string(),
        Err(DbError::Thread(_)) => "database".to_string(),
        Err(DbError::Store(error)) if matches!(**error, StoreError::Thread(_)) => {
            "store".to_string()
        }
        Err(DbError::Wal(error)) => format!("log: {error}"),
        Err(error) => panic!("{error}"),
    };
    drop(opened);
    assert_eq!(of_process("status", "Threads:"), threads, "a thread is left");
    setrlimit(Resource::As, Rlimit { current: None, ..getrlimit(Resource::As) }).unwrap();
    let db = Db::open(&device, &options(true)).unwrap();
    let look = db.begin_read().unwrap();
    assert_eq!(look.get(db.table("t").unwrap(), b"key").unwrap().unwrap(), b"value");
    println!("\nopened: {result}");
}

#[test]
fn a_thread_that_can_not_be_started_is_an_error_and_leaves_none_behind() {
    let mut results = Vec::new();
    for threads in 0.. {
        let output = run("as_a_process_of_few_threads", &threads.to_string());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        let result = text.lines().find_map(|line| line.strip_prefix("opened: "));
        let result = result.unwrap_or_else(|| panic!("{threads} threads: {text}{errors}"));
        results.push(result.split(':').next().unwrap_or_default().to_string());
        if result == "all" {
            break;
        }
    }
    println!("{} starts of a thread failed", results.len() - 1);
    // The cleaner and the checkpointer of the store, the log's thread, two of the database.
    assert_eq!(results, ["store", "store", "log", "database", "database", "all"]);
}

/// Commits numbers while one allocation fails: the task is its number, and the directory.
#[test]
fn as_a_process_without_memory() {
    let Ok(task) = std::env::var(TASK) else { return };
    let (fails, directory) = task.split_once(' ').unwrap();
    FAILS.store(fails.parse().unwrap(), Relaxed);
    let device = open(&format!("file:{directory}"), &OpenOptions::default()).unwrap();
    let db = Db::open(&device, &options(false)).unwrap();
    let table = db.table("t").unwrap();
    for number in 0..40u32 {
        let mut transaction = db.begin().unwrap();
        for part in 0..4u32 {
            let key = [part.to_be_bytes(), (number % 8).to_be_bytes()].concat();
            transaction.put(table, &key, &number.to_be_bytes().repeat(200)).unwrap();
        }
        transaction.commit().unwrap();
        println!("\ncommitted {number}");
    }
    db.close().unwrap();
    println!("\nallocations {}", COUNT.load(Relaxed));
}

/// Opens the database: each of the keys has the last value that was acknowledged, or the one that
/// was under way.
fn check(directory: &Path, committed: Option<u32>) {
    let uri = format!("file:{}", directory.display());
    let device = open(&uri, &OpenOptions::default()).unwrap();
    let db = Db::open(&device, &options(false)).unwrap();
    let (table, look) = (db.table("t").unwrap(), db.begin_read().unwrap());
    let end = committed.map_or(0, |last| last + 1);
    for slot in 0..8 {
        let value = |part: u32| {
            let key = [part.to_be_bytes(), u32::to_be_bytes(slot)].concat();
            let value = look.get(table, &key).unwrap()?;
            let number = u32::from_be_bytes(value[..4].try_into().unwrap());
            assert_eq!(value, number.to_be_bytes().repeat(200));
            Some(number)
        };
        let last = (0..end).rev().find(|number| number % 8 == slot);
        let found = value(0);
        assert!((1..4).all(|part| value(part) == found), "half a commit in {slot}");
        let under_way = (end % 8 == slot).then_some(end);
        assert!(
            found == last || found == under_way,
            "{slot}: {found:?}, {last:?} was acknowledged"
        );
    }
    assert!(db.check().unwrap().findings.is_empty());
}

/// Makes a database, and runs a process on it of which one allocation fails; checks what it leaves.
/// Returns how many allocations it made if it came to its end.
fn starve(fails: u64) -> Option<u64> {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("db");
    let uri = format!("file:{}", directory.display());
    let device = create(&uri, &shape(), &OpenOptions::default()).unwrap();
    Db::create(&device, &Create::default()).unwrap();
    let db = Db::open(&device, &options(false)).unwrap();
    db.create_table("t").unwrap();
    db.close().unwrap();
    drop(device);
    let task = format!("{fails} {}", directory.display());
    let output = run("as_a_process_without_memory", &task);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let last = |name: &str| {
        let number = |line: &str| line.strip_prefix(name)?.parse::<u64>().ok();
        text.lines().filter_map(number).next_back()
    };
    check(&directory, last("committed ").map(|number| number as u32));
    let ended = last("allocations ").filter(|_| output.status.success());
    // One that is asked for with care gives an error instead, at which this process ends as well.
    let is_abort = output.status.signal() == Some(6);
    let is_error = output.status.code() == Some(101);
    assert!(ended.is_some() || is_abort || is_error, "{output:?}");
    ended
}

#[test]
fn an_allocation_that_fails_ends_the_process_and_loses_no_commit() {
    let wanted = seeds::times(8);
    let all = starve(u64::MAX).unwrap();
    let tried = (0..wanted).map(|n| 1 + n * all / wanted);
    let ended = tried.filter(|&fails| starve(fails).is_none()).count();
    println!("{ended} of {wanted} processes ended, of {all} allocations that could fail");
    assert!(ended as u64 > wanted / 2);
}
