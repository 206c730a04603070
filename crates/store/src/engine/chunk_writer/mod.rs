//! Sealed chunks are written to their zones, and made durable.

mod durability;
mod failed_zone;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use frostline_zone::DeviceError;

use crate::StoreError;
use crate::engine::core::{Core, Guard};
use crate::engine::map_loader::MapLoader;
use crate::engine::metadata::Metadata;
use crate::error::of_zone;
use crate::format::PAGE;
use crate::format::head::ChunkHead;
use crate::state::chunk::Chunk;
use crate::sync::sleep;

/// Times that an append waits for another zone to be finished, 100 microseconds each.
const WAITS: u32 = 10_000;

/// Writes chunks to the device.
pub(crate) struct ChunkWriter {
    core: Arc<Core>,
    metadata: Arc<Metadata>,
    loader: Arc<MapLoader>,
}

impl ChunkWriter {
    /// The writer of a store's chunks.
    pub(crate) fn new(core: Arc<Core>, metadata: Arc<Metadata>, loader: Arc<MapLoader>) -> Self {
        ChunkWriter { core, metadata, loader }
    }

    /// Writes the chunks that are sealed to the device. Chunks of one zone wait for each other; so
    /// of several the oldest is written first, and those that replace others are written last.
    pub(crate) fn write_out(&self, mut state: Guard<'_>) -> Result<(), StoreError> {
        let (mut queue, mut rescued) = (VecDeque::from(state.take_outgoing()), Vec::new());
        drop(state);
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
        all().inspect_err(|error| self.core.end_writing(error))
    }

    /// Writes a chunk; gives it back if its zone takes no more.
    fn write_chunk(&self, chunk: Arc<Chunk>) -> Result<Option<Arc<Chunk>>, StoreError> {
        if chunk.first == 0 {
            // So that its pages are found even if the program is killed before a sync.
            self.metadata.write_notes()?;
        }
        let mut state = self.core.state()?;
        let ready = |state: &Guard<'_>| {
            let zone = state.zones().get(chunk.zone);
            zone.written == chunk.start || zone.has_failed()
        };
        while !ready(&state) {
            state = self.core.wait(state)?;
        }
        let zone = state.zones().get(chunk.zone);
        let (device_zone, failed) = (zone.device_zone, zone.has_failed());
        drop(state);
        let at = u64::from(chunk.start) * PAGE as u64;
        assert!(chunk.end() <= self.core.layout.fixed.device_pages, "a chunk fits into its zone");
        debug_assert!(
            ChunkHead::at(chunk.bytes(), self.core.store, device_zone, chunk.start)
                .is_some_and(|(head, _)| (head.seq, head.first) == (chunk.seq, chunk.first)),
            "a chunk goes where its header says"
        );
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
            match self.core.device.append(device_zone, at, bytes) {
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
        let ended = self.core.state()?.is_last_of_zone(&chunk);
        if ended && chunk.end() < self.core.layout.fixed.device_pages {
            // Before other threads know: from then on the zone may be cleaned, reset and begun
            // anew.
            self.finish(device_zone)?;
        }
        self.core.state()?.chunk_written(chunk);
        self.core.changed();
        Ok(())
    }

    /// Tells the device that no more comes to a zone, so that it no longer counts as active.
    pub(crate) fn finish(&self, device_zone: u32) -> Result<(), StoreError> {
        // A refusal costs an active zone at most.
        of_zone(self.core.device.finish(device_zone)).map(drop)
    }
}
