//! Every condition finds its violation.

use super::*;
use crate::field::{Field, Fixed};
use crate::tpcc::keys;
use crate::tpcc::rows::{customer, district, history, order, order_line, trimmed, warehouse};
use crate::tpcc::scale::{Customer, District};
use crate::tpcc::tables::{Tables, TpccTable};
use crate::{Access, Engine, Transaction};

const DISTRICT: District = District { warehouse: 2, number: 3 };
const CUSTOMER: Customer = Customer { district: DISTRICT, number: 5 };

/// Changes, adds or deletes one row.
struct Plant<'e> {
    engine: &'e MemoryEngine,
    tables: Tables<usize>,
}

impl Plant<'_> {
    fn edit(&self, edit: impl FnOnce(&mut <MemoryEngine as Engine>::Transaction<'_>)) {
        let mut transaction = self.engine.begin(Access::ReadWrite).unwrap();
        edit(&mut transaction);
        transaction.commit().unwrap();
    }

    fn set<T: Fixed>(&self, table: TpccTable, key: &[u8], field: Field<T>, number: T) {
        self.edit(|transaction| {
            let mut row = Vec::new();
            assert!(transaction.get(self.tables.of(table), key, &mut row).unwrap());
            field.set(&mut row, number);
            transaction.put(self.tables.of(table), key, &row).unwrap();
        });
    }

    fn put(&self, table: TpccTable, key: &[u8], row: &[u8]) {
        self.edit(|transaction| transaction.put(self.tables.of(table), key, row).unwrap());
    }

    fn delete(&self, table: TpccTable, key: &[u8]) {
        self.edit(|transaction| transaction.delete(self.tables.of(table), key).unwrap());
    }
}

/// The clauses of the conditions that a planted error violates, or their names if they have no
/// clause.
fn found(steady: bool, plant: impl FnOnce(&Plant)) -> Vec<&'static str> {
    let engine = MemoryEngine::new();
    let tpcc = loaded(&engine, SMALL, steady);
    if steady {
        run(&engine, &tpcc, 1, 3000);
    }
    assert_consistent(&engine, &tpcc);
    plant(&Plant { engine: &engine, tables: Tables::open(&engine).unwrap() });
    let name = |condition: &Condition| match condition.clause {
        "" => condition.name,
        clause => clause,
    };
    violated(&engine, &tpcc).iter().map(name).collect()
}

#[test]
fn what_was_taken() {
    let found = |plant: &dyn Fn(&Plant)| found(false, plant);
    assert_eq!(
        found(&|plant| plant.set(TpccTable::Warehouse, &keys::warehouse(2), warehouse::YTD, 1)),
        ["3.3.2.1", "3.3.2.8"]
    );
    assert_eq!(
        found(&|plant| plant.set(TpccTable::District, &keys::district(DISTRICT), district::YTD, 1)),
        ["3.3.2.1", "3.3.2.9"]
    );
    let first = keys::history(CUSTOMER, 1);
    assert_eq!(
        found(&|plant| plant.set(TpccTable::History, &first, history::AMOUNT, 1)),
        ["3.3.2.8", "3.3.2.9", "3.3.2.10"]
    );
    assert_eq!(
        found(&|plant| plant.set(TpccTable::History, &first, history::DISTRICT, 4)),
        ["3.3.2.9"]
    );
}

#[test]
fn orders_and_those_that_wait() {
    let found = |plant: &dyn Fn(&Plant)| found(false, plant);
    let next = district::NEXT_ORDER;
    assert_eq!(
        found(&|plant| plant.set(TpccTable::District, &keys::district(DISTRICT), next, 60)),
        ["3.3.2.2", "the orders of a district are without gaps"]
    );
    // Orders 43 to 60 wait for delivery.
    assert_eq!(
        found(&|plant| plant.delete(TpccTable::NewOrder, &keys::order(DISTRICT, 50))),
        ["3.3.2.3", "3.3.2.5", "3.3.2.11"]
    );
    assert_eq!(
        found(&|plant| plant.delete(TpccTable::NewOrder, &keys::order(DISTRICT, 43))),
        ["3.3.2.5", "3.3.2.11"]
    );
    assert_eq!(
        found(&|plant| plant.put(TpccTable::NewOrder, &keys::order(DISTRICT, 61), b"")),
        ["3.3.2.2", "3.3.2.5", "3.3.2.11"]
    );
    assert_eq!(
        found(&|plant| plant.set(TpccTable::Order, &keys::order(DISTRICT, 50), order::CARRIER, 1)),
        ["3.3.2.5", "3.3.2.7"]
    );
    let deliveries = customer::DELIVERIES;
    assert_eq!(
        found(&|plant| plant.set(TpccTable::Customer, &keys::customer(CUSTOMER), deliveries, 1)),
        ["3.3.2.11"]
    );
}

