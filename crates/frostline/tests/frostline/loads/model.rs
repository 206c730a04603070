//! A model of ordered maps, and of the transactions that are open on them.

use std::collections::{BTreeMap, BTreeSet};

use frostline::engine::DbError;
use frostline::{Db, Error, Snapshot, Table, Update};

pub(super) type Map = BTreeMap<Vec<u8>, Vec<u8>>;
/// Tables by name. Each has a number, which it keeps when it is renamed.
pub(super) type Tables = BTreeMap<String, (u64, Map)>;
/// Keys that were written, with the numbers of their tables.
pub(super) type Written = BTreeSet<(u64, Vec<u8>)>;

/// The records that are committed, and the keys that each commit wrote.
#[derive(Default)]
pub(super) struct Model {
    pub tables: Tables,
    /// The handles of this opening.
    pub handles: BTreeMap<u64, Table>,
    pub next_table: u64,
    /// Of each commit of this opening: the keys that it wrote, and may have written.
    pub commits: Vec<[Written; 2]>,
    /// Tables that were deleted in this opening.
    pub deleted: BTreeSet<u64>,
}

/// A transaction that is open.
pub(super) struct Open<'d> {
    pub tx: Update<'d>,
    /// As it began.
    pub base: Tables,
    pub tables: Tables,
    /// Commits that it saw.
    pub seen: usize,
    pub wrote: Written,
    /// Writes that may change nothing, as they found no record.
    pub touched: Written,
}

/// A snapshot that is held.
pub(super) struct Held<'d> {
    pub look: Snapshot<'d>,
    pub tables: Tables,
}

impl Model {
    /// An opening begins.
    pub(super) fn reopened(&mut self, db: &Db) {
        self.commits.clear();
        self.deleted.clear();
        let handles = self.tables.iter().map(|(name, (number, _))| (*number, db.table(name)));
        self.handles = handles.map(|(number, table)| (number, table.unwrap())).collect();
    }

    /// Of these tables, those that were not deleted since.
    pub(super) fn without_deleted(&self, tables: &Tables) -> Tables {
        let is_there = |(_, (number, _)): &(&String, &(u64, Map))| !self.deleted.contains(number);
        tables.iter().filter(is_there).map(|(name, table)| (name.clone(), table.clone())).collect()
    }
}

impl<'d> Open<'d> {
    /// Begins a transaction.
    pub(super) fn begin(db: &'d Db, model: &Model) -> Open<'d> {
        let (tx, base, seen) = (db.begin().unwrap(), model.tables.clone(), model.commits.len());
        let (wrote, touched) = Default::default();
        Open { tx, tables: base.clone(), base, seen, wrote, touched }
    }
}

/// The errors that came.
pub(super) type Came = BTreeMap<&'static str, u64>;

/// An error that leaves everything as it was, if it is one that may come.
pub(super) fn may_be(error: &Error) -> &'static str {
    match error {
        Error::Full(_) => "full",
        Error::Refused(cause) if matches!(**cause, DbError::TooLarge { .. }) => "too large",
        Error::TooOld(_) => "too old",
        error => panic!("{error:?}"),
    }
}

/// Commits a transaction. It conflicts if others wrote what it did.
pub(super) fn commit(open: Open<'_>, model: &mut Model, came: &mut Came, soon: bool) {
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
            assert!(may_conflict, "no other commit wrote one of its keys");
            *came.entry("conflict").or_default() += 1;
        }
        Err(Error::Refused(cause)) if matches!(*cause, DbError::TableDeleted) => {
            assert!(!model.deleted.is_empty());
        }
        Err(error) => *came.entry(may_be(&error)).or_default() += 1,
    }
}
