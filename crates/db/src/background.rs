//! The background threads of a database.

use std::time::Duration;

use crate::DbError;
use crate::core::Core;
use crate::overflow::Unfreed;

/// The longest sleep of a background thread.
const NAP: Duration = Duration::from_millis(50);

impl Core {
    /// Keeps frames free, and memory of rows that wait, until the database is closed.
    pub(crate) fn evict_always(&self) -> Result<(), DbError> {
        while !self.alarm.is_closing() {
            self.check()?;
            self.trees.pool.wait_until_needed(NAP);
            self.trees.pool.make_room()?;
            self.trees.give_overfull();
        }
        Ok(())
    }

    /// Reads what steps miss, until the database is closed.
    pub(crate) fn read_always(&self) -> Result<(), DbError> {
        /// However the thread ends, no step waits for it after that.
        struct End<'c>(&'c Core);

        impl Drop for End<'_> {
            fn drop(&mut self) {
                self.0.trees.pool.reader.end();
            }
        }

        let _end = End(self);
        self.trees.pool.read_missed()
    }

    /// Takes checkpoints as the log fills up, frees pages between them, and visits leaves that
    /// became emptier, until the database is closed.
    pub(crate) fn checkpoint_always(&self) -> Result<(), DbError> {
        let is_wanted = || self.checkpoint_is_wanted();
        // It may have become so while the thread was awake.
        while !self.alarm.sleep(if is_wanted() { Duration::ZERO } else { NAP }) {
            self.check()?;
            if is_wanted() {
                self.checkpoint()?;
            } else {
                self.trees.trim_freed()?;
            }
            let goes_on = || !is_wanted() && !self.alarm.is_closing();
            self.free_unowned(Unfreed::New, goes_on);
            self.purge_in_parts(goes_on);
        }
        Ok(())
    }
}
