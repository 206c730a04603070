//! The buffer pool: pages in memory, found by page number through an array.
//!
//! A page is read without its latch ([`Pool::look`] gives an [`OptimisticGuard`]) and changed with
//! it ([`OptimisticGuard::lock`] gives an [`ExclusiveGuard`]). Pages that are in no frame are
//! loaded; a background thread keeps frames free by evicting pages.
//!
//! # Where a page is
//!
//! | residence | frame | delta in the cache | rows in the cache |
//! |---|---|---|---|
//! | unused | none | none | keys, until they are dropped |
//! | absent | none | none, waiting, or on its way to the store | keys, values; changes that wait |
//! | loading | one is reserved | as absent, or on its way to the page | as absent |
//! | in a frame, clean | its own | none | keys; changes that found no room |
//! | in a frame, changed | its own, perhaps being written | none | the same |
//!
//! | from | by | to |
//! |---|---|---|
//! | unused | `create` | in a frame |
//! | absent | `begin_load`, by one thread; others wait | loading |
//! | loading | `end_load`: the page was read, and got its delta and the changes that waited | in a frame |
//! | loading | `cancel_load`: it could not be read | absent |
//! | in a frame | `evict`: it is clean, was written, or its delta is cached | absent |
//! | in a frame | `free` | unused |
//! | absent | `free_absent`, in recovery | unused |
//! | unused, absent | `build`: it is written without a frame | absent |
//!
//! The table knows how many bytes an absent page has free, and which of its keys may have references
//! to long values: no reference waits. Before the page gets the changes that wait for it, it fills the
//! versions that snapshots need of these records. It may have too little room for all of them. Then
//! some wait on while it is in the frame. A descent splits such a page before it passes to it
//! (`tree/split.rs`).
//!
//! # Which part owns what
//!
//! Each part owns the one below it, and calls go down only.
//!
//! * [`Pool`]: the face, `absent_leaf.rs` with it: uses of rows in place of their page. `misses.rs`:
//!   steps that do not wait for pages; `page_reader.rs`: the thread that reads for them.
//! * `loading.rs`: takes free frames, reads pages, waits for others that do.
//! * `evictor.rs`: the lock of the writer, the choice of victims; `memory_budget.rs` moves memory
//!   between frames and absent pages, by `ghost_hits.rs`.
//! * `writeback.rs`: copies pages, waits for the log, writes, ends: for eviction, checkpoints and
//!   cleaning.
//! * `residency.rs`: moves between the three below, without I/O; `leaf_change.rs`: what a change
//!   does to a leaf, now or as it comes back.
//! * `page_table.rs`: the residence of each page; `frames/`: pages with their latches, the free
//!   frames; `absent/`: one cache of deltas and rows.

mod absent;
mod absent_leaf;
mod evictor;
mod frames;
mod ghost_hits;
mod leaf_change;
mod loading;
mod memory_budget;
pub(crate) mod misses;
mod page_reader;
mod page_table;
mod references;
mod residency;
#[cfg(test)]
mod tests;
mod writeback;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::time::Duration;

use frostline_placement::Hotness;
use frostline_store::PageWrite;
use parking_lot::MutexGuard;

pub(crate) use absent_leaf::AbsentLeaf;
pub(crate) use frames::{CLEAN, CachedFrame, ExclusiveGuard, FreeFrame, OptimisticGuard};
pub(crate) use leaf_change::{before, change_leaf, has_room};
pub(crate) use loading::TOGETHER;

use crate::DbError;
use crate::catalog::MOST_TABLES;
use crate::mvcc::{CommitWindow, Versions};
use crate::node::PAGE_BYTES;
use crate::options::Replacement;
use crate::space::{Outgoing, PageSpace};
use crate::wal::Wal;
use absent::{AbsentCache, Memory};
use evictor::{Evictor, Writer};
use frames::Frames;
use ghost_hits::GhostHits;
use loading::Loader;
use memory_budget::{FRAME_BYTES, MemoryBudget};
pub(crate) use page_reader::{PageReader, Ready, Waiting};
use page_table::{MOST_FRAMES, PageTable, Residence};
use residency::Residency;
use writeback::Writeback;

/// The fewest frames a pool has: the way down a tree, the pages of a split, those that the evictor
/// keeps free, and some for other threads. There may be many more threads: one that waits for a
/// frame holds none.
pub(crate) const FEWEST_FRAMES: usize = 64;

