//! How memory is divided between frames and the parts of absent pages.
//!
//! Both save reads. Rows save one whenever one of them is used or changed without its page, less
//! half of the reads of pages for which changes wait: the more memory these have, the more of them
//! wait for each read. In place of rows there could be frames with the pages that were evicted
//! last: these would save a read at each ghost hit. Memory moves to the side that saves more, in
//! small steps. So where rows are neither asked for again nor changed, nearly all that can move is
//! for frames. While the log is replayed rows have it: the replay changes records only, in the order
//! of keys.

use super::Division;
use super::ghost_hits::{GhostHits, Saved};
use super::residency::Residency;
use crate::node::PageBytes;

/// Bytes of memory for a page in a frame.
pub(super) const FRAME_BYTES: usize = size_of::<PageBytes>();

/// Both sides are compared when so many times as many pages have been evicted as there are frames.
const TURNS: u32 = 2;

/// Moves of memory from one end to the other.
const STEPS: u32 = 8;

/// The state of a move of memory between two parties: frames and parts of absent pages.
pub(crate) struct MemoryBudget {
    /// Bytes for both.
    bytes: usize,
    /// The fewest and the most frames in use.
    frames: (u32, u32),
    /// Frames that are to be in use.
    wanted: u32,
    /// The same at first.
    at_first: u32,
    /// Evictions when both sides were compared last.
    compared_at: u32,
}

impl MemoryBudget {
    /// That of a new pool.
    pub(crate) fn new(memory: &Division) -> Self {
        let bytes = memory.frames * FRAME_BYTES + memory.absent;
        let frames = (memory.limits.0 as u32, memory.limits.1 as u32);
        let wanted = memory.frames as u32;
        MemoryBudget { bytes, frames, wanted, at_first: wanted, compared_at: 0 }
    }

    /// Gives absent parts all that can move. The log is replayed in the order of keys, which needs
    /// few frames; they are all free.
    pub(crate) fn begin_replay(&mut self, residency: &Residency) {
        self.want(self.frames.0, residency);
        residency.frames().set_in_use(self.wanted);
        residency.absent().set_most_bytes(self.absent());
    }

    /// The log is replayed: frames have again what they had at first, if absent parts can do
    /// without.
    pub(crate) fn end_replay(&mut self, residency: &Residency) {
        let wanted = self.at_first.max(self.wanted);
        if residency.absent().bytes() <= self.bytes - wanted as usize * FRAME_BYTES {
            self.want(wanted, residency);
            residency.absent().set_most_bytes(self.absent());
            self.advance(residency);
        }
    }

    fn want(&mut self, frames: u32, residency: &Residency) {
        self.wanted = frames;
        residency.ghosts().set_frames(self.ghost_frames());
    }

    /// Frames of a move.
    fn step(&self) -> u32 {
        ((self.frames.1 - self.frames.0) / STEPS).max(1)
    }

    /// Frames that could be there in place of rows; the other absent parts stay. Where there are as
    /// many as there may be, rows have the memory of about a step.
    pub(crate) fn ghost_frames(&self) -> u32 {
        self.frames.1 - self.wanted + self.step()
    }

    /// Bytes for absent parts beside the frames that are to be in use.
    fn absent(&self) -> usize {
        self.bytes - self.wanted as usize * FRAME_BYTES
    }

    /// The frames that are to be in use from now on, if it is time to compare, and one side saves
    /// clearly more.
    fn next(&mut self, ghosts: &GhostHits) -> Option<u32> {
        let (fewest, most) = self.frames;
        let evictions = ghosts.evictions();
        if fewest >= most || evictions.wrapping_sub(self.compared_at) < TURNS * self.wanted {
            return None;
        }
        self.compared_at = evictions;
        let Saved { by_rows, by_frames } = ghosts.take();
        let step = self.step();
        // The pages of frames that change sides are read once more.
        let clearly = by_rows.max(by_frames) / 8 + u64::from(step);
        let wanted = if by_rows > by_frames + clearly {
            self.wanted.saturating_sub(step).max(fewest)
        } else if by_frames > by_rows + clearly {
            (self.wanted + step).min(most)
        } else {
            self.wanted
        };
        (wanted != self.wanted).then_some(wanted)
    }

    /// Makes the next step of a move of memory, or begins one. Pages leave frames before absent
    /// parts get their memory, and the other way round, so that both never take more than there is.
    pub(crate) fn advance(&mut self, residency: &Residency) {
        let (frames, absent) = (residency.frames(), residency.absent());
        let (in_use, bytes) = (frames.in_use(), self.absent());
        if self.wanted > in_use {
            if absent.bytes() <= bytes && frames.are_others_idle() {
                frames.set_in_use(self.wanted);
            }
        } else if absent.most_bytes() < bytes {
            if frames.are_others_idle() {
                frames.release_idle();
                absent.set_most_bytes(bytes);
            }
        } else if let Some(wanted) = self.next(residency.ghosts()) {
            self.want(wanted, residency);
            match wanted < in_use {
                true => frames.set_in_use(wanted),
                false => absent.set_most_bytes(self.absent()),
            }
        }
        let taken = frames.in_use() as usize * FRAME_BYTES + absent.most_bytes();
        assert!(taken <= self.bytes, "{taken} bytes are promised of {}", self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_moves_in_steps_to_the_side_that_saves_clearly_more() {
        let limits = (60, 100);
        let memory = Division { frames: 100, limits, absent: 4096, deltas: 0 };
        let mut budget = MemoryBudget::new(&memory);
        let ghosts = GhostHits::new(1).unwrap();
        ghosts.set_frames(u32::MAX);
        let mut after = |rows: u64, needed: usize, pages: u64| {
            (0..rows).for_each(|_| ghosts.note_row_hit());
            ghosts.note_row_loads(needed);
            (0..TURNS * budget.wanted).for_each(|_| ghosts.note_eviction(0));
            (0..pages).for_each(|_| ghosts.note_miss(0));
            let next = budget.next(&ghosts);
            budget.wanted = next.unwrap_or(budget.wanted);
            assert_eq!(budget.next(&ghosts), None, "it is compared once");
            (next, budget.absent())
        };
        assert_eq!(after(1000, 200, 1000), (None, 4096), "not clearly");
        assert_eq!(after(1000, 200, 700), (Some(95), 4096 + 5 * FRAME_BYTES));
        for frames in [90, 85, 80, 75, 70, 65, 60] {
            assert_eq!(after(1000, 0, 10).0, Some(frames));
        }
        assert_eq!(after(1000, 0, 10), (None, 4096 + 40 * FRAME_BYTES), "pages keep their least");
        assert_eq!(after(10, 1800, 100).0, Some(65));
        (0..7).for_each(|_| assert!(after(0, 0, 10).0.is_some()));
        assert_eq!(after(0, 0, 10), (None, 4096));
        assert_eq!(budget.ghost_frames(), 5);
    }
}
