//! Databases that fill their device: what does not fit is refused at the commit, and nothing that
//! was committed is in danger then.
//!
//! `FROSTLINE_FULL_MIB=n` fills devices of n MiB, in zones of 1 MiB, to compare how many records
//! fit.

use std::collections::BTreeMap;
use std::sync::Arc;

use frostline_db::{Create, Db, DbError, Direction, Options, Table};
use frostline_store::{Cleaning, Format};
use frostline_zone::{Device, Faulty, Shape, Tail, in_memory};
use rand::rngs::SmallRng;
use rand::{Rng, RngExt, SeedableRng};

type Content = BTreeMap<u32, Vec<u8>>;

fn memory() -> Arc<dyn Device> {
    sized(24 << 20, 1 << 18)
}

fn sized(bytes: u64, zone_bytes: u64) -> Arc<dyn Device> {
    in_memory(&Shape { bytes, zone_bytes: Some(zone_bytes), ..Shape::default() }).unwrap()
}

fn make(device: &Arc<dyn Device>, unit: u32) {
    let store = Format { unit, checkpoint_writes: Some(1000), ..Create::default().store };
    let create = Create { store, log_bytes: Some(4 << 20), ..Create::default() };
    Db::create(device, &create).unwrap();
}

fn open(device: &Arc<dyn Device>, background: bool) -> (Db, Table) {
    let cleaning = if background { Cleaning::Background } else { Cleaning::Inline };
    let options = Options { background, cleaning, buffer_bytes: 300 * 4096, ..Options::default() };
    let db = Db::open(device, &options).unwrap();
    let table = db.table("t").or_else(|_| db.create_table("t")).unwrap();
    (db, table)
}

fn key(n: u32) -> [u8; 4] {
    n.to_be_bytes()
}

/// A value of which LZ4 leaves six tenths, or nothing that compresses.
fn value(rng: &mut SmallRng, is_regular: bool) -> Vec<u8> {
    let mut value = vec![7; 300];
    let random = if is_regular { 170 } else { 300 };
    rng.fill_bytes(&mut value[..random]);
    value
}

