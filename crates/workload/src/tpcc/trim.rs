//! The extension `steady`, which keeps the size of the data: old rows are deleted at the rate at
//! which new ones come. It is not part of the standard.
//!
//! After every ten orders or ten payments, a worker runs one small additional transaction:
//!
//! * in the district of its last order, it deletes the oldest orders with their lines and index
//!   entries,
//!   until as many are left as were loaded. It deletes at most 20 at once, and none that waits for
//!   delivery;
//! * for each customer who paid, it deletes the earlier payments, so that one row of history is
//!   left of
//!   the customer, as after loading.
//!   them, as after loading.
//!
//! A row for each district has the sums of the deleted money; the consistency conditions count it
//! as if it were still there.

use std::ops::ControlFlow;

use super::buffers::Buffers;
use super::delivery::order_lines;
use super::keys;
use super::payments::{OldPayment, Paid};
use super::rows::{district, order, trimmed};
use super::scale::{Customer, District, OrderId, Scale};
use super::session::TpccSession;
use super::tables::TpccTable;
use crate::error::Result;
use crate::{Direction, Engine};

/// The number of orders or payments after which the transaction is due.
const DUE: usize = 10;
/// The most orders deleted at once: more than come between two visits to a district on average.
const ORDERS_AT_ONCE: u32 = 20;

/// The rows that one worker must delete.
#[derive(Clone, Debug)]
pub(super) struct RowTrim {
    /// Orders that a district keeps.
    keep: u32,
    orders: usize,
    district: Option<District>,
    /// Payments whose predecessors shall be deleted. When there are twice as many as make the
    /// transaction due, new ones are dropped: the customer's next payment takes care of them.
    payments: Vec<Paid>,
}

impl RowTrim {
    /// A worker's state without rows to delete.
    pub(super) fn new(scale: &Scale) -> RowTrim {
        let payments = Vec::with_capacity(2 * DUE);
        RowTrim { keep: scale.orders(), orders: 0, district: None, payments }
    }

    /// Records a new order in a district.
    pub(super) fn ordered(&mut self, district: District) {
        self.orders += 1;
        self.district = Some(district);
    }

    /// Records a new payment.
    pub(super) fn paid(&mut self, paid: Paid) {
        if self.payments.len() < 2 * DUE {
            self.payments.push(paid);
        }
    }

    /// True if the deleting transaction is due.
    pub(super) fn is_due(&self) -> bool {
        self.orders >= DUE || self.payments.len() >= DUE
    }

    /// Records that everything was deleted.
    pub(super) fn done(&mut self) {
        self.orders = 0;
        self.district = None;
        self.payments.clear();
    }

    /// Deletes the old rows.
    pub(super) fn run<'e, E: Engine + 'e>(
        &self,
        session: &mut TpccSession<'_, 'e, E>,
        buffers: &mut Buffers,
    ) -> Result<(), E> {
        if let Some(district) = self.district {
            self.trim_orders(session, district, buffers)?;
        }
        self.payments.iter().try_for_each(|paid| trim_history(session, *paid, buffers))
    }

    fn trim_orders<'e, E: Engine + 'e>(
        &self,
        session: &mut TpccSession<'_, 'e, E>,
        district: District,
        buffers: &mut Buffers,
    ) -> Result<(), E> {
        session.get(TpccTable::District, &keys::district(district), &mut buffers.row)?;
        let next = district::NEXT_ORDER.of(&buffers.row);
        let mut tally = DeletedRows::read(session, district, &mut buffers.row)?;
        let first = trimmed::OLDEST_ORDER.of(&tally.row);
        let excess = next.saturating_sub(first).saturating_sub(self.keep).min(ORDERS_AT_ONCE);
        let mut deleted = 0;
        while deleted < excess {
            let amount = delete_order(session, district, first + deleted, buffers)?;
            let Some(amount) = amount else { break };
            trimmed::DELIVERED.add(&mut tally.row, amount);
            deleted += 1;
        }
        if deleted > 0 {
            trimmed::OLDEST_ORDER.set(&mut tally.row, first + deleted);
            tally.write(session)?;
        }
        Ok(())
    }
}

