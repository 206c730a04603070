//! Payments, each a row of the history, in a worker's memory.

use super::rows::history;
use super::scale::{Customer, District};

/// A payment that was made; it identifies its history row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Paid {
    pub(super) customer: Customer,
    /// The number of the customer's payments so far, including this one.
    pub(super) payments: u32,
}

/// A history row to delete.
#[derive(Clone, Copy, Debug)]
pub(super) struct OldPayment {
    /// The number of the payment among its customer's.
    pub(super) payment: u32,
    pub(super) paid_in: District,
    pub(super) amount: i64,
}

impl OldPayment {
    pub(super) fn of(payment: u32, row: &[u8]) -> OldPayment {
        let paid_in =
            District { warehouse: history::WAREHOUSE.of(row), number: history::DISTRICT.of(row) };
        OldPayment { payment, paid_in, amount: history::AMOUNT.of(row) }
    }
}
