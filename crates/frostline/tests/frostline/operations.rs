//! Every operation of a transaction does to a table what it would do to an ordered map.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use frostline::{Db, Error, Options, Result, Table, Update};
use proptest::prelude::*;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

#[derive(Clone, Debug)]
enum Step {
    Put(u8, Vec<u8>),
    /// A value that is too long for a page.
    PutLong(u8),
    Delete(u8),
    Patch(u8, usize, Vec<u8>),
    CompareAndSet(u8, u8, Option<Vec<u8>>),
    PopFirst,
    PopLast,
    /// Keeps keys that are no multiple.
    Retain(u8),
    DeleteRange(u8, u8),
    /// Steps whose writes are undone or not.
    Savepoint(Vec<Step>, bool),
}

fn step() -> impl Strategy<Value = Step> {
    let value = || prop::collection::vec(any::<u8>(), 0..6);
    let plain = prop_oneof![
        6 => (0..16u8, value()).prop_map(|(key, value)| Step::Put(key, value)),
        1 => (0..16u8).prop_map(Step::PutLong),
        2 => (0..16u8).prop_map(Step::Delete),
        2 => (0..16u8, 0..6usize, value()).prop_map(|(key, at, bytes)| Step::Patch(key, at, bytes)),
        2 => (0..16u8, 0..16u8, prop::option::of(value()))
            .prop_map(|(key, like, value)| Step::CompareAndSet(key, like, value)),
        1 => Just(Step::PopFirst),
        1 => Just(Step::PopLast),
        1 => (2..5u8).prop_map(Step::Retain),
        1 => (0..16u8, 0..16u8).prop_map(|(low, high)| Step::DeleteRange(low, high)),
    ];
    plain.prop_recursive(3, 24, 6, |inner| {
        (prop::collection::vec(inner, 0..6), any::<bool>())
            .prop_map(|(steps, undone)| Step::Savepoint(steps, undone))
    })
}

fn take(tx: &mut Update<'_>, table: Table, map: &mut Map, step: &Step) -> Result<()> {
    match step {
        Step::Put(key, value) => {
            tx.put(table, [*key], value)?;
            map.insert(vec![*key], value.clone());
        }
        Step::PutLong(key) => {
            let value = vec![*key; 3000];
            tx.put(table, [*key], &value)?;
            map.insert(vec![*key], value);
        }
        Step::Delete(key) => {
            tx.delete(table, [*key])?;
            map.remove(&vec![*key]);
        }
        Step::Patch(key, at, bytes) => {
            tx.patch(table, [*key], *at, bytes)?;
            let value = map.get_mut(&vec![*key]).into_iter().flatten().skip(*at);
            value.zip(bytes).for_each(|(byte, &new)| *byte = new);
        }
        Step::CompareAndSet(key, like, value) => {
            let expected = map.get(&vec![*like]).cloned();
            let is_set =
                tx.compare_and_set(table, [*key], expected.as_deref(), value.as_deref())?;
            assert_eq!(is_set, map.get(&vec![*key]) == expected.as_ref());
            match value {
                Some(value) if is_set => drop(map.insert(vec![*key], value.clone())),
                None if is_set => drop(map.remove(&vec![*key])),
                _ => {}
            }
        }
        Step::PopFirst => assert_eq!(tx.pop_first(table)?, map.pop_first()),
        Step::PopLast => assert_eq!(tx.pop_last(table)?, map.pop_last()),
        Step::Retain(of) => {
            let before = map.len();
            map.retain(|key, _| key[0] % of != 0);
            let deleted = tx.retain(table, |key, _| key[0] % of != 0)?;
            assert_eq!(deleted as usize, before - map.len());
        }
        Step::DeleteRange(low, high) => {
            let before = map.len();
            map.retain(|key, _| !(low..high).contains(&&key[0]));
            let deleted = tx.delete_range(table, [*low]..[*high])?;
            assert_eq!(deleted as usize, before - map.len());
        }
        Step::Savepoint(steps, undone) => {
            let before = map.clone();
            let done = tx.savepoint(|tx| {
                steps.iter().try_for_each(|step| take(tx, table, map, step))?;
                if *undone { Err(Error::Conflict) } else { Ok(()) }
            });
            assert_eq!(done.is_err(), *undone);
            if *undone {
                *map = before;
            }
        }
    }
    same(tx, table, map)
}

