//! Tables as wholes: renamed, deleted, filled at once, measured.

use std::collections::BTreeMap;
use std::sync::{Arc, Barrier};
use std::thread;

use frostline_db::{Create, Db, DbError, Direction, Options, Table};
use frostline_store::{Cleaning, Format};
use frostline_testkit::seeds;
use frostline_zone::{Device, Fault, Faulty, Shape, in_memory};

type Records = BTreeMap<Vec<u8>, Vec<u8>>;

fn device() -> Arc<dyn Device> {
    let shape = Shape { bytes: 24 << 20, zone_bytes: Some(1 << 18), ..Shape::default() };
    let device: Arc<dyn Device> = in_memory(&shape).unwrap();
    Db::create(&device, &Create::default()).unwrap();
    device
}

fn open(device: &Arc<dyn Device>) -> Result<Db, DbError> {
    let options = Options {
        background: false,
        cleaning: Cleaning::Inline,
        buffer_bytes: 64 * 4096,
        // Some of the values are in pieces, and some in pages of their own.
        longest_logged_value: 3000,
        ..Options::default()
    };
    Db::open(device, &options)
}

/// Records of all lengths.
fn records(count: u32) -> Records {
    let value = |n: u32| vec![n as u8; [9000, 2500, 300, 90, 5][(n % 61).min(4) as usize]];
    (0..count).map(|n| (format!("key {:06}", n * 7).into_bytes(), value(n))).collect()
}

fn short_records(count: u32) -> Records {
    (0..count).map(|n| (format!("key {n:06}").into_bytes(), n.to_string().into_bytes())).collect()
}

fn put_all(db: &Db, table: Table, records: &Records) {
    for some in records.iter().collect::<Vec<_>>().chunks(100) {
        let mut put = db.begin().unwrap();
        some.iter().for_each(|(key, value)| put.put(table, key, value).unwrap());
        put.commit().unwrap();
    }
}

fn all(db: &Db, table: Table) -> Records {
    let look = db.begin_read().unwrap();
    let mut scan = look.scan_all(table, Direction::Forward);
    let mut found = Records::new();
    while let Some((key, value)) = scan.next().unwrap() {
        found.insert(key.to_vec(), value.to_vec());
    }
    found
}

fn assert_sound(db: &Db) {
    let check = db.check().unwrap();
    assert!(check.findings.is_empty(), "{:?}", check.findings);
}

fn ingest(db: &Db, name: &str, records: &Records) -> Result<Table, DbError> {
    db.ingest(name, 0.9, records.iter().map(Ok::<_, DbError>))
}

#[test]
fn a_renamed_table_keeps_its_records_and_handles() {
    let device = device();
    let db = open(&device).unwrap();
    let (table, other) = (db.create_table("a").unwrap(), db.create_table("b").unwrap());
    put_all(&db, table, &records(50));
    assert!(matches!(db.rename_table("a", "b"), Err(DbError::TableExists { .. })));
    assert!(matches!(db.rename_table("c", "d"), Err(DbError::NoTable { .. })));
    db.rename_table("a", "c").unwrap();
    db.rename_table("b", "a").unwrap();
    assert_eq!(db.table("a").unwrap(), other);
    assert_eq!(all(&db, table), records(50));
    // The mark of long values is kept under the new name.
    let mut put = db.begin().unwrap();
    put.put(other, b"long", &[1; 9000]).unwrap();
    put.commit().unwrap();
    drop(db);
    let db = open(&device).unwrap();
    let names: Vec<_> = db.tables().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["a", "c"]);
    assert_eq!(all(&db, db.table("c").unwrap()), records(50));
    let mut delete = db.begin().unwrap();
    delete.delete(db.table("a").unwrap(), b"long").unwrap();
    delete.commit().unwrap();
    assert_sound(&db);
}

