//! Where each page is: one atomic word a page.
//!
//! Every transition is a method, which asserts the residence that the page had before. A page that
//! is in no frame comes into one by two of them, so that one thread reads it and the others wait.

use std::sync::atomic::{AtomicU32, Ordering::*};

use parking_lot::{Condvar, Mutex};

use super::frames::Zeroed;
use super::references::References;
use crate::DbError;
use crate::node::PAGE_BYTES;

/// The words of the table; from [`FRAME`] on they number the frames, and from [`KNOWN`] on they are
/// of absent pages of which something is known: the bytes that are free, and above them the
/// references.
const ABSENT: u32 = 0;
const LOADING: u32 = 1;
const UNUSED: u32 = 2;
const FRAME: u32 = 3;
const KNOWN: u32 = 1 << 31;
const ROOM_BITS: u32 = 31 - References::BITS;

const _: () = assert!(PAGE_BYTES < 1 << ROOM_BITS, "a word has room for the bytes of a page");

/// The most frames that a table can number.
pub(super) const MOST_FRAMES: usize = (KNOWN - FRAME) as usize;

/// What the table tells of an absent page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    /// It has so many bytes free for sure.
    pub room: u32,
    /// The keys that may have references, if it is a leaf.
    pub references: References,
}

impl Known {
    /// Nothing is.
    const NOTHING: Known = Known { room: 0, references: References::ANY };
}

/// Where a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Residence {
    /// The page is not in use. A thread that has its number from an outdated node must not read it:
    /// it may be used again meanwhile.
    Unused,
    /// The page is on the store; memory may have parts of it, and this is known of it. Pages that
    /// were never used are here too.
    Absent(Known),
    /// A thread reads the page.
    Loading,
    /// The page is in this frame.
    Frame(u32),
}

impl Residence {
    #[inline(always)]
    fn of(word: u32) -> Residence {
        match word {
            ABSENT => Residence::Absent(Known::NOTHING),
            LOADING => Residence::Loading,
            UNUSED => Residence::Unused,
            known if known >= KNOWN => Residence::Absent(Known {
                room: known & ((1 << ROOM_BITS) - 1),
                references: References::of_number((known - KNOWN) >> ROOM_BITS),
            }),
            frame => Residence::Frame(frame - FRAME),
        }
    }

    #[inline(always)]
    fn word(self) -> u32 {
        match self {
            Residence::Absent(Known { room, references }) => {
                KNOWN | references.number() << ROOM_BITS | room
            }
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
        self.known(page).is_some()
    }

    /// True if a thread reads a page.
    pub(crate) fn is_loading(&self, page: u32) -> bool {
        matches!(self.residence(page), Ok(Residence::Loading))
    }

    /// True if a page is not in use.
    pub(crate) fn is_unused(&self, page: u32) -> bool {
        matches!(self.residence(page), Ok(Residence::Unused))
    }

    /// What the table tells of a page if it is absent, and nothing otherwise.
    pub(crate) fn known(&self, page: u32) -> Option<Known> {
        match self.residence(page) {
            Ok(Residence::Absent(known)) => Some(known),
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
        self.change(page, Residence::Loading, Residence::Absent(Known::NOTHING));
        self.wake();
    }

    /// From a frame to absent: this is known of the page. The caller holds the frame's latch.
    pub(crate) fn evict(&self, page: u32, frame: u32, known: Known) {
        assert!(known.room <= PAGE_BYTES as u32, "page {page} has more room than bytes");
        self.change(page, Residence::Frame(frame), Residence::Absent(known));
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

    const NINETY_NINE: Known = Known { room: 99, references: References::of_number(77) };

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
                table.evict(0, 7, NINETY_NINE);
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
            (Absent(Known::NOTHING), "begin_load", Loading),
            (Absent(NINETY_NINE), "begin_load", Loading),
            (Loading, "end_load", Frame(7)),
            (Loading, "cancel_load", Absent(Known::NOTHING)),
            (Frame(7), "evict", Absent(NINETY_NINE)),
            (Frame(7), "free", Unused),
            (Absent(Known::NOTHING), "free_absent", Unused),
            (Absent(NINETY_NINE), "free_absent", Unused),
            (Unused, "create", Frame(7)),
            (Unused, "build", Absent(Known::NOTHING)),
            (Absent(Known::NOTHING), "build", Absent(Known::NOTHING)),
            (Absent(NINETY_NINE), "build", Absent(Known::NOTHING)),
        ];
        for before in
            [Unused, Absent(Known::NOTHING), Absent(NINETY_NINE), Loading, Frame(7), Frame(8)]
        {
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