/// Checks that all that can be read of a table is what the map has.
fn same(look: &frostline::Snapshot<'_>, table: Table, map: &Map) -> Result<()> {
    let owned = |(key, value): (&Vec<u8>, &Vec<u8>)| (key.clone(), value.clone());
    assert_eq!(look.all(table).collect::<Result<Map>>()?, *map);
    assert_eq!(look.len(table)? as usize, map.len());
    assert_eq!(look.is_empty(table)?, map.is_empty());
    assert_eq!(look.first(table)?, map.first_key_value().map(owned));
    assert_eq!(look.last(table)?, map.last_key_value().map(owned));
    let keys: Vec<_> = (0..16u8).map(|key| vec![key]).collect();
    let values: Vec<_> = keys.iter().map(|key| map.get(key).cloned()).collect();
    look.prefetch(table, &keys)?;
    assert_eq!(look.get_many(table, &keys)?, values);
    for (key, value) in keys.iter().zip(&values) {
        assert_eq!(look.contains_key(table, key)?, value.is_some());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_table_is_an_ordered_map(
        transactions in prop::collection::vec((prop::collection::vec(step(), 1..12), any::<bool>()), 1..6),
    ) {
        static CASES: AtomicU32 = AtomicU32::new(0);
        static DB: LazyLock<Db> = LazyLock::new(|| {
            Options::new().bound(256 << 20).serializable(true).in_memory().unwrap()
        });
        let db = &*DB;
        let table = db.table(&format!("of case {}", CASES.fetch_add(1, Relaxed))).unwrap();
        let mut map = Map::new();
        for (steps, is_committed) in transactions {
            let (mut tx, mut written) = (db.begin().unwrap(), map.clone());
            steps.iter().try_for_each(|step| take(&mut tx, table, &mut written, step)).unwrap();
            match is_committed {
                true => {
                    tx.commit().unwrap();
                    map = written;
                }
                false => tx.rollback(),
            }
            same(&db.read().unwrap(), table, &map).unwrap();
        }
    }
}

#[test]
fn a_range_of_any_size_is_deleted_in_small_transactions() {
    // The deletion of all at once would not fit into the log, which has 4 MiB.
    let db = Options::new().bound(64 << 20).in_memory().unwrap();
    let items = db.table("items").unwrap();
    let key = |n: u32| [&n.to_be_bytes()[..], &[7; 400]].concat();
    for first in (0..5000u32).step_by(500) {
        let keys = first..first + 500;
        db.update(|tx| keys.clone().try_for_each(|n| tx.put(items, key(n), "x"))).unwrap();
    }
    let before = db.stats().unwrap().commits;
    let range = (Bound::Excluded(key(99)), Bound::Included(key(4899)));
    assert_eq!(db.delete_range(items, range).unwrap(), 4800);
    assert_eq!(db.stats().unwrap().commits - before, 5);
    let look = db.read().unwrap();
    let left = look.all(items).map(|record| record.unwrap().0);
    assert!(left.eq((0..100).chain(4900..5000).map(key)));
    drop(look);
    assert_eq!((db.clear(items).unwrap(), db.clear(items).unwrap()), (200, 0));
    assert!(db.read().unwrap().is_empty(items).unwrap());
}

#[test]
fn long_values_count_for_the_size_of_a_deletion() {
    let db = Options::new().bound(256 << 20).in_memory().unwrap();
    let items = db.table("items").unwrap();
    for n in 0..12u8 {
        db.update(|tx| tx.put(items, [n], vec![n; 1 << 19])).unwrap();
    }
    let before = db.stats().unwrap().commits;
    // Eight have 4 MiB.
    assert_eq!(db.clear(items).unwrap(), 12);
    assert_eq!(db.stats().unwrap().commits - before, 2);
}

#[test]
fn a_range_that_has_begun_goes_to_both_ends_of_a_table_that_was_deleted() {
    let db = Options::new().bound(256 << 20).in_memory().unwrap();
    let records = (0..5u8).map(|n| (vec![n], vec![n; 300])).collect::<Map>();
    for from_front in [true, false] {
        let table = db.ingest("t", &records).unwrap();
        let look = db.read().unwrap();
        let mut range = look.all(table);
        let mut left = records.clone();
        let next = |range: &mut frostline::Range<'_>, left: &mut Map, front: bool| {
            let (found, expected) = match front {
                true => (range.next(), left.pop_first()),
                false => (range.next_back(), left.pop_last()),
            };
            assert_eq!(found.transpose().unwrap(), expected);
        };
        next(&mut range, &mut left, from_front);
        db.delete_table("t").unwrap();
        for step in 0..6 {
            next(&mut range, &mut left, from_front == (step % 2 == 1));
        }
        assert!(matches!(look.get(table, [1]), Err(Error::Refused(_))));
    }
}