#[test]
fn a_deleted_table_leaves_no_page_and_its_handle_is_refused() {
    let device = device();
    let db = open(&device).unwrap();
    let kept = db.create_table("kept").unwrap();
    put_all(&db, kept, &records(30));
    db.checkpoint().unwrap();
    let before = db.stats().unwrap().pages;
    for round in 0..4 {
        let table = db.create_table("t").unwrap();
        put_all(&db, table, &records(3000));
        let mut long = db.begin().unwrap();
        long.put(table, b"long", &[1; 2000]).unwrap();
        long.commit().unwrap();
        let (mut late, mut in_place) = (db.begin().unwrap(), db.begin().unwrap());
        late.put(table, b"k", b"v").unwrap();
        in_place.put(table, b"long", &[2; 2000]).unwrap();
        db.delete_table("t").unwrap();
        assert!(matches!(late.commit(), Err(DbError::TableDeleted)));
        assert!(matches!(in_place.commit(), Err(DbError::TableDeleted)));
        let mut after = db.begin().unwrap();
        assert!(matches!(after.put(table, b"k", b"v"), Err(DbError::TableDeleted)));
        assert!(matches!(after.get(table, b"k"), Err(DbError::TableDeleted)));
        drop(after);
        assert!(matches!(db.delete_table("t"), Err(DbError::NoTable { .. })));
        if round % 2 == 1 {
            db.checkpoint().unwrap();
        }
        assert_sound(&db);
        // What noted its pages is ghosts, in two leaves at most, until something passes them.
        let pages = db.stats().unwrap().pages;
        assert!(pages <= before + 2, "{pages} pages, {before} before");
    }
    // The check has passed them.
    db.checkpoint().unwrap();
    assert_eq!(db.stats().unwrap().pages, before);
    assert_eq!(all(&db, kept), records(30));
    db.close().unwrap();
    let db = open(&device).unwrap();
    assert_eq!(db.tables().len(), 1);
    assert_sound(&db);
}

#[test]
fn a_scan_that_had_begun_reads_a_deleted_table_to_its_end() {
    let db = open(&device()).unwrap();
    let table = db.create_table("t").unwrap();
    let expected = records(2000);
    put_all(&db, table, &expected);
    let look = db.begin_read().unwrap();
    let mut scan = look.scan_all(table, Direction::Forward);
    let mut found = Records::new();
    while let Some((key, value)) = scan.next().unwrap() {
        found.insert(key.to_vec(), value.to_vec());
        if found.len() == 100 {
            db.delete_table("t").unwrap();
            db.checkpoint().unwrap();
            assert_sound(&db);
            // Another one of the same name, in other pages.
            let table = db.create_table("t").unwrap();
            put_all(&db, table, &short_records(500));
        }
    }
    assert_eq!(found, expected);
    drop(scan);
    drop(look);
    assert_sound(&db);
    assert!(db.stats().unwrap().pages < 20);
}

#[test]
fn who_renames_or_deletes_a_table_loses_against_no_other_that_writes_to_the_catalog() {
    let db = open(&device()).unwrap();
    for _ in 0..seeds::times(1000) {
        let table = db.create_table("t").unwrap();
        let begin = Barrier::new(2);
        thread::scope(|scope| {
            scope.spawn(|| {
                begin.wait();
                // The first long value of the table.
                db.begin().unwrap().put(table, b"long", &[7; 1000]).unwrap();
            });
            begin.wait();
            db.rename_table("t", "u").unwrap();
        });
        db.delete_table("u").unwrap();
    }
}

#[test]
fn who_undid_writes_to_a_deleted_table_commits_others() {
    let db = open(&device()).unwrap();
    let [table, deleted] = ["t", "deleted"].map(|name| db.create_table(name).unwrap());
    put_all(&db, deleted, &records(2));
    let mut change = db.begin().unwrap();
    change.put(table, b"a", b"stays").unwrap();
    let before = change.savepoint().unwrap();
    // To the pieces that it has.
    change.put(deleted, b"key 000007", &[7; 2500]).unwrap();
    change.undo(before).unwrap();
    db.delete_table("deleted").unwrap();
    change.commit().unwrap();
}

#[test]
fn tables_that_come_and_go_are_not_numbered_for_ever() {
    let db = open(&device()).unwrap();
    for round in 0..5000 {
        db.create_table("t").unwrap();
        db.delete_table("t").unwrap();
        if round % 100 == 0 {
            db.checkpoint().unwrap();
        }
    }
    assert_sound(&db);
}

