//! The choice of a customer, by number or by last name (clauses 2.5.1.2 and 2.6.1.2).

use std::ops::ControlFlow;

use super::buffers::Buffers;
use super::chance::{self, C_LAST_RUN};
use super::keys;
use super::scale::{Customer, CustomerId, District, Scale};
use super::session::{TpccSession, missing};
use super::tables::TpccTable;
use crate::error::Result;
use crate::random::Random;
use crate::{Direction, Engine};

/// The way in which a customer is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// By the customer's number.
    Number(CustomerId),
    /// By the last name, which is given as a number.
    LastName(u32),
}

/// A choice that must still be looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Selection {
    pub(super) district: District,
    pub(super) by: By,
}

impl Selection {
    /// Draws a choice: 60 % by last name.
    pub(super) fn draw(random: &mut Random, scale: &Scale, district: District) -> Selection {
        let by = if random.percent(60) {
            By::LastName(chance::last_name(random, scale, C_LAST_RUN))
        } else {
            By::Number(chance::customer(random, scale))
        };
        Selection { district, by }
    }

    /// Finds the customer. Of several customers with the name it is the middle one by first name.
    pub(super) fn find<'e, E: Engine + 'e>(
        self,
        session: &mut TpccSession<'_, 'e, E>,
        buffers: &mut Buffers,
    ) -> Result<Customer, E> {
        let number = match self.by {
            By::Number(number) => number,
            By::LastName(name) => {
                chance::spell_last_name(name, &mut buffers.name);
                self.middle_of(session, &buffers.name, &mut buffers.customers)?
            }
        };
        Ok(Customer { district: self.district, number })
    }

    fn middle_of<'e, E: Engine + 'e>(
        self,
        session: &mut TpccSession<'_, 'e, E>,
        name: &[u8],
        customers: &mut Vec<CustomerId>,
    ) -> Result<CustomerId, E> {
        customers.clear();
        let prefix = keys::last_name(self.district, name);
        session.scan(
            TpccTable::CustomerByName,
            &prefix,
            &prefix,
            Direction::Forward,
            |rest, _| {
                customers.extend(keys::trailing_u16(rest));
                ControlFlow::Continue(())
            },
        )?;
        // Position n/2, rounded up, counted from 1.
        let middle = customers.len().saturating_sub(1) / 2;
        customers.get(middle).copied().ok_or_else(|| missing(TpccTable::CustomerByName))
    }
}
