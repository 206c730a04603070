//! Leaves that are to be looked at again, as they became emptier: another may have room for what is
//! left.
//!
//! A leaf is noted when it sinks, when recovery finds that a record of it was deleted, and when a
//! scan passes it in vain. The list is lost in a crash. A checkpoint visits all of it unless commits
//! are about to wait, so the log then has the deletes of those that were noted since.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::{Mutex, RwLock, RwLockWriteGuard};

use super::Trees;
use crate::DbError;
use crate::node::Node;
use crate::pool::ExclusiveGuard;

/// Leaves that are put off at least, and at most; between these a sixteenth of all pages.
const PUT_OFF: (usize, usize) = (8, 1024);

/// Leaves to be visited, by their pages.
#[derive(Default)]
pub(crate) struct Visits {
    state: Mutex<State>,
    /// A visit is due.
    is_due: AtomicBool,
    /// Each visit shares this.
    under_way: RwLock<()>,
    /// How often the records of a leaf became fewer or shorter.
    shorter: AtomicU64,
}

#[derive(Default)]
struct State {
    /// True for a page whose visit was put off before.
    due: BTreeMap<u32, bool>,
    /// In the order in which they were put off.
    put_off: VecDeque<u32>,
}

/// A visit that is due.
#[derive(Clone, Copy, Debug)]
struct Due {
    page: u32,
    /// It is not put off again.
    is_last: bool,
}

impl State {
    fn fall_due(&mut self, most: usize) {
        while self.put_off.len() > most {
            self.due.extend(self.put_off.pop_front().map(|page| (page, true)));
        }
    }
}

impl Visits {
    /// Notes a page to be visited. It may be no leaf any more when it is.
    pub(crate) fn note(&self, page: u32) {
        self.state.lock().due.entry(page).or_default();
        self.is_due.store(true, Relaxed);
    }

    /// Notes a leaf if it has sunk since it had so much room.
    pub(super) fn note_sunk(&self, held: &ExclusiveGuard<'_>, room: usize) {
        if held.node().room() > room {
            self.note_shorter();
        }
        if held.node().has_sunk(room) {
            self.note(held.page());
        }
    }

    /// The records of a leaf became fewer or shorter.
    pub(super) fn note_shorter(&self) {
        self.shorter.fetch_add(1, Relaxed);
    }

    /// How often the records of a leaf became fewer or shorter.
    pub(crate) fn shorter(&self) -> u64 {
        self.shorter.load(Relaxed)
    }

    /// Notes a leaf that was passed in vain, so that it is not the next time: it is empty, or has
    /// ghosts which no snapshot sees, as all see the log up to `oldest`, which takes a lock, and
    /// which have stayed there.
    pub(crate) fn note_passed(&self, node: Node<'_>, page: u32, oldest: impl FnOnce() -> u64) {
        let is_empty = node.count() == 0 && page != node.tree();
        if is_empty || node.ghosts() > 0 && node.position() <= oldest() {
            self.note(page);
        }
    }

    /// Puts off a visit: what it would do will soon take less, perhaps. The database has so many
    /// pages.
    pub(super) fn put_off(&self, page: u32, pages: u32) {
        let mut state = self.state.lock();
        if !state.put_off.contains(&page) {
            state.put_off.push_back(page);
        }
        state.fall_due((pages as usize / 16).clamp(PUT_OFF.0, PUT_OFF.1));
        self.is_due.store(!state.due.is_empty(), Relaxed);
    }

    /// All visits that were put off are due.
    pub(crate) fn all_fall_due(&self) {
        let mut state = self.state.lock();
        state.fall_due(0);
        self.is_due.store(!state.due.is_empty(), Relaxed);
    }

    /// Waits until no visit is under way. None begins until the guard is dropped.
    pub(crate) fn pause(&self) -> RwLockWriteGuard<'_, ()> {
        self.under_way.write()
    }

    /// The same, unless a visit takes long.
    pub(crate) fn pause_soon(&self) -> Option<RwLockWriteGuard<'_, ()>> {
        self.under_way.try_write_for(Duration::from_millis(20))
    }

    /// The next visit that is due.
    fn next(&self) -> Option<Due> {
        let mut state = self.state.lock();
        let next = state.due.pop_first();
        self.is_due.store(!state.due.is_empty(), Relaxed);
        next.map(|(page, is_last)| Due { page, is_last })
    }
}

impl Trees {
    /// Notes leaves that sank by changes that waited for them while they were absent.
    pub(crate) fn note_sunk_while_absent(&self) {
        self.pool.take_sunk().into_iter().for_each(|page| self.visits.note(page));
    }

    /// Makes the next visit that is due; false if there is none, or the log has no room for it.
    pub(crate) fn make_visit(&self) -> bool {
        if !self.visits.is_due.load(Relaxed) || self.log_is_short() {
            return false;
        }
        let Some(_under_way) = self.visits.under_way.try_read() else { return false };
        let Some(due) = self.visits.next() else { return false };
        // The leaf stays as it is. A scan that passes it gets the error, or notes it again.
        if let Err(error) = self.visit(due) {
            tracing::warn!(?due, %error, "a leaf is not merged with its neighbours");
        }
        true
    }

    /// Visits a leaf: removes its ghosts that no snapshot sees, and merges it with a neighbour if
    /// it is so empty that both fit into one page.
    fn visit(&self, due: Due) -> Result<(), DbError> {
        let Some((tree, lower)) = self.place_of_leaf(due.page)? else { return Ok(()) };
        self.remove_ghosts(tree, &lower)?;
        self.merge(tree, &lower, 0, due.is_last).map(drop)
    }
}
