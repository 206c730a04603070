//! Records of a range of keys, from both ends.

use std::iter::FusedIterator;
use std::ops::Bound::{self, Excluded, Included, Unbounded};
use std::ops::RangeBounds;

use frostline_db::{Direction, Scan, Table, Transaction};

use crate::Result;

/// A key and its value.
pub type KeyValue = (Vec<u8>, Vec<u8>);

/// The bounds of a range of keys.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    pub low: Bound<Vec<u8>>,
    pub high: Bound<Vec<u8>>,
}

impl Keys {
    pub(crate) fn of<K: AsRef<[u8]>>(range: &impl RangeBounds<K>) -> Keys {
        let owned = |bound: Bound<&K>| bound.map(|key| key.as_ref().to_vec());
        Keys { low: owned(range.start_bound()), high: owned(range.end_bound()) }
    }

    pub(crate) fn all() -> Keys {
        Keys { low: Unbounded, high: Unbounded }
    }

    pub(crate) fn with_prefix(prefix: &[u8]) -> Keys {
        let high = behind_prefix(prefix).map_or(Unbounded, Excluded);
        Keys { low: Included(prefix.to_vec()), high }
    }

    /// A scan forward from the lower bound on, itself included. `other` has begun from the other
    /// end.
    pub(crate) fn scan<'t>(
        &self,
        transaction: &'t Transaction<'t>,
        table: Table,
        other: Option<&Scan<'t, 't>>,
    ) -> Scan<'t, 't> {
        scan(transaction, table, other, &self.low, Direction::Forward)
    }

    /// A scan backward from the upper bound on, itself included. `other` has begun from the other
    /// end.
    pub(crate) fn scan_back<'t>(
        &self,
        transaction: &'t Transaction<'t>,
        table: Table,
        other: Option<&Scan<'t, 't>>,
    ) -> Scan<'t, 't> {
        scan(transaction, table, other, &self.high, Direction::Backward)
    }

    pub(crate) fn is_above_low(&self, key: &[u8]) -> bool {
        match &self.low {
            Included(low) => key >= &low[..],
            Excluded(low) => key > &low[..],
            Unbounded => true,
        }
    }

    pub(crate) fn is_below_high(&self, key: &[u8]) -> bool {
        match &self.high {
            Included(high) => key <= &high[..],
            Excluded(high) => key < &high[..],
            Unbounded => true,
        }
    }
}

/// The smallest key behind all keys with this prefix; `None` if there is no such key.
fn behind_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != u8::MAX)?;
    let mut behind = prefix[..=last].to_vec();
    behind[last] += 1;
    Some(behind)
}

/// The records of a range of keys in the order of keys: from the front as an iterator, from the
/// back as a [`DoubleEndedIterator`]. The first error ends it.
pub struct Range<'t> {
    transaction: &'t Transaction<'t>,
    table: Table,
    /// The rest of the range: each returned record moves a bound.
    keys: Keys,
    forward: Option<Scan<'t, 't>>,
    backward: Option<Scan<'t, 't>>,
    has_ended: bool,
}

impl<'t> Range<'t> {
    pub(crate) fn new(transaction: &'t Transaction<'t>, table: Table, keys: Keys) -> Self {
        Range { transaction, table, keys, forward: None, backward: None, has_ended: false }
    }

    /// The bounds of what was not returned yet.
    pub(crate) fn rest(self) -> Keys {
        self.keys
    }

    fn next_record(&mut self) -> Result<Option<KeyValue>> {
        let (transaction, table, keys) = (self.transaction, self.table, &self.keys);
        let other = self.backward.as_ref();
        let scan = self.forward.get_or_insert_with(|| keys.scan(transaction, table, other));
        while let Some((key, value)) = scan.next()? {
            if !self.keys.is_below_high(key) {
                break;
            }
            // The scan includes its bound.
            if self.keys.is_above_low(key) {
                let record = (key.to_vec(), value.to_vec());
                self.keys.low = Excluded(record.0.clone());
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    fn next_record_back(&mut self) -> Result<Option<KeyValue>> {
        let (transaction, table, keys) = (self.transaction, self.table, &self.keys);
        let other = self.forward.as_ref();
        let scan = self.backward.get_or_insert_with(|| keys.scan_back(transaction, table, other));
        while let Some((key, value)) = scan.next()? {
            if !self.keys.is_above_low(key) {
                break;
            }
            if self.keys.is_below_high(key) {
                let record = (key.to_vec(), value.to_vec());
                self.keys.high = Excluded(record.0.clone());
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// Ends the range after its last record and after an error.
    fn end_after(&mut self, record: Result<Option<KeyValue>>) -> Option<Result<KeyValue>> {
        self.has_ended = !matches!(record, Ok(Some(_)));
        record.transpose()
    }
}

fn scan<'t>(
    transaction: &'t Transaction<'t>,
    table: Table,
    other: Option<&Scan<'t, 't>>,
    from: &Bound<Vec<u8>>,
    direction: Direction,
) -> Scan<'t, 't> {
    let bound = match from {
        Included(key) | Excluded(key) => Some(&key[..]),
        Unbounded => None,
    };
    match (other, bound) {
        // The table may have been deleted since the range began: it goes to its end.
        (Some(other), bound) => other.beside(bound, direction),
        (None, Some(key)) => transaction.scan(table, key, direction),
        (None, None) => transaction.scan_all(table, direction),
    }
}

impl Iterator for Range<'_> {
    type Item = Result<KeyValue>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        let record = self.next_record();
        self.end_after(record)
    }
}

impl DoubleEndedIterator for Range<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        let record = self.next_record_back();
        self.end_after(record)
    }
}

impl FusedIterator for Range<'_> {}

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
