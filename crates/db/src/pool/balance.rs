//! How memory is divided between pages and records of pages that left it.
//!
//! Both save reads. Records save one whenever one of them is used without its page, less the reads of pages to which
//! changes of records have to be written. In place of the records there could be the pages that left memory last:
//! these would save a read whenever one of them is used. Memory moves to the side that saves more, in small steps.
//! So where no record is asked for again, nearly all of it is for pages.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use super::memory::Zeroed;
use super::{Division, Pool};
use crate::node::PageBytes;

/// Bytes of memory for a page.
pub const FRAME_BYTES: usize = size_of::<PageBytes>();

/// Both sides are compared when so many times as many pages have left memory as it has frames.
const TURNS: u32 = 2;

/// Moves of memory from one end to the other.
const STEPS: u32 = 8;

/// The reads that records save, and those that pages would save in their place.
pub struct Savings {
    /// For each page how many had left memory when it did last, or was needed without being there.
    left_at: Zeroed<AtomicU32>,
    /// Pages that have left memory.
    left: AtomicU32,
    /// Uses of records without their page.
    by_records: AtomicU64,
    /// Reads of pages that lack changes of records.
    for_records: AtomicU64,
    /// Uses of pages that are not in memory, and would be in place of records.
    by_pages: AtomicU64,
}

impl Savings {
    /// Nothing yet, of so many pages. None if the system refuses the memory.
    pub fn new(pages: usize) -> Option<Self> {
        Some(Savings {
            left_at: Zeroed::new(pages)?,
            left: AtomicU32::new(0),
            by_records: AtomicU64::new(0),
            for_records: AtomicU64::new(0),
            by_pages: AtomicU64::new(0),
        })
    }

    /// Bytes of memory that this takes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.left_at)
    }

    /// A page leaves memory.
    pub fn leaves(&self, page: u32) {
        let left = self.left.fetch_add(1, Relaxed).wrapping_add(1);
        if let Some(left_at) = self.left_at.get(page as usize) {
            left_at.store(left, Relaxed);
        }
    }

    /// A page is needed that is not in memory. With so many frames more it would be there, if fewer pages left since it
    /// did, or was needed.
    pub fn misses(&self, page: u32, frames: u32) {
        let Some(left_at) = self.left_at.get(page as usize) else { return };
        let (before, left) = (left_at.load(Relaxed), self.left.load(Relaxed));
        if before != 0 && left.wrapping_sub(before) < frames {
            self.by_pages.fetch_add(1, Relaxed);
        }
        left_at.store(left, Relaxed);
    }

    /// A record was used without its page.
    pub fn record_serves(&self) {
        self.by_records.fetch_add(1, Relaxed);
    }

    /// So many pages are read because they lack changes of records.
    pub fn records_need(&self, pages: usize) {
        self.for_records.fetch_add(pages as u64, Relaxed);
    }

    /// The reads that records saved, and that pages in their place would have saved, since this was asked last.
    fn take(&self) -> (u64, u64) {
        let by_records = self.by_records.swap(0, Relaxed);
        let records = by_records.saturating_sub(self.for_records.swap(0, Relaxed));
        (records, self.by_pages.swap(0, Relaxed))
    }
}

/// The state of a move of memory.
pub struct Balance {
    /// Bytes for frames and records.
    bytes: usize,
    /// The fewest and the most frames in use.
    frames: (u32, u32),
    /// Frames that are to be in use.
    wanted: u32,
    /// Pages that had left memory when both sides were compared last.
    compared_at: u32,
}

impl Balance {
    /// That of a new pool.
    pub fn new(memory: &Division) -> Self {
        let bytes = memory.frames * FRAME_BYTES + memory.records;
        let frames = (memory.limits.0 as u32, memory.limits.1 as u32);
        Balance { bytes, frames, wanted: memory.frames as u32, compared_at: 0 }
    }

    /// Bytes for records beside the frames that are to be in use.
    fn for_records(&self) -> usize {
        self.bytes - self.wanted as usize * FRAME_BYTES
    }

