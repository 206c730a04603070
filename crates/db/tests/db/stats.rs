//! Counters of a database.

use std::sync::Arc;

use frostline_db::{Create, Db, Direction, Options, Table, Transaction};
use frostline_store::{Cleaning, Compression};
use frostline_zone::{Device, Shape, in_memory};

/// Ways down a tree in which every one in 32 is counted, with that weight.
const WAYS: u32 = 3200;

fn device() -> Arc<dyn Device> {
    let shape = Shape { bytes: 64 << 20, zone_bytes: Some(1 << 18), ..Shape::default() };
    let device: Arc<dyn Device> = in_memory(&shape).unwrap();
    let create = Create { log_bytes: Some(16 << 20), ..Create::default() };
    Db::create(&device, &create).unwrap();
    device
}

/// Nothing is compressed: the log has as many bytes as its records.
fn open(device: &Arc<dyn Device>, hotness: bool) -> Db {
    let (cleaning, compression) = (Cleaning::Inline, Compression::None);
    let quiet = Options { background: false, cleaning, compression, ..Options::default() };
    Db::open(device, &Options { hotness, ..quiet }).unwrap()
}

fn put(db: &Db, table: Table, records: u32) {
    let mut transaction = db.begin().unwrap();
    (0..records).for_each(|n| transaction.put(table, &n.to_be_bytes(), &[1; 400]).unwrap());
    transaction.commit().unwrap();
}

/// Pages that were looked for, and pages that were read, while something was done.
fn pages(db: &Db, act: impl FnOnce()) -> (u64, u64) {
    let before = db.stats().unwrap();
    act();
    let after = db.stats().unwrap();
    (after.page_accesses - before.page_accesses, after.pages_read - before.pages_read)
}

fn get(db: &Db, table: Table, records: u32) {
    let transaction = db.begin_read().unwrap();
    for n in 0..WAYS {
        assert!(transaction.get(table, &(n % records).to_be_bytes()).unwrap().is_some());
    }
}

#[test]
fn a_record_takes_as_many_accesses_as_its_tree_is_high() {
    for hotness in [true, false] {
        let device = device();
        let db = open(&device, hotness);
        let (low, high) = (db.create_table("low").unwrap(), db.create_table("high").unwrap());
        put(&db, low, 5);
        put(&db, high, 500);
        assert_eq!(pages(&db, || get(&db, low, 5)), (u64::from(WAYS), 0));
        assert_eq!(pages(&db, || get(&db, high, 500)), (2 * u64::from(WAYS), 0));
    }
}

#[test]
fn what_is_not_in_memory_is_looked_for_once_and_read_once() {
    let device = device();
    let db = open(&device, true);
    let table = db.create_table("t").unwrap();
    put(&db, table, 500);
    db.close().unwrap();
    let db = open(&device, true);
    let table = db.table("t").unwrap();
    let (accesses, read) = pages(&db, || get(&db, table, 500));
    assert_eq!(accesses, 2 * u64::from(WAYS));
    assert!((50..100).contains(&read), "{read}");
    assert_eq!(pages(&db, || get(&db, table, 500)), (2 * u64::from(WAYS), 0));
}

#[test]
fn a_scan_looks_for_each_leaf_in_either_direction() {
    let device = device();
    let db = open(&device, true);
    let table = db.create_table("t").unwrap();
    put(&db, table, 500);
    let scan = |direction| {
        let transaction = db.begin_read().unwrap();
        let mut scan = transaction.scan_all(table, direction);
        let mut records = 0;
        while scan.next().unwrap().is_some() {
            records += 1;
        }
        assert_eq!(records, 500);
    };
    let scans = |direction| pages(&db, || (0..32).for_each(|_| scan(direction))).0;
    let (forward, backward) = (scans(Direction::Forward), scans(Direction::Backward));
    // Of 32 scans, one way to each leaf is counted, and all of them are two pages long.
    assert_eq!(forward, backward);
    assert!((50..100).contains(&(forward / 64)), "{forward}");
}

