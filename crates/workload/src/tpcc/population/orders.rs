//! Orders, their lines, the index of orders by customer, and the waiting orders.

use crate::Engine;
use crate::error::Result;
use crate::filling::{Batches, LoadBatch};
use crate::tpcc::chance;
use crate::tpcc::keys;
use crate::tpcc::rows::{LOADED, order, order_line, stock};
use crate::tpcc::scale::{Customer, CustomerId, District, OrderId, Scale, delivered_at_first};
use crate::tpcc::tables::{Tables, TpccTable};

/// Orders in a transaction; each has at most 18 records.
const BATCH: u64 = 55;

/// Loads the orders of a district: one for each customer, in random order.
pub(super) fn load<E: Engine>(
    batches: &mut Batches<'_, E>,
    tables: &Tables<E::Table>,
    scale: &Scale,
    district: District,
) -> Result<(), E> {
    let mut customers: Vec<CustomerId> = (1..=scale.customers).collect();
    batches.random.shuffle(&mut customers);
    let mut row = Vec::new();
    batches.each(1..customers.len() as u64 + 1, BATCH, |batch, number| {
        let customer = Customer { district, number: customers[number as usize - 1] };
        let order = FirstOrder {
            customer,
            number: number as OrderId,
            lines: batch.random.between(5, 15) as u8,
            is_delivered: number <= u64::from(delivered_at_first(scale.orders())),
        };
        order.put(batch, tables)?;
        (1..=order.lines).try_for_each(|line| order.put_line(batch, tables, scale, line, &mut row))
    })
}

/// An order that exists before the benchmark begins.
struct FirstOrder {
    customer: Customer,
    number: OrderId,
    lines: u8,
    is_delivered: bool,
}

impl FirstOrder {
    fn put<'e, E: Engine + 'e>(
        &self,
        batch: &mut LoadBatch<'_, 'e, E>,
        tables: &Tables<E::Table>,
    ) -> Result<(), E> {
        let mut row = [0; order::FIXED];
        let carrier = batch.random.between(1, 10) as u8;
        order::CARRIER.set(&mut row, if self.is_delivered { carrier } else { 0 });
        order::LINES.set(&mut row, self.lines);
        order::ALL_LOCAL.set(&mut row, 1);
        order::CUSTOMER.set(&mut row, self.customer.number);
        order::ENTRY_DATE.set(&mut row, LOADED);
        let key = keys::order(self.customer.district, self.number);
        batch.put(tables.of(TpccTable::Order), &key, &row)?;
        if !self.is_delivered {
            batch.put(tables.of(TpccTable::NewOrder), &key, &[])?;
        }
        let by_customer = keys::order_by_customer(self.customer, self.number);
        batch.put(tables.of(TpccTable::OrderByCustomer), &by_customer, &[])
    }

    fn put_line<'e, E: Engine + 'e>(
        &self,
        batch: &mut LoadBatch<'_, 'e, E>,
        tables: &Tables<E::Table>,
        scale: &Scale,
        line: u8,
        row: &mut Vec<u8>,
    ) -> Result<(), E> {
        let district = self.customer.district;
        row.clear();
        row.resize(order_line::DIST_INFO, 0);
        order_line::ITEM.set(row, batch.random.between(1, scale.items));
        order_line::SUPPLY_WAREHOUSE.set(row, district.warehouse);
        order_line::QUANTITY.set(row, 5);
        let amount = i64::from(batch.random.between(1, 999_999));
        let (date, amount) = if self.is_delivered { (LOADED, 0) } else { (0, amount) };
        order_line::DELIVERY_DATE.set(row, date);
        order_line::AMOUNT.set(row, amount);
        chance::letters(batch.random, stock::DIST as u32, stock::DIST as u32, row);
        let key = keys::order_line(district, self.number, line);
        batch.put(tables.of(TpccTable::OrderLine), &key, row)
    }
}
