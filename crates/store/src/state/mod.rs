//! The state of the store in memory, under one lock: its parts, and the effect of each event on
//! them.
//!
//! Nothing here does I/O, so that every event can be tried without a device.

mod checkpoints;
pub(crate) mod chunk;
pub(crate) mod chunk_table;
pub(crate) mod copies;
pub(crate) mod counters;
pub(crate) mod failures;
pub(crate) mod map_cache;
pub(crate) mod mapped_page;
mod marks;
pub(crate) mod notes;
pub(crate) mod observer;
mod placing;
pub(crate) mod promises;
pub(crate) mod restored;
pub(crate) mod room;
pub(crate) mod space_target;
#[cfg(test)]
mod tests;
mod valid;
pub(crate) mod volume;
pub(crate) mod written;
mod zone_life;
pub(crate) mod zone_pool;

use std::sync::Arc;

use frostline_log::{Counts, ZoneLog};
use frostline_placement::{AnyScheme, Pages, Scheme};

use crate::StoreError;
use crate::format::layout::Layout;
use crate::format::{LeafAt, Note};
use crate::state::checkpoints::Checkpoints;
use crate::state::chunk::Chunk;
use crate::state::chunk_table::ChunkTable;
use crate::state::copies::{Copied, Copies};
use crate::state::failures::Failures;
use crate::state::map_cache::MapCache;
use crate::state::marks::Marks;
use crate::state::notes::Notes;
use crate::state::observer::{Observer, StoreEvent};
use crate::state::promises::Promises;
use crate::state::room::ChangeUnits;
use crate::state::space_target::SpaceTarget;
use crate::state::volume::Volume;
use crate::state::written::{DeltaCounts, Written};
use crate::state::zone_pool::ZonePool;

/// The state of the store in memory.
pub(crate) struct State {
    /// The volume, and the map with it.
    volume: Volume,
    /// The division of the device.
    layout: Arc<Layout>,
    /// Number of the store.
    store: u64,
    /// The data zones.
    zones: ZonePool,
    /// The chunks in memory.
    chunks: ChunkTable,
    /// The notes in memory.
    notes: Notes,
    /// User writes so far.
    time: u64,
    /// Pages written, but for those of the metadata log, which counts its own.
    written: Written,
    /// Deltas and tails since the store was opened.
    deltas: DeltaCounts,
    /// Deltas and tails in the map.
    valid_deltas: u64,
    /// Units of deltas and tails.
    changes: ChangeUnits,
    /// Space over data that the store may take.
    space_target: Option<SpaceTarget>,
    /// Pages that engines have yet to write.
    promises: Promises,
    /// Zones that failed, but for those of the metadata log, which counts its own.
    failures: Failures,
    copies: Option<Copies>,
    /// Sees every event.
    observer: Option<Arc<dyn Observer>>,
    /// What the last checkpoints cover.
    checkpoints: Checkpoints,
    /// The engines' marks.
    marks: Marks,
    /// The error after which the store can no longer be written.
    failed: Option<StoreError>,
    /// The store is being closed.
    closing: bool,
    /// The cleaner waits to be woken.
    cleaner_sleeps: bool,
    /// The last cleaning found no victim, and no page was written or trimmed since.
    nothing_to_clean: bool,
}

impl State {
    /// The state of a store that holds nothing.
    pub(crate) fn new(volume: Volume, layout: Arc<Layout>, store: u64) -> Self {
        let classes = volume.log().scheme().classes();
        State {
            time: 0,
            zones: ZonePool::new(layout.data.len(), layout.fixed.spare as usize),
            chunks: ChunkTable::new(layout.clone(), store, classes),
            notes: Notes::new(),
            written: Written::default(),
            deltas: DeltaCounts::default(),
            valid_deltas: 0,
            changes: ChangeUnits::default(),
            space_target: None,
            promises: Promises::default(),
            failures: Failures::default(),
            copies: None,
            observer: None,
            checkpoints: Checkpoints::default(),
            marks: Marks::default(),
            failed: None,
            closing: false,
            cleaner_sleeps: false,
            nothing_to_clean: false,
            volume,
            layout,
            store,
        }
    }

    /// The division of the device.
    pub(crate) fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// Number of the store.
    pub(crate) fn store(&self) -> u64 {
        self.store
    }

    /// The zones of the log, and the scheme.
    pub(crate) fn log(&self) -> &ZoneLog<AnyScheme> {
        self.volume.log()
    }

    /// The map.
    pub(crate) fn map(&self) -> &MapCache {
        self.volume.map()
    }

    /// The map, for leaves that come and go. Entries change by
    /// [`MappedPage`](mapped_page::MappedPage) alone.
    pub(crate) fn map_mut(&mut self) -> &mut MapCache {
        self.volume.map_mut()
    }

    /// The scheme, and the map for a leaf that comes.
    pub(crate) fn scheme_and_map(&mut self) -> (&AnyScheme, &mut MapCache) {
        self.volume.scheme_and_map()
    }

