//! Pages that can't be read any more, while the database goes on with the others.

use std::sync::Arc;

use frostline_db::{Create, Db, DbError, Options, Table};
use frostline_store::Cleaning;
use frostline_zone::{Device, Faulty, Shape, in_memory};

/// A database with two tables and so many bytes of log and of memory, on a device whose faults are set
/// later.
fn database(log_bytes: u64, buffer_bytes: usize) -> (Arc<Faulty>, Db, [Table; 2]) {
    let shape = Shape { bytes: 4 * log_bytes, zone_bytes: Some(1 << 18), ..Shape::default() };
    let memory = in_memory(&shape).unwrap();
    Db::create(&memory, &Create { log_bytes: Some(log_bytes), ..Create::default() }).unwrap();
    let faulty = Arc::new(Faulty::new(memory, 1));
    let device: Arc<dyn Device> = faulty.clone();
    let quiet = Options { background: false, cleaning: Cleaning::Inline, ..Options::default() };
    let db = Db::open(&device, &Options { buffer_bytes, ..quiet }).unwrap();
    let tables = ["first", "second"].map(|name| db.create_table(name).unwrap());
    (faulty, db, tables)
}

fn key(n: u32) -> [u8; 4] {
    n.to_be_bytes()
}

fn put(db: &Db, table: Table, keys: std::ops::Range<u32>) -> Result<(), DbError> {
    let mut transaction = db.begin()?;
    keys.into_iter().try_for_each(|n| transaction.put(table, &key(n), &[7; 400]))?;
    transaction.commit()
}

/// Nothing that is on the device now can be read from now on.
fn spoil(device: &Faulty) {
    for zone in 0..device.geometry().zones {
        let written = device.zone(zone).unwrap().write_pointer;
        (0..written).step_by(4096).for_each(|at| device.fail_reads(zone, at));
    }
}

#[test]
fn a_deleted_record_whose_page_cant_be_read_stays_there_and_nobody_is_disturbed() {
    let (faulty, db, [gone, kept]) = database(8 << 20, 0);
    (0..20).for_each(|n| put(&db, gone, 20 * n..20 * n + 20).unwrap());
    // A snapshot needs the deleted record as long as it lasts.
    let look = db.begin_read().unwrap();
    let mut deletion = db.begin().unwrap();
    deletion.delete(gone, &key(5)).unwrap();
    deletion.commit().unwrap();
    (0..40).for_each(|n| put(&db, kept, 20 * n..20 * n + 20).unwrap());
    db.checkpoint().unwrap();
    spoil(&faulty);
    drop(look);
    for _ in 0..10 {
        put(&db, kept, 799..800).unwrap();
    }
    assert_eq!(db.stats().unwrap().ghosts_left, 1);
    let look = db.begin_read().unwrap();
    assert!(look.get(gone, &key(5)).is_err(), "the page was in memory");
    assert_eq!(look.get(kept, &key(799)).unwrap().unwrap(), [7; 400]);
}

/// Flips a bit in each record that was written to a device between two moments, or flips it back.
fn flip(device: &Faulty, before: &[u64], after: &[u64]) {
    for (zone, (&from, &to)) in (0..).zip(before.iter().zip(after)) {
        (from..to).step_by(64).for_each(|at| device.flip(zone, at, 1));
    }
}

fn written(device: &Faulty) -> Vec<u64> {
    let zones = 0..device.geometry().zones;
    zones.map(|zone| device.zone(zone).unwrap().write_pointer).collect()
}

/// A value that is longer than the image of a page, which is compressed: the store takes no delta
/// with it.
fn noise(n: u32) -> Vec<u8> {
    let number = |at: u32| (400 * n + at).wrapping_mul(0x9e37_79b9);
    (0..400).map(|at| (number(at) >> 24) as u8).collect()
}

#[test]
fn changes_of_pages_that_cant_be_read_wait_in_memory_and_nobody_is_disturbed() {
    let (faulty, db, [bad, good]) = database(16 << 20, 100 * 4096);
    (0..100).for_each(|n| put(&db, good, 20 * n..20 * n + 20).unwrap());
    db.checkpoint().unwrap();
    let before = written(&faulty);
    (0..30).for_each(|n| put(&db, bad, 20 * n..20 * n + 20).unwrap());
    db.checkpoint().unwrap();
    let after = written(&faulty);
    let change = |table, n: u32| {
        let mut transaction = db.begin()?;
        transaction.get(table, &key(n))?;
        transaction.put(table, &key(n), &noise(n))?;
        transaction.commit()
    };
    (0..600).step_by(10).for_each(|n| change(bad, n).unwrap());
    // They leave memory, but for their changes.
    (0..200).for_each(|n| change(good, 8 * n).unwrap());
    flip(&faulty, &before, &after);
    (0..400).for_each(|n| change(good, 4 * n + 1).unwrap());
    assert!(db.checkpoint().is_err(), "changes were lost, or written");
    flip(&faulty, &before, &after);
    db.checkpoint().unwrap();
    let look = db.begin_read().unwrap();
    for n in (0..600).step_by(10) {
        assert_eq!(look.get(bad, &key(n)).unwrap().unwrap(), noise(n), "{n}");
    }
}

#[test]
fn a_commit_to_a_page_that_cant_be_read_writes_nothing_and_others_go_on() {
    let (faulty, db, [bad, good]) = database(16 << 20, 100 * 4096);
    (0..100).for_each(|n| put(&db, good, 20 * n..20 * n + 20).unwrap());
    let before = written(&faulty);
    (0..100).for_each(|n| put(&db, bad, 20 * n..20 * n + 20).unwrap());
    db.checkpoint().unwrap();
    let after = written(&faulty);
    // The first table leaves memory.
    let look = db.begin_read().unwrap();
    (0..2000).for_each(|n| assert!(look.get(good, &key(n)).unwrap().is_some()));
    drop(look);
    flip(&faulty, &before, &after);
    // A patch needs the record that it changes. Behind others its leaf is not among the first.
    for others in [0, 9] {
        let mut transaction = db.begin().unwrap();
        (0..others).for_each(|n| transaction.patch(good, &key(n), 5, &[9]).unwrap());
        transaction.patch(bad, &key(300), 5, &[9]).unwrap();
        assert!(transaction.commit().is_err(), "the page is in memory");
    }
    put(&db, good, 1..2).unwrap();
    flip(&faulty, &before, &after);
    let value = |table, n| db.begin_read().unwrap().get(table, &key(n)).unwrap().unwrap();
    assert_eq!([value(good, 0), value(bad, 300)], [[7; 400]; 2], "a commit that failed was made");
    let mut transaction = db.begin().unwrap();
    transaction.patch(bad, &key(300), 5, &[9]).unwrap();
    transaction.commit().unwrap();
    assert_eq!(value(bad, 300)[4..7], [7, 9, 7]);
}
