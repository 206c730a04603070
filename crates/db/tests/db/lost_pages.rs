//! Stores that have lost the newest version of a page, and give another in its place: every record
//! that is read is the right one, or an error is.

use std::collections::BTreeMap;
use std::sync::Arc;

use frostline_db::{Create, Db, DbError, Direction, Options, Table};
use frostline_store::{Cleaning, Open, Store};
use frostline_zone::{Device, Shape, Span, in_memory};

type Records = BTreeMap<Vec<u8>, Vec<u8>>;

const TABLES: [&str; 2] = ["a", "b"];

const RECORDS: u32 = 250;

fn options() -> Options {
    Options { buffer_bytes: 0, background: false, cleaning: Cleaning::Inline, ..Options::default() }
}

fn record(table: &str, n: u32) -> (Vec<u8>, Vec<u8>) {
    // Keys of both tables lie between each other, so that fences of one fit into the other.
    let key = format!("{:0200}{table}", n * 3).into_bytes();
    let long = if n % 50 == 7 { 3000 } else { 400 };
    (key, format!("{table}{n}").repeat(long).into_bytes()[..long].to_vec())
}

fn empty() -> Arc<dyn Device> {
    let shape = Shape { bytes: 16 << 20, zone_bytes: Some(1 << 18), ..Shape::default() };
    let device: Arc<dyn Device> = in_memory(&shape).unwrap();
    Db::create(&device, &Create { log_bytes: Some(4 << 20), ..Create::default() }).unwrap();
    device
}

/// Two tables of the same keys' range, of three levels, and what they hold.
fn made() -> (Arc<dyn Device>, Vec<Records>) {
    let device = empty();
    let db = Db::open(&device, &options()).unwrap();
    let tables = TABLES.map(|name| (name, db.create_table(name).unwrap()));
    for n in (0..RECORDS).map(|n| n * 37 % RECORDS) {
        let mut transaction = db.begin().unwrap();
        for (name, table) in tables {
            let (key, value) = record(name, n);
            transaction.put(table, &key, &value).unwrap();
        }
        transaction.commit().unwrap();
    }
    let all = TABLES.map(|name| (0..RECORDS).map(|n| record(name, n)).collect());
    db.close().unwrap();
    (device, all.into())
}

fn store_of(device: &Arc<dyn Device>) -> Store {
    let zones = Store::zones_on(&**device).unwrap();
    let span = Arc::new(Span::new(device.clone(), 0, zones, None, None).unwrap());
    Store::open(span, Open { cleaning: Cleaning::Inline, ..Open::default() }).unwrap()
}

/// Puts a page in the place of another; what was there before.
fn replace(device: &Arc<dyn Device>, page: u32, with: &[u8]) -> Vec<u8> {
    let store = store_of(device);
    let mut before = vec![0; 4096];
    assert!(store.read(page, &mut before).unwrap());
    store.write(page, with).unwrap();
    store.close().unwrap();
    before
}

fn pages(device: &Arc<dyn Device>) -> Vec<(u32, Vec<u8>)> {
    let store = store_of(device);
    let mut found = Vec::new();
    store.mapped(0..store.pages() as u32, &mut |lba| found.push(lba)).unwrap();
    let read = |&lba: &u32| {
        let mut page = vec![0; 4096];
        assert!(store.read(lba, &mut page).unwrap());
        (lba, page)
    };
    // The first is the label, which is no node.
    found[1..].iter().map(read).collect()
}

/// Reads everything in every way; how many errors there were. Nothing that is read is wrong.
fn read_all(db: &Db, all: &[Records]) -> usize {
    let mut errors = 0;
    for (name, records) in TABLES.iter().zip(all) {
        let Ok(table) = db.table(name) else { panic!("the catalog is short of {name}") };
        let look = db.begin_read().unwrap();
        for (key, value) in records {
            match look.get(table, key) {
                Ok(found) => assert_eq!(found.as_ref(), Some(value), "{name}"),
                Err(_) => errors += 1,
            }
        }
        errors += usize::from(scan(db, table, Direction::Forward, records.iter()).is_err());
        errors += usize::from(scan(db, table, Direction::Backward, records.iter().rev()).is_err());
    }
    errors
}

