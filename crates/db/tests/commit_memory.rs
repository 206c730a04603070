//! Memory that a transaction of many small rows takes while it commits, and gives back: as much as
//! is counted.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use frostline_db::{Create, Db, Options, Table};
use frostline_store::Cleaning;
use frostline_zone::{Device, Shape, in_memory};

/// Counts what is allocated.
struct Counting;

/// Bytes that are allocated, and the most that were.
static BYTES: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

/// Bytes that an allocator adds to each allocation, about.
const HEAD: usize = 8;

fn add(bytes: usize) {
    let now = BYTES.fetch_add(bytes + HEAD, Relaxed) + bytes + HEAD;
    MOST.fetch_max(now, Relaxed);
}

// SAFETY: every call is passed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size() + HEAD, Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ROWS: u32 = 50_000;

fn open() -> (Db, Table) {
    let shape = Shape { bytes: 64 << 20, zone_bytes: Some(1 << 20), ..Shape::default() };
    let device: Arc<dyn Device> = in_memory(&shape).unwrap();
    Db::create(&device, &Create { log_bytes: Some(24 << 20), ..Create::default() }).unwrap();
    let quiet = Options { background: false, cleaning: Cleaning::Inline, ..Options::default() };
    let options = Options { buffer_bytes: 16 << 20, version_bytes: Some(64 << 20), ..quiet };
    let db = Db::open(&device, &options).unwrap();
    let table = db.create_table("t").unwrap();
    // All pages and memory that the rows need, but for what their commit takes.
    (0..ROWS).step_by(1000).for_each(|from| write(&db, table, from..from + 1000, 1));
    db.checkpoint().unwrap();
    (db, table)
}

fn write(db: &Db, table: Table, rows: std::ops::Range<u32>, byte: u8) {
    let mut transaction = db.begin().unwrap();
    rows.for_each(|n| transaction.put(table, &n.to_be_bytes(), &[byte; 30]).unwrap());
    transaction.commit_soon().unwrap();
}

/// Bytes that are allocated now, and the most that were while `act` ran.
fn most_while(act: impl FnOnce()) -> usize {
    MOST.store(BYTES.load(Relaxed), Relaxed);
    act();
    MOST.load(Relaxed)
}

#[test]
fn a_commit_takes_memory_for_what_its_rows_are_long_and_what_is_kept_is_counted() {
    let (db, table) = open();
    let before = BYTES.load(Relaxed);
    let most = most_while(|| write(&db, table, 0..ROWS, 2));
    let (taken, left) = (most - before, BYTES.load(Relaxed).saturating_sub(before));
    println!("{taken} bytes in a commit of {ROWS} rows, {left} after it");
    // Of a row the write, its log record, its claim, its version with the bytes before: 34 each
    // time.
    assert!(taken < ROWS as usize * 600, "{taken} bytes");
    assert!(left < taken / 10, "{left} of {taken} bytes");

    let look = db.begin_read().unwrap();
    let before = BYTES.load(Relaxed);
    write(&db, table, 0..ROWS, 3);
    let (taken, counted) = (BYTES.load(Relaxed) - before, db.stats().unwrap().versions.bytes);
    println!("{taken} bytes kept for a snapshot, {counted} counted");
    let counted = counted as usize;
    assert!((counted / 2..counted * 5 / 4).contains(&taken), "{taken} of {counted} bytes");
    drop(look);
    let left = BYTES.load(Relaxed).saturating_sub(before);
    println!("{left} bytes left");
    assert!(left < taken / 10, "{left} of {taken} bytes");
}