#[test]
fn a_table_of_a_full_database_can_be_deleted() {
    let db = open(&device()).unwrap();
    let table = db.create_table("t").unwrap();
    for n in 0..u32::MAX {
        let mut put = db.begin().unwrap();
        put.put(table, &n.to_be_bytes(), &[n as u8; 800]).unwrap();
        match put.commit_soon() {
            Ok(_) => {}
            Err(DbError::Full { .. }) => break,
            Err(error) => panic!("{error}"),
        }
    }
    db.delete_table("t").unwrap();
    let table = db.create_table("t").unwrap();
    put_all(&db, table, &short_records(1000));
    assert_sound(&db);
}

#[test]
fn an_ingested_table_has_what_puts_would_have_given() {
    let device = device();
    let db = open(&device).unwrap();
    for count in [0, 1, 20, 5000] {
        let expected = short_records(count);
        let table = ingest(&db, &format!("t{count}"), &expected).unwrap();
        assert_eq!(all(&db, table), expected);
        assert_sound(&db);
        let mut change = db.begin().unwrap();
        change.put(table, b"key 000010 behind", b"new").unwrap();
        change.put(table, b"long", &[1; 9000]).unwrap();
        change.delete(table, b"key 000003").unwrap();
        change.commit().unwrap();
    }
    db.checkpoint().unwrap();
    drop(db);
    let db = open(&device).unwrap();
    for count in [0, 1, 20, 5000] {
        let mut expected = short_records(count);
        expected.insert(b"key 000010 behind".to_vec(), b"new".to_vec());
        expected.insert(b"long".to_vec(), vec![1; 9000]);
        expected.remove(&b"key 000003"[..]);
        assert_eq!(all(&db, db.table(&format!("t{count}")).unwrap()), expected);
    }
    assert_sound(&db);
}

#[test]
fn records_that_are_not_in_order_or_too_long_are_refused_and_leave_nothing() {
    let db = open(&device()).unwrap();
    let pages = db.stats().unwrap().pages;
    let mut long = short_records(3000);
    long.insert(b"z".to_vec(), vec![0; 900]);
    assert!(matches!(ingest(&db, "t", &long), Err(DbError::ValueTooLong { longest: 899, .. })));
    let twice = [("a", "1"), ("b", "2"), ("b", "3")].map(Ok::<_, DbError>);
    assert!(matches!(db.ingest("t", 0.9, twice), Err(DbError::Options { what: "records", .. })));
    let broken = (0..3000u32).map(|n| match n {
        2999 => Err(DbError::Panicked),
        n => Ok((n.to_be_bytes(), b"value")),
    });
    assert!(matches!(db.ingest("t", 0.9, broken), Err(DbError::Panicked)));
    assert!(db.tables().is_empty());
    assert_sound(&db);
    assert_eq!(db.stats().unwrap().pages, pages);
    ingest(&db, "t", &short_records(10)).unwrap();
    let again = ingest(&db, "t", &short_records(10));
    assert!(matches!(again, Err(DbError::TableExists { .. })));
}

#[test]
fn an_older_snapshot_sees_nothing_of_an_ingested_table_and_does_not_write_to_it() {
    let db = open(&device()).unwrap();
    let (look, mut writer) = (db.begin_read().unwrap(), db.begin().unwrap());
    let table = ingest(&db, "t", &short_records(100)).unwrap();
    assert_eq!(look.get(table, b"key 000001").unwrap(), None);
    assert!(look.scan_all(table, Direction::Backward).next().unwrap().is_none());
    assert!(matches!(writer.get(table, b"key 000001"), Err(DbError::Conflict)));
    assert!(matches!(writer.put(table, b"key 000001", b"x"), Err(DbError::Conflict)));
    drop(look);
    assert_eq!(
        db.begin_read().unwrap().get(table, b"key 000001").unwrap().as_deref(),
        Some(&b"1"[..])
    );
}

