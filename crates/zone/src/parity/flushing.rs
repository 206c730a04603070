//! Flushes: the parity of whole rows follows one, and what must be durable first awaits one.

use std::sync::atomic::{AtomicU64, Ordering};

use super::medium::Sets;
use super::set::SetState;
use super::tails::Tail;
use crate::{Device, DeviceError};

/// Numbers of flushes: whether one that began after some moment is done.
pub(super) struct Flushes {
    begun: AtomicU64,
    /// The latest one that is done.
    done: AtomicU64,
}

impl Flushes {
    pub fn new() -> Self {
        Flushes { begun: AtomicU64::new(0), done: AtomicU64::new(0) }
    }

    /// The number of the next flush to begin.
    pub fn next(&self) -> u64 {
        self.begun.load(Ordering::SeqCst) + 1
    }

    /// True if this flush or a later one is done.
    pub fn has_done(&self, number: u64) -> bool {
        self.done.load(Ordering::SeqCst) >= number
    }

    pub fn flush(&self, device: &dyn Device) -> Result<(), DeviceError> {
        let number = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
        device.flush()?;
        self.done.fetch_max(number, Ordering::SeqCst);
        Ok(())
    }
}

impl Sets {
    pub fn flush_below(&self) -> Result<(), DeviceError> {
        self.flushes.flush(&*self.below)
    }

    /// What was done to a set must be durable before it is written.
    pub fn await_flush(&self, state: &mut SetState) {
        state.after_flush = self.flushes.next();
    }

    /// Flushes, unless a flush was done since what is to be durable.
    pub fn flush_once(&self, state: &SetState) -> Result<(), DeviceError> {
        match self.flushes.has_done(state.after_flush) {
            true => Ok(()),
            false => self.flush_below(),
        }
    }

    /// Appends the parity of whole rows to every set that has some. The sets' data are flushed meanwhile.
    pub fn flush_all(&self) -> Result<(), DeviceError> {
        let waiting: Vec<u32> = self.waiting().iter().copied().collect();
        let (mut whole, mut reset) = (Vec::with_capacity(waiting.len()), Vec::new());
        for set in waiting {
            let mut state = self.state(set);
            if state.is_reset {
                reset.push(set);
                continue;
            }
            match self.settle(set, &mut state) {
                Ok(()) => whole.push((set, state.opening, self.rows.whole(state.blocks))),
                // It is without parity from here on, which its state says.
                Err(error) if error.is_of_zone() => _ = self.waiting().remove(&set),
                Err(error) => return Err(error),
            }
        }
        self.log_tails()?;
        self.flush_below()?;
        for (set, opening, end) in whole {
            let mut state = self.state(set);
            if state.opening == opening && state.is_known {
                self.protect(set, &mut state, end)?;
                if state.has_lost || self.rows.whole(state.blocks) == state.protected {
                    self.waiting().remove(&set);
                }
            }
        }
        reset.into_iter().try_for_each(|set| self.end_reset(set))
    }

    /// Empties the other zones of a set whose first one was reset, durably. If it is written again, that
    /// was flushed by then, as a rule.
    fn end_reset(&self, set: u32) -> Result<(), DeviceError> {
        let mut state = self.state(set);
        if state.is_reset {
            self.waiting().remove(&set);
            match self.settle(set, &mut state) {
                Err(error) if error.is_of_zone() => state.has_lost = true,
                settled => return settled,
            }
        }
        Ok(())
    }

    /// Notes the last rows that changed since the latest flush.
    fn log_tails(&self) -> Result<(), DeviceError> {
        let touched = std::mem::take(&mut *self.touched());
        let tail = |set: u32| (set, self.state(set).tail(self.rows));
        let changes: Vec<(u32, Option<Tail>)> = touched.into_iter().map(tail).collect();
        self.tails().log(&*self.below, changes)
    }
}
