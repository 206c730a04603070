//! The volume and the zones as they go on.

use std::collections::BTreeMap;

use frostline_log::ZoneImage;
use frostline_zone::ZoneState;

use super::replay::Recovery;
use crate::StoreError;
use crate::error::of_zone;
use crate::format::{Note, OPENED};
use crate::state::{DataZone, Written};

impl Recovery<'_> {
    /// Restores volume and zones. True if a zone had to be ended.
    pub(super) fn restore(self) -> Result<bool, StoreError> {
        let (live, finish) = self.restore_volume()?;
        for &zone in &finish {
            self.inner.finish(zone)?;
        }
        self.empty_others(&live)?;
        Ok(!finish.is_empty())
    }

    /// Restores the volume in memory. Returns the zones of the device that hold pages, and those
    /// that are to be finished.
    pub(super) fn restore_volume(&self) -> Result<(Vec<u32>, Vec<u32>), StoreError> {
        let inner = self.inner;
        let fixed = inner.layout.fixed;
        let mut state = inner.state()?;
        let mut newest: BTreeMap<u32, u64> = BTreeMap::new();
        for life in self.lives.iter().filter(|l| l.valid > 0 && !l.ended) {
            let opening = newest.entry(life.class).or_default();
            *opening = life.opening.max(*opening);
        }
        let (mut images, mut finish, mut live) = (Vec::new(), Vec::new(), Vec::new());
        for life in self.lives.iter().filter(|l| l.valid > 0) {
            let open = !life.ended && newest.get(&life.class) == Some(&life.opening);
            let was_sealed = life.row.is_some_and(|row| row.sealed != 0);
            let used = if open { life.used } else { fixed.zone_pages };
            let sealed_at = match life.row {
                Some(row) if was_sealed => row.sealed_at,
                _ => self.time as u32,
            };
            if !open && self.info[life.device_zone as usize].state.is_active() {
                finish.push(life.device_zone);
            }
            live.push(life.device_zone);
            images.push(ZoneImage {
                zone: life.zone,
                class: life.class,
                opened_at: life.opened_at,
                sealed_at: (!open).then_some(sealed_at),
                used,
                garbage: used - (life.valid as u32).min(used),
            });
            state.zones[life.zone as usize] = DataZone {
                device_zone: life.device_zone,
                opening: life.opening,
                firsts: life.firsts.clone(),
                pages: life.pages,
                written: life.pages,
                ..DataZone::default()
            };
        }
        images.sort_by_key(|image| image.sealed_at.is_none());
        let valid: i64 = self.lives.iter().map(|l| l.valid.max(0)).sum();
        state.placer.restore(self.time as u32, valid as u64, &images)?;
        state.time = self.time;
        let w = self.head.written;
        state.written = Written {
            user: w[0] + self.found.user,
            relocations: w[1] + self.found.relocations,
            headers: w[2] + self.found.headers,
            checkpoints: w[3],
        };
        state.next_seq = self.last_seq + 1;
        state.durable = self.last_seq;
        let last = |f: fn(&Note) -> u64| self.notes.iter().map(f).max().map_or(0, |last| last + 1);
        let opening = last(|n| if n.tag == OPENED { n.opening } else { 0 });
        state.next_opening = self.head.next_opening.max(opening);
        state.next_serial = self.head.next_serial.max(last(|n| n.serial));
        state.noted = state.next_serial;
        state.withhold();
        drop(state);
        inner.counters.restore(&Written { checkpoints: w[3], ..Written::default() });
        Ok((live, finish))
    }

    /// Resets every data zone that holds nothing.
    fn empty_others(&self, live: &[u32]) -> Result<(), StoreError> {
        let inner = self.inner;
        let others = inner.layout.data.iter().filter(|zone| !live.contains(zone));
        let (empty, full): (Vec<u32>, Vec<u32>) =
            others.partition(|&&zone| self.info[zone as usize].state == ZoneState::Empty);
        if !full.is_empty() {
            // What was found may still be on its way to the medium.
            inner.device.flush()?;
        }
        let mut state = inner.state()?;
        state.empty = empty.into();
        let any = !full.is_empty();
        for zone in full {
            match of_zone(inner.device.reset(zone))? {
                Ok(()) => state.empty.push_back(zone),
                Err(_) => state.lose_zone(),
            }
        }
        if any {
            // Numbers of chunks and openings that only these zones knew are given away again: what
            // bore them before must not come back.
            inner.device.flush()?;
        }
        Ok(())
    }
}
