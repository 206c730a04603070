//! Older versions of records, as long as a snapshot may see them, and the records that commits
//! under way have claimed.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::*};

use parking_lot::{Mutex, MutexGuard};

use super::snapshots::{RetainedVersion, Snapshots};
use super::{CommitWindow, Write, WriteKind, WriteSet};
use crate::DbError;
use crate::layout::is_of_pages;

/// The fewest parts of the table, each with a lock, and the most.
const PARTS: (usize, usize) = (4096, 1 << 17);

/// Bytes of versions for which the table has a part, so that few share one.
const OF_PART: u64 = 4096;

/// The result of a search for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// Nothing.
    Nothing,
    /// A value.
    Value,
    /// A value in pieces elsewhere.
    Overflow,
}

/// The state of a record that a snapshot sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// The state in the tree.
    Newest,
    /// An older version.
    Older(Lookup),
    /// An older version that only the record's page has. The page is absent, and gets the record's
    /// change when it is loaded.
    InPage,
}

/// A record that a commit under way is about to write.
struct Claim {
    by: Arc<WriteSet>,
    write: u32,
}

/// A version that was replaced.
struct Version {
    kept: RetainedVersion,
    tree: u32,
    key_len: u32,
    /// The key, and behind it the value or where its pieces are.
    bytes: Box<[u8]>,
    /// None as long as only the record's page has it.
    found: Option<Lookup>,
    /// Bytes that it got from the page later, and takes beside `kept.memory`.
    filled: u32,
    /// The record was deleted later; its ghost goes with its last version.
    leaves_ghost: bool,
}

impl Version {
    fn is_of(&self, tree: u32, key: &[u8], hash: u64) -> bool {
        self.kept.hash == hash && self.tree == tree && self.key() == key
    }

    fn key(&self) -> &[u8] {
        &self.bytes[..self.key_len as usize]
    }
}

thread_local! {
    /// A record on its way to a version, which takes no more memory than it needs.
    static RECORD: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Bytes of memory that a version takes beside key and value: in the table and in the list of its
/// snapshot, both of which may be half empty, and of the allocator.
const BESIDE: usize = 2 * (size_of::<Version>() + size_of::<RetainedVersion>()) + 16;

/// Records of a transaction, or versions that go at once, so many that parts of the table give back
/// the memory that they needed for them. After fewer they keep it, as the next ones need it again.
const MANY: usize = 1024;

/// Adds to what a part has of a kind. Most parts never have more than one: room for more at once
/// would be memory that each commit finds elsewhere, outside of the processor's caches.
fn push<T>(all: &mut Vec<T>, one: T) {
    if all.capacity() == 0 {
        all.reserve_exact(1);
    }
    all.push(one);
}

/// The claims and versions of some records.
#[derive(Default)]
struct Shard {
    claims: Vec<Claim>,
    versions: Vec<Version>,
}

impl Shard {
    fn release(&mut self, writes: &Arc<WriteSet>, index: usize) {
        let mine = |c: &Claim| c.write as usize == index && Arc::ptr_eq(&c.by, writes);
        if let Some(found) = self.claims.iter().position(mine) {
            self.claims.swap_remove(found);
        }
    }

    fn of<'p>(&'p self, tree: u32, key: &[u8], hash: u64) -> impl Iterator<Item = &'p Version> {
        self.versions.iter().filter(move |version| version.is_of(tree, key, hash))
    }

    /// Gives back memory that is not in use.
    fn trim(&mut self) {
        self.claims.shrink_to_fit();
        self.versions.shrink_to_fit();
    }

    /// Takes a version out, and gives back the memory of those that were beside it.
    fn remove(&mut self, kept: &RetainedVersion) -> Option<Version> {
        let index = self.versions.iter().position(|version| version.kept == *kept)?;
        let version = self.versions.swap_remove(index);
        if self.versions.capacity() > 8 && self.versions.len() * 4 < self.versions.capacity() {
            self.versions.shrink_to(self.versions.len() * 2);
        }
        Some(version)
    }
}

