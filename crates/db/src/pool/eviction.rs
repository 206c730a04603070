//! The choice of pages that leave memory, and their way to the store.
//!
//! There is one writer at a time ([`Evictor`]), so that the order in which pages reach the store
//! is known. It gathers changed pages into batches, waits until the log is durable up to their last
//! change, writes them, and frees the frames of those that did not change meanwhile.

use std::sync::atomic::Ordering::*;
use std::time::{Duration, Instant};

use frostline_placement::Hotness;
use frostline_store::{ChangedWords, RecordKind};
use parking_lot::MutexGuard;

use super::balance::Balance;
use super::frame::{CHANGE, CLEAN, NO_PAGE};
use super::{ABSENT, ExclusiveGuard, FRAME, Pool};
use crate::DbError;
use crate::catalog::MOST_TABLES;
use crate::node::{
    ACTIVITY_WORDS, Node, NodeMut, PAGE_BYTES, PageBytes, clear_middle, middle, middle_words,
};
use crate::options::Replacement;
use crate::space::Outgoing;

/// Parts of a turn of the replacement's clock, as a power of two.
const TURN_BITS: u32 = 32;

/// Pages that are written at once.
pub const BATCH: usize = 64;

/// Pages that write-aware replacement compares for each one it gives up.
const SAMPLE: u32 = 16;

/// The origin of pages of long values, behind those of all trees.
const VALUES: u32 = 2 * (MOST_TABLES as u32 + 2);

/// The longest wait for a frame before a thread checks again whether the evictor has failed.
const WAIT: Duration = Duration::from_millis(100);

/// The same if the thread was the evictor itself, and others took the frames that it freed, or hold
/// all.
const NAP: Duration = Duration::from_millis(1);

/// The state of the writer of pages.
pub struct Evictor {
    hand: u32,
    batch: Vec<u32>,
    copies: Vec<[u8; PAGE_BYTES]>,
    balance: Balance,
}

impl Evictor {
    /// The writer of a new pool.
    pub fn new(balance: Balance) -> Self {
        Evictor { hand: 0, batch: Vec::new(), copies: Vec::new(), balance }
    }

    /// Frees frames until enough are free, and changes and records of their pages take no more memory than they may.
    pub fn keep_free(&mut self, pool: &Pool) -> Result<(), DbError> {
        let wanted = 2 * pool.low_water();
        // After some rounds all other pages are latched or were just used.
        for _ in 0..8 {
            let missing = wanted.saturating_sub(pool.free_frames());
            if missing == 0 {
                return Ok(());
            }
            self.clear_out(pool);
            self.gather(pool, missing);
            self.write_batch(pool, true)?;
            pool.write_excess()?;
            pool.drop_records();
            self.balance.go_on(pool);
        }
        Ok(())
    }

    /// Writes every page whose changes need the log from before `position`; all of them if it is
    /// [`CLEAN`]. Returns how many.
    pub fn write_older(&mut self, pool: &Pool, position: u64) -> Result<u64, DbError> {
        let before = pool.counters.checkpointed.load(Relaxed);
        for frame in 0..pool.frames.len() as u32 {
            if pool.frames[frame as usize].needs_log_from() < position {
                self.batch.push(frame);
            }
            if self.batch.len() == BATCH {
                self.write_batch(pool, false)?;
            }
        }
        self.write_batch(pool, false)?;
        pool.write_kept_before(position)?;
        Ok(pool.counters.checkpointed.load(Relaxed) - before)
    }

    /// Lets pages leave that are in frames which are not in use any more.
    fn clear_out(&mut self, pool: &Pool) {
        if !pool.lock_free().are_others_idle() {
            for frame in pool.frames_in_use()..pool.frames.len() as u32 {
                // Half of a batch: those that wait for frames get some from the other half.
                if pool.frames[frame as usize].page() != NO_PAGE && self.batch.len() < BATCH / 2 {
                    self.let_leave(pool, frame);
                }
            }
        }
    }

