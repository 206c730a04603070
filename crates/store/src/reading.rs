//! The way of a page back.

use std::ops::Range;

use frostline_zone::AlignedBuf;

use crate::StoreError;
use crate::format::PAGE;
use crate::inner::{Guard, Inner};
use crate::leaves::LEAF;
use crate::meta::MetaLog;
use crate::state::Found;

impl Inner {
    /// Reads a page; false if it was never written, or was trimmed.
    pub fn read_page(&self, lba: u32, into: &mut [u8]) -> Result<bool, StoreError> {
        self.check_page(lba, into)?;
        let state = self.with_leaf(self.state()?, lba)?;
        let found = state.find(lba, into)?;
        drop(state);
        let Some(found) = found else {
            self.shrink_map()?;
            return Ok(false);
        };
        if let Found::At { zone, page, sum, pin } = found {
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
            let mut state = self.state()?;
            let is_empty = state.root[leaf as usize].page == 0;
            if is_empty && !state.placer.map().has(leaf) {
                continue;
            }
            state = self.with_leaf(state, leaf * LEAF as u32)?;
            let slots = state.placer.slots(leaf);
            drop(state);
            self.shrink_map()?;
            let lbas = slots.into_iter().map(|(lba, _)| lba);
            lbas.filter(|lba| (range.start..end).contains(lba)).for_each(&mut *visit);
        }
        Ok(())
    }

    /// Sees to it that the leaf of a page is in memory. The lock is let go while it is read.
    pub fn with_leaf<'a>(
        &'a self,
        mut state: Guard<'a>,
        lba: u32,
    ) -> Result<Guard<'a>, StoreError> {
        let leaf = lba / LEAF as u32;
        while !state.placer.map().has(leaf) {
            let (at, now) = (state.root[leaf as usize], state.time);
            if at.page == 0 {
                state.placer.insert_leaf(leaf, None, now);
                break;
            }
            drop(state);
            let read = self.read_leaf(at.page, at.sum);
            state = self.state()?;
            // Meanwhile another may have loaded it, or written it elsewhere.
            if state.placer.map().has(leaf) || state.root[leaf as usize] != at {
                continue;
            }
            let bytes = read?;
            state.placer.insert_leaf(leaf, Some((&bytes, at.time)), now);
        }
        Ok(state)
    }

    /// Reads a leaf from the metadata log.
    pub fn read_leaf(&self, page: u32, sum: u32) -> Result<AlignedBuf, StoreError> {
        let pages = crate::leaves::leaf_pages(self.layout.state);
        let bytes = MetaLog::read(&*self.device, &self.layout, page, pages)?;
        if crc32c::crc32c(&bytes) != sum {
            let capacity = self.layout.fixed.device_pages;
            let zone = self.layout.meta[(page / capacity) as usize];
            let why = "a leaf of the map is not what was written there".to_string();
            return Err(StoreError::Damaged { zone, page: page % capacity, why });
        }
        Ok(bytes)
    }
}