/// The remains of a deleted record that no snapshot sees.
pub(crate) struct Ghost {
    /// The root of the tree.
    pub tree: u32,
    /// The record's key.
    pub key: Box<[u8]>,
}

/// Memory that versions take, and snapshots that were ended to bound it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VersionStats {
    /// Versions of records that were replaced, and are kept.
    pub versions: u64,
    /// Bytes of memory that they take, about.
    pub bytes: u64,
    /// Bytes that they may take.
    pub most_bytes: u64,
    /// Snapshots that were ended, as more was kept for them.
    pub snapshots_ended: u64,
}

/// All older versions that a snapshot may see, the claims of commits under way, and the snapshots
/// in use.
pub(crate) struct Versions {
    parts: Box<[Mutex<Shard>]>,
    snapshots: Mutex<Snapshots>,
    /// Snapshots before this position were ended.
    ended_before: AtomicU64,
    most_bytes: u64,
    counts: Counts,
    ghosts: Mutex<VecDeque<Ghost>>,
}

/// In a cache line that readers don't ask for.
#[derive(Default)]
#[repr(align(64))]
struct Counts {
    versions: AtomicU64,
    bytes: AtomicU64,
    snapshots_ended: AtomicU64,
}

/// A snapshot: everything that was committed up to a position of the log.
pub(crate) struct Snapshot<'v> {
    versions: &'v Versions,
    position: u64,
}

impl Versions {
    /// An empty set that keeps at most `most_bytes` bytes of versions for snapshots.
    pub(crate) fn new(most_bytes: u64) -> Self {
        let parts = (most_bytes / OF_PART).min(PARTS.1 as u64) as usize;
        let parts = parts.max(PARTS.0).next_power_of_two();
        Versions {
            parts: (0..parts).map(|_| Mutex::default()).collect(),
            snapshots: Mutex::default(),
            ended_before: AtomicU64::new(0),
            most_bytes,
            counts: Counts::default(),
            ghosts: Mutex::default(),
        }
    }

