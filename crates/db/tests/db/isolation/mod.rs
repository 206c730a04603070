//! Snapshot isolation, case by case, and as a whole.

mod appends;
mod cases;
mod history;
mod judge;
mod serial;
mod snapshots;

use std::sync::Arc;

use frostline_db::{Create, Db, DbError, Direction, Options, Table, Transaction};
use frostline_store::Cleaning;
use frostline_zone::{Device, Shape, in_memory};

/// A database with the smallest buffer, and a table in it.
fn database(background: bool) -> (Db, Table) {
    let shape = Shape { bytes: 32 << 20, zone_bytes: Some(1 << 18), ..Shape::default() };
    let device: Arc<dyn Device> = in_memory(&shape).unwrap();
    let create = Create { log_bytes: Some(8 << 20), ..Create::default() };
    Db::create(&device, &create).unwrap();
    let cleaning = if background { Cleaning::Background } else { Cleaning::Inline };
    let options = Options { buffer_bytes: 0, background, cleaning, ..Options::default() };
    let db = Db::open(&device, &options).unwrap();
    let table = db.create_table("t").unwrap();
    (db, table)
}

/// Sets values in a transaction of their own.
fn set(db: &Db, table: Table, values: &[(&str, &str)]) {
    let mut transaction = db.begin().unwrap();
    for (key, value) in values {
        transaction.put(table, key.as_bytes(), value.as_bytes()).unwrap();
    }
    transaction.commit().unwrap();
}

fn delete(db: &Db, table: Table, key: &str) {
    let mut transaction = db.begin().unwrap();
    transaction.delete(table, key.as_bytes()).unwrap();
    transaction.commit().unwrap();
}

fn get(transaction: &Transaction<'_>, table: Table, key: &str) -> Option<String> {
    let value = transaction.get(table, key.as_bytes()).unwrap()?;
    Some(String::from_utf8(value).unwrap())
}

/// Keys and values in order, which scans in both directions agree about.
fn all(transaction: &Transaction<'_>, table: Table) -> Vec<(String, String)> {
    let scan = |direction| {
        let mut found = Vec::new();
        let mut scan = transaction.scan_all(table, direction);
        while let Some((key, value)) = scan.next().unwrap() {
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            found.push((text(key), text(value)));
        }
        found
    };
    let (forward, mut backward) = (scan(Direction::Forward), scan(Direction::Backward));
    backward.reverse();
    assert_eq!(forward, backward);
    forward
}

fn is_conflict(committed: Result<(), DbError>) -> bool {
    matches!(committed, Err(DbError::Conflict))
}

/// Asserts that the structure is sound.
fn is_sound(db: &Db) {
    let check = db.check().unwrap();
    assert!(check.findings.is_empty(), "{:#?}", check.findings);
}