    /// Frees the frames of clean pages that are due to leave, and gathers changed ones, `missing`
    /// in all.
    fn gather(&mut self, pool: &Pool, missing: usize) {
        let mut found = 0;
        for _ in 0..4 * pool.frames_in_use() {
            if found == missing || self.batch.len() == BATCH {
                return;
            }
            let frame = match pool.replacement {
                Replacement::Clock => self.next_unused(pool),
                Replacement::Watt => self.least_worth(pool),
            };
            found += frame.map_or(0, |frame| usize::from(self.let_leave(pool, frame)));
        }
    }

    /// Frees a frame if its page is clean, and gathers it otherwise. False if it is latched, or gathered already.
    fn let_leave(&mut self, pool: &Pool, frame: u32) -> bool {
        if !pool.frames[frame as usize].is_dirty() {
            return pool.give_up(frame);
        }
        let is_new = !self.batch.contains(&frame);
        if is_new {
            self.batch.push(frame);
        }
        is_new
    }

    fn advance(&mut self, pool: &Pool) -> u32 {
        self.hand = (self.hand + 1) % pool.frames_in_use();
        self.hand
    }

    /// The frame under the hand, if it was not used since the hand passed.
    fn next_unused(&mut self, pool: &Pool) -> Option<u32> {
        let frame = self.advance(pool);
        let header = &pool.frames[frame as usize];
        let is_unused = header.page() != NO_PAGE && !header.referenced.swap(false, Relaxed);
        is_unused.then_some(frame)
    }

    /// The frame of some, from all over the pool, whose page is worth least.
    fn least_worth(&mut self, pool: &Pool) -> Option<u32> {
        let now = pool.clocks.turn.load(Relaxed);
        // A stride that meets every frame, and takes samples that do not lie together.
        let frames = pool.frames_in_use();
        let stride = frames / SAMPLE + 1;
        let start = self.advance(pool);
        let sample = (0..SAMPLE).map(|n| (start + n * stride) % frames);
        let candidates = sample.filter(|&frame| {
            pool.frames[frame as usize].page() != NO_PAGE && !self.batch.contains(&frame)
        });
        let worth = |frame: u32| pool.frames[frame as usize].worth(now) * pool.dies_soon(frame);
        let by_worth = candidates.map(|frame| (worth(frame), frame));
        by_worth.min_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, frame)| frame)
    }

    /// Writes the pages of the batch, and frees their frames if `give_up` is set.
    fn write_batch(&mut self, pool: &Pool, give_up: bool) -> Result<(), DbError> {
        if self.batch.is_empty() {
            return Ok(());
        }
        self.copies.resize(BATCH, [0; PAGE_BYTES]);
        let mut outgoing = Vec::with_capacity(BATCH);
        let mut frames = Vec::with_capacity(BATCH);
        for (frame, copy) in self.batch.drain(..).zip(&mut self.copies) {
            let now = pool.clock() + outgoing.len() as u64;
            if let Some(out) = pool.copy_out(frame, copy, now)
                && !(give_up && pool.keep(frame, &out))
            {
                outgoing.push(out);
                frames.push(frame);
            }
        }
        let written = pool.write_behind_log(&outgoing);
        let count = outgoing.len() as u64;
        pool.clocks.writes.fetch_add(count, Relaxed);
        let counter = match give_up {
            true => &pool.counters.evicted_dirty,
            false => &pool.counters.checkpointed,
        };
        counter.fetch_add(count, Relaxed);
        for (frame, out) in frames.into_iter().zip(&outgoing) {
            pool.end_write(frame, out, written.is_ok(), give_up);
        }
        written
    }
}

impl Pool {
    /// Factor by which a page is worth more in memory for the write that it would need to leave. What
    /// is written dies at the page's next eviction, probably after as many writes as lie behind its
    /// last one: if they are few, it is better to wait. If they are many more than memory has pages,
    /// what is written lives on, and the factor is 1.
    fn dies_soon(&self, frame: u32) -> f32 {
        if !self.frames[frame as usize].is_dirty() {
            return 1.0;
        }
        let written = Node::of(&self.memory[frame as usize]).written();
        let (age, pages) =
            (self.clock().saturating_sub(written) as f32, self.frames_in_use() as f32);
        1.0 + CHANGE * pages / (pages + age)
    }

