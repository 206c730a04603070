//! The New-Order transaction (clause 2.4): a customer orders 5 to 15 items.

use super::buffers::Buffers;
use super::chance;
use super::keys;
use super::rows::{customer, district, item, order, order_line, stock, warehouse};
use super::scale::{Customer, DISTRICTS, District, ItemId, OrderId, Scale, WarehouseId};
use super::session::TpccSession;
use super::tables::TpccTable;
use crate::Engine;
use crate::error::Result;
use crate::random::Random;

/// The most lines of an order.
pub(super) const LINES: usize = 15;
const _: () = assert!(LINES <= u8::MAX as usize, "a line's number has eight bits");

/// One line of an order.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    item: ItemId,
    supplier: WarehouseId,
    quantity: u8,
}

/// The input at the terminal.
#[derive(Clone, Debug)]
pub(super) struct NewOrder {
    customer: Customer,
    lines: [Line; LINES],
    count: u8,
    date: u64,
}

/// The output at the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Receipt {
    /// The order's number.
    pub(super) order: OrderId,
    /// The total amount, in cents.
    pub(super) total: i64,
    /// The number of lines of brand "B" (clause 2.4.2.2).
    pub(super) branded: u32,
}

impl NewOrder {
    /// Draws the input (clause 2.4.1). One in a hundred orders has an item that does not exist, in
    /// its last line.
    pub(super) fn draw(random: &mut Random, scale: &Scale, home: District, date: u64) -> NewOrder {
        let customer = Customer { district: home, number: chance::customer(random, scale) };
        let count = random.between(5, LINES as u32) as u8;
        let is_wrong = random.percent(1);
        let mut lines = [Line::default(); LINES];
        for line in &mut lines[..usize::from(count)] {
            *line = Line {
                item: chance::item(random, scale),
                supplier: supplier(random, scale, home.warehouse),
                quantity: random.between(1, 10) as u8,
            };
        }
        if is_wrong {
            lines[usize::from(count) - 1].item = scale.unused_item();
        }
        NewOrder { customer, lines, count, date }
    }

    fn lines(&self) -> &[Line] {
        &self.lines[..usize::from(self.count)]
    }

    /// The district where the order is entered.
    pub(super) fn district(&self) -> District {
        self.customer.district
    }

    /// Runs the transaction; `None` if an item does not exist, so that the transaction must be
    /// rolled back.
    pub(super) fn run<'e, E: Engine + 'e>(
        &self,
        session: &mut TpccSession<'_, 'e, E>,
        buffers: &mut Buffers,
    ) -> Result<Option<Receipt>, E> {
        let home = self.customer.district;
        self.prefetch(session)?;
        session.get(TpccTable::Warehouse, &keys::warehouse(home.warehouse), &mut buffers.row)?;
        let warehouse_tax = warehouse::TAX.of(&buffers.row);
        let (number, district_tax) = take_number(session, home, &mut buffers.row)?;
        session.get(TpccTable::Customer, &keys::customer(self.customer), &mut buffers.row)?;
        let discount = customer::DISCOUNT.of(&buffers.row);

        self.put_order(session, number)?;
        let (mut sum, mut branded) = (0, 0);
        for (at, line) in self.lines().iter().enumerate() {
            let sold = line.sell(session, home, buffers)?;
            let Some(sold) = sold else { return Ok(None) };
            let key = keys::order_line(home, number, at as u8 + 1);
            session.put(TpccTable::OrderLine, &key, &sold.row)?;
            sum += sold.amount;
            branded += u32::from(sold.is_branded);
        }
        let total = total(sum, discount, warehouse_tax + district_tax);
        Ok(Some(Receipt { order: number, total, branded }))
    }

