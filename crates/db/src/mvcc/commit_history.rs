//! The keys that commits wrote since the oldest serializable transaction began. While there is no
//! such transaction, nothing is kept.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::{ReadSet, WriteSet};
use crate::layout::is_of_pages;

/// Keys of recent commits, for transactions that compare them with what they read.
pub(super) struct CommitHistory {
    /// Serializable transactions, by a position from which they need the commits.
    users: BTreeMap<u64, usize>,
    /// By position.
    commits: VecDeque<(u64, Arc<Keys>)>,
    bytes: u64,
    most_bytes: u64,
    /// Commits up to here may have been let go before their time.
    lost: u64,
}

/// The keys of a commit, one behind the other: tree (u32), length (u16), key. What says which pages
/// a long value has is left out, as it is read only through the record that names the value.
pub(super) struct Keys(Box<[u8]>);

impl Keys {
    fn of(writes: &WriteSet) -> Self {
        let mut bytes = Vec::new();
        for write in writes.iter() {
            let key = writes.key(write);
            if is_of_pages(write.tree, key) {
                continue;
            }
            bytes.extend_from_slice(&write.tree.to_le_bytes());
            bytes.extend_from_slice(&(key.len() as u16).to_le_bytes());
            bytes.extend_from_slice(key);
        }
        Keys(bytes.into())
    }

    /// True if a transaction that read this read one of the keys.
    pub(super) fn meet(&self, reads: &ReadSet) -> bool {
        let mut rest = &self.0[..];
        while let Some((tree, tail)) = rest.split_first_chunk::<4>()
            && let Some((len, tail)) = tail.split_first_chunk::<2>()
            && let Some((key, tail)) = tail.split_at_checked(usize::from(u16::from_le_bytes(*len)))
        {
            if reads.covers(u32::from_le_bytes(*tree), key) {
                return true;
            }
            rest = tail;
        }
        false
    }
}

impl CommitHistory {
    /// Nothing; at most about `most_bytes` will be kept.
    pub(super) fn new(most_bytes: u64) -> Self {
        CommitHistory {
            users: BTreeMap::new(),
            commits: VecDeque::new(),
            bytes: 0,
            most_bytes,
            lost: 0,
        }
    }

    /// Commits from here on are needed by one more transaction.
    pub(super) fn begin(&mut self, position: u64) {
        *self.users.entry(position).or_default() += 1;
    }

    /// A transaction that needed the commits from here on has ended.
    pub(super) fn end(&mut self, position: u64) {
        debug_assert!(self.users.contains_key(&position), "a transaction ends that had begun");
        if let Some(users) = self.users.get_mut(&position) {
            assert!(*users > 0, "a position is kept for a user");
            *users -= 1;
            if *users == 0 {
                self.users.remove(&position);
            }
        }
        let oldest = self.users.keys().next().copied().unwrap_or(u64::MAX);
        while self.commits.front().is_some_and(|(position, _)| *position <= oldest) {
            self.let_go();
        }
    }

    /// A commit is complete, and all before it are.
    #[inline]
    pub(super) fn complete(&mut self, position: u64, writes: &WriteSet) {
        if !self.users.is_empty() {
            self.keep(position, Keys::of(writes));
        }
    }

    fn keep(&mut self, position: u64, keys: Keys) {
        assert!(
            self.commits.back().is_none_or(|(last, _)| *last < position),
            "commits are complete in the order of the log"
        );
        self.bytes += keys.memory();
        self.commits.push_back((position, Arc::new(keys)));
        while self.bytes > self.most_bytes {
            let Some(position) = self.let_go() else { return };
            self.lost = position;
        }
    }

    fn let_go(&mut self) -> Option<u64> {
        let (position, keys) = self.commits.pop_front()?;
        assert!(keys.memory() <= self.bytes, "more keys are let go than are kept");
        self.bytes -= keys.memory();
        Some(position)
    }

    /// The complete commits behind a position; none if not all of them are kept.
    pub(super) fn since(&self, position: u64) -> Option<impl Iterator<Item = &(u64, Arc<Keys>)>> {
        let first = self.commits.partition_point(|(commit, _)| *commit <= position);
        (position >= self.lost).then(|| self.commits.range(first..))
    }

    /// Bytes that may be kept.
    pub(super) fn most_bytes(&self) -> u64 {
        self.most_bytes
    }
}

impl Keys {
    /// Bytes of memory, about.
    fn memory(&self) -> u64 {
        (self.0.len() + size_of::<(u64, Arc<Keys>)>() + 48) as u64
    }
}
