//! The buffer pool: pages in memory, found by page number through an array.
//!
//! A page is read without its latch ([`Pool::look`] gives an [`OptimisticGuard`]) and changed with
//! it ([`OptimisticGuard::lock`] gives an [`ExclusiveGuard`]). Pages that are not in memory are
//! read in; a background thread keeps frames free (`eviction.rs`) by writing changed pages in
//! batches. In a store with deltas their changes wait in memory before that (`kept_changes.rs`, `keeping.rs`), and records
//! that are asked for again and again stay longer than their pages (`kept_records.rs`, `records.rs`), in as much of
//! the memory as they are worth (`balance.rs`).

mod balance;
mod eviction;
mod frame;
mod free_frames;
mod guard;
mod keeping;
mod kept_changes;
mod kept_records;
mod latch;
mod loading;
mod memory;
mod page_records;
mod records;
mod rewriting;
#[cfg(test)]
mod tests;
mod usage;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};

pub use eviction::Evictor;
pub use frame::CLEAN;
pub use guard::{CachedFrame, ExclusiveGuard, OptimisticGuard};
pub use loading::TOGETHER;
pub use records::AbsentLeaf;

use crate::DbError;
use crate::backoff::Backoff;
use crate::mvcc::CommitWindow;
use crate::node::{PAGE_BYTES, PageBytes};
use crate::options::Replacement;
use crate::space::PageSpace;
use crate::wal::Wal;
use balance::{Balance, FRAME_BYTES, Savings};
use frame::{FIRST_STAY, Frame, NO_PAGE};
use free_frames::FreeFrames;
use kept_changes::KeptChanges;
use kept_records::KeptRecords;
use memory::Zeroed;

/// In the table: the page is not in memory.
const ABSENT: u32 = 0;
/// In the table: a thread is reading the page in.
const LOADING: u32 = 1;
/// In the table: the page is not in use. A thread that has its number from an outdated node must
/// not read it in: it may be used again meanwhile.
const UNUSED: u32 = 2;
/// In the table: frame 0; the others follow.
const FRAME: u32 = 3;

/// The fewest frames a pool has: the way down a tree, the pages of a split, those that the evictor
/// keeps free, and some for other threads. There may be many more threads: one that waits for a
/// frame holds none.
pub const FEWEST_FRAMES: usize = 64;

/// A thread counts the pages of one descent in this many, with this weight.
const SAMPLE: u32 = 32;

/// The memory of a pool.
#[derive(Clone, Copy, Debug)]
pub struct Division {
    /// Frames for pages, at first.
    pub frames: usize,
    /// The fewest frames, and the most: memory moves between pages and records.
    pub limits: (usize, usize),
    /// Bytes for changes of pages that are in none.
    pub changes: usize,
    /// Bytes for records of pages that are in none, at first.
    pub records: usize,
}

impl Division {
    /// The parts of so many bytes. In a store with deltas a quarter is for changes, a thirty-second up to seven sixteenths
    /// for records (docs/decisions/0081-kept-changes.md, 0093-memory-follows-the-reads-it-saves.md).
    pub fn of(bytes: usize, has_deltas: bool) -> Division {
        let of_32 = |parts: usize| bytes / 32 * parts;
        let frames = |parts: usize| (of_32(parts) / PAGE_BYTES).max(FEWEST_FRAMES);
        if has_deltas {
            let limits = (frames(10), frames(23));
            Division { frames: frames(19), limits, changes: of_32(8), records: of_32(5) }
        } else {
            let all = (bytes / PAGE_BYTES).max(FEWEST_FRAMES);
            Division { frames: all, limits: (all, all), changes: 0, records: 0 }
        }
    }
}

/// Counters of the pool, in cache lines of their own.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct PoolCounters {
    /// Pages that descents passed, about; see [`Pool::sample`].
    pub accesses: AtomicU64,
    /// Pages read from the store.
    pub read: AtomicU64,
    /// Pages whose frame was needed, and whose changes were kept.
    pub kept: AtomicU64,
    /// Records that were read or changed without their page, which was not in memory.
    pub without_page: AtomicU64,
    /// Pages written to the store because their frame was needed, or the memory of their changes.
    pub evicted_dirty: AtomicU64,
    /// Frames given up whose page needed no write.
    pub evicted_clean: AtomicU64,
    /// Pages written so that the log can be cut.
    pub checkpointed: AtomicU64,
    /// Pages written to the store because cleaning would have copied them.
    pub rewritten: AtomicU64,
    /// Nanoseconds for which threads waited for a free frame.
    pub stalled_ns: AtomicU64,
}

