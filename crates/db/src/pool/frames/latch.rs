//! Optimistic latches: readers do not take them.

use std::sync::atomic::{AtomicU64, Ordering::*, fence};

use crate::backoff::Backoff;

/// A version that counts up with every change; odd while the latch is held.
///
/// Readers remember the version, read, and check that it is still the same. Writers take the latch.
/// It is held for a short time, never during a wait for a device, except for a log that is full.
#[derive(Debug, Default)]
pub(crate) struct Latch(AtomicU64);

impl Latch {
    /// The version, for a later check; waits while the latch is held.
    #[inline]
    pub(crate) fn version(&self) -> u64 {
        let mut backoff = Backoff::default();
        loop {
            let version = self.0.load(Acquire);
            if version & 1 == 0 {
                return version;
            }
            backoff.pause();
        }
    }

    /// True if nothing changed since the version was this.
    #[inline]
    pub(crate) fn is_unchanged(&self, version: u64) -> bool {
        fence(Acquire);
        self.0.load(Relaxed) == version
    }

    /// Takes the latch if nothing changed since the version was this.
    #[inline]
    pub(crate) fn lock_unchanged(&self, version: u64) -> bool {
        let taken = self.0.compare_exchange(version, version + 1, Acquire, Relaxed).is_ok();
        if taken {
            // Stores from here on are not seen before the odd version.
            fence(Release);
        }
        taken
    }

    /// Takes the latch if it is free.
    #[inline]
    pub(crate) fn try_lock(&self) -> bool {
        let version = self.0.load(Relaxed);
        version & 1 == 0 && self.lock_unchanged(version)
    }

    /// Releases the latch after a change.
    #[inline]
    pub(crate) fn unlock(&self) {
        debug_assert_eq!(self.0.load(Relaxed) & 1, 1, "it is held");
        self.0.store(self.0.load(Relaxed) + 1, Release);
    }

    /// Releases the latch; nothing that readers see changed.
    #[inline]
    pub(crate) fn unlock_unchanged(&self) {
        debug_assert_eq!(self.0.load(Relaxed) & 1, 1, "it is held");
        self.0.store(self.0.load(Relaxed) - 1, Release);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize};

    use super::*;
    use crate::node::{Fences, Node, NodeMut, PageBytes, Record};

    #[test]
    fn only_changes_are_noticed() {
        let latch = Latch::default();
        let version = latch.version();
        assert!(latch.try_lock() && !latch.try_lock() && !latch.is_unchanged(version));
        latch.unlock_unchanged();
        assert!(latch.is_unchanged(version) && latch.lock_unchanged(version));
        latch.unlock();
        assert!(!latch.is_unchanged(version) && !latch.lock_unchanged(version));
    }

    /// A writer gives a record values of one repeated byte, in all lengths and so at all
    /// alignments, while readers look without the latch. Under Miri this also checks that no access
    /// races.
    #[test]
    fn a_reader_whose_version_held_has_seen_one_state_of_the_node() {
        const READERS: usize = 2;
        let (rounds, least) = if cfg!(miri) { (40, 1) } else { (100_000, 100) };
        let (latch, page) = (Latch::default(), PageBytes::zeroed());
        let mut node = NodeMut::format(&page, 1, 0, Fences { lower: &[], upper: None });
        for key in [b"a", b"c"] {
            assert!(node.insert(node.node().count(), key, Record { value: &[0; 9], flags: 0 }));
        }
        let (seen, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for _ in 0..READERS {
                scope.spawn(|| {
                    let mut value = Vec::new();
                    while !is_over.load(Relaxed) || seen.load(Relaxed) < least {
                        let version = latch.version();
                        let node = Node::of(&page);
                        let (index, found) = node.search(b"c");
                        value.clear();
                        node.value(node.slot(index), &mut value);
                        let (count, is_sound) = (node.count(), node.is_sound());
                        if latch.is_unchanged(version) {
                            assert!(found && is_sound && index + 1 == count, "{index} of {count}");
                            assert!(value.iter().all(|&byte| byte == value[0]), "{value:?}");
                            seen.fetch_add(1, Relaxed);
                        }
                    }
                });
            }
            for round in 0..rounds {
                while !latch.try_lock() {}
                let mut node = NodeMut::of(&page);
                let index = node.node().count() - 1;
                let value = vec![round as u8; 1 + round * 7 % 600];
                assert!(node.set_value(index, b"c", Record { value: &value, flags: 0 }));
                match node.node().search(b"b") {
                    (index, true) => node.remove(index),
                    (index, false) => {
                        assert!(node.insert(index, b"b", Record { value: &[7], flags: 0 }));
                    }
                }
                latch.unlock();
            }
            is_over.store(true, Relaxed);
        });
        assert!(seen.load(Relaxed) >= least);
    }
}