fn scan<'r>(
    db: &Db,
    table: Table,
    direction: Direction,
    mut expected: impl Iterator<Item = (&'r Vec<u8>, &'r Vec<u8>)>,
) -> Result<(), DbError> {
    let look = db.begin_read()?;
    let mut scan = look.scan_all(table, direction);
    while let Some((key, value)) = scan.next()? {
        assert_eq!(Some((key, value)), expected.next().map(|(k, v)| (&k[..], &v[..])));
    }
    assert_eq!(expected.next(), None, "records are missing");
    Ok(())
}

#[test]
fn a_page_in_the_place_of_another_is_an_error_and_never_rows() {
    let (device, all) = made();
    let pages = pages(&device);
    let field = |page: &[u8], at: usize| u16::from_le_bytes([page[at], page[at + 1]]);
    let (tree, level) = (|page: &[u8]| field(page, 32), |page: &[u8]| field(page, 36));
    assert!(pages.iter().any(|(_, page)| level(page) == 2), "the trees are too low");
    let mut kinds = [0; 4];
    for (n, (lba, page)) in pages.iter().enumerate() {
        // The next of each kind: of this tree or another, of this level or another.
        let mut donors = [None; 4];
        for (_, other) in pages[n + 1..].iter().chain(&pages[..n]) {
            let same = (tree(other) == tree(page), level(other) == level(page));
            donors[usize::from(same.0) * 2 + usize::from(same.1)].get_or_insert(other);
        }
        for (kind, donor) in donors.iter().enumerate() {
            let Some(donor) = donor else { continue };
            let before = replace(&device, *lba, donor);
            match Db::open(&device, &options()) {
                Ok(db) => {
                    assert_ne!(read_all(&db, &all), 0, "page {lba}, kind {kind}");
                    assert!(!db.check().unwrap().findings.is_empty(), "page {lba}, kind {kind}");
                }
                // The catalog, or the last of the pieces.
                Err(error) => assert!(matches!(error, DbError::Misplaced { .. }), "{error}"),
            }
            replace(&device, *lba, &before);
            kinds[kind] += 1;
        }
    }
    assert!(kinds.iter().all(|&tried| tried > 20), "{kinds:?}");
    assert_eq!(read_all(&Db::open(&device, &options()).unwrap(), &all), 0);
}

#[test]
fn the_pieces_of_a_value_that_is_gone_are_not_taken_for_those_of_a_later_one() {
    const PIECES: u32 = 2;
    let device = empty();
    let with_table = |change: &dyn Fn(&Db, Table)| {
        let db = Db::open(&device, &options()).unwrap();
        let table = db.table("a").or_else(|_| db.create_table("a")).unwrap();
        change(&db, table);
        db.close().unwrap();
    };
    let put = |db: &Db, table: Table, key: &[u8], byte: u8| {
        let mut transaction = db.begin().unwrap();
        transaction.put(table, key, &[byte; 3000]).unwrap();
        transaction.commit().unwrap();
    };
    with_table(&|db, table| put(db, table, b"first", 1));
    let store = store_of(&device);
    let mut old = vec![0; 4096];
    assert!(store.read(PIECES, &mut old).unwrap());
    store.close().unwrap();
    with_table(&|db, table| {
        let mut transaction = db.begin().unwrap();
        transaction.delete(table, b"first").unwrap();
        transaction.commit().unwrap();
    });
    with_table(&|db, table| put(db, table, b"second", 2));
    replace(&device, PIECES, &old);
    with_table(&|db, table| {
        let found = db.begin_read().unwrap().get(table, b"second");
        assert!(found.is_err(), "{:?}", found.map(|value| value.map(|value| value[0])));
    });
}
