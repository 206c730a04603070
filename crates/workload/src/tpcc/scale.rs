//! The options of the benchmark, the sizes of the tables (clause 1.2) among them.

use crate::Contents;

/// Districts in a warehouse.
pub(super) const DISTRICTS: u8 = 10;

/// A warehouse, by its number from 1.
pub(super) type WarehouseId = u32;
/// A customer of a district, by its number from 1.
pub(super) type CustomerId = u16;
/// An order of a district, by its number from 1.
pub(super) type OrderId = u32;
/// An item, by its number from 1.
pub(super) type ItemId = u32;

/// Options of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TpccOptions {
    /// The amount of data. A database that is loaded already must have the same.
    pub scale: Scale,
    /// True to delete old orders and old rows of history at the rate at which new ones come, so
    /// that the data keep their size however long the benchmark runs, and to deliver as fast as
    /// orders come. The deleting transactions are a kind of their own, `trim`. This differs from
    /// the letter of TPC-C, whose data grow.
    pub steady: bool,
}

impl TpccOptions {
    /// The contents that these options load. `steady` is not part of them: a run may use loaded
    /// data with or without it.
    pub fn contents(&self) -> Contents {
        let Scale { warehouses, items, customers } = self.scale;
        let numbers = [
            ("warehouses", warehouses.into()),
            ("items", items.into()),
            ("customers a district", customers.into()),
        ];
        Contents::new("tpcc", 1, &numbers)
    }
}

/// The number of warehouses, and the amount of data in each.
///
/// The standard scales by warehouses only; the other numbers are constants there, and smaller ones
/// are for tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// The number of warehouses, 1 or more.
    pub warehouses: u32,
    /// Items, and stocks in a warehouse: 100,000 in the standard.
    pub items: u32,
    /// Customers in a district, and its orders after loading: 3,000 in the standard, and at most.
    pub customers: u16,
}

impl Scale {
    /// `warehouses` warehouses of the standard's size.
    pub const fn standard(warehouses: u32) -> Scale {
        Scale { warehouses, items: 100_000, customers: 3000 }
    }

    /// The first invalid number, if there is one, and the reason.
    pub(super) fn flaw(&self) -> Option<(&'static str, &'static str)> {
        if self.warehouses == 0 {
            return Some(("warehouses", "there must be at least one"));
        }
        // The stocks that a stock-level transaction looks at must have different items.
        if !(20..=100_000).contains(&self.items) {
            return Some(("items", "must be 20 to 100,000"));
        }
        // Below ten customers, three tenths of them are not a whole number of waiting orders.
        if !(10..=3000).contains(&self.customers) {
            return Some(("customers", "must be 10 to 3,000"));
        }
        None
    }

    /// The number of a district's waiting orders after loading: 900 in the standard.
    pub(super) const fn waiting(&self) -> u32 {
        self.orders() - delivered_at_first(self.orders())
    }

    /// The number of a district's orders after loading: 3,000 in the standard.
    pub(super) const fn orders(&self) -> u32 {
        self.customers as u32
    }

    /// The number of last names in use: 1,000 in the standard; the first 1,000 customers of a
    /// district have one each.
    pub(super) const fn last_names(&self) -> u32 {
        if self.customers < 1000 { self.customers as u32 } else { 1000 }
    }

    /// The number of an item that does not exist: the 1 % of orders that roll back ask for it.
    pub(super) const fn unused_item(&self) -> ItemId {
        self.items + 1
    }
}

/// How many of a district's first `orders` orders are loaded as delivered: 2,100 of 3,000.
pub(super) const fn delivered_at_first(orders: u32) -> u32 {
    orders * 7 / 10
}

/// A district: its warehouse and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct District {
    pub(super) warehouse: WarehouseId,
    pub(super) number: u8,
}

impl District {
    /// All districts of a warehouse.
    pub(super) fn all_of(warehouse: WarehouseId) -> impl Iterator<Item = District> {
        (1..=DISTRICTS).map(move |number| District { warehouse, number })
    }
}

/// A customer: the district and the customer's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Customer {
    pub(super) district: District,
    pub(super) number: CustomerId,
}
