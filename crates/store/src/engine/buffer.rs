//! The memory of an engine, which may hold newer pages than the device.

use crate::PageWrite;

/// An engine's pages in memory, of which some are newer than on the device.
pub trait Buffer: Send + Sync {
    /// Cleaning is about to copy these pages: `write` takes newer versions of them, and tells
    /// whether the store has them now. It has not if the page was written or trimmed meanwhile, or
    /// could not be written; it is copied then.
    ///
    /// Called by the thread that cleans, which may be in the midst of a write. So it must not use
    /// the store but through `write`, nor wait for a thread that does.
    fn write_newer(&self, lbas: &[u32], write: &mut dyn FnMut(PageWrite<'_>) -> bool);
}
