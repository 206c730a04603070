//! The moves of pages between the table, the frames and the cache of absent pages. No move reads or
//! writes the store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use frostline_store::ChangedWords;
use parking_lot::Mutex;

use super::absent::{AbsentCache, CachedDelta, Rows, Waiting};
use super::frames::{CLEAN, ExclusiveGuard, Frames, FreeFrame};
use super::ghost_hits::GhostHits;
use super::leaf_change::{before, change_leaf, has_room};
use super::page_table::{Known, PageTable, Residence};
use super::references::References;
use crate::DbError;
use crate::mvcc::{Versions, WriteKind};
use crate::node::{GHOST, Record, middle};

/// Bytes of a word.
const WORD: usize = 8;

/// All memory of pages.
pub(crate) struct Residency {
    table: PageTable,
    frames: Frames,
    absent: AbsentCache,
    ghosts: GhostHits,
    versions: Arc<Versions>,
    /// Pages that became emptier by changes that waited for them.
    sunk: Noted,
    /// Pages that came into frames without room for all changes that waited for them.
    overfull: Noted,
}

/// Pages to be looked at.
#[derive(Default)]
struct Noted {
    pages: Mutex<Vec<u32>>,
    has_any: AtomicBool,
}

impl Noted {
    fn note(&self, page: u32) {
        self.pages.lock().push(page);
        self.has_any.store(true, Relaxed);
    }

    /// Those that were noted since they were taken last.
    fn take(&self) -> Vec<u32> {
        match self.has_any.swap(false, Relaxed) {
            true => std::mem::take(&mut self.pages.lock()),
            false => Vec::new(),
        }
    }
}

/// A page that was read from the store, and a frame for it.
pub(crate) struct Arrival<'a> {
    /// Its number.
    pub page: u32,
    /// A frame that was free.
    pub frame: u32,
    /// What was read, with the cached delta applied.
    pub bytes: &'a [u8],
    /// The words in which it may differ from its base.
    pub changed: ChangedWords,
    /// The delta that was cached.
    pub delta: Option<&'a CachedDelta>,
    /// False if it is read only for what waits for it: it may leave at once.
    pub is_used: bool,
}

impl Residency {
    /// All pages are absent, and all frames free.
    pub(crate) fn new(
        table: PageTable,
        frames: Frames,
        absent: AbsentCache,
        ghosts: GhostHits,
        versions: Arc<Versions>,
    ) -> Self {
        let (sunk, overfull) = Default::default();
        Residency { table, frames, absent, ghosts, versions, sunk, overfull }
    }

    /// Where pages are.
    #[inline]
    pub(crate) fn table(&self) -> &PageTable {
        &self.table
    }

    /// The frames.
    #[inline]
    pub(crate) fn frames(&self) -> &Frames {
        &self.frames
    }

    /// Parts of pages that are in no frame.
    pub(crate) fn absent(&self) -> &AbsentCache {
        &self.absent
    }

    /// The reads that either side saves.
    pub(crate) fn ghosts(&self) -> &GhostHits {
        &self.ghosts
    }

