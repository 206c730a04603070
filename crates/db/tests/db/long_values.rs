//! Values that are too long for a page.

use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use frostline_db::{Create, Db, DbError, Direction, LONGEST_VALUE, Options, Table, Transaction};
use frostline_store::Cleaning;
use frostline_zone::{Device, Fault, Faulty, Shape, in_memory};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

fn device() -> Arc<dyn Device> {
    device_of(16 << 20)
}

fn device_of(bytes: u64) -> Arc<dyn Device> {
    let shape = Shape { bytes, zone_bytes: Some(1 << 18), ..Shape::default() };
    let device: Arc<dyn Device> = in_memory(&shape).unwrap();
    Db::create(&device, &Create::default()).unwrap();
    device
}

fn open(device: &Arc<dyn Device>) -> Db {
    let options = Options { background: false, cleaning: Cleaning::Inline, ..Options::default() };
    Db::open(device, &options).unwrap()
}

/// Values longer than a page have pages of their own.
fn open_with_pages(device: &Arc<dyn Device>) -> Result<Db, DbError> {
    let (background, cleaning) = (false, Cleaning::Inline);
    let (buffer_bytes, longest_logged_value) = (64 * 4096, 1000);
    let options =
        Options { background, cleaning, buffer_bytes, longest_logged_value, ..Options::default() };
    Db::open(device, &options)
}

/// Bytes that tell their place, the same for the same seed.
fn bytes(seed: usize, count: usize) -> Vec<u8> {
    (0..count).map(|at| (((at + seed) * 0x9e37) >> 7) as u8).collect()
}

/// The value of a key, a part at a time.
fn read(db: &Db, table: Table, key: &[u8]) -> Option<Vec<u8>> {
    let look = db.begin_read().unwrap();
    let mut value = Vec::new();
    look.value_reader(table, key).unwrap()?.read_to_end(&mut value).unwrap();
    assert_eq!(look.get(table, key).unwrap().as_ref(), Some(&value));
    Some(value)
}

