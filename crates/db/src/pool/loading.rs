//! The way of pages from the store into frames.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering::*;
use std::time::{Duration, Instant};

use frostline_store::{ChangedWords, PageRead};
use frostline_zone::AlignedBuf;

use super::PoolCounters;
use super::absent::CachedDelta;
use super::evictor::Evictor;
use super::frames::{CLEAN, FreeFrame};
use super::residency::{Arrival, Residency};
use super::writeback::is_lost;
use crate::DbError;
use crate::node::PAGE_BYTES;

/// Pages that are worth reading together, at most.
pub(crate) const TOGETHER: usize = 32;

/// The longest wait for a frame before a thread checks again whether the evictor has failed.
const WAIT: Duration = Duration::from_millis(100);

/// The same if the thread was the evictor itself, and others took the frames that it freed, or hold
/// all.
const NAP: Duration = Duration::from_millis(1);

/// Pages in memory, and the reader of pages.
pub(crate) struct Loader {
    evictor: Evictor,
    counters: Arc<PoolCounters>,
}

/// A page on its way into a frame: others wait for it.
struct Loading {
    page: u32,
    /// Where it goes to.
    frame: u32,
    /// Its delta that was cached.
    delta: Option<CachedDelta>,
}

impl Loader {
    /// The reader of a new pool.
    pub(crate) fn new(evictor: Evictor, counters: Arc<PoolCounters>) -> Self {
        Loader { evictor, counters }
    }

    /// The writer of pages.
    #[inline]
    pub(crate) fn evictor(&self) -> &Evictor {
        &self.evictor
    }

    /// The pages in memory.
    #[inline]
    pub(crate) fn residency(&self) -> &Residency {
        self.evictor.writeback().residency()
    }

    /// Reads a page into a frame, or waits until another thread has. No latch may be held.
    #[cold]
    pub(crate) fn load(&self, page: u32) -> Result<(), DbError> {
        let table = self.residency().table();
        if !table.begin_load(page)? {
            return table.wait_until_loaded(page);
        }
        let frame = self.take_frame().inspect_err(|_| table.cancel_load(page))?;
        let delta = self.residency().absent().borrow(page);
        // Optimistic guards of the frame may still read: so bytes reach it through atomic stores
        // only.
        thread_local! {
            static BYTES: RefCell<AlignedBuf> = RefCell::new(AlignedBuf::zeroed(PAGE_BYTES));
        }
        BYTES.with_borrow_mut(|bytes| {
            let space = self.evictor.writeback().space();
            let read = match &delta {
                None => space.read(page, bytes),
                Some(cached) => space.read_with(page, &cached.delta, bytes),
            };
            self.end_load(Loading { page, frame, delta }, read, bytes, true)
        })
    }

    /// Reads those of some pages into frames that are absent, side by side: as many as there are
    /// frames for in half of the free ones, or in all but those that the evictor keeps free. A page
    /// that can't be read stays absent, and the next thread that needs it gets the error.
    pub(crate) fn load_together(&self, pages: impl IntoIterator<Item = u32>) {
        self.load_into(0, pages, true);
    }

    /// The same of pages that are needed now: frames are freed for them.
    pub(crate) fn load_needed(&self, pages: &[u32]) {
        let most = self.residency().frames().in_use() as usize / 8;
        self.load_into(pages.len().min(most), pages.iter().copied(), true);
    }

    /// Loads pages together, with so many frames free for them if they can be. If they are not used
    /// they are read only for what waits for them.
    fn load_into(&self, frames_for: usize, pages: impl IntoIterator<Item = u32>, is_used: bool) {
        let residency = self.residency();
        let (table, frames) = (residency.table(), residency.frames());
        let mut absent: Vec<_> = pages.into_iter().filter(|&page| table.is_absent(page)).collect();
        if absent.is_empty() {
            return;
        }
        // The next thread that needs a frame gets the error.
        let kept = frames.low_water();
        if frames.free_count() <= kept + frames_for
            && let Some(Ok(lacking)) = self.evictor.try_refill_free_list(kept + frames_for)
        {
            absent.extend(lacking);
        }
        let free = frames.free_count();
        let most = (free / 2).max(free.saturating_sub(kept));
        let begin = |page| {
            let begun = table.begin_load(page).unwrap_or(false);
            if !begun {
                return None;
            }
            let Some(frame) = frames.take() else {
                table.cancel_load(page);
                return None;
            };
            Some(Loading { page, frame, delta: residency.absent().borrow(page) })
        };
        let loading: Vec<_> = absent.iter().copied().filter_map(begin).take(most).collect();
        // Those for which there were no frames may be named again.
        absent.iter().for_each(|&page| residency.absent().rename(page));
        thread_local! {
            static BYTES: RefCell<AlignedBuf> =
                RefCell::new(AlignedBuf::zeroed(TOGETHER * PAGE_BYTES));
        }
        let mut loading = loading.into_iter();
        while loading.len() > 0 {
            let loading = loading.by_ref().take(TOGETHER).collect();
            BYTES.with_borrow_mut(|bytes| self.read_together(loading, bytes, is_used));
        }
    }

