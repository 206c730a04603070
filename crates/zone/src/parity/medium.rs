//! The sets as a medium of zones: appends, resets, finishes and flushes.

use std::collections::BTreeSet;
use std::io::{self, IoSlice};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Flushes;
use super::rows::{BLOCK, Rows, bytes};
use super::set::{Found, SetState};
use crate::zoned::Medium;
use crate::{AlignedBuf, Device, DeviceError, Geometry, Operation, ZoneInfo, ZoneRead, ZoneState};

/// Rows of a set whose parity waits in memory, at most: with more of them the device below is flushed.
const MOST_WAITING: u64 = 256;

/// All sets of a device.
pub(super) struct Sets {
    pub below: Arc<dyn Device>,
    pub rows: Rows,
    sets: Box<[Mutex<SetState>]>,
    /// Sets that have whole rows without parity, or whose zones a crash left out of line.
    waiting: Mutex<BTreeSet<u32>>,
    flushes: Flushes,
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
        let mut sets = Sets {
            below,
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

    fn waiting(&self) -> MutexGuard<'_, BTreeSet<u32>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the zones below tell of a set.
    pub fn find(&self, set: u32) -> Result<Found, DeviceError> {
        let zones = self.below.report(self.zone(set, 0), self.rows.data as u32 + 1)?;
        Ok(Found::of(zones, self.rows))
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
        let whole = self.rows.whole(state.blocks);
        let is_full = state.blocks == self.rows.blocks();
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

    /// Appends the parity of whole rows to every set that has some. The sets' data are flushed meanwhile.
    fn flush_all(&self) -> Result<(), DeviceError> {
        let waiting: Vec<u32> = self.waiting().iter().copied().collect();
        let mut whole = Vec::with_capacity(waiting.len());
        for set in waiting {
            let mut state = self.state(set);
            match self.settle(set, &mut state) {
                Ok(()) => whole.push((set, state.opening, self.rows.whole(state.blocks))),
                // It is without parity from here on, which its state says.
                Err(error) if error.is_of_zone() => _ = self.waiting().remove(&set),
                Err(error) => return Err(error),
            }
        }
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
        Ok(())
    }

    fn reset_all(&self, set: u32, state: &mut SetState) -> Result<(), DeviceError> {
        state.is_known = false;
        self.below.reset(self.zone(set, 0))?;
        self.flush_below()?;
        let others = (1..=self.rows.data).map(|column| self.below.reset(self.zone(set, column)));
        // One that fails does not keep the others.
        others.collect::<Vec<_>>().into_iter().collect::<Result<(), _>>()?;
        *state = SetState::empty(state.opening + 1);
        self.await_flush(state);
        self.waiting().remove(&set);
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
            state.pending.clear();
            io::Error::other(error)
        })
    }
}

/// Blocks of an append, those of each data zone together.
struct Dealt {
    bytes: AlignedBuf,
    /// For each data zone the first row, and the place of its blocks in `bytes`.
    columns: Vec<(u64, std::ops::Range<usize>)>,
}

impl Dealt {
    fn of(parts: &[IoSlice<'_>], first: u64, rows: Rows) -> Self {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        let blocks = (len / BLOCK) as u64;
        let (mut columns, mut begin) = (Vec::new(), 0);
        for column in 0..rows.data {
            let row = rows.of_zone(column, first);
            let end = begin + bytes(rows.of_zone(column, first + blocks) - row) as usize;
            columns.push((row, begin..end));
            begin = end;
        }
        let mut dealt = AlignedBuf::zeroed(len);
        let mut at = 0;
        for part in parts {
            let mut part: &[u8] = part;
            while !part.is_empty() {
                let (column, row) = rows.place(first + (at / BLOCK) as u64);
                let (begun, range) = &columns[column as usize];
                let to = range.start + bytes(row - begun) as usize + at % BLOCK;
                let (now, later) = part.split_at(part.len().min(BLOCK - at % BLOCK));
                dealt[to..to + now.len()].copy_from_slice(now);
                at += now.len();
                part = later;
            }
        }
        Dealt { bytes: dealt, columns }
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
                (info.state, info.write_pointer) = match info.write_pointer {
                    0 => (ZoneState::Offline, 0),
                    pointer => (ZoneState::ReadOnly, pointer),
                };
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
