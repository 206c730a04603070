//! A user of a database, whose calls may fail, and what the tables may hold by then.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use frostline_db::{Commit, Db, DbError, Direction, Options, Table};
use frostline_store::Cleaning;
use frostline_zone::{Device, Faulty};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

type Content = BTreeMap<Vec<u8>, Vec<u8>>;
type Writes = Vec<(Vec<u8>, Option<Vec<u8>>)>;

/// A transaction that was committed, or perhaps.
#[derive(Clone)]
struct Committed {
    writes: Writes,
    /// The call said so.
    is_certain: bool,
}

/// A user, and all its commits. Each commit leaves a record of its number, so that what a database
/// holds tells which commits it knows.
#[derive(Clone, Default)]
pub(crate) struct User {
    commits: Vec<Committed>,
    /// Commits before this were waited for.
    promised: usize,
    /// Tables that were made for sure, and perhaps.
    tables: BTreeSet<String>,
    maybe: BTreeSet<String>,
}

/// The record of a commit's number.
fn mark(number: usize) -> Vec<u8> {
    format!("commit {number:05}").into_bytes()
}

pub(crate) fn options() -> Options {
    Options {
        buffer_bytes: 64 * 4096,
        background: false,
        cleaning: Cleaning::Inline,
        // Half of the longest values have pages of their own.
        longest_logged_value: 4500,
        ..Options::default()
    }
}

pub(crate) fn open(device: &Arc<Faulty>) -> Result<Db, DbError> {
    let device: Arc<dyn Device> = device.clone();
    Db::open(&device, &options())
}

/// The writes of a commit, a function of its number.
fn writes(number: usize, keys: u32) -> Writes {
    let mut rng = SmallRng::seed_from_u64(number as u64);
    let mut writes = vec![(mark(number), Some(vec![]))];
    for _ in 0..rng.random_range(1..6) {
        let key = format!("{:04}", rng.random_range(0..keys)).into_bytes();
        let most = [100, 900, 900, 900, 900, 9000][rng.random_range(0..6)];
        let value = vec![number as u8; rng.random_range(0..most)];
        writes.push((key, rng.random_bool(0.8).then_some(value)));
    }
    writes
}

impl User {
    /// The database, and its table, were made.
    pub(crate) fn made(&mut self) {
        self.tables.insert("t".to_string());
    }

    /// There is no database.
    pub(crate) fn has_no_table(&self) -> bool {
        self.tables.is_empty()
    }

    /// Uses the database for some steps; calls that fail are followed by others. True if one did.
    pub(crate) fn use_it(&mut self, db: &Db, seed: u64, steps: usize, keys: u32) -> bool {
        let mut rng = SmallRng::seed_from_u64(seed);
        let (mut failed, mut soon) = (false, Vec::new());
        for step in 0..steps {
            let result = match rng.random_range(0..100) {
                0..45 => self.commit(db, keys).and_then(|commit| self.wait(db, commit)),
                45..70 => self.commit(db, keys).map(|commit| soon.push(commit)),
                70..76 => match soon.pop() {
                    Some(commit) => self.wait(db, commit),
                    None => Ok(()),
                },
                76..82 => self.all_durable(db.checkpoint()),
                82..90 => self.get(db, rng.random_range(0..keys)),
                90..94 => self.scan(db),
                94..96 => self.create_table(db, format!("table {step}")),
                96..98 => db.stats().map(drop),
                _ => db.check().map(drop),
            };
            failed |= result.is_err();
        }
        failed
    }

    /// Commits a transaction. Returns its index, and what can be waited for.
    pub(crate) fn commit(&mut self, db: &Db, keys: u32) -> Result<(usize, Commit), DbError> {
        self.commit_these(db, writes(self.commits.len(), keys))
    }

    /// Deletes most records, so that leaves are empty.
    pub(crate) fn empty(&mut self, db: &Db, keys: u32) -> Result<(usize, Commit), DbError> {
        let deletes = (keys / 8..keys).map(|key| (format!("{key:04}").into_bytes(), None));
        let mark = (mark(self.commits.len()), Some(vec![]));
        self.commit_these(db, std::iter::once(mark).chain(deletes).collect())
    }

    fn commit_these(&mut self, db: &Db, writes: Writes) -> Result<(usize, Commit), DbError> {
        let table = db.table("t")?;
        let mut transaction = db.begin()?;
        let number = self.commits.len();
        for (key, value) in &writes {
            match value {
                Some(value) => transaction.put(table, key, value)?,
                None => transaction.delete(table, key)?,
            }
        }
        let committed = transaction.commit_soon();
        self.commits.push(Committed { writes, is_certain: committed.is_ok() });
        Ok((number, committed?))
    }

    /// Waits for a commit.
    pub(crate) fn wait(
        &mut self,
        db: &Db,
        (number, commit): (usize, Commit),
    ) -> Result<(), DbError> {
        let waited = db.wait(commit);
        self.durable(waited, number + 1)
    }

