//! Records of a range of keys, from both ends.

use std::iter::FusedIterator;
use std::ops::Bound::{self, Excluded, Included, Unbounded};

use frostline_db::{Direction, Scan, Table, Transaction};

use crate::Result;

/// A key and its value.
type KeyValue = (Vec<u8>, Vec<u8>);

/// The records of a range of keys in the order of keys: from the front as an iterator, from the
/// back as a [`DoubleEndedIterator`]. The first error ends it.
pub struct Range<'t> {
    transaction: &'t Transaction<'t>,
    table: Table,
    /// The rest of the range: each returned record moves a bound.
    low: Bound<Vec<u8>>,
    high: Bound<Vec<u8>>,
    forward: Option<Scan<'t, 't>>,
    backward: Option<Scan<'t, 't>>,
    has_ended: bool,
}

impl<'t> Range<'t> {
    pub(crate) fn new(
        transaction: &'t Transaction<'t>,
        table: Table,
        low: Bound<Vec<u8>>,
        high: Bound<Vec<u8>>,
    ) -> Self {
        let (forward, backward) = (None, None);
        Range { transaction, table, low, high, forward, backward, has_ended: false }
    }

    fn next_record(&mut self) -> Result<Option<KeyValue>> {
        let (transaction, table, low) = (self.transaction, self.table, &self.low);
        let scan =
            self.forward.get_or_insert_with(|| scan(transaction, table, low, Direction::Forward));
        while let Some((key, value)) = scan.next()? {
            if !is_below(key, &self.high) {
                break;
            }
            // The scan includes its bound.
            if is_above(key, &self.low) {
                let record = (key.to_vec(), value.to_vec());
                self.low = Excluded(record.0.clone());
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    fn next_record_back(&mut self) -> Result<Option<KeyValue>> {
        let (transaction, table, high) = (self.transaction, self.table, &self.high);
        let scan = self
            .backward
            .get_or_insert_with(|| scan(transaction, table, high, Direction::Backward));
        while let Some((key, value)) = scan.next()? {
            if !is_above(key, &self.low) {
                break;
            }
            if is_below(key, &self.high) {
                let record = (key.to_vec(), value.to_vec());
                self.high = Excluded(record.0.clone());
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
    from: &Bound<Vec<u8>>,
    direction: Direction,
) -> Scan<'t, 't> {
    match from {
        Included(key) | Excluded(key) => transaction.scan(table, key, direction),
        Unbounded => transaction.scan_all(table, direction),
    }
}

fn is_above(key: &[u8], low: &Bound<Vec<u8>>) -> bool {
    match low {
        Included(low) => key >= &low[..],
        Excluded(low) => key > &low[..],
        Unbounded => true,
    }
}

fn is_below(key: &[u8], high: &Bound<Vec<u8>>) -> bool {
    match high {
        Included(high) => key <= &high[..],
        Excluded(high) => key < &high[..],
        Unbounded => true,
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
