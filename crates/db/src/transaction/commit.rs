//! The steps of a commit: admission, claim of keys, log record, changes of the trees, completion.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::Transaction;
use crate::DbError;
use crate::mvcc::{PendingCommit, RetainedVersion, Validated, WriteKind, WriteSet};
use crate::overflow::{Owner, Run, Unfreed};
use crate::pool::misses;
use crate::record::{CREATE, DELETE, GIVE, TAKE, TRANSACTION, give_head, put_writes};
use crate::tree::leaf_cache;

/// Remains of records deleted by others that a commit removes beside those of its own.
const SPARE_GHOSTS: usize = 8;

/// A commit: a position of the log of the database that made it. It survives a crash once that log
/// is durable up to there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Commit(pub u64);

/// What a commit does beside its writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Also {
    /// Nothing.
    Nothing,
    /// It makes a tree with this root.
    Makes(u32),
    /// It takes the pages that its writes note.
    Takes,
    /// It deletes a table, whose pages are freed later.
    Deletes,
    /// It frees pages that its writes named.
    Gives(Vec<Run>),
}

impl Also {
    /// The kind of the log record, and what it has before the writes.
    fn logged(&self) -> (u8, Vec<u8>) {
        match self {
            Also::Nothing => (TRANSACTION, Vec::new()),
            Also::Makes(root) => (CREATE, root.to_le_bytes().to_vec()),
            Also::Deletes => (DELETE, Vec::new()),
            Also::Takes => (TAKE, Vec::new()),
            Also::Gives(runs) => (GIVE, give_head(runs)),
        }
    }
}

impl<'d> Transaction<'d> {
    /// Makes what was written visible to transactions that begin from now on, and durable.
    ///
    /// # Errors
    /// [`DbError::Conflict`], [`DbError::SnapshotTooOld`]: nothing was written. A full database, a
    /// transaction too large for the log: nothing was written. A page that can't be read: nothing was
    /// written, if there are no more writes than a quarter of the pages that memory holds. Another
    /// error of the device: whether it is durable is known when the database is opened again.
    pub fn commit(self) -> Result<(), DbError> {
        let core = self.core;
        let commit = self.commit_soon()?;
        Ok(core.trees.wal().wait(commit.0)?)
    }

    /// As [`Transaction::commit`], but durable a little later: [`crate::Db::wait`] waits for that.
    /// Many commits on their way need few flushes.
    ///
    /// # Errors
    /// As for [`Transaction::commit`].
    pub fn commit_soon(mut self) -> Result<Commit, DbError> {
        if let Some(failed) = self.failed.take() {
            return Err(failed);
        }
        let Some(writes) = self.view.writes.take().filter(|writes| !writes.is_empty()) else {
            return Ok(Commit(self.view.position()));
        };
        let core = self.core;
        core.check()?;
        let committed = self.commit_writes(&writes);
        let in_pages = match &committed {
            Ok((position, _)) => self.tell_unowned(&writes, *position),
            Err(_) => 0,
        };
        let is_users = self.is_users();
        // Its own snapshot ends first: the versions that it replaced are not kept for that.
        drop(self);
        match committed {
            Ok((position, replaced)) => {
                core.trees.versions.complete(replaced);
                let deleted = writes.iter().filter(|write| write.kind == WriteKind::Delete).count();
                let bytes = writes.updated_bytes() + in_pages;
                core.reuse(writes);
                // The thread of checkpoints does it as well.
                let _no_way_back = misses::committing();
                let most = deleted + SPARE_GHOSTS;
                if !core.background || !misses::leaves_work() {
                    core.purge_ghosts(most);
                }
                if !core.background {
                    let mut steps = 0..most;
                    core.free_unowned(Unfreed::New, || steps.next().is_some());
                }
                if is_users {
                    core.commits.fetch_add(1, Relaxed);
                    core.updated_bytes.fetch_add(bytes, Relaxed);
                }
                Ok(Commit(position))
            }
            Err(error) => {
                core.reuse(writes);
                let lost = matches!(error, DbError::Conflict);
                core.conflicts.fetch_add(u64::from(lost), Relaxed);
                Err(error)
            }
        }
    }

    /// A step that makes sure that the commit need not wait: the leaves that it changes are in
    /// memory, a quarter of memory at most, and the log has room.
    pub(crate) fn prepare_commit(&self) -> Result<(), DbError> {
        let (core, writes) = (self.core, self.view.writes());
        core.check()?;
        self.load_leaves(writes)?;
        let has_room = || core.log_has_room(writes) && !core.trees.pool.reader.makes_room();
        if writes.is_empty() || has_room() { Ok(()) } else { misses::lack_room() }
    }

