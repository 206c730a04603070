//! Tables whose keys and values have types.

use std::any::type_name;
use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

use frostline_db::Table;
use frostline_db::key::{self, Parts};

use crate::{Db, Error, KeyValue, Range, Result, Snapshot, Update, Value};

/// A table whose keys are of type `K` and whose values are of type `V`.
///
/// Keys are numbers, texts, bytes, options and tuples of them: their bytes
/// [order](crate::engine::key) as they do. Where a key is asked for, texts and bytes may be
/// borrowed.
///
/// ```
/// # let db = frostline::Options::new().bound(64 << 20).in_memory()?;
/// use frostline::Typed;
///
/// let stock: Typed<(String, u32), u64> = db.typed("stock")?;
/// db.update(|tx| {
///     stock.put(tx, &("bolt", 8u32), &120)?;
///     stock.put(tx, &("bolt", 10u32), &80)?;
///     stock.put(tx, &("nut", 8u32), &95)
/// })?;
/// let look = db.read()?;
/// assert_eq!(stock.get(&look, &("nut", 8u32))?, Some(95));
/// let bolts = stock.prefix(&look, &("bolt",)).collect::<Result<Vec<_>, _>>()?;
/// assert_eq!(bolts, [(("bolt".to_string(), 8), 120), (("bolt".to_string(), 10), 80)]);
/// # Ok::<(), frostline::Error>(())
/// ```
///
/// A table has no type of its own: the program that opens it says which it is. What is not of that
/// type is [`Error::NotOfType`] when it is read.
pub struct Typed<K, V> {
    table: Table,
    types: PhantomData<fn(K) -> V>,
}

impl Db {
    /// The table with this name, with types of keys and values; it is made if it does not exist.
    ///
    /// # Errors
    /// Those of [`Db::table`].
    pub fn typed<K, V>(&self, name: &str) -> Result<Typed<K, V>> {
        Ok(Typed { table: self.table(name)?, types: PhantomData })
    }
}

impl<K, V> Typed<K, V> {
    /// The table without its types.
    pub fn table(&self) -> Table {
        self.table
    }
}

impl<K: Parts<Owned = K>, V: Value> Typed<K, V> {
    /// The value of a key.
    ///
    /// # Errors
    /// Those of [`Snapshot::get`]; [`Error::NotOfType`].
    pub fn get(&self, look: &Snapshot<'_>, key: &impl Parts<Owned = K>) -> Result<Option<V>> {
        look.get(self.table, key::encode(key))?.map(|value| value_of(&value)).transpose()
    }

    /// True if the key has a value.
    ///
    /// # Errors
    /// Those of [`Snapshot::get`].
    pub fn contains_key(&self, look: &Snapshot<'_>, key: &impl Parts<Owned = K>) -> Result<bool> {
        look.contains_key(self.table, key::encode(key))
    }

    /// The first key and its value.
    ///
    /// # Errors
    /// Those of [`Typed::get`].
    pub fn first(&self, look: &Snapshot<'_>) -> Result<Option<(K, V)>> {
        self.all(look).next().transpose()
    }

    /// The last key and its value.
    ///
    /// # Errors
    /// Those of [`Typed::get`].
    pub fn last(&self, look: &Snapshot<'_>) -> Result<Option<(K, V)>> {
        self.all(look).next_back().transpose()
    }

    /// The records whose keys lie in a range, in the order of keys, from both ends.
    pub fn range<'t, Q: Parts<Owned = K>>(
        &self,
        look: &'t Snapshot<'_>,
        keys: impl RangeBounds<Q>,
    ) -> TypedRange<'t, K, V> {
        let keys: (Bound<_>, Bound<_>) =
            (keys.start_bound().map(key::encode), keys.end_bound().map(key::encode));
        TypedRange { range: look.range(self.table, keys), types: PhantomData }
    }

    /// All records, in the order of keys.
    pub fn all<'t>(&self, look: &'t Snapshot<'_>) -> TypedRange<'t, K, V> {
        TypedRange { range: look.all(self.table), types: PhantomData }
    }

    /// The records whose keys begin with these parts, in the order of keys. Other parts than a key
    /// begins with give no records, or records that are not of the type.
    pub fn prefix<'t>(&self, look: &'t Snapshot<'_>, parts: &impl Parts) -> TypedRange<'t, K, V> {
        TypedRange { range: look.prefix(self.table, key::encode(parts)), types: PhantomData }
    }

    /// Sets the value of a key.
    ///
    /// # Errors
    /// Those of [`Update::put`]; [`Error::NotOfType`] if the value has no bytes.
    pub fn put(
        &self,
        update: &mut Update<'_>,
        key: &impl Parts<Owned = K>,
        value: &V,
    ) -> Result<()> {
        let bytes =
            value.to_bytes().ok_or(Error::NotOfType { part: "value", of: type_name::<V>() })?;
        update.put(self.table, key::encode(key), bytes)
    }

    /// Removes a key and its value, if the key exists.
    ///
    /// # Errors
    /// Those of [`Update::put`].
    pub fn delete(&self, update: &mut Update<'_>, key: &impl Parts<Owned = K>) -> Result<()> {
        update.delete(self.table, key::encode(key))
    }

    /// Removes the first key and its value, and returns both.
    ///
    /// # Errors
    /// Those of [`Update::put`] and [`Typed::get`].
    pub fn pop_first(&self, update: &mut Update<'_>) -> Result<Option<(K, V)>> {
        update.pop_first(self.table)?.map(record_of).transpose()
    }

    /// Removes the last key and its value, and returns both.
    ///
    /// # Errors
    /// Those of [`Update::put`] and [`Typed::get`].
    pub fn pop_last(&self, update: &mut Update<'_>) -> Result<Option<(K, V)>> {
        update.pop_last(self.table)?.map(record_of).transpose()
    }
}

fn value_of<V: Value>(bytes: &[u8]) -> Result<V> {
    let wrong = Error::NotOfType { part: "value", of: type_name::<V>() };
    V::from_bytes(bytes).ok_or(wrong)
}

fn record_of<K: Parts<Owned = K>, V: Value>((key, value): KeyValue) -> Result<(K, V)> {
    let wrong = Error::NotOfType { part: "key", of: type_name::<K>() };
    Ok((key::decode(&key).ok_or(wrong)?, value_of(&value)?))
}

impl<K, V> Clone for Typed<K, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K, V> Copy for Typed<K, V> {}

impl<K, V> fmt::Debug for Typed<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Typed").field(&self.table).finish()
    }
}

/// The records of a range of keys of a [`Typed`] table. An error of the database ends it; a record
/// that is not of the types does not.
pub struct TypedRange<'t, K, V> {
    range: Range<'t>,
    types: PhantomData<fn() -> (K, V)>,
}

impl<K: Parts<Owned = K>, V: Value> Iterator for TypedRange<'_, K, V> {
    type Item = Result<(K, V)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.range.next().map(|record| record_of(record?))
    }
}

impl<K: Parts<Owned = K>, V: Value> DoubleEndedIterator for TypedRange<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.range.next_back().map(|record| record_of(record?))
    }
}

impl<K: Parts<Owned = K>, V: Value> FusedIterator for TypedRange<'_, K, V> {}