/// The origin of pages of long values, behind those of all trees.
const VALUES: u32 = 2 * (MOST_TABLES as u32 + 2);

/// A thread counts the pages of one descent in this many, with this weight.
const SAMPLE: u32 = 32;

/// The memory of a pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Division {
    /// Frames for pages, at first.
    pub frames: usize,
    /// The fewest frames, and the most: memory moves between frames and absent pages.
    pub limits: (usize, usize),
    /// Bytes for deltas and rows of absent pages, at first.
    pub absent: usize,
    /// Bytes of these that deltas have for sure.
    pub deltas: usize,
}

impl Division {
    /// The parts of so many bytes. In a store with deltas 9 to 22 thirty-seconds are for absent
    /// pages (docs/decisions/0143-one-cache-of-absent-pages.md,
    /// 0093-memory-follows-the-reads-it-saves.md).
    pub(crate) fn of(bytes: usize, has_deltas: bool) -> Division {
        let of_32 = |parts: usize| bytes / 32 * parts;
        let frames = |parts: usize| (of_32(parts) / PAGE_BYTES).max(FEWEST_FRAMES);
        if has_deltas {
            let limits = (frames(10), frames(23));
            Division { frames: frames(19), limits, absent: of_32(13), deltas: of_32(8) }
        } else {
            let all = (bytes / PAGE_BYTES).max(FEWEST_FRAMES);
            Division { frames: all, limits: (all, all), absent: 0, deltas: 0 }
        }
    }
}

/// Counters of the pool, in cache lines of their own.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct PoolCounters {
    /// Pages that descents passed, about; see [`Pool::sample`].
    pub accesses: AtomicU64,
    /// Pages read from the store.
    pub read: AtomicU64,
    /// Evictions of changed pages whose delta was cached.
    pub kept: AtomicU64,
    /// Records that were read or changed while their page was absent.
    pub without_page: AtomicU64,
    /// Those of them that were changed and are not known: only the page has their old values.
    pub unread: AtomicU64,
    /// Pages written to the store because their frame was needed, or the memory of their delta.
    pub evicted_dirty: AtomicU64,
    /// Evictions of pages that needed no write.
    pub evicted_clean: AtomicU64,
    /// Pages written so that the log can be cut.
    pub checkpointed: AtomicU64,
    /// Pages written to the store because cleaning would have copied them.
    pub rewritten: AtomicU64,
    /// Nanoseconds for which threads waited for a free frame.
    pub stalled_ns: AtomicU64,
}

/// Pages in memory.
pub(crate) struct Pool {
    loader: Loader,
    /// Reads for steps that do not wait.
    pub reader: PageReader,
    /// Counters.
    pub counters: Arc<PoolCounters>,
}

impl Pool {
    /// A pool of free frames.
    pub(crate) fn new(
        space: PageSpace,
        wal: Arc<Wal>,
        (window, versions): (Arc<CommitWindow>, Arc<Versions>),
        division: Division,
        (replacement, hotness): (Replacement, bool),
        clock: u64,
    ) -> Result<Pool, DbError> {
        let Division { frames: at_first, limits: (fewest, most), absent, deltas } = division;
        let refused =
            || DbError::Options { what: "buffer", why: format!("no memory for {most} pages") };
        if most >= MOST_FRAMES {
            return Err(refused());
        }
        let pages = space.pages as usize;
        let frames = Frames::new(most, at_first, (replacement, hotness), clock);
        let counted = if most > fewest { pages } else { 0 };
        let residency = Residency::new(
            PageTable::new(pages).ok_or_else(refused)?,
            frames.ok_or_else(refused)?,
            AbsentCache::new(absent, deltas),
            GhostHits::new(counted).ok_or_else(refused)?,
            versions,
        );
        let counters = Arc::new(PoolCounters::default());
        let writeback = Writeback::new(residency, space, wal, window, counters.clone());
        let evictor = Evictor::new(writeback, MemoryBudget::new(&division));
        let loader = Loader::new(evictor, counters.clone());
        Ok(Pool { loader, reader: PageReader::default(), counters })
    }

    fn writeback(&self) -> &Writeback {
        self.loader.evictor().writeback()
    }

    #[inline(always)]
    fn residency(&self) -> &Residency {
        self.loader.residency()
    }