/// Clocks that every access reads, in a cache line that is rarely written.
#[repr(align(64))]
struct Clocks {
    /// User page writes so far: the time of hotness records.
    writes: AtomicU64,
    /// The replacement's own clock: it goes on as frames are given up.
    turn: AtomicU32,
    /// The same in parts of a turn.
    parts: AtomicU64,
}

/// Pages in memory.
pub struct Pool {
    frames: Box<[Frame]>,
    /// The pages in the frames.
    memory: Zeroed<PageBytes>,
    /// By page number: the page's frame. Zeroes that were never touched take no memory.
    table: Zeroed<AtomicU32>,
    free: Mutex<FreeFrames>,
    /// Frames in use, as they are in `free`.
    in_use: AtomicU32,
    freed: Condvar,
    /// Too few frames are free.
    needed: Condvar,
    evictor: Mutex<Evictor>,
    loading: Mutex<()>,
    loaded: Condvar,
    /// Changes of pages that left memory.
    kept: KeptChanges,
    /// Records of pages that left memory.
    records: KeptRecords,
    /// The reads that records and pages save.
    savings: Savings,
    space: PageSpace,
    wal: Arc<Wal>,
    /// The log records whose changes are in the pages.
    window: Arc<CommitWindow>,
    /// Numbers of trees by the page numbers of their roots.
    origins: RwLock<HashMap<u32, u32>>,
    clocks: Clocks,
    /// Stays of pages in memory so far.
    stays: AtomicU32,
    /// True if accesses are counted for hotness records.
    hotness: bool,
    replacement: Replacement,
    /// Counters.
    pub counters: PoolCounters,
}

impl Pool {
    /// A pool of free frames.
    pub fn new(
        space: PageSpace,
        wal: Arc<Wal>,
        window: Arc<CommitWindow>,
        division: Division,
        replacement: Replacement,
        hotness: bool,
        clock: u64,
    ) -> Result<Pool, DbError> {
        let Division { frames: at_first, limits: (fewest, frames), changes, records } = division;
        let refused =
            || DbError::Options { what: "buffer", why: format!("no memory for {frames} pages") };
        let numbered = frames < (u32::MAX - FRAME) as usize;
        let memory = Zeroed::new(frames).filter(|_| numbered).ok_or_else(refused)?;
        let table = Zeroed::new(space.pages as usize).ok_or_else(refused)?;
        let counted = if frames > fewest { space.pages as usize } else { 0 };
        let savings = Savings::new(counted).ok_or_else(refused)?;
        let mut free = FreeFrames::new(frames as u32);
        free.set_in_use(at_first as u32);
        Ok(Pool {
            frames: (0..frames).map(|_| Frame::free()).collect(),
            memory,
            table,
            free: Mutex::new(free),
            in_use: AtomicU32::new(at_first as u32),
            freed: Condvar::new(),
            needed: Condvar::new(),
            evictor: Mutex::new(Evictor::new(Balance::new(&division))),
            loading: Mutex::new(()),
            loaded: Condvar::new(),
            kept: KeptChanges::new(changes),
            records: KeptRecords::new(records),
            savings,
            space,
            wal,
            window,
            origins: RwLock::default(),
            clocks: Clocks {
                writes: AtomicU64::new(clock),
                turn: AtomicU32::new(1),
                parts: AtomicU64::new(0),
            },
            stays: AtomicU32::new(FIRST_STAY),
            hotness,
            replacement,
            counters: PoolCounters::default(),
        })
    }

    /// Bytes of memory that the pool takes at most.
    pub fn bytes(&self) -> usize {
        let pages = self.frames_in_use() as usize * FRAME_BYTES;
        let outside = self.kept.most_bytes() + self.records.most_bytes();
        let fixed = size_of_val(&*self.frames) + size_of_val(&*self.table) + self.savings.bytes();
        pages + outside + fixed
    }

    /// The pages on the store.
    pub fn space(&self) -> &PageSpace {
        &self.space
    }

    /// The log, which reaches the device before the pages that it speaks of.
    pub fn wal(&self) -> &Wal {
        &self.wal
    }

    /// Frames that hold no page.
    pub fn free_frames(&self) -> usize {
        self.lock_free().len()
    }

    #[inline]
    fn entry(&self, page: u32) -> Result<&AtomicU32, DbError> {
        match self.table.get(page as usize) {
            Some(entry) => Ok(entry),
            None => Err(DbError::Page { page, what: "its number is beyond the database" }),
        }
    }

