//! Reading pages, and finding out which there are.

use std::ops::Range;

use crate::StoreError;
use crate::format::PAGE;
use crate::inner::Inner;
use crate::map_cache::LEAF;
use crate::mapped_page::PageLookup;

impl Inner {
    /// Reads a page; false if it was never written, or was trimmed.
    pub fn read_page(&self, lba: u32, into: &mut [u8]) -> Result<bool, StoreError> {
        self.check_page(lba, into)?;
        let mapped = self.mapped(self.state()?, lba)?;
        let found = mapped.find(into)?;
        drop(mapped);
        let Some(found) = found else {
            self.shrink_map()?;
            return Ok(false);
        };
        if let PageLookup::At { zone, page, sum, pin } = found {
            let at = u64::from(page) * PAGE as u64;
            let read = self.device.read(zone, at, into);
            drop(pin);
            read?;
            if crc32c::crc32c(into) != sum {
                into.fill(0);
                return Err(StoreError::Checksum { lba, zone, page });
            }
        }
        self.shrink_map()?;
        Ok(true)
    }

    /// Calls `visit` with every page of a range that there is, in order.
    pub fn mapped_pages(
        &self,
        range: Range<u32>,
        visit: &mut dyn FnMut(u32),
    ) -> Result<(), StoreError> {
        let end = range.end.min(self.layout.fixed.logical_pages as u32);
        for leaf in range.start / LEAF as u32..end.div_ceil(LEAF as u32) {
            let state = self.state()?;
            if state.volume.map().is_blank(leaf) {
                continue;
            }
            let slots = self.mapped(state, leaf * LEAF as u32)?.slots_of_leaf();
            self.shrink_map()?;
            let lbas = slots.into_iter().map(|(lba, _)| lba);
            lbas.filter(|lba| (range.start..end).contains(lba)).for_each(&mut *visit);
        }
        Ok(())
    }
}
