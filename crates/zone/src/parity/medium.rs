//! The sets as a medium of zones: appends, resets, finishes and flushes.

use std::io::{self, IoSlice};
use std::sync::atomic::Ordering;

use super::rows::{BLOCK, bytes};
use super::set::SetState;
use super::stripe_groups::StripeGroups;
use super::striped_write::StripedWrite;
use crate::zoned::Medium;
use crate::{DeviceError, Operation, ZoneInfo, ZoneRead, ZoneState};

/// Rows of a set whose parity waits in memory, at most: with more of them the device below is
/// flushed.
const MOST_WAITING: u64 = 256;

impl StripeGroups {
    /// Appends blocks to a set.
    fn append(
        &self,
        set: u32,
        state: &mut SetState,
        parts: &[IoSlice<'_>],
    ) -> Result<(), DeviceError> {
        self.resync(set, state)?;
        if state.has_lost {
            let zone = self.zone(set, 0);
            return Err(DeviceError::ReadOnlyZone { operation: Operation::Append, zone });
        }
        self.flush_once(state)?;
        let dealt = StripedWrite::of(parts, state.blocks, self.rows);
        for (column, (row, range)) in (0..).zip(&dealt.columns) {
            if !range.is_empty() {
                let zone = self.zone(set, column);
                self.below.append(zone, bytes(*row), &dealt.bytes[range.clone()])?;
            }
        }
        state.add(&dealt.bytes, &dealt.columns, self.rows);
        self.touched().insert(set);
        let whole = self.rows.whole(state.blocks);
        // A full set whose parity waits has an active zone, for which a limit may have no room.
        let is_full = self.has_limit && state.blocks == self.rows.blocks();
        if whole > state.protected + MOST_WAITING || is_full {
            self.flush_below()?;
            self.protect(set, state, whole)?;
        } else if whole > state.protected {
            self.waiting().insert(set);
        }
        Ok(())
    }

    fn reset_all(&self, set: u32, state: &mut SetState) -> Result<(), DeviceError> {
        let is_sound = !state.has_lost && !self.find(set)?.has_lost;
        state.is_known = false;
        self.below.reset(self.zone(set, 0))?;
        let mut reset = SetState::reset(state.opening + 1);
        self.await_flush(&mut reset);
        if !is_sound {
            // The others are tried at once, so that the user learns whether the set can go on.
            self.flush_below()?;
            (1..=self.rows.data).try_for_each(|column| self.below.reset(self.zone(set, column)))?;
            self.await_flush(&mut reset);
        }
        *state = reset;
        self.waiting().insert(set);
        self.touched().insert(set);
        Ok(())
    }

    fn finish_all(&self, set: u32, state: &mut SetState) -> Result<(), DeviceError> {
        self.resync(set, state)?;
        if state.blocks == self.rows.blocks() {
            return Ok(());
        }
        state.is_known = false;
        let (blocks, last) = (state.blocks, self.rows.data - 1);
        self.below.finish(self.zone(set, last))?;
        self.flush_below()?;
        // The last row gets the blocks that it lacks. What the finished zone has there is its own.
        let end = self.rows.of_zone(0, blocks);
        for column in 0..last {
            let has = self.rows.of_zone(column, blocks);
            self.pad(set, column, has, end - has)?;
        }
        self.make_parity(set, state, end, &|_| end)?;
        (0..last).try_for_each(|column| self.below.finish(self.zone(set, column)))?;
        // Parity that is longer than the data would look like data that are lost.
        self.flush_below()?;
        match self.below.finish(self.parity_zone(set)) {
            Err(error) if error.is_of_zone() => state.has_lost = true,
            finished => finished?,
        }
        (state.blocks, state.protected) = (self.rows.blocks(), self.rows.count);
        state.pending.clear();
        state.is_known = true;
        self.waiting().remove(&set);
        self.touched().insert(set);
        Ok(())
    }

    /// Appends the parity of whole rows to every set that has some. The sets' data are flushed
    /// meanwhile.
    pub(super) fn flush_all(&self) -> Result<(), DeviceError> {
        let waiting: Vec<u32> = self.waiting().iter().copied().collect();
        let (mut whole, mut reset) = (Vec::with_capacity(waiting.len()), Vec::new());
        for set in waiting {
            let mut state = self.state(set);
            if state.is_reset {
                reset.push(set);
                continue;
            }
            match self.resync(set, &mut state) {
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

    /// Empties the other zones of a set whose first one was reset, durably. If it is written again,
    /// that was flushed by then, as a rule.
    fn end_reset(&self, set: u32) -> Result<(), DeviceError> {
        let mut state = self.state(set);
        if state.is_reset {
            self.waiting().remove(&set);
            match self.resync(set, &mut state) {
                Err(error) if error.is_of_zone() => state.has_lost = true,
                done => return done,
            }
        }
        Ok(())
    }

    /// Notes the last rows that changed since the latest flush.
    fn log_tails(&self) -> Result<(), DeviceError> {
        let touched = std::mem::take(&mut *self.touched());
        let changes = touched.into_iter().map(|set| (set, self.state(set).tail(self.rows)));
        self.tails().log(&*self.below, changes.collect())
    }

    /// Makes a change of a set. After one that failed its zones tell what became of it.
    fn change(
        &self,
        set: u32,
        change: impl FnOnce(&mut SetState) -> Result<(), DeviceError>,
    ) -> io::Result<()> {
        let mut state = self.state(set);
        change(&mut state).map_err(|error| {
            state.is_known = false;
            io::Error::other(error)
        })
    }
}

impl Medium for StripeGroups {
    fn write(&self, set: u32, _at: u64, parts: &[IoSlice<'_>]) -> io::Result<()> {
        self.change(set, |state| self.append(set, state, parts))
    }

    fn read(&self, set: u32, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.read_blocks(set, offset / BLOCK as u64, buffer).map_err(io::Error::other)
    }

    fn read_all(&self, reads: &mut [ZoneRead<'_>]) -> Result<(), (usize, io::Error)> {
        self.read_places(reads).map_err(|(index, error)| (index, io::Error::other(error)))
    }

    fn reset(&self, set: u32) -> io::Result<()> {
        self.change(set, |state| self.reset_all(set, state))
    }

    fn finish(&self, set: u32) -> io::Result<()> {
        self.change(set, |state| self.finish_all(set, state))
    }

    fn flush(&self) -> io::Result<()> {
        self.flush_all().map_err(io::Error::other)
    }

    fn probe(&self, set: u32) -> io::Result<ZoneInfo> {
        self.seen(set).map_err(io::Error::other)
    }

    fn show(&self, first: u32, zones: &mut [ZoneInfo]) -> Result<(), DeviceError> {
        for (set, info) in (first..).zip(zones) {
            if self.find(set)?.has_lost || self.state(set).has_lost {
                info.state = ZoneState::ReadOnly;
            }
        }
        Ok(())
    }

    fn read_other(&self, set: u32, at: u64, buffer: &mut [u8]) -> Result<bool, DeviceError> {
        for (block, buffer) in (at / BLOCK as u64..).zip(buffer.chunks_exact_mut(BLOCK)) {
            let (column, row) = self.rows.place(block);
            if !self.rebuild(set, column, row, buffer)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn rebuilt_blocks(&self) -> u64 {
        self.rebuilt.load(Ordering::Relaxed)
    }
}
