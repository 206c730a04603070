//! The database behind the front door: promises that its users rely on.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use frostline::zone::{Fault, Faulty, OpenOptions, Shape, ZoneState, in_memory, with_parity};
use frostline::{BackupError, Db, Error, Options, Snapshot};
use proptest::prelude::*;

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn what_cannot_be_made_is_named_once_and_without_a_temporary_name() {
    // Root may write anywhere but there.
    let path = "/proc/my.frost";
    let directory = tempfile::tempdir().unwrap();
    let (db, backup) = (directory.path().join("db"), directory.path().join("backup"));
    Options::new().bound(256 << 20).open(&db).unwrap().back_up(&backup).unwrap();
    for error in [Db::open(path).err().unwrap(), Db::restore(&backup, path).err().unwrap()] {
        let said = error.to_string();
        assert!(said.starts_with("not found: /proc/my.frost: "), "{said}");
        assert!(!said.contains(".frostline-") && said.matches("my.frost").count() == 1, "{said}");
    }
    let taken = Db::restore(&backup, &db).err().unwrap();
    assert!(taken.to_string().ends_with("/db: is not empty"), "{taken}");
    let held = Options::new().open(&db).unwrap();
    let in_use = Db::open(&db).err().unwrap().to_string();
    assert!(in_use.starts_with("in use: /") && in_use.ends_with("/db: is in use"), "{in_use}");
    drop(held);
}

#[test]
fn a_database_is_made_once_and_keeps_what_was_committed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("deep/down/my.frost");
    for opening in 0..3u8 {
        let db = Db::open(&path).unwrap();
        let items = db.table("items").unwrap();
        assert_eq!(db.tables(), ["items"]);
        let seen = db.read().unwrap().all(items).count();
        assert_eq!(seen, usize::from(opening));
        db.update(|tx| tx.put(items, [opening], "kept")).unwrap();
        // Whether dropped or closed, committed data are there.
        if opening == 1 {
            db.close().unwrap();
        }
    }
    assert_eq!(names(path.parent().unwrap()), ["my.frost"], "nothing is left beside it");
}

#[test]
fn a_database_is_made_in_an_empty_file_and_not_in_another() {
    let directory = tempfile::tempdir().unwrap();
    assert!(Db::open(directory.path()).is_err());
    let path = directory.path().join("my.frost");
    std::fs::write(&path, "").unwrap();
    drop(Db::open(&path).unwrap());
    let other = directory.path().join("letter");
    std::fs::write(&other, "a letter").unwrap();
    let refused = Db::open(&other).err().unwrap();
    assert!(matches!(refused, Error::NotUsable(_)), "{refused}");
    assert!(refused.to_string().ends_with("/letter: holds data"), "{refused}");
    assert_eq!(std::fs::read(&other).unwrap(), b"a letter");
}

#[test]
fn a_database_whose_making_was_cut_short_is_made_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("my.frost");
    drop(Db::open(&path).unwrap());
    let whole = std::fs::read(&path).unwrap();
    // The first block says what the file is once all else is there.
    let mut begun = whole.clone();
    begun[..4096].fill(0);
    begun[..29].copy_from_slice(b"frostline device, unfinished\n");
    std::fs::write(&path, &begun).unwrap();
    assert!(Options::new().create(false).open(&path).is_err());
    let db = Db::open(&path).unwrap();
    assert!(db.tables().is_empty());
}

#[test]
fn the_space_over_data_may_be_another_at_each_opening_and_is_checked() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let options = Options::new().bound(64 << 20);
    for space in [1.5, 2.5] {
        options.clone().space(space).open(&path).unwrap().close().unwrap();
    }
    let refused = options.space(0.5).open(&path).err().unwrap().to_string();
    assert!(refused.contains("space over data"), "{refused}");
}

#[test]
fn what_must_exist_is_not_made() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("absent");
    assert!(Options::new().create(false).open(&path).is_err());
    assert!(names(directory.path()).is_empty());
}

#[test]
fn options_that_can_not_be_leave_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("my.frost");
    for options in [Options::new().scheme("nonesuch"), Options::new().bound(1 << 20)] {
        assert!(matches!(options.open(&path), Err(Error::Refused(_))));
        assert!(names(directory.path()).is_empty());
    }
    assert!(Options::new().open(&path).is_ok());
}

#[test]
fn a_database_that_is_open_is_in_use() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("my.frost");
    let _open = Db::open(&path).unwrap();
    assert!(matches!(Db::open(&path), Err(Error::InUse(_))));
}

