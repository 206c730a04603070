//! Pages of long values that were replaced, and of tables that were deleted, come back soon, and not
//! at the next checkpoint.

use std::sync::Arc;
use std::time::{Duration, Instant};

use frostline_db::{Create, Db, DbError, Direction, Options, Table};
use frostline_store::{Cleaning, Compression};
use frostline_zone::{Device, Fault, Faulty, Operation, Shape, in_memory};

/// A value that has pages of its own.
const LONG: usize = 300_000;

/// Pages that it takes.
const PAGES: u32 = 75;

fn open(background: bool) -> Db {
    let shape = Shape { bytes: 256 << 20, zone_bytes: Some(1 << 20), ..Shape::default() };
    let device: Arc<dyn Device> = in_memory(&shape).unwrap();
    Db::create(&device, &Create::default()).unwrap();
    let cleaning = if background { Cleaning::Background } else { Cleaning::Inline };
    Db::open(&device, &Options { background, cleaning, ..Options::default() }).unwrap()
}

fn put(db: &Db, table: Table, key: u32, value: &[u8]) {
    let mut put = db.begin().unwrap();
    put.put(table, &key.to_be_bytes(), value).unwrap();
    put.commit().unwrap();
}

fn pages(db: &Db) -> u32 {
    db.stats().unwrap().pages
}

/// Waits until no more pages are in use. Without background threads it takes commits.
fn await_pages(db: &Db, background: bool, table: Table, most: u32) {
    let begun = Instant::now();
    while pages(db) > most {
        assert!(begun.elapsed() < Duration::from_secs(30), "{} of {most}", pages(db));
        match background {
            true => std::thread::sleep(Duration::from_millis(5)),
            false => put(db, table, 0, b"short"),
        }
    }
}

fn assert_sound(db: &Db) {
    let stats = db.stats().unwrap();
    assert_eq!(stats.checkpoints, 0, "no checkpoint was needed");
    let check = db.check().unwrap();
    assert!(check.findings.is_empty(), "{:?}", check.findings);
}

#[test]
fn pages_of_values_that_are_overwritten_again_and_again_are_used_again_without_a_checkpoint() {
    for background in [false, true] {
        let db = open(background);
        let table = db.create_table("t").unwrap();
        (1..5).for_each(|key| put(&db, table, key, &[0; LONG]));
        let before = pages(&db);
        for n in 0..200 {
            put(&db, table, n % 4 + 1, &[n as u8; LONG]);
            match background {
                // The thread is not left so far behind that records of pages fill more leaves.
                true => await_pages(&db, background, table, before + 8 * PAGES),
                false => assert!(pages(&db) <= before + 2 * PAGES, "{n}: {}", pages(&db)),
            }
        }
        await_pages(&db, background, table, before + 2);
        assert_sound(&db);
    }
}

#[test]
fn a_value_that_a_snapshot_sees_keeps_its_pages_until_that_ends() {
    for background in [false, true] {
        let db = open(background);
        let table = db.create_table("t").unwrap();
        put(&db, table, 1, &[1; LONG]);
        let (look, before) = (db.begin_read().unwrap(), pages(&db));
        put(&db, table, 1, b"short");
        (0..20).for_each(|_| put(&db, table, 0, b"short"));
        std::thread::sleep(Duration::from_millis(if background { 200 } else { 0 }));
        assert_eq!(look.get(table, &1u32.to_be_bytes()).unwrap(), Some(vec![1; LONG]));
        assert_eq!(pages(&db), before);
        drop(look);
        await_pages(&db, background, table, before - PAGES);
        assert_sound(&db);
    }
}

#[test]
fn a_deleted_table_gives_its_pages_back_without_a_checkpoint() {
    for background in [false, true] {
        let db = open(background);
        let kept = db.create_table("kept").unwrap();
        put(&db, kept, 0, b"short");
        let before = pages(&db);
        let table = db.create_table("deleted").unwrap();
        for first in (0..20_000).step_by(100) {
            let mut fill = db.begin().unwrap();
            (first..first + 100u32)
                .for_each(|n| fill.put(table, &n.to_be_bytes(), &[n as u8; 100]).unwrap());
            fill.commit().unwrap();
        }
        put(&db, table, 0, &[1; LONG]);
        assert!(pages(&db) > before + 500);
        db.delete_table("deleted").unwrap();
        await_pages(&db, background, kept, before + 2);
        assert_sound(&db);
    }
}

#[test]
fn pages_that_a_refused_value_took_and_did_not_write_are_freed_once_though_the_log_is_gone() {
    let shape = Shape { bytes: 16 << 20, zone_bytes: Some(1 << 18), ..Shape::default() };
    let faulty = Arc::new(Faulty::new(in_memory(&shape).unwrap(), 1));
    let device: Arc<dyn Device> = faulty.clone();
    Db::create(&device, &Create::default()).unwrap();
    let options = Options {
        background: false,
        cleaning: Cleaning::Inline,
        compression: Compression::None,
        buffer_bytes: 64 * 4096,
        longest_logged_value: 1000,
        ..Options::default()
    };
    let db = Db::open(&device, &options).unwrap();
    let table = db.create_table("t").unwrap();
    let value: Vec<u8> =
        (0..90_000u32).map(|n| (n.wrapping_mul(0x9e37_79b9) >> 11) as u8).collect();
    let add = |key: u32| {
        let mut add = db.begin()?;
        add.put(table, &key.to_be_bytes(), &value[..800])?;
        add.commit()
    };
    assert!(matches!((0..).find_map(|key| add(key).err()), Some(DbError::Full { .. })));
    for key in 0..300u32 {
        let mut delete = db.begin().unwrap();
        delete.delete(table, &(key * 30).to_be_bytes()).unwrap();
        delete.commit().unwrap();
    }
    let before = pages(&db);
    let refused = db.begin().unwrap().put(table, b"long", &value);
    assert!(matches!(refused, Err(DbError::Full { .. })), "{refused:?}");
    assert!(pages(&db) > before, "it had taken pages");
    // Evict the leaf that names them: while reads fail, nobody can free them.
    let look = db.begin_read().unwrap();
    let mut scan = look.scan_all(table, Direction::Forward);
    while scan.next().unwrap().is_some() {}
    drop(scan);
    drop(look);
    faulty.fail(Operation::Read, 1..u64::MAX, Fault::Error);
    db.close().unwrap();
    faulty.stop_failing();

    let db = Db::open(&device, &options).unwrap();
    assert!(pages(&db) > before, "they are in use, until a record frees them");
    let table = db.table("t").unwrap();
    put(&db, table, 0, b"short");
    let check = db.check().unwrap();
    assert!(check.findings.is_empty(), "{:?}", check.findings);
    assert!(pages(&db) <= before);
}
