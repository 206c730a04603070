//! Actions of users of a database, drawn from a seed, and the expected state.

use std::collections::BTreeMap;

use frostline_db::{Check, Commit, Db, DbError, Direction, Table, Transaction};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::history::{Content, History, Place, TABLES, Value, Written};
use crate::shapes::{Load, SHAPES, SLOT, Step, enough_pages};

const NAMES: [&str; 5] = ["accounts", "b", "customers", "d", "e"];

/// Users and their expectations.
pub(crate) struct World {
    pub rng: SmallRng,
    history: History,
    /// The last commit that is known to survive.
    promised: u64,
    /// Commits that no user waited for yet.
    soon: Vec<(u64, Commit)>,
    /// Different keys of a table.
    keys: u32,
    /// Share of values that are too long for a page.
    long_values: f64,
    /// Operations of a transaction in a row, at most.
    most_steps: u32,
    /// The keys that come to each table and go, if they do so in some order.
    loads: Option<[Load; NAMES.len()]>,
    /// The database was full: deletes come before puts for a while.
    full: bool,
}

/// A transaction, and what it wrote.
struct Open<'d> {
    transaction: Transaction<'d>,
    snapshot: u64,
    own: BTreeMap<Place, Written>,
}

type Tables = BTreeMap<&'static str, Table>;