#[test]
fn updates_that_conflict_run_again_until_all_are_in() {
    let db = Options::new().bound(256 << 20).in_memory().unwrap();
    let counters = db.table("counters").unwrap();
    let number =
        |bytes: Option<Vec<u8>>| bytes.map_or(0, |b| u64::from_le_bytes(b.try_into().unwrap()));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    db.update(|tx| {
                        let next = number(tx.get(counters, "n")?) + 1;
                        tx.put(counters, "n", next.to_le_bytes())
                    })
                    .unwrap();
                }
            });
        }
    });
    assert_eq!(number(db.read().unwrap().get(counters, "n").unwrap()), 200);
}

/// Two threads that each add a record if the two ranges hold less than two records together: the
/// number of records at the end.
fn records_of_two_that_look_before_they_add(db: &Db) -> usize {
    let items = db.table("items").unwrap();
    let both_have_read = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        for key in ["a", "b"] {
            let (db, both_have_read) = (&db, &both_have_read);
            scope.spawn(move || {
                let mut tries = 0;
                db.update(|tx| {
                    let there = tx.prefix(items, "a").count() + tx.prefix(items, "b").count();
                    tries += 1;
                    if tries == 1 {
                        both_have_read.wait();
                    }
                    if there == 0 { tx.put(items, key, "mine") } else { Ok(()) }
                })
                .unwrap();
            });
        }
    });
    db.read().unwrap().all(items).count()
}

#[test]
fn serializable_updates_are_as_if_one_came_after_the_other() {
    for (serializable, records) in [(false, 2), (true, 1)] {
        let options = Options::new().bound(256 << 20).serializable(serializable);
        let db = options.in_memory().unwrap();
        assert_eq!(records_of_two_that_look_before_they_add(&db), records);
    }
}

#[test]
fn a_restored_backup_is_the_database_at_its_time() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let db = Options::new().bound(256 << 20).open(path("a.frost")).unwrap();
    let items = db.table("items").unwrap();
    db.update(|tx| tx.put(items, "a", "before")).unwrap();
    let first = db.back_up(path("backup")).unwrap();
    Db::restore(path("backup"), path("deep/b.frost")).unwrap();
    db.update(|tx| tx.put(items, "a", "after")).unwrap();
    let second = db.back_up(path("backup")).unwrap();
    assert!(second.copied_bytes < first.copied_bytes / 2, "{first:?} {second:?}");
    Db::restore(path("backup"), path("c.frost")).unwrap();
    for (name, expected) in [("deep/b.frost", "before"), ("c.frost", "after")] {
        let db = Db::open(path(name)).unwrap();
        let items = db.table("items").unwrap();
        let value = db.read().unwrap().get(items, "a").unwrap();
        assert_eq!(value.as_deref(), Some(expected.as_bytes()));
    }
    assert!(matches!(Db::restore(path("nothing"), path("d.frost")), Err(Error::Backup(_))));
    assert!(Db::restore(path("backup"), path("c.frost")).is_err(), "there is a database");
}

#[test]
fn the_backup_of_another_database_is_not_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let backup = directory.path().join("backup");
    let made = || Options::new().bound(256 << 20).in_memory().unwrap();
    let (db, other) = (made(), made());
    db.table("mine").unwrap();
    db.back_up(&backup).unwrap();
    let refused =
        [other.back_up(&backup).map(drop), other.follow(&backup, Duration::from_secs(1)).map(drop)];
    for refused in refused {
        let Err(Error::Backup(cause)) = refused else { panic!("{refused:?}") };
        assert!(matches!(*cause, BackupError::OtherStore { .. }), "{cause}");
    }
    db.follow(&backup, Duration::from_secs(1)).unwrap().finish().unwrap();
    Db::restore(&backup, directory.path().join("again")).unwrap();
    assert_eq!(Db::open(directory.path().join("again")).unwrap().tables(), ["mine"]);
}

