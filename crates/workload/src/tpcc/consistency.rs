//! The consistency conditions (clause 3.3.2), checked on the content of the tables.
//!
//! Rows that `steady` deleted are counted as if they were still there, by the tallies of deletions.
//! For two conditions about each customer there is only a tally by district: where something was
//! deleted, these are checked for the sum of a district's customers.

mod found;
mod rules;
mod verdict;

use super::session::TpccSession;
use super::tables::Tables;
use crate::attempt::{End, attempt};
use crate::condition::Condition;
use crate::error::Result;
use crate::{Access, Engine};
use found::{Customers, Orders, Places};
use verdict::Verdicts;

/// Checks all conditions in one transaction. It goes district by district, so that only one
/// district's orders are in memory at a time.
pub(super) fn check<E: Engine>(engine: &E, tables: &Tables<E::Table>) -> Result<Vec<Condition>, E> {
    let mut verdicts = Verdicts::default();
    let mut scratch = Vec::new();
    attempt(engine, Access::ReadOnly, |transaction| {
        let mut session: TpccSession<'_, '_, E> =
            TpccSession { transaction, tables, scratch: &mut scratch };
        verdicts = Verdicts::default();
        check_all(&mut session, &mut verdicts)?;
        Ok(End::Commit)
    })?;
    Ok(verdicts.into_conditions())
}

fn check_all<'e, E: Engine + 'e>(
    session: &mut TpccSession<'_, 'e, E>,
    verdicts: &mut Verdicts,
) -> Result<(), E> {
    let mut places = Places::read(session)?;
    for at in 0..places.districts.len() {
        let customers = Customers::read(session, places.districts[at].id, &mut places.paid_in)?;
        let orders = Orders::read(session, places.districts[at].id)?;
        rules::of_district(&places.districts[at], &customers, &orders, verdicts);
    }
    rules::of_payments(&places, verdicts);
    Ok(())
}
