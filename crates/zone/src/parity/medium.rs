//! The sets as a medium of zones: appends, resets, finishes and flushes.

use std::collections::BTreeSet;
use std::io::{self, IoSlice};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::dealt::Dealt;
use super::flushing::Flushes;
use super::rows::{BLOCK, Rows, bytes};
use super::set::{Found, SetState};
use super::tails::{Tail, Tails};
use crate::zoned::Medium;
use crate::{Device, DeviceError, Geometry, Operation, ZoneInfo, ZoneRead, ZoneState};

/// Rows of a set whose parity waits in memory, at most: with more of them the device below is flushed.
const MOST_WAITING: u64 = 256;

/// All sets of a device.
pub(super) struct Sets {
    pub below: Arc<dyn Device>,
    pub rows: Rows,
    sets: Box<[Mutex<SetState>]>,
    /// Sets that have whole rows without parity, or whose zones a crash left out of line.
    waiting: Mutex<BTreeSet<u32>>,
    /// Sets that were written or reset since the latest flush.
    touched: Mutex<BTreeSet<u32>>,
    tails: Mutex<Tails>,
    /// The device below limits its active zones.
    has_limit: bool,
    pub flushes: Flushes,
    /// Blocks that were made of others.
    pub rebuilt: AtomicU64,
}

impl Sets {
    pub fn over(
        below: Arc<dyn Device>,
        data_zones: u32,
        geometry: &Geometry,
    ) -> Result<Self, DeviceError> {
        let count = below.geometry().zone_capacity / BLOCK as u64;
        let rows = Rows { data: data_zones.into(), count };
        let tails = Mutex::new(Tails::read(&*below)?);
        let has_limit = geometry.max_active.or(geometry.max_open).is_some();
        let mut sets = Sets {
            below,
            has_limit,
            touched: Mutex::default(),
            tails,
            rows,
            sets: Box::default(),
            waiting: Mutex::default(),
            flushes: Flushes::new(),
            rebuilt: AtomicU64::new(0),
        };
        let (mut states, mut waiting) = (Vec::new(), BTreeSet::new());
        for set in 0..geometry.zones {
            let found = sets.find(set)?;
            if found.lacks_blocks(rows) {
                waiting.insert(set);
            }
            states.push(Mutex::new(SetState::unknown(&found)));
        }
        sets.sets = states.into();
        sets.waiting = Mutex::new(waiting);
        Ok(sets)
    }

    /// The zone below that is a data zone of a set, or its parity zone, which is the last one.
    pub fn zone(&self, set: u32, column: u64) -> u32 {
        set * (self.rows.data as u32 + 1) + column as u32
    }

    pub fn parity_zone(&self, set: u32) -> u32 {
        self.zone(set, self.rows.data)
    }

    pub fn state(&self, set: u32) -> MutexGuard<'_, SetState> {
        self.sets[set as usize].lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn touched(&self) -> MutexGuard<'_, BTreeSet<u32>> {
        self.touched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn tails(&self) -> MutexGuard<'_, Tails> {
        self.tails.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last row of a set when it was flushed, if it was not whole.
    pub fn tail(&self, set: u32) -> Option<Tail> {
        self.tails().live.get(&set).cloned()
    }

    pub fn waiting(&self) -> MutexGuard<'_, BTreeSet<u32>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the zones below tell of a set.
    pub fn find(&self, set: u32) -> Result<Found, DeviceError> {
        let zones = self.below.report(self.zone(set, 0), self.rows.data as u32 + 1)?;
        let mut found = Found::of(zones, self.rows);
        if found.has_lost
            && let Some(tail) = self.tail(set)
        {
            found.extend(tail.blocks, self.rows);
        }
        Ok(found)
    }

    /// The state of a set.
    pub fn seen(&self, set: u32) -> Result<ZoneInfo, DeviceError> {
        let blocks = self.find(set)?.blocks;
        let state = match blocks {
            0 => ZoneState::Empty,
            blocks if blocks == self.rows.blocks() => ZoneState::Full,
            _ => ZoneState::Closed,
        };
        let capacity = bytes(self.rows.blocks());
        Ok(ZoneInfo { state, write_pointer: bytes(blocks), capacity })
    }

    /// Appends blocks to a set.
    fn append(
        &self,
        set: u32,
        state: &mut SetState,
        parts: &[IoSlice<'_>],
    ) -> Result<(), DeviceError> {
        self.settle(set, state)?;
        if state.has_lost {
            let zone = self.zone(set, 0);
            return Err(DeviceError::ReadOnlyZone { operation: Operation::Append, zone });
        }
        self.flush_once(state)?;
        let dealt = Dealt::of(parts, state.blocks, self.rows);
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

    /// Appends the parity of the rows before `end`, which are durable. A set whose parity zone fails
    /// goes on without.
    pub fn protect(&self, set: u32, state: &mut SetState, end: u64) -> Result<(), DeviceError> {
        if state.has_lost || end <= state.protected {
            return Ok(());
        }
        let len = bytes(end - state.protected) as usize;
        let at = bytes(state.protected);
        match self.below.append(self.parity_zone(set), at, &state.pending[..len]) {
            Ok(()) => {
                state.pending.drain(..len);
                state.protected = end;
                Ok(())
            }
            Err(error) if error.is_of_zone() => {
                state.has_lost = true;
                Ok(())
            }
            Err(error) => Err(error),
        }
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
        self.settle(set, state)?;
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

impl Medium for Sets {
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
