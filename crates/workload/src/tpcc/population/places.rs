//! Warehouses and districts.

use crate::Engine;
use crate::error::Result;
use crate::filling::{Batches, LoadBatch};
use crate::random::Random;
use crate::tpcc::chance;
use crate::tpcc::keys;
use crate::tpcc::rows::{self, district, warehouse};
use crate::tpcc::scale::{DISTRICTS, District, Scale, WarehouseId};
use crate::tpcc::tables::{Tables, TpccTable};

/// The sum that each customer paid before the benchmark begins, in cents.
pub(super) const FIRST_PAYMENT: i64 = 1000;

/// Loads a warehouse and its districts.
pub(super) fn load<E: Engine>(
    batches: &mut Batches<'_, E>,
    tables: &Tables<E::Table>,
    scale: &Scale,
    number: WarehouseId,
) -> Result<(), E> {
    let mut row = Vec::new();
    batches.each(0..1, 1, |batch, _| {
        put_warehouse(batch, tables, scale, number, &mut row)?;
        District::all_of(number)
            .try_for_each(|each| put_district(batch, tables, scale, each, &mut row))
    })
}

fn put_warehouse<'e, E: Engine + 'e>(
    batch: &mut LoadBatch<'_, 'e, E>,
    tables: &Tables<E::Table>,
    scale: &Scale,
    number: WarehouseId,
    row: &mut Vec<u8>,
) -> Result<(), E> {
    row.clear();
    row.resize(warehouse::FIXED, 0);
    let paid = FIRST_PAYMENT * i64::from(scale.customers) * i64::from(DISTRICTS);
    warehouse::YTD.set(row, paid);
    warehouse::TAX.set(row, tax(batch.random));
    put_name_and_address(batch.random, row);
    batch.put(tables.of(TpccTable::Warehouse), &keys::warehouse(number), row)
}

fn put_district<'e, E: Engine + 'e>(
    batch: &mut LoadBatch<'_, 'e, E>,
    tables: &Tables<E::Table>,
    scale: &Scale,
    number: District,
    row: &mut Vec<u8>,
) -> Result<(), E> {
    row.clear();
    row.resize(district::FIXED, 0);
    district::YTD.set(row, FIRST_PAYMENT * i64::from(scale.customers));
    district::NEXT_ORDER.set(row, scale.orders() + 1);
    district::TAX.set(row, tax(batch.random));
    put_name_and_address(batch.random, row);
    batch.put(tables.of(TpccTable::District), &keys::district(number), row)
}

/// A tax from 0 to 20 %.
fn tax(random: &mut Random) -> u16 {
    random.between(0, 2000) as u16
}

fn put_name_and_address(random: &mut Random, row: &mut Vec<u8>) {
    let mut name = Vec::new();
    chance::letters(random, 6, 10, &mut name);
    rows::push_text(row, &name);
    put_address(random, &mut name, row);
}

/// Puts two streets, the city, the state and the zip code; `text` is reused for each.
pub(super) fn put_address(random: &mut Random, text: &mut Vec<u8>, row: &mut Vec<u8>) {
    for (low, high) in [(10, 20), (10, 20), (10, 20), (2, 2)] {
        text.clear();
        chance::letters(random, low, high, text);
        rows::push_text(row, text);
    }
    text.clear();
    chance::zip(random, text);
    rows::push_text(row, text);
}