#[test]
fn no_more_of_the_log_waits_to_be_written_than_its_buffer_holds() {
    let waiting = |log_buffer_bytes| {
        let quiet = Options { background: false, cleaning: Cleaning::Inline, ..Options::default() };
        let db = Db::open(&device(), &Options { log_buffer_bytes, ..quiet }).unwrap();
        let table = db.create_table("t").unwrap();
        let most = (0..50u32).map(|n| {
            let mut transaction = db.begin().unwrap();
            transaction.put(table, &n.to_be_bytes(), &[1; 400]).unwrap();
            let commit = transaction.commit_soon().unwrap();
            // A split that it caused may have been logged, and written, behind it.
            commit.0.saturating_sub(db.durable().0)
        });
        most.max().unwrap()
    };
    let (least, some, most) = (waiting(0), waiting(10_000), waiting(usize::MAX));
    assert!((400..=4096).contains(&least), "{least}");
    assert!((4096..=10_000).contains(&some), "{some}");
    assert!(most > 50 * 400, "{most}");
}

/// Puts long records in ascending order, those of each of `orders` orders in turn; returns the
/// leaves that they take.
fn leaves_of(orders: u32, records: u32) -> u64 {
    let db = open(&device(), true);
    let table = db.create_table("t").unwrap();
    for n in 0..records {
        let mut transaction = db.begin().unwrap();
        for order in 0..orders {
            let key = (order * records + n).to_be_bytes();
            transaction.put(table, &key, &[1; 550]).unwrap();
        }
        transaction.commit().unwrap();
    }
    let check = db.check().unwrap();
    assert_eq!(check.findings, []);
    check.trees.iter().find(|tree| tree.table.is_some()).unwrap().leaves
}

#[test]
fn orders_that_come_side_by_side_leave_leaves_as_full_as_one_that_comes_alone() {
    let alone = leaves_of(1, 1200);
    let beside = leaves_of(4, 300);
    assert!(alone < 1200 / 7 + 5, "{alone}");
    assert!(beside < alone + 20, "{beside} against {alone}");
}

#[test]
fn of_what_commits_write_keys_and_new_bytes_are_counted() {
    let db = open(&device(), true);
    let table = db.create_table("t").unwrap();
    let updated = |write: &dyn Fn(&mut Transaction<'_>)| {
        let before = db.stats().unwrap().updated_bytes;
        let mut transaction = db.begin().unwrap();
        write(&mut transaction);
        transaction.commit().unwrap();
        db.stats().unwrap().updated_bytes - before
    };
    assert_eq!(updated(&|t| t.put(table, b"key", &[1; 100]).unwrap()), 103);
    assert_eq!(updated(&|t| t.patch(table, b"key", 7, &[2; 10]).unwrap()), 13);
    assert_eq!(updated(&|t| t.delete(table, b"key").unwrap()), 3);
    let rolled_back = db.stats().unwrap().updated_bytes;
    let mut transaction = db.begin().unwrap();
    transaction.put(table, b"other", b"value").unwrap();
    drop(transaction);
    assert_eq!(db.stats().unwrap().updated_bytes, rolled_back);
}

#[test]
fn a_checkpoint_leaves_most_of_the_half_of_the_log_that_changes_may_wait_for() {
    let db = open(&device(), true);
    let table = db.create_table("t").unwrap();
    // Each record changes a page that has no older change for long.
    let used: Vec<_> = (0..2000u32)
        .map(|n| {
            let mut transaction = db.begin().unwrap();
            let keys = 20 * n..20 * (n + 1);
            keys.for_each(|key| transaction.put(table, &key.to_be_bytes(), &[1; 400]).unwrap());
            transaction.commit().unwrap();
            db.stats().unwrap().log_used
        })
        .collect();
    let capacity = used[0].1;
    let (before, after) = (used.iter(), used.iter().skip(1));
    let released: Vec<_> = before.zip(after).filter(|(before, after)| before > after).collect();
    assert!(!released.is_empty());
    // Each commit takes whole blocks of the log, so it is less than the seven sixteenths of
    // records.
    assert!(released.iter().all(|(_, after)| after.0 > capacity / 4), "{released:?}");
}
