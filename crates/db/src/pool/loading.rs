//! The way of pages from the store into memory.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::*};

use frostline_store::{ChangedWords, PageRead};
use frostline_zone::AlignedBuf;

use super::kept_changes::Changes;
use super::{ABSENT, FRAME, LOADING, Pool, UNUSED};
use crate::DbError;
use crate::node::{PAGE_BYTES, middle};

/// Bytes of a word.
const WORD: usize = 8;

/// Pages that are worth reading together, at most.
pub const TOGETHER: usize = 32;

/// A page on its way into memory: others wait for it.
struct Arriving<'p> {
    page: u32,
    /// Its entry of the table.
    entry: &'p AtomicU32,
    /// Where it goes to.
    frame: u32,
    /// Changes that were kept of it.
    kept: Option<Arc<Changes>>,
}

impl Pool {
    /// Reads a page into memory, or waits until another thread has.
    #[cold]
    pub(super) fn load(&self, page: u32) -> Result<(), DbError> {
        let entry = self.entry(page)?;
        if let Err(found) = entry.compare_exchange(ABSENT, LOADING, AcqRel, Acquire) {
            if found == UNUSED {
                return Err(DbError::Page { page, what: "is needed, and is not in use" });
            }
            let mut guard = self.loading.lock();
            while entry.load(Acquire) == LOADING {
                self.loaded.wait(&mut guard);
            }
            return Ok(());
        }
        let frame = match self.take_free() {
            Ok(frame) => frame,
            Err(error) => {
                self.stays_absent(entry);
                return Err(error);
            }
        };
        // Optimistic guards of the frame may still read: so bytes reach it through atomic stores
        // only.
        thread_local! {
            static BYTES: RefCell<AlignedBuf> = RefCell::new(AlignedBuf::zeroed(PAGE_BYTES));
        }
        BYTES.with_borrow_mut(|bytes| {
            let arriving = Arriving { page, entry, frame, kept: self.kept.borrow(page) };
            let read = match &arriving.kept {
                None => self.space.read(page, bytes),
                Some(kept) => self.space.read_with(page, &kept.delta, bytes),
            };
            self.end_load(&arriving, read, bytes)
        })
    }

    /// Reads those of some pages into memory that are not there, side by side: as many as there are frames for in half of
    /// the free ones. A page that can't be read stays on the device, and the next thread that needs it gets the error.
    pub fn load_together(&self, pages: impl IntoIterator<Item = u32>) {
        let absent: Vec<_> = pages.into_iter().filter(|&page| self.is_absent(page)).collect();
        if absent.is_empty() {
            return;
        }
        if self.free_frames() <= self.low_water()
            && let Some(mut evictor) = self.evictor.try_lock()
        {
            // The next thread that needs a frame gets the error.
            let _ = evictor.keep_free(self);
        }
        let most = self.free_frames() / 2;
        let begin = |page| {
            let entry = self.entry(page).ok()?;
            entry.compare_exchange(ABSENT, LOADING, AcqRel, Acquire).ok()?;
            let Some(frame) = self.take_without_wait() else {
                self.stays_absent(entry);
                return None;
            };
            Some(Arriving { page, entry, frame, kept: self.kept.borrow(page) })
        };
        let arriving: Vec<_> = absent.into_iter().filter_map(begin).take(most).collect();
        let mut bytes = AlignedBuf::zeroed(arriving.len() * PAGE_BYTES);
        let begun = arriving.iter().zip(bytes.chunks_mut(PAGE_BYTES));
        let mut reads: Vec<_> = begun
            .map(|(arriving, page)| PageRead {
                lba: self.space.first + arriving.page,
                kept: arriving.kept.as_ref().map(|kept| &kept.delta),
                page,
                changed: ChangedWords::NONE,
            })
            .collect();
        let results = self.space.read_together(&mut reads);
        drop(reads);
        for ((arriving, read), bytes) in arriving.iter().zip(results).zip(bytes.chunks(PAGE_BYTES))
        {
            let _ = self.end_load(arriving, read, bytes);
        }
    }

    /// Ends the way of a page that was read, or could not be.
    fn end_load(
        &self,
        arriving: &Arriving<'_>,
        read: Result<ChangedWords, DbError>,
        bytes: &[u8],
    ) -> Result<(), DbError> {
        self.counters.read.fetch_add(1, Relaxed);
        let arrived = read.and_then(|changed| self.arrive(arriving, changed, bytes));
        if arrived.is_ok() {
            self.wake_waiting();
        } else {
            if arriving.kept.is_some() {
                self.kept.release(arriving.page);
            }
            self.give_free(arriving.frame);
            self.stays_absent(arriving.entry);
        }
        arrived
    }

    /// Puts a page that was read into its frame, with what memory has of it, and enters it in the table.
    fn arrive(
        &self,
        arriving: &Arriving<'_>,
        mut changed: ChangedWords,
        bytes: &[u8],
    ) -> Result<(), DbError> {
        let &Arriving { page, entry, frame, ref kept } = arriving;
        if kept.is_some() {
            // The records on the device that these changes replace were not read. They may have words that are in
            // the middle by now, and once cleaning has merged them the base has these words.
            let middle = middle(bytes);
            changed.add(middle.start.div_ceil(WORD)..middle.end / WORD);
        }
        let mut held = self.hold_free(frame);
        held.bytes().set(bytes, &changed);
        held.edit().mark_behind();
        if !held.node().is_sound() {
            return Err(DbError::Page { page, what: "is no node" });
        }
        let header = held.header();
        header.set_page(page, self.next_stay());
        // Otherwise it would be worth less than any other page before its first use.
        self.touch(header);
        if let Some(kept) = kept {
            header.changed(kept.dirty_from);
        }
        self.records.give_back(page, |records| {
            records.map_or(Ok(()), |records| held.take_back(records))?;
            // While the latch is held: once it is free, the page may leave again at once.
            entry.store(frame + FRAME, Release);
            Ok(())
        })?;
        // A checkpoint looks for changes that need the log in the pages last.
        if kept.is_some() {
            self.kept.forget(page);
        }
        Ok(())
    }

    /// A page that was to be read is still not in memory.
    fn stays_absent(&self, entry: &AtomicU32) {
        entry.store(ABSENT, Release);
        self.wake_waiting();
    }

    /// Wakes threads that wait for a page which was being read.
    fn wake_waiting(&self) {
        drop(self.loading.lock());
        self.loaded.notify_all();
    }
}