/// Puts a value, or deletes one. False if the database is full.
fn write(db: &Db, table: Table, n: u32, value: Option<&[u8]>) -> bool {
    loop {
        let mut transaction = db.begin().unwrap();
        match value {
            Some(value) => transaction.put(table, &key(n), value).unwrap(),
            None => transaction.delete(table, &key(n)).unwrap(),
        }
        match transaction.commit() {
            Ok(_) => return true,
            Err(DbError::Full { .. }) => return false,
            Err(DbError::Conflict) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// Puts records of an open end until the database is full. Returns their number.
fn fill(db: &Db, table: Table, content: &mut Content, rng: &mut SmallRng, is_regular: bool) -> u32 {
    let begin = content.last_key_value().map_or(0, |(n, _)| n + 1);
    for n in begin.. {
        let value = value(rng, is_regular);
        if !write(db, table, n, Some(&value)) {
            return n;
        }
        content.insert(n, value);
    }
    unreachable!()
}

fn compare(db: &Db, table: Table, content: &Content) {
    let look = db.begin_read().unwrap();
    let mut scan = look.scan_all(table, Direction::Forward);
    for (&n, value) in content {
        let found = scan.next().unwrap().unwrap_or_else(|| panic!("record {n} is missing"));
        assert_eq!((found.0, found.1), (&key(n)[..], &value[..]), "record {n}");
    }
    assert!(scan.next().unwrap().is_none());
    drop(scan);
    drop(look);
    let check = db.check().unwrap();
    assert!(check.findings.is_empty(), "{:#?}", check.findings);
}

#[test]
fn as_many_records_fit_as_into_whole_pages_and_more_that_compress() {
    let mib = std::env::var("FROSTLINE_FULL_MIB").ok().and_then(|mib| mib.parse::<u64>().ok());
    let held = |unit: u32, is_regular: bool| {
        let device = mib.map_or_else(memory, |mib| sized(mib << 20, 1 << 20));
        make(&device, unit);
        let (db, table) = open(&device, false);
        let info = db.store().info().unwrap();
        let (mut content, mut rng) = (Content::new(), SmallRng::seed_from_u64(1));
        let records = fill(&db, table, &mut content, &mut rng, is_regular);
        let (stats, space) = (db.stats().unwrap(), db.store().stats().unwrap().space);
        let (pages, metadata) = (stats.pages, info.meta_zones);
        let whole = info.whole_pages;
        println!(
            "unit {unit}: {records} records in {pages} pages, {whole} fit whole beside {metadata} \
             zones of metadata; {space:?}"
        );
        f64::from(records)
    };
    let (whole, random, regular) = (held(4096, false), held(64, false), held(64, true));
    assert!(random >= whole * 0.9, "{random} records in units, {whole} in whole pages");
    assert!(regular >= whole * 1.4, "{regular} records that compress, {whole} in whole pages");
}

#[test]
fn a_full_database_takes_what_fits_and_deletes_and_goes_on() {
    for background in [false, true] {
        let device = memory();
        make(&device, 64);
        let (db, table) = open(&device, background);
        let (mut content, mut rng) = (Content::new(), SmallRng::seed_from_u64(2));
        for round in 0..3 {
            let end = fill(&db, table, &mut content, &mut rng, true);
            let (mut refused, mut taken) = (0, 0);
            for _ in 0..20_000 {
                // Pages that compressed do so no more.
                let n = rng.random_range(0..end);
                let value = value(&mut rng, false);
                match write(&db, table, n, Some(&value)) {
                    true => {
                        taken += 1;
                        content.insert(n, value);
                    }
                    false => refused += 1,
                }
                if refused > 1000 || taken > 9000 {
                    break;
                }
            }
            // In later rounds pages are so short that they run out first.
            assert!(refused > 0 || round > 0, "{refused} refused, {taken} not");
            compare(&db, table, &content);
            for n in (0..end).filter(|n| n % 3 > 0) {
                assert!(write(&db, table, n, None), "record {n} can't be deleted");
                content.remove(&n);
            }
            compare(&db, table, &content);
        }
        db.close().unwrap();
        let (db, table) = open(&device, background);
        compare(&db, table, &content);
    }
}

#[test]
fn a_full_database_takes_a_transaction_that_deletes_many_records_of_few_leaves() {
    for unit in [4096, 64] {
        let device = memory();
        make(&device, unit);
        let (db, table) = open(&device, false);
        let (mut content, mut rng) = (Content::new(), SmallRng::seed_from_u64(3));
        let records = fill(&db, table, &mut content, &mut rng, false);
        let mut transaction = db.begin().unwrap();
        for n in 0..records / 16 {
            transaction.delete(table, &key(n)).unwrap();
            content.remove(&n);
        }
        transaction.commit().unwrap();
        compare(&db, table, &content);
        assert!(write(&db, table, 0, None), "it goes on");
    }
}

#[test]
fn updates_of_a_full_database_and_refused_ones_hardly_take_checkpoints() {
    let device = memory();
    make(&device, 64);
    let (db, table) = open(&device, false);
    let (mut content, mut rng) = (Content::new(), SmallRng::seed_from_u64(5));
    let end = fill(&db, table, &mut content, &mut rng, false);
    let mut checkpoints = db.stats().unwrap().checkpoints;
    let mut taken = || {
        let before = std::mem::replace(&mut checkpoints, db.stats().unwrap().checkpoints);
        checkpoints - before
    };
    let refused = (end..end + 1000).filter(|&n| !write(&db, table, n, Some(&[1; 300])));
    assert_eq!(refused.count(), 1000);
    assert!(taken() <= 2, "nothing was freed");
    for _ in 0..2000 {
        let (n, value) = (rng.random_range(0..end), value(&mut rng, false));
        assert!(write(&db, table, n, Some(&value)), "record {n} is as long as before");
        content.insert(n, value);
    }
    let taken = taken();
    assert!(taken < 200, "2000 updates took {taken} checkpoints");
    compare(&db, table, &content);
}

#[test]
fn commits_of_a_full_database_are_there_after_power_cuts() {
    for seed in 0..6 {
        let memory = memory();
        make(&memory, 64);
        let tails = [Tail::Whole, Tail::Torn, Tail::Garbage, Tail::Holes];
        let mut device = Arc::new(Faulty::new(memory, seed).with_tail(tails[seed as usize % 4]));
        let (mut content, mut rng) = (Content::new(), SmallRng::seed_from_u64(seed));
        for _ in 0..3 {
            let open_now: Arc<dyn Device> = device.clone();
            let (db, table) = open(&open_now, false);
            compare(&db, table, &content);
            let end = fill(&db, table, &mut content, &mut rng, seed % 2 == 0);
            for _ in 0..1500 {
                let n = rng.random_range(0..end);
                let value = rng.random_bool(0.8).then(|| value(&mut rng, false));
                if write(&db, table, n, value.as_deref()) {
                    match value {
                        Some(value) => _ = content.insert(n, value),
                        None => _ = content.remove(&n),
                    }
                }
            }
            drop(db);
            drop(open_now);
            device = Arc::new(device.restart().unwrap());
        }
        let open_now: Arc<dyn Device> = device.clone();
        let (db, table) = open(&open_now, false);
        compare(&db, table, &content);
    }
}

#[test]
fn databases_of_one_store_share_its_room_and_each_keeps_its_commits() {
    let device = memory();
    let store = Format { checkpoint_writes: Some(1000), ..Create::default().store };
    let create = Create { store, log_bytes: Some(4 << 20), instances: 2 };
    frostline_db::Databases::create(&device, &create).unwrap();
    let quiet = Options { background: false, cleaning: Cleaning::Inline, ..Options::default() };
    let options = Options { buffer_bytes: 300 * 4096, ..quiet };
    let instances = frostline_db::Databases::open(&device, &options).unwrap();
    let mut rng = SmallRng::seed_from_u64(4);
    let tables: Vec<_> =
        instances.all.iter().map(|db| (db, db.create_table("t").unwrap())).collect();
    let mut contents = [Content::new(), Content::new()];
    for n in 0..400_000 {
        let which = n as usize % 2;
        let (db, table) = tables[which];
        let value = value(&mut rng, n % 16 < 8);
        if !write(db, table, n, Some(&value)) {
            break;
        }
        contents[which].insert(n, value);
    }
    for ((db, table), content) in tables.iter().zip(&contents) {
        assert!(content.len() > 10_000, "{}", content.len());
        compare(db, *table, content);
    }
}
