//! The engine writes pages to the device, reads them, cleans zones and writes checkpoints.
//!
//! Each part owns its locks, and calls only those below it:
//!
//! | part | does | calls |
//! |---|---|---|
//! | [`upkeep`] | decides what is due | cleaner, checkpointer, map loader |
//! | [`writer`] | admits and places pages of the user | map loader, chunk writer |
//! | [`cleaner`] | copies the valid pages of victims, resets zones | reader, map loader, chunk writer |
//! | [`checkpointer`] | writes the map and the zones as they are at one moment | chunk writer, map loader, metadata |
//! | [`reader`] | reads records, from parity if need be | map loader |
//! | [`chunk_writer`] | writes chunks, makes them durable, rescues those of a failed zone | map loader, metadata |
//! | [`map_loader`] | loads and drops leaves of the map | metadata |
//! | [`metadata`] | appends notes and leaves to the metadata log | |
//!
//! All stand on [`core`]: the device, the state and the error that ended all writing. Locks are
//! taken in this order: cleaning, buffers, leaves of the map, metadata log, state.

pub(crate) mod buffer;
pub(crate) mod checkpointer;
pub(crate) mod chunk_writer;
pub(crate) mod cleaner;
pub(crate) mod core;
pub(crate) mod map_loader;
pub(crate) mod meta;
pub(crate) mod metadata;
pub(crate) mod other_copy;
pub(crate) mod reader;
pub(crate) mod runs;
pub(crate) mod upkeep;
pub(crate) mod writer;

use std::sync::Arc;

use frostline_zone::Device;

use crate::format::delta::ChangedWords;
use crate::format::image::Packer;
use crate::state::State;
use crate::{DeltaWrite, Open, PageDelta, PageRead, PageWrite, StoreError};
use checkpointer::Checkpointer;
use chunk_writer::ChunkWriter;
use cleaner::Cleaner;
use core::Core;
use map_loader::MapLoader;
use meta::MetaLog;
use metadata::Metadata;
use reader::Reader;
use upkeep::Upkeep;
use writer::Writer;

/// The parts of an open store; and its operations, each followed by upkeep.
pub(crate) struct Engine {
    /// The device and the state.
    pub core: Arc<Core>,
    /// The metadata log.
    pub metadata: Arc<Metadata>,
    /// Loads leaves of the map.
    pub loader: Arc<MapLoader>,
    /// Reads records.
    pub reader: Arc<Reader>,
    /// Writes chunks.
    pub chunks: Arc<ChunkWriter>,
    /// Writes checkpoints.
    pub checkpointer: Arc<Checkpointer>,
    /// Cleans zones.
    pub cleaner: Arc<Cleaner>,
    /// Does what is due.
    pub upkeep: Upkeep,
    writer: Writer,
}

impl Engine {
    /// The engine of a store whose state was recovered.
    pub(crate) fn new(device: Arc<dyn Device>, state: State, log: MetaLog, open: &Open) -> Self {
        let core = Arc::new(Core::new(device, state, Packer::new(open)));
        let metadata = Arc::new(Metadata::new(core.clone(), log));
        let loader = MapLoader::new(core.clone(), metadata.clone(), open.map_bytes);
        let loader = Arc::new(loader);
        let reader = Arc::new(Reader::new(core.clone(), loader.clone()));
        let chunks = ChunkWriter::new(core.clone(), metadata.clone(), loader.clone());
        let chunks = Arc::new(chunks);
        let checkpointer =
            Checkpointer::new(core.clone(), metadata.clone(), loader.clone(), chunks.clone());
        let checkpointer = Arc::new(checkpointer);
        let cleaner = Cleaner::new(core.clone(), loader.clone(), reader.clone(), chunks.clone());
        let cleaner = Arc::new(cleaner);
        let writer = Writer::new(core.clone(), loader.clone(), chunks.clone(), open.cleaning);
        let upkeep = Upkeep::new(
            core.clone(),
            metadata.clone(),
            loader.clone(),
            cleaner.clone(),
            checkpointer.clone(),
            open,
        );
        Engine { core, metadata, loader, reader, chunks, checkpointer, cleaner, upkeep, writer }
    }

