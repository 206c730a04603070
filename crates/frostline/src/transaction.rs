//! Reads and writes of a transaction.

use std::ops::{Bound, Deref, RangeBounds};

use frostline_db::{Table, Transaction};

use crate::{Range, Result};

/// A state of the database: all that was committed when the snapshot was taken. Writers neither
/// wait for it nor change it.
pub struct Snapshot<'d> {
    inner: Transaction<'d>,
}

impl<'d> Snapshot<'d> {
    pub(crate) fn new(inner: Transaction<'d>) -> Self {
        Snapshot { inner }
    }

    /// The value of a key.
    ///
    /// # Errors
    /// A damaged page; an error of the device.
    pub fn get(&self, table: Table, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        Ok(self.inner.get(table, key.as_ref())?)
    }

    /// The records whose keys lie in a range, in the order of keys, from both ends: see
    /// [`DoubleEndedIterator`].
    pub fn range<K: AsRef<[u8]>>(&self, table: Table, keys: impl RangeBounds<K>) -> Range<'_> {
        let owned = |bound: Bound<&K>| bound.map(|key| key.as_ref().to_vec());
        Range::new(&self.inner, table, owned(keys.start_bound()), owned(keys.end_bound()))
    }

    /// All records of a table, in the order of keys.
    pub fn all(&self, table: Table) -> Range<'_> {
        self.range::<&[u8]>(table, ..)
    }

    /// The records whose keys begin with a prefix, in the order of keys.
    pub fn prefix(&self, table: Table, prefix: impl AsRef<[u8]>) -> Range<'_> {
        let first = prefix.as_ref();
        let behind = behind_prefix(first).map_or(Bound::Unbounded, Bound::Excluded);
        Range::new(&self.inner, table, Bound::Included(first.to_vec()), behind)
    }
}

/// The smallest key behind all keys with this prefix; `None` if there is no such key.
fn behind_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != u8::MAX)?;
    let mut behind = prefix[..=last].to_vec();
    behind[last] += 1;
    Some(behind)
}

/// A transaction that writes: it reads like a [`Snapshot`], and also sees its own writes.
pub struct Update<'d> {
    snapshot: Snapshot<'d>,
}

impl<'d> Update<'d> {
    pub(crate) fn new(inner: Transaction<'d>) -> Self {
        Update { snapshot: Snapshot::new(inner) }
    }

    /// Sets the value of a key.
    ///
    /// # Errors
    /// The key or the value is too long; a damaged page; an error of the device.
    pub fn put(
        &mut self,
        table: Table,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> Result<()> {
        Ok(self.snapshot.inner.put(table, key.as_ref(), value.as_ref())?)
    }

    /// Removes a key and its value, if the key exists.
    ///
    /// # Errors
    /// Those of [`Update::put`].
    pub fn delete(&mut self, table: Table, key: impl AsRef<[u8]>) -> Result<()> {
        Ok(self.snapshot.inner.delete(table, key.as_ref())?)
    }

    pub(crate) fn commit(self) -> Result<()> {
        Ok(self.snapshot.inner.commit()?)
    }
}

impl<'d> Deref for Update<'d> {
    type Target = Snapshot<'d>;

    fn deref(&self) -> &Snapshot<'d> {
        &self.snapshot
    }
}

#[cfg(test)]
mod tests {
    use super::behind_prefix;

    #[test]
    fn the_key_behind_a_prefix_is_the_least_that_does_not_begin_with_it() {
        assert_eq!(behind_prefix(b"user:"), Some(b"user;".to_vec()));
        assert_eq!(behind_prefix(b"a\xff\xff"), Some(b"b".to_vec()));
        assert_eq!(behind_prefix(b"\xff"), None);
        assert_eq!(behind_prefix(b""), None);
    }
}