fn tables(db: &Db) -> Tables {
    NAMES.iter().filter_map(|name| Some((*name, db.table(name).ok()?))).collect()
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = SmallRng::seed_from_u64(seed);
        let keys = [30, 200, 1000][rng.random_range(0..3)];
        let long_values = [0.0, 0.01, 0.1][rng.random_range(0..3)];
        let most_steps = [8, 8, 8, 60, 60, 300][rng.random_range(0..6)];
        let shape = SHAPES[rng.random_range(0..SHAPES.len())];
        let live = [20, 200][rng.random_range(0..2)];
        let loads = rng.random_bool(0.5).then(|| NAMES.map(|_| Load::new(shape, live)));
        World {
            rng,
            history: History::default(),
            promised: 0,
            soon: Vec::new(),
            keys,
            long_values,
            most_steps,
            loads,
            full: false,
        }
    }

    /// Uses the database until it fails, or `steps` are over.
    pub(crate) fn use_it(&mut self, db: &Db, steps: u32) -> Result<(), DbError> {
        let mut open = Vec::new();
        (0..steps).try_for_each(|_| self.act(db, &mut open))
    }

    fn act<'d>(&mut self, db: &'d Db, open: &mut Vec<Open<'d>>) -> Result<(), DbError> {
        let tables = tables(db);
        if tables.is_empty() {
            return self.create_table(db);
        }
        if open.is_empty() {
            return self.begin(db, open);
        }
        let which = self.rng.random_range(0..open.len());
        match self.rng.random_range(0..100) {
            0..10 if open.len() < 4 => self.begin(db, open),
            0..65 => {
                let known = self.known(&tables, &open[which]);
                self.steps(&known, &mut open[which])
            }
            65..75 => self.commit(db, open.swap_remove(which), true),
            75..87 => self.commit(db, open.swap_remove(which), false),
            87..90 => {
                open.swap_remove(which).transaction.rollback();
                Ok(())
            }
            90..92 => self.wait(db),
            92..94 => self.create_table(db),
            94 => self.delete_table(db, &tables),
            95 => self.ingest(db),
            96..98 => {
                db.checkpoint()?;
                self.promised = self.history.now;
                Ok(())
            }
            _ => self.scan(&tables, &open[which]),
        }
    }

    /// The tables that were there when a transaction began: it may not write to others.
    fn known(&self, tables: &Tables, open: &Open<'_>) -> Tables {
        tables
            .iter()
            .filter(|(name, _)| !self.has_changed(name, open.snapshot))
            .map(|(&name, &table)| (name, table))
            .collect()
    }

    /// True if a table of this name was made or deleted after a snapshot.
    fn has_changed(&self, name: &str, snapshot: u64) -> bool {
        let place = (TABLES, name.as_bytes().to_vec());
        self.history.since(&place, snapshot).next().is_some()
    }

    fn begin<'d>(&mut self, db: &'d Db, open: &mut Vec<Open<'d>>) -> Result<(), DbError> {
        let transaction = db.begin()?;
        open.push(Open { transaction, snapshot: self.history.now, own: BTreeMap::new() });
        Ok(())
    }

    fn create_table(&mut self, db: &Db) -> Result<(), DbError> {
        let name = NAMES[self.rng.random_range(0..NAMES.len())];
        let place = (TABLES, name.as_bytes().to_vec());
        let exists = self.history.at(&place, self.history.now).is_some();
        let made = db.create_table(name);
        let is_refused = matches!(made, Err(DbError::Full { .. } | DbError::TableExists { .. }));
        assert!(!exists || is_refused);
        if is_refused {
            return Ok(());
        }
        let written = Written { value: Some(Value::from([])), is_certain: true };
        let number = self.history.commit(BTreeMap::from([(place, written)]));
        made?;
        self.promised = number;
        Ok(())
    }

    fn delete_table(&mut self, db: &Db, tables: &Tables) -> Result<(), DbError> {
        let (name, _) = self.table(tables);
        let deleted = db.delete_table(name);
        if matches!(deleted, Err(DbError::Full { .. })) {
            return Ok(());
        }
        let gone = || Written { value: None, is_certain: true };
        let records = self.history.range(name, .., self.history.now);
        let records = records.map(|(key, _)| ((name, key.clone()), gone()));
        let table = ((TABLES, name.as_bytes().to_vec()), gone());
        let writes = records.chain([table]).collect();
        let number = self.history.commit(writes);
        deleted?;
        self.promised = number;
        Ok(())
    }

    /// Makes a table of sorted records, unless there is one of this name.
    fn ingest(&mut self, db: &Db) -> Result<(), DbError> {
        let count = self.rng.random_range(0..300);
        let records = (0..count)
            .map(|_| {
                let (key, value) = (self.key(), self.value());
                let len = value.len().min(900 - key.len());
                (key, Value::from(&value[..len]))
            })
            .collect();
        self.ingest_these(db, records)
    }

    /// The same with records that take more pages than a leaf of the store's map has.
    pub(crate) fn ingest_many(&mut self, db: &Db) -> Result<(), DbError> {
        let value = self.value_of(850);
        let records = (0..8000u32).map(|n| (n.to_be_bytes().to_vec(), value.clone())).collect();
        self.ingest_these(db, records)
    }

    fn ingest_these(&mut self, db: &Db, records: BTreeMap<Vec<u8>, Value>) -> Result<(), DbError> {
        let name = NAMES[self.rng.random_range(0..NAMES.len())];
        let table = (TABLES, name.as_bytes().to_vec());
        if self.history.at(&table, self.history.now).is_some() {
            return Ok(());
        }
        let sorted = records.iter().map(|(key, value)| Ok::<_, DbError>((key, value)));
        let made = db.ingest(name, 0.9, sorted);
        if matches!(made, Err(DbError::Full { .. })) {
            return Ok(());
        }
        let written = |value| Written { value: Some(value), is_certain: true };
        let records = records.into_iter().map(|(key, value)| ((name, key), written(value)));
        let writes = records.chain([(table, written(Value::from([])))]).collect();
        let number = self.history.commit(writes);
        made?;
        self.promised = number;
        Ok(())
    }

    fn table(&mut self, tables: &Tables) -> (&'static str, Table) {
        let (&name, &table) = tables.iter().nth(self.rng.random_range(0..tables.len())).unwrap();
        (name, table)
    }

    fn key(&mut self) -> Vec<u8> {
        let most = if self.rng.random_bool(0.5) { self.keys / 5 } else { self.keys };
        let n = self.rng.random_range(0..most);
        match n % 4 {
            0 => n.to_be_bytes().to_vec(),
            1 => format!("a prefix that many of these keys share {n}").into_bytes(),
            2 => [&n.to_le_bytes()[..], &vec![7; (n % 500) as usize]].concat(),
            _ => n.to_string().into_bytes(),
        }
    }

    fn value(&mut self) -> Value {
        let longest = match self.rng.random_range(0.0..1.0) {
            x if x < self.long_values => 9000,
            x if x < 0.3 => 900,
            _ => 60,
        };
        let len = self.rng.random_range(0..longest);
        self.value_of(len)
    }

    fn value_of(&mut self, len: usize) -> Value {
        let first = self.rng.random_range(0..=255u8);
        (0..len).map(|n| first.wrapping_add((n * n / 7) as u8)).collect()
    }

    /// Operations of a transaction, of which some are undone.
    fn steps(&mut self, tables: &Tables, open: &mut Open<'_>) -> Result<(), DbError> {
        let before = match self.rng.random_bool(0.1) {
            true => Some((open.transaction.savepoint()?, open.own.clone())),
            false => None,
        };
        let steps = self.rng.random_range(1..self.most_steps);
        (0..steps).try_for_each(|_| self.step(tables, open))?;
        if let Some((savepoint, own)) = before {
            open.transaction.undo(savepoint)?;
            open.own = own;
        }
        Ok(())
    }

    /// One operation of a transaction.
    fn step(&mut self, tables: &Tables, open: &mut Open<'_>) -> Result<(), DbError> {
        if tables.is_empty() {
            return Ok(());
        }
        let puts = if self.full { 2 } else { 50 };
        let mut roll = self.rng.random_range(0..100);
        let (name, table) = self.table(tables);
        let key = match &mut self.loads {
            Some(loads) if roll < 75 => {
                let load = NAMES.iter().position(|&of| of == name).map(|n| &mut loads[n]).unwrap();
                let step = match self.full {
                    true => Step::Delete(load.go(&mut self.rng).unwrap_or_else(|| vec![0])),
                    false => load.step(&mut self.rng),
                };
                let (key, of_step) = match step {
                    Step::Put(key) => (key, 0),
                    Step::Delete(key) => (key, puts),
                };
                roll = of_step;
                key
            }
            _ => self.key(),
        };
        let place = (name, key);
        let (key, before) = (&place.1[..], self.sees(open, &place));
        let written = match roll {
            roll if roll < puts => {
                let long = before.as_ref().map(|value| value.len()).filter(|&len| len > 900);
                let value = match long {
                    // Its pieces are overwritten.
                    Some(len) if self.rng.random_bool(0.7) => self.value_of(len),
                    _ => self.value(),
                };
                match open.transaction.put(table, key, &value) {
                    // The first long value of a table is announced in a commit of its own.
                    Err(DbError::Full { .. }) => {
                        self.full = true;
                        return Ok(());
                    }
                    put => put?,
                }
                Written { value: Some(value), is_certain: true }
            }
            0..75 => {
                open.transaction.delete(table, key)?;
                Written { value: None, is_certain: true }
            }
            75..85 => {
                let (at, bytes) = (self.rng.random_range(0..80), self.value());
                let bytes = &bytes[..bytes.len().min(30)];
                match open.transaction.patch(table, key, at, bytes) {
                    // As above: a long value that is patched is a new one.
                    Err(DbError::Full { .. }) => {
                        self.full = true;
                        return Ok(());
                    }
                    patch => patch?,
                }
                let is_certain = before.is_some();
                Written { value: before.map(|value| patched(&value, at, bytes)), is_certain }
            }
            _ => {
                assert_eq!(open.transaction.get(table, key)?.as_deref(), before.as_deref());
                return Ok(());
            }
        };
        let is_certain = written.is_certain || open.own.get(&place).is_some_and(|w| w.is_certain);
        open.own.insert(place, Written { is_certain, ..written });
        Ok(())
    }

    fn sees(&self, open: &Open<'_>, place: &Place) -> Option<Value> {
        match open.own.get(place) {
            Some(written) => written.value.clone(),
            None => self.history.at(place, open.snapshot).cloned(),
        }
    }

    fn commit(&mut self, db: &Db, open: Open<'_>, wait: bool) -> Result<(), DbError> {
        let Open { transaction, snapshot, own } = open;
        let may_lose = own.keys().any(|place| self.history.since(place, snapshot).count() > 0);
        let must_lose = own.iter().any(|(place, written)| {
            written.is_certain && self.history.since(place, snapshot).any(|w| w.is_certain)
        });
        let is_gone = own.keys().any(|(name, _)| self.has_changed(name, snapshot));
        let committed = transaction.commit_soon();
        match &committed {
            Err(DbError::TableDeleted) => {
                assert!(is_gone, "no table that it wrote to was deleted");
                return Ok(());
            }
            Err(DbError::Conflict) => {
                assert!(may_lose, "it lost against nobody");
                return Ok(());
            }
            Err(DbError::Full { .. }) => {
                self.full = true;
                return Ok(());
            }
            Err(DbError::TooLarge { .. }) => return Ok(()),
            Ok(_) => assert!(!must_lose && !is_gone, "both wrote the same key, or table"),
            // It may have happened or not: the next opening shows.
            Err(_) => {}
        }
        self.full &= self.rng.random_bool(0.9);
        // A commit that wrote nothing says nothing about those before it.
        let is_certain = own.values().any(|written| written.is_certain);
        let number = self.history.commit(own);
        let commit = committed?;
        if wait {
            db.wait(commit)?;
            self.promised = if is_certain { number } else { self.promised };
        } else if is_certain {
            self.soon.push((number, commit));
        }
        Ok(())
    }

    fn wait(&mut self, db: &Db) -> Result<(), DbError> {
        if self.soon.is_empty() {
            return Ok(());
        }
        let (number, commit) = self.soon.swap_remove(self.rng.random_range(0..self.soon.len()));
        db.wait(commit)?;
        self.promised = self.promised.max(number);
        Ok(())
    }

    /// Compares a part of a table with what a transaction should see.
    fn scan(&mut self, tables: &Tables, open: &Open<'_>) -> Result<(), DbError> {
        let ((name, table), bound) = (self.table(tables), self.key());
        let place = (TABLES, name.as_bytes().to_vec());
        if self.history.at(&place, open.snapshot).is_some() && self.has_changed(name, open.snapshot)
        {
            // Another one has its name.
            return Ok(());
        }
        let most = self.rng.random_range(1..100);
        // As many more as the transaction may have deleted of them.
        let enough = most + open.own.len();
        let own = |expected: &mut BTreeMap<Vec<u8>, Value>, is_in: &dyn Fn(&Vec<u8>) -> bool| {
            let of_table = open.own.iter().filter(|((of, key), _)| *of == name && is_in(key));
            for ((_, key), written) in of_table {
                match &written.value {
                    Some(value) => expected.insert(key.clone(), value.clone()),
                    None => expected.remove(key),
                };
            }
        };
        let owned = |(key, value): (&Vec<u8>, &Value)| (key.clone(), value.clone());
        let after = self.history.range(name, bound.clone().., open.snapshot);
        let mut expected = after.take(enough).map(owned).collect();
        own(&mut expected, &|key| *key >= bound);
        let mut forward = open.transaction.scan(table, &bound, Direction::Forward);
        for (key, value) in expected.iter().take(most) {
            assert_eq!(forward.next()?, Some((&key[..], &value[..])));
        }
        let before = self.history.range(name, ..=bound.clone(), open.snapshot);
        let mut expected = before.rev().take(enough).map(owned).collect();
        own(&mut expected, &|key| *key <= bound);
        let mut backward = open.transaction.scan(table, &bound, Direction::Backward);
        for (key, value) in expected.iter().rev().take(most) {
            assert_eq!(backward.next()?, Some((&key[..], &value[..])));
        }
        Ok(())
    }

    /// The database was opened: it must hold what was promised, and of the rest a beginning.
    pub(crate) fn opened_again(&mut self, db: &Db) -> Result<(), DbError> {
        let found = content(db)?;
        self.history.opened_again(&found, self.promised);
        self.promised = self.history.now;
        self.soon.clear();
        let check = db.check()?;
        assert!(check.findings.is_empty(), "{:#?}", check.findings);
        let records: u64 =
            check.trees.iter().filter(|t| t.table.is_some()).map(|t| t.records).sum();
        let expected: usize = NAMES.iter().map(|name| found.get(name).map_or(0, |t| t.len())).sum();
        assert_eq!(records, expected as u64);
        let bytes: u64 = check.trees.iter().map(|tree| tree.bytes + tree.records * SLOT).sum();
        let is_enough =
            |check: &Check| u64::from(check.pages) - check.value_pages <= enough_pages(bytes);
        if !is_enough(&check) {
            // The rest may be of tables that were deleted, or never were committed.
            (0..2).try_for_each(|_| db.checkpoint())?;
            let check = db.check()?;
            assert!(is_enough(&check), "{bytes} bytes: {check:#?}");
        }
        Ok(())
    }

    /// Everything that was committed is promised: the database was closed.
    pub(crate) fn closed(&mut self) {
        self.promised = self.history.now;
    }
}

fn patched(value: &Value, at: usize, bytes: &[u8]) -> Value {
    let mut value = value.to_vec();
    value.iter_mut().skip(at).zip(bytes).for_each(|(byte, &new)| *byte = new);
    value.into()
}

/// All that a database holds, which scans in both directions agree about.
fn content(db: &Db) -> Result<Content, DbError> {
    let look = db.begin_read()?;
    let mut content = Content::new();
    let known = tables(db);
    assert_eq!(known.len(), db.tables().len());
    for (name, table) in known {
        let mut records: Vec<(Vec<u8>, Value)> = Vec::new();
        let mut scan = look.scan_all(table, Direction::Forward);
        while let Some((key, value)) = scan.next()? {
            assert!(records.last().is_none_or(|(last, _)| last[..] < *key));
            records.push((key.to_vec(), Value::from(value)));
        }
        let mut scan = look.scan_all(table, Direction::Backward);
        for (key, value) in records.iter().rev() {
            assert_eq!(scan.next()?, Some((&key[..], &value[..])));
        }
        assert_eq!(scan.next()?, None);
        content.entry(TABLES).or_default().insert(name.as_bytes().to_vec(), Value::from([]));
        content.insert(name, records.into_iter().collect());
    }
    Ok(content)
}
