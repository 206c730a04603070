//! Pages in use follow the records that are there, in whatever order records come and go, and
//! through crashes, snapshots and a log that is short.
//!
//! `FROSTLINE_TIMES=n` lets n times as many records go through a queue.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::shapes::{Load, SHAPES, SLOT, Shape, Step, enough_pages};
use frostline_db::{Check, Create, Db, Direction, Options, Table, Transaction};
use frostline_store::{Cleaning, Format};
use frostline_testkit::seeds;
use frostline_zone::{Device, Shape as DeviceShape, in_memory};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

fn device(log_bytes: u64) -> Arc<dyn Device> {
    let shape =
        DeviceShape { bytes: 24 << 20, zone_bytes: Some(1 << 18), ..DeviceShape::default() };
    let device = in_memory(&shape).unwrap();
    let store = Format { scheme: "sepbit".to_string(), ..Format::default() };
    let create = Create { store, log_bytes: Some(log_bytes), ..Create::default() };
    Db::create(&device, &create).unwrap();
    device
}

fn quiet() -> Options {
    Options { background: false, cleaning: Cleaning::Inline, ..Options::default() }
}

fn open(device: &Arc<dyn Device>) -> Db {
    Db::open(device, &Options { buffer_bytes: 256 * 4096, ..quiet() }).unwrap()
}

fn check(db: &Db) -> Check {
    let check = db.check().unwrap();
    assert!(check.findings.is_empty(), "{:#?}", check.findings);
    check
}

/// Lets records go through a queue in which a number of them are: a batch comes in one transaction,
/// and as many go in the next.
fn queue(records: u64, batch: u64) {
    const LIVE: u64 = 300;
    let db = open(&device(4 << 20));
    let table = db.create_table("queue").unwrap();
    let before = db.stats().unwrap().log.bytes;
    let mut told = 0;
    for end in (batch..=records).step_by(batch as usize) {
        let mut transaction = db.begin().unwrap();
        for n in end - batch..end {
            transaction.put(table, &n.to_be_bytes(), &[7; 30]).unwrap();
        }
        transaction.commit_soon().unwrap();
        let gone = end.saturating_sub(LIVE);
        delete(&db, table, gone.saturating_sub(batch)..gone);
        if end >= told + records / 10 {
            told = end;
            let stats = db.stats().unwrap();
            let logged = (stats.log.bytes - before) / end;
            let pages = u64::from(stats.pages);
            println!("{end} records: {pages} pages in use, {logged} bytes of log for each");
            assert!(
                pages <= enough_pages((LIVE + batch) * (38 + SLOT)),
                "{pages} after {end} records"
            );
        }
    }
    let (begun, look) = (Instant::now(), db.begin_read().unwrap());
    let mut scan = look.scan_all(table, Direction::Forward);
    let mut found = 0;
    while scan.next().unwrap().is_some() {
        found += 1;
    }
    println!("the scan of {found} records takes {:?}", begun.elapsed());
    assert_eq!(found, LIVE);
    drop(scan);
    drop(look);
    let leaves = leaves(&db);
    assert!(leaves <= 9, "{leaves} leaves");
}

#[test]
fn a_queue_gives_its_pages_back() {
    let records = seeds::times(20_000);
    for batch in [1, 100, 300] {
        println!("{batch} at a time");
        queue(records, batch);
    }
}

/// A table that is used in some shape, and what it should hold.
struct Use {
    table: Table,
    load: Load,
    expected: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Values are so long at most.
    longest: usize,
}

impl Use {
    fn commit(&mut self, db: &Db, rng: &mut SmallRng) {
        let mut transaction = db.begin().unwrap();
        // The small log has room for these.
        let most = if self.longest > 1000 { 10 } else { 60 };
        for _ in 0..rng.random_range(1..most) {
            match self.load.step(rng) {
                Step::Put(key) => {
                    let value = vec![rng.random(); rng.random_range(0..=self.longest)];
                    transaction.put(self.table, &key, &value).unwrap();
                    self.expected.insert(key, value);
                }
                Step::Delete(key) => {
                    transaction.delete(self.table, &key).unwrap();
                    self.expected.remove(&key);
                }
            }
        }
        transaction.commit_soon().unwrap();
    }