/// What is there after a crash is a table with all its records, or nothing, and not a page more.
#[test]
fn a_crash_at_any_operation_leaves_tables_whole_or_nothing_of_them() {
    let (ingested, put) = (short_records(9000), records(300));
    for (fault, step) in [(Fault::PowerCut, 5), (Fault::Kill, 9), (Fault::Error, 7)] {
        for nth in (1..).step_by(step) {
            let memory = device();
            let faulty = Arc::new(Faulty::new(memory.clone(), nth));
            let shared: Arc<dyn Device> = faulty.clone();
            let db = open(&shared).unwrap();
            let table = db.create_table("put").unwrap();
            put_all(&db, table, &put);
            db.checkpoint().unwrap();
            faulty.schedule(faulty.operations() + nth, fault);
            let mut states = vec![vec!["put"]];
            let mut use_it = || {
                let mut done = |state: Vec<&'static str>| states.push(state);
                ingest(&db, "ingested", &ingested)?;
                done(vec!["ingested", "put"]);
                db.rename_table("put", "renamed")?;
                done(vec!["ingested", "renamed"]);
                db.delete_table("renamed")?;
                done(vec!["ingested"]);
                db.checkpoint()?;
                db.delete_table("ingested")?;
                done(vec![]);
                db.checkpoint()
            };
            let is_through = use_it().is_ok();
            drop(db);
            let found: Arc<dyn Device> = match fault {
                Fault::PowerCut => Arc::new(faulty.restart().unwrap()),
                Fault::Kill => Arc::new(faulty.reopen().unwrap()),
                _ => memory,
            };
            let db = open(&found).unwrap();
            let names: Vec<_> = db.tables().into_iter().map(|(name, _)| name).collect();
            let order = [
                vec!["put"],
                vec!["ingested", "put"],
                vec!["ingested", "renamed"],
                vec!["ingested"],
                vec![],
            ];
            let is_of = |state: Option<&Vec<&str>>| state.is_some_and(|state| *state == names);
            let (last, next) = (states.last(), order.get(states.len()));
            assert!(is_of(last) || is_of(next), "{fault:?} {nth}: {names:?}, {states:?}");
            for name in &names {
                let expected = if name == "ingested" { &ingested } else { &put };
                assert!(all(&db, db.table(name).unwrap()) == *expected, "{fault:?} {nth} {name}");
            }
            assert_sound(&db);
            if names.is_empty() {
                assert!(db.stats().unwrap().pages <= 6, "{fault:?} {nth}");
            }
            if is_through {
                break;
            }
        }
    }
}

#[test]
fn the_size_of_a_table_is_about_right_and_its_pages_are_exact() {
    let db = open(&device()).unwrap();
    let small = ingest(&db, "small", &short_records(700)).unwrap();
    let large = db.create_table("large").unwrap();
    put_all(&db, large, &short_records(60_000));
    assert_eq!(db.table_size(small).unwrap().records, 700);
    let (size, check) = (db.table_size(large).unwrap(), db.check().unwrap());
    let of = check.trees.iter().find(|tree| tree.table.as_deref() == Some("large")).unwrap();
    assert_eq!(size.pages, of.leaves + of.inner);
    assert!((57_000..63_000).contains(&size.records), "{size:?}");
    assert!((of.bytes * 9 / 10..of.bytes * 11 / 10).contains(&size.bytes), "{size:?} {of:?}");
    db.delete_table("large").unwrap();
    assert!(matches!(db.table_size(large), Err(DbError::TableDeleted)));
}

#[test]
fn a_copy_has_all_tables_whatever_the_other_database_was_made_with() {
    let db = open(&device()).unwrap();
    for (name, count) in [("empty", 0), ("a", 500), ("b", 20)] {
        let table = db.create_table(name).unwrap();
        put_all(&db, table, &records(count));
    }
    for (scheme, unit) in [("sepbit", 4096), ("nosep", 256)] {
        let shape = Shape { bytes: 24 << 20, zone_bytes: Some(1 << 18), ..Shape::default() };
        let device: Arc<dyn Device> = in_memory(&shape).unwrap();
        let store = Format { scheme: scheme.to_string(), unit, ..Format::default() };
        Db::create(&device, &Create { store, ..Create::default() }).unwrap();
        let other = open(&device).unwrap();
        assert_eq!(db.copy_to(&other).unwrap(), 520);
        assert!(matches!(db.copy_to(&other), Err(DbError::TableExists { .. })));
        assert_sound(&other);
        drop(other);
        let other = open(&device).unwrap();
        for (name, table) in db.tables() {
            assert_eq!(all(&other, other.table(&name).unwrap()), all(&db, table));
        }
    }
}
