//! The limits of open and active zones, counted like a drive counts them.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{DeviceError, Geometry, ZoneInfo, ZoneState};

/// The zones that count against the limits, and the limits.
pub(crate) struct Limits {
    max_open: Option<u32>,
    max_active: Option<u32>,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    /// Open zones in the order of their opening. Empty if their number is not limited.
    open: VecDeque<u32>,
    active: u32,
}

impl Limits {
    /// The state of a device that starts with `zones`.
    pub(crate) fn new(geometry: &Geometry, zones: &[ZoneInfo]) -> Self {
        let is_open =
            |z: &ZoneInfo| matches!(z.state, ZoneState::ImplicitOpen | ZoneState::ExplicitOpen);
        let open = (0..).zip(zones).filter(|(_, z)| is_open(z)).map(|(n, _)| n);
        let held = Held {
            open: if geometry.max_open.is_some() { open.collect() } else { VecDeque::new() },
            active: zones.iter().filter(|z| z.state.is_active()).count() as u32,
        };
        let &Geometry { max_open, max_active, .. } = geometry;
        Limits { max_open, max_active, held: Mutex::new(held) }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the zone for a write. If too many zones would be open, the one that was opened first
    /// is closed, as drives do.
    pub(crate) fn enter(&self, zone: u32, state: ZoneState) -> Result<(), DeviceError> {
        let mut held = self.held();
        if !state.is_active() {
            match self.max_active {
                Some(limit) if held.active >= limit => {
                    return Err(DeviceError::TooManyActive { zone, limit });
                }
                _ => held.active += 1,
            }
        }
        if let Some(limit) = self.max_open
            && !held.open.contains(&zone)
        {
            if held.open.len() >= limit as usize {
                held.open.pop_front();
            }
            held.open.push_back(zone);
        }
        Ok(())
    }

    /// Records that the zone, which was active, is now full or empty.
    pub(crate) fn leave(&self, zone: u32) {
        let mut held = self.held();
        held.active = held.active.saturating_sub(1);
        held.open.retain(|&open| open != zone);
    }

    /// The number of active zones.
    pub(crate) fn active(&self) -> u32 {
        self.held().active
    }

    /// The state of a zone for a report: a zone that was closed is shown as closed.
    pub(crate) fn seen(&self, zone: u32, state: ZoneState) -> ZoneState {
        let may_be_closed = state == ZoneState::ImplicitOpen && self.max_open.is_some();
        if may_be_closed && !self.held().open.contains(&zone) { ZoneState::Closed } else { state }
    }
}
