//! Statistics of a store.

use std::time::Duration;

use frostline_placement::Scheme;

use crate::state::copies::Copied;
use crate::state::failures::Failures;
use crate::state::room::Space;
use crate::state::written::{DeltaCounts, Written};
use crate::{Store, StoreError};

/// Statistics of a store.
#[derive(Clone, Debug)]
pub struct Stats {
    /// Pages written since the store was formatted.
    pub written: Written,
    /// Of these, written before the store was opened.
    pub opened: Written,
    /// Counts of the volume since the store was opened, as in the simulator, but without
    /// `victim_garbage`: [`Store::victim_garbage`](crate::Store::victim_garbage) has it.
    pub counts: frostline_log::Counts,
    /// Pages written as deltas or tails since the store was opened.
    pub deltas: DeltaCounts,
    /// Records read of the device since the store was opened, for pages that were asked for and for
    /// deltas that cleaning merged: of a page with a delta and a tail all three.
    pub reads: u64,
    /// Pages copied since [`Store::count_copies`](crate::Store::count_copies), if it was called.
    pub copied: Option<Copied>,
    /// Valid pages.
    pub valid_pages: u64,
    /// What the store takes of its device.
    pub space: Space,
    /// Garbage pages over pages in zones that hold any.
    pub garbage_proportion: f64,
    /// Zones that can be opened before one is cleaned.
    pub free_zones: usize,
    /// Zones that wait to be reset.
    pub waiting_zones: usize,
    /// Zones that failed since the store was opened.
    pub failures: Failures,
    /// Records that were not what was written, and whose content parity had, since the store was
    /// opened.
    pub repaired_records: u64,
    /// Blocks that could not be read, and whose content parity had, since the device was opened.
    pub rebuilt_blocks: u64,
    /// Leaves of the map in memory.
    pub map_leaves: usize,
    /// Bytes that map, zones and scheme hold in memory.
    pub bytes: usize,
    /// Time for which writers were held up since the store was opened.
    pub stalled: Duration,
    /// Figures of the scheme's own.
    pub gauges: Vec<(&'static str, f64)>,
}

impl Store {
    /// Statistics of the store.
    ///
    /// # Errors
    /// A thread of the store panicked.
    pub fn stats(&self) -> Result<Stats, StoreError> {
        let engine = &self.engine;
        let mut state = engine.core.state()?;
        let written = state.written(engine.metadata.usage().pages());
        let bytes = state.memory();
        Ok(Stats {
            written,
            opened: self.opened,
            counts: state.counts().without_victims(),
            deltas: state.deltas(),
            reads: engine.core.counters.reads(),
            copied: state.copied(),
            valid_pages: state.valid_pages(),
            space: state.space(),
            garbage_proportion: state.log().garbage_proportion(),
            free_zones: state.log().free_zones(),
            waiting_zones: state.zones().pending_reset().len(),
            failures: state.failures(engine.metadata.usage().failed()),
            repaired_records: engine.core.counters.repaired(),
            rebuilt_blocks: engine.core.device.rebuilt_blocks(),
            map_leaves: state.map().resident(),
            bytes,
            stalled: engine.core.counters.stall(),
            gauges: state.log().scheme().gauges(),
        })
    }
}
