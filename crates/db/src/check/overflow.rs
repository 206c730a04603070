//! Long values, and the pieces that they are kept in.

use std::collections::BTreeMap;

use super::Finding;
use super::tree::Seen;
use crate::overflow::{PIECE, parse_overflow, piece_number};

/// The long values of all tables, and how far their pieces were found.
#[derive(Default)]
pub struct LongValues {
    by_number: BTreeMap<u64, LongValue>,
}

struct LongValue {
    /// The page that names it.
    page: u32,
    bytes: usize,
    /// Pieces that were found, which come in order.
    found: usize,
}

impl LongValues {
    /// The number of long values.
    pub fn count(&self) -> u64 {
        self.by_number.len() as u64
    }

    /// Notes a table's record, if its value is in pieces.
    pub fn note(&mut self, page: u32, record: &Seen<'_>) -> Option<Finding> {
        if !record.is_overflow {
            return None;
        }
        let Ok((number, bytes)) = parse_overflow(record.value) else {
            return Some(Finding::at(page, "a long value does not say where its pieces are"));
        };
        let before = self.by_number.insert(number, LongValue { page, bytes, found: 0 });
        before.map(|_| Finding::at(page, format!("long value {number} is another record's too")))
    }

    /// Counts a piece for its value.
    pub fn take_piece(&mut self, page: u32, record: &Seen<'_>) -> Option<Finding> {
        let Some((number, n)) = piece_number(record.key) else {
            return Some(Finding::at(page, "a piece has no number"));
        };
        let wrong = |what| Some(Finding::at(page, format!("piece {n} of {number}: {what}")));
        let Some(value) = self.by_number.get_mut(&number) else {
            return wrong("no record has this value");
        };
        let rest = value.bytes.saturating_sub(n * PIECE).min(PIECE);
        if n != value.found || record.value.len() != rest || record.is_overflow {
            return wrong("it is not the one that the value needs next");
        }
        value.found += 1;
        None
    }

    /// The values with missing pieces.
    pub fn left_over(&self) -> impl Iterator<Item = Finding> {
        self.by_number.iter().filter_map(|(number, value)| {
            let needed = value.bytes.div_ceil(PIECE);
            let what = || format!("long value {number} has {} pieces of {needed}", value.found);
            (value.found != needed).then(|| Finding::at(value.page, what()))
        })
    }
}
