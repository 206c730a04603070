//! The choice of pages that leave their frames, and of parts that leave the cache of absent pages.
//!
//! There is one writer at a time, so that the order in which pages reach the store is known. It
//! evicts clean pages at once, and gathers changed ones into batches. It loads no page: those that
//! lack changes of rows it names.

use std::sync::atomic::Ordering::Relaxed;

use parking_lot::{Mutex, MutexGuard};

use super::absent::{AbsentCache, Excess};
use super::frames::{Frames, NO_PAGE};
use super::memory_budget::MemoryBudget;
use super::writeback::{BATCH, Batch, Cause, Writeback};
use crate::DbError;
use crate::node::PAGE_BYTES;
use crate::options::Replacement;

/// Pages that write-aware replacement compares for each one that it evicts.
const SAMPLE: usize = 16;

/// Pages that are passed over, if the log on the device does not have their last change.
const SPARED: u32 = 16;

/// Pages in memory, and the writer of pages.
pub(crate) struct Evictor {
    writeback: Writeback,
    writer: Mutex<Writer>,
}

/// The state of the writer of pages.
pub(crate) struct Writer {
    hand: u32,
    batch: Batch,
    budget: MemoryBudget,
}

impl Evictor {
    /// The writer of a new pool.
    pub(crate) fn new(writeback: Writeback, budget: MemoryBudget) -> Self {
        writeback.residency().ghosts().set_frames(budget.ghost_frames());
        let writer = Writer { hand: 0, batch: Batch::default(), budget };
        Evictor { writeback, writer: Mutex::new(writer) }
    }

    /// Pages in memory, and their way to the store.
    #[inline]
    pub(crate) fn writeback(&self) -> &Writeback {
        &self.writeback
    }

    /// The writer's lock. While it is held no page is written, but for [`Writeback::write_newer`].
    pub(crate) fn lock(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock()
    }

    /// The log is replayed from now on: memory of frames, which are all free, moves to absent parts.
    pub(crate) fn begin_replay(&self) {
        self.lock().budget.begin_replay(self.writeback.residency());
    }

    /// The log is replayed: memory moves back as far as it is free.
    pub(crate) fn end_replay(&self) {
        self.lock().budget.end_replay(self.writeback.residency());
    }

    /// Frees frames until enough are free, and takes excess from the cache of absent pages. Returns
    /// pages that are to be loaded, as they lack changes of rows for which there is no memory.
    pub(crate) fn refill_free_list(&self) -> Result<Vec<u32>, DbError> {
        self.lock().refill_free_list(&self.writeback, 0)
    }

    /// The same unless another thread is the writer. So many frames are free then at least, if they
    /// can be.
    pub(crate) fn try_refill_free_list(&self, fewest: usize) -> Option<Result<Vec<u32>, DbError>> {
        Some(self.writer.try_lock()?.refill_free_list(&self.writeback, fewest))
    }

    /// Takes memory from the cache of absent pages, which is short of it, unless another thread is
    /// the writer. Returns pages as above.
    pub(crate) fn try_take_spare(&self) -> Option<Result<Vec<u32>, DbError>> {
        let _writer = self.writer.try_lock()?;
        let mut lacking = Vec::new();
        let taken = take_excess(&self.writeback, &mut lacking, AbsentCache::take_spare);
        Some(taken.map(|()| lacking))
    }

    /// Writes every page whose changes need the log from before `position`, and every such delta;
    /// all of them if it is [`CLEAN`](super::CLEAN). Returns how many.
    pub(crate) fn write_older(&self, position: u64) -> Result<u64, DbError> {
        let mut writer = self.lock();
        let pages = writer.write_older_frames(&self.writeback, position)?;
        Ok(pages + writer.write_older_deltas(&self.writeback, position)?)
    }

    /// The log position from which recovery would redo all changes that are not on the device.
    pub(crate) fn needs_log_from(&self) -> u64 {
        // No page is evicted meanwhile. Others may be loaded, so the cache of absent pages is
        // looked at first.
        let _writer = self.lock();
        let residency = self.writeback.residency();
        let absent = residency.absent().needs_log_from();
        residency.frames().needs_log_from().min(absent)
    }

    /// Whole pages for which the store must have room: see [`Pool::changed_pages`].
    ///
    /// [`Pool::changed_pages`]: super::Pool::changed_pages
    pub(crate) fn changed_pages(&self) -> u64 {
        // As above: a page that is loaded meanwhile is counted twice.
        let _writer = self.lock();
        let residency = self.writeback.residency();
        let absent = residency.absent().room().div_ceil(PAGE_BYTES);
        (residency.frames().changed() + absent) as u64
    }

    /// Pages that memory has room for.
    pub(crate) fn most_pages(&self) -> u64 {
        self.writeback.residency().frames().len().into()
    }
}

/// Takes parts from the cache of absent pages, and writes deltas that are among them, as long as
/// any can be. Under the writer's lock.
fn take_excess(
    writeback: &Writeback,
    lacking: &mut Vec<u32>,
    take: impl Fn(&AbsentCache, usize, u64) -> Excess,
) -> Result<(), DbError> {
    loop {
        let excess = take(writeback.residency().absent(), BATCH, writeback.wal().durable());
        lacking.extend(excess.lacking);
        let is_done = excess.deltas.is_empty()
            || writeback.write_deltas(excess.deltas, Cause::Eviction)? == 0;
        if is_done {
            return Ok(());
        }
    }
}

