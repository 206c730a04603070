//! Backups of a database while threads write: what is restored is the database after the first so
//! many commits, those before the backup among them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use frostline_backup::{Source, Target, restore, shape};
use frostline_db::{Create, Db, DbError, Direction, Options, Table};
use frostline_zone::{Device, Shape, in_memory};

const RECORDS: u64 = 2000;

fn options() -> Options {
    Options { buffer_bytes: 1 << 20, ..Options::default() }
}

/// Writes two records, and counts: a commit that depends on all before.
fn add(db: &Db, table: Table) -> Result<u64, DbError> {
    let mut transaction = db.begin()?;
    let number = transaction.get(table, b"count")?.map_or(0, |count| number_of(&count)) + 1;
    transaction.put(table, b"count", &number.to_be_bytes())?;
    transaction.put(table, &key(number % RECORDS), &[number as u8; 700])?;
    transaction.put(table, &key(number * 7919 % RECORDS), &[number as u8; 300])?;
    transaction.commit()?;
    Ok(number)
}

fn key(number: u64) -> Vec<u8> {
    [b"record ", &number.to_be_bytes()[..]].concat()
}

fn number_of(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(bytes.try_into().unwrap())
}

/// What the table must hold after so many commits.
fn expected(commits: u64) -> std::collections::BTreeMap<Vec<u8>, Vec<u8>> {
    let mut records = std::collections::BTreeMap::new();
    for number in 1..=commits {
        records.insert(b"count".to_vec(), number.to_be_bytes().to_vec());
        records.insert(key(number % RECORDS), vec![number as u8; 700]);
        records.insert(key(number * 7919 % RECORDS), vec![number as u8; 300]);
    }
    records
}

/// Restores a backup, and returns after how many commits it is.
fn commits_in(target: &Target) -> u64 {
    let device: Arc<dyn Device> = in_memory(&shape(target).unwrap()).unwrap();
    restore(target, &*device).unwrap();
    let db = Db::open(&device, &options()).unwrap();
    let check = db.check().unwrap();
    assert!(check.findings.is_empty(), "{:#?}", check.findings);
    let (table, look) = (db.table("t").unwrap(), db.begin_read().unwrap());
    let mut scan = look.scan_all(table, Direction::Forward);
    let mut found = std::collections::BTreeMap::new();
    while let Some((key, value)) = scan.next().unwrap() {
        found.insert(key.to_vec(), value.to_vec());
    }
    let commits = found.get(&b"count"[..]).map_or(0, |count| number_of(count));
    assert!(found == expected(commits), "not the database after {commits} commits");
    commits
}

#[test]
fn backups_while_threads_commit_are_the_database_after_the_first_so_many_commits() {
    let shape = Shape { bytes: 40 << 20, zone_bytes: Some(1 << 19), ..Shape::default() };
    let below: Arc<dyn Device> = in_memory(&shape).unwrap();
    Db::create(&below, &Create { log_bytes: Some(4 << 20), ..Create::default() }).unwrap();
    let source = Source::new(below);
    let device: Arc<dyn Device> = source.clone();
    let db = Db::open(&device, &options()).unwrap();
    let table = db.create_table("t").unwrap();
    let (acknowledged, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let directory = tempfile::tempdir().unwrap();
    let target = Target::new(directory.path()).unwrap();
    let mut copied = Vec::new();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_over.load(Relaxed) {
                    match add(&db, table) {
                        Ok(number) => drop(acknowledged.fetch_max(number, Relaxed)),
                        Err(DbError::Conflict) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
        for round in 1..=6 {
            while acknowledged.load(Relaxed) < round * 1500 {
                std::thread::yield_now();
            }
            let before = acknowledged.load(Relaxed);
            copied.push(source.back_up(&target).unwrap());
            let commits = commits_in(&target);
            assert!(commits >= before, "{commits} of {before} commits that were acknowledged");
        }
        is_over.store(true, Relaxed);
    });
    println!("{copied:?}");
    assert!(copied.iter().skip(1).any(|backup| backup.copied_bytes < backup.bytes));
    let resets = db.stats().unwrap().store.counts.zones_reclaimed;
    assert!(resets > 0, "zones were cleaned meanwhile");
    db.close().unwrap();
}
