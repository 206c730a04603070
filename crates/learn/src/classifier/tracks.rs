//! Tracks: pages that are followed through some of their writes. The network is trained with them.

use std::collections::HashMap;

use frostline_placement::NEVER;
use frostline_random::SplitMix;

use super::digits::Digits;
use super::inference::Hidden;

/// The most writes for which a page is followed: the history over which training looks back.
pub(crate) const LENGTH: usize = 8;
/// The most pages, and the least, that are followed in a window.
pub(crate) const TRACKS: usize = 512;
const LEAST_TRACKS: u32 = 64;
/// User writes for each page that is followed, within these bounds: training then costs a write
/// about as much as its prediction.
const SPACING: u32 = 128;

/// A write of a followed page.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TrackedWrite {
    pub digits: Digits,
    pub now: u32,
    /// Lifespan of the written version; [`NEVER`] if it has not ended.
    pub lifespan: u32,
}

impl TrackedWrite {
    /// True if the version is long-living, that is lived for `threshold` user writes or more, as
    /// known at `end`. `None` if the threshold's time had not passed by `end`: of such young
    /// versions only short-living ones can have ended, which would bias the labels.
    pub(super) fn is_long(&self, threshold: u32, end: u32) -> Option<bool> {
        (end.wrapping_sub(self.now) >= threshold).then_some(self.lifespan >= threshold)
    }
}

/// Consecutive writes of a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Track {
    lba: u32,
    /// The page's state before the first of these writes.
    pub before: Hidden,
    writes: [TrackedWrite; LENGTH],
    len: usize,
}

impl Track {
    /// A track of these writes, at most [`LENGTH`].
    #[cfg(test)]
    pub(super) fn of(lba: u32, before: Hidden, writes: &[TrackedWrite]) -> Self {
        let mut track =
            Track { lba, before, writes: [TrackedWrite::default(); LENGTH], len: writes.len() };
        track.writes[..writes.len()].copy_from_slice(writes);
        track
    }

    /// The writes, the oldest first.
    pub(super) fn writes(&self) -> &[TrackedWrite] {
        &self.writes[..self.len]
    }

    fn put(&mut self, digits: Digits, now: u32) {
        self.writes[self.len] = TrackedWrite { digits, now, lifespan: NEVER };
        self.len += 1;
    }
}

/// The pages that are followed in the present window. They are chosen at random among the written
/// pages, evenly over the window.
#[derive(Debug)]
pub(crate) struct Tracks {
    chance: SplitMix,
    length: usize,
    /// User writes for each track.
    stride: u32,
    /// The time at which the next page is chosen.
    next: u32,
    tracks: Vec<Track>,
    /// The tracks that go on, by LBA.
    open: HashMap<u32, u32>,
}

impl Tracks {
    /// Tracks for windows of `window` user writes, each track with up to `length` writes.
    pub(super) fn new(window: u32, length: usize, chance: SplitMix) -> Self {
        let tracks = (window / SPACING).clamp(LEAST_TRACKS, TRACKS as u32);
        Tracks {
            chance,
            length: length.min(LENGTH),
            stride: (window / tracks).max(1),
            next: 0,
            tracks: Vec::with_capacity(TRACKS),
            open: HashMap::with_capacity(2 * TRACKS),
        }
    }

    /// Begins a window. `tracks`, whose memory is reused, takes the tracks of the last window.
    pub(super) fn begin(&mut self, now: u32, tracks: &mut Vec<Track>) {
        tracks.clear();
        std::mem::swap(tracks, &mut self.tracks);
        self.open.clear();
        self.next = now.wrapping_add(self.chance.below(self.stride));
    }

    /// The version of a page that may be followed ends at `now`: the page is written again, or
    /// trimmed.
    pub(super) fn end(&mut self, lba: u32, now: u32) {
        if let Some(&track) = self.open.get(&lba) {
            let track = &mut self.tracks[track as usize];
            if let Some(last) = track.writes[..track.len].last_mut() {
                last.lifespan = now.wrapping_sub(last.now);
            }
            if track.len == self.length {
                self.open.remove(&lba);
            }
        }
    }

    /// Stops following a page, because it was trimmed.
    pub(super) fn forget(&mut self, lba: u32) {
        self.open.remove(&lba);
    }

    /// True if the page that is written at `now`, and is not followed yet, is chosen.
    #[inline(always)]
    pub(super) fn chooses(&mut self, now: u32) -> bool {
        let chosen = now.wrapping_sub(self.next) as i32 >= 0 && self.tracks.len() < TRACKS;
        if chosen {
            self.next = now.wrapping_add(1 + self.chance.below(2 * self.stride - 1));
        }
        chosen
    }

    /// Follows a chosen page from this write on.
    pub(super) fn follow(&mut self, lba: u32, before: Hidden) {
        debug_assert!(!self.open.contains_key(&lba), "a page is followed once at a time");
        debug_assert!(self.tracks.len() < TRACKS, "a window has a place for the track");
        let writes = [TrackedWrite::default(); LENGTH];
        self.open.insert(lba, self.tracks.len() as u32);
        self.tracks.push(Track { lba, before, writes, len: 0 });
    }

    /// Adds a write to the page's track. Returns true if the page is followed, also after this
    /// write.
    pub(super) fn put(&mut self, lba: u32, digits: &Digits, now: u32) -> bool {
        let Some(&track) = self.open.get(&lba) else { return false };
        let track = &mut self.tracks[track as usize];
        debug_assert_eq!(track.lba, lba);
        debug_assert!(track.len < self.length, "a track that goes on has room");
        track.put(*digits, now);
        true
    }

    /// Bytes that it holds.
    pub(super) fn bytes(&self) -> usize {
        self.tracks.capacity() * size_of::<Track>() + self.open.capacity() * size_of::<(u32, u32)>()
    }
}
