//! The way of a chunk to the device, and what makes it durable.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use frostline_placement::Hotness;
use frostline_zone::DeviceError;

use crate::chunk::Chunk;
use crate::error::of_zone;
use crate::format::{Head, Kind, PAGE};
use crate::inner::{Guard, Inner};
use crate::layout::NOTES;
use crate::placer::Candidate;
use crate::sync::sleep;
use crate::{Cleaning, StoreError};

/// Pages that are written under one hold of the lock.
const TOGETHER: usize = 32;

/// Times that an append waits for another zone to be finished, 100 microseconds each.
const PATIENCE: u32 = 10_000;

/// A page to be written.
#[derive(Clone, Copy, Debug)]
pub struct PageWrite<'a> {
    /// Its LBA.
    pub lba: u32,
    /// Its content, 4,096 bytes.
    pub page: &'a [u8],
    /// What the engine tells of it. Kept only by a store that was formatted with hotness records.
    pub hotness: Option<Hotness>,
}

impl Inner {
    /// Writes pages, in order.
    pub fn write_pages(&self, pages: &[PageWrite<'_>]) -> Result<(), StoreError> {
        for write in pages {
            self.check_page(write.lba, write.page)?;
        }
        let together = if self.cleaning == Cleaning::Inline { 1 } else { TOGETHER };
        for some in pages.chunks(together) {
            match self.place_pages(some) {
                Ok(state) => self.leave(state)?,
                Err(error) => {
                    // Others may wait for what was sealed before; that may fail as well.
                    let _ = self.leave(self.state()?);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn place_pages(&self, pages: &[PageWrite<'_>]) -> Result<Guard<'_>, StoreError> {
        let sums: Vec<_> = pages.iter().map(|w| crc32c::crc32c(w.page)).collect();
        let mut state = self.admit(pages.len())?;
        for (write, sum) in pages.iter().zip(sums) {
            state = self.with_leaf(state, write.lba)?;
            state.write(write.lba, sum, write.hotness.unwrap_or_default(), write.page)?;
        }
        Ok(state)
    }

    /// Forgets a page.
    pub fn trim_page(&self, lba: u32) -> Result<bool, StoreError> {
        self.check_lba(lba)?;
        let mut state = self.state()?;
        if let Some(error) = &state.failed {
            return Err(StoreError::Failed(Box::new(error.clone())));
        }
        state = self.with_leaf(state, lba)?;
        let had = state.placer.trim(lba)?;
        if had {
            state.note_trim(lba);
        }
        let waiting = state.notes.len();
        drop(state);
        if waiting >= crate::layout::NOTES {
            self.write_notes().map_err(|error| self.fail(error))?;
            match self.cleaning {
                Cleaning::Inline => self.keep()?,
                Cleaning::Background => self.wake(),
            }
        }
        self.shrink_map()?;
        Ok(had)
    }

    /// Ends an operation that placed pages: writes what is full, and does or asks for what is due.
    pub fn leave(&self, mut state: Guard<'_>) -> Result<(), StoreError> {
        let outgoing = std::mem::take(&mut state.outgoing);
        let wake =
            state.cleaner_sleeps && state.placer.cleaning_due() || self.is_checkpoint_due(&state);
        drop(state);
        self.write_out(outgoing)?;
        match self.cleaning {
            Cleaning::Inline => {
                while self.state()?.placer.cleaning_due() && self.clean()? {}
                self.keep()?;
            }
            Cleaning::Background if wake => self.wake(),
            Cleaning::Background => {}
        }
        self.shrink_map()
    }

    /// Writes sealed chunks to the device. Chunks of one zone wait for each other; so whoever has
    /// several writes the oldest first, those that replace others last.
    pub fn write_out(&self, chunks: Vec<Arc<Chunk>>) -> Result<(), StoreError> {
        let (mut queue, mut rescued) = (VecDeque::from(chunks), Vec::new());
        let mut all = || {
            while let Some(chunk) = queue.pop_front() {
                if let Some(refused) = self.write_chunk(chunk)? {
                    queue.extend(self.rescue(&refused)?);
                    rescued.push(refused);
                }
            }
            self.forget(&rescued)
        };
        // Others wait for these chunks: whatever went wrong, they are told.
        all().inspect_err(|error| self.end_writing(error.clone()))
    }

    /// Writes a chunk; gives it back if its zone takes no more.
    fn write_chunk(&self, chunk: Arc<Chunk>) -> Result<Option<Arc<Chunk>>, StoreError> {
        if chunk.first == 0 {
            // So that its pages are found even if nobody syncs and the program is killed.
            self.write_notes()?;
        }
        let mut state = self.state()?;
        while state.zones[chunk.zone as usize].written != chunk.start
            && !state.zones[chunk.zone as usize].is_sick()
        {
            state = self.wait(state)?;
        }
        let zone = &state.zones[chunk.zone as usize];
        let (device_zone, sick) = (zone.device_zone, zone.is_sick());
        drop(state);
        let at = u64::from(chunk.start) * PAGE as u64;
        if sick || of_zone(self.append(device_zone, at, chunk.bytes()))?.is_err() {
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
                    if refused < PATIENCE =>
                {
                    refused += 1;
                    sleep(Duration::from_micros(100));
                }
                result => return result,
            }
        }
    }

    fn chunk_written(&self, chunk: Arc<Chunk>, device_zone: u32) -> Result<(), StoreError> {
        let fixed = &self.layout.fixed;
        let rows = chunk.rows.len() as u32;
        let written = chunk.start + 1 + rows;
        let full = chunk.first + rows >= fixed.zone_pages;
        let ended = full || written + 1 >= fixed.device_pages;
        if ended && written < fixed.device_pages {
            // Before anyone knows: from then on the zone may be cleaned, reset and begun anew.
            self.finish(device_zone)?;
        }
        let mut state = self.state()?;
        let zone = &mut state.zones[chunk.zone as usize];
        zone.written = written;
        zone.unwritten.retain(|c| c.seq != chunk.seq);
        state.in_flight.remove(&chunk.seq);
        if let Ok(chunk) = Arc::try_unwrap(chunk)
            && state.buffers.len() < 2 * state.open.len()
        {
            state.buffers.push(chunk.into_bytes());
        }
        drop(state);
        self.changed.notify_all();
        Ok(())
    }

    /// Tells the device that no more comes to a zone, so that it no longer counts as active.
    pub fn finish(&self, device_zone: u32) -> Result<(), StoreError> {
        // A refusal costs an active zone at most.
        of_zone(self.device.finish(device_zone)).map(drop)
    }

    /// The zone of a chunk takes no more: its pages, which are still in memory, go elsewhere.
    /// Returns the chunks that they filled.
    fn rescue(&self, chunk: &Chunk) -> Result<Vec<Arc<Chunk>>, StoreError> {
        let mut state = self.state()?;
        self.give_up_zone(&mut state, chunk.zone);
        for (row, offset) in chunk.rows.iter().zip(chunk.first..) {
            state = self.with_leaf(state, row.lba)?;
            let slot = frostline_log::Slot { zone: chunk.zone, offset };
            let index = (offset - chunk.first) as usize;
            let Some(placed) = state.placer.relocate(Candidate { lba: row.lba, slot }, None)?
            else {
                continue;
            };
            let hotness = chunk.hotness.as_ref().map(|all| all[index]).unwrap_or_default();
            let page = chunk.page(offset).unwrap_or_default();
            state.relocate(placed, *row, hotness, page)?;
        }
        state.seal_all();
        Ok(std::mem::take(&mut state.outgoing))
    }

    /// The pages of chunks that could not be written are elsewhere.
    fn forget(&self, rescued: &[Arc<Chunk>]) -> Result<(), StoreError> {
        if rescued.is_empty() {
            return Ok(());
        }
        let mut state = self.state()?;
        for chunk in rescued {
            state.zones[chunk.zone as usize].unwritten.retain(|c| c.seq != chunk.seq);
            state.in_flight.remove(&chunk.seq);
        }
        drop(state);
        self.changed.notify_all();
        Ok(())
    }

    /// Ends a zone whose append failed.
    fn give_up_zone(&self, state: &mut Guard<'_>, zone: u32) {
        let sick = &state.zones[zone as usize];
        if sick.end.set(sick.written).is_err() {
            return;
        }
        state.want_checkpoint();
        // Sealing ends the zone, and the chunk then finds it sick as this one did.
        if !state.seal_chunk_of(zone) {
            let open = |image: &frostline_log::ZoneImage| image.sealed_at.is_none();
            let images = state.placer.images();
            if let Some(image) = images.iter().find(|i| i.zone == zone && open(i)) {
                state.placer.end_early(image.class as usize);
            }
        }
        self.changed.notify_all();
    }

    /// Writes the notes that wait. When it returns, all notes made before are written.
    pub fn write_notes(&self) -> Result<(), StoreError> {
        let mut meta = self.meta()?;
        let notes = std::mem::take(&mut self.state()?.notes);
        for some in notes.chunks(NOTES) {
            let head = Head { count: some.len() as u32, ..Head::default() };
            meta.append(Kind::Notes, head, bytemuck::cast_slice(some), &[])?;
        }
        self.counters.note_meta(&meta, self.layout.meta_reserve());
        Ok(())
    }

    /// Makes everything that was written before durable.
    pub fn sync(&self) -> Result<(), StoreError> {
        let mut state = self.state()?;
        if let Some(error) = &state.failed {
            return Err(StoreError::Failed(Box::new(error.clone())));
        }
        let last = state.seal_all();
        let outgoing = std::mem::take(&mut state.outgoing);
        drop(state);
        self.write_out(outgoing)?;
        self.make_durable(last)
    }

    /// Makes all sealed chunks up to number `last`, and all notes made before, durable.
    pub fn make_durable(&self, last: u64) -> Result<(), StoreError> {
        let done = || {
            let noted = self.state()?.next_serial;
            self.write_notes()?;
            let mut state = self.state()?;
            while !state.is_written(last) {
                state = self.wait(state)?;
            }
            drop(state);
            self.device.flush()?;
            let mut state = self.state()?;
            state.durable = state.durable.max(last);
            state.noted = state.noted.max(noted);
            Ok(())
        };
        done().map_err(|error| self.fail(error))
    }
}
