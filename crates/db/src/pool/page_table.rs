//! Where each page is: one atomic word a page.
//!
//! Every transition is a method, which asserts the residence that the page had before. A page that
//! is in no frame comes into one by two of them, so that one thread reads it and the others wait.

use std::sync::atomic::{AtomicU32, Ordering::*};

use parking_lot::{Condvar, Mutex};

use super::frames::Zeroed;
use crate::DbError;
use crate::node::PAGE_BYTES;

/// The words of the table; from [`FRAME`] on they number the frames, and from [`ROOM`] on they are
/// of absent pages of which it is known how many bytes are free.
const ABSENT: u32 = 0;
const LOADING: u32 = 1;
const UNUSED: u32 = 2;
const FRAME: u32 = 3;
const ROOM: u32 = 1 << 31;

/// The most frames that a table can number.
pub(super) const MOST_FRAMES: usize = (ROOM - FRAME) as usize;

/// Where a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Residence {
    /// The page is not in use. A thread that has its number from an outdated node must not read it:
    /// it may be used again meanwhile.
    Unused,
    /// The page is on the store; memory may have parts of it. It has so many bytes free for sure.
    /// Pages that were never used are here too.
    Absent(u32),
    /// A thread reads the page.
    Loading,
    /// The page is in this frame.
    Frame(u32),
}

impl Residence {
    #[inline(always)]
    fn of(word: u32) -> Residence {
        match word {
            ABSENT => Residence::Absent(0),
            LOADING => Residence::Loading,
            UNUSED => Residence::Unused,
            room if room >= ROOM => Residence::Absent(room - ROOM),
            frame => Residence::Frame(frame - FRAME),
        }
    }

    #[inline(always)]
    fn word(self) -> u32 {
        match self {
            Residence::Absent(room) => ROOM + room,
            Residence::Loading => LOADING,
            Residence::Unused => UNUSED,
            Residence::Frame(frame) => frame + FRAME,
        }
    }
}

/// The residence of each page.
pub(crate) struct PageTable {
    /// By page number. Zeroes that were never touched take no memory.
    words: Zeroed<AtomicU32>,
    waiting: Mutex<()>,
    loaded: Condvar,
}

impl PageTable {
    /// All pages are absent. None if the system refuses the memory.
    pub(crate) fn new(pages: usize) -> Option<Self> {
        let words = Zeroed::new(pages)?;
        Some(PageTable { words, waiting: Mutex::new(()), loaded: Condvar::new() })
    }

