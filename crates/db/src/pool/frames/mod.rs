//! Frames: places for pages in memory, with their latches, their counters, and the clock of the
//! replacement.
//!
//! A frame knows nothing of where its page is when it leaves: that is the page table's.

mod frame;
mod free_frames;
mod guard;
mod latch;
mod memory;
mod usage;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

pub(crate) use frame::CLEAN;
pub(super) use frame::{Frame, NO_PAGE};
pub(crate) use free_frames::FreeFrame;
pub(crate) use guard::{CachedFrame, ExclusiveGuard, OptimisticGuard};
pub(super) use memory::Zeroed;

use crate::backoff::Backoff;
use crate::node::{Node, PageBytes};
use crate::options::Replacement;
use frame::{CHANGE, FIRST_STAY};
use free_frames::FreeFrames;

/// Parts of a turn of the replacement's clock, as a power of two.
const TURN_BITS: u32 = 32;

/// Clocks that every access reads, in a cache line that is rarely written.
#[repr(align(64))]
struct Clocks {
    /// User page writes so far: the time of hotness records.
    writes: AtomicU64,
    /// The replacement's own clock: it advances as frames are freed.
    turn: AtomicU32,
    /// The same in parts of a turn.
    parts: AtomicU64,
}

/// The frames of a pool.
pub(crate) struct Frames {
    headers: Box<[Frame]>,
    /// The pages in the frames.
    pages: Zeroed<PageBytes>,
    free: Mutex<FreeFrames>,
    /// Frames in use, as they are in `free`.
    in_use: AtomicU32,
    /// A frame was freed.
    freed: Condvar,
    /// Too few frames are free.
    needed: Condvar,
    clocks: Clocks,
    /// Stays of pages in memory so far.
    stays: AtomicU32,
    /// True if accesses are counted for hotness records.
    hotness: bool,
    replacement: Replacement,
}

impl Frames {
    /// `count` free frames, of which the first `in_use` are in use. None if the system refuses the
    /// memory.
    pub(crate) fn new(
        count: usize,
        in_use: usize,
        (replacement, hotness): (Replacement, bool),
        clock: u64,
    ) -> Option<Frames> {
        let mut free = FreeFrames::new(count as u32);
        free.set_in_use(in_use as u32);
        Some(Frames {
            pages: Zeroed::new(count)?,
            headers: (0..count).map(|_| Frame::free()).collect(),
            free: Mutex::new(free),
            in_use: AtomicU32::new(in_use as u32),
            freed: Condvar::new(),
            needed: Condvar::new(),
            clocks: Clocks {
                writes: AtomicU64::new(clock),
                turn: AtomicU32::new(1),
                parts: AtomicU64::new(0),
            },
            stays: AtomicU32::new(FIRST_STAY),
            hotness,
            replacement,
        })
    }

    /// The number of frames.
    pub(crate) fn len(&self) -> u32 {
        self.headers.len() as u32
    }

    /// Bytes of memory that headers take.
    pub(crate) fn header_bytes(&self) -> usize {
        size_of_val(&*self.headers)
    }

    /// How pages are chosen for eviction.
    pub(crate) fn replacement(&self) -> Replacement {
        self.replacement
    }

    /// A frame's header.
    #[inline]
    pub(crate) fn header(&self, frame: u32) -> &Frame {
        &self.headers[frame as usize]
    }

    #[inline]
    fn bytes(&self, frame: u32) -> &PageBytes {
        &self.pages[frame as usize]
    }

