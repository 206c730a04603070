//! Transactions that read lists and append their numbers to lists: by gets, ranges and scans in
//! both directions, in threads, and through crashes.

use std::collections::{BTreeMap, BTreeSet};

use frostline_db::{Commit, Db, DbError, Direction, Table, Transaction};
use rand::RngExt;
use rand::rngs::SmallRng;

use super::judge::{Done, List, Lists};

/// Lists in use at a time: they are close together, and move on with the numbers of transactions.
const LISTS: u32 = 10;

/// Transactions after which a list more is in use, and one less.
const MOVE: u32 = 20;

/// A transaction that is under way.
pub(crate) struct Attempt<'d> {
    transaction: Transaction<'d>,
    table: Table,
    done: Done,
    is_writer: bool,
}

fn key(list: List) -> Vec<u8> {
    // Of lengths that make many leaves.
    let mut key = list.to_be_bytes().to_vec();
    key.resize(2 + usize::from(list) * 37 % 150, b'k');
    key
}

fn list_of(key: &[u8]) -> List {
    List::from_be_bytes([key[0], key[1]])
}

fn numbers(value: &[u8]) -> Vec<u32> {
    value.as_chunks::<4>().0.iter().map(|number| u32::from_le_bytes(*number)).collect()
}

/// The lists as they are.
pub(crate) fn lists(db: &Db, table: Table) -> Result<Lists, DbError> {
    let look = db.begin_read()?;
    let mut scan = look.scan_all(table, Direction::Forward);
    let mut lists = BTreeMap::new();
    while let Some((key, value)) = scan.next()? {
        lists.insert(list_of(key), numbers(value));
    }
    Ok(lists)
}

impl<'d> Attempt<'d> {
    pub(crate) fn begin(
        db: &'d Db,
        table: Table,
        serializable: bool,
        done: Done,
        is_writer: bool,
    ) -> Result<Self, DbError> {
        let transaction = match (is_writer, serializable) {
            (false, _) => db.begin_read()?,
            (true, false) => db.begin()?,
            (true, true) => db.begin_serializable()?,
        };
        Ok(Attempt { transaction, table, done, is_writer })
    }

    fn list(&self, rng: &mut SmallRng) -> List {
        (self.done.number / MOVE + rng.random_range(0..LISTS)) as List
    }

    /// Reads or appends.
    pub(crate) fn step(&mut self, rng: &mut SmallRng) -> Result<(), DbError> {
        let list = self.list(rng);
        match rng.random_range(0..10) {
            0..4 if self.is_writer => self.append(list),
            4..6 => self.scan(list, Direction::Forward, rng.random_range(1..6)),
            6..8 => self.scan(list, Direction::Backward, rng.random_range(1..6)),
            _ => self.read(list).map(drop),
        }
    }

    fn saw(&mut self, list: List, content: &[u32]) {
        if !self.done.appends.contains(&list) {
            self.done.reads.push((list, content.to_vec()));
        }
    }

    fn read(&mut self, list: List) -> Result<Vec<u32>, DbError> {
        let value = self.transaction.get(self.table, &key(list))?;
        let content = value.map_or(Vec::new(), |value| numbers(&value));
        self.saw(list, &content);
        Ok(content)
    }

    fn append(&mut self, list: List) -> Result<(), DbError> {
        let mut content = self.read(list)?;
        if self.done.appends.insert(list) {
            content.push(self.done.number);
            let value: Vec<u8> = content.iter().flat_map(|number| number.to_le_bytes()).collect();
            self.transaction.put(self.table, &key(list), &value)?;
        }
        Ok(())
    }

    /// Reads at most so many lists in order; those between them are empty.
    fn scan(&mut self, first: List, direction: Direction, most: usize) -> Result<(), DbError> {
        let mut found = BTreeMap::new();
        let mut scan = self.transaction.scan(self.table, &key(first), direction);
        let mut has_ended = false;
        while found.len() < most && !has_ended {
            match scan.next()? {
                Some((key, value)) => drop(found.insert(list_of(key), numbers(value))),
                None => has_ended = true,
            }
        }
        let passed = match direction {
            Direction::Forward => {
                let end = (self.done.number / MOVE + 2 * LISTS) as List;
                first..=if has_ended { end } else { *found.last_key_value().unwrap().0 }
            }
            Direction::Backward => {
                (if has_ended { 0 } else { *found.first_key_value().unwrap().0 })..=first
            }
        };
        for list in passed {
            self.saw(list, found.get(&list).map_or(&[], |content| content));
        }
        Ok(())
    }

    /// The transaction as it was, and the outcome of its commit.
    pub(crate) fn commit(self) -> (Done, Result<Commit, DbError>) {
        (self.done, self.transaction.commit_soon())
    }
}

/// A transaction before its first step.
pub(crate) fn fresh(number: u32, session: u32) -> Done {
    Done { number, session, reads: Vec::new(), appends: BTreeSet::new() }
}
