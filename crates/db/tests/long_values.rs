//! Values that are too long for a page.

use std::sync::Arc;

use frostline_db::{Create, Db, Options};
use frostline_store::Cleaning;
use frostline_zone::{Device, Shape, in_memory};

fn device() -> Arc<dyn Device> {
    let shape = Shape { bytes: 16 << 20, zone_bytes: Some(1 << 18), ..Shape::default() };
    let device: Arc<dyn Device> = in_memory(&shape).unwrap();
    Db::create(&device, &Create::default()).unwrap();
    device
}

fn open(device: &Arc<dyn Device>) -> Db {
    let options = Options { background: false, cleaning: Cleaning::Inline, ..Options::default() };
    Db::open(device, &options).unwrap()
}

#[test]
fn a_long_value_that_was_rolled_back_does_not_hide_later_ones() {
    let device = device();
    let db = open(&device);
    let table = db.create_table("t").unwrap();
    let mut never = db.begin().unwrap();
    never.put(table, b"k", &[1; 5000]).unwrap();
    never.rollback();
    let mut first = db.begin().unwrap();
    first.put(table, b"k", &[2; 5000]).unwrap();
    first.commit().unwrap();
    db.close().unwrap();

    let db = open(&device);
    let table = db.table("t").unwrap();
    let mut change = db.begin().unwrap();
    change.patch(table, b"k", 4000, &[3]).unwrap();
    change.patch(table, b"k", 0, &[4]).unwrap();
    change.commit().unwrap();
    let value = db.begin_read().unwrap().get(table, b"k").unwrap().unwrap();
    assert_eq!((value.len(), value[0], value[4000], value[4001]), (5000, 4, 3, 2));
    let mut short = db.begin().unwrap();
    short.put(table, b"k", b"short").unwrap();
    short.commit().unwrap();
    let check = db.check().unwrap();
    assert!(check.findings.is_empty(), "{:?}", check.findings);
    assert_eq!(check.trees.last().unwrap().records, 0, "no piece is left");
}

#[test]
fn the_first_long_values_of_a_table_do_not_conflict() {
    let db = open(&device());
    let table = db.create_table("t").unwrap();
    let (mut a, mut b) = (db.begin().unwrap(), db.begin().unwrap());
    a.put(table, b"a", &[1; 5000]).unwrap();
    b.put(table, b"b", &[2; 5000]).unwrap();
    a.commit().unwrap();
    b.commit().unwrap();
    assert_eq!(db.check().unwrap().long_values, 2);
}

#[test]
fn a_patch_beyond_any_value_changes_nothing() {
    let db = open(&device());
    let table = db.create_table("t").unwrap();
    let mut transaction = db.begin().unwrap();
    transaction.put(table, b"k", b"value").unwrap();
    transaction.patch(table, b"k", usize::MAX, b"xy").unwrap();
    transaction.patch(table, b"k", 70_000, b"xy").unwrap();
    transaction.patch(table, b"k", 4, b"xy").unwrap();
    transaction.commit().unwrap();
    assert_eq!(db.begin_read().unwrap().get(table, b"k").unwrap().unwrap(), b"valux");
}
