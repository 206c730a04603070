//! The delta of a page that left its frame.

use frostline_placement::Hotness;
use frostline_store::PageDelta;

use super::allocated;
use crate::pool::frames::CLEAN;

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

/// The place of a delta in the cache.
#[derive(Default)]
pub(super) struct Delta(Option<Box<Place>>);

struct Place {
    /// None while the delta is on its way to the store, or back to its page.
    delta: Option<CachedDelta>,
    /// The log position from which recovery would redo its changes.
    dirty_from: u64,
    /// Bytes of memory that it takes.
    bytes: u32,
}

impl Delta {
    /// True if there is none, neither here nor in use.
    pub(super) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// True if it waits.
    pub(super) fn is_here(&self) -> bool {
        self.0.as_ref().is_some_and(|place| place.delta.is_some())
    }

    /// True if it is on its way.
    pub(super) fn is_in_use(&self) -> bool {
        !self.is_none() && !self.is_here()
    }

    /// Bytes of memory that it takes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |place| place.bytes as usize)
    }

    /// The log position from which recovery would redo its changes.
    pub(super) fn dirty_from(&self) -> u64 {
        self.0.as_ref().map_or(CLEAN, |place| place.dirty_from)
    }

    /// From none to here.
    pub(super) fn keep(&mut self, delta: CachedDelta) {
        assert!(self.is_none(), "a page in a frame has no delta here");
        let bytes = allocated(size_of::<Place>()) + allocated(delta.delta.heap_bytes());
        let (dirty_from, bytes) = (delta.dirty_from, bytes as u32);
        self.0 = Some(Box::new(Place { delta: Some(delta), dirty_from, bytes }));
    }

    /// From here to in use. None if it is not here.
    pub(super) fn borrow(&mut self) -> Option<CachedDelta> {
        self.0.as_mut()?.delta.take()
    }

    /// From in use to here, or to none.
    pub(super) fn end_use(&mut self, left: Option<CachedDelta>) {
        assert!(self.is_in_use(), "a use ends once");
        match (left, &mut self.0) {
            (Some(delta), Some(place)) => place.delta = Some(delta),
            _ => self.0 = None,
        }
    }
}