#[test]
fn a_zone_of_the_log_that_is_lost_under_parity_costs_no_commit() {
    const DATA: u32 = 3;
    let shape = Shape { bytes: 24 << 20, zone_bytes: Some(1 << 16), ..Shape::default() };
    let zones = (shape.bytes >> 16) as u32;
    let mut ended = 0;
    // The last two have the log of the parity, and before them lies the log of the database.
    for lost in zones - 24..zones {
        let faulty = Arc::new(Faulty::new(in_memory(&shape).unwrap(), lost.into()));
        let open = |faulty: &Arc<Faulty>| {
            let options = Options::new().memory(1 << 20).log_bytes(1 << 20);
            options.open_device(with_parity(faulty.clone(), DATA).unwrap()).unwrap()
        };
        let db = open(&faulty);
        let items = db.table("items").unwrap();
        let put = |db: &Db, items, n: u32| {
            db.update(|tx| tx.put(items, (n % 500).to_be_bytes(), [n.to_be_bytes(); 200].concat()))
        };
        faulty.schedule(2000, Fault::Wear { zone: lost, state: ZoneState::Offline });
        // It goes on, or ends with an error: then it is opened again, and goes on.
        let done = (0..2000).find(|&n| put(&db, items, n).is_err());
        ended += u32::from(done.is_some());
        drop(db);
        let faulty = Arc::new(faulty.reopen().unwrap());
        let db = open(&faulty);
        let items = db.table("items").unwrap();
        let done = done.unwrap_or(2000);
        let look = db.read().unwrap();
        for n in 0..500 {
            let found = look
                .get(items, u32::to_be_bytes(n))
                .unwrap()
                .map(|value| u32::from_be_bytes([value[0], value[1], value[2], value[3]]));
            let last = (0..done).rev().find(|last| last % 500 == n);
            // Of the commit that failed it is not known.
            assert!(found == last || found == Some(done), "zone {lost}: {n} of {done}: {found:?}");
        }
        drop(look);
        (done + 1..done + 200).for_each(|n| put(&db, items, n).unwrap());
        db.close().unwrap();
    }
    println!("{ended} of 24 zones ended the database");
}

#[test]
fn an_update_whose_body_fails_writes_nothing() {
    #[derive(Debug)]
    enum Mine {
        Enough,
        Database(#[expect(dead_code, reason = "for the debug output")] Error),
    }
    impl From<Error> for Mine {
        fn from(error: Error) -> Self {
            Mine::Database(error)
        }
    }
    let db = Options::new().bound(256 << 20).in_memory().unwrap();
    let items = db.table("items").unwrap();
    let refused: Result<(), Mine> = db.try_update(|tx| {
        tx.put(items, "a", "1")?;
        assert_eq!(tx.get(items, "a")?.as_deref(), Some(&b"1"[..]), "it sees its own writes");
        Err(Mine::Enough)
    });
    assert!(matches!(refused, Err(Mine::Enough)));
    assert_eq!(db.read().unwrap().get(items, "a").unwrap(), None);
}

#[test]
fn a_loop_in_an_update_needs_no_type_of_its_error() -> Result<(), Box<dyn std::error::Error>> {
    let db = Options::new().bound(256 << 20).in_memory()?;
    let items = db.table("items")?;
    db.update(|tx| {
        for n in 0..9u8 {
            tx.put(items, [n], "x")?;
        }
        Ok(())
    })?;
    assert_eq!(db.read()?.all(items).count(), 9);
    Ok(())
}

#[test]
fn a_snapshot_stays_as_it_was() {
    let db = Options::new().bound(256 << 20).in_memory().unwrap();
    let items = db.table("items").unwrap();
    db.update(|tx| tx.put(items, "a", "old")).unwrap();
    let look = db.read().unwrap();
    db.update(|tx| tx.put(items, "a", "new")).unwrap();
    assert_eq!(look.get(items, "a").unwrap().as_deref(), Some(&b"old"[..]));
}

#[test]
fn keys_that_are_too_long_are_refused() {
    let db = Options::new().bound(256 << 20).in_memory().unwrap();
    let items = db.table("items").unwrap();
    let refused = db.update(|tx| tx.put(items, [0; 4096], ""));
    assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
}

#[test]
fn a_large_value_and_many_records_are_transactions_that_the_defaults_take() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("my.frost");
    let db = Db::open(&path).unwrap();
    let items = db.table("items").unwrap();
    let large: Vec<u8> = (0..4 << 20).map(|n: u32| n.wrapping_mul(2_654_435_761) as u8).collect();
    db.update(|tx| tx.put(items, "large", &large)).unwrap();
    let records = (0..100_000u32).map(u32::to_be_bytes);
    db.update(|tx| records.clone().try_for_each(|key| tx.put(items, key, [7; 100]))).unwrap();
    drop(db);
    let db = Db::open(&path).unwrap();
    let (items, look) = (db.table("items").unwrap(), db.read().unwrap());
    assert_eq!(look.get(items, "large").unwrap().as_deref(), Some(&large[..]));
    assert_eq!(look.all(items).count(), 100_001);
}