    /// From unused or absent into a frame: the device does not have the page. An older copy in
    /// memory is dropped.
    pub(crate) fn create(
        &self,
        page: u32,
        frame: FreeFrame<'_>,
    ) -> Result<ExclusiveGuard<'_>, DbError> {
        self.forget(page, |_| ())?;
        let frame = frame.take();
        let mut held = self.frames.hold(frame);
        held.bytes().note(ChangedWords::forget_base);
        self.frames.occupy(&held, page);
        self.table.create(page, frame);
        Ok(held)
    }

    /// To unused, from wherever the page is: it is free. If it has changes that the device lacks,
    /// `keep_log` gets the log position of the first one before they are gone.
    pub(crate) fn forget(&self, page: u32, keep_log: impl FnOnce(u64)) -> Result<(), DbError> {
        loop {
            match self.table.residence(page)? {
                Residence::Unused => return Ok(()),
                Residence::Absent(_) => {
                    if self.table.free_absent(page)? {
                        self.absent.forget(page, keep_log);
                        return Ok(());
                    }
                }
                // A thread that reads a page that was freed meanwhile finds out afterwards.
                Residence::Loading => std::thread::yield_now(),
                Residence::Frame(frame) => {
                    if let Some(held) = self.frames.try_hold_page(frame, page) {
                        self.free(held, keep_log);
                        return Ok(());
                    }
                }
            }
        }
    }

    /// From a frame to unused: the held page is free, and is not written. `keep_log` is as above.
    pub(crate) fn free(&self, mut held: ExclusiveGuard<'_>, keep_log: impl FnOnce(u64)) {
        let (frame, page) = (held.frame(), held.page());
        let from = held.header().needs_log_from().min(self.absent.lacks_from(page));
        if from != CLEAN {
            keep_log(from);
        }
        self.absent.forget(page, |_| ());
        // Optimistic guards of the page must fail.
        held.changed();
        self.table.free(page, frame);
        // While a version is being written the frame belongs to the writer, which frees it.
        let is_being_written = held.header().is_being_written();
        held.header().clear();
        drop(held);
        if !is_being_written {
            self.frames.give(frame);
        }
    }

    /// From a frame to absent: the held page is as on the device but for a delta. Its rows stay.
    pub(crate) fn evict(&self, mut held: ExclusiveGuard<'_>, delta: Option<CachedDelta>) {
        let (frame, page) = (held.frame(), held.page());
        let header = held.header();
        assert!(!header.is_dirty(), "page {page} was not written");
        assert!(
            delta.is_some() || header.needs_log_from() == CLEAN,
            "page {page} is being written"
        );
        // While it is absent, rows wait for it as far as they fit, but no references.
        let node = held.node();
        let known = Known { room: node.room() as u32, references: References::of(node) };
        self.absent.keep(page, held.node(), delta);
        self.ghosts.note_eviction(page);
        self.table.evict(page, frame, known);
        header.clear();
        // Optimistic guards of the page must fail.
        held.changed();
        drop(held);
        self.frames.advance_clock();
        self.frames.give(frame);
    }

    /// From loading into a frame: the page was read, and gets what memory has of it. After an error
    /// the frame has no page.
    pub(crate) fn enter(&self, arrival: Arrival<'_>) -> Result<(), DbError> {
        let Arrival { page, frame, bytes, mut changed, delta, is_used } = arrival;
        if delta.is_some() {
            // The records on the device that the cached delta replaces were not read. They may have
            // words that are in the middle by now, and once cleaning has merged them the base has
            // these words.
            let middle = middle(bytes);
            changed.add(middle.start.div_ceil(WORD)..middle.end / WORD);
        }
        let mut held = self.frames.hold(frame);
        if !held.edit().arrive(bytes, changed) {
            return Err(DbError::Page { page, what: "is no node" });
        }
        self.frames.occupy(&held, page);
        let header = held.header();
        // Otherwise it would be worth less than any other page before its first use.
        if is_used {
            self.frames.touch(header);
        }
        if let Some(delta) = delta {
            header.changed(delta.dirty_from);
        }
        // A checkpoint looks for changes that need the log in the frames last.
        let given = self.absent.give_back(page, |rows| {
            let has_all = rows.map_or(Ok(true), |rows| self.write_rows(&mut held, rows));
            match has_all {
                // While the latch is held: once it is free, the page may be evicted again at once.
                Ok(_) => self.table.end_load(page, frame),
                Err(_) => header.clear(),
            }
            has_all
        });
        if !given? {
            self.overfull.note(page);
        }
        Ok(())
    }

    /// Gives a page in a frame the rows that it had no room for when it came. False if it still has
    /// not: it is to be split.
    pub(crate) fn give_rows(&self, held: &mut ExclusiveGuard<'_>) -> Result<bool, DbError> {
        let page = held.page();
        self.absent.give_back(page, |rows| match rows {
            Some(rows) => self.write_rows(held, rows),
            None => Ok(true),
        })
    }

    /// The held page was split, and the other half is in this page, which is held too. Both get the
    /// rows that wait.
    pub(crate) fn split_rows(
        &self,
        held: &mut ExclusiveGuard<'_>,
        separator: &[u8],
        other: &mut ExclusiveGuard<'_>,
    ) -> Result<(), DbError> {
        let from = self.absent.lacks_from(held.page());
        if from != CLEAN {
            // A checkpoint that misses them on their way finds this in the frames.
            [&*held, &*other].into_iter().for_each(|half| half.header().changed(from));
            self.absent.split(held.page(), separator, other.page());
            self.give_rows(held)?;
            self.give_rows(other)?;
        }
        Ok(())
    }

    /// Makes in a page the changes that waited for it, unless it has them; the values that they
    /// replace are kept for snapshots. False if it has no room for all: those that it has stay as
    /// they are when they are made once more. An error if they do not belong there, as may be in a
    /// damaged page.
    fn write_rows(&self, held: &mut ExclusiveGuard<'_>, rows: &Rows) -> Result<bool, DbError> {
        if held.node().included() >= rows.position() {
            return Ok(true);
        }
        // Recovery makes changes in no order: the page may have newer values than it gets here.
        held.edit().exclude(rows.dirty_from());
        // Some need the room that others leave.
        let has_all = self.try_rows(held, rows)? || self.try_rows(held, rows)?;
        held.header().changed(rows.dirty_from());
        Ok(has_all)
    }

    fn try_rows(&self, held: &mut ExclusiveGuard<'_>, rows: &Rows) -> Result<bool, DbError> {
        let (page, tree, room) = (held.page(), held.node().tree(), held.node().room());
        let refused = |what| Err(DbError::Page { page, what });
        let (mut has_ghost, mut has_all) = (false, true);
        for Waiting { key, change, is_added, leaves_ghost } in rows.waiting() {
            let node = held.node();
            if node.level() != 0 || !node.covers(key) {
                return refused("is not the leaf for which changes wait");
            }
            let (index, found) = node.search(key);
            let slot = found.then(|| node.slot(index));
            let is_as_it_was = slot.is_some_and(|slot| slot.value_len() == change.value.len());
            if !is_added && !is_as_it_was {
                return refused("lacks a record that changed meanwhile");
            }
            if !has_room(&held.edit(), key, slot, change, 0) {
                has_all = false;
                continue;
            }
            self.versions.fill(tree, key, |value| before(held.node(), slot, value));
            let is_changed = match found || !leaves_ghost {
                true => change_leaf(&mut held.edit(), index, found, key, change),
                false => {
                    self.versions.has(tree, key)
                        && held.edit().insert(index, key, Record { value: &[], flags: GHOST })
                }
            };
            if is_changed {
                held.changed_by(rows.position());
                has_ghost |= change.kind == WriteKind::Delete;
            }
        }
        if has_ghost || held.node().has_sunk(room) {
            self.sunk.note(page);
        }
        Ok(has_all)
    }

    /// Pages that became emptier, or have ghosts, by changes that waited for them, since this was
    /// asked last.
    pub(crate) fn take_sunk(&self) -> Vec<u32> {
        self.sunk.take()
    }

    /// Pages that came into frames without room for all changes that waited for them, since this was
    /// asked last. Perhaps they have them by now.
    pub(crate) fn take_overfull(&self) -> Vec<u32> {
        self.overfull.take()
    }
}
