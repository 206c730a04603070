//! Versions of records that are overwritten while transactions read: what these see, once, and
//! no more of it than may be.

use std::collections::BTreeMap;

use frostline_db::{Create, Db, DbError, Direction, Options, Table, Transaction, VersionStats};
use frostline_store::Cleaning;
use frostline_zone::{Shape, in_memory};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;
type Records = BTreeMap<Vec<u8>, Vec<u8>>;

fn open(version_bytes: Option<usize>) -> (Db, Table) {
    let shape = Shape { bytes: 32 << 20, zone_bytes: Some(1 << 18), ..Shape::default() };
    let device = in_memory(&shape).unwrap();
    Db::create(&device, &Create { log_bytes: Some(8 << 20), ..Create::default() }).unwrap();
    let quiet = Options { background: false, cleaning: Cleaning::Inline, ..Options::default() };
    let db = Db::open(&device, &Options { version_bytes, ..quiet }).unwrap();
    let table = db.create_table("t").unwrap();
    (db, table)
}

fn put(db: &Db, table: Table, keys: std::ops::Range<u32>, byte: u8) {
    let mut transaction = db.begin().unwrap();
    keys.for_each(|n| transaction.put(table, &n.to_be_bytes(), &[byte; 100]).unwrap());
    transaction.commit_soon().unwrap();
}

fn versions(db: &Db) -> VersionStats {
    db.stats().unwrap().versions
}

fn contents(look: &Transaction<'_>, table: Table, direction: Direction) -> Result<Pairs, DbError> {
    let (mut scan, mut found) = (look.scan_all(table, direction), Vec::new());
    while let Some((key, value)) = scan.next()? {
        found.push((key.to_vec(), value.to_vec()));
    }
    Ok(found)
}

#[test]
fn of_records_overwritten_many_times_each_snapshot_keeps_one_version() {
    let (db, table) = open(None);
    put(&db, table, 0..500, 0);
    let first = db.begin_read().unwrap();
    for byte in 1..20 {
        (0..500).step_by(50).for_each(|from| put(&db, table, from..from + 50, byte));
    }
    let one = versions(&db);
    assert_eq!((one.versions, one.snapshots_ended), (500, 0));
    assert!((500 * 100..500 * 500).contains(&one.bytes), "{one:?}");
    let second = db.begin().unwrap();
    for byte in 20..40 {
        put(&db, table, 0..250, byte);
    }
    assert_eq!(versions(&db).versions, 750);
    for (look, byte) in [(&first, 0), (&second, 19)] {
        let seen = contents(look, table, Direction::Forward).unwrap();
        assert!(seen.len() == 500 && seen.iter().all(|(_, value)| value == &[byte; 100]));
    }
    drop(first);
    assert_eq!(versions(&db).versions, 250, "the second sees none of those before");
    drop(second);
    assert_eq!((versions(&db).versions, versions(&db).bytes), (0, 0));
}

#[test]
fn a_transaction_for_which_too_much_would_be_kept_fails_and_others_go_on() {
    let (db, table) = open(Some(100_000));
    put(&db, table, 0..1000, 1);
    let old = db.begin_read().unwrap();
    let mut old_writer = db.begin().unwrap();
    old_writer.put(table, b"another", b"").unwrap();
    for from in (0..1000).step_by(50) {
        let recent = db.begin_read().unwrap();
        put(&db, table, from..from + 50, 2);
        assert_eq!(recent.get(table, &from.to_be_bytes()).unwrap().unwrap(), [1; 100]);
        assert!(versions(&db).bytes <= 100_000);
    }
    let key = 3u32.to_be_bytes();
    let failures = [
        old.get(table, &key).err(),
        contents(&old, table, Direction::Forward).err(),
        contents(&old, table, Direction::Backward).err(),
        old_writer.patch(table, &key, 0, b"x").and_then(|()| old_writer.commit()).err(),
    ];
    for failure in failures {
        let told = failure.unwrap();
        assert!(matches!(told, DbError::SnapshotTooOld { most: 100_000 }), "{told:?}");
    }
    assert_eq!(versions(&db).snapshots_ended, 1, "both transactions had the same");
    assert!(db.metrics().unwrap().contains("\nfrostline_snapshots_ended_total 1\n"));
    let look = db.begin_read().unwrap();
    assert_eq!(look.get(table, &key).unwrap().unwrap(), [2; 100]);
    assert_eq!(look.get(table, b"another").unwrap(), None);
}

