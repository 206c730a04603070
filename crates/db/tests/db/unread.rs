//! Records that are put, patched and deleted although neither they nor their pages were read: a database
//! with little memory against ordered maps, with snapshots, through kills and checkpoints.

use std::collections::BTreeMap;
use std::sync::Arc;

use frostline_db::{Create, Db, DbError, Direction, Options, Table, Transaction};
use frostline_store::Cleaning;
use frostline_zone::{Device, Shape, in_memory};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// Keys that records may have: some times as many pages of them as memory has room for.
const KEYS: u32 = 30_000;

fn device() -> Arc<dyn Device> {
    let shape = Shape { bytes: 48 << 20, zone_bytes: Some(1 << 18), ..Shape::default() };
    let device = in_memory(&shape).unwrap();
    Db::create(&device, &Create { log_bytes: Some(4 << 20), ..Create::default() }).unwrap();
    device
}

fn open(device: &Arc<dyn Device>) -> Db {
    let options = Options {
        buffer_bytes: 128 * 4096,
        background: false,
        cleaning: Cleaning::Inline,
        ..Options::default()
    };
    Db::open(device, &options).unwrap()
}

fn key(n: u32) -> Vec<u8> {
    match n % 3 {
        0 => format!("a rather long prefix {}", n / 3).into_bytes(),
        1 => (n / 3).to_be_bytes().to_vec(),
        _ => [&[b'z'][..], &(n / 3).to_le_bytes(), &vec![7; (n % 50) as usize]].concat(),
    }
}

/// A change for a transaction or a map: a value, or none if the record is deleted.
fn change(rng: &mut StdRng) -> (Vec<u8>, Option<Vec<u8>>) {
    let key = key(rng.random_range(0..KEYS));
    let len = match rng.random_range(0..10) {
        0..4 => None,
        4..8 => Some(100),
        8 => Some(rng.random_range(0..20)),
        _ => Some(rng.random_range(0..700)),
    };
    (key, len.map(|len| vec![rng.random(); len]))
}

fn make(transaction: &mut Transaction<'_>, table: Table, map: &mut Map, rng: &mut StdRng) {
    let (key, value) = change(rng);
    if rng.random_bool(0.3) {
        // Of the next record that is there, if any; often of one of a few.
        let key = if rng.random() { key } else { self::key(rng.random_range(0..60)) };
        let patched = map.range_mut(key.clone()..).next();
        let key = patched.as_ref().map_or(&key, |(key, _)| *key);
        let (at, bytes) = (rng.random_range(0..120), [rng.random(); 7]);
        transaction.patch(table, key, at, &bytes).unwrap();
        let places = patched.into_iter().flat_map(|(_, value)| value.iter_mut().skip(at));
        places.zip(bytes).for_each(|(byte, new)| *byte = new);
        return;
    }
    match value {
        Some(value) => {
            transaction.put(table, &key, &value).unwrap();
            map.insert(key, value);
        }
        None => {
            transaction.delete(table, &key).unwrap();
            map.remove(&key);
        }
    }
}

fn compare_some(look: &Transaction<'_>, table: Table, map: &Map, rng: &mut StdRng) {
    for _ in 0..3 {
        let key = key(rng.random_range(0..KEYS));
        assert_eq!(look.get(table, &key).unwrap().as_ref(), map.get(&key), "{key:?}");
    }
    let from = key(rng.random_range(0..KEYS));
    let direction = [Direction::Forward, Direction::Backward][rng.random_range(0..2)];
    let mut scan = look.scan(table, &from, direction);
    let expected: Box<dyn Iterator<Item = _>> = match direction {
        Direction::Forward => Box::new(map.range(from.clone()..)),
        Direction::Backward => Box::new(map.range(..=from.clone()).rev()),
    };
    for (key, value) in expected.take(5) {
        let found = scan.next().unwrap();
        assert!(
            found == Some((&key[..], &value[..])),
            "{key:?}, and not {:?}",
            found.map(|it| it.0)
        );
    }
}

fn compare(look: &Transaction<'_>, table: Table, map: &Map) {
    let mut scan = look.scan_all(table, Direction::Forward);
    for (key, value) in map {
        let found = scan.next().unwrap();
        assert!(
            found == Some((&key[..], &value[..])),
            "{key:?}, and not {:?}",
            found.map(|it| it.0)
        );
    }
    assert_eq!(scan.next().unwrap(), None);
}