#[test]
fn a_transaction_that_the_log_does_not_take_is_refused_until_there_is_a_larger_one() {
    for (log_bytes, fits) in [(4 << 20, false), (128 << 20, true)] {
        let db = Options::new().bound(512 << 20).log_bytes(log_bytes).in_memory().unwrap();
        let items = db.table("items").unwrap();
        let records = (0..10_000u32).map(u32::to_be_bytes);
        let put = db.update(|tx| records.clone().try_for_each(|key| tx.put(items, key, [7; 100])));
        match put {
            Ok(()) => assert!(fits),
            Err(Error::Refused(why)) => {
                assert!(!fits && why.to_string().contains("log_bytes"), "{why}");
            }
            Err(error) => panic!("{error}"),
        }
    }
}

type Keys = (Bound<Vec<u8>>, Bound<Vec<u8>>);

fn bound() -> impl Strategy<Value = Bound<Vec<u8>>> {
    let key = || prop::collection::vec(0..4u8, 0..4);
    prop_oneof![
        Just(Bound::Unbounded),
        key().prop_map(Bound::Included),
        key().prop_map(Bound::Excluded)
    ]
}

/// Checks that a range gives the same records as a map, taken from the ends in the order of
/// `turns`.
fn same(
    look: &Snapshot<'_>,
    items: frostline::Table,
    map: &BTreeMap<Vec<u8>, Vec<u8>>,
    keys: Keys,
    turns: &[bool],
) {
    let is_below = |low: &Bound<Vec<u8>>, high: &Bound<Vec<u8>>| match (low, high) {
        (Bound::Included(low), Bound::Included(high)) => low <= high,
        (
            Bound::Included(low) | Bound::Excluded(low),
            Bound::Included(high) | Bound::Excluded(high),
        ) => low < high,
        _ => true,
    };
    let mut model: Vec<_> = match is_below(&keys.0, &keys.1) {
        true => map.range(keys.clone()).map(|(k, v)| (k.clone(), v.clone())).collect(),
        false => Vec::new(),
    };
    let mut range = look.range(items, keys);
    for &from_back in turns {
        let (found, expected) = match from_back {
            true => (range.next_back(), model.pop()),
            false => (range.next(), (!model.is_empty()).then(|| model.remove(0))),
        };
        assert_eq!(found.transpose().unwrap(), expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn ranges_from_both_ends_are_those_of_an_ordered_map(
        records in prop::collection::btree_map(prop::collection::vec(0..4u8, 0..4), prop::collection::vec(any::<u8>(), 0..9), 0..40),
        ranges in prop::collection::vec(((bound(), bound()), prop::collection::vec(any::<bool>(), 0..60)), 1..12),
        prefix in prop::collection::vec(prop_oneof![0..4u8, Just(255)], 0..3),
    ) {
        static CASES: AtomicU32 = AtomicU32::new(0);
        static DB: LazyLock<Db> = LazyLock::new(|| Options::new().bound(256 << 20).in_memory().unwrap());
        let db = &*DB;
        let items = db.table(&format!("of case {}", CASES.fetch_add(1, Relaxed))).unwrap();
        db.update(|tx| records.iter().try_for_each(|(key, value)| tx.put(items, key, value))).unwrap();
        let look = db.read().unwrap();
        for (keys, turns) in ranges {
            same(&look, items, &records, keys, &turns);
        }
        let found: Vec<_> = look.prefix(items, &prefix).map(|record| record.unwrap().0).collect();
        let expected: Vec<_> = records.keys().filter(|key| key.starts_with(&prefix)).cloned().collect();
        prop_assert_eq!(found, expected);
    }
}

/// Makes a database of 2,000 records.
fn fill(db: Db) {
    let items = db.table("items").unwrap();
    for first in [0, 1000] {
        let records = (first..first + 1000u32).map(u32::to_be_bytes);
        db.update(|tx| records.clone().try_for_each(|key| tx.put(items, key, [7; 900]))).unwrap();
    }
    db.close().unwrap();
}

fn records(db: &Db) -> usize {
    let items = db.table("items").unwrap();
    db.read().unwrap().all(items).filter(|record| record.is_ok()).count()
}

#[test]
fn a_database_with_missing_pages_is_not_opened_and_nothing_of_it_changes() {
    let directory = tempfile::tempdir().unwrap();
    // A file for each zone, so that one of them can be damaged.
    let uri = format!("dir:{}", directory.path().display());
    let shape = Shape { bytes: 1 << 30, zone_bytes: Some(1 << 20), ..Shape::default() };
    let device = frostline::zone::create(&uri, &shape, &OpenOptions::default()).unwrap();
    fill(Options::new().open_device(device).unwrap());
    let open = || {
        let device = frostline::zone::open(&uri, &OpenOptions::default()).unwrap();
        Options::new().open_device(device)
    };
    // Of the first zones, the fullest holds pages; the last zones belong to the log.
    let zones = (0..900).map(|zone| directory.path().join("seq").join(zone.to_string()));
    let fullest = zones.max_by_key(|zone| zone.metadata().unwrap().len()).unwrap();
    let whole = std::fs::read(&fullest).unwrap();
    std::fs::write(&fullest, &whole[..4096]).unwrap();
    let refused = open().err();
    assert!(matches!(refused, Some(Error::Damaged(_))), "{refused:?} without {fullest:?}");
    std::fs::write(&fullest, whole).unwrap();
    assert_eq!(records(&open().unwrap()), 2000);
}

#[test]
fn a_file_that_was_cut_off_is_refused_or_has_all_records() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("my.frost");
    fill(Db::open(&path).unwrap());
    let whole = std::fs::read(&path).unwrap();
    let mut refused = 0;
    for part in 0..16 {
        let cut = &whole[..whole.len() * part / 16];
        for options in [Options::new().read_only(true), Options::new().create(false)] {
            std::fs::write(&path, cut).unwrap();
            match options.open(&path) {
                Err(_) => refused += 1,
                Ok(db) => assert_eq!(records(&db), 2000, "{part} of 16"),
            }
        }
    }
    assert!(refused >= 16, "{refused} of 32");
    std::fs::write(&path, whole).unwrap();
    assert_eq!(records(&Db::open(&path).unwrap()), 2000);
}

#[test]
fn a_file_that_is_missing_is_named_by_the_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("none.frost");
    for options in [Options::new().read_only(true), Options::new().create(false)] {
        let error = options.open(&path).err().unwrap();
        assert!(matches!(error, Error::NotFound(_)), "{error:?}");
        assert_eq!(error.file(), Some(&*path));
    }
    assert!(!path.exists(), "it was not made");
}

