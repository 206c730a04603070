//! Records that are read together: the answers of reads one by one, and fewer waits for the device.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use frostline_db::{Create, Db, Direction, Options, Table, Transaction};
use frostline_store::Cleaning;
use frostline_zone::{Clock, Device, Drive, Shape, Timed, in_memory};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

fn device() -> Arc<dyn Device> {
    let shape = Shape { bytes: 64 << 20, zone_bytes: Some(1 << 18), ..Shape::default() };
    let device: Arc<dyn Device> = in_memory(&shape).unwrap();
    Db::create(&device, &Create { log_bytes: Some(8 << 20), ..Create::default() }).unwrap();
    device
}

fn options(pages: usize) -> Options {
    Options {
        buffer_bytes: pages * 4096,
        background: false,
        cleaning: Cleaning::Inline,
        ..Options::default()
    }
}

fn key(n: u32) -> Vec<u8> {
    n.wrapping_mul(0x9e37_79b1).to_be_bytes().to_vec()
}

fn value(rng: &mut StdRng) -> Vec<u8> {
    let longest = match rng.random_range(0..200) {
        0 => 12_000,
        _ => 700,
    };
    let len = rng.random_range(0..longest);
    (0..len).map(|_| rng.random()).collect()
}

/// Compares many keys, some of them twice, with reads one by one and with a model.
fn compare(rng: &mut StdRng, look: &Transaction<'_>, table: Table, map: &Map, keys: u32) {
    let count = [0, 1, 7, 64, 65, 300][rng.random_range(0..6)];
    let asked: Vec<_> = (0..count).map(|_| key(rng.random_range(0..keys))).collect();
    if rng.random() {
        look.prefetch(asked.iter().map(|key| (table, &key[..]))).unwrap();
    }
    let together = look.get_many(table, &asked).unwrap();
    assert_eq!(together.len(), asked.len());
    for (key, found) in asked.iter().zip(together) {
        assert_eq!(found.as_ref(), map.get(key), "{key:x?}");
        assert_eq!(found, look.get(table, key).unwrap());
    }
}

fn step(
    rng: &mut StdRng,
    transaction: &mut Transaction<'_>,
    table: Table,
    map: &mut Map,
    keys: u32,
) {
    let key = key(rng.random_range(0..keys));
    match rng.random_range(0..10) {
        0..7 => {
            let value = value(rng);
            transaction.put(table, &key, &value).unwrap();
            map.insert(key, value);
        }
        7..9 => {
            transaction.delete(table, &key).unwrap();
            map.remove(&key);
        }
        _ => {
            transaction.patch(table, &key, 3, b"patched").unwrap();
            if let Some(value) = map.get_mut(&key) {
                value.iter_mut().skip(3).zip(b"patched").for_each(|(byte, &new)| *byte = new);
            }
        }
    }
}

#[test]
fn many_keys_have_the_values_of_a_model_with_own_writes_old_snapshots_and_little_memory() {
    const KEYS: u32 = 6_000;
    let seed = 1;
    println!("seed {seed}");
    let (mut rng, device) = (StdRng::seed_from_u64(seed), device());
    let mut map = Map::new();
    let mut db = Db::open(&device, &options(64)).unwrap();
    db.create_table("t").unwrap();
    for _ in 0..6 {
        let table = db.table("t").unwrap();
        let (old, old_map) = (db.begin_read().unwrap(), map.clone());
        for _ in 0..20 {
            let mut transaction = db.begin().unwrap();
            for _ in 0..rng.random_range(0..120) {
                step(&mut rng, &mut transaction, table, &mut map, KEYS);
            }
            compare(&mut rng, &transaction, table, &map, KEYS);
            transaction.commit_soon().unwrap();
            compare(&mut rng, &db.begin_read().unwrap(), table, &map, KEYS);
            compare(&mut rng, &old, table, &old_map, KEYS);
        }
        drop(old);
        // As after a crash: what was committed is redone.
        db.wait(db.begin().unwrap().commit_soon().unwrap()).unwrap();
        drop(db);
        db = Db::open(&device, &options(64)).unwrap();
    }
    assert!(db.stats().unwrap().pages > 200, "the data do not fit in memory");
}

