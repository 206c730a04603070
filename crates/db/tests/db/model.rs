//! A database against ordered maps, through reopening.

use std::collections::BTreeMap;
use std::sync::Arc;

use frostline_db::{
    Create, Db, DbError, Direction, LONGEST_VALUE, Options, Replacement, Table, Transaction,
};
use frostline_store::{Cleaning, Format};
use frostline_zone::{Device, Shape, in_memory};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

fn device() -> Arc<dyn Device> {
    let shape = Shape { bytes: 48 << 20, zone_bytes: Some(1 << 18), ..Shape::default() };
    let device = in_memory(&shape).unwrap();
    let store = Format { scheme: "sepbit".to_string(), ..Format::default() };
    let create = Create { store, log_bytes: Some(4 << 20), ..Create::default() };
    Db::create(&device, &create).unwrap();
    device
}

fn options(replacement: Replacement) -> Options {
    Options {
        buffer_bytes: 64 * 4096,
        replacement,
        background: false,
        cleaning: Cleaning::Inline,
        ..Options::default()
    }
}

fn key(rng: &mut StdRng) -> Vec<u8> {
    let n: u32 = rng.random_range(0..20_000);
    match n % 4 {
        0 => n.to_be_bytes().to_vec(),
        1 => format!("a rather long prefix that all of these share {n}").into_bytes(),
        2 => [&n.to_le_bytes()[..], &vec![7; (n % 400) as usize]].concat(),
        _ => format!("{n}").into_bytes(),
    }
}

fn value(rng: &mut StdRng) -> Vec<u8> {
    let longest = match rng.random_range(0..100) {
        0 => 20_000,
        1..10 => 900,
        _ => 100,
    };
    let len = rng.random_range(0..longest);
    (0..len).map(|_| rng.random()).collect()
}

/// Does the same to a transaction and to a map.
fn step(rng: &mut StdRng, transaction: &mut Transaction<'_>, table: Table, map: &mut Map) {
    let key = key(rng);
    match rng.random_range(0..11) {
        0..5 => {
            let value = value(rng);
            transaction.put(table, &key, &value).unwrap();
            map.insert(key, value);
        }
        5..8 => {
            transaction.delete(table, &key).unwrap();
            map.remove(&key);
        }
        8 => {
            let (at, bytes) = (rng.random_range(0..50), value(rng));
            let bytes = &bytes[..bytes.len().min(30)];
            transaction.patch(table, &key, at, bytes).unwrap();
            if let Some(value) = map.get_mut(&key) {
                value.iter_mut().skip(at).zip(bytes).for_each(|(byte, &new)| *byte = new);
            }
        }
        9 => {
            // The key is too long, or the value. Nothing changes by it.
            let (long, value) = match rng.random() {
                true => (vec![1; 513], vec![1; rng.random_range(0..5000)]),
                false => (key, vec![0; LONGEST_VALUE + 1]),
            };
            assert!(transaction.put(table, &long, &value).is_err());
        }
        _ => assert_eq!(transaction.get(table, &key).unwrap().as_ref(), map.get(&key)),
    }
}

fn compare(transaction: &Transaction<'_>, table: Table, map: &Map) {
    for direction in [Direction::Forward, Direction::Backward] {
        let mut scan = transaction.scan_all(table, direction);
        let mut found = 0;
        let mut expected: Box<dyn Iterator<Item = _>> = match direction {
            Direction::Forward => Box::new(map.iter()),
            Direction::Backward => Box::new(map.iter().rev()),
        };
        while let Some((key, value)) = scan.next().unwrap() {
            let (k, v) = expected.next().expect("no more records than expected");
            assert!(k == key && v == value, "{direction:?} {found}: {key:?} for {k:?}");
            found += 1;
        }
        assert_eq!(found, map.len());
    }
}

fn compare_part(rng: &mut StdRng, transaction: &Transaction<'_>, table: Table, map: &Map) {
    let bound = key(rng);
    let mut forward = transaction.scan(table, &bound, Direction::Forward);
    for (k, v) in map.range(bound.clone()..).take(100) {
        assert_eq!(forward.next().unwrap(), Some((&k[..], &v[..])));
    }
    let mut backward = transaction.scan(table, &bound, Direction::Backward);
    for (k, v) in map.range(..=bound.clone()).rev().take(100) {
        assert_eq!(backward.next().unwrap(), Some((&k[..], &v[..])));
    }
}

