//! The Order-Status transaction (clause 2.6): the state of a customer's newest order.

use std::ops::ControlFlow;

use super::buffers::Buffers;
use super::keys;
use super::rows::{customer, order_line};
use super::scale::{Customer, District, OrderId, Scale};
use super::selection::Selection;
use super::session::TpccSession;
use super::tables::TpccTable;
use crate::error::Result;
use crate::random::Random;
use crate::{Direction, Engine};

/// The input at the terminal.
#[derive(Clone, Copy, Debug)]
pub(super) struct OrderStatus {
    selection: Selection,
}

/// The output at the terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Status {
    /// The customer's balance, in cents.
    pub(super) balance: i64,
    /// The lines of the newest order.
    pub(super) lines: u32,
    /// The delivered lines among them.
    pub(super) delivered: u32,
    /// The sum of all lines, in cents.
    pub(super) amount: i64,
}

impl OrderStatus {
    /// Draws the input (clause 2.6.1).
    pub(super) fn draw(random: &mut Random, scale: &Scale, home: District) -> OrderStatus {
        OrderStatus { selection: Selection::draw(random, scale, home) }
    }

    /// Runs the transaction. If all orders of a customer were deleted, as `steady` does, there are
    /// no lines.
    pub(super) fn run<'e, E: Engine + 'e>(
        &self,
        session: &mut TpccSession<'_, 'e, E>,
        buffers: &mut Buffers,
    ) -> Result<Status, E> {
        let customer = self.selection.find(session, buffers)?;
        session.get(TpccTable::Customer, &keys::customer(customer), &mut buffers.row)?;
        let mut status =
            Status { balance: customer::BALANCE.of(&buffers.row), ..Status::default() };
        if let Some(number) = newest(session, customer)? {
            let key = keys::order(customer.district, number);
            session.get(TpccTable::Order, &key, &mut buffers.row)?;
            session.scan(TpccTable::OrderLine, &key, &key, Direction::Forward, |_, row| {
                status.lines += 1;
                status.delivered += u32::from(order_line::DELIVERY_DATE.of(row) != 0);
                status.amount += order_line::AMOUNT.of(row);
                ControlFlow::Continue(())
            })?;
        }
        Ok(status)
    }
}

fn newest<'e, E: Engine + 'e>(
    session: &mut TpccSession<'_, 'e, E>,
    customer: Customer,
) -> Result<Option<OrderId>, E> {
    let mut newest = None;
    let bound = keys::order_by_customer(customer, OrderId::MAX);
    let prefix = keys::customer(customer);
    session.scan(TpccTable::OrderByCustomer, &prefix, &bound, Direction::Backward, |rest, _| {
        newest = keys::leading_u32(rest);
        ControlFlow::Break(())
    })?;
    Ok(newest)
}