    /// Says which rows the transaction needs, as far as its input tells.
    fn prefetch<'e, E: Engine + 'e>(&self, session: &mut TpccSession<'_, 'e, E>) -> Result<(), E> {
        let customer = keys::customer(self.customer);
        // The new entry of the index lies behind all others of the customer.
        let newest = keys::order_by_customer(self.customer, OrderId::MAX);
        let mut rows: Vec<(TpccTable, &[u8])> = Vec::with_capacity(2 + 2 * LINES);
        let lines = self.lines();
        let items: Vec<_> = lines.iter().map(|line| keys::item(line.item)).collect();
        let stocks: Vec<_> =
            lines.iter().map(|line| keys::stock(line.supplier, line.item)).collect();
        rows.push((TpccTable::Customer, &customer));
        rows.push((TpccTable::OrderByCustomer, &newest));
        rows.extend(stocks.iter().map(|key| (TpccTable::Stock, &key[..])));
        rows.extend(items.iter().map(|key| (TpccTable::Item, &key[..])));
        session.prefetch(&rows)
    }

    /// Puts the order, its entry among the waiting orders, and its entry in its customer's index.
    fn put_order<'e, E: Engine + 'e>(
        &self,
        session: &mut TpccSession<'_, 'e, E>,
        number: OrderId,
    ) -> Result<(), E> {
        let home = self.customer.district;
        let is_local = self.lines().iter().all(|line| line.supplier == home.warehouse);
        let mut row = [0; order::FIXED];
        order::LINES.set(&mut row, self.count);
        order::ALL_LOCAL.set(&mut row, u8::from(is_local));
        order::CUSTOMER.set(&mut row, self.customer.number);
        order::ENTRY_DATE.set(&mut row, self.date);
        let key = keys::order(home, number);
        session.put(TpccTable::Order, &key, &row)?;
        session.put(TpccTable::NewOrder, &key, &[])?;
        session.put(
            TpccTable::OrderByCustomer,
            &keys::order_by_customer(self.customer, number),
            &[],
        )
    }
}

/// The result of selling a line.
struct Sold {
    row: [u8; order_line::FIXED],
    amount: i64,
    is_branded: bool,
}

impl Line {
    /// Takes the line's item from stock; `None` if there is no such item.
    fn sell<'e, E: Engine + 'e>(
        &self,
        session: &mut TpccSession<'_, 'e, E>,
        home: District,
        buffers: &mut Buffers,
    ) -> Result<Option<Sold>, E> {
        if !session.find(TpccTable::Item, &keys::item(self.item), &mut buffers.other)? {
            return Ok(None);
        }
        let stock_key = keys::stock(self.supplier, self.item);
        session.get(TpccTable::Stock, &stock_key, &mut buffers.row)?;
        let row = &mut buffers.row[..];
        self.take(row, self.supplier != home.warehouse);
        session.patch(TpccTable::Stock, &stock_key, 0, &row[..stock::END_OF_ORDER])?;

        assert!((1..=DISTRICTS).contains(&home.number), "a stock has a text for each district");
        let amount = item::PRICE.of(&buffers.other) * i64::from(self.quantity);
        let dist = stock::END_OF_ORDER + stock::DIST * (usize::from(home.number) - 1);
        Ok(Some(Sold {
            row: self.row(amount, &row[dist..dist + stock::DIST]),
            amount,
            is_branded: chance::is_original(&row[stock::FIXED..])
                && chance::is_original(&buffers.other[item::FIXED..]),
        }))
    }

    /// Counts the line in a row of stock, which is refilled when it runs low (clause 2.4.2.2).
    fn take(&self, row: &mut [u8], is_remote: bool) {
        let quantity = i32::from(self.quantity);
        let left = stock::QUANTITY.of(row) - quantity;
        stock::QUANTITY.set(row, if left >= 10 { left } else { left + 91 });
        stock::YTD.add(row, u32::from(self.quantity));
        stock::ORDERS.add(row, 1);
        if is_remote {
            stock::REMOTE_ORDERS.add(row, 1);
        }
    }