    /// An optimistic guard of a page that the table has in this frame; none if it is there no
    /// longer. The page counts as read.
    #[inline(always)]
    pub(crate) fn look(&self, frame: u32, page: u32) -> Option<OptimisticGuard<'_>> {
        let header = self.header(frame);
        self.bytes(frame).prefetch();
        let version = header.latch.version();
        if header.page() != page {
            return None;
        }
        self.touch(header);
        Some(OptimisticGuard::new(self, frame, version))
    }

    /// An optimistic guard of the page that was in a frame; none if it is there no longer, or came
    /// back and was not compared with its parent yet.
    #[inline]
    pub(crate) fn look_at(&self, cached: CachedFrame) -> Option<OptimisticGuard<'_>> {
        let header = self.headers.get(cached.frame as usize)?;
        let version = header.latch.version();
        let is_it = header.page() == cached.page && header.agrees_with() != 0;
        is_it.then(|| OptimisticGuard::new(self, cached.frame, version))
    }

    /// Latches a frame, whichever page it has.
    pub(crate) fn hold(&self, frame: u32) -> ExclusiveGuard<'_> {
        let mut backoff = Backoff::default();
        loop {
            match self.try_hold(frame) {
                Some(held) => return held,
                None => backoff.pause(),
            }
        }
    }

    /// Latches a frame; none if its latch is held.
    pub(crate) fn try_hold(&self, frame: u32) -> Option<ExclusiveGuard<'_>> {
        let taken = self.header(frame).latch.try_lock();
        taken.then(|| ExclusiveGuard::new(self, frame))
    }

    /// Latches the frame of a page that the table has there; none if it is there no longer, or
    /// changes.
    pub(crate) fn try_hold_page(&self, frame: u32, page: u32) -> Option<ExclusiveGuard<'_>> {
        let header = self.header(frame);
        let version = header.latch.version();
        let held = header.page() == page && header.latch.lock_unchanged(version);
        held.then(|| ExclusiveGuard::new(self, frame))
    }

    /// Puts a page into a held frame that has none, for a new stay.
    pub(crate) fn occupy(&self, held: &ExclusiveGuard<'_>, page: u32) {
        let stay = self.stays.fetch_add(1, Relaxed).max(FIRST_STAY);
        held.header().occupy(page, stay);
    }

    /// A free frame, if there is one.
    pub(crate) fn take(&self) -> Option<u32> {
        let mut free = self.free.lock();
        let frame = free.take();
        if free.len() == self.low_water() {
            self.needed.notify_one();
        }
        frame
    }

    /// Frees a frame that has no page.
    pub(crate) fn give(&self, frame: u32) {
        self.free.lock().give(frame);
        self.freed.notify_one();
    }

    /// A free frame; waits so long for one at most.
    pub(crate) fn take_within(&self, time: Duration) -> Option<u32> {
        let mut free = self.free.lock();
        if free.len() == 0 {
            self.freed.wait_for(&mut free, time);
        }
        free.take()
    }

    /// Waits until there are fewer free frames than there should be, or the time is over.
    pub(crate) fn wait_until_needed(&self, time: Duration) {
        let mut free = self.free.lock();
        if free.len() > self.low_water() {
            self.needed.wait_for(&mut free, time);
        }
    }

    /// Frames in use that have no page.
    pub(crate) fn free_count(&self) -> usize {
        self.free.lock().len()
    }

    /// Free frames below which the evictor begins.
    pub(crate) fn low_water(&self) -> usize {
        (self.in_use() as usize / 64).clamp(8, 1024)
    }

    /// Frames that pages may come into: the first ones.
    pub(crate) fn in_use(&self) -> u32 {
        self.in_use.load(Relaxed)
    }

    /// The first so many frames are in use from now on.
    pub(crate) fn set_in_use(&self, count: u32) {
        let mut free = self.free.lock();
        free.set_in_use(count);
        self.in_use.store(count, Relaxed);
        drop(free);
        self.freed.notify_all();
    }

    /// True if no frame has a page that is not in use.
    pub(crate) fn are_others_idle(&self) -> bool {
        self.free.lock().are_others_idle()
    }

    /// Gives the memory of frames that are not in use back to the system.
    pub(crate) fn release_idle(&self) {
        self.pages.release(self.in_use() as usize..self.headers.len());
    }

    /// The time of hotness records: user page writes so far.
    pub(crate) fn clock(&self) -> u64 {
        self.clocks.writes.load(Relaxed)
    }

    /// Notes that so many pages were written.
    pub(crate) fn note_writes(&self, count: usize) {
        self.clocks.writes.fetch_add(count as u64, Relaxed);
    }

    /// The time of the replacement.
    pub(crate) fn turn(&self) -> u32 {
        self.clocks.turn.load(Relaxed)
    }

    /// Advances the replacement's clock as a page is evicted: 64 turns for as many as there are
    /// frames.
    pub(crate) fn advance_clock(&self) {
        let part = (64 << TURN_BITS) / u64::from(self.in_use());
        let parts = self.clocks.parts.fetch_add(part, Relaxed) + part;
        self.clocks.turn.store((parts >> TURN_BITS) as u32 + 1, Relaxed);
    }

    /// The worth of keeping a page of a frame, by its uses and by the write that its eviction would
    /// need. The page that is written dies at its next eviction, probably after as many writes as
    /// lie behind its last one: if they are few, it is better to wait. If they are many more than
    /// there are frames, it lives on, and the factor is 1.
    pub(crate) fn worth(&self, frame: u32) -> f32 {
        let header = self.header(frame);
        let worth = header.worth(self.turn());
        if !header.is_dirty() {
            return worth;
        }
        let written = Node::of(self.bytes(frame)).written();
        let (age, pages) = (self.clock().saturating_sub(written) as f32, self.in_use() as f32);
        worth * (1.0 + CHANGE * pages / (pages + age))
    }

    /// Notes a read of a page for the replacement.
    #[inline]
    pub(crate) fn touch(&self, frame: &Frame) {
        match self.replacement {
            Replacement::Watt => frame.note_read(self.turn()),
            Replacement::Clock => {
                if !frame.referenced.load(Relaxed) {
                    frame.referenced.store(true, Relaxed);
                }
            }
        }
    }

    /// Notes a change of a page for the replacement, and for its hotness record.
    #[inline]
    fn note_change(&self, frame: &Frame) {
        if self.hotness {
            frame.usage.modified(self.clock());
        }
        if self.replacement == Replacement::Watt {
            frame.note_change(self.turn());
        }
    }

    /// Counts accesses to a leaf for its hotness record.
    #[inline]
    fn count_access(&self, frame: u32, times: u32) {
        if self.hotness {
            self.header(frame).usage.accessed(times, self.clock());
        }
    }

    /// Pages in frames with changes that are not on the device.
    pub(crate) fn changed(&self) -> usize {
        self.headers.iter().filter(|frame| frame.needs_log_from() != CLEAN).count()
    }

    /// The log position from which recovery would redo all changes of pages in frames.
    pub(crate) fn needs_log_from(&self) -> u64 {
        self.headers.iter().map(Frame::needs_log_from).min().unwrap_or(CLEAN)
    }
}
