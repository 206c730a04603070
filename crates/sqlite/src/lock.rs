//! The locks of a database file among the connections of a process: SQLite's five levels
//! (<https://www.sqlite.org/lockingv3.html>). A store is open in one process only.

use crate::Error;

/// The level of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// No lock.
    #[default]
    None,
    /// It may read.
    Shared,
    /// It may read, and is to write; others may read.
    Reserved,
    /// It waits until the others have read; no more come.
    Pending,
    /// It may write, alone.
    Exclusive,
}

impl Level {
    /// The level that SQLite gives this number.
    pub(crate) fn of(number: i32) -> Level {
        match number {
            ..=0 => Level::None,
            1 => Level::Shared,
            2 => Level::Reserved,
            3 => Level::Pending,
            4.. => Level::Exclusive,
        }
    }
}

/// The locks on a file.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    /// Connections at [`Level::Shared`] or above.
    shared: u32,
    /// One of them is above that.
    reserved: bool,
    /// That one lets no more in.
    pending: bool,
}

impl Locks {
    /// Raises the level of a connection. A connection that waits for others to read stays at
    /// [`Level::Pending`].
    ///
    /// # Errors
    /// Another connection is in the way.
    pub(crate) fn lock(&mut self, own: &mut Level, to: Level) -> Result<(), Error> {
        if *own == Level::None && to >= Level::Shared {
            if self.pending {
                return Err(Error::Busy);
            }
            self.shared += 1;
            *own = Level::Shared;
        }
        if *own == Level::Shared && to >= Level::Reserved {
            if self.reserved {
                return Err(Error::Busy);
            }
            self.reserved = true;
            *own = Level::Reserved;
        }
        if to >= Level::Pending && *own < Level::Exclusive {
            self.pending = true;
            *own = Level::Pending;
            if self.shared > 1 {
                return Err(Error::Busy);
            }
            *own = Level::Exclusive;
        }
        assert!(self.reserved || !self.pending, "only one that is to write lets no more in");
        Ok(())
    }

    /// Lowers the level of a connection to [`Level::Shared`] or [`Level::None`].
    pub(crate) fn unlock(&mut self, own: &mut Level, to: Level) {
        if *own > Level::Shared && to <= Level::Shared {
            assert!(self.reserved, "one connection is above the others");
            self.reserved = false;
            self.pending = false;
            *own = Level::Shared;
        }
        if *own == Level::Shared && to == Level::None {
            assert!(self.shared > 0, "those who read are counted");
            self.shared -= 1;
            *own = Level::None;
        }
    }

    /// True if a connection is to write.
    pub(crate) fn is_reserved(&self) -> bool {
        self.reserved
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn at_most_one_writes_and_then_nobody_reads(steps in prop::collection::vec((0..4usize, 0..5i32, any::<bool>()), 0..200)) {
            let (mut locks, mut own) = (Locks::default(), [Level::None; 4]);
            for (who, level, is_lock) in steps {
                let level = Level::of(level);
                if is_lock && level == Level::Pending {
                    // Nobody asks for it: it is the way to the last level.
                    continue;
                }
                let before = own[who];
                match is_lock {
                    true => {
                        let locked = locks.lock(&mut own[who], level);
                        prop_assert_eq!(locked.is_ok(), own[who] >= level);
                        prop_assert!(own[who] >= before);
                    }
                    false => {
                        locks.unlock(&mut own[who], level);
                        prop_assert!(own[who] <= before);
                    }
                }
                let at_least = |level| own.iter().filter(|&&own| own >= level).count();
                prop_assert!(at_least(Level::Reserved) <= 1);
                prop_assert_eq!(locks.is_reserved(), at_least(Level::Reserved) == 1);
                prop_assert!(at_least(Level::Exclusive) == 0 || at_least(Level::Shared) == 1);
            }
        }
    }

    #[test]
    fn a_writer_that_waits_lets_nobody_in_and_writes_once_the_readers_are_gone() {
        let (mut locks, [mut reader, mut writer, mut late]) = (Locks::default(), [Level::None; 3]);
        locks.lock(&mut reader, Level::Shared).unwrap();
        locks.lock(&mut writer, Level::Reserved).unwrap();
        assert!(locks.lock(&mut writer, Level::Exclusive).is_err());
        assert!(locks.lock(&mut late, Level::Shared).is_err());
        locks.unlock(&mut reader, Level::None);
        locks.lock(&mut writer, Level::Exclusive).unwrap();
    }
}