#[test]
fn a_database_that_is_open_for_reading_only_refuses_writes_and_stays_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("my.frost");
    let db = Options::new().bound(256 << 20).open(&path).unwrap();
    let items = db.table("items").unwrap();
    db.update(|tx| tx.put(items, "a", "closed")).unwrap();
    db.close().unwrap();
    for is_closed in [true, false] {
        if !is_closed {
            let db = Db::open(&path).unwrap();
            let items = db.table("items").unwrap();
            // A database that was not closed is recovered, in memory.
            db.update(|tx| tx.put(items, "a", "dropped")).unwrap();
        }
        let before = std::fs::read(&path).unwrap();
        let options = Options::new().read_only(true);
        let db = options.open(&path).unwrap();
        let items = db.table("items").unwrap();
        let value = db.read().unwrap().get(items, "a").unwrap();
        let expected = if is_closed { "closed" } else { "dropped" };
        assert_eq!(value.as_deref(), Some(expected.as_bytes()));
        assert!(matches!(db.update(|tx| tx.put(items, "a", "new")), Err(Error::ReadOnly)));
        assert!(matches!(db.begin().err(), Some(Error::ReadOnly)));
        assert!(matches!(db.clear(items), Err(Error::ReadOnly)));
        assert!(matches!(db.table("other"), Err(Error::Refused(_))));
        assert!(options.open(&path).is_ok(), "another may read as well");
        assert!(matches!(Db::open(&path), Err(Error::InUse(_))));
        db.close().unwrap();
        assert!(std::fs::read(&path).unwrap() == before, "the file has changed");
    }
    assert!(Options::new().read_only(true).open(directory.path().join("absent")).is_err());
}

#[test]
fn a_transaction_that_the_program_commits_loses_as_any_other_does() {
    let db = Options::new().bound(256 << 20).in_memory().unwrap();
    let items = db.table("items").unwrap();
    let mut slow = db.begin().unwrap();
    slow.put(items, "a", "slow").unwrap();
    let mut given_up = db.begin().unwrap();
    given_up.put(items, "a", "given up").unwrap();
    given_up.rollback();
    let mut fast = db.begin().unwrap();
    fast.put(items, "a", "fast").unwrap();
    let commit = fast.commit_soon().unwrap();
    db.wait(commit).unwrap();
    assert!(matches!(slow.commit(), Err(Error::Conflict)));
    assert_eq!(db.read().unwrap().get(items, "a").unwrap().as_deref(), Some(&b"fast"[..]));
}

