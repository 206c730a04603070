//! The tables: the nine of clause 1.3, two indexes, and the tally of rows deleted by `steady`.

use super::rows;
use crate::Engine;

/// A table of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TpccTable {
    Warehouse,
    District,
    Customer,
    History,
    NewOrder,
    Order,
    OrderLine,
    Item,
    Stock,
    /// Customers of a district by last name, then first name.
    CustomerByName,
    /// Orders of a customer by number: the largest is the newest.
    OrderByCustomer,
    /// Sums of a district's deleted rows, so that the sums of the consistency conditions can still
    /// be checked: see the module `trim`.
    Trimmed,
}

use TpccTable::*;

/// All tables, in the order of their numbers.
pub(super) const ALL: [TpccTable; 12] = [
    Warehouse,
    District,
    Customer,
    History,
    NewOrder,
    Order,
    OrderLine,
    Item,
    Stock,
    CustomerByName,
    OrderByCustomer,
    Trimmed,
];

const _: () = {
    let mut number = 0;
    while number < ALL.len() {
        assert!(ALL[number] as usize == number, "a table's number is its place");
        number += 1;
    }
};

impl TpccTable {
    /// The table's name in the engine.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Warehouse => "tpcc.warehouse",
            District => "tpcc.district",
            Customer => "tpcc.customer",
            History => "tpcc.history",
            NewOrder => "tpcc.new_order",
            Order => "tpcc.order",
            OrderLine => "tpcc.order_line",
            Item => "tpcc.item",
            Stock => "tpcc.stock",
            CustomerByName => "tpcc.customer_by_name",
            OrderByCustomer => "tpcc.order_by_customer",
            Trimmed => "tpcc.trimmed",
        }
    }

    /// Bytes of the fixed-width fields, which each row of the table begins with.
    pub(super) const fn fixed(self) -> usize {
        match self {
            Warehouse => rows::warehouse::FIXED,
            District => rows::district::FIXED,
            Customer => rows::customer::FIXED,
            History => rows::history::FIXED,
            Order => rows::order::FIXED,
            OrderLine => rows::order_line::FIXED,
            Item => rows::item::FIXED,
            Stock => rows::stock::FIXED,
            Trimmed => rows::trimmed::FIXED,
            NewOrder | CustomerByName | OrderByCustomer => 0,
        }
    }
}

/// The open tables of an engine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tables<T>([T; ALL.len()]);

impl<T: Copy> Tables<T> {
    /// Opens all tables.
    pub(super) fn open<E: Engine<Table = T>>(engine: &E) -> Result<Tables<T>, E::Error> {
        let mut opened = [engine.table(ALL[0].name())?; ALL.len()];
        for (own, table) in opened.iter_mut().zip(ALL) {
            *own = engine.table(table.name())?;
        }
        Ok(Tables(opened))
    }

    /// The engine's handle of a table.
    #[inline]
    pub(super) fn of(&self, table: TpccTable) -> T {
        self.0[table as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_stand_at_their_numbers() {
        assert!(ALL.iter().enumerate().all(|(at, table)| *table as usize == at));
    }
}
