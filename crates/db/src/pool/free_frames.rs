//! The frames that hold no page.

/// Frames without a page. The frames from some number on are not in use: their memory serves something else.
pub struct FreeFrames {
    /// Those in use.
    free: Vec<u32>,
    frames: u32,
    in_use: u32,
    /// Frames that are not in use and have no page any more.
    idle: u32,
}

impl FreeFrames {
    /// So many frames, all free and in use.
    pub fn new(frames: u32) -> Self {
        FreeFrames { free: (0..frames).rev().collect(), frames, in_use: frames, idle: 0 }
    }

    /// How many are free and in use.
    pub fn len(&self) -> usize {
        self.free.len()
    }

    /// A free frame.
    pub fn take(&mut self) -> Option<u32> {
        self.free.pop()
    }

    /// A frame is free.
    pub fn give(&mut self, frame: u32) {
        if frame < self.in_use {
            self.free.push(frame);
        } else {
            self.idle += 1;
        }
    }

    /// The first so many frames are in use from now on. Those behind them get no page any more, but some may
    /// have one as yet.
    pub fn set_in_use(&mut self, count: u32) {
        let (free, before) = (self.free.len(), self.in_use);
        self.free.retain(|&frame| frame < count);
        self.idle += (free - self.free.len()) as u32;
        if count > before {
            debug_assert!(self.are_others_idle());
            self.free.extend((before..count).rev());
            self.idle -= count - before;
        }
        self.in_use = count;
    }

    /// True if no frame has a page that is not in use.
    pub fn are_others_idle(&self) -> bool {
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
