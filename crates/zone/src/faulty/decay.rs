//! The decay of a medium: flipped bits, unreadable blocks, worn zones.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use crate::zoned::check_state;
use crate::{DeviceError, Operation, ZoneInfo, ZoneState};

/// All permanent damage of a device. A byte is named by zone and offset.
#[derive(Clone, Default)]
pub(super) struct Decay {
    flips: BTreeMap<(u32, u64), u8>,
    unreadable: BTreeSet<(u32, u64)>,
    worn: BTreeMap<u32, ZoneState>,
}

impl Decay {
    pub(super) fn flip(&mut self, zone: u32, offset: u64, mask: u8) {
        *self.flips.entry((zone, offset)).or_default() ^= mask;
    }

    pub(super) fn fail_reads(&mut self, zone: u32, offset: u64) {
        self.unreadable.insert((zone, offset));
    }

    pub(super) fn wear(&mut self, zone: u32, state: ZoneState) {
        self.worn.insert(zone, state);
    }

    /// Refuses operations that the state of a worn zone does not allow.
    pub(super) fn check(
        &self,
        operation: Operation,
        zone: u32,
        is_change: bool,
    ) -> Result<(), DeviceError> {
        let Some(&state) = self.worn.get(&zone) else {
            return Ok(());
        };
        check_state(operation, zone, state, is_change)
    }

    /// Shows the state of a worn zone in its report.
    pub(super) fn show(&self, zone: u32, info: &mut ZoneInfo) {
        if let Some(&state) = self.worn.get(&zone) {
            info.state = state;
            if state == ZoneState::Offline {
                info.write_pointer = 0;
            }
        }
    }

    /// Damages bytes that were read from `offset` of a zone.
    pub(super) fn spoil(
        &self,
        zone: u32,
        offset: u64,
        buffer: &mut [u8],
    ) -> Result<(), DeviceError> {
        let bytes = (zone, offset)..(zone, offset + buffer.len() as u64);
        if let Some(&(_, offset)) = self.unreadable.range(bytes.clone()).next() {
            let source = io::Error::other("a block that can't be read");
            return Err(DeviceError::Io { operation: Operation::Read, zone, offset, source });
        }
        for (&(_, place), mask) in self.flips.range(bytes) {
            buffer[(place - offset) as usize] ^= mask;
        }
        Ok(())
    }

    /// Removes the damage of a zone that is reset, because it is written anew.
    pub(super) fn heal(&mut self, zone: u32) {
        self.flips.retain(|&(flipped, _), _| flipped != zone);
        self.unreadable.retain(|&(failing, _)| failing != zone);
    }
}