    /// Writes pages, in order.
    pub(crate) fn write_pages(&self, pages: &[PageWrite<'_>]) -> Result<(), StoreError> {
        self.check_pages(pages)?;
        self.writer.parts(pages.len()).try_for_each(|part| {
            self.upkeep.before_write()?;
            self.upkeep.after_write(self.writer.write_pages(pages, part))
        })
    }

    /// Writes pages as deltas or tails, in order. Returns those that have to be written as a whole.
    pub(crate) fn write_deltas(&self, writes: &[DeltaWrite<'_>]) -> Result<Vec<u32>, StoreError> {
        writes.iter().try_for_each(|write| self.core.layout.check_lba(write.lba))?;
        let mut refused = Vec::new();
        for part in self.writer.parts(writes.len()) {
            self.upkeep.before_write()?;
            self.upkeep.after_write(self.writer.write_deltas(&writes[part], &mut refused))?;
        }
        Ok(refused)
    }

    /// Writes pages as a group, and makes it durable with everything before. Of a page that is
    /// there more than once the last content counts.
    pub(crate) fn write_group(&self, pages: &[PageWrite<'_>]) -> Result<(), StoreError> {
        self.check_pages(pages)?;
        if pages.is_empty() {
            return self.chunks.sync();
        }
        let mut packed = self.writer.pack_group(pages);
        loop {
            self.upkeep.before_write()?;
            if self.writer.write_group(&mut packed)? {
                return self.upkeep.after_write(Ok(()));
            }
            self.upkeep.make_room(packed.len())?;
        }
    }

    fn check_pages(&self, pages: &[PageWrite<'_>]) -> Result<(), StoreError> {
        pages.iter().try_for_each(|write| self.core.check_page(write.lba, write.page))
    }

    /// Forgets a page; true if there was one.
    pub(crate) fn trim_page(&self, lba: u32) -> Result<bool, StoreError> {
        self.core.layout.check_lba(lba)?;
        self.upkeep.before_write()?;
        let had = self.writer.trim_page(lba)?;
        self.upkeep.after_trim()?;
        Ok(had)
    }

    /// Reads a page, as changes of it make it that an engine kept if there are any, and finds the
    /// words in which it may differ from its base; false if it was never written, or was trimmed.
    pub(crate) fn read_page(
        &self,
        lba: u32,
        kept: Option<&PageDelta>,
        into: &mut [u8],
        changed: &mut ChangedWords,
    ) -> Result<bool, StoreError> {
        let found = self.reader.read_page(lba, kept, into, changed)?;
        self.upkeep.shrink_map()?;
        Ok(found)
    }

    /// Reads pages, as [`Self::read_page`] reads each, but all their records that are on the device
    /// side by side.
    pub(crate) fn read_pages(&self, reads: &mut [PageRead<'_>]) -> Vec<Result<bool, StoreError>> {
        let together = |reads: &mut [PageRead<'_>]| {
            let results = self.reader.read_pages(reads);
            match self.upkeep.shrink_map() {
                Ok(()) => results,
                Err(error) => vec![Err(error); results.len()],
            }
        };
        reads.chunks_mut(reader::TOGETHER).flat_map(together).collect()
    }

    /// True if a page has a delta.
    pub(crate) fn has_delta(&self, lba: u32) -> Result<bool, StoreError> {
        let has = self.reader.has_delta(lba)?;
        self.upkeep.shrink_map()?;
        Ok(has)
    }

    /// Writes a checkpoint; of everything, so that nothing that was written to the metadata log
    /// before is needed, if it is to be `whole`.
    pub(crate) fn checkpoint(&self, whole: bool) -> Result<(), StoreError> {
        self.checkpointer.write(&self.loader.hold()?, whole)
    }
}
