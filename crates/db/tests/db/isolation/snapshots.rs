//! Snapshots that stay open while much happens.

use std::collections::BTreeMap;

use frostline_db::{Db, Table, Transaction};

use super::{all, database, delete, get, is_sound, set};

/// Keys long enough for trees of several levels.
fn key(n: u32) -> String {
    format!("{n:05}{}", "k".repeat(n as usize % 90))
}

fn value(n: u32, version: u32) -> String {
    format!("{version}:{}", "v".repeat((n * 7 + version * 31) as usize % 400))
}

fn put(db: &Db, table: Table, keys: impl Iterator<Item = u32>, version: u32) {
    let mut transaction = db.begin().unwrap();
    for n in keys {
        transaction.put(table, key(n).as_bytes(), value(n, version).as_bytes()).unwrap();
    }
    transaction.commit().unwrap();
}

fn delete_all(db: &Db, table: Table, keys: impl Iterator<Item = u32>) {
    let mut transaction = db.begin().unwrap();
    keys.for_each(|n| transaction.delete(table, key(n).as_bytes()).unwrap());
    transaction.commit().unwrap();
}

#[test]
fn scans_meet_no_phantoms_while_pages_split_and_merge_and_leave_memory() {
    let (db, table) = database(false);
    put(&db, table, (0..3000).step_by(3), 1);
    let reader = db.begin().unwrap();
    let before = all(&reader, table);
    assert_eq!(before.len(), 1000);
    for round in 2..6 {
        for part in 0..30 {
            put(&db, table, (part * 100..(part + 1) * 100).step_by(2), round);
        }
        assert_eq!(all(&reader, table), before, "after inserts {round}");
        for part in 0..30 {
            delete_all(&db, table, part * 100..(part + 1) * 100);
        }
        assert_eq!(all(&reader, table), before, "after deletes {round}");
    }
    let stats = db.stats().unwrap();
    assert!(stats.pages_evicted > 100 && stats.pages > 64, "{stats:?}");
    drop(reader);
    assert!(all(&db.begin_read().unwrap(), table).is_empty());
    is_sound(&db);
}

#[test]
fn a_scan_that_stopped_goes_on_where_it_was() {
    let (db, table) = database(false);
    put(&db, table, 0..1000, 1);
    let reader = db.begin_read().unwrap();
    let mut forward = reader.scan_all(table, frostline_db::Direction::Forward);
    let mut backward = reader.scan_all(table, frostline_db::Direction::Backward);
    for n in 0..1000 {
        let (last, first) = (forward.next().unwrap(), backward.next().unwrap());
        let expected = |n| (key(n), value(n, 1));
        let text = |found: Option<(&[u8], &[u8])>| {
            let (key, value) = found.unwrap();
            (String::from_utf8(key.to_vec()).unwrap(), String::from_utf8(value.to_vec()).unwrap())
        };
        assert_eq!(text(last), expected(n));
        assert_eq!(text(first), expected(999 - n));
        match n % 100 {
            10 => delete_all(&db, table, (0..1000).filter(|k| k % 7 < 4)),
            50 => put(&db, table, 0..1000, n),
            90 => delete_all(&db, table, 0..1000),
            _ => {}
        }
    }
    assert!(forward.next().unwrap().is_none() && backward.next().unwrap().is_none());
}

#[test]
fn each_snapshot_sees_its_time_through_deletes_and_insertions_of_one_key() {
    let (db, table) = database(false);
    set(&db, table, &[("a", "-"), ("x", "0"), ("z", "-")]);
    let mut snapshots: Vec<(Transaction<'_>, Option<String>)> = Vec::new();
    let expect = |snapshots: &[(Transaction<'_>, Option<String>)]| {
        for (snapshot, expected) in snapshots {
            assert_eq!(&get(snapshot, table, "x"), expected);
            let scanned: BTreeMap<_, _> = all(snapshot, table).into_iter().collect();
            assert_eq!(scanned.get("x"), expected.as_ref());
            assert_eq!(scanned.len(), 2 + usize::from(expected.is_some()));
        }
    };
    snapshots.push((db.begin_read().unwrap(), Some("0".into())));
    for round in 1..10 {
        delete(&db, table, "x");
        snapshots.push((db.begin_read().unwrap(), None));
        expect(&snapshots);
        set(&db, table, &[("x", &round.to_string())]);
        snapshots.push((db.begin_read().unwrap(), Some(round.to_string())));
        expect(&snapshots);
        delete(&db, table, "x");
        delete(&db, table, "x");
        expect(&snapshots);
        // The oldest and one of the middle go, and what only they saw may be forgotten.
        snapshots.remove(0);
        snapshots.remove(snapshots.len() / 2);
        set(&db, table, &[("y", "-")]);
        delete(&db, table, "y");
        set(&db, table, &[("x", "again")]);
        expect(&snapshots);
    }
    snapshots.clear();
    delete(&db, table, "x");
    set(&db, table, &[("a", "-")]);
    let check = db.check().unwrap();
    assert_eq!((check.trees[1].records, check.trees[1].ghosts), (2, 0));
}

#[test]
fn long_values_are_seen_whole_by_snapshots_that_came_before_they_went() {
    let (db, table) = database(false);
    let long = |n: u8| vec![n; 20_000];
    let write = |value: Option<Vec<u8>>| {
        let mut transaction = db.begin().unwrap();
        match value {
            Some(value) => transaction.put(table, b"x", &value).unwrap(),
            None => transaction.delete(table, b"x").unwrap(),
        }
        transaction.commit().unwrap();
    };
    write(Some(long(1)));
    let first = db.begin_read().unwrap();
    write(Some(long(2)));
    let second = db.begin_read().unwrap();
    write(None);
    let third = db.begin_read().unwrap();
    write(Some(b"short".to_vec()));
    let seen = [&first, &second, &third].map(|look| look.get(table, b"x").unwrap());
    assert!(seen == [Some(long(1)), Some(long(2)), None]);
    drop((first, second, third));
    is_sound(&db);
    assert_eq!(db.check().unwrap().long_values, 0);
}

#[test]
fn ghosts_go_when_the_last_snapshot_does() {
    let (db, table) = database(false);
    put(&db, table, 0..500, 1);
    let reader = db.begin_read().unwrap();
    delete_all(&db, table, 0..500);
    assert_eq!(db.check().unwrap().trees[1].ghosts, 500);
    drop(reader);
    let check = db.check().unwrap();
    assert_eq!((check.trees[1].ghosts, check.trees[1].leaves), (0, 1));
}
