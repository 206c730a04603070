//! The life of a zone: opened for a class, full or ended, cleaned, reset, and open again.

use std::sync::Arc;

use frostline_log::ZoneImage;

use crate::state::State;
use crate::state::chunk::Chunk;
use crate::state::zone_pool::DataZone;

impl State {
    /// True if a chunk is the last of its zone, which takes no more pages.
    pub(crate) fn is_last_of_zone(&self, chunk: &Chunk) -> bool {
        !self.volume.log().is_open(chunk.zone) && self.zones.get(chunk.zone).pages == chunk.end()
    }

    /// Ends the zones that hardly fill, if there are any and cleaning is due, and seals what was
    /// begun there. Returns them.
    pub(crate) fn end_stale(&mut self) -> Vec<u32> {
        let ended = self.volume.log_mut().end_stale();
        ended.iter().for_each(|&zone| self.seal_chunk_of(zone));
        ended
    }

    /// Chooses the victims of a cleaning; none if it is not due, or no zone holds garbage.
    pub(crate) fn begin_cleaning(&mut self) -> Vec<u32> {
        let victims = self.volume.log_mut().begin_cleaning();
        debug_assert!(
            victims.iter().all(|&zone| self.chunks.class_of(zone).is_none()),
            "a victim takes no more pages"
        );
        self.nothing_to_clean = victims.is_empty();
        victims
    }

    /// The pages of a victim are about to be copied, and those that an engine had newer were
    /// written.
    pub(crate) fn copying_begins(&mut self, zone: u32) {
        self.volume.log_mut().copying_begins(zone);
    }

    /// True if the last cleaning found no victim, and nothing became garbage since.
    pub(crate) fn nothing_to_clean(&self) -> bool {
        self.nothing_to_clean
    }

    /// A chunk is on the device.
    pub(crate) fn chunk_written(&mut self, chunk: Arc<Chunk>) {
        let written = self.zones.get(chunk.zone).written;
        assert_eq!(written, chunk.start, "chunks of a zone are written in order");
        self.zones.written(chunk.zone, chunk.end());
        self.chunks.remove(chunk);
    }

    /// The pages of a chunk that its zone did not take were placed elsewhere, and are on the
    /// device.
    pub(crate) fn chunk_moved(&mut self, chunk: Arc<Chunk>) {
        assert!(self.zones.get(chunk.zone).has_failed(), "only a failed zone gives up chunks");
        self.notes.chunks_given_up(&[chunk.seq]);
        self.chunks.remove(chunk);
    }

    /// An append to a zone of the volume failed: the zone ends where it is written. False if that
    /// was known.
    pub(crate) fn zone_failed(&mut self, zone: u32) -> bool {
        if !self.zones.fail(zone) {
            return false;
        }
        self.checkpoints.zone_failed();
        self.failures.appends += 1;
        let DataZone { device_zone, written, .. } = *self.zones.get(zone);
        tracing::warn!(zone = device_zone, page = written, "an append failed: the zone ends there");
        self.end_zone(zone);
        true
    }

    /// Ends a zone, if it is open, so that what it holds can be copied.
    pub(crate) fn end_zone(&mut self, zone: u32) {
        let open = |image: &&ZoneImage| image.zone == zone && image.sealed_at.is_none();
        if let Some(image) = self.volume.log().images().iter().find(open) {
            self.volume.log_mut().end_chunk(image.class as usize);
            self.volume.log_mut().end_early(image.class as usize);
        }
        self.seal_chunk_of(zone);
    }

    /// The valid pages of a victim were copied: the volume may use the zone again, and the device's
    /// zone waits to be reset.
    pub(crate) fn zone_cleaned(&mut self, zone: u32) {
        assert!(self.chunks.is_zone_written(zone), "a zone is cleaned before it is written");
        assert!(!self.volume.log().is_open(zone), "an open zone is cleaned");
        if self.volume.log_mut().release(zone) {
            // Durable before the zone is reset, and mostly beside other notes.
            let late = &self.zones.get(zone).late;
            let needed = late.partition_point(|&seq| seq < self.checkpoints.needed_from());
            self.notes.chunks_given_up(&late[needed..]);
            self.zones.release(zone);
            self.withhold();
        } else {
            // It counts records that the map does not have there: it would be cleaned again and
            // again.
            let device_zone = self.zones.get(zone).device_zone;
            tracing::warn!(zone = device_zone, "a zone counts records that the map does not have");
            self.volume.log_mut().quarantine(zone);
        }
    }

    /// A page of a victim can't be read: the zone stays as it is.
    pub(crate) fn zone_unreadable(&mut self, zone: u32) {
        self.failures.unreadable += 1;
        let zone_of_device = self.zones.get(zone).device_zone;
        tracing::warn!(zone = zone_of_device, "a page can't be read: the zone is not cleaned");
        self.volume.log_mut().quarantine(zone);
    }

    /// True if valid pages lie in a zone of the device.
    pub(crate) fn holds_pages(&self, device_zone: u32) -> bool {
        let images = self.volume.log().images();
        let mut holds = images.iter().filter(|image| image.valid() > 0);
        holds.any(|image| self.zones.get(image.zone).device_zone == device_zone)
    }

    /// A zone of the device is empty.
    pub(crate) fn add_empty_zone(&mut self, device_zone: u32) {
        self.zones.add_empty(device_zone);
    }

    /// A zone of the device was reset, and can be written again.
    pub(crate) fn zone_reset(&mut self, device_zone: u32) {
        debug_assert!(!self.holds_pages(device_zone), "a zone that holds pages was reset");
        self.zones.end_reset(device_zone);
        self.add_empty_zone(device_zone);
    }

    /// A zone of the device can't be reset. It is gone for good, and one of the volume with it.
    pub(crate) fn zone_lost(&mut self, device_zone: u32) {
        self.failures.resets += 1;
        tracing::warn!(zone = device_zone, "a reset failed: the zone is not used any more");
        // If it waited for that, the last checkpoint may say that it holds pages.
        if self.zones.end_reset(device_zone) {
            self.checkpoints.zone_failed();
        }
        if !self.volume.log_mut().retire() {
            self.zones.use_spare();
        }
    }

    /// Withholds zones from the volume until there are as many as the layout asks for.
    pub(super) fn withhold(&mut self) {
        while self.zones.is_short() && self.volume.log_mut().retire() {
            self.zones.withhold();
        }
    }
}
