//! The conditions, and the result of checking each.

use crate::condition::{Condition, Verdict};

/// A condition, in the order in which they are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    WarehousePaid,
    NewestOrder,
    WaitingInRow,
    LinesInAll,
    WaitingHasNoCarrier,
    LinesOfOrder,
    LinesDelivered,
    WarehouseHistory,
    DistrictHistory,
    Balance,
    OrdersDelivered,
    BalanceAndPayments,
    OrdersInRow,
    NamesIndexed,
    OrdersIndexed,
}

/// Name and clause of each condition.
const RULES: [(&str, &str); 15] = [
    ("a warehouse took what its districts took", "3.3.2.1"),
    ("a district's next order follows its newest one", "3.3.2.2"),
    ("the orders that wait are without gaps", "3.3.2.3"),
    ("a district has as many lines as its orders say", "3.3.2.4"),
    ("an order has no carrier if and only if it waits", "3.3.2.5"),
    ("an order has as many lines as it says", "3.3.2.6"),
    ("a line has no delivery date if and only if its order has no carrier", "3.3.2.7"),
    ("a warehouse took what its history says", "3.3.2.8"),
    ("a district took what its history says", "3.3.2.9"),
    ("a balance is what was delivered less what the history says", "3.3.2.10"),
    ("as many orders do not wait as were delivered", "3.3.2.11"),
    ("balance and payments are what was delivered", "3.3.2.12"),
    ("the orders of a district are without gaps", ""),
    ("the index by name has each customer once", ""),
    ("the index by customer has each order once", ""),
];

const _: () = assert!(Rule::OrdersIndexed as usize + 1 == RULES.len(), "each rule has a name");

/// The results of all conditions.
#[derive(Debug, Default)]
pub(super) struct Verdicts([Verdict; RULES.len()]);

impl Verdicts {
    /// Counts one check of a condition; `why` says where the condition does not hold.
    pub(super) fn test(&mut self, rule: Rule, holds: bool, why: impl FnOnce() -> String) {
        self.0[rule as usize].test(holds, why);
    }

    /// The results for a report.
    pub(super) fn into_conditions(self) -> Vec<Condition> {
        let each = self.0.into_iter().zip(RULES);
        each.map(|(verdict, (name, clause))| verdict.into_condition(name, clause)).collect()
    }
}