    /// Bytes that the records take in leaves.
    fn bytes(&self) -> u64 {
        let bytes = |(key, value): (&Vec<u8>, &Vec<u8>)| (key.len() + value.len()) as u64 + SLOT;
        self.expected.iter().map(bytes).sum()
    }

    fn compare(&self, look: &Transaction<'_>) {
        let mut scan = look.scan_all(self.table, Direction::Forward);
        for (key, value) in &self.expected {
            assert_eq!(scan.next().unwrap(), Some((&key[..], &value[..])));
        }
        assert_eq!(scan.next().unwrap(), None);
    }
}

fn run(shape: Shape, seed: u64) {
    let mut rng = SmallRng::seed_from_u64(seed);
    // In the small log it is often three quarters full.
    let device = device([8 << 20, 1 << 20][seed as usize % 2]);
    let longest = [30, 300, 600, 3000][rng.random_range(0..4)];
    let most = [200_000, 400_000][rng.random_range(0..2)] / (longest / 2 + 20);
    let mut db = open(&device);
    let table = db.create_table("t").unwrap();
    let (load, expected) = (Load::new(shape, most), BTreeMap::new());
    let mut used = Use { table, load, expected, longest };
    let mut worst = 0.0_f64;
    for round in 0..12 {
        let commits = rng.random_range(10..80);
        if rng.random_bool(0.4) {
            // Records that it sees stay until it ends.
            let look = db.begin_read().unwrap();
            let before = used.expected.clone();
            (0..commits).for_each(|_| used.commit(&db, &mut rng));
            let after = std::mem::replace(&mut used.expected, before);
            used.compare(&look);
            used.expected = after;
        } else {
            (0..commits).for_each(|_| used.commit(&db, &mut rng));
        }
        match rng.random_range(0..5) {
            0 => db.close().unwrap(),
            1 | 2 => {
                db.wait(db.begin().unwrap().commit_soon().unwrap()).unwrap();
                drop(db);
            }
            _ => {
                db.checkpoint().unwrap();
                drop(db);
            }
        }
        db = open(&device);
        used.table = db.table("t").unwrap();
        used.compare(&db.begin_read().unwrap());
        // Of leaves that nothing has passed since the crash, the first one tells the database.
        check(&db);
        let checked = check(&db);
        let (pages, bytes) = (u64::from(checked.pages), used.bytes());
        let trees = &checked.trees;
        assert!(
            pages <= enough_pages(bytes),
            "{round}: {pages} pages of {bytes} bytes, {trees:#?}"
        );
        worst = worst.max(pages as f64 / enough_pages(bytes) as f64);
        let ghosts: u64 = trees.iter().map(|tree| tree.ghosts).sum();
        assert_eq!(ghosts, 0, "{round}");
    }
    println!("{shape:?}, seed {seed}: {worst:.2} of the pages that are enough");
}

#[test]
fn pages_in_use_follow_the_records_in_whatever_order_they_go() {
    for shape in SHAPES {
        for seed in 0..6 {
            let result = std::panic::catch_unwind(|| run(shape, seed));
            assert!(result.is_ok(), "{shape:?}, seed {seed}");
        }
    }
}

/// A table of full leaves.
fn filled(db: &Db, records: u64) -> Table {
    let table = db.create_table("t").unwrap();
    for from in (0..records).step_by(100) {
        let mut transaction = db.begin().unwrap();
        for n in from..from + 100 {
            transaction.put(table, &n.to_be_bytes(), &[7; 100]).unwrap();
        }
        transaction.commit_soon().unwrap();
    }
    table
}

fn delete(db: &Db, table: Table, keys: impl IntoIterator<Item = u64>) {
    let mut transaction = db.begin().unwrap();
    keys.into_iter().for_each(|n| transaction.delete(table, &n.to_be_bytes()).unwrap());
    transaction.commit_soon().unwrap();
}

/// Leaves of the table.
fn leaves(db: &Db) -> u64 {
    let checked = check(db);
    checked.trees.iter().find(|tree| tree.table.is_some()).unwrap().leaves
}

