//! Groups: pages that are durable all together or not at all.
//!
//! All pages of a group are placed under one hold of the lock, so their times follow one another,
//! no sync comes between them, and whatever is durable before or after the group is so for all of
//! it. The chunks name the group until it is known to be durable, and recovery counts its pages.
//! Meanwhile no user writes or trims anything: a page of the group that is superseded could be
//! missed.

use std::collections::BTreeMap;

use super::Writer;
use crate::format::packing::PackedPage;
use crate::{PageWrite, StoreError};

impl Writer {
    /// Packs the pages of a group. Of a page that is there more than once the last content counts.
    pub(crate) fn pack_group<'a>(&'a self, pages: &[PageWrite<'a>]) -> Vec<PackedPage<'a>> {
        let mut newest: BTreeMap<u32, PageWrite<'_>> = BTreeMap::new();
        for &write in pages {
            // An earlier content is not written, so a later one can't be its difference to that.
            let last = PageWrite { changed: None, ..write };
            newest.entry(write.lba).and_modify(|known| *known = last).or_insert(write);
        }
        let newest: Vec<_> = newest.into_values().collect();
        (0..newest.len()).map(|i| self.pack(&newest, i)).collect()
    }

    /// Writes a group, which then has no pages left, and makes it durable with everything before.
    /// False if there is no room for it now.
    pub(crate) fn write_group(&self, pages: &mut Vec<PackedPage<'_>>) -> Result<bool, StoreError> {
        let state = self.admit(pages.len())?;
        if state.group_room() < pages.len() as u64 {
            return Ok(false);
        }
        drop(state);
        let leaves = self.loader.hold()?;
        let mut state = self.loader.with_leaves(&leaves, pages.iter().map(|page| page.lba))?;
        state.check_writable()?;
        if state.chunks().has_group() || state.group_room() < pages.len() as u64 {
            // The lock was let go in between.
            return Ok(false);
        }
        state.check_new(pages)?;
        // Behind an error pages are missing: nothing more may become durable.
        let last = match state.place_group(std::mem::take(pages)) {
            Ok(last) => last,
            Err(error) => {
                drop(state);
                self.core.end_writing(&error);
                return Err(error);
            }
        };
        drop(leaves);
        self.chunks.write_out(state)?;
        self.chunks.make_durable(last)?;
        Ok(true)
    }
}
