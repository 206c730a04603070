//! The metadata log as the store's threads share it: notes and leaves of the map go to it.

use std::sync::Arc;

use crate::StoreError;
use crate::engine::core::{Core, lock};
use crate::engine::meta::{MetaLog, MetaUsage};
use crate::format::head::{MetaKind, NotesHead};
use crate::format::layout::{NOTES, payload_pages};
use crate::format::leaf::Leaf;
use crate::format::{LeafAt, PAGE};
use crate::sync::{Mutex, MutexGuard};

/// The metadata log. Its lock is taken before that of the state, never while that is held.
pub(crate) struct Metadata {
    core: Arc<Core>,
    log: Mutex<MetaLog>,
    usage: Arc<MetaUsage>,
}

impl Metadata {
    /// The log of a store.
    pub(crate) fn new(core: Arc<Core>, log: MetaLog) -> Self {
        Metadata { core, usage: log.usage(), log: Mutex::new(log) }
    }

    /// Locks the log.
    pub(crate) fn log(&self) -> Result<MutexGuard<'_, MetaLog>, StoreError> {
        lock(&self.log)
    }

    /// Pages and free space of the log.
    pub(crate) fn usage(&self) -> &MetaUsage {
        &self.usage
    }

    /// Writes the notes that wait. When it returns, all notes made before are written.
    pub(crate) fn write_notes(&self) -> Result<(), StoreError> {
        let mut log = self.log()?;
        let mut state = self.core.state()?;
        let durable =
            NotesHead { notes: state.notes().durable(), chunks: state.chunks().durable() };
        let notes = state.take_notes();
        drop(state);
        for some in notes.chunks(NOTES) {
            log.append(MetaKind::Notes(durable), some, &[])?;
        }
        Ok(())
    }

    /// Writes a record of the first of these leaves, as many as it has room for but one at least.
    /// Returns their places.
    pub(crate) fn write_leaves(
        &self,
        leaves: &mut dyn Iterator<Item = (u32, Leaf)>,
        time: u64,
    ) -> Result<Vec<(u32, LeafAt)>, StoreError> {
        let layout = &self.core.layout;
        let room =
            (payload_pages(&layout.fixed) * PAGE).saturating_sub(layout.leaf.most_pages() * PAGE);
        let (mut payload, mut numbers, mut places) = (Vec::new(), Vec::new(), Vec::new());
        for (leaf, bytes) in leaves {
            let begin = payload.len();
            let pages = bytes.append_pages(&mut payload);
            let counted = 1 + bytes.pages(layout.leaf).count() as u16;
            let sum = crc32c::crc32c(&payload[begin..]);
            numbers.push(leaf);
            let page = (begin / PAGE) as u32;
            places.push((leaf, LeafAt { page, pages, counted, sum, time }));
            if payload.len() > room {
                break;
            }
        }
        assert!(!places.is_empty(), "a record of leaves has one at least");
        let first = self.log()?.append(MetaKind::Leaves, &numbers, &payload)?;
        places.iter_mut().for_each(|(_, at)| at.page += first);
        Ok(places)
    }
}
