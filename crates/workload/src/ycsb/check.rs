//! The condition that the table meets while no transaction runs.

use std::ops::ControlFlow;

use frostline_random::unmix;

use super::YcsbOptions;
use crate::attempt::{End, attempt};
use crate::condition::{Condition, Verdict};
use crate::error::Result;
use crate::{Access, Direction, Engine, Transaction};

/// Reads the whole table; records with numbers below `settled` may exist.
pub(super) fn check<E: Engine>(
    engine: &E,
    table: E::Table,
    options: &YcsbOptions,
    settled: u64,
) -> Result<Vec<Condition>, E> {
    let mut found = Found::default();
    attempt(engine, Access::ReadOnly, |transaction| {
        found = Found::default();
        transaction.scan(table, &[], Direction::Forward, &mut |key, value| {
            found.record(key, value, options, settled);
            ControlFlow::Continue(())
        })?;
        Ok(End::Commit)
    })?;
    Ok(found.into_conditions(options))
}

#[derive(Default)]
struct Found {
    loaded: u64,
    keys: Verdict,
    values: Verdict,
}

impl Found {
    fn record(&mut self, key: &[u8], value: &[u8], options: &YcsbOptions, settled: u64) {
        let id = key.try_into().map(|key| unmix(u64::from_be_bytes(key))).ok();
        self.keys.test(id.is_some_and(|id| id < settled), || format!("key {key:x?}"));
        self.loaded += u64::from(id.is_some_and(|id| id < options.records));
        self.values.test(value.len() == options.value_bytes, || {
            format!("key {key:x?}: a value of {} bytes", value.len())
        });
    }

    fn into_conditions(self, options: &YcsbOptions) -> Vec<Condition> {
        let mut loaded = Verdict::default();
        loaded.test(self.loaded == options.records, || {
            format!("{} of {} records", self.loaded, options.records)
        });
        vec![
            loaded.into_condition("every loaded record is there", ""),
            self.keys.into_condition("every record was loaded or inserted", ""),
            self.values.into_condition("every value has its length", ""),
        ]
    }
}
