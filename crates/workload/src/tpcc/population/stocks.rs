//! Items, and stocks of them.

use std::ops::Range;

use crate::Engine;
use crate::error::Result;
use crate::filling::Batches;
use crate::tpcc::chance;
use crate::tpcc::keys;
use crate::tpcc::rows::{self, item, stock};
use crate::tpcc::scale::{DISTRICTS, ItemId, WarehouseId};
use crate::tpcc::tables::{Tables, TpccTable};

/// Records in a transaction.
const BATCH: u64 = 1000;

/// Loads items.
pub(super) fn load_items<E: Engine>(
    batches: &mut Batches<'_, E>,
    tables: &Tables<E::Table>,
    numbers: Range<u64>,
) -> Result<(), E> {
    let (mut row, mut name) = (Vec::new(), Vec::new());
    batches.each(numbers, BATCH, |batch, number| {
        row.clear();
        row.resize(item::FIXED, 0);
        item::PRICE.set(&mut row, i64::from(batch.random.between(100, 10_000)));
        item::IMAGE.set(&mut row, batch.random.between(1, 10_000));
        name.clear();
        chance::letters(batch.random, 14, 24, &mut name);
        rows::push_text(&mut row, &name);
        chance::data(batch.random, &mut row);
        batch.put(tables.of(TpccTable::Item), &keys::item(number as ItemId), &row)
    })
}

/// Loads stocks of a warehouse.
pub(super) fn load_stocks<E: Engine>(
    batches: &mut Batches<'_, E>,
    tables: &Tables<E::Table>,
    warehouse: WarehouseId,
    numbers: Range<u64>,
) -> Result<(), E> {
    let mut row = Vec::new();
    batches.each(numbers, BATCH, |batch, number| {
        row.clear();
        row.resize(stock::END_OF_ORDER, 0);
        stock::QUANTITY.set(&mut row, batch.random.between(10, 100) as i32);
        for _ in 0..DISTRICTS {
            chance::letters(batch.random, stock::DIST as u32, stock::DIST as u32, &mut row);
        }
        chance::data(batch.random, &mut row);
        batch.put(tables.of(TpccTable::Stock), &keys::stock(warehouse, number as ItemId), &row)
    })
}
