//! Random loads through everything that a database offers: tables come, are renamed, cleared and
//! deleted, values of all lengths come and go, snapshots and ranges are held meanwhile, transactions
//! overlap, the database is full, closed, dropped, copied, backed up and opened with other options.
//! A model of ordered maps has the answers.
//!
//! `FROSTLINE_TIMES=n` runs n times as many, `FROSTLINE_SEED=n` one alone.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Cursor, Error as IoError, Read, Seek, SeekFrom, Write};
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use frostline::engine::DbError;
use frostline::zone::{Device, Fault, Faulty, Shape, ZoneState, in_memory, with_parity};
use frostline::{Db, Error, Options, Range, Result, Snapshot, Table, Update};
use frostline_testkit::seeds;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

type Map = BTreeMap<Vec<u8>, Vec<u8>>;
/// Tables by name. Each has a number, which it keeps when it is renamed.
type Tables = BTreeMap<String, (u64, Map)>;
/// Keys that were written, with the numbers of their tables.
type Written = BTreeSet<(u64, Vec<u8>)>;

/// What is committed, and what commits wrote.
struct Model {
    tables: Tables,
    /// The handles of this opening.
    handles: BTreeMap<u64, Table>,
    next_table: u64,
    /// Of each commit of this opening: the keys that it wrote, and may have written.
    commits: Vec<[Written; 2]>,
    /// Tables that were deleted in this opening.
    deleted: BTreeSet<u64>,
}

/// A transaction that is open.
struct Open<'d> {
    tx: Update<'d>,
    /// As it began.
    base: Tables,
    tables: Tables,
    /// Commits that it saw.
    seen: usize,
    wrote: Written,
    /// Writes that may change nothing, as they found no record.
    touched: Written,
}

/// A snapshot that is held.
struct Held<'d> {
    look: Snapshot<'d>,
    tables: Tables,
}

struct Load {
    rng: SmallRng,
    keys: usize,
    long: usize,
}

fn below(rng: &mut SmallRng, n: usize) -> usize {
    rng.random_range(0..n.max(1))
}

impl Load {
    fn below(&mut self, n: usize) -> usize {
        below(&mut self.rng, n)
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn key(&mut self) -> Vec<u8> {
        let n = self.below(self.keys);
        self.key_of(n)
    }

    fn key_of(&self, n: usize) -> Vec<u8> {
        let n = n as u32;
        let mut key = match n % 7 {
            0 => b"a long shared prefix of keys that are long: ".to_vec(),
            1 => vec![255; (n % 5) as usize],
            2 => Vec::new(),
            _ => b"k".to_vec(),
        };
        key.extend_from_slice(&n.to_be_bytes());
        if n.is_multiple_of(11) {
            key.resize(512.min(20 + (n as usize * 31) % 600), n as u8);
        }
        if n == 2 {
            key.clear();
        }
        key
    }

    fn value(&mut self) -> Vec<u8> {
        let len = match self.below(20) {
            0 => 0,
            1..=8 => self.below(60),
            9..=13 => self.below(400),
            14 => 850 + self.below(100),
            15..=16 => self.below(4000),
            17 => self.below(20_000),
            18 => self.below(self.long),
            _ => 8,
        };
        let fill = self.rng.random::<u8>();
        let mut value = vec![fill; len];
        if self.one_in(2) {
            self.rng.fill(&mut value[..]);
        }
        value
    }

    fn bounds(&mut self) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
        let mut one = || match self.below(5) {
            0 => Bound::Unbounded,
            1 | 2 => Bound::Included(self.key()),
            _ => Bound::Excluded(self.key()),
        };
        (one(), one())
    }

    fn table(&mut self, tables: &Tables) -> Option<(String, u64)> {
        let at = self.below(tables.len());
        tables.iter().nth(at).map(|(name, (number, _))| (name.clone(), *number))
    }
}

fn within((low, high): &(Bound<Vec<u8>>, Bound<Vec<u8>>), key: &[u8]) -> bool {
    let above = match low {
        Bound::Included(low) => key >= &low[..],
        Bound::Excluded(low) => key > &low[..],
        Bound::Unbounded => true,
    };
    let below = match high {
        Bound::Included(high) => key <= &high[..],
        Bound::Excluded(high) => key < &high[..],
        Bound::Unbounded => true,
    };
    above && below
}

