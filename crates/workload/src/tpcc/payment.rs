//! The Payment transaction (clause 2.5): a customer pays, which changes their balance and the
//! figures of the district and the warehouse.

use std::io::Write;

use super::buffers::Buffers;
use super::chance;
use super::keys;
use super::payments::Paid;
use super::rows::{self, customer, district, history, warehouse};
use super::scale::{Customer, DISTRICTS, District, Scale};
use super::selection::Selection;
use super::session::TpccSession;
use super::tables::TpccTable;
use crate::Engine;
use crate::error::Result;
use crate::random::Random;

/// The input at the terminal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Payment {
    home: District,
    selection: Selection,
    /// The amount, in cents.
    amount: i64,
    date: u64,
}

impl Payment {
    /// Draws the input (clause 2.5.1): 15 % of the customers are of another warehouse.
    pub(super) fn draw(random: &mut Random, scale: &Scale, home: District, date: u64) -> Payment {
        let district = if random.percent(15) {
            District {
                warehouse: chance::other_warehouse(random, scale, home.warehouse),
                number: random.between(1, u32::from(DISTRICTS)) as u8,
            }
        } else {
            home
        };
        let selection = Selection::draw(random, scale, district);
        let amount = i64::from(random.between(100, 500_000));
        Payment { home, selection, amount, date }
    }

    /// Runs the transaction.
    pub(super) fn run<'e, E: Engine + 'e>(
        &self,
        session: &mut TpccSession<'_, 'e, E>,
        buffers: &mut Buffers,
    ) -> Result<Paid, E> {
        // The row of history is composed as its texts are read.
        let mut entry = std::mem::take(&mut buffers.other);
        let result = self.run_with(session, buffers, &mut entry);
        buffers.other = entry;
        result
    }

    fn run_with<'e, E: Engine + 'e>(
        &self,
        session: &mut TpccSession<'_, 'e, E>,
        buffers: &mut Buffers,
        entry: &mut Vec<u8>,
    ) -> Result<Paid, E> {
        self.begin_entry(entry);
        self.count_at_warehouse(session, &mut buffers.row, entry)?;
        entry.extend_from_slice(b"    ");
        self.count_at_district(session, &mut buffers.row, entry)?;
        let customer = self.selection.find(session, buffers)?;
        let payments = self.count_at_customer(session, customer, buffers)?;
        session.put(TpccTable::History, &keys::history(customer, payments), entry)?;
        Ok(Paid { customer, payments })
    }

    fn begin_entry(&self, entry: &mut Vec<u8>) {
        entry.clear();
        entry.resize(history::FIXED, 0);
        history::AMOUNT.set(entry, self.amount);
        history::DATE.set(entry, self.date);
        history::WAREHOUSE.set(entry, self.home.warehouse);
        history::DISTRICT.set(entry, self.home.number);
    }

    fn count_at_warehouse<'e, E: Engine + 'e>(
        &self,
        session: &mut TpccSession<'_, 'e, E>,
        row: &mut Vec<u8>,
        entry: &mut Vec<u8>,
    ) -> Result<(), E> {
        let key = keys::warehouse(self.home.warehouse);
        session.get(TpccTable::Warehouse, &key, row)?;
        entry.extend_from_slice(rows::text(row, warehouse::FIXED, 0));
        let sum = warehouse::YTD.of(row).wrapping_add(self.amount).to_le_bytes();
        session.patch(TpccTable::Warehouse, &key, warehouse::YTD.start(), &sum)
    }

    fn count_at_district<'e, E: Engine + 'e>(
        &self,
        session: &mut TpccSession<'_, 'e, E>,
        row: &mut Vec<u8>,
        entry: &mut Vec<u8>,
    ) -> Result<(), E> {
        let key = keys::district(self.home);
        session.get(TpccTable::District, &key, row)?;
        entry.extend_from_slice(rows::text(row, district::FIXED, 0));
        let sum = district::YTD.of(row).wrapping_add(self.amount).to_le_bytes();
        session.patch(TpccTable::District, &key, district::YTD.start(), &sum)
    }

    /// Returns the number of the customer's payments, including this one.
    fn count_at_customer<'e, E: Engine + 'e>(
        &self,
        session: &mut TpccSession<'_, 'e, E>,
        customer: Customer,
        buffers: &mut Buffers,
    ) -> Result<u32, E> {
        let key = keys::customer(customer);
        let row = &mut buffers.row;
        session.get(TpccTable::Customer, &key, row)?;
        customer::BALANCE.add(row, -self.amount);
        customer::YTD_PAYMENT.add(row, self.amount);
        customer::PAYMENTS.add(row, 1);
        let payments = customer::PAYMENTS.of(row);
        if customer::BAD_CREDIT.of(row) == 0 {
            session.patch(TpccTable::Customer, &key, 0, &row[..customer::END_OF_PAYMENT])?;
        } else {
            self.note(customer, row, &mut buffers.part);
            session.put(TpccTable::Customer, &key, row)?;
        }
        Ok(payments)
    }

    /// Puts a note of the payment before the data of a customer with bad credit; the end of the
    /// data is cut (clause 2.5.2.2).
    fn note(&self, by: Customer, row: &mut Vec<u8>, data: &mut Vec<u8>) {
        let at = rows::after_texts(row, customer::FIXED, customer::TEXTS);
        data.clear();
        let (from, to) = (by.district, self.home);
        // Writing to a vector can't fail.
        let _ = write!(
            data,
            "{} {} {} {} {} {};",
            by.number, from.number, from.warehouse, to.number, to.warehouse, self.amount
        );
        data.extend_from_slice(&row[at..]);
        data.truncate(customer::DATA);
        row.truncate(at);
        row.extend_from_slice(data);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: District = District { warehouse: 2, number: 3 };

    #[test]
    fn shares_of_remote_customers_and_of_names_are_the_standards() {
        let mut random = Random::stream(5, 0);
        let scale = Scale::standard(4);
        let draw = |_| Payment::draw(&mut random, &scale, HOME, 1);
        let payments: Vec<Payment> = (0..20_000).map(draw).collect();
        let remote = payments.iter().filter(|payment| payment.selection.district != HOME).count();
        assert!((2850..3150).contains(&remote), "{remote}");
        let by_name = |payment: &&Payment| {
            matches!(payment.selection.by, super::super::selection::By::LastName(_))
        };
        let named = payments.iter().filter(by_name).count();
        assert!((11_700..12_300).contains(&named), "{named}");
        assert!(payments.iter().all(|payment| (100..=500_000).contains(&payment.amount)));
    }

    #[test]
    fn data_of_bad_credit_keeps_its_length() {
        let selection = Selection { district: HOME, by: super::super::selection::By::Number(7) };
        let payment = Payment { home: HOME, selection, amount: 1234, date: 1 };
        let mut row = vec![0; customer::FIXED];
        (0..customer::TEXTS).for_each(|_| rows::push_text(&mut row, b"text"));
        let at = row.len();
        row.extend_from_slice(&[b'x'; 495]);
        let by = Customer { district: District { warehouse: 9, number: 8 }, number: 7 };
        payment.note(by, &mut row, &mut Vec::new());
        assert!(row[at..].starts_with(b"7 8 9 3 2 1234;xxx"));
        assert_eq!(row.len() - at, customer::DATA);
    }
}
