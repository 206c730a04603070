//! Latches that readers do not take.

use std::sync::atomic::{AtomicU64, Ordering::*, fence};
use std::time::Duration;

/// A version that counts up with every change; odd while somebody changes what it protects.
///
/// Readers remember the version, read, and ask whether it is still the same. Writers take the
/// latch; it is held for short, never while a device is waited for, but for a log that is full.
#[derive(Debug, Default)]
pub struct Latch(AtomicU64);

impl Latch {
    /// The version, to be asked about later; waits while somebody holds the latch.
    #[inline]
    pub fn version(&self) -> u64 {
        let mut patience = Patience::default();
        loop {
            let version = self.0.load(Acquire);
            if version & 1 == 0 {
                return version;
            }
            patience.pause();
        }
    }

    /// True if nothing changed since the version was this.
    #[inline]
    pub fn is_unchanged(&self, version: u64) -> bool {
        fence(Acquire);
        self.0.load(Relaxed) == version
    }

    /// Takes the latch if nothing changed since the version was this.
    #[inline]
    pub fn lock_unchanged(&self, version: u64) -> bool {
        let taken = self.0.compare_exchange(version, version + 1, Acquire, Relaxed).is_ok();
        if taken {
            // What is written from here on is not seen before the odd version.
            fence(Release);
        }
        taken
    }

    /// Takes the latch if nobody holds it.
    #[inline]
    pub fn try_lock(&self) -> bool {
        let version = self.0.load(Relaxed);
        version & 1 == 0 && self.lock_unchanged(version)
    }

    /// Gives the latch back after a change.
    #[inline]
    pub fn unlock(&self) {
        self.0.store(self.0.load(Relaxed) + 1, Release);
    }

    /// Gives the latch back; nothing that readers look at changed.
    #[inline]
    pub fn unlock_unchanged(&self) {
        self.0.store(self.0.load(Relaxed) - 1, Release);
    }
}

/// How long to wait for somebody who will be done soon: a few turns of the loop, then others may
/// run, then sleep.
#[derive(Debug, Default)]
pub struct Patience(u32);

impl Patience {
    /// Waits a little, longer each time.
    #[cold]
    pub fn pause(&mut self) {
        self.0 += 1;
        match self.0 {
            0..=40 => std::hint::spin_loop(),
            41..=80 => std::thread::yield_now(),
            _ => std::thread::sleep(Duration::from_micros(50)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
