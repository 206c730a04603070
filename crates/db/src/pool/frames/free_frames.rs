//! The frames that have no page.

use super::Frames;

#[cfg(debug_assertions)]
thread_local! {
    /// This thread has a [`FreeFrame`].
    static HAS_FRAME: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// A frame that was taken from the free ones. Dropped unused, it becomes free again. A thread that
/// has one must not wait for another, nor for a page to be read: threads could have all frames, and
/// wait for each other.
pub(crate) struct FreeFrame<'p> {
    frames: &'p Frames,
    frame: u32,
    is_used: bool,
}

impl<'p> FreeFrame<'p> {
    /// A frame that was [taken](Frames::take).
    pub(crate) fn new(frames: &'p Frames, frame: u32) -> Self {
        #[cfg(debug_assertions)]
        HAS_FRAME.set(true);
        FreeFrame { frames, frame, is_used: false }
    }

    /// The frame's number: it belongs to the caller from now on.
    pub(crate) fn take(mut self) -> u32 {
        self.is_used = true;
        self.frame
    }

    /// Panics in debug builds if this thread has a free frame.
    pub(crate) fn assert_none() {
        #[cfg(debug_assertions)]
        assert!(!HAS_FRAME.get(), "a thread that has a frame waits for another");
    }
}

impl Drop for FreeFrame<'_> {
    fn drop(&mut self) {
        #[cfg(debug_assertions)]
        HAS_FRAME.set(false);
        if !self.is_used {
            self.frames.give(self.frame);
        }
    }
}

/// Frames without a page. The frames from some number on are not in use: their memory serves
/// something else.
pub(super) struct FreeFrames {
    /// Those in use.
    free: Vec<u32>,
    frames: u32,
    in_use: u32,
    /// Frames that are not in use and have no page any more.
    idle: u32,
}

impl FreeFrames {
    /// So many frames, all free and in use.
    pub(super) fn new(frames: u32) -> Self {
        FreeFrames { free: (0..frames).rev().collect(), frames, in_use: frames, idle: 0 }
    }

    /// How many are free and in use.
    pub(super) fn len(&self) -> usize {
        self.free.len()
    }

    /// A free frame.
    pub(super) fn take(&mut self) -> Option<u32> {
        self.free.pop()
    }

    /// A frame is free.
    pub(super) fn give(&mut self, frame: u32) {
        assert!(self.free.len() as u32 + self.idle < self.frames, "a frame is freed once");
        debug_assert!(!self.free.contains(&frame), "frame {frame} is free twice");
        if frame < self.in_use {
            self.free.push(frame);
        } else {
            self.idle += 1;
        }
    }

    /// The first so many frames are in use from now on. Those behind them get no page any more, but
    /// some may have one as yet.
    pub(super) fn set_in_use(&mut self, count: u32) {
        assert!(count <= self.frames, "more frames are in use than there are");
        let (free, before) = (self.free.len(), self.in_use);
        self.free.retain(|&frame| frame < count);
        self.idle += (free - self.free.len()) as u32;
        if count > before {
            assert!(self.are_others_idle(), "pages left before more frames are in use");
            self.free.extend((before..count).rev());
            self.idle -= count - before;
        }
        self.in_use = count;
    }

    /// True if no frame has a page that is not in use.
    pub(super) fn are_others_idle(&self) -> bool {
        self.idle == self.frames - self.in_use
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_that_are_not_in_use_are_idle_once_their_pages_left() {
        let mut frames = FreeFrames::new(6);
        let taken: Vec<_> = (0..5).filter_map(|_| frames.take()).collect();
        assert_eq!((taken, frames.len()), (vec![0, 1, 2, 3, 4], 1));
        frames.set_in_use(3);
        assert_eq!((frames.len(), frames.are_others_idle()), (0, false));
        for (frame, idle) in [(3, false), (1, false), (4, true)] {
            frames.give(frame);
            assert_eq!(frames.are_others_idle(), idle, "after {frame}");
        }
        assert_eq!((frames.take(), frames.take()), (Some(1), None));
        frames.set_in_use(5);
        assert_eq!((frames.take(), frames.take(), frames.take()), (Some(3), Some(4), None));
        assert!(frames.are_others_idle());
    }
}
