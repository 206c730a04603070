//! Values that are longer than memory, with default options.
//!
//! `FROSTLINE_VALUES=1 cargo test -p frostline --test long_values -- --nocapture` writes one of 1
//! GiB as well, and says how long commits of values take that go through the log, and past it, and
//! how many bytes of the device.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Read;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use frostline::{Db, Error, Options};

/// Counts what is allocated.
struct Counting;

static BYTES: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = BYTES.fetch_add(layout.size(), Relaxed) + layout.size();
        MOST.fetch_max(now, Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What is allocated is counted for all threads.
static ONE: Mutex<()> = Mutex::new(());

/// The most bytes that `act` takes beside those that are there.
fn most_while(act: impl FnOnce()) -> usize {
    let before = BYTES.load(Relaxed);
    MOST.store(before, Relaxed);
    act();
    MOST.load(Relaxed).saturating_sub(before)
}

/// Bytes that do not compress, and tell where they are.
struct Bytes {
    at: u64,
    end: u64,
}

fn bytes(count: u64) -> Bytes {
    Bytes { at: 0, end: count }
}

fn word(at: u64) -> [u8; 8] {
    let mixed = (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9).to_le_bytes()
}

impl Read for Bytes {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let count = ((self.end - self.at) as usize).min(into.len()) / 8 * 8;
        for word_of in into[..count].as_chunks_mut::<8>().0 {
            *word_of = word(self.at);
            self.at += 8;
        }
        Ok(count)
    }
}

fn is_explored() -> bool {
    std::env::var_os("FROSTLINE_VALUES").is_some()
}

fn assert_is_there(db: &Db, table: frostline::Table, count: u64) {
    let look = db.read().unwrap();
    let mut reader = look.value_reader(table, "k").unwrap().unwrap();
    assert_eq!(reader.len(), count);
    let (mut expected, mut part, mut other) = (bytes(count), vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let count = expected.read(&mut part).unwrap();
        reader.read_exact(&mut other[..count]).unwrap();
        assert!(part[..count] == other[..count], "before {}", expected.at);
        if count == 0 {
            return;
        }
    }
}

#[test]
fn a_value_that_is_longer_than_the_log_takes_takes_little_memory() {
    let _one = ONE.lock().unwrap_or_else(|error| error.into_inner());
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = directory.path().join("db");
    let count: u64 = if is_explored() { 1 << 30 } else { 96 << 20 };
    let memory = 8 << 20;
    let db = Options::new().memory(memory).open(&path).unwrap();
    let table = db.table("t").unwrap();
    let begun = Instant::now();
    let most = most_while(|| {
        assert_eq!(db.update(|tx| tx.put_from(table, "k", bytes(count))).unwrap(), count);
    });
    println!("{count} bytes written in {:?}, {most} of memory", begun.elapsed());
    // The database may have all of its own by now.
    assert!(most < 2 * memory + (24 << 20), "{most} bytes");
    let begun = Instant::now();
    let most = most_while(|| assert_is_there(&db, table, count));
    println!("read in {:?}, {most} of memory", begun.elapsed());
    assert!(most < 2 << 20, "{most} bytes");
    drop(db);
    let db = Db::open(&path).unwrap();
    let table = db.table("t").unwrap();
    assert_is_there(&db, table, count);
    assert!(db.engine().check().unwrap().findings.is_empty());
    db.update(|tx| tx.delete(table, "k")).unwrap();
    assert!(db.engine().check().unwrap().findings.is_empty());
    assert!(db.stats().unwrap().pages < 10);
    db.close().unwrap();
}

/// Fails half way.
struct Broken(u64);

impl Read for Broken {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.0 < into.len() as u64 {
            return Err(std::io::Error::other("the line is cut"));
        }
        self.0 -= into.len() as u64;
        Ok(into.len())
    }
}

#[test]
fn a_reader_that_fails_changes_nothing_and_says_so() {
    let _one = ONE.lock().unwrap_or_else(|error| error.into_inner());
    let db = Options::new().bound(256 << 20).in_memory().unwrap();
    let table = db.table("t").unwrap();
    db.update(|tx| tx.put(table, "k", "before")).unwrap();
    let failed = db.update(|tx| tx.put_from(table, "k", Broken(9_000_000)));
    assert!(
        matches!(&failed, Err(error @ Error::Input(_)) if error.to_string().contains("the line is cut"))
    );
    let kept = db.update(|tx| {
        let failed = tx.put_from(table, "k", Broken(9_000_000));
        assert!(failed.is_err());
        tx.put(table, "other", "value")
    });
    assert!(kept.is_ok());
    assert_eq!(db.read().unwrap().get(table, "k").unwrap().as_deref(), Some(&b"before"[..]));
    assert!(db.engine().check().unwrap().findings.is_empty());
    assert!(db.stats().unwrap().pages < 10);
}