    fn shard(&self, hash: u64) -> MutexGuard<'_, Shard> {
        let part = &self.parts[hash as usize & (self.parts.len() - 1)];
        part.lock()
    }

    fn snapshots(&self) -> MutexGuard<'_, Snapshots> {
        self.snapshots.lock()
    }

    /// Takes a snapshot of the commits that are complete now.
    pub(crate) fn snapshot(&self, window: &CommitWindow) -> Snapshot<'_> {
        let mut snapshots = self.snapshots();
        // With the lock held, so that positions come in order, and so that a complete commit misses
        // no snapshot that sees what it replaced.
        let position = window.complete();
        snapshots.begin(position);
        Snapshot { versions: self, position }
    }

    /// One more user of a snapshot that is in use.
    pub(crate) fn alike(&self, other: &Snapshot<'_>) -> Snapshot<'_> {
        self.snapshots().share(other.position);
        Snapshot { versions: self, position: other.position }
    }

    /// Everything that was replaced up to here is seen by no snapshot, now or later.
    pub(crate) fn oldest_seen(&self, window: &CommitWindow) -> u64 {
        let snapshots = self.snapshots();
        let now = window.complete();
        snapshots.oldest().map_or(now, |oldest| oldest.min(now))
    }

    /// Claims all records that a transaction writes. False, and none is claimed, if another has
    /// claimed one, or has written one since `snapshot`: the first committer wins.
    pub(crate) fn claim(&self, writes: &Arc<WriteSet>, snapshot: u64) -> bool {
        for (index, write) in writes.iter().enumerate() {
            if !self.claim_one(writes, index, write, snapshot) {
                self.give_up_first(writes, index);
                return false;
            }
        }
        true
    }

    fn claim_one(
        &self,
        writes: &Arc<WriteSet>,
        index: usize,
        write: &Write,
        snapshot: u64,
    ) -> bool {
        let (tree, hash, key) = (write.tree, write.hash, writes.key(write));
        let mut part = self.shard(hash);
        // If the record was written since the snapshot, the version that the snapshot sees is kept.
        // The pages of a long value need no version: the record that names them has one. They were
        // noted after the snapshot was taken.
        let is_newer = !is_of_pages(tree, key)
            && part.of(tree, key, hash).any(|version| version.kept.until > snapshot);
        let is_claimed = part.claims.iter().any(|claim| {
            let other = claim.by.get(claim.write as usize);
            other.hash == hash && other.tree == tree && claim.by.key(other) == key
        });
        if !is_newer && !is_claimed {
            debug_assert!(index < writes.len(), "a claim is of a write");
            push(&mut part.claims, Claim { by: writes.clone(), write: index as u32 });
        }
        !is_newer && !is_claimed
    }

    /// Gives up the claims of a transaction that is not committed after all.
    pub(crate) fn give_up(&self, writes: &Arc<WriteSet>) {
        self.give_up_first(writes, writes.len());
    }

    fn give_up_first(&self, writes: &Arc<WriteSet>, first: usize) {
        for (index, write) in writes.iter().enumerate().take(first) {
            let mut part = self.shard(write.hash);
            part.release(writes, index);
            if first >= MANY {
                part.trim();
            }
        }
    }

    /// Keeps the state of a record before the commit at `position` changes it, and drops the
    /// commit's claim. The record is latched. `before` appends that state; none if only the page
    /// has it, which [fills](Versions::fill) the version before it gets the change. The caller
    /// [completes](Versions::complete) the returned version when the commit is complete: until then
    /// every snapshot that begins may see it.
    pub(crate) fn replace(
        &self,
        writes: &Arc<WriteSet>,
        index: usize,
        position: u64,
        before: impl FnOnce(&mut Vec<u8>) -> Option<Lookup>,
    ) -> RetainedVersion {
        let write = writes.get(index);
        let (tree, hash, key) = (write.tree, write.hash, writes.key(write));
        let (bytes, found) = RECORD.with_borrow_mut(|record| {
            record.clear();
            record.extend_from_slice(key);
            let found = before(record);
            (Box::<[u8]>::from(&record[..]), found)
        });
        let mut part = self.shard(hash);
        part.release(writes, index);
        debug_assert!(
            part.of(tree, key, hash).all(|version| version.kept.until < position),
            "a record is replaced in the order of the log"
        );
        // If the version before is not kept any more, no snapshot in use is as old as its end.
        let from = part.of(tree, key, hash).map(|version| version.kept.until).max();
        let kept = RetainedVersion {
            hash,
            from: from.unwrap_or(0),
            until: position,
            write: index as u32,
            memory: (BESIDE + bytes.len()) as u32,
        };
        let version = Version {
            kept,
            tree,
            key_len: key.len() as u32,
            bytes,
            found,
            filled: 0,
            leaves_ghost: write.kind == WriteKind::Delete,
        };
        push(&mut part.versions, version);
        kept
    }

    /// A page is about to get a change of a record that waited for it. The version that the change
    /// replaced, if it is kept, gets the state of the record, which `before` appends.
    pub(crate) fn fill(&self, tree: u32, key: &[u8], before: impl FnOnce(&mut Vec<u8>) -> Lookup) {
        let hash = super::hash_of(tree, key);
        let mut part = self.shard(hash);
        let is_it =
            |version: &&mut Version| version.found.is_none() && version.is_of(tree, key, hash);
        let Some(version) = part.versions.iter_mut().find(is_it) else { return };
        let mut bytes = key.to_vec();
        version.found = Some(before(&mut bytes));
        version.filled = (bytes.len() - key.len()) as u32;
        version.bytes = bytes.into();
        self.counts.bytes.fetch_add(version.filled.into(), Relaxed);
    }

    /// A commit is complete: what it replaced is kept for snapshots that see it, and else
    /// forgotten. If more is kept than may be, the oldest snapshots end.
    pub(crate) fn complete(&self, mut replaced: Vec<RetainedVersion>) {
        if replaced.len() >= MANY {
            // Their claims are given up.
            replaced.iter().for_each(|version| self.shard(version.hash).trim());
        }
        let mut snapshots = self.snapshots();
        replaced.retain(|&version| {
            let is_kept = snapshots.keep(version);
            if is_kept {
                self.counts.versions.fetch_add(1, Relaxed);
                self.counts.bytes.fetch_add(version.memory.into(), Relaxed);
            }
            !is_kept
        });
        drop(snapshots);
        self.forget_all(&replaced);
        if self.counts.bytes.load(Relaxed) > self.most_bytes {
            self.end_old_snapshots();
        }
    }

    #[cold]
    fn end_old_snapshots(&self) {
        // Locked to the end: two threads would end more than they need to.
        let mut snapshots = self.snapshots();
        while self.counts.bytes.load(Relaxed) > self.most_bytes {
            let mut unseen = Vec::new();
            let Some(position) = snapshots.end_oldest(&mut unseen) else { return };
            // Before the first version goes: see `Snapshot::check`.
            debug_assert!(self.ended_before.load(SeqCst) <= position, "the oldest one ends");
            self.ended_before.store(position + 1, SeqCst);
            self.counts.snapshots_ended.fetch_add(1, Relaxed);
            tracing::warn!(
                position,
                most_bytes = self.most_bytes,
                "the oldest snapshot ends: too many bytes are kept for it"
            );
            self.let_go(&unseen);
        }
    }

    /// Forgets versions that were kept for a snapshot.
    fn let_go(&self, unseen: &[RetainedVersion]) {
        for version in unseen {
            let before = self.counts.versions.fetch_sub(1, Relaxed);
            debug_assert!(before > 0, "more versions are forgotten than are kept");
            self.counts.bytes.fetch_sub(version.memory.into(), Relaxed);
        }
        self.forget_all(unseen);
    }

    fn forget_all(&self, unseen: &[RetainedVersion]) {
        unseen.iter().for_each(|version| self.forget(version));
        if unseen.len() >= MANY {
            unseen.iter().for_each(|version| self.shard(version.hash).trim());
        }
    }

    /// Forgets a version that no snapshot sees.
    fn forget(&self, kept: &RetainedVersion) {
        let mut part = self.shard(kept.hash);
        let Some(version) = part.remove(kept) else { return };
        self.counts.bytes.fetch_sub(version.filled.into(), Relaxed);
        if version.leaves_ghost {
            let (tree, key) = (version.tree, version.key());
            let is_other = |other: &&mut Version| other.is_of(tree, key, kept.hash);
            match part.versions.iter_mut().find(is_other) {
                // Older snapshots find the record by its ghost.
                Some(other) => other.leaves_ghost = true,
                None => self.ghosts().push_back(Ghost { tree, key: key.into() }),
            }
        }
    }

    fn ghosts(&self) -> MutexGuard<'_, VecDeque<Ghost>> {
        self.ghosts.lock()
    }

    /// The next of the deleted records whose remains are to leave their pages.
    pub(crate) fn next_ghost(&self) -> Option<Ghost> {
        self.ghosts().pop_front()
    }

    /// Puts the version of a record that `snapshot` sees into `value`, if it is not the one in the
    /// tree.
    pub(crate) fn find(&self, tree: u32, key: &[u8], snapshot: u64, value: &mut Vec<u8>) -> Seen {
        let hash = super::hash_of(tree, key);
        let part = self.shard(hash);
        let later = part.of(tree, key, hash).filter(|version| version.kept.until > snapshot);
        let Some(seen) = later.min_by_key(|version| version.kept.until) else {
            return Seen::Newest;
        };
        let Some(found) = seen.found else { return Seen::InPage };
        value.clear();
        value.extend_from_slice(&seen.bytes[seen.key_len as usize..]);
        Seen::Older(found)
    }

    /// True if a version of a record is kept.
    pub(crate) fn has(&self, tree: u32, key: &[u8]) -> bool {
        let hash = super::hash_of(tree, key);
        self.shard(hash).of(tree, key, hash).next().is_some()
    }

    /// Fails if the snapshot at a position was ended. Call it after [`Versions::find`]: a
    /// version is forgotten only after its snapshots count as ended.
    #[inline]
    pub(crate) fn check(&self, snapshot: u64) -> Result<(), DbError> {
        match snapshot < self.ended_before.load(SeqCst) {
            true => Err(DbError::SnapshotTooOld { most: self.most_bytes }),
            false => Ok(()),
        }
    }

    /// Why a transaction met an error on its way through a tree. If its snapshot was ended, the tree
    /// may be deleted. Then its pages are free or another's, and a wrong page is no damage.
    #[cold]
    pub(crate) fn why(&self, snapshot: u64, error: DbError) -> DbError {
        match error {
            DbError::Page { .. } | DbError::Misplaced { .. } => {
                self.check(snapshot).err().unwrap_or(error)
            }
            _ => error,
        }
    }

    /// Counters of versions.
    pub(crate) fn stats(&self) -> VersionStats {
        VersionStats {
            versions: self.counts.versions.load(Relaxed),
            bytes: self.counts.bytes.load(Relaxed),
            most_bytes: self.most_bytes,
            snapshots_ended: self.counts.snapshots_ended.load(Relaxed),
        }
    }
}

