//! All sets of a device, over the zones below.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::flushes::Flushes;
use super::partial_parity_log::{PartialParityLog, Tail};
use super::rows::{BLOCK, Rows, bytes};
use super::set::{Found, SetState};
use crate::{Device, DeviceError, Geometry, ZoneInfo, ZoneState};

/// All sets of a device.
pub(super) struct StripeGroups {
    pub below: Arc<dyn Device>,
    pub rows: Rows,
    sets: Box<[Mutex<SetState>]>,
    /// Sets that have whole rows without parity, or whose zones a crash left out of line.
    waiting: Mutex<BTreeSet<u32>>,
    /// Sets that were written or reset since the latest flush.
    touched: Mutex<BTreeSet<u32>>,
    tails: Mutex<PartialParityLog>,
    /// The device below limits its active zones.
    pub has_limit: bool,
    flushes: Flushes,
    /// Blocks that were made of others.
    pub rebuilt: AtomicU64,
}

impl StripeGroups {
    pub(super) fn over(
        below: Arc<dyn Device>,
        data_zones: u32,
        geometry: &Geometry,
    ) -> Result<Self, DeviceError> {
        let count = below.geometry().zone_capacity / BLOCK as u64;
        let rows = Rows { data: data_zones.into(), count };
        let tails = Mutex::new(PartialParityLog::read(&*below)?);
        let has_limit = geometry.max_active.or(geometry.max_open).is_some();
        let mut sets = StripeGroups {
            below,
            has_limit,
            touched: Mutex::default(),
            tails,
            rows,
            sets: Box::default(),
            waiting: Mutex::default(),
            flushes: Flushes::default(),
            rebuilt: AtomicU64::new(0),
        };
        let mut states = Vec::new();
        for set in 0..geometry.zones {
            let found = sets.find(set)?;
            if found.lacks_blocks(rows) {
                sets.waiting().insert(set);
            }
            states.push(Mutex::new(SetState::unknown(&found)));
        }
        sets.sets = states.into();
        Ok(sets)
    }

    /// The zone below that is a data zone of a set, or its parity zone, which is the last one.
    pub(super) fn zone(&self, set: u32, column: u64) -> u32 {
        assert!(column <= self.rows.data, "a set has its data zones, and one of parity");
        set * (self.rows.data as u32 + 1) + column as u32
    }

    pub(super) fn parity_zone(&self, set: u32) -> u32 {
        self.zone(set, self.rows.data)
    }

    pub(super) fn state(&self, set: u32) -> MutexGuard<'_, SetState> {
        self.sets[set as usize].lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn touched(&self) -> MutexGuard<'_, BTreeSet<u32>> {
        self.touched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn tails(&self) -> MutexGuard<'_, PartialParityLog> {
        self.tails.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last row of a set when it was flushed, if it was not whole.
    pub(super) fn tail(&self, set: u32) -> Option<Tail> {
        self.tails().live.get(&set).cloned()
    }

    pub(super) fn waiting(&self) -> MutexGuard<'_, BTreeSet<u32>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds a set by the zones below.
    pub(super) fn find(&self, set: u32) -> Result<Found, DeviceError> {
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
    pub(super) fn seen(&self, set: u32) -> Result<ZoneInfo, DeviceError> {
        let blocks = self.find(set)?.blocks;
        let state = match blocks {
            0 => ZoneState::Empty,
            blocks if blocks == self.rows.blocks() => ZoneState::Full,
            _ => ZoneState::Closed,
        };
        let capacity = bytes(self.rows.blocks());
        Ok(ZoneInfo { state, write_pointer: bytes(blocks), capacity })
    }

    pub(super) fn flush_below(&self) -> Result<(), DeviceError> {
        self.flushes.flush(&*self.below)
    }

    /// What was done to a set must be durable before it is written.
    pub(super) fn await_flush(&self, state: &mut SetState) {
        state.after_flush = self.flushes.next();
    }

    /// Flushes, unless a flush was done since what is to be durable.
    pub(super) fn flush_once(&self, state: &SetState) -> Result<(), DeviceError> {
        match self.flushes.has_done(state.after_flush) {
            true => Ok(()),
            false => self.flush_below(),
        }
    }
}
