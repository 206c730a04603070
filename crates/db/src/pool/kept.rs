//! Changes of pages that left memory: their words wait here to be written, and a page that comes back
//! before takes them along.
//!
//! A changed page is written when it leaves memory, mostly for one record. Pages that are changed again and
//! again, but too rarely to stay, would be written each time. Their changes take a tenth of the memory that
//! they take, so they stay about as much longer, and several are written as one.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use frostline_placement::Hotness;
use frostline_store::PageDelta;
use parking_lot::{Condvar, Mutex, MutexGuard};

use super::CLEAN;

/// Bytes for a page besides its delta, about: its entries in both tables, and what the allocator adds.
const OVERHEAD: usize = 128;

/// The changes of a page.
pub struct Changes {
    /// The words that changed since its base.
    pub delta: PageDelta,
    /// The log position of the last change.
    pub position: u64,
    /// The log position from which recovery would redo them.
    pub dirty_from: u64,
    /// The page's hotness record.
    pub hotness: Hotness,
    /// Bytes of the page in use.
    pub used_bytes: u16,
}

impl Changes {
    fn memory_bytes(&self) -> usize {
        OVERHEAD + size_of::<Changes>() + self.delta.memory_bytes()
    }
}

/// Changes of pages that are not in memory. A page is in memory or has changes here, except while it comes
/// back.
pub struct KeptChanges {
    state: Mutex<State>,
    /// Changes are not in use any more.
    released: Condvar,
    most_bytes: usize,
}

#[derive(Default)]
struct State {
    by_page: HashMap<u32, Entry>,
    /// Pages and the numbers of their entries, the oldest first. Those of entries that are gone stay.
    order: VecDeque<(u32, u64)>,
    numbered: u64,
    bytes: usize,
}

struct Entry {
    number: u64,
    changes: Arc<Changes>,
    /// They are on the way to the store, or back to the page.
    in_use: bool,
}

impl KeptChanges {
    /// None, and room for so many bytes.
    pub fn new(most_bytes: usize) -> Self {
        KeptChanges { state: Mutex::default(), released: Condvar::new(), most_bytes }
    }

    /// Bytes of memory that changes take at most.
    pub fn most_bytes(&self) -> usize {
        self.most_bytes
    }

    /// Keeps changes of a page that leaves memory.
    pub fn keep(&self, page: u32, changes: Changes) {
        let mut state = self.state();
        let number = state.numbered;
        state.numbered += 1;
        state.bytes += changes.memory_bytes();
        let entry = Entry { number, changes: Arc::new(changes), in_use: false };
        let before = state.by_page.insert(page, entry);
        debug_assert!(before.is_none(), "page {page} was not in memory");
        state.order.push_back((page, number));
        state.tidy();
    }

    /// Changes of a page that comes back, for its use until it is [released](Self::release) or
    /// [forgotten](Self::forget). Waits until they are not on the way to the store.
    pub fn borrow(&self, page: u32) -> Option<Arc<Changes>> {
        let mut state = self.state();
        loop {
            match state.by_page.get_mut(&page)? {
                entry if entry.in_use => self.released.wait(&mut state),
                entry => {
                    entry.in_use = true;
                    return Some(entry.changes.clone());
                }
            }
        }
    }

    /// Changes of a page stay, as it did not come back, or they did not reach the store.
    pub fn release(&self, page: u32) {
        if let Some(entry) = self.state().by_page.get_mut(&page) {
            entry.in_use = false;
        }
        self.released.notify_all();
    }

    /// Forgets changes of a page: it has them in memory or in the store, or is free.
    pub fn forget(&self, page: u32) {
        let mut state = self.state();
        if let Some(entry) = state.by_page.remove(&page) {
            state.bytes -= entry.changes.memory_bytes();
            drop(state);
            self.released.notify_all();
        }
    }

    /// Bytes that all changes take beyond what they may.
    pub fn excess(&self) -> usize {
        self.state().bytes.saturating_sub(self.most_bytes)
    }

    /// Borrows changes that need the log from before `position`, the oldest first: `count` at most, until
    /// they take so many bytes.
    pub fn borrow_oldest(
        &self,
        position: u64,
        mut bytes: usize,
        count: usize,
    ) -> Vec<(u32, Arc<Changes>)> {
        let mut state = self.state();
        let State { by_page, order, .. } = &mut *state;
        let mut oldest = Vec::new();
        for &(page, number) in order.iter() {
            if bytes == 0 || oldest.len() == count {
                break;
            }
            let entry = by_page.get_mut(&page).filter(|entry| entry.number == number);
            let is_wanted = |entry: &&mut Entry| !entry.in_use && entry.changes.dirty_from < position;
            if let Some(entry) = entry.filter(is_wanted) {
                entry.in_use = true;
                bytes = bytes.saturating_sub(entry.changes.memory_bytes());
                oldest.push((page, entry.changes.clone()));
            }
        }
        oldest
    }

    /// The log position from which recovery would redo all changes; [`CLEAN`] if there are none.
    pub fn needs_log_from(&self) -> u64 {
        let state = self.state();
        state.by_page.values().map(|entry| entry.changes.dirty_from).min().unwrap_or(CLEAN)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    /// Removes numbers of entries that are gone, once they are most of all.
    fn tidy(&mut self) {
        let State { by_page, order, .. } = self;
        let is_there = |&(page, number): &(u32, u64)| {
            by_page.get(&page).is_some_and(|entry| entry.number == number)
        };
        while order.front().is_some_and(|first| !is_there(first)) {
            order.pop_front();
        }
        if order.len() > 2 * by_page.len() + 64 {
            order.retain(is_there);
        }
    }
}