impl Snapshot<'_> {
    /// Up to where commits are seen.
    #[inline]
    pub(crate) fn position(&self) -> u64 {
        self.position
    }
}

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        let mut unseen = Vec::new();
        self.versions.snapshots().end(self.position, &mut unseen);
        self.versions.let_go(&unseen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writes(keys: &[&str], kind: WriteKind) -> Arc<WriteSet> {
        let mut set = WriteSet::default();
        for key in keys {
            set.set(1, key.as_bytes(), kind, b"");
        }
        Arc::new(set)
    }

    /// Commits writes that replace a value.
    fn commit(
        versions: &Versions,
        window: &CommitWindow,
        writes: &Arc<WriteSet>,
        at: u64,
        value: &[u8],
    ) {
        assert!(versions.claim(writes, window.complete()));
        let in_log = window.enter(at);
        let replaced = (0..writes.len()).map(|index| {
            versions.replace(writes, index, at, |before| {
                before.extend_from_slice(value);
                Some(Lookup::Value)
            })
        });
        let replaced = replaced.collect();
        drop(in_log);
        versions.complete(replaced);
    }

    fn find(versions: &Versions, snapshot: u64) -> Option<Vec<u8>> {
        let mut value = Vec::new();
        match versions.find(1, b"x", snapshot, &mut value) {
            Seen::Newest => None,
            Seen::Older(_) => Some(value),
            Seen::InPage => panic!("all were read"),
        }
    }

    #[test]
    fn the_first_committer_wins_and_the_other_leaves_nothing() {
        let (versions, window) = (Versions::new(1 << 20), CommitWindow::new(10, 0));
        let (a, b) = (writes(&["x", "y"], WriteKind::Put), writes(&["z", "y"], WriteKind::Put));
        let snapshot = versions.snapshot(&window);
        assert!(versions.claim(&a, 10));
        assert!(!versions.claim(&b, 10), "y is claimed");
        versions.give_up(&a);
        commit(&versions, &window, &a, 20, b"old");
        assert!(!versions.claim(&b, 19), "y was written since");
        assert!(versions.claim(&b, 20));
        versions.give_up(&b);
        assert_eq!(versions.stats().versions, 2);
        drop(snapshot);
        assert_eq!((versions.stats().versions, versions.stats().bytes), (0, 0));
        assert!(versions.parts.iter().all(|part| part.lock().claims.is_empty()));
    }

    #[test]
    fn each_snapshot_sees_the_version_of_its_time_and_those_between_are_not_kept() {
        let (versions, window) = (Versions::new(1 << 20), CommitWindow::new(0, 0));
        let x = writes(&["x"], WriteKind::Put);
        let mut snapshots = Vec::new();
        for at in 1..=30 {
            if at % 10 == 0 {
                snapshots.push(versions.snapshot(&window));
            }
            commit(&versions, &window, &x, at, &[at as u8]);
        }
        assert_eq!(snapshots.iter().map(Snapshot::position).collect::<Vec<_>>(), [9, 19, 29]);
        let seen = [9, 19, 29, 30].map(|at| find(&versions, at));
        assert_eq!(seen, [Some(vec![10]), Some(vec![20]), Some(vec![30]), None]);
        assert_eq!(versions.stats().versions, 3);
        snapshots.remove(1);
        assert_eq!(versions.stats().versions, 2);
        assert_eq!([9, 29].map(|at| find(&versions, at)), [Some(vec![10]), Some(vec![30])]);
    }

    #[test]
    fn what_is_left_of_a_deleted_record_goes_with_its_last_version() {
        let (versions, window) = (Versions::new(1 << 20), CommitWindow::new(0, 0));
        let old = versions.snapshot(&window);
        commit(&versions, &window, &writes(&["x"], WriteKind::Put), 10, b"first");
        commit(&versions, &window, &writes(&["x", "y"], WriteKind::Delete), 20, b"second");
        assert!(versions.next_ghost().is_none(), "both are seen");
        drop(old);
        let mut gone =
            [versions.next_ghost(), versions.next_ghost()].map(|ghost| ghost.unwrap().key);
        gone.sort();
        assert_eq!(gone.map(|key| key.to_vec()), [b"x", b"y"]);
        assert!(versions.next_ghost().is_none());
    }

    #[test]
    fn the_oldest_snapshots_end_when_too_much_is_kept_for_them() {
        let (versions, window) = (Versions::new(2000), CommitWindow::new(0, 0));
        let old = versions.snapshot(&window);
        commit(&versions, &window, &writes(&["x"], WriteKind::Put), 10, &[1; 1000]);
        let new = versions.snapshot(&window);
        versions.check(old.position()).unwrap();
        commit(&versions, &window, &writes(&["x"], WriteKind::Put), 20, &[2; 1000]);
        let told = versions.check(old.position());
        assert!(matches!(told, Err(DbError::SnapshotTooOld { most: 2000 })), "{told:?}");
        versions.check(new.position()).unwrap();
        assert_eq!(find(&versions, new.position()), Some(vec![2; 1000]));
        let stats = versions.stats();
        assert_eq!((stats.versions, stats.snapshots_ended), (1, 1));
        assert!(stats.bytes <= 2000, "{stats:?}");
    }

    #[test]
    fn a_version_that_nobody_has_read_is_filled_by_the_page_and_counted_until_it_goes() {
        let (versions, window) = (Versions::new(1 << 20), CommitWindow::new(10, 0));
        let (x, snapshot) = (writes(&["x"], WriteKind::Put), versions.snapshot(&window));
        let change = |at: u64, before: Option<&[u8]>| {
            assert!(versions.claim(&x, window.complete()));
            let in_log = window.enter(at);
            let replaced = versions.replace(&x, 0, at, |value| {
                value.extend_from_slice(before?);
                Some(Lookup::Value)
            });
            drop(in_log);
            versions.complete(vec![replaced]);
        };
        change(20, None);
        change(30, Some(b"second"));
        let newer = versions.snapshot(&window);
        change(40, Some(b"third"));
        let mut value = Vec::new();
        assert_eq!(versions.find(1, b"x", 10, &mut value), Seen::InPage);
        assert_eq!(find(&versions, newer.position()), Some(b"third".to_vec()));
        let before = versions.stats().bytes;
        for first in [b"first", b"again"] {
            versions.fill(1, b"x", |value| {
                value.extend_from_slice(first);
                Lookup::Value
            });
            assert_eq!(find(&versions, 10), Some(b"first".to_vec()));
            assert_eq!(versions.stats().bytes, before + 5);
        }
        drop((snapshot, newer));
        assert_eq!(versions.stats(), VersionStats { most_bytes: 1 << 20, ..Default::default() });
    }
}