/// Compares a range, taken from both ends, with what it must give.
fn same_range(
    rng: &mut SmallRng,
    mut range: Range<'_>,
    map: &Map,
    bounds: &(Bound<Vec<u8>>, Bound<Vec<u8>>),
) {
    let mut left: std::collections::VecDeque<_> =
        map.iter().filter(|(key, _)| within(bounds, key)).collect();
    let most = if below(rng, 3) == 0 { below(rng, 10) } else { usize::MAX };
    let mode = below(rng, 3);
    for _ in 0..most {
        let front = match mode {
            0 => true,
            1 => false,
            _ => below(rng, 2) == 0,
        };
        let (found, expected) = match front {
            true => (range.next(), left.pop_front()),
            false => (range.next_back(), left.pop_back()),
        };
        let found = found.transpose().unwrap();
        assert_eq!(found.as_ref().map(|(key, value)| (key, value)), expected);
        if found.is_none() {
            assert!(range.next().is_none() && range.next_back().is_none());
            break;
        }
    }
}

fn same(load: &mut Load, look: &Snapshot<'_>, tables: &Tables, handles: &BTreeMap<u64, Table>) {
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

fn all_same(db: &Db, tables: &Tables) {
    assert_eq!(db.tables(), tables.keys().cloned().collect::<Vec<_>>());
    let look = db.read().unwrap();
    for (name, (_, map)) in tables {
        let table = db.engine().table(name).unwrap();
        let found = look.all(table).collect::<Result<Map>>().unwrap();
        assert!(&found == map, "{name}: {} records of {}", found.len(), map.len());
    }
}

/// An error that leaves everything as it was, if it is one that may come.
fn may_be(error: &Error) -> &'static str {
    match error {
        Error::Full(_) => "full",
        Error::Refused(cause) if matches!(**cause, DbError::TooLarge { .. }) => "too large",
        Error::TooOld(_) => "too old",
        error => panic!("{error:?}"),
    }
}

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
fn write(
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
            // What was written within, and undone, may count as written.
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

/// The errors that came.
type Came = BTreeMap<&'static str, u64>;

/// Commits a transaction. It conflicts if others wrote what it did.
fn commit(open: Open<'_>, model: &mut Model, came: &mut Came, soon: bool) {
    let Open { tx, base, tables, seen, mut wrote, touched } = open;
    let value = |tables: &Tables, (number, key): &(u64, Vec<u8>)| {
        tables.values().find(|(n, _)| n == number).and_then(|(_, map)| map.get(key)).cloned()
    };
    let changed = |write: &&(u64, Vec<u8>)| value(&base, write) != value(&tables, write);
    wrote.extend(touched.iter().filter(changed).cloned());
    let of_deleted = wrote.iter().any(|(table, _)| model.deleted.contains(table));
    let later = |which: &[usize]| -> BTreeSet<_> {
        let later = model.commits[seen..].iter();
        later.flat_map(|commit| which.iter().flat_map(|&which| &commit[which])).collect()
    };
    let (surely, later) = (later(&[0]), later(&[0, 1]));
    let conflicts = wrote.iter().any(|write| surely.contains(write));
    let may_conflict = wrote.iter().chain(&touched).any(|write| later.contains(write));
    let committed = if soon { tx.commit_soon().map(drop) } else { tx.commit() };
    *came.entry("commits").or_default() += 1;
    match committed {
        Ok(()) => {
            assert!(!conflicts, "a conflict was not seen");
            assert!(!of_deleted, "a table was deleted meanwhile");
            // Only what it wrote is taken over: others may have written the rest.
            for (number, key) in &wrote {
                let Some((_, map)) = tables.values().find(|(n, _)| n == number) else { continue };
                let Some((_, now)) = model.tables.values_mut().find(|(n, _)| n == number) else {
                    continue;
                };
                match map.get(key) {
                    Some(value) => drop(now.insert(key.clone(), value.clone())),
                    None => drop(now.remove(key)),
                }
            }
            model.commits.push([wrote, touched]);
        }
        Err(Error::Conflict) => {
            assert!(may_conflict, "nobody wrote what it did");
            *came.entry("conflict").or_default() += 1;
        }
        Err(Error::Refused(cause)) if matches!(*cause, DbError::TableDeleted) => {
            assert!(!model.deleted.is_empty());
        }
        Err(error) => *came.entry(may_be(&error)).or_default() += 1,
    }
}

/// Changes tables, beside transactions that are open.
fn change_tables(load: &mut Load, db: &Db, model: &mut Model, came: &mut Came) {
    let names: Vec<_> = (0..6).map(|n| format!("table {n}")).collect();
    let name = &names[load.below(6)];
    match load.below(8) {
        0..=2 => match db.table(name) {
            Ok(table) => {
                if !model.tables.contains_key(name) {
                    model.tables.insert(name.clone(), (model.next_table, Map::new()));
                    model.handles.insert(model.next_table, table);
                    model.next_table += 1;
                }
            }
            Err(error) => *came.entry(may_be(&error)).or_default() += 1,
        },
        3 => {
            let to = &names[load.below(6)];
            match db.rename_table(name, to) {
                Ok(()) => {
                    let table = model.tables.remove(name).unwrap();
                    assert!(name == to || !model.tables.contains_key(to));
                    model.tables.insert(to.clone(), table);
                }
                Err(Error::Refused(_)) => {
                    assert!(!model.tables.contains_key(name) || model.tables.contains_key(to));
                }
                Err(error) => *came.entry(may_be(&error)).or_default() += 1,
            }
        }
        4 => match db.delete_table(name) {
            Ok(()) => {
                let (number, _) = model.tables.remove(name).unwrap();
                model.deleted.insert(number);
            }
            Err(Error::Refused(cause)) => {
                assert!(!model.tables.contains_key(name), "{cause:?}");
            }
            Err(error) => {
                *came.entry("delete refused").or_default() += 1;
                panic!("a table can't be deleted: {error:?}");
            }
        },
        5 => {
            let mut records: Map = (0..load.below(400))
                .map(|_| (load.key(), load.value()))
                .filter(|(key, value)| key.len() + value.len() <= 800)
                .collect();
            let made = match load.below(3) {
                0 => {
                    let at = load.below(records.len() + 1);
                    let failing = records.iter().map(Ok::<_, Error>).enumerate();
                    let failing = failing
                        .map(|(n, record)| if n == at { Err(Error::Conflict) } else { record });
                    let made = db.try_ingest(name, 0.7, failing);
                    if let Err(Error::Conflict) = made {
                        return;
                    }
                    made
                }
                _ => db.ingest(name, &records),
            };
            match made {
                Ok(table) => {
                    assert!(!model.tables.contains_key(name));
                    let number = model.next_table;
                    model.next_table += 1;
                    model.handles.insert(number, table);
                    let wrote = records.keys().map(|key| (number, key.clone())).collect();
                    model.commits.push([wrote, BTreeSet::new()]);
                    model.tables.insert(name.clone(), (number, std::mem::take(&mut records)));
                }
                Err(Error::Refused(cause)) => {
                    assert!(model.tables.contains_key(name), "{cause:?}");
                }
                Err(error) => *came.entry(may_be(&error)).or_default() += 1,
            }
        }
        6 => {
            let Some((number, map)) = model.tables.get_mut(name) else { return };
            let bounds = match load.one_in(3) {
                true => (Bound::Unbounded, Bound::Unbounded),
                false => load.bounds(),
            };
            let gone: BTreeSet<_> = map
                .keys()
                .filter(|key| within(&bounds, key))
                .map(|key| (*number, key.clone()))
                .collect();
            match db.delete_range(model.handles[number], bounds.clone()) {
                Ok(deleted) => {
                    assert_eq!(deleted, gone.len() as u64);
                    map.retain(|key, _| !within(&bounds, key));
                    model.commits.push([gone, BTreeSet::new()]);
                }
                Err(error) => panic!("a range can't be deleted: {error:?}"),
            }
        }
        _ => {
            if let Some((number, _)) = model.tables.get(name) {
                let size = db.table_size(model.handles[number]).unwrap();
                assert!(size.pages > 0, "{size:?}");
            }
        }
    }
}

/// A transaction that only deletes: there is room for it in a full database too.
fn only_delete(load: &mut Load, db: &Db, model: &mut Model, came: &mut Came) {
    let Some((name, number)) = load.table(&model.tables) else { return };
    let map = &mut model.tables.get_mut(&name).unwrap().1;
    let (from, most) = (load.key(), load.below(60));
    let keys: Vec<_> = map.range(from..).map(|(key, _)| key.clone()).take(most).collect();
    let deleted =
        db.update(|tx| keys.iter().try_for_each(|key| tx.delete(model.handles[&number], key)));
    *came.entry("deletes").or_default() += 1;
    if let Err(error) = deleted {
        panic!("{} keys can't be deleted: {error:?}", keys.len());
    }
    keys.iter().for_each(|key| drop(map.remove(key)));
    let wrote = keys.into_iter().map(|key| (number, key)).collect();
    model.commits.push([wrote, BTreeSet::new()]);
}

/// One opening: returns when it is over.
fn era(load: &mut Load, db: &Db, model: &mut Model, steps: usize, came: &mut Came) {
    let mut held: Vec<Held<'_>> = Vec::new();
    let mut open: Vec<Open<'_>> = Vec::new();
    for _ in 0..steps {
        match load.below(40) {
            0..=17 if !open.is_empty() => {
                let at = load.below(open.len());
                let one = &mut open[at];
                if let Err(error) = write(load, one, &model.handles, &model.deleted) {
                    match &error {
                        Error::Refused(cause) if matches!(**cause, DbError::TableDeleted) => {}
                        error => *came.entry(may_be(error)).or_default() += 1,
                    }
                    // Of a step of several writes it is not known which were made.
                    drop(open.remove(at).tx);
                }
            }
            18..=21 if !open.is_empty() => {
                let at = load.below(open.len());
                let one = open.remove(at);
                match load.below(6) {
                    0 => one.tx.rollback(),
                    soon => commit(one, model, came, soon == 1),
                }
            }
            22..=24 if open.len() < 3 => {
                let tx = db.begin().unwrap();
                let (tables, seen) = (model.tables.clone(), model.commits.len());
                let (wrote, touched) = Default::default();
                let base = tables.clone();
                open.push(Open { tx, base, tables, seen, wrote, touched });
            }
            25 if held.len() < 3 => {
                let (look, tables) = (db.read().unwrap(), model.tables.clone());
                held.push(Held { look, tables });
            }
            26 if !held.is_empty() => {
                let at = load.below(held.len());
                held.swap_remove(at);
            }
            27..=29 if !held.is_empty() => {
                let at = load.below(held.len());
                let Held { look, tables } = &held[at];
                let mut tables = tables.clone();
                tables.retain(|_, (number, _)| !model.deleted.contains(number));
                same(load, look, &tables, &model.handles);
            }
            30..=32 if !open.is_empty() => {
                let at = load.below(open.len());
                let mut tables = open[at].tables.clone();
                tables.retain(|_, (number, _)| !model.deleted.contains(number));
                same(load, &open[at].tx, &tables, &model.handles);
            }
            33..=34 => change_tables(load, db, model, came),
            35 if !held.is_empty() => {
                // A range that is held while everything changes.
                let at = load.below(held.len());
                let Held { look, tables } = &held[at];
                let Some((name, number)) = load.table(tables) else { continue };
                if model.deleted.contains(&number) {
                    continue;
                }
                let bounds = load.bounds();
                let map = &tables[&name].1;
                let mut left: std::collections::VecDeque<_> =
                    map.iter().filter(|(key, _)| within(&bounds, key)).collect();
                let mut range = look.range(model.handles[&number], bounds.clone());
                loop {
                    let front = load.one_in(2);
                    let (found, expected) = match front {
                        true => (range.next(), left.pop_front()),
                        false => (range.next_back(), left.pop_back()),
                    };
                    let found = found.transpose().unwrap();
                    assert_eq!(found.as_ref().map(|(key, value)| (key, value)), expected);
                    if found.is_none() {
                        break;
                    }
                    match load.below(4) {
                        0 => change_tables(load, db, model, came),
                        1 => {
                            let tx = db.begin().unwrap();
                            let (tables, seen) = (model.tables.clone(), model.commits.len());
                            let (wrote, touched) = Default::default();
                            let base = tables.clone();
                            let mut one = Open { tx, base, tables, seen, wrote, touched };
                            match write(load, &mut one, &model.handles, &model.deleted) {
                                Ok(()) => commit(one, model, came, true),
                                Err(error) => *came.entry(may_be(&error)).or_default() += 1,
                            }
                        }
                        _ => {}
                    }
                }
            }
            38 => only_delete(load, db, model, came),
            36 => {
                let look = db.read().unwrap();
                same(load, &look, &model.tables, &model.handles);
            }
            37 if load.one_in(20) => {
                let look = db.engine().check().unwrap();
                assert!(look.findings.is_empty(), "{:#?}", look.findings);
            }
            _ => {
                let tx = db.begin().unwrap();
                let (tables, seen) = (model.tables.clone(), model.commits.len());
                let (wrote, touched) = Default::default();
                let base = tables.clone();
                let mut one = Open { tx, base, tables, seen, wrote, touched };
                let mut failed = false;
                for _ in 0..load.below(30) {
                    if let Err(error) = write(load, &mut one, &model.handles, &model.deleted) {
                        *came.entry(may_be(&error)).or_default() += 1;
                        failed = true;
                        break;
                    }
                }
                if !failed {
                    commit(one, model, came, load.one_in(3));
                }
            }
        }
    }
}

/// The medium below a database.
struct World {
    faulty: Arc<Faulty>,
    /// Zones of data for each of parity.
    data_zones: Option<u32>,
    /// The sets that lost a zone.
    lost: BTreeSet<u32>,
}

impl World {
    fn of(device: Arc<dyn Device>, seed: u64, data_zones: Option<u32>) -> World {
        World { faulty: Arc::new(Faulty::new(device, seed)), data_zones, lost: BTreeSet::new() }
    }

    fn device(&self) -> Arc<dyn Device> {
        match self.data_zones {
            Some(zones) => with_parity(self.faulty.clone(), zones).unwrap(),
            None => self.faulty.clone(),
        }
    }

    /// A zone is lost soon, in a set that lost none.
    fn lose_a_zone(&mut self, load: &mut Load) {
        let Some(data_zones) = self.data_zones else { return };
        // The last zones have the log of the database: if one of them is lost that is written, the
        // database has to be opened again.
        let zone = load.below(self.faulty.geometry().zones as usize / 2) as u32;
        let set = zone / (data_zones + 1);
        if self.lost.len() < 3 && self.lost.insert(set) {
            let wear = Fault::Wear { zone, state: ZoneState::Offline };
            self.faulty.schedule(self.faulty.operations() + 1 + load.below(300) as u64, wear);
        }
    }
}

fn options(load: &mut Load) -> Options {
    let options = Options::new()
        .memory([1 << 20, 2 << 20, 8 << 20][load.below(3)])
        .longest_logged_value([4096, 20_000, 256 << 10][load.below(3)])
        .fill([0.7, 0.9, 1.0][load.below(3)]);
    match load.one_in(4) {
        true => options.space(1.3),
        false => options,
    }
}

fn live(seed: u64) {
    let rng = SmallRng::seed_from_u64(seed);
    let mut load = Load { rng, keys: 0, long: 0 };
    let is_large = load.one_in(4);
    load.keys = if is_large { 20_000 } else { [40, 400, 4000][load.below(3)] };
    load.long = [30_000, 300_000][load.below(2)];
    let directory = tempfile::tempdir().unwrap();
    let backup = directory.path().join("backup");
    let bytes = if is_large { [16, 20, 40] } else { [6, 12, 40] }[load.below(3)] << 20;
    let zone_bytes = Some([1 << 17, 1 << 18][load.below(2)]);
    let shape = Shape { bytes, zone_bytes, ..Shape::default() };
    let data_zones = load.one_in(3).then_some(3);
    let shape = match data_zones {
        Some(_) => {
            Shape { bytes: shape.bytes * 3 / 2, zone_bytes: Some(1 << 16), ..Shape::default() }
        }
        None => shape,
    };
    let mut world = World::of(in_memory(&shape).unwrap(), seed, data_zones);
    let made = options(&mut load)
        .log_bytes([1 << 20, 2 << 20][load.below(2)])
        .unit([64, 4096, 512][load.below(3)]);
    let mut model = Model {
        tables: Tables::new(),
        handles: BTreeMap::new(),
        next_table: 0,
        commits: Vec::new(),
        deleted: BTreeSet::new(),
    };
    let mut came = Came::new();
    let db = match made.open_device(world.device()) {
        Ok(db) => db,
        Err(Error::Refused(cause)) => {
            println!("seed {seed}: {cause}");
            return;
        }
        Err(error) => panic!("{error:?}"),
    };
    if is_large {
        // Over several leaves of the store's map, and in memory for a part of it.
        let all = (0..load.keys).filter(|_| load.rng.random_bool(0.7)).collect::<Vec<_>>();
        let records: Map = all.into_iter().map(|n| (load.key_of(n), vec![n as u8; 380])).collect();
        match db.ingest("table 0", &records) {
            Ok(_) => drop(model.tables.insert("table 0".to_string(), (0, records))),
            Err(error) => *came.entry(may_be(&error)).or_default() += 1,
        }
        model.next_table = 1;
    }
    db.close().unwrap();
    for _ in 0..5 {
        let db = options(&mut load).open_device(world.device()).unwrap();
        all_same(&db, &model.tables);
        model.commits.clear();
        model.deleted.clear();
        model.handles.clear();
        for (name, (number, _)) in &model.tables {
            model.handles.insert(*number, db.table(name).unwrap());
        }
        let follower = load.one_in(3).then(|| {
            db.follow(&backup, std::time::Duration::from_millis(load.below(20) as u64)).unwrap()
        });
        if load.one_in(2) {
            world.lose_a_zone(&mut load);
        }
        let steps = load.below(if is_large { 200 } else { 600 });
        era(&mut load, &db, &mut model, steps, &mut came);
        let check = db.engine().check().unwrap();
        assert!(check.findings.is_empty(), "{:#?}", check.findings);
        all_same(&db, &model.tables);
        if let Some(follower) = follower {
            db.sync().unwrap();
            let followed = follower.finish().unwrap();
            assert_eq!(followed.failures, 0, "{followed:?}");
            *came.entry("backups").or_default() += followed.backups;
            let again = restored(&backup);
            let copy = options(&mut load).open_device(again.clone()).unwrap();
            all_same(&copy, &model.tables);
            if load.one_in(2) {
                // The machine is lost: the copy goes on.
                drop(copy);
                drop(db);
                world = World::of(again, seed, None);
                continue;
            }
        }
        if world.data_zones.is_some() && load.one_in(3) {
            let repaired = db.engine().store().repair(None, &mut |_| {});
            match repaired {
                Ok(report) => assert_eq!(report.findings, [], "not repaired"),
                Err(error) => println!("seed {seed}: {error}"),
            }
        }
        match load.below(5) {
            0 => db.close().unwrap(),
            4 => {
                db.sync().unwrap();
                world.faulty.crash();
                drop(db);
                world.faulty = Arc::new(world.faulty.restart().unwrap());
            }
            1 => {
                db.sync().unwrap();
                db.back_up(&backup).unwrap();
                drop(db);
                world = World::of(restored(&backup), seed, None);
            }
            2 => {
                // A copy, of other options, takes its place.
                let path = directory.path().join("copy");
                let _ = std::fs::remove_file(&path);
                let copy = options(&mut load).bound(256 << 20).copy(&db, &path).unwrap();
                let records: usize = model.tables.values().map(|(_, map)| map.len()).sum();
                assert_eq!(copy, records as u64);
                let other = options(&mut load).read_only(load.one_in(2)).open(&path).unwrap();
                all_same(&other, &model.tables);
                drop(other);
                drop(db);
            }
            _ => drop(db),
        }
    }
    // Nothing stays of what is deleted.
    let db = options(&mut load).open_device(world.device()).unwrap();
    all_same(&db, &model.tables);
    for name in db.tables() {
        db.delete_table(&name).unwrap();
    }
    let db = {
        db.close().unwrap();
        options(&mut load).open_device(world.device()).unwrap()
    };
    let mut pages = 0;
    for _ in 0..400 {
        let table = db.table("last").unwrap();
        db.update(|tx| tx.put(table, "a", "b")).unwrap();
        pages = db.stats().unwrap().pages;
        if pages <= 6 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let check = db.engine().check().unwrap();
    assert!(check.findings.is_empty(), "{:#?}", check.findings);
    assert!(pages <= 6, "{pages} pages are in use: {check:#?}");
    println!("seed {seed}: {came:?}");
}

/// The device of a backup.
fn restored(backup: &Path) -> Arc<dyn Device> {
    let target = frostline::Target::new(backup).unwrap();
    let device = in_memory(&frostline_backup::shape(&target).unwrap()).unwrap();
    frostline_backup::restore(&target, &*device).unwrap();
    device
}

#[test]
fn a_database_does_what_ordered_maps_do_whatever_is_done_to_it() {
    match seeds::only() {
        Some(seed) => live(seed),
        None => drop(seeds::each(seeds::first()..seeds::first() + seeds::times(6), live)),
    }
}