    /// An optimistic guard of a page, which is read in if it is not in memory. None if it had to be
    /// read: the nodes that the caller saw on the way may have changed.
    #[inline(always)]
    pub fn look(&self, page: u32) -> Result<Option<OptimisticGuard<'_>>, DbError> {
        let entry = self.entry(page)?.load(Acquire);
        if entry >= FRAME {
            let frame = entry - FRAME;
            let header = &self.frames[frame as usize];
            self.memory[frame as usize].prefetch();
            let version = header.latch.version();
            if header.page() == page {
                self.touch(header);
                return Ok(Some(OptimisticGuard::new(self, frame, version)));
            }
            return Ok(None);
        }
        self.note_miss(page);
        self.load(page)?;
        Ok(None)
    }

    /// Notes that a page was needed that is not in memory.
    fn note_miss(&self, page: u32) {
        self.savings.misses(page, (self.records.most_bytes() / FRAME_BYTES) as u32);
    }

    /// An optimistic guard of the page that was in a frame; none if it is there no more, or came
    /// back and was not compared with its parent yet.
    #[inline]
    pub fn look_at(&self, cached: CachedFrame) -> Option<OptimisticGuard<'_>> {
        let header = self.frames.get(cached.frame as usize)?;
        let version = header.latch.version();
        let is_it = header.page() == cached.page && header.agrees_with() != 0;
        is_it.then(|| OptimisticGuard::new(self, cached.frame, version))
    }

    #[inline]
    fn touch(&self, frame: &Frame) {
        match self.replacement {
            Replacement::Watt => frame.note_read(self.clocks.turn.load(Relaxed)),
            Replacement::Clock => {
                if !frame.referenced.load(Relaxed) {
                    frame.referenced.store(true, Relaxed);
                }
            }
        }
    }

    fn next_stay(&self) -> u32 {
        self.stays.fetch_add(1, Relaxed).max(FIRST_STAY)
    }

    /// Latches a frame that was free. Others may still check whether it has its former page.
    fn hold_free(&self, frame: u32) -> ExclusiveGuard<'_> {
        let mut backoff = Backoff::default();
        while !self.frames[frame as usize].latch.try_lock() {
            backoff.pause();
        }
        ExclusiveGuard::new(self, frame)
    }

    /// Puts a page that the device does not have into memory, and latches it. An older copy in
    /// memory is dropped.
    pub fn create(&self, page: u32, frame: FreeFrame<'_>) -> Result<ExclusiveGuard<'_>, DbError> {
        self.forget(page)?;
        let entry = self.entry(page)?;
        let frame = frame.take();
        let mut held = self.hold_free(frame);
        held.bytes().set_all_changed();
        self.frames[frame as usize].set_page(page, self.next_stay());
        entry.store(frame + FRAME, Release);
        Ok(held)
    }

    /// Drops a page from memory without writing it: it is free.
    pub fn forget(&self, page: u32) -> Result<(), DbError> {
        let entry = self.entry(page)?;
        loop {
            let found = entry.load(Acquire);
            match found {
                ABSENT | UNUSED => {
                    self.records.forget(page);
                    self.kept.forget(page);
                    return Ok(());
                }
                LOADING => {
                    // A thread that reads a page that was freed meanwhile finds out afterwards.
                    std::thread::yield_now();
                }
                found => {
                    let header = &self.frames[(found - FRAME) as usize];
                    let version = header.latch.version();
                    if header.page() == page && header.latch.lock_unchanged(version) {
                        self.drop_held(ExclusiveGuard::new(self, found - FRAME));
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Drops a latched page from memory without writing it: it is free.
    pub fn drop_held(&self, mut held: ExclusiveGuard<'_>) {
        let (frame, page) = (held.frame(), held.page());
        self.records.forget(page);
        // Optimistic guards of the page must fail.
        held.changed();
        if let Ok(entry) = self.entry(page) {
            debug_assert_eq!(entry.load(Relaxed), frame + FRAME, "the table knows where it is");
            entry.store(UNUSED, Release);
        }
        // While a version is being written the frame belongs to the writer, which frees it.
        let is_being_written = held.header().is_being_written();
        held.header().set_page(NO_PAGE, 0);
        drop(held);
        if !is_being_written {
            self.give_free(frame);
        }
    }

    /// A free frame for the caller. A thread that has one must not wait for another, nor for a page
    /// to be read: threads could have all frames, and wait for each other.
    pub fn free_frame(&self) -> Result<FreeFrame<'_>, DbError> {
        let frame = self.take_free()?;
        #[cfg(debug_assertions)]
        HAS_FRAME.set(true);
        Ok(FreeFrame { pool: self, frame, is_used: false })
    }

    fn take_free(&self) -> Result<u32, DbError> {
        #[cfg(debug_assertions)]
        assert!(!HAS_FRAME.get(), "who has a frame waits for another");
        self.take_without_wait().map_or_else(|| self.wait_for_free(), Ok)
    }

    fn take_without_wait(&self) -> Option<u32> {
        let mut free = self.lock_free();
        let frame = free.take();
        if free.len() == self.low_water() {
            self.needed.notify_one();
        }
        frame
    }

    /// Free frames below which the evictor begins.
    fn low_water(&self) -> usize {
        (self.frames_in_use() as usize / 64).clamp(8, 1024)
    }

    /// Frames that pages may come into: the first ones.
    fn frames_in_use(&self) -> u32 {
        self.in_use.load(Relaxed)
    }

    fn set_frames_in_use(&self, count: u32) {
        let mut free = self.lock_free();
        free.set_in_use(count);
        self.in_use.store(count, Relaxed);
        drop(free);
        self.freed.notify_all();
    }

    fn lock_free(&self) -> MutexGuard<'_, FreeFrames> {
        self.free.lock()
    }

    fn give_free(&self, frame: u32) {
        self.lock_free().give(frame);
        self.freed.notify_one();
    }

    /// The time of hotness records: user page writes so far.
    pub fn clock(&self) -> u64 {
        self.clocks.writes.load(Relaxed)
    }

    /// Notes a change for the replacement.
    #[inline]
    fn note_change(&self, frame: &Frame) {
        if self.replacement == Replacement::Watt {
            frame.note_change(self.clocks.turn.load(Relaxed));
        }
    }

    /// Names a tree in hotness records: `number` for its inner nodes and leaves.
    pub fn name_tree(&self, root: u32, number: u32) {
        self.origins.write().insert(root, number);
    }

    /// The origin of a page in hotness records: twice the number of its tree, one more for inner
    /// nodes. Trees without a number have 0.
    fn origin(&self, root: u32, is_inner: bool) -> u32 {
        let origins = self.origins.read();
        2 * origins.get(&root).copied().unwrap_or(0) + u32::from(is_inner)
    }

    /// Counts an access to a leaf.
    #[inline]
    fn count_access(&self, frame: u32, times: u32) {
        if self.hotness {
            self.frames[frame as usize].usage.accessed(times, self.clocks.writes.load(Relaxed));
        }
    }

    /// Counts the pages that a descent passed, whether or not they had to be read.
    #[inline]
    pub fn count_descent(&self, pages: u32, weight: u32) {
        if weight > 0 {
            self.counters.accesses.fetch_add(u64::from(pages * weight), Relaxed);
        }
    }

    /// The weight with which a descent counts the pages that it passes: mostly 0.
    #[inline]
    pub fn sample(&self) -> u32 {
        thread_local! {
            static DESCENTS: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
        }
        let descents = DESCENTS.get().wrapping_add(1);
        DESCENTS.set(descents);
        if descents.is_multiple_of(SAMPLE) { SAMPLE } else { 0 }
    }

    /// Whole pages for which the store must have room, as they changed and are not on the device. Of
    /// those that are not in memory only changes will be written: three eighths of a page at most.
    pub fn changed_pages(&self) -> u64 {
        // As below.
        let _writer = self.evictor();
        let kept = self.records.changed_before(CLEAN).len() + self.kept.len();
        let in_memory = self.frames.iter().filter(|frame| frame.needs_log_from() != CLEAN);
        (in_memory.count() + (3 * kept).div_ceil(8)) as u64
    }

    /// Pages that memory has room for.
    pub fn most_pages(&self) -> u64 {
        self.frames.len() as u64
    }

    /// The log position from which recovery would redo all changes that are not on the device.
    pub fn needs_log_from(&self) -> u64 {
        // No page leaves memory meanwhile. Others may come back, so their changes are looked at first.
        let _writer = self.evictor();
        let kept = self.records.needs_log_from().min(self.kept.needs_log_from());
        self.frames.iter().map(Frame::needs_log_from).min().unwrap_or(CLEAN).min(kept)
    }
}

#[cfg(debug_assertions)]
thread_local! {
    /// This thread has a [`FreeFrame`].
    static HAS_FRAME: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// A frame that was taken from the free ones. Dropped unused, it becomes free again.
pub struct FreeFrame<'p> {
    pool: &'p Pool,
    frame: u32,
    is_used: bool,
}

impl FreeFrame<'_> {
    fn take(mut self) -> u32 {
        self.is_used = true;
        self.frame
    }
}

impl Drop for FreeFrame<'_> {
    fn drop(&mut self) {
        #[cfg(debug_assertions)]
        HAS_FRAME.set(false);
        if !self.is_used {
            self.pool.give_free(self.frame);
        }
    }
}
