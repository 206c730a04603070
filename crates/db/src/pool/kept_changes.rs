//! Changes of pages that left memory: their words wait here to be written, and a page that comes back
//! before takes them along.
//!
//! A changed page is written when it leaves memory, mostly for one record. Pages that are changed again and
//! again, but too rarely to stay, would be written each time. Their changes take a tenth of the memory that
//! they take, so they stay about as much longer, and several are written as one.

use std::sync::Arc;

use frostline_placement::Hotness;
use frostline_store::PageDelta;
use lru::LruCache;
use parking_lot::{Condvar, Mutex, MutexGuard};

use super::frame::CLEAN;

/// Bytes for a page besides its changes, about: its place in the list, and what the allocator adds.
const OVERHEAD: usize = 120;

/// The changes of a page.
pub struct Changes {
    /// The words that changed since its base, or since its delta on the device.
    pub delta: PageDelta,
    /// The log position of the last change.
    pub position: u64,
    /// The log position from which recovery would redo them.
    pub dirty_from: u64,
    /// The page's hotness record.
    pub hotness: Hotness,
}

impl Changes {
    fn memory_bytes(&self) -> usize {
        OVERHEAD + size_of::<Changes>() + self.delta.heap_bytes()
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

struct State {
    /// By page; the list begins with those that were kept last.
    by_page: LruCache<u32, Entry>,
    bytes: usize,
}

struct Entry {
    changes: Arc<Changes>,
    /// They are on the way to the store, or back to the page.
    in_use: bool,
}

impl KeptChanges {
    /// None, and room for so many bytes.
    pub fn new(most_bytes: usize) -> Self {
        let state = State { by_page: LruCache::unbounded(), bytes: 0 };
        KeptChanges { state: Mutex::new(state), released: Condvar::new(), most_bytes }
    }

    /// Bytes of memory that changes take at most.
    pub fn most_bytes(&self) -> usize {
        self.most_bytes
    }

    /// Keeps changes of a page that leaves memory.
    pub fn keep(&self, page: u32, changes: Changes) {
        let mut state = self.state();
        state.bytes += changes.memory_bytes();
        let entry = Entry { changes: Arc::new(changes), in_use: false };
        let before = state.by_page.put(page, entry);
        debug_assert!(before.is_none(), "page {page} was not in memory");
    }

    /// Changes of a page that comes back, for its use until it is [released](Self::release) or
    /// [forgotten](Self::forget). Waits until they are not on the way to the store.
    pub fn borrow(&self, page: u32) -> Option<Arc<Changes>> {
        let mut state = self.state();
        loop {
            match state.by_page.peek_mut(&page)? {
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
        if let Some(entry) = self.state().by_page.peek_mut(&page) {
            entry.in_use = false;
        }
        self.released.notify_all();
    }

    /// Forgets changes of a page: it has them in memory or in the store, or is free.
    pub fn forget(&self, page: u32) {
        let mut state = self.state();
        if let Some(entry) = state.by_page.pop(&page) {
            state.bytes -= entry.changes.memory_bytes();
            drop(state);
            self.released.notify_all();
        }
    }

    /// Pages whose changes are kept.
    pub fn len(&self) -> usize {
        self.state().by_page.len()
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
        let mut oldest = Vec::new();
        for (&page, entry) in state.by_page.iter_mut().rev() {
            if bytes == 0 || oldest.len() == count {
                break;
            }
            if !entry.in_use && entry.changes.dirty_from < position {
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
        state.by_page.iter().map(|(_, entry)| entry.changes.dirty_from).min().unwrap_or(CLEAN)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

#[cfg(test)]
mod tests {
    use frostline_store::{ChangedWords, Format, Open, Store};
    use frostline_zone::{Shape, in_memory};

    use super::*;

    fn changes(dirty_from: u64) -> Changes {
        let device = in_memory(&Shape { bytes: 64 << 20, ..Shape::default() }).unwrap();
        Store::format(device.clone(), &Format::default()).unwrap();
        let store = Store::open(device, Open::default()).unwrap();
        let delta =
            store.delta(&[1; 4096], &ChangedWords::from_bits([0; 8], [1, 0, 0, 0, 0, 0, 0, 0]));
        let (delta, hotness) = (delta.unwrap(), Hotness::default());
        Changes { delta, position: dirty_from, dirty_from, hotness }
    }

    #[test]
    fn the_oldest_changes_go_first_and_those_in_use_stay() {
        let one = changes(0).memory_bytes();
        let kept = KeptChanges::new(2 * one);
        assert_eq!((kept.needs_log_from(), kept.excess()), (CLEAN, 0));
        for (page, dirty_from) in [(4, 40), (1, 10), (3, 30), (2, 20)] {
            kept.keep(page, changes(dirty_from));
        }
        assert_eq!((kept.needs_log_from(), kept.excess()), (10, 2 * one));
        let pages = |position, bytes, count| {
            let borrowed = kept.borrow_oldest(position, bytes, count);
            borrowed.into_iter().map(|(page, _)| page).collect::<Vec<_>>()
        };
        assert_eq!(pages(CLEAN, kept.excess(), 8), [4, 1]);
        assert_eq!(pages(CLEAN, usize::MAX, 1), [3], "the others are in use");
        kept.release(3);
        kept.forget(1);
        assert_eq!(pages(30, usize::MAX, 8), [2], "changes that need the log from before 30");
        assert_eq!((kept.needs_log_from(), kept.excess()), (20, one));
        kept.release(4);
        assert_eq!(kept.borrow(4).unwrap().dirty_from, 40);
        assert!(kept.borrow(1).is_none(), "it was forgotten");
    }
}
