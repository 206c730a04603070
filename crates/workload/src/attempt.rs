//! One transaction, tried again until it does not conflict.

use std::thread;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::{Access, Engine, Transaction, TransactionOutcome};

/// The end that a transaction's body asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Commit the writes.
    Commit,
    /// Roll back: the user changed their mind.
    RollBack,
}

/// The most retries of a transaction before it is given up. With short transactions only an engine
/// that makes no progress comes near this number.
pub(crate) const RETRIES: u32 = 1000;

/// Runs `body` in a transaction, again and again while it conflicts with another. Returns the
/// outcome and the number of retries.
pub(crate) fn attempt<'e, E: Engine>(
    engine: &'e E,
    access: Access,
    mut body: impl FnMut(&mut E::Transaction<'e>) -> Result<End, E>,
) -> Result<(TransactionOutcome, u32), E> {
    for retries in 0..=RETRIES {
        match once(engine, access, &mut body) {
            Err(Error::Engine(error)) if E::is_conflict(&error) => give_way(retries),
            result => return result.map(|outcome| (outcome, retries)),
        }
    }
    Ok((TransactionOutcome::Abandoned, RETRIES))
}

fn once<'e, E: Engine>(
    engine: &'e E,
    access: Access,
    body: &mut impl FnMut(&mut E::Transaction<'e>) -> Result<End, E>,
) -> Result<TransactionOutcome, E> {
    let mut transaction = engine.begin(access)?;
    match body(&mut transaction)? {
        End::Commit => Ok(TransactionOutcome::Committed(transaction.commit()?)),
        End::RollBack => Ok(TransactionOutcome::RolledBack),
    }
}

/// Lets the other transaction finish, which may need this very core: an immediate retry would only
/// meet it again.
fn give_way(retries: u32) {
    match retries {
        0..8 => thread::yield_now(),
        _ => thread::sleep(Duration::from_micros(50)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ticket;
    use crate::memory::{MemoryEngine, MemoryError};

    /// Tries a transaction that conflicts `conflicts` times.
    fn after(
        conflicts: u32,
        then: Result<End, MemoryEngine>,
    ) -> Result<(TransactionOutcome, u32), MemoryEngine> {
        let (mut left, mut then) = (conflicts, Some(then));
        attempt(&MemoryEngine::new(), Access::ReadWrite, |_| {
            if left > 0 {
                left -= 1;
                return Err(MemoryError::Conflict.into());
            }
            then.take().unwrap()
        })
    }

    #[test]
    fn conflicts_are_tried_again_and_counted() {
        assert_eq!(
            after(0, Ok(End::Commit)).unwrap(),
            (TransactionOutcome::Committed(Ticket(1)), 0)
        );
        assert_eq!(
            after(12, Ok(End::Commit)).unwrap(),
            (TransactionOutcome::Committed(Ticket(1)), 12)
        );
        assert_eq!(after(3, Ok(End::RollBack)).unwrap(), (TransactionOutcome::RolledBack, 3));
    }

    #[test]
    fn what_always_conflicts_is_given_up() {
        assert_eq!(
            after(u32::MAX, Ok(End::Commit)).unwrap(),
            (TransactionOutcome::Abandoned, RETRIES)
        );
    }

    #[test]
    fn other_errors_end_it() {
        assert!(after(1, Err(MemoryError::Patch.into())).is_err());
    }
}
