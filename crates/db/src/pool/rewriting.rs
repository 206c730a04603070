//! Changed pages that are written because cleaning would copy them as they are on the device: they
//! need no write of their own when they leave memory.

use std::sync::atomic::Ordering::*;

use frostline_store::PageWrite;

use super::{FRAME, Pool};
use crate::node::PAGE_BYTES;

impl Pool {
    /// Writes those of these pages of the store that changed in memory, once the log is durable up to
    /// their last change.
    ///
    /// The evictor writes beside this, or waits for it further up the same thread. A page that one of
    /// both is writing is left alone by the other; and the store takes a page from here only while the
    /// version is valid that cleaning would copy, so none comes after a trim.
    pub fn write_newer(&self, lbas: &[u32], write: &mut dyn FnMut(PageWrite<'_>) -> bool) {
        let first = self.space.first;
        let ours = lbas.iter().filter_map(|lba| lba.checked_sub(first));
        for page in ours.filter(|&page| page < self.space.pages) {
            if let Some(frame) = self.frame_of_changed(page) {
                self.write_newer_page(frame, page, write);
            }
        }
    }

    /// The frame of a page, if it is in memory and changed.
    fn frame_of_changed(&self, page: u32) -> Option<u32> {
        let frame = self.entry(page).ok()?.load(Acquire).checked_sub(FRAME)?;
        self.frames[frame as usize].is_dirty().then_some(frame)
    }

    fn write_newer_page(
        &self,
        frame: u32,
        page: u32,
        write: &mut dyn FnMut(PageWrite<'_>) -> bool,
    ) {
        let mut copy = [0; PAGE_BYTES];
        let Some(out) = self.copy_out(frame, &mut copy, self.clock()) else { return };
        // The frame may have got another page meanwhile, which is not asked for.
        let arrived = out.page == page
            && self.wal.wait(out.position).is_ok()
            && write(self.space.page_write(&out));
        if arrived {
            self.clocks.writes.fetch_add(1, Relaxed);
            self.counters.rewritten.fetch_add(1, Relaxed);
        }
        self.end_write(frame, &out, arrived, false);
    }
}
