//! The data zones: those that hold pages, those that wait to be reset, and the empty ones.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use frostline_log::Extent;

use crate::StoreError;
use crate::format::chunk_place::ChunkPlace;
use crate::format::records::{Sizes, Span};
use crate::state::chunk::Chunk;

/// A zone of the volume that holds pages.
#[derive(Clone, Default)]
pub(crate) struct DataZone {
    /// Zone of the device.
    pub device_zone: u32,
    /// Number of its opening.
    pub opening: u64,
    /// Its chunks.
    pub chunks: Vec<ChunkPlace>,
    /// The numbers of those that the checkpoint does not cover with which the store was opened.
    pub late: Vec<u64>,
    /// Pages of the device's zone that are given away, headers included.
    pub pages: u32,
    /// Of these, written.
    pub written: u32,
    /// The page at which an append failed, once one did: nothing is written from there on. Shared
    /// with checkpoints that are under way.
    pub end: Arc<OnceLock<u32>>,
    /// Held while the zone is read: it is not reset before that.
    pub pin: Arc<()>,
}

impl DataZone {
    /// True if an append to it failed: no more are tried.
    pub(crate) fn has_failed(&self) -> bool {
        self.end.get().is_some()
    }

    /// Where a record lies in the device's zone.
    pub(crate) fn span_of(&self, at: Extent, sizes: Sizes) -> Span {
        let (units, slot) = (sizes.page_units(), sizes.unit());
        let page = at.slot.offset / units;
        let chunk = self.chunks.partition_point(|chunk| chunk.first <= page);
        let Some(chunk) = chunk.checked_sub(1).map(|chunk| self.chunks[chunk]) else {
            // No chunk has it: a map that contradicts itself.
            return Span { page, skip: 0, bytes: (at.units * slot) as usize };
        };
        let behind = chunk.header + at.slot.offset - chunk.first * units;
        Span {
            page: chunk.start + behind / units,
            skip: (behind % units * slot) as usize,
            bytes: (at.units * slot) as usize,
        }
    }
}

/// A zone of the device whose valid pages were all copied, but whose copies may not be durable yet.
struct PendingReset {
    device_zone: u32,
    /// See [`DataZone::pin`].
    pin: Arc<()>,
}

/// The data zones.
pub(crate) struct ZonePool {
    /// By zone of the volume.
    zones: Vec<DataZone>,
    /// Empty zones of the device, the one that was emptied first in front.
    empty: VecDeque<u32>,
    /// The one that was cleaned first in front.
    pending_reset: VecDeque<PendingReset>,
    /// Zones that the volume has to do without, so that there is an empty zone of the device for
    /// each zone that it opens while others wait to be reset.
    withheld: usize,
    /// As many as are to be withheld.
    spare: usize,
    next_opening: u64,
}

impl ZonePool {
    /// The pool of a store that holds nothing, for `zones` zones of the volume. None is empty yet:
    /// see [`ZonePool::add_empty`].
    pub(crate) fn new(zones: usize, spare: usize) -> Self {
        ZonePool {
            zones: vec![DataZone::default(); zones + 1],
            empty: VecDeque::new(),
            pending_reset: VecDeque::new(),
            withheld: 0,
            spare,
            next_opening: 1,
        }
    }

    /// A zone of the volume.
    pub(crate) fn get(&self, zone: u32) -> &DataZone {
        &self.zones[zone as usize]
    }

    /// Zones of the volume, zone 0 included, which does not exist.
    pub(crate) fn len(&self) -> usize {
        self.zones.len()
    }