    /// The frames that are to be in use from now on, if it is time to compare, and one side saves clearly more.
    fn next(&mut self, savings: &Savings) -> Option<u32> {
        let (fewest, most) = self.frames;
        let left = savings.left.load(Relaxed);
        if fewest == most || left.wrapping_sub(self.compared_at) < TURNS * self.wanted {
            return None;
        }
        self.compared_at = left;
        let (records, pages) = savings.take();
        let step = ((most - fewest) / STEPS).max(1);
        // The pages of frames that change sides are read once more.
        let clearly = records.max(pages) / 8 + u64::from(step);
        let wanted = if records > pages + clearly {
            self.wanted.saturating_sub(step).max(fewest)
        } else if pages > records + clearly {
            (self.wanted + step).min(most)
        } else {
            self.wanted
        };
        (wanted != self.wanted).then_some(wanted)
    }

    /// Goes on with a move of memory, or begins one.
    pub fn go_on(&mut self, pool: &Pool) {
        let (in_use, bytes) = (pool.frames_in_use(), self.for_records());
        if self.wanted > in_use {
            if pool.records.bytes() <= bytes {
                pool.set_frames_in_use(self.wanted);
            }
        } else if pool.records.most_bytes() < bytes {
            if pool.lock_free().are_others_idle() {
                pool.memory.release(in_use as usize..pool.frames.len());
                pool.records.set_most_bytes(bytes);
            }
        } else if let Some(wanted) = self.next(&pool.savings) {
            self.wanted = wanted;
            match wanted < in_use {
                true => pool.set_frames_in_use(wanted),
                false => pool.records.set_most_bytes(self.for_records()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many pages leave and are used again, each after all others.
    fn cycle(savings: &Savings, pages: u32, frames: u32) {
        for page in 0..10 * pages {
            savings.leaves(page % pages);
            savings.misses((page + 1) % pages, frames);
        }
    }

    #[test]
    fn a_page_would_be_in_memory_if_more_frames_had_kept_all_that_left_since() {
        for (frames, saved) in [(99, 0), (100, 901)] {
            let savings = Savings::new(100).unwrap();
            cycle(&savings, 100, frames);
            assert_eq!(savings.take().1, saved, "{frames}");
        }
        let uncounted = Savings::new(0).unwrap();
        cycle(&uncounted, 100, 1000);
        assert_eq!(uncounted.take(), (0, 0));
    }

    #[test]
    fn memory_moves_in_steps_to_the_side_that_saves_clearly_more() {
        let limits = (60, 100);
        let memory = Division { frames: 100, limits, changes: 0, records: 4096 };
        let (mut balance, savings) = (Balance::new(&memory), Savings::new(1).unwrap());
        let mut after = |records: u64, needed: u64, pages: u64| {
            savings.by_records.store(records, Relaxed);
            savings.for_records.store(needed, Relaxed);
            savings.by_pages.store(pages, Relaxed);
            savings.left.fetch_add(TURNS * balance.wanted, Relaxed);
            let next = balance.next(&savings);
            balance.wanted = next.unwrap_or(balance.wanted);
            assert_eq!(balance.next(&savings), None, "it is compared once");
            (next, balance.for_records())
        };
        assert_eq!(after(1000, 100, 1000), (None, 4096), "not clearly");
        assert_eq!(after(1000, 100, 700), (Some(95), 4096 + 5 * FRAME_BYTES));
        for frames in [90, 85, 80, 75, 70, 65, 60] {
            assert_eq!(after(1000, 0, 10).0, Some(frames));
        }
        assert_eq!(after(1000, 0, 10), (None, 4096 + 40 * FRAME_BYTES), "pages keep their least");
        assert_eq!(after(10, 900, 100).0, Some(65));
        (0..7).for_each(|_| assert!(after(0, 0, 10).0.is_some()));
        assert_eq!(after(0, 0, 10), (None, 4096));
    }
}
