//! The delta of a page that left its frame.

use frostline_placement::Hotness;
use frostline_store::PageDelta;

use crate::pool::frames::CLEAN;

/// Bytes that the allocator adds to those of a delta, about.
const OVERHEAD: usize = 24;

/// The words of a page that changed and were not written yet.
pub(crate) struct CachedDelta {
    /// The words that changed since its base, or since its delta on the device.
    pub delta: PageDelta,
    /// The log position of the last change.
    pub position: u64,
    /// The log position from which recovery would redo them.
    pub dirty_from: u64,
    /// The page's hotness record.
    pub hotness: Hotness,
}

impl CachedDelta {
    fn memory_bytes(&self) -> usize {
        OVERHEAD + size_of::<CachedDelta>() + self.delta.heap_bytes()
    }
}

/// A delta in the cache.
#[derive(Default)]
pub(super) enum Delta {
    /// There is none.
    #[default]
    None,
    /// It waits.
    Here(Box<CachedDelta>),
    /// It is on its way to the store, or back to its page.
    InUse {
        /// The log position from which recovery would redo its changes.
        dirty_from: u64,
        /// Bytes of memory that it takes.
        bytes: u32,
    },
}

impl Delta {
    /// True if there is none, neither here nor in use.
    pub(super) fn is_none(&self) -> bool {
        matches!(self, Delta::None)
    }

    /// True if it waits.
    pub(super) fn is_here(&self) -> bool {
        matches!(self, Delta::Here(_))
    }

    /// True if it is on its way.
    pub(super) fn is_in_use(&self) -> bool {
        matches!(self, Delta::InUse { .. })
    }

    /// Bytes of memory that it takes.
    pub(super) fn memory_bytes(&self) -> usize {
        match self {
            Delta::None => 0,
            Delta::Here(delta) => delta.memory_bytes(),
            Delta::InUse { bytes, .. } => *bytes as usize,
        }
    }

    /// The log position from which recovery would redo its changes.
    pub(super) fn dirty_from(&self) -> u64 {
        match self {
            Delta::None => CLEAN,
            Delta::Here(delta) => delta.dirty_from,
            Delta::InUse { dirty_from, .. } => *dirty_from,
        }
    }

    /// From none to here.
    pub(super) fn keep(&mut self, delta: CachedDelta) {
        assert!(self.is_none(), "a page in a frame has no delta here");
        *self = Delta::Here(Box::new(delta));
    }

    /// From here to in use. None if it is not here.
    pub(super) fn borrow(&mut self) -> Option<Box<CachedDelta>> {
        if !self.is_here() {
            return None;
        }
        let used =
            Delta::InUse { dirty_from: self.dirty_from(), bytes: self.memory_bytes() as u32 };
        match std::mem::replace(self, used) {
            Delta::Here(delta) => Some(delta),
            _ => None,
        }
    }

    /// From in use to here, or to none.
    pub(super) fn end_use(&mut self, left: Option<Box<CachedDelta>>) {
        assert!(self.is_in_use(), "a use ends once");
        *self = left.map_or(Delta::None, Delta::Here);
    }
}
