//! A transaction with access to the tables.

use std::ops::ControlFlow;

use super::tables::{Tables, TpccTable};
use crate::error::{Error, Result};
use crate::{Direction, Engine, Transaction};

/// A transaction and its tables. Every row that it reads has all fixed-width fields of its table.
pub(super) struct TpccSession<'s, 'e, E: Engine + 'e> {
    pub(super) transaction: &'s mut E::Transaction<'e>,
    pub(super) tables: &'s Tables<E::Table>,
    /// Scratch memory for the engine's patches.
    pub(super) scratch: &'s mut Vec<u8>,
}

impl<'e, E: Engine + 'e> TpccSession<'_, 'e, E> {
    /// Says that these rows are read or written soon.
    pub(super) fn prefetch(&mut self, rows: &[(TpccTable, &[u8])]) -> Result<(), E> {
        let of = |&(table, key): &(TpccTable, _)| (self.tables.of(table), key);
        let rows: Vec<(E::Table, &[u8])> = rows.iter().map(of).collect();
        Ok(self.transaction.prefetch(&rows)?)
    }

    /// Reads a row, if it exists.
    pub(super) fn find(
        &mut self,
        table: TpccTable,
        key: &[u8],
        row: &mut Vec<u8>,
    ) -> Result<bool, E> {
        let found = self.transaction.get(self.tables.of(table), key, row)?;
        if found && row.len() < table.fixed() {
            return Err(short(table));
        }
        Ok(found)
    }

    /// Reads a row that must exist.
    pub(super) fn get(&mut self, table: TpccTable, key: &[u8], row: &mut Vec<u8>) -> Result<(), E> {
        if self.find(table, key, row)? { Ok(()) } else { Err(missing(table)) }
    }

    /// Writes a row as a whole.
    pub(super) fn put(&mut self, table: TpccTable, key: &[u8], row: &[u8]) -> Result<(), E> {
        Ok(self.transaction.put(self.tables.of(table), key, row)?)
    }

    /// Overwrites part of an existing row.
    pub(super) fn patch(
        &mut self,
        table: TpccTable,
        key: &[u8],
        at: usize,
        bytes: &[u8],
    ) -> Result<(), E> {
        Ok(self.transaction.patch(self.tables.of(table), key, at, bytes, self.scratch)?)
    }

    /// Deletes a row.
    pub(super) fn delete(&mut self, table: TpccTable, key: &[u8]) -> Result<(), E> {
        Ok(self.transaction.delete(self.tables.of(table), key)?)
    }

    /// Passes the rows from `bound` on whose keys begin with `prefix` to `visit`, until it breaks:
    /// the rest of each key, and the row.
    pub(super) fn scan(
        &mut self,
        table: TpccTable,
        prefix: &[u8],
        bound: &[u8],
        direction: Direction,
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), E> {
        let mut is_short = false;
        self.transaction.scan(self.tables.of(table), bound, direction, &mut |key, row| {
            let Some(rest) = key.strip_prefix(prefix) else { return ControlFlow::Break(()) };
            is_short = row.len() < table.fixed();
            if is_short { ControlFlow::Break(()) } else { visit(rest, row) }
        })?;
        if is_short { Err(short(table)) } else { Ok(()) }
    }
}

/// The error for a row that must exist but does not.
pub(super) fn missing<E: std::error::Error>(table: TpccTable) -> Error<E> {
    Error::Data { table: table.name(), what: "a row is missing that must be there" }
}

fn short<E: std::error::Error>(table: TpccTable) -> Error<E> {
    Error::Data { table: table.name(), what: "a row is too short" }
}

/// The error for a key whose length is wrong for its table.
pub(super) fn odd_key<E: std::error::Error>(table: TpccTable) -> Error<E> {
    Error::Data { table: table.name(), what: "a key has an unexpected length" }
}