#[test]
fn an_update_is_tried_as_often_as_the_options_say() {
    for wanted in [1, 3] {
        let db = Options::new().bound(256 << 20).tries(wanted).in_memory().unwrap();
        let items = db.table("items").unwrap();
        let mut tries = 0;
        let lost = db.update(|tx| {
            tries += 1;
            tx.put(items, "a", "loses")?;
            db.update(|other| other.put(items, "a", "wins"))
        });
        assert!(matches!(lost, Err(Error::Conflict)));
        assert_eq!(tries, wanted);
    }
}

#[test]
fn what_was_synced_is_there_after_a_crash() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("my.frost");
    let db = Options::new().bound(256 << 20).open(&path).unwrap();
    let items = db.table("items").unwrap();
    for n in 0..10u8 {
        db.update_soon(|tx| tx.put(items, [n], "x")).unwrap();
    }
    db.sync().unwrap();
    drop(db);
    let db = Db::open(&path).unwrap();
    let items = db.table("items").unwrap();
    assert_eq!(db.read().unwrap().len(items).unwrap(), 10);
}

#[test]
fn what_is_not_of_the_types_of_a_table_is_an_error() {
    let db = Options::new().bound(256 << 20).in_memory().unwrap();
    let numbers: frostline::Typed<u32, u64> = db.typed("numbers").unwrap();
    db.update(|tx| {
        numbers.put(tx, &7u32, &49)?;
        tx.put(numbers.table(), [0, 0, 0, 9], "too long for a number")?;
        tx.put(numbers.table(), [1], [0; 8])
    })
    .unwrap();
    let look = db.read().unwrap();
    assert_eq!(numbers.get(&look, &7u32).unwrap(), Some(49));
    assert_eq!(numbers.get(&look, &8u32).unwrap(), None);
    let of = |found: Result<_, Error>| match found {
        Err(Error::NotOfType { part, .. }) => part,
        found => panic!("{found:?}"),
    };
    assert_eq!(of(numbers.get(&look, &9u32).map(|value| (9, value.unwrap()))), "value");
    assert_eq!(of(numbers.last(&look).map(Option::unwrap)), "key");
    let good = numbers.all(&look).filter_map(Result::ok).collect::<Vec<_>>();
    assert_eq!(good, [(7, 49)], "the others are there all the same");
}

/// The first read of a snapshot after a record was overwritten so often, with long values.
fn read_of_what_was_overwritten(
    options: Options,
    times: u32,
) -> frostline::Result<Option<Vec<u8>>> {
    let db = options.memory(8 << 20).in_memory()?;
    let table = db.table("t")?;
    db.update(|tx| (0..400u32).try_for_each(|n| tx.put(table, n.to_be_bytes(), [0; 800])))?;
    let snapshot = db.read()?;
    for time in 1..=times {
        let value = [time as u8; 800];
        db.update(|tx| (0..400u32).try_for_each(|n| tx.put(table, n.to_be_bytes(), value)))?;
    }
    snapshot.get(table, 7u32.to_be_bytes())
}

#[test]
fn a_snapshot_lasts_as_long_as_there_is_memory_for_what_it_sees() {
    let first = Some(vec![0; 800]);
    assert_eq!(read_of_what_was_overwritten(Options::new(), 3).unwrap(), first);
    let short = Options::new().version_bytes(64 << 10);
    assert!(matches!(read_of_what_was_overwritten(short, 3), Err(Error::TooOld(_))));
}

#[test]
fn checkpoints_come_as_often_as_recovery_must_be_short() {
    let checkpoints = |options: Options| {
        let db = options.in_memory().unwrap();
        let table = db.table("t").unwrap();
        for n in 0..4000u32 {
            let value: Vec<u8> = (0..800u32).map(|at| (n * 37 + at * at) as u8).collect();
            db.update(|tx| tx.put(table, (n % 100).to_be_bytes(), value.as_slice())).unwrap();
        }
        db.stats().unwrap().checkpoints
    };
    assert!(checkpoints(Options::new().recovery_bytes(256 << 10)) > 2);
    assert_eq!(checkpoints(Options::new()), 0);
}
