//! Observers of a store: they see what a replay of its run needs.

use std::sync::Arc;

use frostline_placement::Hotness;

use crate::records::RecordKind;
use crate::{Store, StoreError};

/// An event of a store.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StoreEvent {
    /// A page was written by the user.
    Written {
        /// Its LBA.
        lba: u32,
        /// Its hotness record.
        hotness: Hotness,
        /// Bytes of its record; of a store of whole pages, those of the page without its longest run of zeroes.
        bytes: u16,
        /// The part of the page that the record has.
        kind: RecordKind,
    },
    /// A page was trimmed.
    Trimmed {
        /// Its LBA.
        lba: u32,
    },
    /// Cleaning made an image of a page's base, delta and tail, and placed it if it was not longer than all.
    Merged {
        /// The page's LBA.
        lba: u32,
        /// Bytes of the image.
        bytes: u16,
    },
    /// The chunks of all classes ended, but not for resets of zones, which follow from what was cleaned.
    Synced,
}

/// Sees the events of a store in their order.
pub trait Observer: Send + Sync {
    /// An event happens. The state of the store is locked meanwhile: the observer must not use the store.
    fn on(&self, event: StoreEvent);
}

impl Store {
    /// Tells an observer of all pages that are there, and of every event from now on. Those that are there
    /// are taken for written in the order of their LBAs, and for synced.
    ///
    /// # Errors
    /// A part of the map is damaged; an error of the device.
    pub fn observe(&self, observer: Arc<dyn Observer>) -> Result<(), StoreError> {
        let mut pages = Vec::new();
        self.mapped(0..u32::MAX, &mut |lba| pages.push(lba))?;
        for lba in pages {
            let page = self.inner.mapped(self.inner.state()?, lba)?;
            let unit = self.inner.layout.sizes.slot_bytes();
            let kinds = [RecordKind::Image, RecordKind::Delta, RecordKind::Tail];
            let records = kinds.map(|kind| (page.place_of(kind), kind));
            drop(page);
            for (place, kind) in records {
                if let Some((at, _)) = place {
                    let bytes = (at.units * unit) as u16;
                    let hotness = Hotness::default();
                    observer.on(StoreEvent::Written { lba, hotness, bytes, kind });
                }
            }
        }
        observer.on(StoreEvent::Synced);
        self.inner.state()?.observer = Some(observer);
        Ok(())
    }
}