    /// Writes pages that never were in memory, and whose log record is durable.
    pub fn write_ahead(&self, pages: &[Outgoing<'_>]) -> Result<(), DbError> {
        self.space.write(pages)?;
        self.clocks.writes.fetch_add(pages.len() as u64, Relaxed);
        Ok(())
    }

    /// The hotness record of a page of a tree that never was in memory.
    pub fn of_new(&self, root: u32, is_inner: bool) -> Hotness {
        Hotness { origin: self.origin(root, is_inner), ..Hotness::default() }
    }

    /// The hotness record of pages of long values, which are written once: an origin of their own.
    pub fn of_values(&self) -> Hotness {
        Hotness { origin: VALUES, ..Hotness::default() }
    }

    /// Writes copies of pages, once the log is durable up to their last change. The pages are not
    /// latched for that wait: a page that changes all the time is written as well.
    fn write_behind_log(&self, pages: &[Outgoing<'_>]) -> Result<(), DbError> {
        let positions = pages.iter().map(|page| page.position);
        self.wait_for_log(positions.max().unwrap_or(0))?;
        self.space.write(pages)
    }

    /// Waits until the log is durable up to a position, before pages are written. The store is told, so that
    /// the headers of those pages tell it too.
    pub(super) fn wait_for_log(&self, position: u64) -> Result<(), DbError> {
        if position > self.wal.durable() {
            self.wal.wait(position)?;
        }
        self.space.tell_log(self.wal.durable())
    }

    /// Copies a changed page for a write, with its hotness record. None if it is latched, or not
    /// changed any more.
    pub(super) fn copy_out<'c>(
        &self,
        frame: u32,
        copy: &'c mut [u8; PAGE_BYTES],
        now: u64,
    ) -> Option<Outgoing<'c>> {
        let header = &self.frames[frame as usize];
        if !header.latch.try_lock() {
            return None;
        }
        let mut held = ExclusiveGuard::new(self, frame);
        held.leave_unchanged();
        let ready = header.page() != NO_PAGE && header.is_dirty() && !header.is_being_written();
        if !ready {
            return None;
        }
        let node = held.node();
        let origin = self.origin(node.tree(), node.level() > 0);
        let current = header.usage.activity(node.valid_bytes());
        let hotness = held.edit().next_record(origin, current, now);
        let included = self.window.included().min(held.node().position());
        held.edit().include(included);
        let changed = if self.space.has_deltas() { delta_of(held.bytes()) } else { None };
        header.usage.reset();
        header.begin_write();
        held.bytes().copy_to(copy);
        if changed.is_some() {
            let middle = middle_words(held.bytes());
            copy.as_chunks_mut::<8>().0[middle].fill([0; 8]);
        } else if !self.space.has_deltas() {
            let middle = middle(copy);
            copy[middle].fill(0);
        }
        let position = held.node().position();
        Some(Outgoing { page: header.page(), position, bytes: copy, hotness, changed })
    }

    /// Ends the write of a page, and frees its frame if the page did not change meanwhile.
    pub(super) fn end_write(&self, frame: u32, out: &Outgoing<'_>, arrived: bool, give_up: bool) {
        let mut held = self.hold_free(frame);
        let header = &self.frames[frame as usize];
        if header.page() != out.page {
            // The page was freed meanwhile, and its frame left to the writer.
            drop(held);
            self.give_free(frame);
            return;
        }
        header.end_write(arrived);
        match out.changed.map_or(RecordKind::Image, |changed| changed.kind()) {
            RecordKind::Image if !arrived => held.bytes().set_all_changed(),
            RecordKind::Delta if !arrived => held.bytes().forget_delta(),
            _ => {}
        }
        if arrived && give_up && !header.is_dirty() {
            self.leave(held);
        } else {
            held.leave_unchanged();
        }
    }

    /// Frees a frame whose page is as on the device. False if it is latched or changed.
    fn give_up(&self, frame: u32) -> bool {
        let header = &self.frames[frame as usize];
        if !header.latch.try_lock() {
            return false;
        }
        let mut held = ExclusiveGuard::new(self, frame);
        if header.page() == NO_PAGE || header.needs_log_from() != CLEAN {
            held.leave_unchanged();
            return false;
        }
        self.counters.evicted_clean.fetch_add(1, Relaxed);
        self.leave(held);
        true
    }