#[test]
fn ghosts_that_a_snapshot_held_through_a_crash_go_with_the_scan_that_passes_them() {
    let device = device(8 << 20);
    let db = open(&device);
    let table = filled(&db, 3000);
    let look = db.begin_read().unwrap();
    delete(&db, table, 0..2900);
    // The log has none of the deletes any more when the process ends.
    db.checkpoint().unwrap();
    std::mem::forget(look);
    drop(db);
    let db = open(&device);
    let table = db.table("t").unwrap();
    for (scan, most) in [(0, u64::MAX), (1, 6)] {
        let look = db.begin_read().unwrap();
        let mut all = look.scan_all(table, Direction::Forward);
        while all.next().unwrap().is_some() {}
        drop(all);
        drop(look);
        let left = leaves(&db);
        assert!(left <= most, "{left} leaves after scan {scan}");
    }
}

#[test]
fn deletes_that_waited_for_all_leaves_of_a_table_leave_one_that_is_empty() {
    // Scattered, so that the numbers of pages do not follow the keys.
    let keys: Vec<u64> = (1..20_000u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let device = device(8 << 20);
    let db = open(&device);
    let table = db.create_table("t").unwrap();
    for batch in keys.chunks(500) {
        let mut transaction = db.begin().unwrap();
        batch.iter().for_each(|n| transaction.put(table, &n.to_be_bytes(), &[7; 40]).unwrap());
        transaction.commit_soon().unwrap();
    }
    db.close().unwrap();
    let db = open(&device);
    let table = db.table("t").unwrap();
    keys.chunks(500).for_each(|batch| delete(&db, table, batch.iter().copied()));
    assert_eq!(leaves(&db), 1);
    let ghosts: u64 = check(&db).trees.iter().map(|tree| tree.ghosts).sum();
    assert_eq!(ghosts, 0);
}

#[test]
fn an_idle_database_shrinks_after_most_records_were_deleted() {
    let options = Options { buffer_bytes: 256 * 4096, recovery_bytes: Some(1 << 18), ..quiet() };
    let db = Db::open(&device(4 << 20), &Options { background: true, ..options }).unwrap();
    let (table, begun) = (filled(&db, 20_000), Instant::now());
    let pages = || db.table_size(table).unwrap().pages;
    let full = pages();
    for first in (0..20_000).step_by(100) {
        delete(&db, table, (first..first + 100).filter(|n| n % 10 != 0));
    }
    // No commit comes any more.
    while pages() > full / 5 {
        assert!(begun.elapsed() < Duration::from_secs(60), "{} of {full}", pages());
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(check(&db).trees.iter().map(|tree| tree.records).max(), Some(2000));
}

#[test]
fn values_that_become_short_give_pages_back() {
    let db = open(&device(8 << 20));
    let table = filled(&db, 3000);
    let before = leaves(&db);
    for from in (0..3000).step_by(100) {
        let mut transaction = db.begin().unwrap();
        (from..from + 100u64).for_each(|n| transaction.put(table, &n.to_be_bytes(), b"").unwrap());
        transaction.commit_soon().unwrap();
    }
    let after = leaves(&db);
    assert!(after * 2 < before, "{after} of {before} leaves are left");
}

#[test]
fn a_record_takes_three_bytes_on_the_device_beside_its_own() {
    const RECORDS: u64 = 10_000;
    let db = open(&device(4 << 20));
    let table = db.create_table("small").unwrap();
    let mut rng = SmallRng::seed_from_u64(1);
    for n in 0..RECORDS {
        let mut transaction = db.begin().unwrap();
        transaction.put(table, &n.to_be_bytes(), &rng.random::<[u8; 24]>()).unwrap();
        transaction.commit_soon().unwrap();
    }
    db.checkpoint().unwrap();
    let bytes = db.store().stats().unwrap().written.user_bytes;
    // Keys without what they begin with, values, heads of pages, and half a unit for each page.
    let pages = u64::from(db.stats().unwrap().pages);
    let least = RECORDS * (2 + 24) + pages * (64 + 32);
    assert!(bytes < least + RECORDS * 3, "{bytes} for {least} in {pages} pages");
}
