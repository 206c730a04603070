//! Sets that a crash or an error left: their zones are brought into line, and get the parity that
//! they lack.

use super::rows::{bytes, xor};
use super::set::{Found, SetState};
use super::stripe_groups::StripeGroups;
use crate::{AlignedBuf, DeviceError, Operation};

/// Rows that are read together when parity is made anew.
const PIECE: u64 = 64;

impl StripeGroups {
    /// Brings the zones of a set into line with each other: after a crash, or an append that
    /// failed, some may be shorter than they should be, or parity may be missing.
    pub(super) fn resync(&self, set: u32, state: &mut SetState) -> Result<(), DeviceError> {
        if state.is_known {
            return Ok(());
        }
        // A crash must not take what is built upon here.
        self.flush_once(state)?;
        let found = self.find(set)?;
        if found.has_lost {
            // What waits in memory may be needed to read it.
            state.has_lost = true;
            let zone = self.zone(set, 0);
            return Err(DeviceError::ReadOnlyZone { operation: Operation::Append, zone });
        }
        (state.blocks, state.protected) = (found.blocks, found.protected);
        state.pending.clear();
        if found.blocks == 0 {
            self.empty_rest(set, state, &found)?;
        } else {
            let blocks = state.blocks;
            let of_zone = |column| self.rows.of_zone(column, blocks);
            for column in 0..self.rows.data {
                let has = found.of_zone(column);
                self.pad(set, column, has, of_zone(column) - has)?;
            }
            let is_full = blocks == self.rows.blocks();
            let waiting = if is_full { 0 } else { PIECE };
            let end = self.rows.whole(blocks).saturating_sub(waiting);
            self.make_parity(set, state, end, &of_zone)?;
            state.pending = self.parity_of(set, state.protected, of_zone(0), &of_zone)?;
            assert!(state.protected <= of_zone(0), "parity follows its data");
        }
        (state.is_known, state.is_reset) = (true, false);
        Ok(())
    }

    /// Empties the other zones of a set whose first zone was reset.
    fn empty_rest(&self, set: u32, state: &mut SetState, found: &Found) -> Result<(), DeviceError> {
        let mut others =
            (1..=self.rows.data).filter(|&column| found.of_zone(column) > 0).peekable();
        if others.peek().is_some() {
            others.try_for_each(|column| self.below.reset(self.zone(set, column)))?;
            self.await_flush(state);
        }
        Ok(())
    }

    /// Makes parity of the rows before `end`, and appends it.
    pub(super) fn make_parity(
        &self,
        set: u32,
        state: &mut SetState,
        end: u64,
        of_zone: &dyn Fn(u64) -> u64,
    ) -> Result<(), DeviceError> {
        if state.protected < end {
            self.flush_below()?;
        }
        while state.protected < end && !state.has_lost {
            let until = end.min(state.protected + PIECE);
            state.pending = self.parity_of(set, state.protected, until, of_zone)?;
            self.protect(set, state, until)?;
        }
        Ok(())
    }

    /// Appends the parity of the rows before `end`, which are durable. A set whose parity zone
    /// fails goes on without.
    pub(super) fn protect(
        &self,
        set: u32,
        state: &mut SetState,
        end: u64,
    ) -> Result<(), DeviceError> {
        if state.has_lost || end <= state.protected {
            return Ok(());
        }
        assert!(end <= self.rows.count, "parity is no longer than its data");
        let (at, len) = (bytes(state.protected), bytes(end - state.protected) as usize);
        match self.below.append(self.parity_zone(set), at, &state.pending[..len]) {
            Ok(()) => {
                state.pending.drain(..len);
                state.protected = end;
            }
            Err(error) if error.is_of_zone() => state.has_lost = true,
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// The XOR of rows, of data zones that have so many blocks each.
    fn parity_of(
        &self,
        set: u32,
        begin: u64,
        end: u64,
        of_zone: &dyn Fn(u64) -> u64,
    ) -> Result<Vec<u8>, DeviceError> {
        let mut sum = vec![0; bytes(end.saturating_sub(begin)) as usize];
        let mut read = AlignedBuf::zeroed(sum.len());
        for column in 0..self.rows.data {
            let has = bytes(of_zone(column).clamp(begin, end.max(begin)) - begin) as usize;
            if has > 0 {
                self.below.read(self.zone(set, column), bytes(begin), &mut read[..has])?;
                xor(&mut sum, &read[..has]);
            }
        }
        Ok(sum)
    }

    /// Appends zeroes to a data zone.
    pub(super) fn pad(
        &self,
        set: u32,
        column: u64,
        from: u64,
        count: u64,
    ) -> Result<(), DeviceError> {
        assert!(from + count <= self.rows.count, "a data zone is padded past its end");
        let zeroes = AlignedBuf::zeroed(bytes(count.min(PIECE)) as usize);
        for done in (0..count).step_by(PIECE as usize) {
            let now = (count - done).min(PIECE);
            let zone = self.zone(set, column);
            self.below.append(zone, bytes(from + done), &zeroes[..bytes(now) as usize])?;
        }
        Ok(())
    }
}
