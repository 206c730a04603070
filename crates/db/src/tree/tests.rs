//! What threads can do to each other, one step at a time.

use std::sync::Arc;

use frostline_store::Cleaning;
use frostline_zone::{Device, Shape, in_memory};

use crate::{Create, Db, DbError, Options, Table};

/// A database whose log is much larger than all its pages.
fn open() -> Db {
    let shape = Shape { bytes: 11 << 20, zone_bytes: Some(1 << 17), ..Shape::default() };
    let device: Arc<dyn Device> = in_memory(&shape).unwrap();
    let create = Create { log_bytes: Some(8 << 20), ..Create::default() };
    Db::create(&device, &create).unwrap();
    let options = Options { background: false, cleaning: Cleaning::Inline, ..Options::default() };
    Db::open(&device, &options).unwrap()
}

fn key(n: u32) -> [u8; 4] {
    n.to_be_bytes()
}

fn put(db: &Db, table: Table, keys: std::ops::Range<u32>) -> Result<(), DbError> {
    let mut transaction = db.begin()?;
    keys.into_iter().try_for_each(|n| transaction.put(table, &key(n), &[7; 400]))?;
    transaction.commit()
}

fn delete(db: &Db, table: Table, keys: std::ops::Range<u32>) {
    let mut transaction = db.begin().unwrap();
    keys.into_iter().for_each(|n| transaction.delete(table, &key(n)).unwrap());
    transaction.commit().unwrap();
}

#[test]
fn a_leaf_that_was_merged_away_can_neither_be_held_nor_read_in() {
    let db = open();
    let table = db.create_table("t").unwrap();
    put(&db, table, 0..12).unwrap();
    let trees = &db.core().trees;
    let last = trees.leaf(table.root, &key(11)).unwrap();
    let page = last.place();
    assert!(trees.pool.look_at(page).is_some() && last.node().count() < 6);
    let first = 12 - last.node().count() as u32;
    // The leaf before becomes so empty that it takes this one in.
    delete(&db, table, 1..first);
    let merged = trees.leaf(table.root, &key(11)).unwrap();
    assert_ne!(merged.place().page(), page.page());
    assert!(!last.is_unchanged() && last.lock().is_none());
    assert!(trees.pool.look_at(page).is_none());
    assert!(trees.pool.look(page.page()).is_err());
    let pages_read = trees.pool.counters.read.load(std::sync::atomic::Ordering::Relaxed);
    assert!(trees.pool.look(page.page()).is_err());
    let now = trees.pool.counters.read.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(pages_read, now);
}

#[test]
fn pages_that_were_freed_are_there_for_commits_that_were_promised_them() {
    let db = open();
    let table = db.create_table("t").unwrap();
    for round in 0..4 {
        let mut end = 0;
        while put(&db, table, end..end + 10).is_ok() {
            end += 10;
        }
        assert!(matches!(put(&db, table, end..end + 10), Err(DbError::Full { .. })), "{round}");
        for from in (0..end).step_by(50) {
            delete(&db, table, from..(from + 50).min(end));
        }
    }
    let check = db.check().unwrap();
    assert!(check.findings.is_empty(), "{:?}", check.findings);
}
