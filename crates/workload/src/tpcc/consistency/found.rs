//! The content of the tables, collected for the conditions.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use crate::error::Result;
use crate::tpcc::keys;
use crate::tpcc::rows::{self, customer, district, history, order, order_line, trimmed, warehouse};
use crate::tpcc::scale::{self, CustomerId, OrderId, WarehouseId};
use crate::tpcc::session::{TpccSession, odd_key};
use crate::tpcc::tables::TpccTable;
use crate::{Direction, Engine};

/// The existing warehouses and districts. Money is in cents, here and below.
pub(super) struct Places {
    /// Each warehouse, with the sum of its payments.
    pub(super) warehouses: Vec<(WarehouseId, i64)>,
    pub(super) districts: Vec<District>,
    /// The sum paid in each district, by the remaining rows of history.
    pub(super) paid_in: BTreeMap<(WarehouseId, u8), i64>,
}

/// A district's own figures, and its deletions.
pub(super) struct District {
    pub(super) id: scale::District,
    pub(super) ytd: i64,
    pub(super) next_order: OrderId,
    pub(super) trimmed: Trimmed,
}

/// The sums of a district's deleted rows.
pub(super) struct Trimmed {
    pub(super) is_any: bool,
    pub(super) oldest_order: OrderId,
    pub(super) delivered: i64,
    pub(super) paid_here: i64,
    pub(super) paid_by_customers: i64,
}

impl Places {
    /// Reads warehouses and districts.
    pub(super) fn read<'e, E: Engine + 'e>(
        session: &mut TpccSession<'_, 'e, E>,
    ) -> Result<Places, E> {
        let mut warehouses = Vec::new();
        each(session, TpccTable::Warehouse, &[], |key, row| {
            warehouses.push((keys::leading_u32(key)?, warehouse::YTD.of(row)));
            Some(())
        })?;
        let mut districts = Vec::new();
        each(session, TpccTable::District, &[], |key, row| {
            districts.push(District {
                id: keys::leading_district(key)?,
                ytd: district::YTD.of(row),
                next_order: district::NEXT_ORDER.of(row),
                trimmed: Trimmed::none(),
            });
            Some(())
        })?;
        let mut row = Vec::new();
        for district in &mut districts {
            if session.find(TpccTable::Trimmed, &keys::district(district.id), &mut row)? {
                district.trimmed = Trimmed::of(&row);
            }
        }
        Ok(Places { warehouses, districts, paid_in: BTreeMap::new() })
    }
}

impl Trimmed {
    fn none() -> Trimmed {
        let (delivered, paid_here, paid_by_customers) = (0, 0, 0);
        Trimmed { is_any: false, oldest_order: 1, delivered, paid_here, paid_by_customers }
    }

    fn of(row: &[u8]) -> Trimmed {
        Trimmed {
            is_any: true,
            oldest_order: trimmed::OLDEST_ORDER.of(row),
            delivered: trimmed::DELIVERED.of(row),
            paid_here: trimmed::PAID_HERE.of(row),
            paid_by_customers: trimmed::PAID_BY_CUSTOMERS.of(row),
        }
    }
}

/// A customer's own figures, and those from the remaining rows of history.
#[derive(Clone, Copy, Default)]
pub(super) struct Customer {
    pub(super) balance: i64,
    pub(super) ytd_payment: i64,
    pub(super) deliveries: u32,
    pub(super) paid: i64,
}

/// The customers of a district.
pub(super) struct Customers {
    pub(super) of: BTreeMap<CustomerId, Customer>,
    /// The entries that the index by name should have; below, those that it has.
    pub(super) names: BTreeSet<Vec<u8>>,
    pub(super) indexed: BTreeSet<Vec<u8>>,
}

impl Customers {
    /// Reads the customers and their history; adds the sums by district of payment to `paid_in`.
    pub(super) fn read<'e, E: Engine + 'e>(
        session: &mut TpccSession<'_, 'e, E>,
        district: scale::District,
        paid_in: &mut BTreeMap<(WarehouseId, u8), i64>,
    ) -> Result<Customers, E> {
        let prefix = keys::district(district);
        let mut found =
            Customers { of: BTreeMap::new(), names: BTreeSet::new(), indexed: BTreeSet::new() };
        each(session, TpccTable::Customer, &prefix, |key, row| {
            let id = keys::leading_customer(key)?;
            let first = rows::text(row, customer::FIXED, customer::FIRST);
            let last = rows::text(row, customer::FIXED, customer::LAST);
            found.names.insert(keys::customer_by_name(id, last, first).to_vec());
            found.of.insert(id.number, Customer::of(row));
            Some(())
        })?;
        each(session, TpccTable::CustomerByName, &prefix, |key, _| {
            found.indexed.insert(key.to_vec());
            Some(())
        })?;
        each(session, TpccTable::History, &prefix, |key, row| {
            let amount = history::AMOUNT.of(row);
            let place = (history::WAREHOUSE.of(row), history::DISTRICT.of(row));
            *paid_in.entry(place).or_default() += amount;
            found.of.entry(keys::leading_customer(key)?.number).or_default().paid += amount;
            Some(())
        })?;
        Ok(found)
    }
}