    /// Bytes of memory that the pool takes at most.
    pub(crate) fn bytes(&self) -> usize {
        let residency = self.residency();
        let (frames, table) = (residency.frames(), residency.table());
        let pages = frames.in_use() as usize * FRAME_BYTES + residency.absent().most_bytes();
        pages + frames.header_bytes() + table.bytes() + residency.ghosts().bytes()
    }

    /// The log is replayed from now on: memory of frames, which are all free, moves to records that
    /// wait for their page.
    pub(crate) fn begin_replay(&self) {
        self.loader.evictor().begin_replay();
    }

    /// The log is replayed, and memory moves back as far as it is free.
    pub(crate) fn end_replay(&self) {
        self.loader.evictor().end_replay();
    }

    /// The pages on the store.
    pub(crate) fn space(&self) -> &PageSpace {
        self.writeback().space()
    }

    /// The log, which reaches the device before the pages that it speaks of.
    pub(crate) fn wal(&self) -> &Wal {
        self.writeback().wal()
    }

    /// An optimistic guard of a page, which is loaded if it is in no frame. None if it had to be
    /// loaded: the nodes that the caller saw on the way may have changed.
    #[inline(always)]
    pub(crate) fn look(&self, page: u32) -> Result<Option<OptimisticGuard<'_>>, DbError> {
        let residency = self.residency();
        if let Residence::Frame(frame) = residency.table().residence(page)? {
            return Ok(residency.frames().look(frame, page));
        }
        self.load_missed(page)?;
        Ok(None)
    }

    /// An optimistic guard of a page if it is in a frame.
    pub(crate) fn look_in_memory(&self, page: u32) -> Option<OptimisticGuard<'_>> {
        let residency = self.residency();
        let Ok(Residence::Frame(frame)) = residency.table().residence(page) else { return None };
        residency.frames().look(frame, page)
    }

    /// Loads a page that is needed, unless the thread runs a step that notes it.
    #[cold]
    fn load_missed(&self, page: u32) -> Result<(), DbError> {
        if misses::note([page]) {
            return Err(DbError::NotInMemory { page });
        }
        self.residency().ghosts().note_miss(page);
        self.loader.load(page)
    }

    /// Reads what steps miss, until the reader is ended.
    pub(crate) fn read_missed(&self) -> Result<(), DbError> {
        let most = || (self.frames_in_use() / 8).clamp(1, TOGETHER);
        while let Some(batch) = self.reader.next(most()) {
            if batch.wants_room {
                self.loader.make_room_for_rows()?;
                self.reader.made_room();
            }
            let mut pages: Vec<_> = batch.missed.iter().map(|(page, _)| *page).collect();
            pages.sort_unstable();
            pages.dedup();
            let absent = pages.clone();
            loop {
                self.load_needed(&mut pages);
                // If there were frames for a part of them only, this one waits for a frame.
                let Some(page) = pages.pop() else { break };
                if self.load_missed(page).is_err() {
                    break;
                }
            }
            // Others may read them, or they can't be read.
            let table = self.residency().table();
            let is_on_its_way = |&page: &u32| table.is_absent(page) || table.is_loading(page);
            let failed: Vec<_> = absent
                .into_iter()
                .filter(is_on_its_way)
                .filter(|&page| self.load_missed(page).is_err() && table.is_absent(page))
                .collect();
            self.reader.arrived(&batch.missed, |page| !failed.contains(&page));
        }
        Ok(())
    }

    /// An optimistic guard of the page that was in a frame; none if it is there no longer, or came
    /// back and was not compared with its parent yet.
    #[inline]
    pub(crate) fn look_at(&self, cached: CachedFrame) -> Option<OptimisticGuard<'_>> {
        self.residency().frames().look_at(cached)
    }

    /// Loads those of some pages that are absent, side by side, as far as there are free frames.
    pub(crate) fn load_together(&self, pages: impl IntoIterator<Item = u32>) {
        self.loader.load_together(pages);
    }

    /// Loads pages that are needed and absent, side by side, as far as frames can be freed, and
    /// leaves in `pages` those that stay absent. A page that can't be read does, and who needs it
    /// gets the error.
    pub(crate) fn load_needed(&self, pages: &mut Vec<u32>) {
        if misses::note(pages.iter().copied()) {
            return;
        }
        self.loader.load_needed(pages);
        let (table, ghosts) = (self.residency().table(), self.residency().ghosts());
        pages.retain(|&page| {
            let is_left = table.is_absent(page);
            if !is_left {
                ghosts.note_miss(page);
            }
            is_left
        });
    }

    /// Frames that pages may be in.
    pub(crate) fn frames_in_use(&self) -> usize {
        self.residency().frames().in_use() as usize
    }

    /// True if a page is not in use: it was freed.
    pub(crate) fn is_unused(&self, page: u32) -> bool {
        self.residency().table().is_unused(page)
    }

    /// A page that a node has as this child, if it is absent.
    #[inline]
    pub(crate) fn absent_child<'g, 'p>(
        &'p self,
        parent: &'g OptimisticGuard<'p>,
        index: usize,
    ) -> Option<AbsentLeaf<'g, 'p>> {
        AbsentLeaf::below(&self.loader, &self.counters, parent, index)
    }

    /// Notes that a page had to be loaded for a record, which stays in memory longer than the page.
    pub(crate) fn note_record(&self, page: u32, key: &[u8]) {
        self.residency().absent().note(page, key);
    }

    /// A free frame for the caller. A thread that has one must not wait for another, nor for a page
    /// to be loaded: threads could have all frames, and wait for each other. No latch may be held.
    pub(crate) fn free_frame(&self) -> Result<FreeFrame<'_>, DbError> {
        self.loader.free_frame()
    }

    /// Puts a page that the device does not have into memory, and latches it. An older copy in
    /// memory is dropped.
    pub(crate) fn create(
        &self,
        page: u32,
        frame: FreeFrame<'_>,
    ) -> Result<ExclusiveGuard<'_>, DbError> {
        self.residency().create(page, frame)
    }

    /// Drops a page from memory without writing it: it is free. `keep_log` is as for
    /// [`Self::drop_held`].
    pub(crate) fn forget(&self, page: u32, keep_log: impl FnOnce(u64)) -> Result<(), DbError> {
        self.residency().forget(page, keep_log)
    }

    /// A page that was not in use is a node on the device from now on.
    pub(crate) fn is_on_device(&self, page: u32) -> Result<(), DbError> {
        self.residency().table().build(page)
    }

    /// Writes pages that never were in memory, and whose log record is durable.
    pub(crate) fn write_ahead(&self, pages: &[Outgoing<'_>]) -> Result<(), DbError> {
        self.writeback().write_ahead(pages)
    }

    /// The hotness record of a page of a tree that never was in memory.
    pub(crate) fn of_new(&self, root: u32, is_inner: bool) -> Hotness {
        self.writeback().of_new(root, is_inner)
    }

    /// The hotness record of pages of long values, which are written once: an origin of their own.
    pub(crate) fn of_values(&self) -> Hotness {
        Hotness { origin: VALUES, ..Hotness::default() }
    }

    /// Drops a latched page from memory without writing it: it is free. If it has changes that the
    /// device lacks, `keep_log` gets the log position of the first one before.
    pub(crate) fn drop_held(&self, held: ExclusiveGuard<'_>, keep_log: impl FnOnce(u64)) {
        self.residency().free(held, keep_log);
    }

    /// Drops changes that wait for a page which is about to be freed. `keep_log` gets the log position
    /// of the first one before.
    pub(crate) fn drop_rows(&self, page: u32, keep_log: impl FnOnce(u64)) {
        self.residency().absent().drop_rows(page, keep_log);
    }

    /// Names a tree in hotness records: `number` for its inner nodes and leaves.
    pub(crate) fn name_tree(&self, root: u32, number: u32) {
        self.writeback().name_tree(root, number);
    }

    /// Waits until there are fewer free frames than there should be, or the time is over.
    pub(crate) fn wait_until_needed(&self, time: Duration) {
        self.residency().frames().wait_until_needed(time);
    }

    /// Gives back memory that rows take beyond their part, if it is short. No latch may be held.
    #[inline]
    pub(crate) fn make_room_for_rows(&self, memory: Memory) -> Result<(), DbError> {
        match memory {
            Memory::Enough => Ok(()),
            Memory::Short if misses::leaves_work() && self.reader.make_room() => Ok(()),
            Memory::Short => self.loader.make_room_for_rows(),
        }
    }

    /// True if a page in a frame had no room for all changes that waited for it.
    pub(crate) fn lacks_rows(&self, page: u32) -> bool {
        self.residency().absent().lacks_from(page) != CLEAN
    }

    /// Gives a page the changes that it had no room for. False if it still has not.
    pub(crate) fn give_rows(&self, held: &mut ExclusiveGuard<'_>) -> Result<bool, DbError> {
        self.residency().give_rows(held)
    }

    /// A page was split. Both halves get the changes that it had no room for.
    pub(crate) fn split_rows(
        &self,
        held: &mut ExclusiveGuard<'_>,
        separator: &[u8],
        other: &mut ExclusiveGuard<'_>,
    ) -> Result<(), DbError> {
        self.residency().split_rows(held, separator, other)
    }

    /// Changes of records up to here are in a page, which is in a frame.
    pub(crate) fn included_in(&self, page: u32) -> u64 {
        self.writeback().included_in(page)
    }

    /// Pages that lack changes which need the log from before `position`.
    pub(crate) fn lacking(&self, position: u64) -> Vec<u32> {
        self.residency().absent().rows_before(position)
    }

    /// True if changes of records may wait for their page.
    pub(crate) fn keeps_rows(&self) -> bool {
        self.residency().absent().most_bytes() > 0
    }

    /// Leaves that became emptier, or have ghosts, by changes that waited for them, since this was
    /// asked last.
    pub(crate) fn take_sunk(&self) -> Vec<u32> {
        self.residency().take_sunk()
    }

    /// Pages that are in frames without changes that they had no room for as they came, since this was
    /// asked last.
    pub(crate) fn take_overfull(&self) -> Vec<u32> {
        let mut pages = self.residency().take_overfull();
        pages.retain(|&page| self.lacks_rows(page) && !self.residency().table().is_absent(page));
        pages
    }

    /// Pages that perhaps have no room for the changes that wait for them.
    pub(crate) fn overfull(&self) -> usize {
        self.residency().absent().overfull()
    }

    /// So many pages may have no room for the changes that wait for them.
    pub(crate) fn set_most_overfull(&self, pages: usize) {
        self.residency().absent().set_most_overfull(pages);
    }

    /// Frees frames if too few are free.
    pub(crate) fn make_room(&self) -> Result<(), DbError> {
        self.loader.make_room()
    }

    /// Loads pages that lack changes of rows which need the log from before `position`; all such
    /// pages if it is [`CLEAN`].
    pub(crate) fn load_lacking(&self, position: u64) -> Result<(), DbError> {
        self.loader.load_rows_before(position)
    }

    /// Writes every page whose changes need the log from before `position`; all changed pages if
    /// it is [`CLEAN`]. Returns how many.
    pub(crate) fn write_older(&self, position: u64) -> Result<u64, DbError> {
        self.loader.write_older(position)
    }

    /// Writes those of these pages of the store that changed in memory: cleaning would copy them as
    /// they were.
    pub(crate) fn write_newer(&self, lbas: &[u32], write: &mut dyn FnMut(PageWrite<'_>) -> bool) {
        self.writeback().write_newer(lbas, write);
    }

    /// The lock of the writer of pages. Pages are trimmed under it as well, so that the order of
    /// both is known.
    pub(crate) fn evictor(&self) -> MutexGuard<'_, Writer> {
        self.loader.evictor().lock()
    }

    /// The log position from which recovery would redo all changes that are not on the device.
    pub(crate) fn needs_log_from(&self) -> u64 {
        self.loader.evictor().needs_log_from()
    }

    /// Counts the pages that a descent passed, whether or not they had to be loaded.
    #[inline]
    pub(crate) fn count_descent(&self, pages: u32, weight: u32) {
        if weight > 0 {
            self.counters.accesses.fetch_add(u64::from(pages * weight), Relaxed);
        }
    }

    /// The weight with which a descent counts the pages that it passes: mostly 0.
    #[inline]
    pub(crate) fn sample(&self) -> u32 {
        thread_local! {
            static DESCENTS: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
        }
        let descents = DESCENTS.get().wrapping_add(1);
        DESCENTS.set(descents);
        if descents.is_multiple_of(SAMPLE) { SAMPLE } else { 0 }
    }

    /// Whole pages for which the store must have room, as they changed and are not on the device.
    /// Those that left memory count as the part that they may take: with a delta, three eighths;
    /// with rows that wait, five eighths and these rows.
    pub(crate) fn changed_pages(&self) -> u64 {
        self.loader.evictor().changed_pages()
    }

    /// Pages that memory has room for.
    pub(crate) fn most_pages(&self) -> u64 {
        self.loader.evictor().most_pages()
    }
}
