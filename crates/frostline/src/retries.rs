//! Pauses of a transaction that lost against another.

use std::thread;
use std::time::Duration;

use crate::{Error, Result};

/// Tries of a transaction, unless it is told otherwise.
pub(crate) const TRIES: u32 = 1000;

/// The tries of one transaction that loses against others, as [`Db::update`](crate::Db::update)
/// counts them: for programs that begin and commit it by other calls.
#[derive(Debug)]
pub struct Retries {
    lost: u32,
    most: u32,
}

impl Retries {
    /// A transaction that is tried at most so many times; see
    /// [`Options::tries`](crate::Options::tries).
    pub fn new(tries: u32) -> Retries {
        Retries { lost: 0, most: tries }
    }

    /// The transaction lost: pauses, so that the other one can finish before the next try. 50
    /// microseconds are the longest pause.
    ///
    /// # Errors
    /// [`Error::Conflict`] if it was the last try.
    pub fn pause(&mut self) -> Result<()> {
        self.lost += 1;
        match self.lost {
            lost if lost >= self.most => return Err(Error::Conflict),
            ..=8 => thread::yield_now(),
            _ => thread::sleep(Duration::from_micros(50)),
        }
        Ok(())
    }
}

impl Default for Retries {
    /// 1,000 tries.
    fn default() -> Self {
        Retries::new(TRIES)
    }
}