/// Deletes an order; returns the sum of its lines, or `None` if it still waits for delivery.
fn delete_order<'e, E: Engine + 'e>(
    session: &mut TpccSession<'_, 'e, E>,
    district: District,
    number: OrderId,
    buffers: &mut Buffers,
) -> Result<Option<i64>, E> {
    let key = keys::order(district, number);
    session.get(TpccTable::Order, &key, &mut buffers.row)?;
    if order::CARRIER.of(&buffers.row) == 0 {
        return Ok(None);
    }
    let customer = Customer { district, number: order::CUSTOMER.of(&buffers.row) };
    session.delete(TpccTable::Order, &key)?;
    session.delete(TpccTable::OrderByCustomer, &keys::order_by_customer(customer, number))?;
    delete_lines(session, district, number, &mut buffers.found).map(Some)
}

fn delete_lines<'e, E: Engine + 'e>(
    session: &mut TpccSession<'_, 'e, E>,
    district: District,
    number: OrderId,
    lines: &mut Vec<u32>,
) -> Result<i64, E> {
    let amount = order_lines(session, district, number, lines)?;
    for line in lines.iter() {
        session.delete(TpccTable::OrderLine, &keys::order_line(district, number, *line as u8))?;
    }
    Ok(amount)
}

/// Deletes the customer's earlier payments.
fn trim_history<'e, E: Engine + 'e>(
    session: &mut TpccSession<'_, 'e, E>,
    paid: Paid,
    buffers: &mut Buffers,
) -> Result<(), E> {
    let Buffers { row, payments, .. } = buffers;
    payments.clear();
    let prefix = keys::customer(paid.customer);
    session.scan(TpccTable::History, &prefix, &prefix, Direction::Forward, |rest, row| {
        match keys::leading_u32(rest) {
            Some(payment) if payment < paid.payments => {
                payments.push(OldPayment::of(payment, row));
                ControlFlow::Continue(())
            }
            _ => ControlFlow::Break(()),
        }
    })?;
    for old in payments.iter() {
        session.delete(TpccTable::History, &keys::history(paid.customer, old.payment))?;
        old.count(session, paid.customer.district, row)?;
    }
    Ok(())
}

impl OldPayment {
    /// Adds the payment to the tallies of the district where it was made and of the customer's
    /// district.
    fn count<'e, E: Engine + 'e>(
        &self,
        session: &mut TpccSession<'_, 'e, E>,
        customers: District,
        row: &mut Vec<u8>,
    ) -> Result<(), E> {
        let mut tally = DeletedRows::read(session, customers, row)?;
        trimmed::PAID_BY_CUSTOMERS.add(&mut tally.row, self.amount);
        if self.paid_in != customers {
            tally.write(session)?;
            tally = DeletedRows::read(session, self.paid_in, row)?;
        }
        trimmed::PAID_HERE.add(&mut tally.row, self.amount);
        tally.write(session)
    }
}

/// The sums of a district's deleted rows.
struct DeletedRows {
    district: District,
    row: [u8; trimmed::FIXED],
}

impl DeletedRows {
    fn read<'e, E: Engine + 'e>(
        session: &mut TpccSession<'_, 'e, E>,
        district: District,
        found: &mut Vec<u8>,
    ) -> Result<DeletedRows, E> {
        let mut row = [0; trimmed::FIXED];
        if session.find(TpccTable::Trimmed, &keys::district(district), found)? {
            row.copy_from_slice(&found[..trimmed::FIXED]);
        } else {
            trimmed::OLDEST_ORDER.set(&mut row, 1);
        }
        Ok(DeletedRows { district, row })
    }

    fn write<'e, E: Engine + 'e>(&self, session: &mut TpccSession<'_, 'e, E>) -> Result<(), E> {
        session.put(TpccTable::Trimmed, &keys::district(self.district), &self.row)
    }
}
