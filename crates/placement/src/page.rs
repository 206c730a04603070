//! The state of a page that a scheme keeps.

use bytemuck::Pod;

/// The lifespan of a frozen version: the page is neither written again nor trimmed.
pub const NEVER: u32 = u32::MAX;

/// A user write time: user page writes so far, modulo 2^32.
///
/// Ages up to 2^31 are exact; the log clamps older stamps (see [`PageState::clamp`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct Stamp(u32);

impl Stamp {
    /// Ages are clamped to this (2^30 user writes, 4 TiB of 4 KiB pages) whenever the log sweeps.
    pub const HORIZON: u32 = 1 << 30;

    /// The stamp of time `now`.
    #[inline(always)]
    pub fn at(now: u32) -> Self {
        Self(now)
    }

    /// User writes from the stamp to `now`.
    #[inline(always)]
    pub fn age(self, now: u32) -> u32 {
        now.wrapping_sub(self.0)
    }

    /// Makes the stamp no older than [`Stamp::HORIZON`], so that its age never wraps.
    pub fn clamp(&mut self, now: u32) {
        if self.age(now) > Self::HORIZON {
            self.0 = now.wrapping_sub(Self::HORIZON);
        }
    }
}

/// The state of a page that a scheme keeps. It lies beside the page's slot in the map, so that one
/// cache line holds both. All zeroes is the state of a page that was never written, or was trimmed.
/// A store keeps the bytes across restarts; damaged bytes may cause bad placement, nothing worse.
pub trait PageState: Pod + Send + Sync {
    /// Clamps the stamps in the state, see [`Stamp::clamp`]. Called for every page about once in
    /// 2^30 user writes.
    fn clamp(&mut self, _now: u32) {}
}

impl PageState for () {}

impl PageState for Stamp {
    fn clamp(&mut self, now: u32) {
        Stamp::clamp(self, now);
    }
}