impl Customer {
    fn of(row: &[u8]) -> Customer {
        Customer {
            balance: customer::BALANCE.of(row),
            ytd_payment: customer::YTD_PAYMENT.of(row),
            deliveries: customer::DELIVERIES.of(row),
            paid: 0,
        }
    }
}

/// An order, and the figures of its lines.
#[derive(Clone, Copy, Default)]
pub(super) struct Order {
    pub(super) has_carrier: bool,
    pub(super) lines: u32,
    pub(super) customer: CustomerId,
    pub(super) lines_found: u32,
    pub(super) lines_delivered: u32,
    /// The sum of the delivered lines.
    pub(super) delivered: i64,
}

/// The orders of a district.
pub(super) struct Orders {
    pub(super) of: BTreeMap<OrderId, Order>,
    pub(super) waiting: BTreeSet<OrderId>,
    /// The number of all lines, including those without an order.
    pub(super) lines: u64,
    /// The entries of the index by customer.
    pub(super) indexed: BTreeSet<(CustomerId, OrderId)>,
}

impl Orders {
    /// Reads the orders.
    pub(super) fn read<'e, E: Engine + 'e>(
        session: &mut TpccSession<'_, 'e, E>,
        district: scale::District,
    ) -> Result<Orders, E> {
        let prefix = keys::district(district);
        let number_in = |key: &[u8]| keys::leading_u32(key.get(prefix.len()..)?);
        let (mut of, mut waiting) = (BTreeMap::new(), BTreeSet::new());
        each(session, TpccTable::Order, &prefix, |key, row| {
            of.insert(number_in(key)?, Order::of(row));
            Some(())
        })?;
        each(session, TpccTable::NewOrder, &prefix, |key, _| {
            waiting.insert(number_in(key)?);
            Some(())
        })?;
        let mut lines = 0;
        each(session, TpccTable::OrderLine, &prefix, |key, row| {
            lines += 1;
            if let Some(order) = of.get_mut(&number_in(key)?) {
                order.add_line(row);
            }
            Some(())
        })?;
        let mut indexed = BTreeSet::new();
        each(session, TpccTable::OrderByCustomer, &prefix, |key, _| {
            let customer = keys::leading_customer(key)?;
            indexed.insert((customer.number, keys::leading_u32(key.get(7..)?)?));
            Some(())
        })?;
        Ok(Orders { of, waiting, lines, indexed })
    }

    /// The sum delivered to each customer, from the remaining orders.
    pub(super) fn delivered_to(&self) -> BTreeMap<CustomerId, i64> {
        let mut delivered = BTreeMap::new();
        for order in self.of.values() {
            *delivered.entry(order.customer).or_default() += order.delivered;
        }
        delivered
    }
}

impl Order {
    fn of(row: &[u8]) -> Order {
        Order {
            has_carrier: order::CARRIER.of(row) != 0,
            lines: u32::from(order::LINES.of(row)),
            customer: order::CUSTOMER.of(row),
            ..Order::default()
        }
    }

    fn add_line(&mut self, row: &[u8]) {
        self.lines_found += 1;
        if order_line::DELIVERY_DATE.of(row) != 0 {
            self.lines_delivered += 1;
            self.delivered += order_line::AMOUNT.of(row);
        }
    }
}

/// Passes each row whose key begins with `prefix` to `visit`, with the whole key. `visit` returns
/// `None` if the key is damaged.
fn each<'e, E: Engine + 'e>(
    session: &mut TpccSession<'_, 'e, E>,
    table: TpccTable,
    prefix: &[u8],
    mut visit: impl FnMut(&[u8], &[u8]) -> Option<()>,
) -> Result<(), E> {
    let mut key = prefix.to_vec();
    let mut is_odd = false;
    session.scan(table, prefix, prefix, Direction::Forward, |rest, row| {
        key.truncate(prefix.len());
        key.extend_from_slice(rest);
        is_odd = visit(&key, row).is_none();
        if is_odd { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    if is_odd { Err(odd_key(table)) } else { Ok(()) }
}
