//! The last word of a store that is closed.
//!
//! A chunk tells what was durable before it, in another zone than that of the notes and mostly than
//! that of the chunk before. Nothing tells so of what was written last. When a store is closed, a
//! chunk without records is written for that to an empty zone, which nothing names: the next
//! opening reads it, and resets the zone. It holds nothing else, so nothing is lost if it is lost
//! itself.

use frostline_zone::DeviceError;

use super::Cleaner;
use crate::StoreError;

impl Cleaner {
    /// Tells in a zone of its own what is durable. Where no zone is to spare for that, or the
    /// device takes no other one as active, it is left out.
    pub(crate) fn write_witness(&self) -> Result<(), StoreError> {
        let _one = self.lock()?;
        if self.core.state()?.zones().must_reset() {
            self.reset_pending().inspect_err(|error| self.core.end_writing(error))?;
        }
        let Some((zone, chunk)) = self.core.state()?.begin_witness() else { return Ok(()) };
        match self.core.device.append(zone, 0, chunk.bytes()) {
            Err(DeviceError::TooManyActive { .. } | DeviceError::TooManyOpen { .. }) => Ok(()),
            Err(error) if error.is_of_zone() => Ok(()),
            Err(error) => Err(self.core.fail(error.into())),
            Ok(()) => self.core.device.flush().map_err(|error| self.core.fail(error.into())),
        }
    }
}