#[test]
fn the_bound_between_log_and_pages() {
    let _one = ONE.lock().unwrap_or_else(|error| error.into_inner());
    let (sizes, times) = match is_explored() {
        true => (&[16 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20, 4 << 20][..], 64),
        false => (&[64 << 10][..], 2),
    };
    println!(
        "bytes of a value: bytes of the device a byte, and median milliseconds of a commit, in the log; in pages"
    );
    for &size in sizes {
        let of = |longest: usize| {
            let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
            let path = directory.path().join("db");
            let options = Options::new().memory(8 << 20).longest_logged_value(longest);
            measure(&options, &path, size, times)
        };
        let (log, pages) = (of(usize::MAX), of(1000));
        println!("{size:>9}: {:.2} {:>6.2}; {:.2} {:>6.2}", log.0, log.1, pages.0, pages.1);
    }
}

/// Bytes of the device for each byte of the values, and milliseconds of a commit.
fn measure(options: &Options, path: &Path, size: u64, times: u32) -> (f64, f64) {
    let db = options.open(path).unwrap();
    let table = db.table("t").unwrap();
    // Values replace others, as many as there are at most.
    let key = |n: u32| (n % 16).to_be_bytes();
    let mut took: Vec<Duration> = Vec::new();
    for n in 0..times {
        let mut value = vec![0; size as usize];
        Bytes { at: u64::from(n) << 32, end: u64::MAX }.read_exact(&mut value).unwrap();
        let begun = Instant::now();
        db.update(|tx| tx.put(table, key(n), &value)).unwrap();
        took.push(begun.elapsed());
    }
    took.sort_unstable();
    db.engine().checkpoint().unwrap();
    let stats = db.stats().unwrap();
    let device = stats.log.pages * 4096
        + stats.store.written.user_bytes
        + stats.store.written.relocated_bytes;
    let median = took[took.len() / 2].as_secs_f64() * 1e3;
    (device as f64 / (size * u64::from(times)) as f64, median)
}

/// `FROSTLINE_VALUES=1` fills tables of a million records.
#[test]
fn an_ingested_table_takes_fewer_bytes_of_the_device_than_puts() {
    let _one = ONE.lock().unwrap_or_else(|error| error.into_inner());
    let count: u32 = if is_explored() { 1_000_000 } else { 20_000 };
    let records = || (0..count).map(|n| (n.to_be_bytes(), [n as u8; 100]));
    let bytes = |db: &Db| {
        db.engine().checkpoint().unwrap();
        let stats = db.stats().unwrap();
        stats.log.pages * 4096
            + stats.store.written.user_bytes
            + stats.store.written.relocated_bytes
    };
    let run = |fill: &dyn Fn(&Db)| {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let db = Options::new().open(directory.path().join("db")).unwrap();
        let (before, begun) = (bytes(&db), Instant::now());
        fill(&db);
        let took = begun.elapsed();
        let table = db.table("t").unwrap();
        assert_eq!(db.read().unwrap().len(table).unwrap(), u64::from(count));
        (took, bytes(&db) - before, db.stats().unwrap().pages)
    };
    let put = run(&|db| {
        let table = db.table("t").unwrap();
        let all: Vec<_> = records().collect();
        for some in all.chunks(1000) {
            let put = |tx: &mut frostline::Update<'_>| {
                some.iter().try_for_each(|(key, value)| tx.put(table, key, value))
            };
            db.update_soon(put).unwrap();
        }
        db.sync().unwrap();
    });
    let ingested = run(&|db| {
        db.ingest("t", records()).unwrap();
    });
    println!("{count} records by puts: {:?}, {} bytes, {} pages", put.0, put.1, put.2);
    println!("  ingested: {:?}, {} bytes, {} pages", ingested.0, ingested.1, ingested.2);
    assert!(ingested.1 < put.1, "{ingested:?} {put:?}");
}