    /// Loads the leaves of its first writes, a quarter of memory at most, and returns the index behind
    /// them.
    fn load_leaves(&self, writes: &WriteSet) -> Result<usize, DbError> {
        let trees = &self.core.trees;
        let most = writes.len().min(trees.pool.frames_in_use() / 4);
        let mut loaded = 0;
        while loaded < most {
            loaded = trees
                .load_leaves_of_writes(writes, loaded)
                .map_err(|error| trees.versions.why(self.view.position(), error))?;
        }
        Ok(loaded)
    }

    /// True if more pages are free once it is committed.
    fn frees(&self) -> bool {
        matches!(self.also, Also::Gives(_) | Also::Deletes)
    }

    /// True unless the database commits it for itself.
    fn is_users(&self) -> bool {
        matches!(self.also, Also::Nothing | Also::Makes(_) | Also::Deletes)
    }

    /// The position of the commit, and what it replaced.
    fn commit_writes(
        &self,
        writes: &Arc<WriteSet>,
    ) -> Result<(u64, Vec<RetainedVersion>), DbError> {
        let (core, trees) = (self.core, &self.core.trees);
        if self.made.iter().any(|&(number, _)| self.owner(writes, number) == Some(Owner::Record)) {
            // The log must not name pages that a crash may lose.
            trees.store().sync()?;
        }
        let _committing = core.catalog.committing(!self.is_users());
        let trees_of_writes = writes.iter().map(|write| write.tree);
        core.catalog.check_trees(trees_of_writes.chain(self.in_place.iter().copied()))?;
        // Before it has a position in the log: the commits behind it wait for it, and if a leaf can't
        // be read there is still a way back.
        let loaded = self.load_leaves(writes)?;
        let _no_way_back = misses::committing();
        let logged = self.also.logged();
        let _admission = core.admit(writes, logged.1.len(), self.frees())?;
        if !trees.versions.claim(writes, self.view.position()) {
            return Err(DbError::Conflict);
        }
        // Only now: a conflict is known by versions that are kept as long as the snapshot lasts.
        if let Err(error) = trees.versions.check(self.view.position()) {
            trees.versions.give_up(writes);
            return Err(error);
        }
        let (position, replaced) =
            match self.validate().and_then(|reads| self.log(&logged, writes, reads)) {
                Ok(in_log) => {
                    // From here on there is no way back: the log has it.
                    let position = in_log.position();
                    assert!(position > self.view.position(), "a commit is behind its snapshot");
                    match self.apply(writes, position, loaded) {
                        Ok(replaced) => (position, replaced),
                        Err(error) => {
                            // A half-made transaction must never be seen, or be taken for complete.
                            in_log.abandon();
                            return Err(core.fail(error));
                        }
                    }
                }
                Err(error) => {
                    trees.versions.give_up(writes);
                    return Err(error);
                }
            };
        if !trees.window.wait(position, || core.check().is_err()) {
            core.check()?;
        }
        Ok((position, replaced))
    }

    /// Compares what a serializable transaction read with the commits since its snapshot.
    fn validate(&self) -> Result<Option<Validated<'_>>, DbError> {
        let reads = self.view.reads.as_ref();
        reads.map(|reads| reads.validate(self.view.position())).transpose()
    }

    fn log(
        &self,
        (kind, before): &(u8, Vec<u8>),
        writes: &Arc<WriteSet>,
        reads: Option<Validated<'_>>,
    ) -> Result<PendingCommit<'d>, DbError> {
        thread_local! {
            static RECORD: std::cell::RefCell<Vec<u8>> = const { std::cell::RefCell::new(Vec::new()) };
        }
        let trees = &self.core.trees;
        RECORD.with_borrow_mut(|record| {
            record.clear();
            put_writes(writes, record);
            let logged = trees.log_commit(*kind, &[before, record], writes, reads);
            if record.capacity() > 1 << 20 {
                *record = Vec::new();
            }
            logged
        })
    }

    /// Writes to the trees what the log has, and returns what that replaced. The leaves of so many
    /// writes are loaded.
    fn apply(
        &self,
        writes: &Arc<WriteSet>,
        position: u64,
        mut loaded: usize,
    ) -> Result<Vec<RetainedVersion>, DbError> {
        let trees = &self.core.trees;
        if let Also::Makes(root) = self.also {
            trees.create_root(root, position)?;
        }
        let mut replaced = Vec::with_capacity(writes.len());
        for (index, write) in writes.iter().enumerate() {
            if index == loaded {
                loaded = trees.load_leaves_of_writes(writes, index)?;
            }
            let change = writes.change(write);
            let (key, cached) = (writes.key(write), leaf_cache::find(write.hash));
            trees.apply(write.tree, key, change, position, cached, |before| {
                replaced.push(trees.versions.replace(writes, index, position, before));
            })?;
        }
        Ok(replaced)
    }
}
