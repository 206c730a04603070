//! Misuses of the interface: each is refused with an error that says so, changes nothing, and
//! leaves a log that can be replayed.
//!
//! `FROSTLINE_TIMES=n` tries n times as many histories.

use std::collections::BTreeMap;
use std::sync::Arc;

use frostline_db::{
    Commit, Create, Databases, Db, DbError, Direction, LONGEST_VALUE, Options, Table, Transaction,
};
use frostline_store::{Cleaning, Format};
use frostline_testkit::seeds;
use frostline_zone::{Device, Shape, in_memory};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// Bytes of each log.
const LOG: u64 = 2 << 20;

fn device(instances: u32) -> Arc<dyn Device> {
    let shape = Shape { bytes: 24 << 20, zone_bytes: Some(1 << 18), ..Shape::default() };
    let device = in_memory(&shape).unwrap();
    let store = Format { scheme: "sepbit".to_string(), ..Format::default() };
    let create = Create { store, log_bytes: Some(LOG), instances };
    Databases::create(&device, &create).unwrap();
    device
}

fn options() -> Options {
    Options {
        buffer_bytes: 64 * 4096,
        background: false,
        cleaning: Cleaning::Inline,
        ..Options::default()
    }
}

fn open(device: &Arc<dyn Device>) -> Db {
    Db::open(device, &options()).unwrap()
}

fn is_foreign<T>(result: Result<T, DbError>) -> bool {
    matches!(result, Err(DbError::ForeignTable))
}

/// All that can be done with a handle.
fn refuse_all(db: &Db, foreign: Table) {
    for serializable in [false, true] {
        let mut all = match serializable {
            true => db.begin_serializable().unwrap(),
            false => db.begin().unwrap(),
        };
        assert!(is_foreign(all.get(foreign, b"k")));
        assert!(is_foreign(all.get_into(foreign, b"k", &mut Vec::new())));
        assert!(is_foreign(all.put(foreign, b"k", b"v")));
        assert!(is_foreign(all.put(foreign, b"k", &[1; 5000])));
        assert!(is_foreign(all.patch(foreign, b"k", 0, b"v")));
        assert!(is_foreign(all.delete(foreign, b"k")));
        for direction in [Direction::Forward, Direction::Backward] {
            assert!(is_foreign(all.scan(foreign, b"k", direction).next().map(drop)));
            assert!(is_foreign(all.scan_all(foreign, direction).next().map(drop)));
        }
        assert!(matches!(all.commit(), Ok(())), "nothing is written");
    }
    let look = db.begin_read().unwrap();
    assert!(is_foreign(look.get(foreign, b"k")));
    assert!(is_foreign(look.scan_all(foreign, Direction::Forward).next().map(drop)));
}

#[test]
fn a_table_of_another_database_is_refused_by_every_operation() {
    let devices = [device(1), device(1)];
    let [one, other] = [0, 1].map(|n| open(&devices[n]));
    // Of the same root and number.
    let (table, foreign) = (one.create_table("t").unwrap(), other.create_table("u").unwrap());
    refuse_all(&one, foreign);
    for _ in 0..20 {
        // Of roots that the first does not have.
        other.create_table(&format!("{:?}", other.tables().len())).unwrap();
    }
    refuse_all(&one, other.table("20").unwrap());
    refuse_all(&other, table);
    drop(one);
    let one = open(&devices[0]);
    assert_eq!(one.recovered().commits, 1);
    assert_eq!(one.begin_read().unwrap().get(one.table("t").unwrap(), b"k").unwrap(), None);
}

#[test]
fn a_table_of_another_database_on_the_same_store_is_refused() {
    let device = device(2);
    let two = Databases::open(&device, &options()).unwrap();
    let tables: Vec<Table> = two.all.iter().map(|db| db.create_table("t").unwrap()).collect();
    refuse_all(&two.all[0], tables[1]);
    refuse_all(&two.all[1], tables[0]);
}

#[test]
fn a_table_of_an_earlier_opening_is_refused_as_it_may_not_be_there() {
    let device = device(1);
    let db = open(&device);
    let table = db.create_table("t").unwrap();
    db.close().unwrap();
    let db = open(&device);
    refuse_all(&db, table);
    let again = db.table("t").unwrap();
    assert_ne!(again, table);
    assert_eq!(again, db.table("t").unwrap());
}

