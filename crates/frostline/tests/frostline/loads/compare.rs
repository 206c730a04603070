//! What a database gives, beside what the model has.

use std::collections::{BTreeMap, VecDeque};
use std::io::{Cursor, Read, Seek, SeekFrom};

use frostline::{Db, Range, Result, Snapshot, Table};
use rand::rngs::SmallRng;

use super::draw::{Bounds, Load, below, within};
use super::model::{Map, Tables};

/// Records that a range still has to give.
type Left<'m> = VecDeque<(&'m Vec<u8>, &'m Vec<u8>)>;

/// Compares a range, taken from both ends, with what it must give.
pub(super) fn same_range(rng: &mut SmallRng, mut range: Range<'_>, map: &Map, bounds: &Bounds) {
    let mut left = left(map, bounds);
    let most = if below(rng, 3) == 0 { below(rng, 10) } else { usize::MAX };
    let mode = below(rng, 3);
    for _ in 0..most {
        let front = match mode {
            0 => true,
            1 => false,
            _ => below(rng, 2) == 0,
        };
        if !same_record(&mut range, &mut left, front) {
            assert!(range.next().is_none() && range.next_back().is_none());
            break;
        }
    }
}

pub(super) fn same(
    load: &mut Load,
    look: &Snapshot<'_>,
    tables: &Tables,
    handles: &BTreeMap<u64, Table>,
) {
    let Some((name, number)) = load.table(tables) else { return };
    let (table, map) = (handles[&number], &tables[&name].1);
    let owned = |(key, value): (&Vec<u8>, &Vec<u8>)| (key.clone(), value.clone());
    match load.below(7) {
        0 => {
            assert_eq!(look.len(table).unwrap(), map.len() as u64, "{name}");
            assert_eq!(look.is_empty(table).unwrap(), map.is_empty());
            assert_eq!(look.first(table).unwrap(), map.first_key_value().map(owned));
            assert_eq!(look.last(table).unwrap(), map.last_key_value().map(owned));
        }
        1 => {
            let keys: Vec<_> = (0..load.below(30)).map(|_| load.key()).collect();
            let expected: Vec<_> = keys.iter().map(|key| map.get(key).cloned()).collect();
            if load.one_in(2) {
                look.prefetch(table, &keys).unwrap();
            }
            assert!(look.get_many(table, &keys).unwrap() == expected);
        }
        2 => {
            let prefix = load.key();
            let prefix = &prefix[..load.below(prefix.len() + 1)];
            let found = look.prefix(table, prefix).map(Result::unwrap).collect::<Vec<_>>();
            let expected: Vec<_> =
                map.iter().filter(|(key, _)| key.starts_with(prefix)).map(owned).collect();
            assert!(found == expected);
        }
        3 => {
            let key = load.key();
            let reader = look.value_reader(table, &key).unwrap();
            assert_eq!(reader.is_some(), map.contains_key(&key));
            if let Some(mut reader) = reader {
                let value = &map[&key];
                assert_eq!(reader.len(), value.len() as u64);
                let mut expected = Cursor::new(value);
                for _ in 0..load.below(4) {
                    let to = load.below(value.len() + 10) as u64;
                    reader.seek(SeekFrom::Start(to)).unwrap();
                    expected.seek(SeekFrom::Start(to)).unwrap();
                    let mut buffers = [0, 1].map(|_| Vec::new());
                    let most = load.below(5000) as u64;
                    reader.by_ref().take(most).read_to_end(&mut buffers[0]).unwrap();
                    expected.by_ref().take(most).read_to_end(&mut buffers[1]).unwrap();
                    assert!(buffers[0] == buffers[1]);
                }
            }
        }
        4 => {
            let key = load.key();
            assert!(look.get(table, &key).unwrap().as_ref() == map.get(&key));
            assert_eq!(look.contains_key(table, &key).unwrap(), map.contains_key(&key));
        }
        _ => {
            let bounds = load.bounds();
            same_range(&mut load.rng, look.range(table, bounds.clone()), map, &bounds);
        }
    }
}

pub(super) fn all_same(db: &Db, tables: &Tables) {
    assert_eq!(db.tables(), tables.keys().cloned().collect::<Vec<_>>());
    let look = db.read().unwrap();
    for (name, (_, map)) in tables {
        let table = db.engine().table(name).unwrap();
        let found = look.all(table).collect::<Result<Map>>().unwrap();
        assert!(&found == map, "{name}: {} records of {}", found.len(), map.len());
    }
}

/// Takes the next record of a range, from the front or the back, and compares it with the one that
/// is next in what is left. False if there was none.
pub(super) fn same_record(range: &mut Range<'_>, left: &mut Left<'_>, front: bool) -> bool {
    let (found, expected) = match front {
        true => (range.next(), left.pop_front()),
        false => (range.next_back(), left.pop_back()),
    };
    let found = found.transpose().unwrap();
    assert_eq!(found.as_ref().map(|(key, value)| (key, value)), expected);
    found.is_some()
}

/// The records that a range must give, in order.
pub(super) fn left<'m>(map: &'m Map, bounds: &Bounds) -> Left<'m> {
    map.iter().filter(|(key, _)| within(bounds, key)).collect()
}
