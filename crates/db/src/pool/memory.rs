//! The memory of the frames: one allocation, looked at through [`Page`]s and changed through the
//! guard of a latch.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;

use frostline_log::Array;

use crate::node::{Page, PageBytes};

/// The pages of all frames.
pub struct Memory {
    pages: Array<UnsafeCell<PageBytes>>,
}

// SAFETY: pages are read through `Page`, which expects them to change, and changed by whoever
// `Memory::exclusive` trusts to be the only one.
unsafe impl Sync for Memory {}

impl Memory {
    /// Memory for so many pages, taken from the system as it is touched. None if the system
    /// refuses.
    pub fn new(frames: usize) -> Option<Self> {
        Some(Memory { pages: Array::zeroed(frames).ok()? })
    }

    /// A look at a frame's page, which may be changing.
    #[inline]
    pub fn view(&self, frame: u32) -> Page<'_> {
        // SAFETY: the page is aligned, and lives as long as `self`.
        unsafe { Page::at(self.pages[frame as usize].get().cast()) }
    }

    /// The frame's page, to be changed.
    ///
    /// # Safety
    /// No other reference from this function to the same frame is in use: the caller holds the
    /// frame's latch.
    #[inline]
    #[expect(clippy::mut_from_ref, reason = "the latch guards what the borrow checker can't see")]
    pub unsafe fn exclusive(&self, frame: u32) -> &mut PageBytes {
        // SAFETY: the caller sees to it that nobody else changes it. Readers' loads race with
        // changes, and are checked by the latch's version.
        unsafe { &mut *self.pages[frame as usize].get() }
    }

    /// Bytes that are taken at most.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.pages)
    }
}
