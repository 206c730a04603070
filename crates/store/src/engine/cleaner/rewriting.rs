//! Pages of a victim of which an engine holds newer versions: those are written in place of copies,
//! and need not be written again when they leave the engine's memory.

use std::sync::Weak;

use frostline_log::{Extent, LogError};

use super::{Cleaner, Valid};
use crate::engine::buffer::Buffer;
use crate::engine::core::lock;
use crate::format::packing::PackedPage;
use crate::{PageWrite, StoreError};

impl Cleaner {
    /// Asks this buffer for newer versions of pages from now on.
    pub(crate) fn add_buffer(&self, buffer: Weak<dyn Buffer>) -> Result<(), StoreError> {
        lock(&self.buffers)?.push(buffer);
        Ok(())
    }

    /// Does not use this buffer any more when it returns.
    pub(crate) fn remove_buffer(&self, buffer: &Weak<dyn Buffer>) -> Result<(), StoreError> {
        lock(&self.buffers)?.retain(|other| !other.ptr_eq(buffer));
        Ok(())
    }

    /// Writes newer versions of a victim's pages, where a buffer has them; the others remain to be
    /// copied.
    pub(super) fn rewrite(
        &self,
        zone: u32,
        chunks: &mut [Option<Vec<Valid>>],
    ) -> Result<(), StoreError> {
        // Held while a buffer is in use, so that its owner can wait for that by removing it.
        let buffers = lock(&self.buffers)?;
        if buffers.is_empty() {
            return Ok(());
        }
        let page_of = |valid: &Valid| self.core.layout.sizes.page_of(valid.record.lba);
        let mut lbas: Vec<u32> = chunks.iter().flatten().flatten().map(page_of).collect();
        if self.core.layout.sizes.first_delta() > 0 {
            // The victim may have several records of a page.
            lbas.sort_unstable();
            lbas.dedup();
        }
        let (mut rewritten, mut failed) = (Vec::new(), None);
        for buffer in buffers.iter().filter_map(Weak::upgrade) {
            buffer.write_newer(&lbas, &mut |write| {
                let lba = write.lba;
                let written = failed.is_none()
                    && self.replace(zone, &write).unwrap_or_else(|error| {
                        failed = Some(error);
                        false
                    });
                rewritten.extend(written.then_some(lba));
                written
            });
        }
        failed.map_or(Ok(()), Err)?;
        rewritten.sort_unstable();
        for valid in chunks.iter_mut().flatten() {
            valid.retain(|v| rewritten.binary_search(&page_of(v)).is_err());
        }
        // Where deltas are written, a page written anew is an image, and costs as much as a copy.
        if self.core.layout.sizes.first_delta() == 0 {
            self.core.state()?.copying_begins(zone);
        }
        Ok(())
    }

    /// Writes a page that lies in a victim. False if it lies elsewhere by now, if there is no room
    /// for a user's write, or while a group is on its way, during which users write nothing.
    fn replace(&self, zone: u32, write: &PageWrite<'_>) -> Result<bool, StoreError> {
        self.core.check_page(write.lba, write.page)?;
        let mut packed = PackedPage::of(write, 0, self.core.layout.sizes, &self.core.packer);
        let mut page = self.loader.mapped(self.core.state()?, write.lba)?;
        let in_victim =
            |place: Option<(Extent, u32)>| place.is_some_and(|(at, _)| at.slot.zone == zone);
        let [image, delta, tail] = page.places().map(in_victim);
        if page.has_group() || !image && !delta && !tail {
            return Ok(false);
        }
        if image || delta {
            // A tail would leave both in the victim, a delta the image.
            packed.forbid_tail(image);
        }
        let written = page.write(packed);
        self.chunks.write_out(page.into_state())?;
        match written {
            Err(StoreError::Log(LogError::Full { .. })) => Ok(false),
            written => written.map(|()| true),
        }
    }
}
