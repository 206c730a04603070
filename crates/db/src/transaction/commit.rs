//! The way of a commit: admitted, claimed, logged, made in the trees, complete.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::Transaction;
use crate::mvcc::{InLog, WriteSet};
use crate::record::{CREATE, TRANSACTION, put_writes};
use crate::tree::places;
use crate::{Commit, DbError};

impl<'d> Transaction<'d> {
    /// Makes what was written visible to transactions that begin from now on, and durable.
    ///
    /// # Errors
    /// [`DbError::Conflict`]: nothing was written. A full database, a transaction too large for
    /// the log: nothing was written. An error of the device: whether it is durable is known when
    /// the database is opened again.
    pub fn commit(self) -> Result<(), DbError> {
        let core = self.core;
        let commit = self.commit_soon()?;
        Ok(core.trees.pool.wal.wait(commit.0)?)
    }

    /// As [`Transaction::commit`], but durable a little later: [`crate::Db::wait`] tells when. Many
    /// commits on their way need few flushes.
    ///
    /// # Errors
    /// As for [`Transaction::commit`].
    pub fn commit_soon(mut self) -> Result<Commit, DbError> {
        let Some(writes) = self.writes.take().filter(|writes| !writes.is_empty()) else {
            return Ok(Commit(self.snapshot.position()));
        };
        let core = self.core;
        core.check()?;
        let committed = self.commit_writes(&writes);
        // Whoever collects versions takes it back as well, if they are needed no longer than this.
        drop(self);
        core.reuse(writes);
        core.collect();
        match committed {
            Ok(position) => {
                core.commits.fetch_add(1, Relaxed);
                Ok(Commit(position))
            }
            Err(error) => {
                let lost = matches!(error, DbError::Conflict);
                core.conflicts.fetch_add(u64::from(lost), Relaxed);
                Err(error)
            }
        }
    }

    fn commit_writes(&self, writes: &Arc<WriteSet>) -> Result<u64, DbError> {
        let (core, trees) = (self.core, &self.core.trees);
        let _admission = core.admit(writes)?;
        if !trees.versions.claim(writes, self.snapshot.position()) {
            return Err(DbError::Conflict);
        }
        let position = match self.log(writes) {
            Ok(in_log) => {
                // From here on there is no way back: the log has it.
                let position = in_log.position();
                if let Err(error) = self.apply(writes, position) {
                    // What is half done must never be seen, or be taken for complete.
                    std::mem::forget(in_log);
                    return Err(core.fail(error));
                }
                position
            }
            Err(error) => {
                trees.versions.give_up(writes);
                return Err(error);
            }
        };
        if !trees.window.wait(position, || core.check().is_err()) {
            core.check()?;
        }
        core.keep_until_unseen(position, writes.clone());
        Ok(position)
    }

    fn log(&self, writes: &WriteSet) -> Result<InLog<'d>, DbError> {
        thread_local! {
            static RECORD: std::cell::RefCell<Vec<u8>> = const { std::cell::RefCell::new(Vec::new()) };
        }
        RECORD.with_borrow_mut(|record| {
            record.clear();
            put_writes(writes, record);
            let logged = match self.creates {
                Some(root) => self.core.trees.log(CREATE, &[&root.to_le_bytes(), record]),
                None => self.core.trees.log(TRANSACTION, &[record]),
            };
            if record.capacity() > 1 << 20 {
                *record = Vec::new();
            }
            logged
        })
    }

    /// Writes to the trees what the log has.
    fn apply(&self, writes: &Arc<WriteSet>, position: u64) -> Result<(), DbError> {
        let trees = &self.core.trees;
        if let Some(root) = self.creates {
            trees.create_root(root, position)?;
        }
        for (index, write) in writes.iter().enumerate() {
            let change = writes.change(write);
            let (key, place) = (writes.key(write), places::find(write.hash));
            trees.apply(write.tree, key, change, position, place, |before| {
                trees.versions.keep(writes, index, position, before());
            })?;
        }
        Ok(())
    }
}
