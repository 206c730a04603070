//! The way of pages to the store: copy, wait for the log, write, end. Eviction, checkpoints and
//! cleaning go it alike.
//!
//! No latch is held during the wait and the write, so a page that changes all the time is written
//! as well. Pages reach the store in a known order: batches and deltas are written under the
//! evictor's lock, and what cleaning asks for is written only while the version is valid that it
//! would copy.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::*;

use frostline_placement::Hotness;
use frostline_store::{ChangedWords, PageWrite, RecordKind, StoreError};
use parking_lot::RwLock;

use super::PoolCounters;
use super::absent::CachedDelta;
use super::frames::{CLEAN, NO_PAGE};
use super::page_table::Residence;
use super::residency::Residency;
use crate::DbError;
use crate::mvcc::CommitWindow;
use crate::node::{
    ACTIVITY_WORDS, NodeMut, PAGE_BYTES, PageBytes, clear_middle, middle, middle_words,
};
use crate::space::{Outgoing, OutgoingDelta, PageSpace};
use crate::wal::Wal;

/// Pages that are written at once.
pub(super) const BATCH: usize = 64;

/// Why a page is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// It leaves its frame.
    Eviction,
    /// The log is to be cut.
    Checkpoint,
    /// Cleaning would copy what the device has of it.
    Cleaning,
}

/// Frames that are to be written together.
#[derive(Default)]
pub(crate) struct Batch {
    frames: Vec<u32>,
    copies: Vec<[u8; PAGE_BYTES]>,
}

impl Batch {
    /// Adds a frame; false if it is part of the batch already.
    pub(crate) fn add(&mut self, frame: u32) -> bool {
        let is_new = !self.contains(frame);
        if is_new {
            self.frames.push(frame);
        }
        is_new
    }

    /// True if a frame is part of the batch.
    pub(crate) fn contains(&self, frame: u32) -> bool {
        self.frames.contains(&frame)
    }

    /// The number of frames, [`BATCH`] at most.
    pub(crate) fn len(&self) -> usize {
        self.frames.len()
    }
}

/// Pages in memory, and their way to the store.
pub(crate) struct Writeback {
    residency: Residency,
    space: PageSpace,
    wal: Arc<Wal>,
    /// The log records whose changes are in the pages.
    window: Arc<CommitWindow>,
    /// Numbers of trees by the page numbers of their roots.
    origins: RwLock<HashMap<u32, u32>>,
    counters: Arc<PoolCounters>,
}

impl Writeback {
    /// The way from these pages to that store.
    pub(crate) fn new(
        residency: Residency,
        space: PageSpace,
        wal: Arc<Wal>,
        window: Arc<CommitWindow>,
        counters: Arc<PoolCounters>,
    ) -> Self {
        Writeback { residency, space, wal, window, origins: RwLock::default(), counters }
    }

    /// The pages in memory.
    #[inline]
    pub(crate) fn residency(&self) -> &Residency {
        &self.residency
    }

    /// The pages on the store.
    pub(crate) fn space(&self) -> &PageSpace {
        &self.space
    }

    /// The log, which reaches the device before the pages that it speaks of.
    pub(crate) fn wal(&self) -> &Wal {
        &self.wal
    }

    /// True until all of the log is replayed.
    pub(crate) fn is_replaying(&self) -> bool {
        self.window.is_replaying()
    }

    /// Changes of records up to here are in a page, which is in a frame.
    pub(crate) fn included_in(&self, page: u32) -> u64 {
        self.window.included().min(self.residency.absent().lacks_from(page) - 1)
    }

    /// Names a tree in hotness records: `number` for its inner nodes and leaves.
    pub(crate) fn name_tree(&self, root: u32, number: u32) {
        self.origins.write().insert(root, number);
    }

    /// The origin of a page in hotness records: twice the number of its tree, one more for inner
    /// nodes. Trees without a number have 0.
    fn origin(&self, root: u32, is_inner: bool) -> u32 {
        let origins = self.origins.read();
        2 * origins.get(&root).copied().unwrap_or(0) + u32::from(is_inner)
    }