#[test]
fn a_put_that_is_refused_leaves_the_long_value_that_was_there() {
    let device = device(1);
    let db = open(&device);
    let table = db.create_table("t").unwrap();
    let mut first = db.begin().unwrap();
    first.put(table, b"k", &[1; 5000]).unwrap();
    first.commit().unwrap();
    let mut second = db.begin().unwrap();
    let refused = second.put(table, b"k", &vec![0; LONGEST_VALUE + 1]);
    assert!(matches!(refused, Err(DbError::ValueTooLong { .. })), "{refused:?}");
    // More than the database can hold.
    let refused = second.put(table, b"k", &vec![0; LONGEST_VALUE]);
    assert!(matches!(refused, Err(DbError::Full { .. })), "{refused:?}");
    second.put(table, b"other", b"value").unwrap();
    second.commit().unwrap();
    drop(db);
    let db = open(&device);
    let value = db.begin_read().unwrap().get(db.table("t").unwrap(), b"k").unwrap();
    assert_eq!(value.as_deref(), Some(&[1; 5000][..]));
    assert!(db.check().unwrap().findings.is_empty());
}

#[test]
fn a_put_that_is_refused_leaves_no_pieces_of_its_value() {
    let db = open(&device(1));
    let table = db.create_table("t").unwrap();
    let mut transaction = db.begin().unwrap();
    assert!(matches!(
        transaction.put(table, &[1; 513], &[1; 5000]),
        Err(DbError::KeyTooLong { .. })
    ));
    transaction.put(table, b"other", b"value").unwrap();
    transaction.commit().unwrap();
    let check = db.check().unwrap();
    assert!(check.findings.is_empty(), "{:?}", check.findings);
}

#[test]
fn a_transaction_that_only_reads_announces_no_long_value() {
    let db = open(&device(1));
    let table = db.create_table("t").unwrap();
    let before = db.commits();
    let refused = db.begin_read().unwrap().put(table, b"k", &[1; 5000]);
    assert!(matches!(refused, Err(DbError::ReadOnly)));
    assert_eq!(db.commits(), before);
}

#[test]
fn a_commit_of_another_database_is_not_waited_for() {
    let db = open(&device(1));
    let refused = db.wait(Commit(u64::MAX));
    assert!(matches!(refused, Err(DbError::Wal(_))), "{refused:?}");
}

/// A database with what it should hold, in whichever opening.
struct Model {
    tables: BTreeMap<String, Map>,
}

/// A handle that a program kept.
struct Handle {
    /// The number of its database, and of the opening.
    database: usize,
    opening: usize,
    name: String,
    table: Table,
}

/// Lengths of keys at limits of pages.
const KEYS: [usize; 9] = [0, 1, 2, 8, 300, 511, 512, 513, 20_000];
/// Lengths of values at limits of pages, pieces and the log.
const VALUES: [usize; 14] =
    [0, 1, 7, 387, 388, 389, 892, 900, 901, 1240, 1241, 2480, 60_000, 600_000];

fn key(rng: &mut SmallRng) -> Vec<u8> {
    let len = *KEYS.choose(rng).unwrap();
    let mut key = vec![rng.random_range(0..3); len];
    if let Some(last) = key.last_mut() {
        *last = rng.random_range(0..6);
    }
    key
}

fn value(rng: &mut SmallRng) -> Vec<u8> {
    vec![rng.random(); *VALUES.choose(rng).unwrap()]
}

/// One operation, whether or not it makes sense. What it should have done is done to `tables`.
fn misuse(
    rng: &mut SmallRng,
    transaction: &mut Transaction<'_>,
    handle: &Handle,
    tables: Option<&mut BTreeMap<String, Map>>,
    may_write: bool,
) {
    let (table, key, value) = (handle.table, key(rng), value(rng));
    let Some(tables) = tables else {
        match rng.random_range(0..5) {
            0 => assert!(is_foreign(transaction.put(table, &key, &value))),
            1 => assert!(is_foreign(transaction.patch(table, &key, 0, &value))),
            2 => assert!(is_foreign(transaction.delete(table, &key))),
            3 => assert!(is_foreign(transaction.get(table, &key))),
            _ => {
                let mut scan = transaction.scan(table, &key, Direction::Backward);
                assert!(is_foreign(scan.next().map(drop)));
            }
        }
        return;
    };
    let map = tables.get_mut(&handle.name).unwrap();
    let is_writable = may_write && key.len() <= 512;
    match rng.random_range(0..10) {
        0..4 => {
            let result = transaction.put(table, &key, &value);
            // The longest of these does not go through the log, and there may be no pages for it.
            let is_full = matches!(result, Err(DbError::Full { .. })) && value.len() == 600_000;
            assert_eq!(result.is_ok(), is_writable && !is_full, "{result:?}");
            if result.is_ok() {
                map.insert(key, value);
            }
        }
        4..6 => {
            let at = *[0, 1, 890, 899, 900, 70_000, usize::MAX].choose(rng).unwrap();
            let bytes = &value[..value.len().min(1000)];
            let result = transaction.patch(table, &key, at, bytes);
            let is_longest = map.get(&key).is_some_and(|value| value.len() == 600_000);
            let is_full = matches!(result, Err(DbError::Full { .. })) && is_longest;
            assert_eq!(result.is_ok(), is_writable && !is_full, "{result:?}");
            if let Some(value) = map.get_mut(&key).filter(|_| result.is_ok()) {
                value.iter_mut().skip(at).zip(bytes).for_each(|(byte, &new)| *byte = new);
            }
        }
        6 => {
            let result = transaction.delete(table, &key);
            assert_eq!(result.is_ok(), is_writable, "{result:?}");
            if is_writable {
                map.remove(&key);
            }
        }
        7 => assert_eq!(transaction.get(table, &key).unwrap().as_ref(), map.get(&key)),
        8 => {
            let mut scan = transaction.scan(table, &key, Direction::Forward);
            for (k, v) in map.range(key.clone()..).take(5) {
                assert_eq!(scan.next().unwrap(), Some((&k[..], &v[..])));
            }
        }
        _ => {
            let mut scan = transaction.scan(table, &key, Direction::Backward);
            for (k, v) in map.range(..=key.clone()).rev().take(5) {
                assert_eq!(scan.next().unwrap(), Some((&k[..], &v[..])));
            }
        }
    }
}