#[test]
fn a_snapshot_that_ended_is_too_old_for_a_table_whose_pages_are_free_or_anothers() {
    for are_taken in [false, true] {
        let (db, table) = open(Some(20_000));
        let deleted = db.create_table("deleted").unwrap();
        put(&db, table, 0..300, 1);
        put(&db, deleted, 0..2000, 1);
        let look = db.begin_read().unwrap();
        let mut scan = look.scan_all(deleted, Direction::Forward);
        scan.next().unwrap();
        let mut writer = db.begin().unwrap();
        writer.put(deleted, b"too late", b"").unwrap();
        db.delete_table("deleted").unwrap();
        // More than is kept for snapshots.
        put(&db, table, 0..300, 2);
        (0..20).for_each(|_| db.checkpoint().unwrap());
        if are_taken {
            put(&db, table, 300..4000, 3);
        }
        let rest = std::iter::from_fn(|| scan.next().map(|found| found.map(drop)).transpose());
        for told in [rest.take(2000).find_map(Result::err), writer.commit().err()] {
            assert!(matches!(told, Some(DbError::SnapshotTooOld { .. })), "{told:?}");
        }
    }
}

/// Transactions that begin and end in any order see what was committed when they began.
fn try_snapshots(seed: u64, version_bytes: Option<usize>) -> usize {
    let (mut rng, (db, table)) = (SmallRng::seed_from_u64(seed), open(version_bytes));
    let (mut now, mut looks, mut too_old) = (Records::new(), Vec::new(), 0);
    for _ in 0..600 {
        let mut transaction = db.begin().unwrap();
        for _ in 0..rng.random_range(1..12) {
            let key = vec![rng.random_range(0..80u8); 40];
            if rng.random_bool(0.4) {
                transaction.delete(table, &key).unwrap();
                now.remove(&key);
            } else {
                let value = vec![rng.random(); rng.random_range(0..300)];
                transaction.put(table, &key, &value).unwrap();
                now.insert(key, value);
            }
        }
        transaction.commit_soon().unwrap();
        if rng.random_bool(0.3) {
            looks.push((db.begin_read().unwrap(), now.clone()));
        }
        if looks.len() > 6 || !looks.is_empty() && rng.random_bool(0.2) {
            looks.swap_remove(rng.random_range(0..looks.len()));
        }
        let Some((look, expected)) = looks.get(rng.random_range(0..7)) else { continue };
        let forward = contents(look, table, Direction::Forward);
        let backward = contents(look, table, Direction::Backward);
        match (forward, backward) {
            (Ok(forward), Ok(mut backward)) => {
                backward.reverse();
                assert!(forward.iter().eq(&backward));
                assert_eq!(forward, expected.clone().into_iter().collect::<Vec<_>>());
            }
            (Err(DbError::SnapshotTooOld { .. }), _) => too_old += 1,
            other => panic!("{other:?}"),
        }
    }
    looks.clear();
    let left = versions(&db);
    assert_eq!((left.versions, left.bytes), (0, 0));
    let check = db.check().unwrap();
    assert!(check.findings.is_empty(), "{:?}", check.findings);
    let ghosts: u64 = check.trees.iter().map(|tree| tree.ghosts).sum();
    assert_eq!(ghosts, 0, "deleted records are left behind");
    too_old
}

#[test]
fn transactions_see_what_was_committed_when_they_began_whichever_end_first() {
    (0..4).for_each(|seed| assert_eq!(try_snapshots(seed, None), 0));
    let too_old: usize = (0..4).map(|seed| try_snapshots(seed, Some(20_000))).sum();
    assert!(too_old > 10, "{too_old}");
}
