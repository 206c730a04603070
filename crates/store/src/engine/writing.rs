//! Pages are written to chunks, and chunks to the device.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use frostline_zone::DeviceError;

use crate::engine::inner::{Guard, Inner};
use crate::error::of_zone;
use crate::format::PAGE;
use crate::format::layout::NOTES;
use crate::format::packing::{PackedPage, Told, following};
use crate::state::chunk::Chunk;
use crate::state::mapped_page::MappedPage;
use crate::sync::sleep;
use crate::{Cleaning, DeltaWrite, PageWrite, StoreError};

/// Pages that are written under one hold of the lock, at most.
const TOGETHER: usize = 32;

/// Times that an append waits for another zone to be finished, 100 microseconds each.
const WAITS: u32 = 10_000;

impl Inner {
    /// Writes pages, in order.
    pub fn write_pages(&self, pages: &[PageWrite<'_>]) -> Result<(), StoreError> {
        for write in pages {
            self.check_write(write)?;
        }
        let together = self.together();
        for (some, from) in pages.chunks(together).zip((0..).step_by(together)) {
            let sizes = self.layout.sizes;
            let pack =
                |(write, i)| PackedPage::of(write, following(pages, i), sizes, &self.compressor);
            let packed: Vec<_> = some.iter().zip(from..).map(pack).collect();
            let writes = packed.into_iter().map(|packed| (packed.lba, packed));
            self.place_all(writes, |mut page, packed| page.write(packed).map(|()| page))?;
        }
        Ok(())
    }

    /// Writes pages as deltas or tails, in order. Returns those that have to be written as a whole.
    pub fn write_deltas(&self, writes: &[DeltaWrite<'_>]) -> Result<Vec<u32>, StoreError> {
        let mut refused = Vec::new();
        for write in writes {
            self.layout.check_lba(write.lba)?;
        }
        for some in writes.chunks(self.together()) {
            let writes = some.iter().map(|write| (write.lba, write));
            self.place_all(writes, |mut page, &DeltaWrite { lba, delta, hotness }| {
                let record = delta.record().to_vec();
                if !page.write_part(
                    delta.kind(),
                    record,
                    Told { hotness: hotness.unwrap_or_default(), following: 0 },
                )? {
                    refused.push(lba);
                }
                Ok(page)
            })?;
        }
        Ok(refused)
    }

    /// Pages that are written under one hold of the lock.
    fn together(&self) -> usize {
        if self.cleaning == Cleaning::Inline { 1 } else { TOGETHER }
    }

    /// Places pages by the user under one hold of the lock, and writes what is full then.
    fn place_all<'s, W>(
        &'s self,
        writes: impl ExactSizeIterator<Item = (u32, W)>,
        mut place: impl FnMut(MappedPage<Guard<'s>>, W) -> Result<MappedPage<Guard<'s>>, StoreError>,
    ) -> Result<(), StoreError> {
        let all = || {
            let mut state = self.admit(writes.len())?;
            for (lba, write) in writes {
                state = place(self.mapped(state, lba)?, write)?.into_state();
            }
            Ok(state)
        };
        match all() {
            Ok(state) => self.leave(state),
            Err(error) => {
                // Other threads may wait for chunks that were sealed before; those may fail as well.
                let _ = self.leave(self.state()?);
                Err(error)
            }
        }
    }

    /// Forgets a page.
    pub fn trim_page(&self, lba: u32) -> Result<bool, StoreError> {
        self.layout.check_lba(lba)?;
        let state = self.ungrouped()?;
        let mut page = self.mapped(state, lba)?;
        let had = page.trim()?;
        let waiting = page.into_state().notes.waiting();
        if waiting >= NOTES {
            self.write_notes().map_err(|error| self.fail(error))?;
            match self.cleaning {
                Cleaning::Inline => self.checkpoint_if_due()?,
                Cleaning::Background => self.wake(),
            }
        }
        self.shrink_map()?;
        Ok(had)
    }

    /// Ends an operation that placed pages: writes what is full, and does or asks for what is due.
    pub fn leave(&self, mut state: Guard<'_>) -> Result<(), StoreError> {
        let outgoing = state.chunks.take_outgoing();
        let wake =
            state.cleaner_sleeps && state.volume.cleaning_due() || self.is_checkpoint_due(&state);
        drop(state);
        self.write_out(outgoing)?;
        match self.cleaning {
            Cleaning::Inline => {
                while self.state()?.volume.cleaning_due() && self.clean()? {}
                self.checkpoint_if_due()?;
            }
            Cleaning::Background if wake => self.wake(),
            Cleaning::Background => {}
        }
        self.shrink_map()
    }

    /// Writes sealed chunks to the device. Chunks of one zone wait for each other; so of several the
    /// oldest is written first, and those that replace others are written last.
    pub fn write_out(&self, chunks: Vec<Arc<Chunk>>) -> Result<(), StoreError> {
        let (mut queue, mut rescued) = (VecDeque::from(chunks), Vec::new());
        let all = || {
            while let Some(chunk) = queue.pop_front() {
                if let Some(refused) = self.write_chunk(chunk)? {
                    queue.extend(self.rescue(&refused)?);
                    rescued.push(refused);
                }
            }
            self.forget(rescued)
        };
        // Other threads wait for these chunks: an error of any kind ends their wait.
        all().inspect_err(|error| self.end_writing(error.clone()))
    }

    /// Writes a chunk; gives it back if its zone takes no more.
    fn write_chunk(&self, chunk: Arc<Chunk>) -> Result<Option<Arc<Chunk>>, StoreError> {
        if chunk.first == 0 {
            // So that its pages are found even if the program is killed before a sync.
            self.write_notes()?;
        }
        let mut state = self.state()?;
        let ready = |state: &Guard<'_>| {
            let zone = state.zones.get(chunk.zone);
            zone.written == chunk.start || zone.has_failed()
        };
        while !ready(&state) {
            state = self.wait(state)?;
        }
        let zone = state.zones.get(chunk.zone);
        let (device_zone, failed) = (zone.device_zone, zone.has_failed());
        drop(state);
        let at = u64::from(chunk.start) * PAGE as u64;
        if failed || of_zone(self.append(device_zone, at, chunk.bytes()))?.is_err() {
            return Ok(Some(chunk));
        }
        self.chunk_written(chunk, device_zone).map(|()| None)
    }

    /// Appends to a zone of the device. Where it is one zone too many, another thread is about to
    /// finish the one before.
    fn append(&self, device_zone: u32, at: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        let mut refused = 0;
        loop {
            match self.device.append(device_zone, at, bytes) {
                Err(DeviceError::TooManyActive { .. } | DeviceError::TooManyOpen { .. })
                    if refused < WAITS =>
                {
                    refused += 1;
                    sleep(Duration::from_micros(100));
                }
                result => return result,
            }
        }
    }

    fn chunk_written(&self, chunk: Arc<Chunk>, device_zone: u32) -> Result<(), StoreError> {
        let ended = self.state()?.is_last_of_zone(&chunk);
        if ended && chunk.end() < self.layout.fixed.device_pages {
            // Before other threads know: from then on the zone may be cleaned, reset and begun anew.
            self.finish(device_zone)?;
        }
        self.state()?.chunk_written(chunk);
        self.changed.notify_all();
        Ok(())
    }

    /// Tells the device that no more comes to a zone, so that it no longer counts as active.
    pub fn finish(&self, device_zone: u32) -> Result<(), StoreError> {
        // A refusal costs an active zone at most.
        of_zone(self.device.finish(device_zone)).map(drop)
    }
}
