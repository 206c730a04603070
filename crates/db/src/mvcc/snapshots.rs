//! Which snapshots are in use.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};
use std::sync::{Mutex, PoisonError};

use super::Window;

/// A place that nobody uses.
const UNUSED: u64 = u64::MAX;

/// Places in one block.
const BLOCK: usize = 64;

/// Blocks that there can be.
const BLOCKS: usize = 1024;

/// The snapshots in use, each in a place of its own.
pub struct Snapshots {
    places: Box<[AtomicU64]>,
    /// Places below this have been used.
    used: AtomicUsize,
    free: Mutex<Vec<u32>>,
}

/// A snapshot: what was committed up to a position of the log.
pub struct Snapshot<'s> {
    all: &'s Snapshots,
    place: u32,
    position: u64,
}

impl Default for Snapshots {
    fn default() -> Self {
        Snapshots {
            places: (0..BLOCK * BLOCKS).map(|_| AtomicU64::new(UNUSED)).collect(),
            used: AtomicUsize::new(0),
            free: Mutex::default(),
        }
    }
}

impl Snapshots {
    /// Takes a snapshot of what is complete now. None if there are too many already.
    pub fn take(&self, window: &Window) -> Option<Snapshot<'_>> {
        let place = self.free_place()?;
        let slot = &self.places[place as usize];
        let mut position = window.complete();
        loop {
            // Whoever looks for the oldest snapshot first asks the window and then the places: if
            // the window has not moved when this one is in its place, it is seen or not older.
            slot.store(position, SeqCst);
            let now = window.complete();
            if now == position {
                return Some(Snapshot { all: self, place, position });
            }
            position = now;
        }
    }

    fn free_place(&self) -> Option<u32> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = free.pop() {
            return Some(place);
        }
        let used = self.used.load(Relaxed);
        if used == self.places.len() {
            return None;
        }
        self.used.store(used + 1, SeqCst);
        Some(used as u32)
    }

    /// Everything that was replaced up to here is seen by nobody, now or later.
    pub fn oldest(&self, window: &Window) -> u64 {
        let now = window.complete();
        let used = self.used.load(SeqCst);
        let taken = self.places[..used].iter().map(|place| place.load(SeqCst));
        taken.min().unwrap_or(UNUSED).min(now)
    }
}

impl Snapshot<'_> {
    /// Up to where commits are seen.
    #[inline]
    pub fn position(&self) -> u64 {
        self.position
    }
}

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        self.all.places[self.place as usize].store(UNUSED, SeqCst);
        let mut free = self.all.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.push(self.place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_snapshot_in_use_counts() {
        let (all, window) = (Snapshots::default(), Window::new(5));
        assert_eq!(all.oldest(&window), 5);
        let first = all.take(&window).unwrap();
        drop(window.enter(10));
        let second = all.take(&window).unwrap();
        assert_eq!((first.position(), second.position(), all.oldest(&window)), (5, 10, 5));
        drop(first);
        assert_eq!(all.oldest(&window), 10);
        drop(second);
        drop(window.enter(20));
        assert_eq!(all.oldest(&window), 20);
    }
}