fn assert_sound(db: &Db) {
    let check = db.check().unwrap();
    assert!(check.findings.is_empty(), "{:?}", check.findings);
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

#[test]
fn a_value_in_pages_is_read_as_it_was_written_however_it_was() {
    let device = device_of(64 << 20);
    let db = open_with_pages(&device).unwrap();
    let table = db.create_table("t").unwrap();
    let lengths = [1000, 1001, 4016, 4017, 300_000, 5_000_000];
    for len in lengths {
        let (key, value) = (len.to_string(), bytes(len, len));
        let mut put = db.begin().unwrap();
        put.put(table, key.as_bytes(), &value).unwrap();
        assert_eq!(put.get(table, key.as_bytes()).unwrap().as_ref(), Some(&value), "its own");
        put.commit().unwrap();
        assert_eq!(read(&db, table, key.as_bytes()), Some(value.clone()));
        let mut write = db.begin().unwrap();
        let mut writer = write.value_writer(table, key.as_bytes()).unwrap();
        value.chunks(777).for_each(|part| writer.write_all(part).unwrap());
        writer.finish().unwrap();
        write.commit().unwrap();
        assert_eq!(read(&db, table, key.as_bytes()), Some(value));
    }
    assert_sound(&db);
    db.close().unwrap();
    let db = open_with_pages(&device).unwrap();
    let table = db.table("t").unwrap();
    for len in lengths {
        assert_eq!(read(&db, table, len.to_string().as_bytes()), Some(bytes(len, len)));
    }
    let look = db.begin_read().unwrap();
    let mut reader = look.value_reader(table, b"5000000").unwrap().unwrap();
    for at in [4_999_990, 0, 2_222_222, 4015, 5_000_001] {
        reader.seek(SeekFrom::Start(at)).unwrap();
        let mut some = Vec::new();
        reader.by_ref().take(9000).read_to_end(&mut some).unwrap();
        let all = bytes(5_000_000, 5_000_000);
        let from = all.len().min(at as usize);
        assert_eq!(some, all[from..all.len().min(from + 9000)]);
    }
    assert_eq!(reader.seek(SeekFrom::End(-5)).unwrap(), 4_999_995);
    assert!(reader.seek(SeekFrom::Current(-5_000_000)).is_err());
}

#[test]
fn pages_of_values_that_are_gone_are_used_again() {
    let db = open_with_pages(&device()).unwrap();
    let table = db.create_table("t").unwrap();
    let value = bytes(1, 1 << 20);
    let mut first = db.begin().unwrap();
    first.put(table, b"other", &value).unwrap();
    first.commit().unwrap();
    let pages = db.stats().unwrap().pages;
    // 100 MiB of them, and 16 of device.
    for round in 0..100 {
        let mut transaction = db.begin().unwrap();
        let before = transaction.savepoint().unwrap();
        transaction.put(table, b"k", &value).unwrap();
        match round % 5 {
            0 => transaction.undo(before).unwrap(),
            1 => transaction.put(table, b"k", b"short").unwrap(),
            2 => transaction.delete(table, b"k").unwrap(),
            3 => transaction.put(table, b"k", &value).unwrap(),
            _ => {}
        }
        match round % 2 {
            0 => transaction.rollback(),
            _ => transaction.commit().unwrap(),
        }
        if round % 3 == 0 {
            let mut transaction = db.begin().unwrap();
            drop(transaction.value_writer(table, b"never").unwrap().write_all(&value[..50_000]));
        }
    }
    let mut last = db.begin().unwrap();
    last.delete(table, b"k").unwrap();
    last.commit().unwrap();
    assert_sound(&db);
    assert!(db.stats().unwrap().pages <= pages + 1, "{} {pages}", db.stats().unwrap().pages);
}

#[test]
fn a_snapshot_reads_a_value_whose_pages_are_to_be_freed() {
    let db = open_with_pages(&device()).unwrap();
    let table = db.create_table("t").unwrap();
    let put = |value: &[u8]| {
        let mut put = db.begin().unwrap();
        put.put(table, b"k", value).unwrap();
        put.commit().unwrap();
    };
    put(&bytes(1, 100_000));
    let look = db.begin_read().unwrap();
    let mut reader = look.value_reader(table, b"k").unwrap().unwrap();
    let mut seen = vec![0; 1000];
    reader.read_exact(&mut seen).unwrap();
    for round in 0..20 {
        put(&bytes(round, 100_000));
        db.checkpoint().unwrap();
    }
    reader.read_to_end(&mut seen).unwrap();
    assert_eq!(seen, bytes(1, 100_000));
    assert_sound(&db);
    drop(reader);
    let pages = db.stats().unwrap().pages;
    drop(look);
    db.checkpoint().unwrap();
    assert!(db.stats().unwrap().pages <= pages - 24);
}

#[test]
fn a_patch_of_a_value_in_pages_changes_those_bytes_alone() {
    let db = open_with_pages(&device()).unwrap();
    let table = db.create_table("t").unwrap();
    let mut value = bytes(3, 700_000);
    let mut put = db.begin().unwrap();
    put.put(table, b"k", &value).unwrap();
    put.commit().unwrap();
    for (at, patch) in [(0, 10), (256_500, 9000), (699_990, 100)] {
        let mut change = db.begin().unwrap();
        change.patch(table, b"k", at, &vec![at as u8; patch]).unwrap();
        change.commit().unwrap();
        value.iter_mut().skip(at).take(patch).for_each(|byte| *byte = at as u8);
        assert_eq!(read(&db, table, b"k").as_ref(), Some(&value));
    }
    assert_sound(&db);
}

#[test]
fn two_transactions_that_write_one_long_value_conflict_and_leave_the_pages_of_one() {
    let db = open_with_pages(&device()).unwrap();
    let table = db.create_table("t").unwrap();
    let (mut a, mut b) = (db.begin().unwrap(), db.begin().unwrap());
    a.put(table, b"k", &bytes(1, 50_000)).unwrap();
    b.put(table, b"k", &bytes(2, 50_000)).unwrap();
    b.commit().unwrap();
    assert!(matches!(a.commit(), Err(DbError::Conflict)));
    assert_eq!(read(&db, table, b"k"), Some(bytes(2, 50_000)));
    assert_sound(&db);
    assert!(db.stats().unwrap().pages < 25);
}

#[test]
fn a_value_that_is_too_long_is_refused_before_it_is_written() {
    let db = open(&device());
    let table = db.create_table("t").unwrap();
    let mut transaction = db.begin().unwrap();
    let refused = transaction.put(table, b"k", &vec![0; LONGEST_VALUE + 1]);
    assert!(matches!(refused, Err(DbError::ValueTooLong { longest: LONGEST_VALUE, .. })));
    let full = transaction.put(table, b"k", &vec![0; 20 << 20]);
    assert!(matches!(full, Err(DbError::Full { .. })), "{full:?}");
    transaction.put(table, b"other", b"value").unwrap();
    transaction.commit().unwrap();
    assert_sound(&db);
    assert!(db.stats().unwrap().pages < 10);
}

/// What is there is what one of the commits left, and not a page more.
#[test]
fn a_crash_at_any_operation_leaves_no_page_of_a_value_that_was_not_committed() {
    let sizes = [30_000, 5, 60_000, 9000, 0, 40_000];
    for (fault, step) in [(Fault::PowerCut, 3), (Fault::Kill, 7), (Fault::Error, 5)] {
        for nth in (1..).step_by(step) {
            let memory = device();
            let faulty = Arc::new(Faulty::new(memory.clone(), nth));
            let shared: Arc<dyn Device> = faulty.clone();
            let db = open_with_pages(&shared).unwrap();
            let table = db.create_table("t").unwrap();
            faulty.schedule(faulty.operations() + nth, fault);
            let mut committed = None;
            let mut use_it = || {
                for (n, &size) in sizes.iter().enumerate() {
                    let mut transaction = db.begin()?;
                    let mut writer = transaction.value_writer(table, b"k")?;
                    writer.append(&bytes(n, size))?;
                    writer.finish()?;
                    transaction.commit()?;
                    committed = Some(n);
                    if n % 2 == 1 {
                        db.checkpoint()?;
                    }
                }
                Ok::<(), DbError>(())
            };
            let is_through = use_it().is_ok();
            drop(db);
            let found: Arc<dyn Device> = match fault {
                Fault::PowerCut => Arc::new(faulty.restart().unwrap()),
                Fault::Kill => Arc::new(faulty.reopen().unwrap()),
                _ => memory,
            };
            let db = open_with_pages(&found).unwrap();
            let table = db.table("t").unwrap();
            let value = read(&db, table, b"k");
            let of = |n: usize| value == Some(bytes(n, sizes[n]));
            let next = committed.map_or(0, |n| n + 1);
            let is_one = committed.map_or(value.is_none(), of) || next < sizes.len() && of(next);
            assert!(is_one, "{fault:?} {nth}: {committed:?}");
            assert_sound(&db);
            let pages = value.map_or(0, |value| value.len().div_ceil(4016)) + 6;
            let used = db.stats().unwrap().pages as usize;
            assert!(used <= pages, "{fault:?} {nth}: {used} pages, not {pages}");
            if is_through {
                break;
            }
        }
    }
}

#[test]
fn scans_give_values_in_pages() {
    let db = open_with_pages(&device()).unwrap();
    let table = db.create_table("t").unwrap();
    let mut put = db.begin().unwrap();
    (0..20).for_each(|n| put.put(table, &[n], &bytes(n.into(), 10_000)).unwrap());
    put.commit().unwrap();
    let look = db.begin_read().unwrap();
    let mut scan = look.scan_all(table, Direction::Forward);
    for n in 0..20 {
        assert_eq!(scan.next().unwrap(), Some((&[n][..], &bytes(n.into(), 10_000)[..])));
    }
}

#[test]
fn an_overwrite_of_a_value_in_pieces_logs_it_once_and_a_patch_its_bytes() {
    let db = open(&device());
    let table = db.create_table("t").unwrap();
    for len in [1000, 2000, 4000] {
        let mut value = bytes(0, len);
        let change = |change: &dyn Fn(&mut Transaction<'_>)| {
            let before = db.stats().unwrap().log.bytes;
            let mut transaction = db.begin().unwrap();
            change(&mut transaction);
            transaction.commit().unwrap();
            (db.stats().unwrap().log.bytes - before) as usize
        };
        change(&|transaction| transaction.put(table, b"k", &value).unwrap());
        value = bytes(7, len);
        let logged = change(&|transaction| transaction.put(table, b"k", &value).unwrap());
        assert!((len..len + 120).contains(&logged), "{logged} bytes of {len}");
        let logged = change(&|transaction| transaction.patch(table, b"k", len - 4, b"_").unwrap());
        assert!(logged < 60, "{logged} bytes of a patch");
        value[len - 4] = b'_';
        assert_eq!(read(&db, table, b"k"), Some(value));
    }
    assert_sound(&db);
}

/// Lengths on both sides of each bound: of a page, of one piece and of some, of what is logged.
#[test]
fn values_that_grow_and_shrink_are_what_was_put_and_snapshots_see_what_was() {
    type Content = BTreeMap<u8, Vec<u8>>;
    let lengths = [0, 10, 898, 899, 900, 1000, 1239, 1240, 1241, 2480, 2481, 4000, 8999, 9001];
    for seed in 0..12 {
        println!("seed {seed}");
        let mut rng = SmallRng::seed_from_u64(seed);
        let device = device();
        let options = Options {
            buffer_bytes: [0, 64 * 4096][seed as usize % 2],
            background: false,
            cleaning: Cleaning::Inline,
            longest_logged_value: 9000,
            ..Options::default()
        };
        let mut db = Db::open(&device, &options).unwrap();
        db.create_table("t").unwrap();
        let mut content = Content::new();
        for _ in 0..6 {
            let table = db.table("t").unwrap();
            let mut looks: Vec<(Transaction<'_>, Content)> = Vec::new();
            let compare = |look: &Transaction<'_>, content: &Content| {
                let mut scan = look.scan_all(table, Direction::Forward);
                for (&key, value) in content {
                    assert_eq!(scan.next().unwrap(), Some((&[key][..], &value[..])));
                }
                assert_eq!(scan.next().unwrap(), None);
            };
            for _ in 0..60 {
                let (mut transaction, before) = (db.begin().unwrap(), content.clone());
                for _ in 0..rng.random_range(1..6) {
                    let key = rng.random_range(0..40);
                    let len = lengths[rng.random_range(0..lengths.len())];
                    match rng.random_range(0..10) {
                        0..6 => {
                            // Mostly as long as it was.
                            let before = content.get(&key).map(Vec::len);
                            let len = before.filter(|_| rng.random()).unwrap_or(len);
                            let value = bytes(rng.random_range(0..1000), len);
                            transaction.put(table, &[key], &value).unwrap();
                            content.insert(key, value);
                        }
                        6..8 => {
                            let patch = bytes(1, rng.random_range(0..1500));
                            transaction.patch(table, &[key], len, &patch).unwrap();
                            if let Some(value) = content.get_mut(&key) {
                                let places = value.iter_mut().skip(len);
                                places.zip(patch).for_each(|(byte, new)| *byte = new);
                            }
                        }
                        _ => {
                            transaction.delete(table, &[key]).unwrap();
                            content.remove(&key);
                        }
                    }
                    let found = transaction.get(table, &[key]).unwrap();
                    assert_eq!(found.as_ref(), content.get(&key));
                }
                match rng.random_range(0..8) {
                    0 => content = before,
                    _ => transaction.commit().unwrap(),
                }
                if looks.len() < 3 && rng.random_range(0..10) == 0 {
                    looks.push((db.begin_read().unwrap(), content.clone()));
                }
                if rng.random_range(0..20) == 0 && !looks.is_empty() {
                    let (look, content) = looks.swap_remove(0);
                    compare(&look, &content);
                }
            }
            looks.iter().for_each(|(look, content)| compare(look, content));
            compare(&db.begin_read().unwrap(), &content);
            drop(looks);
            assert_sound(&db);
            // Nothing of it is closed: the log has it.
            drop(db);
            db = Db::open(&device, &options).unwrap();
        }
    }
}
