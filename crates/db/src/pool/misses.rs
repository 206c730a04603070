//! Steps that do not wait for the device: a page that one of them misses is noted, not read.
//!
//! A step is the synchronous code, run on the thread that polls a future. Where it would read a
//! page it fails with [`DbError::NotInMemory`]. Once the pages are in memory it runs again, from
//! its beginning. The thread knows what it is doing, so that the code between needs no form of its
//! own for this; it asks only where it would wait anyway.

use std::cell::{Cell, RefCell};

use crate::DbError;

/// The mode of a thread: it decides what happens where the thread would wait.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// It waits.
    Waiting,
    /// It notes what it would wait for, and fails.
    Noting,
    /// It waits, as there is no way back, but leaves to other threads what they can do later.
    Committing,
}

/// Pages that a step missed.
#[derive(Debug, Default)]
pub(crate) struct Misses {
    /// In the last run.
    pub pages: Vec<u32>,
    /// In the runs before.
    before: Vec<u32>,
    /// The last run missed a page that was read for it before.
    pub has_lost: bool,
}

thread_local! {
    static MODE: Cell<Mode> = const { Cell::new(Mode::Waiting) };
    static MISSES: RefCell<Misses> = const {
        RefCell::new(Misses { pages: Vec::new(), before: Vec::new(), has_lost: false })
    };
}

/// The mode that the thread had before.
pub(crate) struct ModeBefore(Mode);

impl Drop for ModeBefore {
    fn drop(&mut self) {
        MODE.set(self.0);
    }
}

/// Runs a step that notes what it misses.
pub(crate) fn noting<T>(misses: &mut Misses, step: impl FnOnce() -> T) -> T {
    /// The misses are the thread's as long as the step runs.
    struct Lent<'m>(&'m mut Misses);

    impl Lent<'_> {
        fn swap(&mut self) {
            MISSES.with_borrow_mut(|thread| std::mem::swap(thread, self.0));
        }
    }

    impl Drop for Lent<'_> {
        fn drop(&mut self) {
            self.swap();
        }
    }

    misses.before.append(&mut misses.pages);
    misses.has_lost = false;
    let mut lent = Lent(misses);
    lent.swap();
    let _before = ModeBefore(MODE.replace(Mode::Noting));
    step()
}

/// From here on there is no way back: until the guard is dropped, a step waits for what it lacks.
pub(crate) fn committing() -> ModeBefore {
    let before = MODE.get();
    if before == Mode::Noting {
        MODE.set(Mode::Committing);
    }
    ModeBefore(before)
}

/// The same for a commit that did not begin as a step.
pub(crate) fn leaving_work() -> ModeBefore {
    ModeBefore(MODE.replace(Mode::Committing))
}

/// The thread leaves to others what they can do later.
pub(crate) fn leaves_work() -> bool {
    MODE.get() != Mode::Waiting
}

/// Notes pages that the thread would read, if it runs a step; false if it is to read them.
#[cold]
pub(crate) fn note(pages: impl IntoIterator<Item = u32>) -> bool {
    let is_noting = MODE.get() == Mode::Noting;
    if is_noting {
        MISSES.with_borrow_mut(|misses| {
            for page in pages {
                if !misses.pages.contains(&page) {
                    misses.has_lost |= misses.before.contains(&page);
                    misses.pages.push(page);
                }
            }
        });
    }
    is_noting
}

/// Fails if the thread runs a step: it lacks room that others make.
pub(crate) fn lack_room() -> Result<(), DbError> {
    match MODE.get() {
        Mode::Noting => Err(DbError::NotInMemory { page: 0 }),
        Mode::Waiting | Mode::Committing => Ok(()),
    }
}

/// Fails if the step has missed a page that it has not looked at yet.
pub(crate) fn check() -> Result<(), DbError> {
    if MODE.get() != Mode::Noting {
        return Ok(());
    }
    let first = MISSES.with_borrow(|misses| misses.pages.first().copied());
    first.map_or(Ok(()), |page| Err(DbError::NotInMemory { page }))
}

/// True if the step missed this page in an earlier run.
#[inline]
pub(crate) fn was_missed(page: u32) -> bool {
    #[cold]
    fn is_among(page: u32) -> bool {
        MISSES.with_borrow(|misses| misses.before.contains(&page))
    }
    MODE.get() == Mode::Noting && is_among(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_step_notes_pages_and_knows_them_in_its_next_run() {
        let mut misses = Misses::default();
        assert!(!note([1]) && check().is_ok());
        noting(&mut misses, || {
            assert!(note([7, 8]) && note([8]) && !was_missed(7));
            assert!(matches!(check(), Err(DbError::NotInMemory { page: 7 })));
            let _no_way_back = committing();
            assert!(!note([9]) && check().is_ok() && lack_room().is_ok());
        });
        assert_eq!((&misses.pages[..], misses.has_lost), (&[7, 8][..], false));
        assert!(!leaves_work() && !was_missed(7));
        noting(&mut misses, || {
            assert!(was_missed(7) && !was_missed(9) && check().is_ok());
            assert!(note([9]) && lack_room().is_err());
        });
        assert_eq!((&misses.pages[..], misses.has_lost), (&[9][..], false));
        noting(&mut misses, || assert!(note([8])));
        assert!(misses.has_lost);
    }

    #[test]
    fn a_step_that_panics_leaves_the_thread_as_it_was() {
        let mut misses = Misses::default();
        let step = std::panic::AssertUnwindSafe(|| noting(&mut misses, || panic!("planted")));
        assert!(std::panic::catch_unwind(step).is_err());
        assert!(!note([1]) && check().is_ok());
    }
}