#[test]
fn lines() {
    let found = |plant: &dyn Fn(&Plant)| found(false, plant);
    let order = keys::order(DISTRICT, 7);
    assert_eq!(
        found(&|plant| plant.set(TpccTable::Order, &order, order::LINES, 16)),
        ["3.3.2.4", "3.3.2.6"]
    );
    assert_eq!(
        found(&|plant| plant.delete(TpccTable::OrderLine, &keys::order_line(DISTRICT, 7, 1))),
        ["3.3.2.4", "3.3.2.6"]
    );
    let orphan = [0; order_line::FIXED];
    assert_eq!(
        found(&|plant| plant.put(
            TpccTable::OrderLine,
            &keys::order_line(DISTRICT, 99, 1),
            &orphan
        )),
        ["3.3.2.4"]
    );
    let date = order_line::DELIVERY_DATE;
    let line = keys::order_line(DISTRICT, 7, 1);
    assert_eq!(found(&|plant| plant.set(TpccTable::OrderLine, &line, date, 0)), ["3.3.2.7"]);
    let amount = order_line::AMOUNT;
    assert_eq!(
        found(&|plant| plant.set(TpccTable::OrderLine, &line, amount, 1)),
        ["3.3.2.10", "3.3.2.12"]
    );
}

#[test]
fn balances() {
    let key = keys::customer(CUSTOMER);
    for steady in [false, true] {
        assert_eq!(
            found(steady, |plant| plant.set(TpccTable::Customer, &key, customer::BALANCE, 7)),
            ["3.3.2.10", "3.3.2.12"]
        );
        assert_eq!(
            found(steady, |plant| plant.set(TpccTable::Customer, &key, customer::YTD_PAYMENT, 7)),
            ["3.3.2.12"]
        );
    }
}

#[test]
fn indexes() {
    let found = |plant: &dyn Fn(&Plant)| found(false, plant);
    let name = keys::customer_by_name(CUSTOMER, b"BAR", b"none");
    assert_eq!(
        found(&|plant| plant.put(TpccTable::CustomerByName, &name, b"")),
        ["the index by name has each customer once"]
    );
    let order = keys::order_by_customer(CUSTOMER, 61);
    assert_eq!(
        found(&|plant| plant.put(TpccTable::OrderByCustomer, &order, b"")),
        ["the index by customer has each order once"]
    );
}

#[test]
fn what_was_deleted() {
    let key = keys::district(DISTRICT);
    let found = |field| found(true, |plant| plant.set(TpccTable::Trimmed, &key, field, 1));
    assert_eq!(found(trimmed::PAID_HERE), ["3.3.2.8", "3.3.2.9"]);
    assert_eq!(found(trimmed::PAID_BY_CUSTOMERS), ["3.3.2.10"]);
    assert_eq!(found(trimmed::DELIVERED), ["3.3.2.10", "3.3.2.12"]);
}

#[test]
fn an_order_that_went_without_a_tally() {
    let found = found(true, |plant| {
        let mut row = Vec::new();
        plant.edit(|transaction| {
            let trimmed = plant.tables.of(TpccTable::Trimmed);
            assert!(transaction.get(trimmed, &keys::district(DISTRICT), &mut row).unwrap());
        });
        let oldest = trimmed::OLDEST_ORDER.of(&row);
        assert!(oldest > 1);
        plant.delete(TpccTable::Order, &keys::order(DISTRICT, oldest));
    });
    assert!(found.contains(&"the orders of a district are without gaps"), "{found:?}");
}
