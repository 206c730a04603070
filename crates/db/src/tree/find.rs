//! The way down a tree, without latches.

use super::Trees;
use crate::DbError;
use crate::mvcc::Before;
use crate::node::PageBytes;
use crate::pool::{Place, Seen};

/// What a key has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Nothing,
    /// A value.
    Value,
    /// A value in pieces elsewhere.
    Pieces,
}

impl Trees {
    /// The leaf that a key belongs to.
    #[inline]
    pub(super) fn leaf(&self, tree: u32, key: &[u8]) -> Result<Seen<'_>, DbError> {
        let weight = self.pool.sample();
        loop {
            if let Some((_, leaf)) = self.descend(tree, key, 0, weight)? {
                return Ok(leaf);
            }
        }
    }

    /// The leaf at a place, if it is still there and the key belongs to it; else as
    /// [`Trees::leaf`]. The leaf can be written to: in a tree that is damaged the way down may end
    /// where the key does not belong.
    #[inline]
    pub(super) fn leaf_at(
        &self,
        place: Option<Place>,
        tree: u32,
        key: &[u8],
    ) -> Result<Seen<'_>, DbError> {
        if let Some(seen) = place.and_then(|place| self.pool.look_at(place)) {
            let node = seen.node();
            let is_it = node.tree() == tree && node.level() == 0 && node.covers(key);
            if is_it && seen.is_unchanged() {
                return Ok(seen);
            }
        }
        let seen = self.leaf(tree, key)?;
        let place = seen.place();
        if !seen.node().covers(key) && seen.is_unchanged() {
            return Err(place.is_damaged());
        }
        Ok(seen)
    }

    /// The node of a level that a key belongs to, and the one above unless it is the root. None
    /// if something changed on the way, or had to be read.
    #[inline]
    pub(super) fn descend(
        &self,
        tree: u32,
        key: &[u8],
        level: usize,
        weight: u32,
    ) -> Result<Option<(Option<Seen<'_>>, Seen<'_>)>, DbError> {
        let Some(mut seen) = self.pool.look(tree)? else { return Ok(None) };
        let (mut parent, mut passed) = (None, 1);
        loop {
            let node = seen.node();
            let at = node.level();
            if at <= level {
                let is_unchanged = seen.is_unchanged();
                if is_unchanged {
                    self.pool.count_descent(passed, weight);
                }
                return Ok(is_unchanged.then_some((parent, seen)));
            }
            let child = node.child_for(key);
            if !seen.is_unchanged() {
                return Ok(None);
            }
            if weight > 0 {
                seen.accessed(weight);
            }
            let next = self.pool.look(child);
            if !seen.is_unchanged() {
                // The child may have been freed meanwhile: whatever became of it.
                return Ok(None);
            }
            let Some(next) = next? else { return Ok(None) };
            if next.node().level() >= at && next.is_unchanged() {
                return Err(DbError::Page { page: child, what: "is not below its parent" });
            }
            parent = Some(seen);
            passed += 1;
            seen = next;
        }
    }

    /// Puts the value that `snapshot` sees of a key into `value`, or where its pieces are; and
    /// tells where the key's leaf was.
    #[inline]
    pub fn get(
        &self,
        tree: u32,
        key: &[u8],
        snapshot: u64,
        value: &mut Vec<u8>,
    ) -> Result<(Found, Place), DbError> {
        loop {
            let seen = self.leaf(tree, key)?;
            let node = seen.node();
            value.clear();
            let mut found = Found::Nothing;
            if let (index, true) = node.search(key) {
                let slot = node.slot(index);
                if !slot.is_ghost() {
                    node.value(slot, value);
                    found = if slot.is_pieces() { Found::Pieces } else { Found::Value };
                }
            }
            let position = node.position();
            if !seen.is_unchanged() {
                continue;
            }
            seen.accessed(1);
            if position > snapshot
                && let Some(before) = self.versions.find(tree, key, snapshot)
            {
                found = before.put_into(value);
            }
            return Ok((found, seen.place()));
        }
    }

    /// Copies the leaf that a key belongs to, or with `before` the leaf that the greatest smaller
    /// key belongs to.
    pub fn copy_leaf(
        &self,
        tree: u32,
        key: &[u8],
        before: bool,
        copy: &mut PageBytes,
    ) -> Result<(), DbError> {
        loop {
            let seen = match before {
                false => self.leaf(tree, key)?,
                true => self.leaf_before(tree, key)?,
            };
            seen.node().page().copy_to(copy);
            if seen.is_unchanged() {
                seen.accessed(1);
                return Ok(());
            }
        }
    }

    /// The leaf that keys just below `key`, which is not the smallest of all, belong to. An empty
    /// key stands for infinity.
    fn leaf_before(&self, tree: u32, key: &[u8]) -> Result<Seen<'_>, DbError> {
        let weight = self.pool.sample();
        loop {
            if let Some(leaf) = self.descend_before(tree, key, weight)? {
                return Ok(leaf);
            }
        }
    }

    fn descend_before(
        &self,
        tree: u32,
        key: &[u8],
        weight: u32,
    ) -> Result<Option<Seen<'_>>, DbError> {
        let Some(mut seen) = self.pool.look(tree)? else { return Ok(None) };
        let mut passed = 1;
        loop {
            let node = seen.node();
            let at = node.level();
            if at == 0 {
                let is_unchanged = seen.is_unchanged();
                if is_unchanged {
                    self.pool.count_descent(passed, weight);
                }
                return Ok(is_unchanged.then_some(seen));
            }
            // A key that is the node's upper fence lies behind all its children.
            let index = match key.is_empty() || !node.covers(key) {
                true => node.count(),
                false => node.search(key).0,
            };
            let child = node.child(index.saturating_sub(1));
            if !seen.is_unchanged() {
                return Ok(None);
            }
            if weight > 0 {
                seen.accessed(weight);
            }
            let next = self.pool.look(child);
            if !seen.is_unchanged() {
                return Ok(None);
            }
            let Some(next) = next? else { return Ok(None) };
            if next.node().level() >= at && next.is_unchanged() {
                return Err(DbError::Page { page: child, what: "is not below its parent" });
            }
            passed += 1;
            seen = next;
        }
    }
}

impl Before {
    /// Puts the version into `value`.
    pub fn put_into(&self, value: &mut Vec<u8>) -> Found {
        value.clear();
        match self {
            Before::Nothing => Found::Nothing,
            Before::Value(bytes) => {
                value.extend_from_slice(bytes);
                Found::Value
            }
            Before::Pieces(bytes) => {
                value.extend_from_slice(bytes);
                Found::Pieces
            }
        }
    }
}