    /// Removes a latched page from memory.
    pub(super) fn leave(&self, held: ExclusiveGuard<'_>) {
        let frame = held.frame();
        self.records.take_values(held.page(), held.node());
        self.savings.leaves(held.page());
        if let Ok(entry) = self.entry(held.page()) {
            debug_assert_eq!(entry.load(Relaxed), frame + FRAME, "the table knows where it is");
            entry.store(ABSENT, Release);
        }
        held.header().set_page(NO_PAGE, 0);
        drop(held);
        self.go_on();
        self.give_free(frame);
    }

    /// Advances the replacement's clock as frames are freed: 64 turns for as many as there are.
    fn go_on(&self) {
        let part = (64 << TURN_BITS) / u64::from(self.frames_in_use());
        let parts = self.clocks.parts.fetch_add(part, Relaxed) + part;
        self.clocks.turn.store((parts >> TURN_BITS) as u32 + 1, Relaxed);
    }

    /// Waits until there are fewer free frames than there should be, or the time is over.
    pub fn wait_until_needed(&self, time: Duration) {
        let mut free = self.lock_free();
        if free.len() > self.low_water() {
            self.needed.wait_for(&mut free, time);
        }
    }

    /// Frees frames if too few are free.
    pub fn make_room(&self) -> Result<(), DbError> {
        self.evictor().keep_free(self)
    }

    /// Writes every page whose changes need the log from before `position`; all changed pages if
    /// it is [`CLEAN`]. Returns how many.
    pub fn write_older(&self, position: u64) -> Result<u64, DbError> {
        // Before: the evictor can't wait for frames.
        self.load_changed_before(position)?;
        self.evictor().write_older(self, position)
    }

    /// The writer of pages. Pages are trimmed under this lock as well, so that the order of both is
    /// known.
    pub fn evictor(&self) -> MutexGuard<'_, Evictor> {
        self.evictor.lock()
    }

    /// Waits until a frame is free, and frees some unless another thread does. No latch may be
    /// held.
    #[cold]
    pub(super) fn wait_for_free(&self) -> Result<u32, DbError> {
        let begun = Instant::now();
        let frame = loop {
            let wait = match self.evictor.try_lock() {
                Some(mut evictor) => evictor.keep_free(self).map(|()| NAP)?,
                None => WAIT,
            };
            let mut free = self.lock_free();
            if free.len() == 0 {
                self.freed.wait_for(&mut free, wait);
            }
            if let Some(frame) = free.take() {
                break frame;
            }
        };
        self.counters.stalled_ns.fetch_add(begun.elapsed().as_nanos() as u64, Relaxed);
        Ok(frame)
    }
}

/// The words of a page that is about to be written, to a store with deltas, in which it differs from its
/// base and delta, but for the activity, which changes with each write and hardly tells more than that of the base;
/// none if they are too many for a delta: then the page becomes the base itself.
fn delta_of(page: &PageBytes) -> Option<ChangedWords> {
    let middle = middle_words(page);
    NodeMut::of(page).mark_behind();
    let changed = page.changed_outside(&[middle.clone(), ACTIVITY_WORDS]);
    let kind = changed.kind();
    if kind != RecordKind::Image && !page.is_all_changed() {
        if kind == RecordKind::Delta {
            page.begin_delta();
        }
        // The delta does not have these words, and the store may take the page for a base after all, with
        // zeroes in them.
        page.mark_range(middle);
        return Some(changed);
    }
    clear_middle(page);
    page.set_changed(&ChangedWords::NONE);
    NodeMut::of(page).mark_behind();
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::SLOTS;

    #[test]
    fn words_in_the_middle_of_a_page_that_is_written_as_a_delta_count_as_changed_from_then_on() {
        // The store may take the page for a base, with zeroes where the frame has what was in use before.
        let page = PageBytes::new();
        page.write(0, &[1; PAGE_BYTES]);
        page.write(32, &[0; SLOTS - 32]);
        page.set_u16(40, PAGE_BYTES as u16);
        page.set_changed(&ChangedWords::NONE);
        let delta = delta_of(&page).unwrap();
        assert!(!delta.has(SLOTS / 8), "it is not in use");
        assert!(page.changed_outside(&[]).has(SLOTS / 8));
        assert!(page.changed_outside(&[]).has(PAGE_BYTES / 8 - 1));
    }
}
