//! The naive reference engine: ordered maps under one lock.
//!
//! Workloads are tested on it, and other engines can be compared with it: it is slow, obviously
//! right, and counts the operations. A transaction holds the lock from begin to end, so a thread
//! that begins a second transaction beside it waits for ever.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{Access, Direction, Engine, Ticket, Transaction, VisitRow};

/// The content of all tables: by name, then by key.
pub type Contents = BTreeMap<String, BTreeMap<Vec<u8>, Vec<u8>>>;

/// An error of the memory engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// An artificial conflict: see [`MemoryEngine::conflict_every`].
    #[error("conflict")]
    Conflict,
    /// A write in a read-only transaction.
    #[error("write in a read-only transaction")]
    ReadOnly,
    /// A patch of a record that does not exist, or beyond the record's end.
    #[error("patch beyond a record")]
    Patch,
}

/// The number of record operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operations {
    /// Records looked up.
    pub gets: u64,
    /// Records written as a whole.
    pub puts: u64,
    /// Records overwritten in part.
    pub patches: u64,
    /// Deletions of records, whether the records existed or not.
    pub deletes: u64,
    /// Scans begun.
    pub scans: u64,
    /// Records that scans visited, including the last one of each scan.
    pub scan_rows: u64,
}

#[derive(Debug, Default)]
struct MemoryTables {
    names: Vec<String>,
    trees: Vec<BTreeMap<Vec<u8>, Vec<u8>>>,
    operations: Operations,
    /// Writes and commits so far; every n-th shall conflict.
    risks: u64,
}

/// Tables in memory.
#[derive(Debug, Default)]
pub struct MemoryEngine {
    state: Mutex<MemoryTables>,
    committed: AtomicU64,
    waited: AtomicU64,
    /// The n of the every n-th write or commit that conflicts; 0 for none.
    conflict_every: AtomicU64,
    /// The number of newest commits that count as not durable until waited for.
    lag: u64,
}

impl MemoryEngine {
    /// An engine without tables.
    pub fn new() -> MemoryEngine {
        MemoryEngine::default()
    }

    /// Makes every `every`th write or commit conflict from now on, to test how a workload handles
    /// it; with 0, none does.
    pub fn conflict_every(&self, every: u64) {
        self.conflict_every.store(every, Ordering::Relaxed);
    }

    /// Makes the newest `lag` commits durable only when they are waited for.
    pub fn with_lag(mut self, lag: u64) -> MemoryEngine {
        self.lag = lag;
        self
    }

    /// The record operations since the engine began.
    pub fn operations(&self) -> Operations {
        self.lock().operations
    }

    /// A copy of all tables.
    pub fn contents(&self) -> Contents {
        let state = self.lock();
        state.names.iter().cloned().zip(state.trees.iter().cloned()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, MemoryTables> {
        // A transaction that panicked was rolled back when it was dropped.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine for MemoryEngine {
    type Error = MemoryError;
    type Table = usize;
    type Transaction<'e> = MemoryTransaction<'e>;

    fn table(&self, name: &str) -> Result<usize, MemoryError> {
        if let Some(table) = self.existing(name)? {
            return Ok(table);
        }
        let mut state = self.lock();
        state.names.push(name.to_owned());
        state.trees.push(BTreeMap::new());
        assert_eq!(state.names.len(), state.trees.len(), "each table has a name");
        Ok(state.names.len() - 1)
    }

    fn existing(&self, name: &str) -> Result<Option<usize>, MemoryError> {
        Ok(self.lock().names.iter().position(|known| known == name))
    }

    fn begin(&self, access: Access) -> Result<MemoryTransaction<'_>, MemoryError> {
        Ok(MemoryTransaction { engine: self, state: self.lock(), access, undo: Vec::new() })
    }

    fn is_conflict(error: &MemoryError) -> bool {
        *error == MemoryError::Conflict
    }

    fn durable(&self) -> Ticket {
        let old = self.committed.load(Ordering::Acquire).saturating_sub(self.lag);
        Ticket(old.max(self.waited.load(Ordering::Acquire)))
    }

    fn wait(&self, ticket: Ticket) -> Result<(), MemoryError> {
        self.waited.fetch_max(ticket.0, Ordering::AcqRel);
        Ok(())
    }
}

/// A transaction of the memory engine; it runs alone.
#[derive(Debug)]
pub struct MemoryTransaction<'e> {
    engine: &'e MemoryEngine,
    state: MutexGuard<'e, MemoryTables>,
    access: Access,
    /// The old record of each write, oldest first.
    undo: Vec<(usize, Vec<u8>, Option<Vec<u8>>)>,
}

impl MemoryTransaction<'_> {
    fn replace(
        &mut self,
        table: usize,
        key: &[u8],
        value: Option<Vec<u8>>,
    ) -> Result<(), MemoryError> {
        if self.access == Access::ReadOnly {
            return Err(MemoryError::ReadOnly);
        }
        self.risk()?;
        let tree = &mut self.state.trees[table];
        let before = match value {
            Some(value) => tree.insert(key.to_vec(), value),
            None => tree.remove(key),
        };
        self.undo.push((table, key.to_vec(), before));
        Ok(())
    }

    fn risk(&mut self) -> Result<(), MemoryError> {
        self.state.risks += 1;
        match self.engine.conflict_every.load(Ordering::Relaxed) {
            0 => Ok(()),
            every if self.state.risks.is_multiple_of(every) => Err(MemoryError::Conflict),
            _ => Ok(()),
        }
    }
}

