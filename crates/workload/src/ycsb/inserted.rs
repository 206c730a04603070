//! The records that earlier runs inserted into a table that is kept.

use super::key;
use crate::attempt::{End, attempt};
use crate::error::Result;
use crate::{Access, Engine, Transaction};

/// Numbers in a block. Inserted records have consecutive numbers, except for those that were given
/// up, or were under way when the power failed: there are never as many of these in a row.
const TOGETHER: u64 = 1024;

/// The number behind the last existing record, but at least `loaded`.
pub(super) fn next<E: Engine>(engine: &E, table: E::Table, loaded: u64) -> Result<u64, E> {
    let mut next = loaded;
    attempt(engine, Access::ReadOnly, |transaction| {
        let mut value = Vec::new();
        let mut is_there = |id| transaction.get(table, &key(id), &mut value);
        let block = |n: u64| loaded + n * TOGETHER..loaded + (n + 1) * TOGETHER;
        let mut has_any = |n| {
            block(n)
                .map(&mut is_there)
                .find(|found| !matches!(found, Ok(false)))
                .unwrap_or(Ok(false))
        };
        // Block `some` has records, and block `none` has none.
        let (mut some, mut none) = (0, 0);
        while has_any(none)? {
            (some, none) = (none + 1, none * 2 + 1);
        }
        while some < none {
            let middle = some.midpoint(none);
            match has_any(middle)? {
                true => some = middle + 1,
                false => none = middle,
            }
        }
        next = loaded + some * TOGETHER;
        while next > loaded && !is_there(next - 1)? {
            next -= 1;
        }
        Ok(End::Commit)
    })?;
    Ok(next)
}
