//! Pages of the user are placed, and the chunks that they fill are written. Nothing here cleans or
//! writes a checkpoint.

mod admission;
mod group;

use std::ops::Range;
use std::sync::Arc;

use crate::engine::chunk_writer::ChunkWriter;
use crate::engine::core::{Core, Guard};
use crate::engine::map_loader::MapLoader;
use crate::format::layout::NOTES;
use crate::format::packing::{PackedPage, Told, following};
use crate::state::mapped_page::MappedPage;
use crate::{Cleaning, DeltaWrite, PageWrite, StoreError};

/// Pages that are written under one hold of the lock, at most.
const TOGETHER: usize = 32;

/// Writes pages of the user.
pub(crate) struct Writer {
    core: Arc<Core>,
    loader: Arc<MapLoader>,
    chunks: Arc<ChunkWriter>,
    cleaning: Cleaning,
}

impl Writer {
    /// The writer of a store that is cleaned in this way.
    pub(crate) fn new(
        core: Arc<Core>,
        loader: Arc<MapLoader>,
        chunks: Arc<ChunkWriter>,
        cleaning: Cleaning,
    ) -> Self {
        Writer { core, loader, chunks, cleaning }
    }

    /// The parts of so many writes that are each made under one hold of the lock.
    pub(crate) fn parts(&self, writes: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let together = if self.cleaning == Cleaning::Inline { 1 } else { TOGETHER };
        (0..writes).step_by(together).map(move |from| from..writes.min(from + together))
    }

    /// Writes a part of these pages, in order.
    pub(crate) fn write_pages(
        &self,
        pages: &[PageWrite<'_>],
        part: Range<usize>,
    ) -> Result<(), StoreError> {
        let packed: Vec<_> = part.map(|i| self.pack(pages, i)).collect();
        let writes = packed.into_iter().map(|packed| (packed.lba, packed));
        self.place_all(writes, |mut page, packed| page.write(packed).map(|()| page))
    }

    /// Packs one of these pages.
    fn pack<'a>(&'a self, pages: &[PageWrite<'a>], i: usize) -> PackedPage<'a> {
        let sizes = self.core.layout.sizes;
        PackedPage::of(&pages[i], following(pages, i), sizes, &self.core.packer)
    }

    /// Writes pages as deltas or tails, in order. Adds those to `refused` that have to be written
    /// as a whole.
    pub(crate) fn write_deltas(
        &self,
        writes: &[DeltaWrite<'_>],
        refused: &mut Vec<u32>,
    ) -> Result<(), StoreError> {
        let writes = writes.iter().map(|write| (write.lba, write));
        self.place_all(writes, |mut page, &DeltaWrite { lba, delta, hotness }| {
            let record = delta.record().to_vec();
            let told = Told { hotness: hotness.unwrap_or_default(), following: 0 };
            if !page.write_part(delta.kind(), record, told)? {
                refused.push(lba);
            }
            Ok(page)
        })
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
                state = place(self.loader.mapped(state, lba)?, write)?.into_state();
            }
            Ok(state)
        };
        match all() {
            Ok(state) => self.chunks.write_out(state),
            Err(error) => {
                // Other threads may wait for chunks that were sealed before; those may fail as
                // well.
                let _ = self.chunks.write_out(self.core.state()?);
                Err(error)
            }
        }
    }

    /// Forgets a page; true if there was one.
    pub(crate) fn trim_page(&self, lba: u32) -> Result<bool, StoreError> {
        let mut page = self.loader.mapped(self.ungrouped()?, lba)?;
        let had = page.trim()?;
        if page.into_state().notes().waiting() >= NOTES {
            self.chunks.write_notes()?;
        }
        Ok(had)
    }
}