/// Makes a table, under a name that may be too long or taken.
fn name_table(rng: &mut SmallRng, db: &Db, model: &mut Model) {
    let name = "t".repeat(*[0, 1, 2, 512, 513, 5000].choose(rng).unwrap());
    let made = db.create_table(&name);
    match name.len() {
        513.. => assert!(matches!(made, Err(DbError::KeyTooLong { .. })), "{made:?}"),
        _ if model.tables.contains_key(&name) => {
            assert!(matches!(made, Err(DbError::TableExists { .. })), "{made:?}");
        }
        _ => {
            made.unwrap();
            model.tables.insert(name, Map::new());
        }
    }
}

fn compare(db: &Db, model: &Model) {
    let names: Vec<_> = db.tables().into_iter().map(|(name, _)| name).collect();
    assert!(names.iter().eq(model.tables.keys()));
    let look = db.begin_read().unwrap();
    for (name, map) in &model.tables {
        let mut scan = look.scan_all(db.table(name).unwrap(), Direction::Forward);
        for (k, v) in map {
            assert!(scan.next().unwrap() == Some((&k[..], &v[..])), "{:?}", &k[..k.len().min(9)]);
        }
        assert_eq!(scan.next().unwrap(), None);
    }
    let check = db.check().unwrap();
    assert!(check.findings.is_empty(), "{:?}", check.findings);
}

fn history(seed: u64) {
    let mut rng = SmallRng::seed_from_u64(seed);
    let devices = [device(1), device(2)];
    let mut models = [(); 3].map(|()| Model { tables: BTreeMap::new() });
    let mut handles: Vec<Handle> = Vec::new();
    for opening in 0..4 {
        let all = devices.each_ref().map(|device| Databases::open(device, &options()).unwrap());
        let dbs: Vec<&Db> = all.iter().flat_map(|instances| &instances.all).collect();
        for (database, model) in models.iter().enumerate() {
            compare(dbs[database], model);
        }
        for _ in 0..25 {
            let database = rng.random_range(0..dbs.len());
            let (db, model) = (dbs[database], &mut models[database]);
            if rng.random_bool(0.3) {
                name_table(&mut rng, db, model);
            }
            if let Some((name, table)) = db.tables().choose(&mut rng).cloned() {
                handles.push(Handle { database, opening, name, table });
            }
            let isolation = rng.random_range(0..4);
            let mut transaction = match isolation {
                0 => db.begin_read().unwrap(),
                1 => db.begin_serializable().unwrap(),
                _ => db.begin().unwrap(),
            };
            let mut tables = model.tables.clone();
            for _ in 0..rng.random_range(0..20) {
                // Half of the handles are of this database.
                let own = rng.random_bool(0.5);
                let fits = |handle: &&Handle| !own || handle.database == database;
                let some: Vec<_> = handles.iter().filter(fits).collect();
                let Some(handle) = some.choose(&mut rng) else { continue };
                let is_own = (handle.database, handle.opening) == (database, opening);
                let seen = is_own.then_some(&mut tables);
                misuse(&mut rng, &mut transaction, handle, seen, isolation > 0);
            }
            // Errors of the operations did not keep it from this.
            match transaction.commit() {
                Ok(()) => model.tables = tables,
                Err(DbError::TooLarge { .. } | DbError::Full { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
        if rng.random() {
            all.into_iter().for_each(|instances| instances.close().unwrap());
        }
    }
}

#[test]
fn a_database_that_was_misused_in_any_way_opens_again_with_what_was_committed() {
    for seed in seeds::first()..seeds::first() + seeds::times(4) {
        println!("seed {seed}");
        history(seed);
    }
}
