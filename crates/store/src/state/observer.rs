//! Observers of a store: they see what a replay of its run needs.

use frostline_placement::Hotness;

use crate::format::records::RecordKind;

/// An event of a store.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StoreEvent {
    /// A page was written by the user.
    Written {
        /// Its LBA.
        lba: u32,
        /// Its hotness record.
        hotness: Hotness,
        /// Bytes of its record; of one that is the page, those of the page without its longest run
        /// of zeroes.
        bytes: u16,
        /// The part of the page that the record has.
        kind: RecordKind,
        /// Pages of the same request that follow, at most 3.
        following: u8,
    },
    /// A page was trimmed.
    Trimmed {
        /// Its LBA.
        lba: u32,
    },
    /// Cleaning made an image of a page's base, delta and tail, and placed it if it was not longer
    /// than all.
    Merged {
        /// The page's LBA.
        lba: u32,
        /// Bytes of the image.
        bytes: u16,
    },
    /// The chunks of all classes ended, but not for resets of zones, which follow from what was
    /// cleaned.
    Synced,
}

/// Sees the events of a store in their order.
pub trait Observer: Send + Sync {
    /// An event happens. The state of the store is locked meanwhile: the observer must not use the
    /// store.
    fn on(&self, event: StoreEvent);
}