/// Changes and kills, as a map has it. With `long`, some values are long.
fn run(seed: u64, long: bool) {
    println!("seed {seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let (device, mut map) = (device(), Map::new());
    let mut unread = 0;
    for life in 0..5 {
        let db = open(&device);
        let table = db.table("t").or_else(|_| db.create_table("t")).unwrap();
        // Otherwise what waits after a replay is changed.
        if life % 2 == 0 {
            compare(&db.begin_read().unwrap(), table, &map);
        }
        // Read transactions, and what they see.
        let mut looks: Vec<(Transaction<'_>, Map)> = Vec::new();
        for _ in 0..150 {
            let (mut transaction, mut next) = (db.begin().unwrap(), map.clone());
            for _ in 0..rng.random_range(1..40) {
                make(&mut transaction, table, &mut next, &mut rng);
            }
            if long && rng.random_bool(0.2) {
                let key = key(rng.random_range(0..KEYS));
                let value = vec![rng.random(); rng.random_range(1000..3000)];
                transaction.put(table, &key, &value).unwrap();
                next.insert(key, value);
            }
            if rng.random_bool(0.1) {
                transaction.rollback();
                continue;
            }
            transaction.commit_soon().unwrap();
            map = next;
            match rng.random_range(0..30) {
                0 => looks.push((db.begin_read().unwrap(), map.clone())),
                1 if !looks.is_empty() => {
                    let (look, map) = looks.swap_remove(rng.random_range(0..looks.len()));
                    if rng.random_bool(0.3) {
                        compare(&look, table, &map);
                    }
                }
                2 => db.checkpoint().unwrap(),
                _ => {}
            }
            if rng.random_bool(0.1) {
                looks.iter().for_each(|(look, map)| compare_some(look, table, map, &mut rng));
                compare_some(&db.begin_read().unwrap(), table, &map, &mut rng);
            }
        }
        looks.iter().for_each(|(look, map)| compare(look, table, map));
        drop(looks);
        unread += db.stats().unwrap().records_unread;
        if life == 2 {
            compare(&db.begin_read().unwrap(), table, &map);
        }
        // Then the process is killed. A check reads all leaves, and most of them are written.
        let commit = db.begin().unwrap().commit_soon().unwrap();
        db.wait(commit).unwrap();
        assert!(life % 2 == 0 || db.check().unwrap().findings.is_empty());
    }
    assert!(unread > 1000, "{unread} records were written unread");
    let db = open(&device);
    let table = db.table("t").unwrap();
    let keys: Vec<_> = (0..KEYS).map(key).collect();
    for keys in keys.chunks(200) {
        let mut transaction = db.begin().unwrap();
        keys.iter().for_each(|key| transaction.delete(table, key).unwrap());
        transaction.commit_soon().unwrap();
    }
    assert!(db.stats().unwrap().records_unread > 1000, "deletes are made unread");
    compare(&db.begin_read().unwrap(), table, &Map::new());
    db.checkpoint().unwrap();
    db.checkpoint().unwrap();
    let pages = db.stats().unwrap().pages;
    assert!(pages < 40, "{pages} pages are left of nothing");
}

#[test]
fn records_that_are_written_unread_are_what_a_map_has_in_every_snapshot() {
    (0..2).for_each(|seed| run(seed, false));
}

/// Changes of long values, of which memory has room for a fifth, and kills.
fn overwrite(seed: u64) {
    println!("seed {seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let (device, mut map) = (device(), Map::new());
    let mut unread = 0;
    for life in 0..4 {
        let db = open(&device);
        let table = db.table("t").or_else(|_| db.create_table("t")).unwrap();
        let keys = (0..1500u32).map(|n| n.wrapping_mul(0x9e37_79b9).to_be_bytes());
        for key in keys.clone().filter(|_| life == 0) {
            let mut load = db.begin().unwrap();
            let value = vec![rng.random(); [1000, 1240, 1300, 2600][rng.random_range(0..4)]];
            load.put(table, &key, &value).unwrap();
            map.insert(key.to_vec(), value);
            load.commit_soon().unwrap();
        }
        let keys: Vec<_> = keys.collect();
        let mut looks: Vec<(Transaction<'_>, Map)> = Vec::new();
        for round in 0..600 {
            let mut transaction = db.begin().unwrap();
            for _ in 0..rng.random_range(1..5) {
                let key = &keys[rng.random_range(0..keys.len())][..];
                let value = map.get_mut(key);
                match (rng.random_range(0..20), value) {
                    (0, _) => {
                        transaction.delete(table, key).unwrap();
                        map.remove(key);
                    }
                    (1, Some(value)) => {
                        let at = rng.random_range(0..value.len());
                        transaction.patch(table, key, at, b"patched").unwrap();
                        value.iter_mut().skip(at).zip(b"patched").for_each(|(b, &new)| *b = new);
                    }
                    (2..18, Some(value)) => {
                        value.fill(rng.random());
                        transaction.put(table, key, value).unwrap();
                    }
                    _ => {
                        let value = vec![rng.random(); rng.random_range(0..3000)];
                        transaction.put(table, key, &value).unwrap();
                        map.insert(key.to_vec(), value);
                    }
                }
            }
            transaction.commit_soon().unwrap();
            match round % 60 {
                20 => looks.push((db.begin_read().unwrap(), map.clone())),
                50 if rng.random() => {
                    let (look, map) = looks.swap_remove(rng.random_range(0..looks.len()));
                    compare(&look, table, &map);
                }
                _ => {}
            }
            let key = &keys[rng.random_range(0..keys.len())][..];
            let now = db.begin_read().unwrap().get(table, key).unwrap();
            assert_eq!(now.as_ref(), map.get(key), "{key:?}");
        }
        looks.iter().for_each(|(look, map)| compare(look, table, map));
        drop(looks);
        unread += db.stats().unwrap().records_unread;
        let commit = db.begin().unwrap().commit_soon().unwrap();
        db.wait(commit).unwrap();
        assert!(db.check().unwrap().findings.is_empty());
        drop(db);
        let db = open(&device);
        compare(&db.begin_read().unwrap(), db.table("t").unwrap(), &map);
    }
    // About 2,000 if pieces of the same length needed room.
    assert!(unread > 4000, "{unread} pieces were written unread");
}

#[test]
fn pieces_of_long_values_that_are_overwritten_unread_are_what_a_map_has_in_every_snapshot() {
    (0..3).for_each(overwrite);
}

#[test]
fn in_a_table_with_long_values_short_ones_are_written_unread_and_none_is_lost() {
    (7..9).for_each(|seed| run(seed, true));
}

#[test]
fn a_patch_of_a_long_value_that_another_transaction_deleted_unread_reads_what_the_snapshot_sees() {
    let db = open(&device());
    let table = db.create_table("t").unwrap();
    let put = |numbers: std::ops::Range<u32>, len: usize| {
        for n in numbers {
            let mut transaction = db.begin().unwrap();
            transaction.put(table, &n.to_be_bytes(), &vec![7; len]).unwrap();
            transaction.commit().unwrap();
        }
    };
    // More leaves than memory has room for, of which the first has long values.
    let long: Vec<_> = (0..40u32).filter(|n| n % 8 == 0).map(u32::to_be_bytes).collect();
    put(0..8000, 300);
    long.iter().for_each(|&key| put(u32::from_be_bytes(key)..u32::from_be_bytes(key) + 1, 2000));
    let mut patches = db.begin().unwrap();
    long.iter().for_each(|key| {
        let mut deletion = db.begin().unwrap();
        deletion.delete(table, key).unwrap();
        deletion.commit().unwrap();
    });
    let unread = db.stats().unwrap().records_unread;
    put(1000..8000, 301);
    assert!(db.stats().unwrap().records_unread > unread, "no leaf leaves memory");
    for key in &long {
        patches.patch(table, key, 6, &[9; 3]).unwrap();
        let mut patched = vec![7; 2000];
        patched[6..9].fill(9);
        assert_eq!(patches.get(table, key).unwrap(), Some(patched));
    }
    assert!(matches!(patches.commit(), Err(DbError::Conflict)));
}
