//! The memory that connections share for the index of a write-ahead log
//! (<https://www.sqlite.org/walformat.html>). It is that of the process: a store is open in one
//! only, and after a crash SQLite makes the index anew.

use crate::Error;

/// Locks on the memory.
const SLOTS: usize = 8;
const _: () = assert!(SLOTS == u8::BITS as usize, "a connection has a bit for each lock");

/// The memory of one database, and the locks on it.
#[derive(Default)]
pub(crate) struct SharedMemory {
    /// Each stays where it is as long as a connection has it.
    regions: Vec<Box<[u64]>>,
    connections: u32,
    /// Connections that share a lock.
    shared: [u32; SLOTS],
    /// A connection has it alone.
    exclusive: [bool; SLOTS],
}

/// What a connection has of it, a bit a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    is_connected: bool,
    shared: u8,
    exclusive: u8,
}

impl SharedMemory {
    /// The address of a region of so many bytes; it is made, full of zeroes, if `extend` says so.
    pub(crate) fn map(
        &mut self,
        held: &mut Held,
        region: usize,
        bytes: usize,
        extend: bool,
    ) -> Option<*mut u64> {
        if !held.is_connected {
            held.is_connected = true;
            self.connections += 1;
        }
        while extend && self.regions.len() <= region {
            self.regions.push(vec![0; bytes.div_ceil(8)].into_boxed_slice());
        }
        let region = self.regions.get_mut(region)?;
        assert!(bytes <= size_of_val(&region[..]), "a region has the bytes that are used of it");
        Some(region.as_mut_ptr())
    }

    /// Takes locks, all or none.
    ///
    /// # Errors
    /// Another connection is in the way.
    pub(crate) fn lock(
        &mut self,
        held: &mut Held,
        slots: std::ops::Range<usize>,
        shared: bool,
    ) -> Result<(), Error> {
        let slots = slots.start.min(SLOTS)..slots.end.min(SLOTS);
        let is_free = |slot: usize| {
            let own = held.shared >> slot & 1;
            !self.exclusive[slot] && (shared || self.shared[slot] == u32::from(own))
        };
        if !slots.clone().all(is_free) {
            return Err(Error::Busy);
        }
        for slot in slots {
            let bit = 1 << slot;
            match shared {
                true if held.shared & bit == 0 => {
                    held.shared |= bit;
                    self.shared[slot] += 1;
                }
                true => {}
                false => {
                    held.exclusive |= bit;
                    self.exclusive[slot] = true;
                }
            }
        }
        Ok(())
    }

    /// Lets go of locks.
    pub(crate) fn unlock(&mut self, held: &mut Held, slots: std::ops::Range<usize>) {
        for slot in slots.start.min(SLOTS)..slots.end.min(SLOTS) {
            let bit = 1 << slot;
            if held.shared & bit != 0 {
                assert!(self.shared[slot] > 0, "those who share a lock are counted");
                self.shared[slot] -= 1;
            }
            if held.exclusive & bit != 0 {
                assert!(self.exclusive[slot], "a lock that one has alone is taken");
                self.exclusive[slot] = false;
            }
            held.shared &= !bit;
            held.exclusive &= !bit;
        }
    }

    /// A connection has done with the memory. After the last one it is gone.
    pub(crate) fn unmap(&mut self, held: &mut Held) {
        self.unlock(held, 0..SLOTS);
        if std::mem::take(&mut held.is_connected) {
            assert!(self.connections > 0, "connections are counted");
            self.connections -= 1;
        }
        if self.connections == 0 {
            self.regions.clear();
        }
    }

    /// True if a connection uses it: the database has a write-ahead log.
    pub(crate) fn is_used(&self) -> bool {
        self.connections > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_shared_or_exclusive_and_all_of_a_range_or_none() {
        let (mut memory, [mut a, mut b]) = (SharedMemory::default(), [Held::default(); 2]);
        memory.lock(&mut a, 3..4, true).unwrap();
        memory.lock(&mut b, 3..4, true).unwrap();
        assert!(memory.lock(&mut a, 2..5, false).is_err());
        memory.unlock(&mut b, 3..4);
        memory.unlock(&mut a, 3..4);
        memory.lock(&mut a, 2..5, false).unwrap();
        assert!(memory.lock(&mut b, 4..5, true).is_err());
        memory.unmap(&mut a);
        memory.lock(&mut b, 0..8, false).unwrap();
    }

    #[test]
    fn regions_stay_until_the_last_connection_is_gone() {
        let (mut memory, [mut a, mut b]) = (SharedMemory::default(), [Held::default(); 2]);
        assert!(memory.map(&mut a, 0, 32768, false).is_none());
        let first = memory.map(&mut a, 0, 32768, true);
        assert!(memory.map(&mut b, 3, 32768, true).is_some());
        assert_eq!(memory.map(&mut b, 0, 32768, false), first);
        memory.unmap(&mut a);
        assert_eq!(memory.map(&mut b, 0, 32768, false), first);
        memory.unmap(&mut b);
        assert!(!memory.is_used());
    }
}
