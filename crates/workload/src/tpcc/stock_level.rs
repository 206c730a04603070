//! The Stock-Level transaction (clause 2.8): the number of items in a district's last 20 orders
//! that are low in stock.

use std::ops::ControlFlow;

use super::buffers::Buffers;
use super::keys;
use super::rows::{district, order_line, stock};
use super::scale::{District, OrderId};
use super::session::TpccSession;
use super::tables::TpccTable;
use crate::error::Result;
use crate::random::Random;
use crate::{Direction, Engine};

/// The number of orders to look at.
const ORDERS: OrderId = 20;

/// The input at the terminal.
#[derive(Clone, Copy, Debug)]
pub(super) struct StockLevel {
    district: District,
    threshold: i32,
}

impl StockLevel {
    /// Draws the input (clause 2.8.1).
    pub(super) fn draw(random: &mut Random, district: District) -> StockLevel {
        StockLevel { district, threshold: random.between(10, 20) as i32 }
    }

    /// Runs the transaction; returns the number of items below the threshold.
    pub(super) fn run<'e, E: Engine + 'e>(
        &self,
        session: &mut TpccSession<'_, 'e, E>,
        buffers: &mut Buffers,
    ) -> Result<u32, E> {
        session.get(TpccTable::District, &keys::district(self.district), &mut buffers.row)?;
        let next = district::NEXT_ORDER.of(&buffers.row);
        self.items_of_last_orders(session, next, &mut buffers.found)?;
        let of = |&item: &u32| keys::stock(self.district.warehouse, item);
        let keys: Vec<_> = buffers.found.iter().map(of).collect();
        let rows: Vec<_> = keys.iter().map(|key| (TpccTable::Stock, &key[..])).collect();
        session.prefetch(&rows)?;
        let mut low = 0;
        for key in keys {
            session.get(TpccTable::Stock, &key, &mut buffers.row)?;
            low += u32::from(stock::QUANTITY.of(&buffers.row) < self.threshold);
        }
        Ok(low)
    }

    /// Collects the items of the last orders, each once.
    fn items_of_last_orders<'e, E: Engine + 'e>(
        &self,
        session: &mut TpccSession<'_, 'e, E>,
        next: OrderId,
        items: &mut Vec<u32>,
    ) -> Result<(), E> {
        items.clear();
        let prefix = keys::district(self.district);
        let bound = keys::order(self.district, next.saturating_sub(ORDERS));
        session.scan(TpccTable::OrderLine, &prefix, &bound, Direction::Forward, |_, row| {
            items.push(order_line::ITEM.of(row));
            ControlFlow::Continue(())
        })?;
        items.sort_unstable();
        items.dedup();
        Ok(())
    }
}
