//! The Delivery transaction (clause 2.7): delivers the oldest waiting order in each district of a
//! warehouse. All of it is one transaction, which the clause allows.

use std::ops::ControlFlow;

use super::buffers::Buffers;
use super::keys;
use super::rows::{customer, district, order, order_line};
use super::scale::{Customer, District, OrderId, WarehouseId};
use super::session::TpccSession;
use super::tables::TpccTable;
use crate::error::Result;
use crate::random::Random;
use crate::{Direction, Engine};

/// The input at the terminal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivery {
    warehouse: WarehouseId,
    carrier: u8,
    date: u64,
    /// If more orders than this wait in a district, two of them are delivered.
    backlog: Option<u32>,
}

impl Delivery {
    /// Draws the input (clause 2.7.1).
    ///
    /// The standard's mix has more orders than deliveries: 44.5 to 40. With a `backlog`, two orders
    /// are delivered in a district where more than `backlog` orders wait, so that the number of
    /// waiting orders stays the same.
    pub(super) fn draw(
        random: &mut Random,
        warehouse: WarehouseId,
        date: u64,
        backlog: Option<u32>,
    ) -> Delivery {
        Delivery { warehouse, carrier: random.between(1, 10) as u8, date, backlog }
    }

    /// Runs the transaction; returns the number of delivered orders. A district without waiting
    /// orders is skipped.
    pub(super) fn run<'e, E: Engine + 'e>(
        &self,
        session: &mut TpccSession<'_, 'e, E>,
        buffers: &mut Buffers,
    ) -> Result<u32, E> {
        let mut delivered = 0;
        for district in District::all_of(self.warehouse) {
            let Some(oldest) = self.deliver_oldest(session, district, buffers)? else { continue };
            delivered += 1;
            if self.is_late(session, district, oldest, buffers)? {
                delivered += u32::from(self.deliver_oldest(session, district, buffers)?.is_some());
            }
        }
        Ok(delivered)
    }

    /// True if more orders than the backlog came after the one that was just delivered.
    fn is_late<'e, E: Engine + 'e>(
        &self,
        session: &mut TpccSession<'_, 'e, E>,
        district: District,
        delivered: OrderId,
        buffers: &mut Buffers,
    ) -> Result<bool, E> {
        let Some(backlog) = self.backlog else { return Ok(false) };
        session.get(TpccTable::District, &keys::district(district), &mut buffers.row)?;
        let next = district::NEXT_ORDER.of(&buffers.row);
        Ok(next.saturating_sub(delivered.saturating_add(1)) > backlog)
    }

    fn deliver_oldest<'e, E: Engine + 'e>(
        &self,
        session: &mut TpccSession<'_, 'e, E>,
        district: District,
        buffers: &mut Buffers,
    ) -> Result<Option<OrderId>, E> {
        let Some(number) = oldest(session, district)? else { return Ok(None) };
        let key = keys::order(district, number);
        session.delete(TpccTable::NewOrder, &key)?;
        session.get(TpccTable::Order, &key, &mut buffers.row)?;
        let customer = Customer { district, number: order::CUSTOMER.of(&buffers.row) };
        session.patch(TpccTable::Order, &key, order::CARRIER.start(), &[self.carrier])?;
        let amount = self.deliver_lines(session, district, number, &mut buffers.found)?;
        charge(session, customer, amount, &mut buffers.row)?;
        Ok(Some(number))
    }

    /// Sets the delivery date of the order's lines; returns the sum of their amounts.
    fn deliver_lines<'e, E: Engine + 'e>(
        &self,
        session: &mut TpccSession<'_, 'e, E>,
        district: District,
        number: OrderId,
        lines: &mut Vec<u32>,
    ) -> Result<i64, E> {
        let amount = order_lines(session, district, number, lines)?;
        for line in lines.iter() {
            let key = keys::order_line(district, number, *line as u8);
            let date = self.date.to_le_bytes();
            session.patch(TpccTable::OrderLine, &key, order_line::DELIVERY_DATE.start(), &date)?;
        }
        Ok(amount)
    }
}

/// The numbers of an order's lines, and the sum of their amounts.
pub(super) fn order_lines<'e, E: Engine + 'e>(
    session: &mut TpccSession<'_, 'e, E>,
    district: District,
    number: OrderId,
    lines: &mut Vec<u32>,
) -> Result<i64, E> {
    lines.clear();
    let mut amount = 0;
    let prefix = keys::order(district, number);
    session.scan(TpccTable::OrderLine, &prefix, &prefix, Direction::Forward, |rest, row| {
        lines.extend(rest.first().copied().map(u32::from));
        amount += order_line::AMOUNT.of(row);
        ControlFlow::Continue(())
    })?;
    Ok(amount)
}

fn oldest<'e, E: Engine + 'e>(
    session: &mut TpccSession<'_, 'e, E>,
    district: District,
) -> Result<Option<OrderId>, E> {
    let mut oldest = None;
    let prefix = keys::district(district);
    session.scan(TpccTable::NewOrder, &prefix, &prefix, Direction::Forward, |rest, _| {
        oldest = keys::leading_u32(rest);
        ControlFlow::Break(())
    })?;
    Ok(oldest)
}

fn charge<'e, E: Engine + 'e>(
    session: &mut TpccSession<'_, 'e, E>,
    by: Customer,
    amount: i64,
    row: &mut Vec<u8>,
) -> Result<(), E> {
    let key = keys::customer(by);
    session.get(TpccTable::Customer, &key, row)?;
    customer::BALANCE.add(row, amount);
    customer::DELIVERIES.add(row, 1);
    session.patch(TpccTable::Customer, &key, 0, &row[..customer::END_OF_DELIVERY])
}