    fn row(&self, amount: i64, dist_info: &[u8]) -> [u8; order_line::FIXED] {
        let mut row = [0; order_line::FIXED];
        order_line::AMOUNT.set(&mut row, amount);
        order_line::ITEM.set(&mut row, self.item);
        order_line::SUPPLY_WAREHOUSE.set(&mut row, self.supplier);
        order_line::QUANTITY.set(&mut row, self.quantity);
        row[order_line::DIST_INFO..].copy_from_slice(dist_info);
        row
    }
}

/// Takes the district's next order number; returns it with the district's tax.
fn take_number<'e, E: Engine + 'e>(
    session: &mut TpccSession<'_, 'e, E>,
    home: District,
    row: &mut Vec<u8>,
) -> Result<(OrderId, u16), E> {
    let key = keys::district(home);
    session.get(TpccTable::District, &key, row)?;
    let number = district::NEXT_ORDER.of(row);
    let next = number.wrapping_add(1).to_le_bytes();
    session.patch(TpccTable::District, &key, district::NEXT_ORDER.start(), &next)?;
    Ok((number, district::TAX.of(row)))
}

/// The supplying warehouse: home, or for one line in a hundred another (clause 2.4.1.5).
fn supplier(random: &mut Random, scale: &Scale, home: WarehouseId) -> WarehouseId {
    if random.percent(1) { chance::other_warehouse(random, scale, home) } else { home }
}

/// `sum` minus the discount, plus the taxes; rates are in hundredths of a percent.
fn total(sum: i64, discount: u16, taxes: u16) -> i64 {
    const WHOLE: i64 = 10_000;
    sum * (WHOLE - i64::from(discount)) * (WHOLE + i64::from(taxes)) / (WHOLE * WHOLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: District = District { warehouse: 2, number: 3 };

    fn many(scale: &Scale) -> Vec<NewOrder> {
        let mut random = Random::stream(1, 0);
        (0..20_000).map(|_| NewOrder::draw(&mut random, scale, HOME, 1)).collect()
    }

    #[test]
    fn shares_of_wrong_items_and_remote_suppliers_are_one_in_a_hundred() {
        let scale = Scale::standard(3);
        let orders = many(&scale);
        let is_wrong = |order: &&NewOrder| {
            order.lines().last().is_some_and(|line| line.item == scale.unused_item())
        };
        let wrong = orders.iter().filter(is_wrong).count();
        assert!((130..270).contains(&wrong), "{wrong}");
        let lines: Vec<&Line> = orders.iter().flat_map(NewOrder::lines).collect();
        assert!((190_000..210_000).contains(&lines.len()), "{}", lines.len());
        let remote = lines.iter().filter(|line| line.supplier != HOME.warehouse).count();
        assert!((1700..2300).contains(&remote), "{remote}");
        assert!(lines.iter().all(|line| (1..=3).contains(&line.supplier)));
        assert!(lines.iter().all(|line| (1..=10).contains(&line.quantity)));
    }

    #[test]
    fn one_warehouse_supplies_itself() {
        let orders = many(&Scale::standard(2));
        assert!(orders.iter().flat_map(NewOrder::lines).any(|line| line.supplier == 1));
        let mut random = Random::stream(1, 0);
        assert_eq!(chance::other_warehouse(&mut random, &Scale::standard(1), 1), 1);
    }

    #[test]
    fn low_stock_is_filled_up() {
        let line = Line { item: 1, supplier: 1, quantity: 7 };
        let mut row = [0; stock::FIXED];
        for (before, after) in [(17, 10), (16, 100), (100, 93), (10, 94)] {
            stock::QUANTITY.set(&mut row, before);
            line.take(&mut row, true);
            assert_eq!(stock::QUANTITY.of(&row), after);
        }
        assert_eq!(stock::YTD.of(&row), 28);
        assert_eq!(stock::ORDERS.of(&row), 4);
        assert_eq!(stock::REMOTE_ORDERS.of(&row), 4);
    }

    #[test]
    fn the_total_has_discount_and_taxes() {
        assert_eq!(total(10_000, 1000, 500), 9450);
    }
}
