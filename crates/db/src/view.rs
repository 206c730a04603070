//! The view of a transaction: a snapshot, and its own writes over it.

use std::sync::Arc;

use crate::DbError;
use crate::mvcc::{Lookup, Reads, Snapshot, WriteKind, WriteSet, hash_of};
use crate::overflow::ValueReader;
use crate::pool::{AbsentLeaf, CachedFrame};
use crate::tree::{RECORDS, Trees, Wanted, leaf_cache};

/// A view of the trees as of a snapshot, with uncommitted writes over it.
pub(crate) struct View<'d> {
    /// The trees.
    pub trees: &'d Trees,
    snapshot: Snapshot<'d>,
    /// None if it may not write.
    pub writes: Option<Arc<WriteSet>>,
    /// What it reads, if it is serializable.
    pub reads: Option<Box<Reads<'d>>>,
}

impl<'d> View<'d> {
    /// A view of the commits that are complete now.
    pub(crate) fn begin(
        trees: &'d Trees,
        writes: Option<Arc<WriteSet>>,
        serializable: bool,
    ) -> Self {
        let reads = serializable.then(|| Box::new(trees.window.reads()));
        // After that: the commits behind the snapshot are kept.
        let snapshot = trees.versions.snapshot(&trees.window);
        View { trees, snapshot, writes, reads }
    }

    /// Log position up to which commits are seen.
    #[inline]
    pub(crate) fn position(&self) -> u64 {
        self.snapshot.position()
    }

    /// The writes; none if it may not write.
    #[inline]
    pub(crate) fn writes(&self) -> &WriteSet {
        static NOTHING: WriteSet = WriteSet::new();
        self.writes.as_deref().unwrap_or(&NOTHING)
    }

    /// Puts the value of a key into `value`, or the reference to its pieces: from the own writes,
    /// or else from the snapshot.
    /// `cached` is the frame in which the leaf was of late.
    #[inline]
    pub(crate) fn find(
        &self,
        tree: u32,
        key: &[u8],
        cached: Option<CachedFrame>,
        value: &mut Vec<u8>,
    ) -> Result<Lookup, DbError> {
        Ok(self.find_at(tree, key, cached, value)?.0)
    }

    /// As [`View::find`]; also the frame in which the leaf is, if it was looked into.
    #[inline]
    pub(crate) fn find_at(
        &self,
        tree: u32,
        key: &[u8],
        cached: Option<CachedFrame>,
        value: &mut Vec<u8>,
    ) -> Result<(Lookup, Option<CachedFrame>), DbError> {
        let (trees, snapshot) = (self.trees, self.snapshot.position());
        let Some(writes) = &self.writes else {
            return trees.get(tree, key, snapshot, cached, value);
        };
        let hash = hash_of(tree, key);
        let Some(change) = writes.find(tree, key, hash) else {
            let (found, cached) = trees.get(tree, key, snapshot, cached, value)?;
            if let Some(cached) = cached {
                leaf_cache::note(hash, cached);
            }
            return Ok((found, cached));
        };
        value.clear();
        match change.kind {
            WriteKind::Put | WriteKind::Overwrite | WriteKind::PutOverflow => {
                value.extend_from_slice(change.value);
            }
            WriteKind::Delete => {}
            WriteKind::Patch => {
                let (found, cached) = trees.get(tree, key, snapshot, cached, value)?;
                change.patch(value);
                return Ok((found, cached));
            }
        }
        let found = match change.kind {
            WriteKind::PutOverflow => Lookup::Overflow,
            WriteKind::Delete => Lookup::Nothing,
            _ => Lookup::Value,
        };
        Ok((found, None))
    }

    /// Puts the reference to the long value of a key that is about to be written into `value`;
    /// false if it has none. Perhaps also if another transaction replaced it after the snapshot:
    /// then the write conflicts.
    #[inline]
    pub(crate) fn find_reference(
        &self,
        tree: u32,
        key: &[u8],
        value: &mut Vec<u8>,
    ) -> Result<bool, DbError> {
        let hash = hash_of(tree, key);
        if let Some(change) = self.writes().find(tree, key, hash) {
            value.clear();
            value.extend_from_slice(change.value);
            return Ok(change.kind == WriteKind::PutOverflow);
        }
        let (found, cached) =
            self.trees.get_reference(tree, key, self.snapshot.position(), value)?;
        if let Some(cached) = cached {
            leaf_cache::note(hash, cached);
        }
        Ok(found == Lookup::Overflow)
    }

    /// Loads the leaves of records together, as far as these can't be found without, and returns
    /// the frames of those that are in one. As many as [`Trees::records_together`] at most.
    pub(crate) fn load_leaves<'k>(
        &self,
        count: usize,
        wanted: impl Fn(usize) -> Wanted<'k>,
    ) -> [Option<CachedFrame>; RECORDS] {
        let (writes, mut frames) = (self.writes(), [None; RECORDS]);
        let is_written = |tree, key| {
            let written = writes.find(tree, key, hash_of(tree, key));
            written.is_some_and(|change| change.kind != WriteKind::Patch)
        };
        let without = |index: usize, leaf: &AbsentLeaf<'_, '_>| {
            let Wanted { tree, key } = wanted(index);
            is_written(tree, key) || leaf.can_get(key)
        };
        self.trees.load_leaves_of_records(count, &wanted, without, |index, frame| {
            frames[index] = Some(frame);
        });
        frames
    }

    /// A view of the same snapshot without the writes.
    pub(crate) fn alike(&self) -> View<'d> {
        let snapshot = self.trees.versions.alike(&self.snapshot);
        View { trees: self.trees, snapshot, writes: None, reads: None }
    }

    /// Replaces a reference to a long value by the value.
    pub(crate) fn join(&self, value: &mut Vec<u8>) -> Result<(), DbError> {
        let reference = std::mem::take(value);
        let Some(reader) = ValueReader::new(self, Lookup::Overflow, reference)? else {
            return Ok(());
        };
        reader.read_whole(value)
    }
}