impl Transaction for MemoryTransaction<'_> {
    type Table = usize;
    type Error = MemoryError;

    fn get(&mut self, table: usize, key: &[u8], value: &mut Vec<u8>) -> Result<bool, MemoryError> {
        self.state.operations.gets += 1;
        value.clear();
        let found = self.state.trees[table].get(key);
        found.into_iter().for_each(|found| value.extend_from_slice(found));
        Ok(found.is_some())
    }

    fn put(&mut self, table: usize, key: &[u8], value: &[u8]) -> Result<(), MemoryError> {
        self.state.operations.puts += 1;
        self.replace(table, key, Some(value.to_vec()))
    }

    fn patch(
        &mut self,
        table: usize,
        key: &[u8],
        at: usize,
        bytes: &[u8],
        _scratch: &mut Vec<u8>,
    ) -> Result<(), MemoryError> {
        self.state.operations.patches += 1;
        let mut value = self.state.trees[table].get(key).cloned().ok_or(MemoryError::Patch)?;
        let part = value.get_mut(at..at + bytes.len()).ok_or(MemoryError::Patch)?;
        part.copy_from_slice(bytes);
        self.replace(table, key, Some(value))
    }

    fn delete(&mut self, table: usize, key: &[u8]) -> Result<(), MemoryError> {
        self.state.operations.deletes += 1;
        self.replace(table, key, None)
    }

    fn scan(
        &mut self,
        table: usize,
        bound: &[u8],
        direction: Direction,
        visit: VisitRow<'_>,
    ) -> Result<(), MemoryError> {
        let MemoryTables { trees, operations, .. } = &mut *self.state;
        operations.scans += 1;
        let mut shown = |(key, value): (&Vec<u8>, &Vec<u8>)| {
            operations.scan_rows += 1;
            visit(key, value)
        };
        // It makes no difference whether a scan breaks or comes to its end.
        let _ = match direction {
            Direction::Forward => trees[table]
                .range::<[u8], _>((Bound::Included(bound), Bound::Unbounded))
                .try_for_each(&mut shown),
            Direction::Backward => trees[table]
                .range::<[u8], _>((Bound::Unbounded, Bound::Included(bound)))
                .rev()
                .try_for_each(&mut shown),
        };
        Ok(())
    }

    fn commit(mut self) -> Result<Ticket, MemoryError> {
        self.risk()?;
        self.undo.clear();
        Ok(Ticket(self.engine.committed.fetch_add(1, Ordering::AcqRel) + 1))
    }
}

impl Drop for MemoryTransaction<'_> {
    fn drop(&mut self) {
        for (table, key, before) in self.undo.drain(..).rev() {
            match before {
                Some(value) => self.state.trees[table].insert(key, value),
                None => self.state.trees[table].remove(&key),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;

    fn set(engine: &MemoryEngine, key: &[u8], value: &[u8]) -> Result<Ticket, MemoryError> {
        let table = engine.table("t")?;
        let mut transaction = engine.begin(Access::ReadWrite)?;
        transaction.put(table, key, value)?;
        transaction.commit()
    }

    #[test]
    fn what_is_not_committed_leaves_nothing() {
        let engine = MemoryEngine::new();
        set(&engine, b"a", b"123").unwrap();
        let before = engine.contents();
        let table = engine.table("t").unwrap();
        let mut transaction = engine.begin(Access::ReadWrite).unwrap();
        transaction.put(table, b"b", b"new").unwrap();
        transaction.patch(table, b"a", 1, b"xx", &mut Vec::new()).unwrap();
        transaction.delete(table, b"a").unwrap();
        transaction.put(table, b"a", b"again").unwrap();
        drop(transaction);
        assert_eq!(engine.contents(), before);
    }

    #[test]
    fn scans_go_both_ways_from_the_bound() {
        let engine = MemoryEngine::new();
        for key in [b"a", b"c", b"e"] {
            set(&engine, key, b"").unwrap();
        }
        let table = engine.table("t").unwrap();
        let mut transaction = engine.begin(Access::ReadOnly).unwrap();
        let mut scan = |bound: &[u8], direction| {
            let mut keys = Vec::new();
            transaction
                .scan(table, bound, direction, &mut |key, _| {
                    keys.extend_from_slice(key);
                    if keys.len() < 2 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                })
                .unwrap();
            keys
        };
        assert_eq!(scan(b"b", Direction::Forward), b"ce");
        assert_eq!(scan(b"c", Direction::Forward), b"ce");
        assert_eq!(scan(b"d", Direction::Backward), b"ca");
        assert_eq!(scan(b"c", Direction::Backward), b"ca");
        assert_eq!(scan(b"f", Direction::Forward), b"");
    }

    #[test]
    fn the_newest_commits_wait_to_be_durable() {
        let engine = MemoryEngine::new().with_lag(2);
        let tickets: Vec<Ticket> = (0..5).map(|_| set(&engine, b"k", b"v").unwrap()).collect();
        assert_eq!(engine.durable(), tickets[2]);
        engine.wait(tickets[3]).unwrap();
        assert_eq!(engine.durable(), tickets[3]);
    }

    #[test]
    fn conflicts_come_as_often_as_asked() {
        let engine = MemoryEngine::new();
        engine.conflict_every(3);
        let results: Vec<bool> = (0..6).map(|_| set(&engine, b"k", b"v").is_ok()).collect();
        // A write and its commit succeed; the third operation, the next write, conflicts.
        assert_eq!(results, [true, false, true, false, true, false]);
    }
}