    /// Writes the pages of a batch. For an eviction their deltas are cached in place of that, where
    /// they have some, and frames of pages that did not change meanwhile are freed. Under the
    /// evictor's lock. Returns how many were written.
    pub(crate) fn write_batch(&self, batch: &mut Batch, cause: Cause) -> Result<u64, DbError> {
        if batch.frames.is_empty() {
            return Ok(0);
        }
        batch.copies.resize(BATCH, [0; PAGE_BYTES]);
        let mut pages = Vec::with_capacity(BATCH);
        let mut frames = Vec::with_capacity(BATCH);
        for (frame, copy) in batch.frames.drain(..).zip(&mut batch.copies) {
            let now = self.residency.frames().clock() + pages.len() as u64;
            if let Some(out) = self.copy_out(frame, copy, now)
                && !(cause == Cause::Eviction && self.cache_delta(frame, &out))
            {
                pages.push(out);
                frames.push(frame);
            }
        }
        let publish = |needed| self.wait_for_log(needed);
        let write = |pages: &[Outgoing<'_>]| self.space.write(pages).map(|()| true);
        self.write(&frames, &pages, cause, publish, write)?;
        Ok(pages.len() as u64)
    }

    /// Writes those of these pages of the store that changed in memory, because cleaning would copy
    /// them as they are on the device: they need no write of their own when they are evicted.
    ///
    /// The evictor writes at the same time, or waits for this further up the same thread. A page
    /// that one of both is writing is left alone by the other; and the store takes a page from here
    /// only while the version is valid that cleaning would copy, so none comes after a trim.
    pub(crate) fn write_newer(&self, lbas: &[u32], write: &mut dyn FnMut(PageWrite<'_>) -> bool) {
        let frames = self.residency.frames();
        for page in lbas.iter().filter_map(|lba| lba.checked_sub(self.space.first)) {
            let Ok(Residence::Frame(frame)) = self.residency.table().residence(page) else {
                continue;
            };
            let mut copy = [0; PAGE_BYTES];
            let is_dirty = frames.header(frame).is_dirty();
            let Some(out) =
                is_dirty.then(|| self.copy_out(frame, &mut copy, frames.clock())).flatten()
            else {
                continue;
            };
            let wait = |needed| self.wal.wait(needed).map_err(DbError::from);
            // The frame may have got another page meanwhile, which is not asked for.
            let write = |pages: &[Outgoing<'_>]| {
                Ok(pages.iter().all(|out| out.page == page && write(self.space.page_write(out))))
            };
            // A page that can't be written stays as it is, and the next write of it gets the error.
            let _ = self.write(&[frame], &[out], Cause::Cleaning, wait, write);
        }
    }

    /// Writes pages that never were in memory, and whose log record is durable.
    pub(crate) fn write_ahead(&self, pages: &[Outgoing<'_>]) -> Result<(), DbError> {
        self.space.write(pages)?;
        self.residency.frames().note_writes(pages.len());
        Ok(())
    }

    /// The hotness record of a page of a tree that never was in memory.
    pub(crate) fn of_new(&self, root: u32, is_inner: bool) -> Hotness {
        Hotness { origin: self.origin(root, is_inner), ..Hotness::default() }
    }

    /// Waits for the log, writes copies of pages, and ends their writes.
    fn write<'c>(
        &self,
        frames: &[u32],
        pages: &[Outgoing<'c>],
        cause: Cause,
        wait_for_log: impl FnOnce(u64) -> Result<(), DbError>,
        write: impl FnOnce(&[Outgoing<'c>]) -> Result<bool, DbError>,
    ) -> Result<(), DbError> {
        let needed = pages.iter().map(|page| page.position).max().unwrap_or(0);
        let written = wait_for_log(needed).and_then(|()| write(pages));
        let arrived = matches!(written, Ok(true));
        if arrived {
            self.count(pages.len(), cause);
        }
        for (&frame, out) in frames.iter().zip(pages) {
            self.end_write(frame, out, arrived, cause);
        }
        written.map(drop)
    }

    fn count(&self, pages: usize, cause: Cause) {
        self.residency.frames().note_writes(pages);
        let counter = match cause {
            Cause::Eviction => &self.counters.evicted_dirty,
            Cause::Checkpoint => &self.counters.checkpointed,
            Cause::Cleaning => &self.counters.rewritten,
        };
        counter.fetch_add(pages as u64, Relaxed);
    }

    /// Waits until the log is durable up to a position, before pages are written. The store is
    /// told, so that the headers of those pages tell it too.
    fn wait_for_log(&self, position: u64) -> Result<(), DbError> {
        if position > self.wal.durable() {
            self.wal.wait(position)?;
        }
        self.space.publish_durable(self.wal.durable())
    }

    /// True if a frame's page changed after this position of the log, and is not written since.
    pub(crate) fn is_newer(&self, frame: u32, position: u64) -> bool {
        let frames = self.residency.frames();
        if !frames.header(frame).is_dirty() {
            return false;
        }
        frames.try_hold(frame).is_some_and(|mut held| {
            held.leave_unchanged();
            held.node().position() > position
        })
    }

    /// Copies a changed page for a write, with its hotness record. None if it is latched, or not
    /// changed any more.
    pub(super) fn copy_out<'c>(
        &self,
        frame: u32,
        copy: &'c mut [u8; PAGE_BYTES],
        now: u64,
    ) -> Option<Outgoing<'c>> {
        let mut held = self.residency.frames().try_hold(frame)?;
        held.leave_unchanged();
        let header = held.header();
        let ready = header.page() != NO_PAGE && header.is_dirty() && !header.is_being_written();
        if !ready {
            return None;
        }
        let node = held.node();
        let origin = self.origin(node.tree(), node.level() > 0);
        let current = header.usage.activity(node.valid_bytes());
        let hotness = held.edit().next_record(origin, current, now);
        let included = self.included_in(header.page()).min(held.node().position());
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

    /// Caches the delta of a page in place of a write, and frees its frame. False if too many of
    /// its words changed, or the page changed meanwhile.
    pub(super) fn cache_delta(&self, frame: u32, out: &Outgoing<'_>) -> bool {
        let has_room = self.residency.absent().most_bytes() > 0;
        let Some(changed) = out.changed.filter(|_| has_room) else { return false };
        let mut held = self.residency.frames().hold(frame);
        let header = held.header();
        let delta = self.space.store.delta(out.bytes, &changed);
        let is_same = header.page() == out.page && !header.is_dirty();
        let Some(delta) = delta.filter(|_| is_same) else {
            held.leave_unchanged();
            return false;
        };
        let (position, dirty_from) = (out.position, header.needs_log_from());
        let delta = CachedDelta { delta, position, dirty_from, hotness: out.hotness };
        self.counters.kept.fetch_add(1, Relaxed);
        self.residency.evict(held, Some(delta));
        true
    }

    /// Evicts the page of a frame if it is as on the device. False if it is latched or changed.
    pub(crate) fn evict_clean(&self, frame: u32) -> bool {
        let Some(mut held) = self.residency.frames().try_hold(frame) else { return false };
        let header = held.header();
        if header.page() == NO_PAGE || header.needs_log_from() != CLEAN {
            held.leave_unchanged();
            return false;
        }
        self.counters.evicted_clean.fetch_add(1, Relaxed);
        self.residency.evict(held, None);
        true
    }

    /// Ends the write of a page, and frees its frame if it is to be evicted and did not change
    /// meanwhile.
    pub(super) fn end_write(&self, frame: u32, out: &Outgoing<'_>, arrived: bool, cause: Cause) {
        let frames = self.residency.frames();
        let mut held = frames.hold(frame);
        let header = held.header();
        if header.page() != out.page {
            // The page was freed meanwhile, and its frame left to the writer.
            assert_eq!(header.page(), NO_PAGE, "frame {frame} belongs to its writer");
            drop(held);
            frames.give(frame);
            return;
        }
        header.end_write(arrived);
        match out.changed.map_or(RecordKind::Image, |changed| changed.kind()) {
            RecordKind::Image if !arrived => held.bytes().note(ChangedWords::forget_base),
            RecordKind::Delta if !arrived => held.bytes().note(ChangedWords::forget_delta),
            _ => {}
        }
        if arrived && cause == Cause::Eviction && !header.is_dirty() {
            self.residency.evict(held, None);
        } else {
            held.leave_unchanged();
        }
    }

    /// Writes deltas of absent pages, which are in use for it. Under the evictor's lock. Returns how
    /// many were written. One whose page has to be written as a whole, and can't be read, stays in
    /// the cache. A checkpoint gets the error; a thread that needs memory has nothing to do with it.
    pub(crate) fn write_deltas(
        &self,
        deltas: Vec<(u32, CachedDelta)>,
        cause: Cause,
    ) -> Result<usize, DbError> {
        let needed = deltas.iter().map(|(_, delta)| delta.position).max().unwrap_or(0);
        let sent = self.wait_for_log(needed).and_then(|()| self.send_deltas(&deltas));
        let mut written = 0;
        for (page, delta) in deltas {
            let arrived =
                sent.as_ref().is_ok_and(|unread| unread.iter().all(|&(other, _)| other != page));
            written += usize::from(arrived);
            self.residency.absent().end_write(page, delta, arrived);
        }
        self.count(written, cause);
        match sent?.pop() {
            Some((_, error)) if cause == Cause::Checkpoint => Err(error),
            _ => Ok(written),
        }
    }

    /// Sends deltas to the store, and in place of those that it takes none of whole pages. Returns
    /// the pages that can't be read for that.
    fn send_deltas(&self, deltas: &[(u32, CachedDelta)]) -> Result<Vec<(u32, DbError)>, DbError> {
        let out = deltas.iter().map(|(page, cached)| {
            let CachedDelta { delta, hotness, .. } = cached;
            OutgoingDelta { page: *page, delta, hotness: *hotness }
        });
        let refused = self.space.write_deltas(&out.collect::<Vec<_>>())?;
        let mut unread = Vec::new();
        for (page, cached) in deltas.iter().filter(|(page, _)| refused.contains(page)) {
            let mut bytes = [0; PAGE_BYTES];
            let read = self.space.read_with(*page, &cached.delta, &mut bytes);
            if is_lost(*page, &read) {
                continue;
            }
            match read {
                Ok(_) => self.write_whole(*page, cached, &mut bytes)?,
                Err(error) => unread.push((*page, error)),
            }
        }
        Ok(unread)
    }

    /// Writes a page, which was read with its delta.
    fn write_whole(
        &self,
        page: u32,
        cached: &CachedDelta,
        bytes: &mut [u8; PAGE_BYTES],
    ) -> Result<(), DbError> {
        let middle = middle(bytes);
        bytes[middle].fill(0);
        let CachedDelta { position, hotness, .. } = *cached;
        self.space.write(&[Outgoing { page, bytes, position, hotness, changed: None }])
    }
}

/// True if a page could not be read as it is lost: changes of it that wait in memory are lost with
/// it.
pub(super) fn is_lost<T>(page: u32, read: &Result<T, DbError>) -> bool {
    let is_lost =
        matches!(read, Err(DbError::Store(error)) if matches!(**error, StoreError::Lost { .. }));
    if is_lost {
        tracing::error!(page, "a page is lost, and changes of it with it");
    }
    is_lost
}

/// The words of a page that is about to be written, to a store with deltas, in which it differs
/// from its base and delta, but for the activity, which changes with each write and hardly tells
/// more than that of the base; none if they are too many for a delta: then the page becomes the
/// base itself.
fn delta_of(page: &PageBytes) -> Option<ChangedWords> {
    let middle = middle_words(page);
    NodeMut::of(page).depart();
    let changed = page.changed_outside(&[middle.clone(), ACTIVITY_WORDS]);
    let kind = changed.kind();
    if kind != RecordKind::Image && !page.is_all_changed() {
        if kind == RecordKind::Delta {
            page.note(ChangedWords::begin_delta);
        }
        // The delta does not have these words, and the store may take the page for a base after
        // all, with zeroes in them.
        page.mark_range(middle);
        return Some(changed);
    }
    clear_middle(page);
    page.note(|changed| changed.begin_base(changed.shift_number()));
    NodeMut::of(page).mark_behind();
    None
}

#[cfg(test)]
mod tests {
    use frostline_store::{Format, Open, Store};
    use frostline_zone::{Shape, in_memory};

    use super::*;
    use crate::node::{Fences, Record, SLOTS};

    /// A leaf with room for some records of 48 bytes more, and what inserts one somewhere.
    fn leaf(insert: impl Fn(&mut NodeMut<'_>, u64)) -> Box<PageBytes> {
        let page = PageBytes::zeroed();
        let mut node = NodeMut::format(&page, 9, 0, Fences { lower: &[], upper: None });
        (0..50).for_each(|n| insert(&mut node, n));
        page.note(|changed| changed.begin_base(changed.shift_number()));
        page
    }

    #[test]
    fn an_insert_of_48_bytes_takes_62_of_a_delta() {
        let device = in_memory(&Shape { bytes: 64 << 20, ..Shape::default() }).unwrap();
        Store::format(device.clone(), &Format::default()).unwrap();
        let store = Store::open(device, Open::default()).unwrap();
        let insert = |node: &mut NodeMut<'_>, n: u64| {
            let key = [n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes(); 2].concat();
            let (index, _) = node.node().search(&key);
            assert!(node.insert(index, &key, Record { value: &[n as u8; 32], flags: 0 }));
            node.raise_position(1000 + n);
        };
        let bytes = |inserts: u64| {
            let page = leaf(insert);
            (50..50 + inserts).for_each(|n| insert(&mut NodeMut::of(&page), n));
            let (mut copy, changed) = ([0; PAGE_BYTES], delta_of(&page).unwrap());
            page.copy_to(&mut copy);
            store.delta(&copy, &changed).unwrap().heap_bytes()
        };
        let [one, eleven] = [1, 11].map(bytes);
        assert!(one <= 112, "{one} bytes");
        assert!(eleven - one <= 10 * 62, "{} bytes", eleven - one);
    }

    #[test]
    fn words_in_the_middle_of_a_page_that_is_written_as_a_delta_count_as_changed_from_then_on() {
        // The store may take the page for a base, with zeroes where the frame has what was in use
        // before.
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