    /// Bytes of memory that the table takes.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.words)
    }

    #[inline(always)]
    fn entry(&self, page: u32) -> Result<&AtomicU32, DbError> {
        match self.words.get(page as usize) {
            Some(entry) => Ok(entry),
            None => Err(DbError::Page { page, what: "its number is beyond the database" }),
        }
    }

    /// Where a page is. An error if its number is beyond the database.
    #[inline(always)]
    pub(crate) fn residence(&self, page: u32) -> Result<Residence, DbError> {
        Ok(Residence::of(self.entry(page)?.load(Acquire)))
    }

    /// True if a page is absent.
    pub(crate) fn is_absent(&self, page: u32) -> bool {
        self.room(page).is_some()
    }

    /// True if a thread reads a page.
    pub(crate) fn is_loading(&self, page: u32) -> bool {
        matches!(self.residence(page), Ok(Residence::Loading))
    }

    /// The bytes that an absent page has free for sure; none if it is not absent.
    pub(crate) fn room(&self, page: u32) -> Option<u32> {
        match self.residence(page) {
            Ok(Residence::Absent(room)) => Some(room),
            _ => None,
        }
    }

    /// From absent to another word. False if the page was not absent.
    fn leave_absence(&self, page: u32, to: u32) -> Result<bool, DbError> {
        let is_absent = |word| matches!(Residence::of(word), Residence::Absent(_)).then_some(to);
        Ok(self.entry(page)?.fetch_update(AcqRel, Acquire, is_absent).is_ok())
    }

    /// From absent to loading: the caller reads the page. False if it was not absent.
    pub(crate) fn begin_load(&self, page: u32) -> Result<bool, DbError> {
        self.leave_absence(page, LOADING)
    }

    /// From loading into a frame. The caller holds its latch, and [wakes](Self::wake) those that
    /// wait.
    pub(crate) fn end_load(&self, page: u32, frame: u32) {
        self.change(page, Residence::Loading, Residence::Frame(frame));
    }

    /// From loading back to absent: the page could not be read.
    pub(crate) fn cancel_load(&self, page: u32) {
        self.change(page, Residence::Loading, Residence::Absent(0));
        self.wake();
    }

    /// From a frame to absent: the page has so many bytes free. The caller holds the frame's latch.
    pub(crate) fn evict(&self, page: u32, frame: u32, room: usize) {
        assert!(room <= PAGE_BYTES, "page {page} has more room than bytes");
        self.change(page, Residence::Frame(frame), Residence::Absent(room as u32));
    }

    /// From a frame to unused. The caller holds the frame's latch.
    pub(crate) fn free(&self, page: u32, frame: u32) {
        self.change(page, Residence::Frame(frame), Residence::Unused);
    }

    /// From absent to unused. False if the page was not absent.
    pub(crate) fn free_absent(&self, page: u32) -> Result<bool, DbError> {
        self.leave_absence(page, UNUSED)
    }

    /// From unused to absent, or from a number that was never used: the page is written without a
    /// frame.
    pub(crate) fn build(&self, page: u32) -> Result<(), DbError> {
        let found = Residence::of(self.entry(page)?.swap(ABSENT, AcqRel));
        let is_free = matches!(found, Residence::Unused | Residence::Absent(_));
        assert!(is_free, "page {page}: {found:?}");
        Ok(())
    }

    /// From unused into a frame. The caller holds the frame's latch.
    pub(crate) fn create(&self, page: u32, frame: u32) {
        self.change(page, Residence::Unused, Residence::Frame(frame));
    }

    fn change(&self, page: u32, from: Residence, to: Residence) {
        let found = Residence::of(self.words[page as usize].swap(to.word(), AcqRel));
        assert_eq!(found, from, "page {page} was to become {to:?}");
    }

    /// Waits while another thread reads a page. An error if the page is not in use.
    pub(crate) fn wait_until_loaded(&self, page: u32) -> Result<(), DbError> {
        let mut guard = self.waiting.lock();
        loop {
            match self.residence(page)? {
                Residence::Loading => self.loaded.wait(&mut guard),
                Residence::Unused => {
                    return Err(DbError::Page { page, what: "is needed, and is not in use" });
                }
                Residence::Absent(_) | Residence::Frame(_) => return Ok(()),
            }
        }
    }

    /// Wakes threads that wait for a page which was being read.
    pub(crate) fn wake(&self) {
        drop(self.waiting.lock());
        self.loaded.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_goes_the_ways_of_the_table_only() {
        type Step = fn(&PageTable) -> bool;
        let steps: [(&str, Step); 8] = [
            ("begin_load", |table| table.begin_load(0).unwrap()),
            ("end_load", |table| {
                table.end_load(0, 7);
                true
            }),
            ("cancel_load", |table| {
                table.cancel_load(0);
                true
            }),
            ("evict", |table| {
                table.evict(0, 7, 99);
                true
            }),
            ("free", |table| {
                table.free(0, 7);
                true
            }),
            ("free_absent", |table| table.free_absent(0).unwrap()),
            ("build", |table| {
                table.build(0).unwrap();
                true
            }),
            ("create", |table| {
                table.create(0, 7);
                true
            }),
        ];
        use Residence::*;
        let legal = [
            (Absent(0), "begin_load", Loading),
            (Absent(99), "begin_load", Loading),
            (Loading, "end_load", Frame(7)),
            (Loading, "cancel_load", Absent(0)),
            (Frame(7), "evict", Absent(99)),
            (Frame(7), "free", Unused),
            (Absent(0), "free_absent", Unused),
            (Absent(99), "free_absent", Unused),
            (Unused, "create", Frame(7)),
            (Unused, "build", Absent(0)),
            (Absent(0), "build", Absent(0)),
            (Absent(99), "build", Absent(0)),
        ];
        for before in [Unused, Absent(0), Absent(99), Loading, Frame(7), Frame(8)] {
            for (name, step) in &steps {
                let table = PageTable::new(1).unwrap();
                table.words[0].store(before.word(), Relaxed);
                let went = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| step(&table)));
                let went = went.is_ok_and(|done| done);
                let to = legal.iter().find(|(from, by, _)| (*from, by) == (before, name));
                assert_eq!(went, to.is_some(), "{before:?} {name}");
                if let Some((_, _, after)) = to {
                    assert_eq!(table.residence(0).unwrap(), *after, "{before:?} {name}");
                }
            }
        }
        assert!(PageTable::new(1).unwrap().residence(1).is_err());
    }
}