    /// Empty zones of the device.
    pub(crate) fn empty(&self) -> impl Iterator<Item = u32> + '_ {
        self.empty.iter().copied()
    }

    /// Zones of the device that wait to be reset.
    pub(crate) fn pending_reset(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.pending_reset.iter().map(|pending| pending.device_zone)
    }

    /// Number of the next opening.
    pub(crate) fn next_opening(&self) -> u64 {
        self.next_opening
    }

    /// Puts back the zones that hold pages, by number in the volume; `next_opening` is the number
    /// of the next opening.
    pub(crate) fn restore(&mut self, zones: Vec<(u32, DataZone)>, next_opening: u64) {
        self.next_opening = next_opening;
        zones.into_iter().for_each(|(zone, data)| self.zones[zone as usize] = data);
    }

    /// Adds an empty zone of the device.
    pub(crate) fn add_empty(&mut self, device_zone: u32) {
        debug_assert!(!self.empty.contains(&device_zone), "zone {device_zone} is empty twice");
        debug_assert!(
            self.zones.iter().all(|zone| zone.pages == 0 || zone.device_zone != device_zone),
            "zone {device_zone} is empty and holds pages"
        );
        self.empty.push_back(device_zone);
    }

    /// Gives a zone of the volume that is opened one of the device.
    pub(crate) fn open(&mut self, zone: u32) -> Result<&DataZone, StoreError> {
        let Some(device_zone) = self.empty.pop_front() else {
            let why = "no empty zone is left, though one must be";
            return Err(StoreError::Damaged { zone, page: 0, why: why.to_string() });
        };
        assert_ne!(zone, 0, "zone 0 does not exist");
        let before = self.get(zone);
        assert!(before.chunks.is_empty() && before.pages == 0, "zone {zone} is opened twice");
        let opening = self.next_opening;
        self.next_opening += 1;
        self.zones[zone as usize] = DataZone { device_zone, opening, ..DataZone::default() };
        Ok(self.get(zone))
    }

    /// Takes an empty zone of the device for a chunk that no zone of the volume has. It waits to be
    /// reset at once. Returns its number and that of its opening; none if the volume needs all that
    /// are empty.
    pub(crate) fn take_for_witness(&mut self) -> Option<(u32, u64)> {
        if self.pending_reset.len() >= self.withheld {
            return None;
        }
        let device_zone = self.empty.pop_front()?;
        debug_assert!(self.pending_reset().all(|other| other != device_zone), "it was empty");
        self.pending_reset.push_back(PendingReset { device_zone, pin: Arc::default() });
        let opening = self.next_opening;
        self.next_opening += 1;
        Some((device_zone, opening))
    }

    /// A chunk goes to the end of a zone.
    pub(crate) fn add_chunk(&mut self, chunk: &Chunk) {
        let zone = &mut self.zones[chunk.zone as usize];
        assert_eq!(zone.pages, chunk.start, "a chunk begins where the one before ends");
        debug_assert!(zone.chunks.last().is_none_or(|before| before.first < chunk.first));
        debug_assert!(zone.late.last().is_none_or(|&before| before < chunk.seq), "numbers rise");
        let place = ChunkPlace { first: chunk.first, start: chunk.start, header: chunk.header() };
        zone.chunks.push(place);
        zone.late.push(chunk.seq);
        zone.pages += 1 + chunk.pages();
    }

    /// A zone is written up to this page.
    pub(crate) fn written(&mut self, zone: u32, end: u32) {
        let zone = &mut self.zones[zone as usize];
        assert!(zone.written < end && end <= zone.pages, "only a chunk of the zone is written");
        assert!(!zone.has_failed(), "nothing is written behind a failed append");
        zone.written = end;
    }

    /// An append to a zone failed; false if one did before.
    pub(crate) fn fail(&mut self, zone: u32) -> bool {
        let zone = self.get(zone);
        assert!(zone.written < zone.pages, "an append failed that had nothing to write");
        zone.end.set(zone.written).is_ok()
    }

    /// All valid pages of a zone were copied: its zone of the device is to be reset.
    pub(crate) fn release(&mut self, zone: u32) {
        let released = std::mem::take(&mut self.zones[zone as usize]);
        assert!(released.written == released.pages || released.has_failed());
        let DataZone { device_zone, pin, .. } = released;
        debug_assert!(!self.empty.contains(&device_zone), "a zone with pages counts as empty");
        debug_assert!(self.pending_reset().all(|other| other != device_zone));
        self.pending_reset.push_back(PendingReset { device_zone, pin });
    }

    /// True if as many zones wait to be reset as the store has to spare.
    pub(crate) fn must_reset(&self) -> bool {
        self.pending_reset.len() >= self.withheld.max(1)
    }

    /// The zone of the device that is to be reset next, and whether it is still read.
    pub(crate) fn next_reset(&self) -> Option<(u32, bool)> {
        let pending = self.pending_reset.front()?;
        Some((pending.device_zone, Arc::strong_count(&pending.pin) > 1))
    }

    /// A zone of the device was reset, or can't be: it no longer waits. False if it did not.
    pub(crate) fn end_reset(&mut self, device_zone: u32) -> bool {
        let is_it = |pending: &PendingReset| pending.device_zone == device_zone;
        let at = self.pending_reset.iter().position(is_it);
        at.and_then(|at| self.pending_reset.remove(at)).is_some()
    }

    /// True if the volume should do without another zone.
    pub(crate) fn is_short(&self) -> bool {
        self.withheld < self.spare
    }

    /// The volume does without another zone.
    pub(crate) fn withhold(&mut self) {
        assert!(self.withheld < self.spare, "more zones are withheld than were asked for");
        self.withheld += 1;
    }

    /// A zone of the device is gone which the volume can't do without: one less is withheld.
    pub(crate) fn use_spare(&mut self) {
        self.withheld = self.withheld.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_lies_behind_its_chunk_s_header() {
        let sizes = Sizes::new(64).unwrap();
        let chunks = vec![
            ChunkPlace { first: 0, start: 0, header: 5 },
            ChunkPlace { first: 1, start: 1, header: 60 },
        ];
        let zone = DataZone { chunks, ..DataZone::default() };
        let span = |offset, units| {
            let slot = frostline_log::Slot { zone: 1, offset };
            zone.span_of(Extent { slot, units }, sizes)
        };
        assert_eq!(span(2, 3), Span { page: 0, skip: 7 * 64, bytes: 192 });
        assert_eq!(span(64, 1), Span { page: 1, skip: 60 * 64, bytes: 64 });
        assert_eq!(span(64 + 3, 64), Span { page: 1, skip: 63 * 64, bytes: 4096 });
        assert_eq!(span(64 + 67, 2), Span { page: 2, skip: 63 * 64, bytes: 128 });
    }
}