impl Writer {
    fn refill_free_list(
        &mut self,
        writeback: &Writeback,
        fewest: usize,
    ) -> Result<Vec<u32>, DbError> {
        let residency = writeback.residency();
        let wanted = fewest.max(2 * residency.frames().low_water());
        let mut lacking = Vec::new();
        // After some rounds all other pages are latched or were just used.
        for _ in 0..8 {
            let missing = wanted.saturating_sub(residency.frames().free_count());
            if missing == 0 {
                break;
            }
            self.drain_retired(writeback);
            self.gather(writeback, missing);
            writeback.write_batch(&mut self.batch, Cause::Eviction)?;
            take_excess(writeback, &mut lacking, AbsentCache::take_excess)?;
            self.budget.advance(residency);
        }
        Ok(lacking)
    }

    fn write_older_frames(&mut self, writeback: &Writeback, position: u64) -> Result<u64, DbError> {
        let frames = writeback.residency().frames();
        let mut written = 0;
        for frame in 0..frames.len() {
            if frames.header(frame).needs_log_from() < position {
                self.batch.add(frame);
            }
            if self.batch.len() == BATCH {
                written += writeback.write_batch(&mut self.batch, Cause::Checkpoint)?;
            }
        }
        Ok(written + writeback.write_batch(&mut self.batch, Cause::Checkpoint)?)
    }

    fn write_older_deltas(&mut self, writeback: &Writeback, position: u64) -> Result<u64, DbError> {
        let absent = writeback.residency().absent();
        let mut written = 0;
        for pages in absent.deltas_before(position).chunks(BATCH) {
            let borrowed =
                pages.iter().filter_map(|&page| Some((page, absent.borrow_unused(page)?)));
            let deltas: Vec<_> = borrowed.collect();
            written += deltas.len() as u64;
            writeback.write_deltas(deltas, Cause::Checkpoint)?;
        }
        Ok(written)
    }

    /// Evicts pages from frames that are not in use any more.
    fn drain_retired(&mut self, writeback: &Writeback) {
        let frames = writeback.residency().frames();
        if !frames.are_others_idle() {
            for frame in frames.in_use()..frames.len() {
                // Half of a batch: threads that wait for frames get some from the other half.
                if frames.header(frame).page() != NO_PAGE && self.batch.len() < BATCH / 2 {
                    self.try_evict(writeback, frame);
                }
            }
        }
    }

    /// Evicts clean pages that are worth least, and gathers changed ones, `missing` in all. Changed
    /// ones that the log on the device does not have yet are gathered only if few others are found:
    /// their write would wait for a flush.
    fn gather(&mut self, writeback: &Writeback, missing: usize) {
        let frames = writeback.residency().frames();
        let (mut found, durable) = (0, writeback.wal().durable());
        let picky = SPARED + 2 * missing as u32;
        for tried in 0..4 * frames.in_use() {
            if found == missing || self.batch.len() == BATCH {
                return;
            }
            let frame = match frames.replacement() {
                Replacement::Clock => self.next_unused(frames),
                Replacement::Watt => self.least_worth(frames),
            };
            let Some(frame) = frame else { continue };
            if tried >= picky || !writeback.is_newer(frame, durable) {
                found += usize::from(self.try_evict(writeback, frame));
            }
        }
    }

    /// Evicts the page of a frame if it is clean, and gathers it otherwise. False if it is latched,
    /// or gathered already.
    fn try_evict(&mut self, writeback: &Writeback, frame: u32) -> bool {
        if writeback.residency().frames().header(frame).is_dirty() {
            self.batch.add(frame)
        } else {
            writeback.evict_clean(frame)
        }
    }

    fn advance(&mut self, frames: &Frames) -> u32 {
        self.hand = (self.hand + 1) % frames.in_use();
        self.hand
    }

    /// The frame under the hand, if it was not used since the hand passed.
    fn next_unused(&mut self, frames: &Frames) -> Option<u32> {
        let frame = self.advance(frames);
        let header = frames.header(frame);
        let is_unused = header.page() != NO_PAGE && !header.referenced.swap(false, Relaxed);
        is_unused.then_some(frame)
    }

    /// The frame of some, from all over the pool, whose page is worth least.
    fn least_worth(&mut self, frames: &Frames) -> Option<u32> {
        // A stride that meets every frame, and takes samples that do not lie together.
        let count = frames.in_use();
        let stride = count / SAMPLE as u32 + 1;
        let mut next = self.advance(frames);
        // All headers first: they are in no cache, and so they are waited for together.
        let sample: [_; SAMPLE] = std::array::from_fn(|_| {
            let frame = next;
            next = (next + stride) % count;
            (frame, frames.header(frame).page())
        });
        let candidates = sample
            .into_iter()
            .filter(|&(frame, page)| page != NO_PAGE && !self.batch.contains(frame));
        let by_worth = candidates.map(|(frame, _)| (frames.worth(frame), frame));
        by_worth.min_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, frame)| frame)
    }
}
