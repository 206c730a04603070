//! Pauses of a transaction that lost against another.

use std::thread;
use std::time::Duration;

use crate::{Error, Result};

/// The number of conflicts after which a transaction is given up.
const TRIES: u32 = 1000;

/// The tries of one transaction that loses against others, as [`Db::update`](crate::Db::update) counts them:
/// for programs that begin and commit it by other calls.
#[derive(Debug, Default)]
pub struct Retries(u32);

impl Retries {
    /// No try was lost yet.
    pub fn new() -> Retries {
        Retries::default()
    }

    /// The transaction lost: pauses, so that the other one can finish before the next try. 50 microseconds are
    /// the longest pause.
    ///
    /// # Errors
    /// [`Error::Conflict`] if it has lost 1,000 times.
    pub fn pause(&mut self) -> Result<()> {
        self.0 += 1;
        match self.0 {
            ..=8 => thread::yield_now(),
            9..TRIES => thread::sleep(Duration::from_micros(50)),
            _ => return Err(Error::Conflict),
        }
        Ok(())
    }
}
