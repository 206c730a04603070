//! The writes of a transaction.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Error as IoError, Read, Write};

use frostline::{Error, Result, Table};

use super::draw::{Load, within};
use super::model::Open;

struct Fails(usize);

impl Read for Fails {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let len = buffer.len().min(self.0);
        if len == 0 {
            return Err(IoError::other("no more"));
        }
        self.0 -= len;
        buffer[..len].fill(9);
        Ok(len)
    }
}

/// A write of a transaction. An error leaves it as it was.
pub(super) fn write(
    load: &mut Load,
    open: &mut Open<'_>,
    handles: &BTreeMap<u64, Table>,
    deleted: &BTreeSet<u64>,
) -> Result<()> {
    let Some((name, number)) = load.table(&open.tables) else { return Ok(()) };
    let table = handles[&number];
    if deleted.contains(&number) {
        let refused = open.tx.put(table, load.key(), "x").unwrap_err();
        assert!(matches!(&refused, Error::Refused(_)), "{refused:?}");
        return Ok(());
    }
    let Open { tx, tables, wrote, touched, .. } = open;
    let map = &mut tables.get_mut(&name).unwrap().1;
    let key = load.key();
    let noted = (number, key.clone());
    match load.below(16) {
        0..=5 => {
            let value = load.value();
            tx.put(table, &key, &value)?;
            map.insert(key, value);
            wrote.insert(noted);
        }
        6..=7 => {
            tx.delete(table, &key)?;
            match map.remove(&key) {
                Some(_) => wrote.insert(noted),
                None => touched.insert(noted),
            };
        }
        8 => {
            let (at, bytes) = (load.below(5000), load.value());
            tx.patch(table, &key, at, &bytes)?;
            touched.insert(noted);
            if let Some(value) = map.get_mut(&key) {
                let value = value.iter_mut().skip(at);
                value.zip(bytes).for_each(|(byte, new)| *byte = new);
            }
        }
        9 => {
            let expected = match load.one_in(3) {
                true => Some(load.value()),
                false => map.get(&key).cloned(),
            };
            let value = load.one_in(2).then(|| load.value());
            let is = tx.compare_and_set(table, &key, expected.as_deref(), value.as_deref())?;
            assert_eq!(is, map.get(&key) == expected.as_ref());
            touched.insert(noted);
            match value {
                Some(value) if is => drop(map.insert(key, value)),
                None if is => drop(map.remove(&key)),
                _ => {}
            }
        }
        10 => {
            let (first, one) = (load.one_in(2), load.below(4));
            for _ in 0..one {
                let (found, expected) = match first {
                    true => (tx.pop_first(table)?, map.pop_first()),
                    false => (tx.pop_last(table)?, map.pop_last()),
                };
                assert!(found == expected);
                wrote.extend(expected.map(|(key, _)| (number, key)));
            }
        }
        11 => {
            let of = 2 + load.below(5) as u8;
            let stays = |key: &[u8], value: &[u8]| {
                !(key.last().copied().unwrap_or(0).wrapping_add(value.len() as u8))
                    .is_multiple_of(of)
            };
            let before = map.len();
            wrote
                .extend(map.iter().filter(|(k, v)| !stays(k, v)).map(|(k, _)| (number, k.clone())));
            map.retain(|key, value| stays(key, value));
            let deleted = tx.retain(table, stays)? as usize;
            assert_eq!(deleted, before - map.len());
        }
        12 => {
            let bounds = load.bounds();
            let before = map.len();
            wrote.extend(map.keys().filter(|k| within(&bounds, k)).map(|k| (number, k.clone())));
            map.retain(|key, _| !within(&bounds, key));
            let deleted = tx.delete_range(table, bounds.clone())? as usize;
            assert_eq!(deleted, before - map.len());
        }
        13 => {
            let value = load.value();
            match load.below(4) {
                0 => {
                    let failed = tx.put_from(table, &key, Fails(value.len())).unwrap_err();
                    if !matches!(failed, Error::Input(_)) {
                        return Err(failed);
                    }
                    touched.insert(noted);
                    return Ok(());
                }
                1 => {
                    let len = tx.put_from(table, &key, &value[..])?;
                    assert_eq!(len, value.len() as u64);
                }
                2 => {
                    let mut writer = tx.value_writer(table, &key)?;
                    let _ = writer.write_all(&value);
                    touched.insert(noted);
                    return Ok(());
                }
                _ => {
                    let mut writer = tx.value_writer(table, &key)?;
                    for piece in value.chunks(1 + load.below(3000)) {
                        if writer.write_all(piece).is_err() {
                            break;
                        }
                    }
                    writer.finish()?;
                }
            }
            map.insert(key, value);
            wrote.insert(noted);
        }
        14 => {
            let before = open.tables.clone();
            let steps = load.below(6);
            let undone = load.one_in(2);
            // The database may count an undone write as one.
            let savepoint = open.tx.engine().savepoint().unwrap();
            let noted = open.wrote.clone();
            let mut failed = Ok(());
            for _ in 0..steps {
                failed = write(load, open, handles, deleted);
                if failed.is_err() {
                    break;
                }
            }
            if undone || failed.is_err() {
                open.tx.engine().undo(savepoint).unwrap();
                open.tables = before;
                let within = std::mem::replace(&mut open.wrote, noted);
                open.touched.extend(within);
            } else {
                open.tx.engine().forget(savepoint).unwrap();
            }
        }
        _ => {
            let (key, value) = ([7; 513], [1]);
            let refused = tx.put(table, key, value).unwrap_err();
            assert!(matches!(refused, Error::Refused(_)));
        }
    }
    Ok(())
}
