//! Tables that share one space of keys: a byte before each key tells them apart. So they share the
//! memory for writes as well.

use std::sync::{Mutex, PoisonError};

/// The tables that were opened, by number.
#[derive(Debug, Default)]
pub struct Tables(Mutex<Vec<String>>);

impl Tables {
    /// The table with this name, which is new unless it was opened before.
    pub fn open(&self, name: &str) -> Table {
        let mut tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = tables.iter().position(|table| table == name);
        let number = known.unwrap_or_else(|| {
            tables.push(name.to_owned());
            tables.len() - 1
        });
        Table(u8::try_from(number).expect("a workload has a dozen tables"))
    }
}

/// The prefix of the keys of a table.
#[derive(Clone, Copy, Debug)]
pub struct Table(u8);

impl Table {
    /// The key behind the table's byte.
    pub fn key(self, key: &[u8]) -> Vec<u8> {
        const EXPECTED: usize = 64;
        let mut whole = Vec::with_capacity(EXPECTED);
        whole.push(self.0);
        whole.extend_from_slice(key);
        whole
    }

    /// The table's own key of a whole one; none if it is another table's.
    pub fn own(self, whole: &[u8]) -> Option<&[u8]> {
        let (table, key) = whole.split_first()?;
        (*table == self.0).then_some(key)
    }
}