    /// Reads at most [`TOGETHER`] pages that others wait for side by side, with memory for them.
    fn read_together(&self, loading: Vec<Loading>, bytes: &mut [u8], is_used: bool) {
        let space = self.evictor.writeback().space();
        let begun = loading.iter().zip(bytes.chunks_mut(PAGE_BYTES));
        let mut reads: Vec<_> = begun
            .map(|(loading, page)| PageRead {
                lba: space.first + loading.page,
                kept: loading.delta.as_ref().map(|cached| &cached.delta),
                page,
                changed: ChangedWords::NONE,
            })
            .collect();
        let results = space.read_together(&mut reads);
        drop(reads);
        for ((loading, read), bytes) in
            loading.into_iter().zip(results).zip(bytes.chunks(PAGE_BYTES))
        {
            let _ = self.end_load(loading, read, bytes, is_used);
        }
    }

    /// Ends the way of a page that was read, or could not be.
    fn end_load(
        &self,
        Loading { page, frame, delta }: Loading,
        read: Result<ChangedWords, DbError>,
        bytes: &[u8],
        is_used: bool,
    ) -> Result<(), DbError> {
        self.counters.read.fetch_add(1, Relaxed);
        let residency = self.residency();
        let arrived = read.and_then(|changed| {
            let delta = delta.as_ref();
            residency.enter(Arrival { page, frame, bytes, changed, delta, is_used })
        });
        if arrived.is_ok() {
            residency.table().wake();
        } else {
            if let Some(delta) = delta {
                residency.absent().release(page, delta);
            }
            residency.frames().give(frame);
            residency.table().cancel_load(page);
        }
        arrived
    }

    /// A free frame for the caller. No latch may be held.
    pub(crate) fn free_frame(&self) -> Result<FreeFrame<'_>, DbError> {
        let frame = self.take_frame()?;
        Ok(FreeFrame::new(self.residency().frames(), frame))
    }

    fn take_frame(&self) -> Result<u32, DbError> {
        FreeFrame::assert_none();
        self.residency().frames().take().map_or_else(|| self.wait_for_frame(), Ok)
    }

    /// Waits until a frame is free, and frees some unless another thread does. No latch may be
    /// held.
    #[cold]
    fn wait_for_frame(&self) -> Result<u32, DbError> {
        let begun = Instant::now();
        let mut lacking = Vec::new();
        let frame = loop {
            let wait = match self.evictor.try_refill_free_list(0) {
                Some(named) => {
                    lacking.extend(named?);
                    NAP
                }
                None => WAIT,
            };
            if let Some(frame) = self.residency().frames().take_within(wait) {
                break frame;
            }
        };
        self.load_lacking(lacking);
        self.counters.stalled_ns.fetch_add(begun.elapsed().as_nanos() as u64, Relaxed);
        Ok(frame)
    }

    /// Frees frames if too few are free.
    pub(crate) fn make_room(&self) -> Result<(), DbError> {
        self.load_lacking(self.evictor.refill_free_list()?);
        Ok(())
    }

    /// Gives back memory that rows take beyond their part, unless another thread does. No latch
    /// may be held.
    pub(crate) fn make_room_for_rows(&self) -> Result<(), DbError> {
        if let Some(lacking) = self.evictor.try_take_spare() {
            self.load_lacking(lacking?);
        }
        Ok(())
    }

    /// Loads pages for whose rows there is no memory, as long as there are free frames. One that
    /// can't be read keeps its changes in the cache, until a checkpoint reports the error: a thread
    /// that needs a frame has nothing to do with it.
    fn load_lacking(&self, pages: Vec<u32>) {
        self.residency().ghosts().note_row_loads(pages.len());
        for pages in pages.chunks(self.residency().frames().low_water()) {
            self.load_into(0, pages.iter().copied(), false);
        }
    }

    /// Writes every page whose changes need the log from before `position`; all changed pages if
    /// it is [`CLEAN`]. Returns how many.
    pub(crate) fn write_older(&self, position: u64) -> Result<u64, DbError> {
        self.load_rows_before(position)?;
        self.evictor.write_older(position)
    }

    /// Loads pages that lack changes of rows which need the log from before `position`.
    pub(crate) fn load_rows_before(&self, position: u64) -> Result<(), DbError> {
        let residency = self.residency();
        let lacking = residency.absent().rows_before(position);
        residency.ghosts().note_row_loads(lacking.len());
        for pages in lacking.chunks(TOGETHER) {
            self.load_into(0, pages.iter().copied(), false);
            for &page in pages.iter().filter(|&&page| residency.table().is_absent(page)) {
                let loaded = self.load(page);
                // It may have been freed meanwhile, and be used again.
                let is_freed = residency.table().is_unused(page);
                if is_freed || residency.absent().lacks_from(page) == CLEAN {
                    continue;
                }
                if is_lost(page, &loaded) {
                    residency.absent().drop_rows(page, |_| ());
                } else {
                    loaded?;
                }
            }
        }
        Ok(())
    }
}
