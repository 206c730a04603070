//! The rules of the conditions.

use super::found::{Customers, District, Order, Orders, Places};
use super::verdict::{Rule, Verdicts};
use crate::tpcc::scale::{self, CustomerId, OrderId, delivered_at_first};

/// The conditions that concern one district.
pub(super) fn of_district(
    district: &District,
    customers: &Customers,
    orders: &Orders,
    verdicts: &mut Verdicts,
) {
    numbers(district, orders, verdicts);
    lines(district, orders, verdicts);
    for (number, order) in &orders.of {
        of_order(district, *number, order, orders.waiting.contains(number), verdicts);
    }
    for number in orders.waiting.iter().filter(|number| !orders.of.contains_key(number)) {
        verdicts.test(Rule::WaitingHasNoCarrier, false, || {
            format!("{}: order {number} waits but is not there", name(district.id))
        });
    }
    deliveries(district, customers, orders, verdicts);
    balances(district, customers, orders, verdicts);
    indexes(district, customers, orders, verdicts);
}

/// Checks that the sums of payments agree with those of districts and history.
pub(super) fn of_payments(places: &Places, verdicts: &mut Verdicts) {
    let history = |district: &District| {
        let id = (district.id.warehouse, district.id.number);
        let left = places.paid_in.get(&id).copied().unwrap_or_default();
        left + district.trimmed.paid_here
    };
    for district in &places.districts {
        equal(verdicts, Rule::DistrictHistory, district.ytd, history(district), || {
            name(district.id)
        });
    }
    for (warehouse, ytd) in &places.warehouses {
        let own = || places.districts.iter().filter(|each| each.id.warehouse == *warehouse);
        let name = || format!("warehouse {warehouse}");
        let districts: i64 = own().map(|district| district.ytd).sum();
        equal(verdicts, Rule::WarehousePaid, *ytd, districts, name);
        equal(verdicts, Rule::WarehouseHistory, *ytd, own().map(history).sum(), name);
    }
}

fn numbers(district: &District, orders: &Orders, verdicts: &mut Verdicts) {
    let place = || name(district.id);
    let newest = orders.of.last_key_value().map_or(0, |(number, _)| *number);
    let expected = i64::from(district.next_order) - 1;
    equal(verdicts, Rule::NewestOrder, expected, i64::from(newest), place);
    if let (Some(first), Some(last)) = (orders.waiting.first(), orders.waiting.last()) {
        equal(verdicts, Rule::NewestOrder, expected, i64::from(*last), place);
        let span = i64::from(last - first) + 1;
        equal(verdicts, Rule::WaitingInRow, span, orders.waiting.len() as i64, place);
    }
    let oldest = district.trimmed.oldest_order;
    let first = orders.of.first_key_value().map_or(oldest, |(number, _)| *number);
    equal(verdicts, Rule::OrdersInRow, i64::from(oldest), i64::from(first), place);
    let span = i64::from(district.next_order) - i64::from(oldest);
    equal(verdicts, Rule::OrdersInRow, span, orders.of.len() as i64, place);
}

fn lines(district: &District, orders: &Orders, verdicts: &mut Verdicts) {
    let said: i64 = orders.of.values().map(|order| i64::from(order.lines)).sum();
    equal(verdicts, Rule::LinesInAll, said, orders.lines as i64, || name(district.id));
}

fn of_order(
    district: &District,
    number: OrderId,
    order: &Order,
    waits: bool,
    verdicts: &mut Verdicts,
) {
    let place = || format!("{}, order {number}", name(district.id));
    let carrier = if order.has_carrier { "has a carrier" } else { "has no carrier" };
    verdicts.test(Rule::WaitingHasNoCarrier, waits != order.has_carrier, || {
        format!("{}: {carrier}, {}", place(), if waits { "waits" } else { "does not wait" })
    });
    let (said, found) = (i64::from(order.lines), i64::from(order.lines_found));
    equal(verdicts, Rule::LinesOfOrder, said, found, place);
    let expected = if order.has_carrier { order.lines_found } else { 0 };
    verdicts.test(Rule::LinesDelivered, order.lines_delivered == expected, || {
        format!("{}: {carrier}, {} lines delivered", place(), order.lines_delivered)
    });
}

/// The standard's condition, that 2,100 orders are delivered, holds before the first new delivery;
/// later deliveries are counted by the customers. Deleted orders had been delivered.
fn deliveries(
    district: &District,
    customers: &Customers,
    orders: &Orders,
    verdicts: &mut Verdicts,
) {
    let deleted = i64::from(district.trimmed.oldest_order) - 1;
    let do_not_wait = orders.of.len() as i64 - orders.waiting.len() as i64 + deleted;
    let first = i64::from(delivered_at_first(customers.names.len() as u32));
    let later: i64 = customers.of.values().map(|customer| i64::from(customer.deliveries)).sum();
    equal(verdicts, Rule::OrdersDelivered, first + later, do_not_wait, || name(district.id));
}

fn balances(district: &District, customers: &Customers, orders: &Orders, verdicts: &mut Verdicts) {
    let delivered = orders.delivered_to();
    let trimmed = &district.trimmed;
    if trimmed.is_any {
        let all = customers.of.values();
        let balance: i64 = all.clone().map(|customer| customer.balance).sum();
        let paid: i64 = all.clone().map(|customer| customer.paid).sum();
        let ytd: i64 = all.map(|customer| customer.ytd_payment).sum();
        let delivered = delivered.values().sum::<i64>() + trimmed.delivered;
        let owed = delivered - paid - trimmed.paid_by_customers;
        equal(verdicts, Rule::Balance, balance, owed, || name(district.id));
        equal(verdicts, Rule::BalanceAndPayments, balance + ytd, delivered, || name(district.id));
        return;
    }
    for (number, customer) in &customers.of {
        let place = || format!("{}, customer {number}", name(district.id));
        let delivered = delivered.get(number).copied().unwrap_or_default();
        equal(verdicts, Rule::Balance, customer.balance, delivered - customer.paid, place);
        let both = customer.balance + customer.ytd_payment;
        equal(verdicts, Rule::BalanceAndPayments, both, delivered, place);
    }
}

fn indexes(district: &District, customers: &Customers, orders: &Orders, verdicts: &mut Verdicts) {
    let differs = |by, entries: usize, rows: usize| {
        format!("{}: the index by {by} has {entries} entries for {rows} rows", name(district.id))
    };
    verdicts.test(Rule::NamesIndexed, customers.names == customers.indexed, || {
        differs("name", customers.indexed.len(), customers.names.len())
    });
    let expected: std::collections::BTreeSet<(CustomerId, OrderId)> =
        orders.of.iter().map(|(number, order)| (order.customer, *number)).collect();
    verdicts.test(Rule::OrdersIndexed, expected == orders.indexed, || {
        differs("customer", orders.indexed.len(), expected.len())
    });
}

fn equal(
    verdicts: &mut Verdicts,
    rule: Rule,
    expected: i64,
    found: i64,
    place: impl Fn() -> String,
) {
    verdicts.test(rule, expected == found, || {
        format!("{}: {expected} on one side, {found} on the other", place())
    });
}

fn name(district: scale::District) -> String {
    format!("district {}.{}", district.warehouse, district.number)
}
