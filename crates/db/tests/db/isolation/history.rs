//! Many transactions in threads: the reads and writes of each are compared with the rules
//! afterwards.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use frostline_db::{Db, DbError, Direction, Table};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::{database, is_sound};

const KEYS: u8 = 40;

/// A transaction that was committed, or only read.
#[derive(Debug)]
struct Done {
    number: u64,
    /// Keys that were read before they were written, with the number of their last writer; 0 for a
    /// key that is absent.
    reads: Vec<(u8, u64)>,
    /// Keys, and whether they were deleted.
    writes: Vec<(u8, bool)>,
    /// Position of the commit in the order of all; 0 if it wrote nothing.
    position: u64,
}

fn writer_of(value: &[u8]) -> u64 {
    u64::from_le_bytes(value[..8].try_into().unwrap())
}

/// A random transaction.
fn transact(db: &Db, table: Table, rng: &mut SmallRng, number: u64) -> Result<Done, DbError> {
    let mut transaction = db.begin()?;
    let (mut reads, mut writes) = (Vec::new(), HashMap::new());
    for _ in 0..rng.random_range(1..8) {
        let key = rng.random_range(0..KEYS);
        match rng.random_range(0..10) {
            0..3 if !writes.contains_key(&key) => {
                let value = transaction.get(table, &[key])?;
                reads.push((key, value.map_or(0, |value| writer_of(&value))));
            }
            3..7 => {
                let mut value = number.to_le_bytes().to_vec();
                value.resize(rng.random_range(8..850), 1);
                transaction.put(table, &[key], &value)?;
                writes.insert(key, false);
            }
            7 => {
                transaction.delete(table, &[key])?;
                writes.insert(key, true);
            }
            8 => {
                let direction = [Direction::Forward, Direction::Backward][rng.random_range(0..2)];
                let mut scan = transaction.scan_all(table, direction);
                let mut found = HashMap::new();
                while let Some((key, value)) = scan.next()? {
                    found.insert(key[0], writer_of(value));
                }
                let unwritten = (0..KEYS).filter(|key| !writes.contains_key(key));
                reads.extend(unwritten.map(|key| (key, found.get(&key).copied().unwrap_or(0))));
            }
            _ => std::thread::yield_now(),
        }
    }
    let wrote = !writes.is_empty();
    let commit = transaction.commit_soon()?;
    let position = if wrote { commit.0 } else { 0 };
    Ok(Done { number, reads, writes: writes.into_iter().collect(), position })
}

/// The versions of a key: position of the commit, and number of the writer.
fn versions(all: &[Done]) -> HashMap<u8, Vec<(u64, u64)>> {
    let mut versions: HashMap<u8, Vec<(u64, u64)>> = HashMap::new();
    for done in all {
        for &(key, is_deleted) in &done.writes {
            let writer = if is_deleted { 0 } else { done.number };
            versions.entry(key).or_default().push((done.position, writer));
        }
    }
    versions.values_mut().for_each(|versions| versions.sort_unstable());
    versions
}

/// The commits, of which each key's versions are from one to before another, at which a
/// transaction can have taken its snapshot so that it read what it read.
fn snapshots(done: &Done, versions: &HashMap<u8, Vec<(u64, u64)>>) -> Vec<(u64, u64)> {
    let mut possible = vec![(0, u64::MAX)];
    // Values that were written once come first: they leave one time only.
    let mut reads = done.reads.clone();
    reads.sort_unstable_by_key(|&(_, writer)| writer == 0);
    for (key, writer) in reads {
        let known = versions.get(&key).map_or(&[][..], |known| &known[..]);
        let both = |(from, to)| lifetimes(known, from, to).filter(|life| life.0 == writer);
        possible = possible.into_iter().flat_map(both).map(|(_, from, to)| (from, to)).collect();
    }
    possible
}

/// The versions of a key that lived at a time from `from` to before `to`, cut to it: their
/// writers, beginnings and ends.
fn lifetimes(
    known: &[(u64, u64)],
    from: u64,
    to: u64,
) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
    let first = known.partition_point(|&(begin, _)| begin <= from);
    let before = match first {
        0 => (0, 0),
        _ => known[first - 1],
    };
    let later = known[first..].iter().copied().take_while(move |&(begin, _)| begin < to);
    let begins = std::iter::once(before).chain(later);
    begins.enumerate().map(move |(n, (begin, writer))| {
        let end = known.get(first + n).map_or(u64::MAX, |&(end, _)| end);
        (writer, begin.max(from), end.min(to))
    })
}

fn check(all: &[Done]) {
    let versions = versions(all);
    for done in all {
        let mut possible = snapshots(done, &versions);
        possible.retain(|&(from, _)| done.position == 0 || from < done.position);
        assert!(!possible.is_empty(), "no snapshot shows what this read: {done:?}");
        // No other transaction wrote its keys between its snapshot and its commit.
        for (key, _) in &done.writes {
            let before = versions[key].iter().rfind(|(at, _)| *at < done.position);
            let newest = before.map_or(0, |(at, _)| *at);
            possible.retain(|&(_, to)| to > newest);
            assert!(!possible.is_empty(), "key {key} was written at {newest} as well: {done:?}");
        }
    }
}

/// Transactions of all threads together, those that conflict included.
const TRANSACTIONS: u64 = 4000;

#[test]
fn transactions_of_threads_keep_the_rules_of_snapshot_isolation() {
    for background in [false, true] {
        let (db, table) = database(background);
        let (all, numbers) = (Mutex::new(Vec::new()), AtomicU64::new(1));
        std::thread::scope(|scope| {
            for seed in 0..4 {
                let (db, all, numbers) = (&db, &all, &numbers);
                scope.spawn(move || {
                    let mut rng = SmallRng::seed_from_u64(seed);
                    loop {
                        let number = numbers.fetch_add(1, Relaxed);
                        if number > TRANSACTIONS {
                            break;
                        }
                        match transact(db, table, &mut rng, number) {
                            Ok(done) => all.lock().unwrap().push(done),
                            Err(DbError::Conflict) => {}
                            Err(error) => panic!("{error}"),
                        }
                    }
                });
            }
        });
        let all = all.into_inner().unwrap();
        check(&all);
        is_sound(&db);
        println!("{} transactions of {}", all.len(), numbers.load(Relaxed) - 1);
        assert!(all.len() > 100);
    }
}

#[test]
#[should_panic(expected = "was written at 10 as well")]
fn a_lost_update_would_be_noticed() {
    let done =
        |number, position| Done { number, reads: vec![(1, 0)], writes: vec![(1, false)], position };
    check(&[done(1, 10), done(2, 20)]);
}

#[test]
#[should_panic(expected = "no snapshot shows what this read")]
fn reads_of_different_times_would_be_noticed() {
    let write = |number, position| Done {
        number,
        reads: vec![],
        writes: vec![(1, false), (2, false)],
        position,
    };
    let reader = Done { number: 3, reads: vec![(1, 1), (2, 2)], writes: vec![], position: 0 };
    check(&[write(1, 10), write(2, 20), reader]);
}
