//! A store goes on from what recovery found.

use std::collections::BTreeMap;

use frostline_log::ZoneImage;

use crate::StoreError;
use crate::state::State;
use crate::state::checkpoints::Checkpoints;
use crate::state::marks::Marks;
use crate::state::room::ChangeUnits;
use crate::state::written::Written;
use crate::state::zone_pool::DataZone;

/// A store as recovery found it.
pub(crate) struct Restored {
    /// User writes.
    pub time: u64,
    /// Pages written.
    pub written: Written,
    /// Valid records: pages, deltas and tails.
    pub valid: u64,
    /// Of these, deltas and tails.
    pub deltas: u64,
    /// Units of deltas and tails.
    pub changes: ChangeUnits,
    /// The zones that hold pages, as the volume knows them, in the order in which they were sealed.
    pub images: Vec<ZoneImage>,
    /// The same zones, by number in the volume.
    pub zones: Vec<(u32, DataZone)>,
    /// Number of the last chunk.
    pub last_seq: u64,
    /// Number of the first chunk that the checkpoint does not cover.
    pub covered: u64,
    /// Number of the next opening.
    pub next_opening: u64,
    /// Number of the next note.
    pub next_serial: u64,
    /// The engines' marks.
    pub marks: BTreeMap<u32, u64>,
}

impl State {
    /// The store goes on from what recovery found.
    pub(crate) fn restore(&mut self, found: Restored) -> Result<(), StoreError> {
        self.volume.restore(found.time as u32, found.valid, &found.images)?;
        self.time = found.time;
        self.written = found.written;
        self.valid_deltas = found.deltas;
        self.changes = found.changes.at_least_none();
        self.zones.restore(found.zones, found.next_opening);
        self.chunks.restore(found.last_seq);
        self.notes.restore(found.next_serial);
        self.marks = Marks::found(found.marks);
        self.checkpoints = Checkpoints::found(found.covered);
        self.withhold();
        Ok(())
    }
}
