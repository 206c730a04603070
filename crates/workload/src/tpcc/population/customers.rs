//! Customers, the index of their names, and the first row of history of each.

use super::places::{FIRST_PAYMENT, put_address};
use crate::Engine;
use crate::error::Result;
use crate::filling::{Batches, LoadBatch};
use crate::tpcc::chance::{self, C_LAST_LOAD};
use crate::tpcc::keys;
use crate::tpcc::rows::{self, LOADED, customer, history};
use crate::tpcc::scale::{Customer, CustomerId, District, Scale};
use crate::tpcc::tables::{Tables, TpccTable};

/// Customers in a transaction; each has three records.
const BATCH: u64 = 300;

/// Memory that is reused for each customer.
#[derive(Default)]
struct CustomerForm {
    row: Vec<u8>,
    first: Vec<u8>,
    last: Vec<u8>,
    text: Vec<u8>,
}

/// Loads the customers of a district.
pub(super) fn load<E: Engine>(
    batches: &mut Batches<'_, E>,
    tables: &Tables<E::Table>,
    scale: &Scale,
    district: District,
) -> Result<(), E> {
    let mut form = CustomerForm::default();
    batches.each(1..u64::from(scale.customers) + 1, BATCH, |batch, number| {
        let number = number as CustomerId;
        let last_name = match u32::from(number) - 1 {
            own if own < scale.last_names() => own,
            _ => chance::last_name(batch.random, scale, C_LAST_LOAD),
        };
        chance::spell_last_name(last_name, &mut form.last);
        form.put(batch, tables, Customer { district, number })
    })
}

impl CustomerForm {
    fn put<'e, E: Engine + 'e>(
        &mut self,
        batch: &mut LoadBatch<'_, 'e, E>,
        tables: &Tables<E::Table>,
        who: Customer,
    ) -> Result<(), E> {
        self.put_customer(batch, tables, who)?;
        let by_name = keys::customer_by_name(who, &self.last, &self.first);
        batch.put(tables.of(TpccTable::CustomerByName), &by_name, &[])?;
        self.put_history(batch, tables, who)
    }

    fn put_customer<'e, E: Engine + 'e>(
        &mut self,
        batch: &mut LoadBatch<'_, 'e, E>,
        tables: &Tables<E::Table>,
        who: Customer,
    ) -> Result<(), E> {
        let CustomerForm { row, first, last, text } = self;
        let random = &mut *batch.random;
        row.clear();
        row.resize(customer::FIXED, 0);
        customer::BALANCE.set(row, -FIRST_PAYMENT);
        customer::YTD_PAYMENT.set(row, FIRST_PAYMENT);
        customer::PAYMENTS.set(row, 1);
        customer::CREDIT_LIMIT.set(row, 5_000_000);
        customer::SINCE.set(row, LOADED);
        customer::DISCOUNT.set(row, random.between(0, 5000) as u16);
        customer::BAD_CREDIT.set(row, u8::from(random.percent(10)));
        first.clear();
        chance::letters(random, 8, 16, first);
        rows::push_text(row, first);
        rows::push_text(row, last);
        rows::push_text(row, b"OE");
        text.clear();
        chance::digits(random, 16, 16, text);
        rows::push_text(row, text);
        put_address(random, text, row);
        chance::letters(random, 300, customer::DATA as u32, row);
        batch.put(tables.of(TpccTable::Customer), &keys::customer(who), row)
    }

    fn put_history<'e, E: Engine + 'e>(
        &mut self,
        batch: &mut LoadBatch<'_, 'e, E>,
        tables: &Tables<E::Table>,
        who: Customer,
    ) -> Result<(), E> {
        let row = &mut self.row;
        row.clear();
        row.resize(history::FIXED, 0);
        history::AMOUNT.set(row, FIRST_PAYMENT);
        history::DATE.set(row, LOADED);
        history::WAREHOUSE.set(row, who.district.warehouse);
        history::DISTRICT.set(row, who.district.number);
        chance::letters(batch.random, 12, 24, row);
        batch.put(tables.of(TpccTable::History), &keys::history(who, 1), row)
    }
}