#[test]
fn many_keys_have_the_values_of_their_snapshot_while_others_split_and_evict_pages() {
    const KEYS: u32 = 4_000;
    let device = device();
    let options = Options { buffer_bytes: 128 * 4096, ..Options::default() };
    let db = Db::open(&device, &options).unwrap();
    let table = db.create_table("t").unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for part in 0..2 {
            let (db, stop) = (&db, &stop);
            scope.spawn(move || {
                let (mut rng, mut map) = (StdRng::seed_from_u64(part), Map::new());
                while !stop.load(Ordering::Relaxed) {
                    let mut transaction = db.begin().unwrap();
                    for _ in 0..40 {
                        step(&mut rng, &mut transaction, table, &mut map, KEYS);
                    }
                    // The other one may win.
                    let _ = transaction.commit_soon();
                }
            });
        }
        let mut rng = StdRng::seed_from_u64(9);
        for _ in 0..150 {
            let look = db.begin_read().unwrap();
            let asked: Vec<_> = (0..100).map(|_| key(rng.random_range(0..KEYS))).collect();
            let together = look.get_many(table, &asked).unwrap();
            for (key, found) in asked.iter().zip(together) {
                assert_eq!(found, look.get(table, key).unwrap(), "{key:x?}");
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// A loaded database that was opened anew, on a drive whose time is added up.
struct Cold {
    db: Db,
    table: Table,
    drive: Arc<Timed>,
    keys: Vec<Vec<u8>>,
}

impl Cold {
    const RECORDS: u32 = 20_000;

    fn new() -> Cold {
        let device = device();
        let db = Db::open(&device, &options(2000)).unwrap();
        let table = db.create_table("t").unwrap();
        for first in (0..Self::RECORDS).step_by(1000) {
            let mut transaction = db.begin().unwrap();
            let mut put = |n| transaction.put(table, &key(n), &[7; 100]).unwrap();
            (first..first + 1000).for_each(&mut put);
            transaction.commit().unwrap();
        }
        db.close().unwrap();
        let drive = Arc::new(Timed::new(device, Drive::ZN540, Clock::Virtual));
        let device: Arc<dyn Device> = drive.clone();
        let db = Db::open(&device, &options(2000)).unwrap();
        let table = db.table("t").unwrap();
        let keys: Vec<_> = (0..Self::RECORDS).step_by(317).map(key).collect();
        // The nodes above the leaves, and the map of the store.
        db.begin_read().unwrap().get(table, &key(1)).unwrap();
        Cold { db, table, drive, keys }
    }

    /// The drive's time for reads of this transaction, and the pages that they read.
    fn take(&self, what: impl FnOnce(Transaction<'_>)) -> (Duration, u64) {
        let before = (self.drive.elapsed(), self.db.stats().unwrap().pages_read);
        what(self.db.begin().unwrap());
        let after = (self.drive.elapsed(), self.db.stats().unwrap().pages_read);
        (after.0 - before.0, after.1 - before.1)
    }
}

#[test]
fn what_many_keys_need_is_read_together_and_nothing_else() {
    let one_by_one = |cold: &Cold, look: Transaction<'_>| {
        cold.keys.iter().for_each(|key| assert!(look.get(cold.table, key).unwrap().is_some()));
    };
    let cold = Cold::new();
    let (slow, pages) = cold.take(|look| one_by_one(&cold, look));
    assert!(pages >= 50, "{pages}");
    let cold = Cold::new();
    let fast = cold.take(|look| {
        let found = look.get_many(cold.table, &cold.keys).unwrap();
        assert!(found.iter().all(Option::is_some));
    });
    assert_eq!(fast.1, pages);
    assert!(fast.0 * 4 < slow, "{fast:?} {slow:?}");
    let cold = Cold::new();
    let fetched = cold.take(|look| {
        look.prefetch(cold.keys.iter().map(|key| (cold.table, &key[..]))).unwrap();
    });
    assert_eq!(fetched.1, pages);
    assert!(fetched.0 * 4 < slow, "{fetched:?} {slow:?}");
    assert_eq!(cold.take(|look| one_by_one(&cold, look)), (Duration::ZERO, 0));
}

#[test]
fn a_commit_reads_the_leaves_of_its_writes_together() {
    let put = |cold: &Cold, mut transaction: Transaction<'_>, keys: &[Vec<u8>]| {
        keys.iter().for_each(|key| transaction.put(cold.table, key, &[8; 850]).unwrap());
        transaction.commit_soon().unwrap();
    };
    // So much waits for the leaves that they are needed for more.
    let filled = || {
        let cold = Cold::new();
        let neighbours = cold.keys.iter().map(|key| vec![[&key[..], &[0]].concat()]);
        let read = neighbours.map(|one| cold.take(|transaction| put(&cold, transaction, &one)).1);
        let read: u64 = read.sum();
        assert!(read < 10, "{read}");
        cold
    };
    let cold = filled();
    let (mut slow, mut pages) = (Duration::ZERO, 0);
    for key in &cold.keys {
        let taken = cold.take(|transaction| put(&cold, transaction, std::slice::from_ref(key)));
        (slow, pages) = (slow + taken.0, pages + taken.1);
    }
    let cold = filled();
    let fast = cold.take(|transaction| put(&cold, transaction, &cold.keys));
    assert_eq!(fast.1, pages);
    assert!(fast.0 * 4 < slow, "{fast:?} {slow:?}");
}

/// A table of a few values that are too long for a page, opened anew, and their keys.
fn cold_long_values(bytes: usize) -> (Db, Table, Arc<Timed>, Vec<Vec<u8>>) {
    let (device, mut rng) = (device(), StdRng::seed_from_u64(5));
    let db = Db::open(&device, &options(2000)).unwrap();
    let table = db.create_table("t").unwrap();
    // In another order than that of their keys.
    let keys: Vec<_> = (0..200).map(key).collect();
    for key in &keys {
        let mut transaction = db.begin().unwrap();
        let value: Vec<u8> = (0..bytes).map(|_| rng.random()).collect();
        transaction.put(table, key, &value).unwrap();
        transaction.commit_soon().unwrap();
    }
    db.close().unwrap();
    let drive = Arc::new(Timed::new(device, Drive::ZN540, Clock::Virtual));
    let device: Arc<dyn Device> = drive.clone();
    let db = Db::open(&device, &options(2000)).unwrap();
    let table = db.table("t").unwrap();
    // The nodes above the leaves, and the map of the store.
    assert!(db.begin_read().unwrap().get(table, &keys[0]).unwrap().is_some());
    (db, table, drive, keys)
}

#[test]
fn the_pieces_of_a_long_value_are_read_together() {
    let time_of = |bytes: usize| {
        let (db, table, drive, keys) = cold_long_values(bytes);
        let (begun, look) = (drive.elapsed(), db.begin_read().unwrap());
        // Three short ones share a leaf.
        for key in keys.iter().skip(3).step_by(3) {
            assert_eq!(look.get(table, key).unwrap().unwrap().len(), bytes);
        }
        drive.elapsed() - begun
    };
    // One leaf of pieces, and sixteen.
    let (short, long) = (time_of(1000), time_of(60_000));
    assert!(long < 4 * short, "{long:?} {short:?}");
}

/// A way to read the values of keys.
type Read = fn(&Transaction<'_>, Table, &[Vec<u8>]) -> Vec<Option<Vec<u8>>>;

#[test]
fn the_pieces_of_many_long_values_are_read_together() {
    for bytes in [1500, 10_000] {
        let take = |read: Read| {
            let (db, table, drive, keys) = cold_long_values(bytes);
            let before = (drive.elapsed(), db.stats().unwrap().pages_read);
            let values = read(&db.begin_read().unwrap(), table, &keys);
            let time = drive.elapsed() - before.0;
            (time, db.stats().unwrap().pages_read - before.1, values)
        };
        let slow = take(|look, table, keys| {
            keys.iter().map(|key| look.get(table, key).unwrap()).collect()
        });
        let fast = take(|look, table, keys| look.get_many(table, keys).unwrap());
        assert_eq!(fast.1, slow.1, "{bytes}");
        assert!(fast.0 * 2 < slow.0, "{bytes}: {:?} {:?}", fast.0, slow.0);
        assert!(fast.2.iter().all(Option::is_some) && fast.2 == slow.2, "{bytes}");
    }
}

#[test]
fn a_scan_reads_ahead_the_pieces_of_long_values_and_a_short_scan_none_in_vain() {
    let (forward, backward) = (Direction::Forward, Direction::Backward);
    // Halves by which it is faster: the first values are read one by one.
    for (direction, bytes, halves) in
        [(forward, 10_000, 6), (backward, 10_000, 6), (forward, 1500, 3)]
    {
        let scan = |most: usize| {
            let (db, table, drive, keys) = cold_long_values(bytes);
            let before = (drive.elapsed(), db.stats().unwrap().pages_read);
            let look = db.begin_read().unwrap();
            let (mut scan, mut given) = (look.scan_all(table, direction), 0);
            while given < most
                && let Some((_, value)) = scan.next().unwrap()
            {
                assert_eq!(value.len(), bytes);
                given += 1;
            }
            assert_eq!(given, most.min(keys.len()));
            (drive.elapsed() - before.0, db.stats().unwrap().pages_read - before.1)
        };
        let (all, few) = (scan(200), scan(3));
        let one_by_one = few.0 * all.1 as u32 / few.1 as u32;
        assert!(all.0 * halves < one_by_one * 2, "{direction:?}: {all:?} {few:?}");
        // A leaf of the table, and four of pieces for each value.
        assert!(few.1 <= 1 + 3 * 4, "{direction:?}: {few:?}");
    }
}

#[test]
fn scans_of_values_of_any_length_are_what_a_map_has_in_every_snapshot() {
    let seed = 3;
    println!("seed {seed}");
    let (mut rng, device, mut map) = (StdRng::seed_from_u64(seed), device(), Map::new());
    let mut db = Db::open(&device, &options(128)).unwrap();
    db.create_table("t").unwrap();
    for _ in 0..4 {
        let table = db.table("t").unwrap();
        let (old, old_map) = (db.begin_read().unwrap(), map.clone());
        for _ in 0..200 {
            let (mut transaction, key) = (db.begin().unwrap(), key(rng.random_range(0..600)));
            let most = [900, 3000, 30_000, 100_000][rng.random_range(0..4)];
            let bytes = rng.random_range(0..most);
            let value = vec![rng.random(); bytes];
            transaction.put(table, &key, &value).unwrap();
            map.insert(key, value);
            if rng.random_bool(0.05) {
                same(&transaction, table, &map, &mut rng);
            }
            transaction.commit_soon().unwrap();
        }
        same(&old, table, &old_map, &mut rng);
        drop(old);
        db.wait(db.begin().unwrap().commit_soon().unwrap()).unwrap();
        drop(db);
        db = Db::open(&device, &options(128)).unwrap();
    }
}

/// Compares a scan from some key with a map.
fn same(look: &Transaction<'_>, table: Table, map: &Map, rng: &mut StdRng) {
    let from = key(rng.random_range(0..600));
    let mut forward = look.scan(table, &from, Direction::Forward);
    for record in map.range(from.clone()..) {
        let found = forward.next().unwrap();
        assert!(found == Some((&record.0[..], &record.1[..])), "{:x?}", record.0);
    }
    let mut backward = look.scan(table, &from, Direction::Backward);
    for record in map.range(..=from).rev() {
        let found = backward.next().unwrap();
        assert!(found == Some((&record.0[..], &record.1[..])), "{:x?}", record.0);
    }
    assert!(forward.next().unwrap().is_none() && backward.next().unwrap().is_none());
}
