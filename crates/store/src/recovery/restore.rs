//! Restores volume and zones from the recovered records.

use std::collections::BTreeMap;

use frostline_log::ZoneImage;
use frostline_zone::ZoneState;

use super::run::Recovery;
use super::zone_epoch::ZoneEpoch;
use crate::StoreError;
use crate::error::of_zone;
use crate::format::{Note, OPENED};
use crate::state::restored::Restored;
use crate::state::written::Written;

impl Recovery<'_> {
    /// Restores volume and zones. Returns the zones of the device that hold pages, and whether one
    /// had to be ended.
    pub(super) fn restore(&self) -> Result<(Vec<u32>, bool), StoreError> {
        let (before, found) = (self.before, self.found);
        let written = Written {
            user: before.user + found.user,
            relocations: before.relocations + found.relocations,
            headers: before.headers + found.headers,
            checkpoints: 0,
            user_bytes: before.user_bytes + found.user_bytes,
            relocated_bytes: before.relocated_bytes + found.relocated_bytes,
            header_bytes: before.header_bytes + found.header_bytes,
            padding_bytes: before.padding_bytes + found.padding_bytes,
        };
        let (live, finish) = self.restore_volume(written)?;
        for &zone in &finish {
            self.engine.chunks.finish(zone)?;
        }
        Ok((live, !finish.is_empty()))
    }

    /// Restores the volume in memory, of a store that has written so many pages. Returns the zones
    /// of the device that hold pages, and those that are to be finished.
    pub(super) fn restore_volume(
        &self,
        written: Written,
    ) -> Result<(Vec<u32>, Vec<u32>), StoreError> {
        let mut newest: BTreeMap<u32, u64> = BTreeMap::new();
        for epoch in self.epochs.iter().filter(|e| e.valid > 0 && !e.ended) {
            let opening = newest.entry(epoch.class).or_default();
            *opening = epoch.opening.max(*opening);
        }
        let (mut images, mut zones) = (Vec::new(), Vec::new());
        let (mut finish, mut live) = (Vec::new(), Vec::new());
        for epoch in self.epochs.iter().filter(|e| e.valid > 0) {
            let open = !epoch.ended && newest.get(&epoch.class) == Some(&epoch.opening);
            if !open && self.info[epoch.device_zone as usize].state.is_active() {
                finish.push(epoch.device_zone);
            }
            live.push(epoch.device_zone);
            images.push(self.image(epoch, open));
            zones.push((epoch.zone, epoch.data_zone()));
        }
        images.sort_by_key(|image| image.sealed_at.is_none());
        // Slots that are all pages say how many there are, even of a map that contradicts itself.
        let valid = match self.engine.core.layout.sizes.page_units() {
            1 => self.epochs.iter().map(|e| e.valid.max(0)).sum(),
            _ => self.valid.max(0),
        };
        let last = |f: fn(&Note) -> u64| self.notes.iter().map(f).max().map_or(0, |last| last + 1);
        let opening = last(|n| if n.tag == OPENED { n.opening } else { 0 });
        let mut state = self.engine.core.state()?;
        if let Some(leaf) = state.map().last_leaf() {
            // It tells which LBAs are in use at all. One that can't be read is met again when it is
            // used.
            drop(
                self.engine
                    .loader
                    .mapped(state, self.engine.core.layout.leaf.pages_of_leaf(leaf).start),
            );
            state = self.engine.core.state()?;
        }
        state.restore(Restored {
            time: self.time,
            written,
            valid: valid as u64,
            deltas: self.deltas.max(0) as u64,
            changes: self.changes,
            images,
            zones,
            last_seq: self.last_seq,
            covered: self.head.next_seq,
            next_opening: self.head.next_opening.max(opening),
            next_serial: self.head.next_serial.max(last(|n| n.serial)),
            marks: self.marks.clone(),
        })?;
        Ok((live, finish))
    }

    /// A zone as the volume is to know it, open or sealed.
    fn image(&self, epoch: &ZoneEpoch, open: bool) -> ZoneImage {
        let layout = &self.engine.core.layout;
        let used = match open {
            true => epoch.used * layout.sizes.page_units(),
            false => layout.zone_units(),
        };
        let sealed_at = match epoch.row {
            Some(row) if row.is_sealed() => row.sealed_at,
            _ => self.time as u32,
        };
        ZoneImage {
            zone: epoch.zone,
            class: epoch.class,
            opened_at: epoch.opened_at,
            sealed_at: (!open).then_some(sealed_at),
            used,
            garbage: used.saturating_sub(epoch.padding).saturating_sub(epoch.valid as u32),
            padding: epoch.padding,
            pages: epoch.pages,
        }
    }

    /// Resets every data zone that holds nothing. The last checkpoint is this recovery's own: the
    /// one before may tell of chunks there, whose numbers it would miss if this recovery were cut
    /// short.
    pub(super) fn empty_others(&self, live: &[u32]) -> Result<(), StoreError> {
        let engine = self.engine;
        let others = engine.core.layout.data.iter().filter(|zone| !live.contains(zone));
        let (empty, full): (Vec<u32>, Vec<u32>) =
            others.partition(|&&zone| self.info[zone as usize].state == ZoneState::Empty);
        if !full.is_empty() {
            // Chunks that were found may still be on their way to the medium.
            engine.core.device.flush()?;
        }
        tracing::debug!(
            live = live.len(),
            empty = empty.len(),
            reset = full.len(),
            "data zones sorted"
        );
        let mut state = engine.core.state()?;
        empty.into_iter().for_each(|zone| state.add_empty_zone(zone));
        let any = !full.is_empty();
        for zone in full {
            match of_zone(engine.core.device.reset(zone))? {
                Ok(()) => state.zone_reset(zone),
                Err(_) => state.zone_lost(zone),
            }
        }
        if any {
            // Numbers of chunks and openings that only these zones knew are given away again: what
            // bore them before must not come back.
            engine.core.device.flush()?;
        }
        Ok(())
    }
}