    /// Classes for all valid pages of a victim at once, if the scheme has a wish.
    pub(crate) fn place_batch(
        &mut self,
        zone: u32,
        pages: &Pages<'_, <AnyScheme as Scheme>::Page>,
    ) -> Vec<Option<u8>> {
        self.volume.place_batch(zone, pages)
    }

    /// Counts of the log since the store was opened.
    pub(crate) fn counts(&mut self) -> &Counts {
        self.volume.log_mut().counts()
    }

    /// Bytes of memory that the map, the zones and the scheme take.
    pub(crate) fn memory(&self) -> usize {
        self.map().bytes() + self.log().zones().bytes() + self.log().scheme().bytes()
    }

    /// The store begins with what its last opening knew: its age, the map's root, what the scheme
    /// learned.
    pub(crate) fn recall(&mut self, time: u64, root: &[(u32, LeafAt)], learned: &[u8]) {
        assert_eq!(self.time, 0, "a store recalls before it is written");
        self.time = time;
        self.volume.map_mut().set_root(root);
        self.volume.log_mut().scheme_mut().recall(learned);
    }

    /// The data zones.
    pub(crate) fn zones(&self) -> &ZonePool {
        &self.zones
    }

    /// The chunks in memory.
    pub(crate) fn chunks(&self) -> &ChunkTable {
        &self.chunks
    }

    /// The sealed chunks that no thread has taken yet, to be written by the caller.
    pub(crate) fn take_outgoing(&mut self) -> Vec<Arc<Chunk>> {
        self.chunks.take_outgoing()
    }

    /// The notes in memory.
    pub(crate) fn notes(&self) -> &Notes {
        &self.notes
    }

    /// The notes that wait, to be written by the caller.
    pub(crate) fn take_notes(&mut self) -> Vec<Note> {
        self.notes.take()
    }

    /// Deltas and tails since the store was opened.
    pub(crate) fn deltas(&self) -> DeltaCounts {
        self.deltas
    }

    /// From now on this one sees every event.
    pub(crate) fn set_observer(&mut self, observer: Arc<dyn Observer>) {
        self.observer = Some(observer);
    }

    /// The engines' marks.
    pub(crate) fn marks(&self) -> &Marks {
        &self.marks
    }

    /// The engines' marks, to set one.
    pub(crate) fn marks_mut(&mut self) -> &mut Marks {
        &mut self.marks
    }

    /// What the last checkpoints cover.
    pub(crate) fn checkpoints(&self) -> &Checkpoints {
        &self.checkpoints
    }

    /// What the last checkpoints cover, for the next one.
    pub(crate) fn checkpoints_mut(&mut self) -> &mut Checkpoints {
        &mut self.checkpoints
    }

    /// True if the cleaner waits to be woken.
    pub(crate) fn cleaner_sleeps(&self) -> bool {
        self.cleaner_sleeps
    }

    /// The cleaner waits to be woken, or no longer does.
    pub(crate) fn set_cleaner_sleeps(&mut self, sleeps: bool) {
        assert_ne!(self.cleaner_sleeps, sleeps, "one cleaner sleeps and wakes in turn");
        self.cleaner_sleeps = sleeps;
    }

    /// User writes so far.
    pub(crate) fn time(&self) -> u64 {
        self.time
    }

    /// Pages written since the store was formatted, `metadata` of them by the metadata log.
    pub(crate) fn written(&self, metadata: u64) -> Written {
        Written { checkpoints: metadata, ..self.written }
    }

    /// Zones that failed since the store was opened, `metadata` of them of the metadata log.
    pub(crate) fn failures(&self, metadata: u64) -> Failures {
        Failures { metadata, ..self.failures }
    }

    /// Copies are counted from now on.
    pub(crate) fn count_copies(&mut self) {
        self.copies = Some(Copies::new(self.layout.fixed.logical_pages));
    }

    /// Copies since they are counted.
    pub(crate) fn copied(&self) -> Option<Copied> {
        self.copies.as_ref().map(|copies| copies.sum)
    }

    /// Tells the observer, if there is one.
    pub(crate) fn observe(&self, event: StoreEvent) {
        if let Some(observer) = &self.observer {
            observer.on(event);
        }
    }

    /// All chunks up to number `seq` and all notes before number `serial` are durable.
    pub(crate) fn made_durable(&mut self, seq: u64, serial: u64) {
        self.chunks.made_durable(seq);
        self.notes.made_durable(serial);
    }

    /// The store is being closed.
    pub(crate) fn close(&mut self) {
        self.closing = true;
    }

    /// Nothing more can be promised of writes, for this reason if it is the first.
    pub(crate) fn fail(&mut self, error: StoreError) {
        self.failed.get_or_insert(error);
    }

    /// True if the store's threads are to end.
    pub(crate) fn has_ended(&self) -> bool {
        self.closing || self.failed.is_some()
    }

    /// An error if the store can no longer be written.
    pub(crate) fn check_writable(&self) -> Result<(), StoreError> {
        match &self.failed {
            Some(error) => Err(StoreError::Failed(Box::new(error.clone()))),
            None => Ok(()),
        }
    }
}