fn run(seed: u64, replacement: Replacement) {
    println!("seed {seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let device = device();
    let names = ["one", "two", "three"];
    let mut maps = [Map::new(), Map::new(), Map::new()];
    let mut db = Db::open(&device, &options(replacement)).unwrap();
    for name in names {
        db.create_table(name).unwrap();
    }
    for round in 0..300 {
        if round % 60 == 59 {
            match rng.random() {
                true => db.close().unwrap(),
                false => {
                    let commit = db.begin().unwrap().commit_soon().unwrap();
                    db.wait(commit).unwrap();
                    drop(db);
                }
            }
            db = Db::open(&device, &options(replacement)).unwrap();
        }
        let which = rng.random_range(0..3);
        let table = db.table(names[which]).unwrap();
        let mut transaction = db.begin().unwrap();
        let mut map = maps[which].clone();
        for _ in 0..rng.random_range(0..100) {
            step(&mut rng, &mut transaction, table, &mut map);
        }
        compare_part(&mut rng, &transaction, table, &map);
        match rng.random_range(0..5) {
            0 => transaction.rollback(),
            _ => {
                transaction.commit().unwrap();
                maps[which] = map;
            }
        }
    }
    let look = db.begin_read().unwrap();
    for (name, map) in names.iter().zip(&maps) {
        compare(&look, db.table(name).unwrap(), map);
    }
    drop(look);
    // Empty it, so that everything merges.
    for (name, map) in names.iter().zip(&mut maps) {
        let table = db.table(name).unwrap();
        let keys: Vec<_> = map.keys().cloned().collect();
        for keys in keys.chunks(50) {
            let mut transaction = db.begin().unwrap();
            keys.iter().for_each(|key| transaction.delete(table, key).unwrap());
            transaction.commit().unwrap();
        }
        let look = db.begin_read().unwrap();
        compare(&look, table, &Map::new());
    }
    db.checkpoint().unwrap();
    let stats = db.stats().unwrap();
    assert!(stats.pages < 40, "{} pages are left of nothing", stats.pages);
}

#[test]
fn a_database_holds_what_ordered_maps_hold() {
    for seed in 0..4 {
        run(seed, [Replacement::Clock, Replacement::Watt][seed as usize % 2]);
    }
}

#[test]
fn records_that_come_in_order_fill_pages_and_none_is_lost() {
    let db = Db::open(&device(), &options(Replacement::Clock)).unwrap();
    let table = db.create_table("t").unwrap();
    let mut map = Map::new();
    for n in 0..2000u32 {
        let mut transaction = db.begin().unwrap();
        for part in 0..5u16 {
            let key = [&part.to_be_bytes()[..], &n.to_be_bytes()].concat();
            let value = vec![part as u8; 60 + part as usize];
            transaction.put(table, &key, &value).unwrap();
            map.insert(key, value);
        }
        transaction.commit().unwrap();
    }
    compare(&db.begin_read().unwrap(), table, &map);
    // 10,000 records of 78 bytes with their slots, were all pages full.
    let pages = db.stats().unwrap().pages;
    assert!(pages < 240, "{pages} pages");
}

#[test]
fn large_records_that_come_in_order_fill_pages_as_well() {
    let db = Db::open(&device(), &options(Replacement::Clock)).unwrap();
    let table = db.create_table("t").unwrap();
    for n in 0..500u32 {
        let mut transaction = db.begin().unwrap();
        transaction.put(table, &n.to_be_bytes(), &[1; 540]).unwrap();
        transaction.commit().unwrap();
    }
    // Seven to a page.
    let pages = db.stats().unwrap().pages;
    assert!(pages < 85, "{pages} pages");
}

#[test]
fn a_database_that_was_closed_has_nothing_to_recover() {
    let device = device();
    for background in [false, true, true] {
        let options = Options { background, ..options(Replacement::Clock) };
        let db = Db::open(&device, &options).unwrap();
        assert_eq!(db.recovered(), Default::default());
        let table = db.table("t").or_else(|_| db.create_table("t")).unwrap();
        let mut transaction = db.begin().unwrap();
        transaction.put(table, b"key", b"value").unwrap();
        transaction.commit().unwrap();
        db.close().unwrap();
    }
}

#[test]
fn keys_and_values_that_are_too_long_are_refused() {
    let db = Db::open(&device(), &options(Replacement::Clock)).unwrap();
    let table = db.create_table("t").unwrap();
    let mut transaction = db.begin().unwrap();
    let refused = transaction.put(table, &[1; 513], b"");
    assert!(matches!(refused, Err(DbError::KeyTooLong { bytes: 513, longest: 512 })));
    transaction.put(table, &[1; 512], &vec![3; 100_000]).unwrap();
    transaction.commit().unwrap();
    assert_eq!(db.begin_read().unwrap().get(table, &[1; 512]).unwrap().unwrap().len(), 100_000);
    let mut large = db.begin().unwrap();
    let refused = large.put(table, b"k", &vec![0; LONGEST_VALUE + 1]);
    assert!(matches!(refused, Err(DbError::ValueTooLong { longest: LONGEST_VALUE, .. })));
    // Each of them goes through the log.
    for key in 0..200_u8 {
        large.put(table, &[key], &vec![1; 20_000]).unwrap();
    }
    assert!(matches!(large.commit(), Err(DbError::TooLarge { .. })));
    let mut reader = db.begin_read().unwrap();
    assert!(matches!(reader.put(table, b"k", b"v"), Err(DbError::ReadOnly)));
}
