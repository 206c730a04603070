//! What a database takes on the disk: little when it is empty, in proportion to its records when it
//! is not, and little again when they are gone.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use frostline::Db;

/// Bytes that a file takes, and its length.
fn taken(path: &Path) -> (u64, u64) {
    let metadata = std::fs::metadata(path).unwrap();
    (metadata.blocks() * 512, metadata.len())
}

const RECORDS: u64 = 100_000;
const VALUE: usize = 100;

/// Puts or deletes all records, a thousand in a transaction.
fn change_all(db: &Db, put: bool) {
    let table = db.table("t").unwrap();
    for first in (0..RECORDS).step_by(1000) {
        db.update(|tx| {
            for number in first..first + 1000 {
                let key = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16).to_be_bytes();
                match put {
                    true => tx.put(table, key, [number as u8; VALUE])?,
                    false => drop(tx.delete(table, key)?),
                }
            }
            Ok(())
        })
        .unwrap();
    }
}

#[test]
fn a_file_is_small_when_empty_grows_with_its_records_and_shrinks_when_they_go() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("my.frost");
    let db = Db::open(&path).unwrap();
    println!("made: {:?}", taken(&path));
    db.close().unwrap();
    let empty = taken(&path);
    println!("empty: {empty:?}");

    let db = Db::open(&path).unwrap();
    change_all(&db, true);
    println!("filled: {:?}", taken(&path));
    db.close().unwrap();
    let full = taken(&path);
    println!("closed: {full:?}");

    let db = Db::open(&path).unwrap();
    change_all(&db, false);
    println!("deleted: {:?}", taken(&path));
    db.close().unwrap();
    let emptied = taken(&path);
    println!("closed: {emptied:?}");

    let db = Db::open(&path).unwrap();
    assert!(db.read().unwrap().first(db.table("t").unwrap()).unwrap().is_none());
    db.close().unwrap();

    let data = RECORDS * (8 + VALUE as u64);
    assert!(empty.0 < 1 << 20 && empty.1 < 1 << 20, "{empty:?}");
    assert!(full.0 <= data * 3 / 2 && full.1 <= data * 3 / 2, "{full:?}");
    // The length has holes where extents were freed before the last one.
    assert!(emptied.0 < 1 << 20 && emptied.1 < 2 << 20, "{emptied:?}");
}
