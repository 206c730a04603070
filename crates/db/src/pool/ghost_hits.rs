//! Ghost hits: the reads that more frames would have saved, beside those that rows of absent pages
//! save.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use super::frames::Zeroed;

/// The reads that rows save, and those that frames in their place would save.
pub(crate) struct GhostHits {
    /// For each page how many evictions there had been at its last one, or when it was needed and
    /// absent.
    evicted_at: Zeroed<AtomicU32>,
    /// Evictions so far.
    evictions: AtomicU32,
    /// Frames that could be there in place of rows.
    frames: AtomicU32,
    /// Uses of rows without their page.
    row_hits: AtomicU64,
    /// Reads of pages that lack changes of rows.
    row_loads: AtomicU64,
    /// Uses of absent pages that would be in memory with more frames.
    hits: AtomicU64,
}

/// The reads that either side saved in a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Saved {
    /// Reads that rows saved, less half of those that they cost.
    pub by_rows: u64,
    /// Reads that frames in their place would have saved.
    pub by_frames: u64,
}

impl GhostHits {
    /// No hits yet, for so many pages. None if the system refuses the memory.
    pub(crate) fn new(pages: usize) -> Option<Self> {
        Some(GhostHits {
            evicted_at: Zeroed::new(pages)?,
            evictions: AtomicU32::new(0),
            frames: AtomicU32::new(0),
            row_hits: AtomicU64::new(0),
            row_loads: AtomicU64::new(0),
            hits: AtomicU64::new(0),
        })
    }

    /// Bytes of memory that this takes.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.evicted_at)
    }

    /// A miss is a hit from now on if so many frames more would have kept the page.
    pub(crate) fn set_frames(&self, frames: u32) {
        self.frames.store(frames, Relaxed);
    }

    /// Evictions so far, modulo 2^32.
    pub(crate) fn evictions(&self) -> u32 {
        self.evictions.load(Relaxed)
    }

    /// A page is evicted.
    pub(crate) fn note_eviction(&self, page: u32) {
        let evictions = self.evictions.fetch_add(1, Relaxed).wrapping_add(1);
        if let Some(evicted_at) = self.evicted_at.get(page as usize) {
            evicted_at.store(evictions, Relaxed);
        }
    }

    /// A page is needed that is absent. With more frames it would be there, if fewer pages were
    /// evicted since it was, or was needed.
    pub(crate) fn note_miss(&self, page: u32) {
        let Some(evicted_at) = self.evicted_at.get(page as usize) else { return };
        let (before, now) = (evicted_at.load(Relaxed), self.evictions());
        if before != 0 && now.wrapping_sub(before) < self.frames.load(Relaxed) {
            self.hits.fetch_add(1, Relaxed);
        }
        evicted_at.store(now, Relaxed);
    }

    /// A row was used without its page.
    pub(crate) fn note_row_hit(&self) {
        self.row_hits.fetch_add(1, Relaxed);
    }

    /// So many pages are read because they lack changes of rows.
    pub(crate) fn note_row_loads(&self, pages: usize) {
        self.row_loads.fetch_add(pages as u64, Relaxed);
    }

    /// The reads that were saved since this was asked last. A read of a page for what waits for it
    /// counts half: with more memory more would wait for each.
    pub(crate) fn take(&self) -> Saved {
        let row_hits = self.row_hits.swap(0, Relaxed);
        let by_rows = row_hits.saturating_sub(self.row_loads.swap(0, Relaxed) / 2);
        Saved { by_rows, by_frames: self.hits.swap(0, Relaxed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many pages are evicted and used again, each after all others.
    fn cycle(ghosts: &GhostHits, pages: u32) {
        for page in 0..10 * pages {
            ghosts.note_eviction(page % pages);
            ghosts.note_miss((page + 1) % pages);
        }
    }

    #[test]
    fn a_page_would_be_in_memory_if_more_frames_had_kept_all_that_were_evicted_since() {
        for (frames, saved) in [(99, 0), (100, 901)] {
            let ghosts = GhostHits::new(100).unwrap();
            ghosts.set_frames(frames);
            cycle(&ghosts, 100);
            assert_eq!(ghosts.take().by_frames, saved, "{frames}");
        }
        let uncounted = GhostHits::new(0).unwrap();
        uncounted.set_frames(1000);
        cycle(&uncounted, 100);
        assert_eq!(uncounted.take(), Saved { by_rows: 0, by_frames: 0 });
    }
}