    fn all_durable(&mut self, result: Result<(), DbError>) -> Result<(), DbError> {
        self.durable(result, self.commits.len())
    }

    fn durable(&mut self, result: Result<(), DbError>, before: usize) -> Result<(), DbError> {
        self.promised = if result.is_ok() { self.promised.max(before) } else { self.promised };
        result
    }

    pub(crate) fn close(&mut self, db: Db) -> Result<(), DbError> {
        self.all_durable(db.close())
    }

    pub(crate) fn create_table(&mut self, db: &Db, name: String) -> Result<(), DbError> {
        let made = db.create_table(&name);
        match &made {
            Ok(_) => _ = self.tables.insert(name),
            Err(DbError::TableExists { .. }) => return Ok(()),
            Err(_) => _ = self.maybe.insert(name),
        }
        let number = self.commits.len();
        self.durable(made.map(drop), number)
    }

    /// The content after these commits.
    fn after(&self, applied: &BTreeSet<usize>) -> Content {
        let mut content = Content::new();
        for &number in applied {
            for (key, value) in &self.commits[number].writes {
                match value {
                    Some(value) => _ = content.insert(key.clone(), value.clone()),
                    None => _ = content.remove(key),
                }
            }
        }
        content
    }

    /// Everything that a snapshot sees is what some commits left: all that are certain up to the
    /// last of them, and those before `least` at any rate. Returns them.
    fn judge(&self, found: &Content, least: usize) -> BTreeSet<usize> {
        let known = |number: &usize| found.contains_key(&mark(*number));
        let applied: BTreeSet<usize> = (0..self.commits.len()).filter(known).collect();
        let end = applied.last().map_or(0, |last| last + 1).max(least);
        let lost = (0..end).find(|n| self.commits[*n].is_certain && !applied.contains(n));
        assert!(lost.is_none(), "commit {lost:?} is lost, of {least} that must be there");
        let expected = self.after(&applied);
        let wrong = |key: &&Vec<u8>| found.get(*key) != expected.get(*key);
        let wrong = found.keys().chain(expected.keys()).find(wrong);
        let wrong = wrong.map(|key| key.escape_ascii().to_string());
        assert!(wrong.is_none(), "{wrong:?} is not what the commits left");
        applied
    }

    /// A record, and the numbers of all commits, as one snapshot sees them.
    fn get(&self, db: &Db, key: u32) -> Result<(), DbError> {
        let (table, look) = (db.table("t")?, db.begin_read()?);
        let key = format!("{key:04}").into_bytes();
        let value = look.get(table, &key)?;
        let mut applied = BTreeSet::new();
        for number in 0..self.commits.len() {
            if look.get(table, &mark(number))?.is_some() {
                applied.insert(number);
            }
        }
        let lost = |n: &usize| self.commits[*n].is_certain && !applied.contains(n);
        assert_eq!((0..self.commits.len()).find(lost), None, "a commit is lost");
        assert_eq!(value.as_ref(), self.after(&applied).get(&key));
        Ok(())
    }

    fn scan(&self, db: &Db) -> Result<(), DbError> {
        let found = content(db, db.table("t")?)?;
        self.judge(&found, self.commits.len());
        Ok(())
    }

    /// Looks at a database that may have failed, and works on a device that does not fail any more:
    /// what it shows is right, and what it promises is kept. A store that failed may leave no
    /// memory for reading while commits still reach the log.
    pub(crate) fn go_on(&mut self, db: &Db, keys: u32) {
        let _ = self.scan(db);
        let _ = self.commit(db, keys).and_then(|commit| self.wait(db, commit));
        let _ = self.scan(db);
        let _ = self.all_durable(db.checkpoint());
        let _ = db.check();
        let _ = db.stats();
    }

    /// The database was opened again.
    pub(crate) fn opened_again(&mut self, db: &Db) {
        let found = content(db, db.table("t").unwrap()).unwrap();
        let applied = self.judge(&found, self.promised);
        for (number, commit) in self.commits.iter_mut().enumerate() {
            // Those that did not happen never will.
            commit.is_certain = applied.contains(&number);
        }
        self.promised = self.commits.len();
        for (name, _) in db.tables() {
            assert!(self.tables.contains(&name) || self.maybe.contains(&name));
        }
        self.tables.iter().for_each(|name| _ = db.table(name).unwrap());
        let findings = db.check().unwrap().findings;
        assert!(findings.is_empty(), "{findings:#?}");
    }
}

/// All records of a table, which scans in both directions agree about.
fn content(db: &Db, table: Table) -> Result<Content, DbError> {
    let look = db.begin_read()?;
    let mut content = Content::new();
    let mut scan = look.scan_all(table, Direction::Forward);
    while let Some((key, value)) = scan.next()? {
        content.insert(key.to_vec(), value.to_vec());
    }
    let mut back = look.scan_all(table, Direction::Backward);
    for (key, value) in content.iter().rev() {
        assert_eq!(back.next()?, Some((&key[..], &value[..])));
    }
    assert_eq!(back.next()?, None);
    Ok(content)
}
