//! Checkpoints: the map and the zones as they are at one moment, so that recovery need not go
//! further back.

use std::sync::{Arc, OnceLock};

use frostline_log::ZoneImage;
use frostline_placement::Scheme;

use crate::StoreError;
use crate::engine::chunk_writer::ChunkWriter;
use crate::engine::core::Core;
use crate::engine::map_loader::{LeavesStay, MapLoader};
use crate::engine::metadata::Metadata;
use crate::format::chunk_place::ChunkPlace;
use crate::format::head::{MetaKind, TablePart};
use crate::format::layout::payload_pages;
use crate::format::leaf::Leaf;
use crate::format::{LeafAt, Mark, PAGE, PlacedLeaf, TableHead, UnitCounts, ZoneRow};
use crate::state::State;

/// A zone as it was, chunks included that were not yet written.
struct Zone {
    row: ZoneRow,
    chunks: Vec<ChunkPlace>,
    /// See [`crate::state::zone_pool::DataZone::end`].
    end: Arc<OnceLock<u32>>,
}

impl Zone {
    /// Leaves out chunks that the zone did not take: their pages are elsewhere by now, in chunks
    /// that recovery finds. Without this the zone would seem to have lost its end.
    fn drop_refused_chunks(&mut self, time: u64) {
        let ZoneRow { pages, .. } = self.row;
        let Some(&end) = self.end.get().filter(|&&end| end < pages) else { return };
        let taken = self.chunks.iter().position(|chunk| chunk.start >= end);
        self.chunks.truncate(taken.unwrap_or(self.chunks.len()));
        self.row.pages = end;
        if !self.row.is_sealed() {
            self.row.padding_and_sealed += 1;
            self.row.sealed_at = time as u32;
        }
    }
}

/// The state of the store at one moment, as a checkpoint writes it.
struct CheckpointState {
    /// Leaves to be written.
    leaves: Vec<(u32, Leaf)>,
    /// The places of the leaves that there are, in order.
    root: Vec<(u32, LeafAt)>,
    head: TableHead,
    zones: Vec<Zone>,
    learned: Vec<u8>,
    marks: Vec<Mark>,
}

impl CheckpointState {
    fn of(state: &mut State, whole: bool, notes_from: u64, metadata: u64) -> CheckpointState {
        let leaves = state.map_mut().take(whole);
        let zone = |image: ZoneImage| {
            let zone = state.zones().get(image.zone);
            let row = ZoneRow {
                zone: image.zone,
                device_zone: zone.device_zone,
                class: image.class,
                opened_at: image.opened_at,
                sealed_at: image.sealed_at.unwrap_or_default(),
                padding_and_sealed: 2 * image.padding + u32::from(image.sealed_at.is_some()),
                used: image.used,
                garbage: image.garbage,
                opening: zone.opening,
                pages: zone.pages,
                chunks: zone.chunks.len() as u32,
            };
            Zone { row, chunks: zone.chunks.clone(), end: zone.end.clone() }
        };
        let zones: Vec<Zone> = state.log().images().into_iter().map(zone).collect();
        let learned = state.log().scheme().memory();
        let most = state.layout().scheme.entry.most_memory;
        assert!(learned.len() <= most, "more than the layout has room for");
        let root: Vec<_> = state.map().root().collect();
        let w = state.written(metadata);
        let unit = u64::from(state.layout().sizes.unit());
        let head = TableHead {
            time: state.time(),
            valid: state.log().valid_pages(),
            next_seq: state.chunks().next_seq(),
            next_opening: state.zones().next_opening(),
            next_serial: state.notes().next_serial(),
            notes_from,
            written: [w.user, w.relocations, w.headers, w.checkpoints],
            leaves: 0,
            zones: zones.len() as u32,
            chunks: zones.iter().map(|zone| zone.row.chunks).sum(),
            learned: learned.len() as u32,
            units: UnitCounts {
                user: w.user_bytes / unit,
                relocated: w.relocated_bytes / unit,
                headers: w.header_bytes / unit,
                padding: w.padding_bytes / unit,
                deltas: state.valid_deltas(),
                changes: state.changes().all as u64,
                excess: state.changes().excess as u64,
            },
        };
        let marks = state.marks().all();
        assert!(leaves.is_sorted_by(|a, b| a.0 < b.0), "leaves are taken in order");
        CheckpointState { leaves, root, head, zones, learned, marks }
    }

    /// A leaf lies there.
    fn place(&mut self, leaf: u32, at: LeafAt) {
        if let Ok(found) = self.root.binary_search_by_key(&leaf, |(leaf, _)| *leaf) {
            self.root[found].1 = at;
        }
    }

    /// Every chunk in it is written, or its pages are elsewhere. Leaves that hold nothing lie
    /// nowhere.
    fn drop_refused_chunks(&mut self) {
        self.root.retain(|(_, at)| at.page != 0);
        self.head.leaves = self.root.len() as u32;
        for zone in &mut self.zones {
            zone.drop_refused_chunks(self.head.time);
            zone.row.chunks = zone.chunks.len() as u32;
        }
        self.head.chunks = self.zones.iter().map(|zone| zone.row.chunks).sum();
        assert_eq!(self.head.zones as usize, self.zones.len(), "a table has a row for each zone");
    }

    /// The table, filled up to whole pages; and its length before that.
    fn table(&self) -> (Vec<u8>, usize) {
        let mut bytes = bytemuck::bytes_of(&self.head).to_vec();
        let leaves = self.root.iter().map(|&placed| PlacedLeaf::of(placed));
        leaves.for_each(|leaf| bytes.extend_from_slice(bytemuck::bytes_of(&leaf)));
        self.zones.iter().for_each(|zone| bytes.extend_from_slice(bytemuck::bytes_of(&zone.row)));
        let chunks = self.zones.iter().flat_map(|zone| ChunkPlace::encode(&zone.chunks));
        chunks.for_each(|chunk| bytes.extend_from_slice(&chunk.to_le_bytes()));
        bytes.extend_from_slice(&self.learned);
        bytes.extend_from_slice(bytemuck::cast_slice(&self.marks));
        let len = bytes.len();
        bytes.resize(len.next_multiple_of(PAGE), 0);
        (bytes, len)
    }
}

/// Writes checkpoints.
pub(crate) struct Checkpointer {
    core: Arc<Core>,
    metadata: Arc<Metadata>,
    loader: Arc<MapLoader>,
    chunks: Arc<ChunkWriter>,
}

impl Checkpointer {
    /// The checkpointer of a store.
    pub(crate) fn new(
        core: Arc<Core>,
        metadata: Arc<Metadata>,
        loader: Arc<MapLoader>,
        chunks: Arc<ChunkWriter>,
    ) -> Self {
        Checkpointer { core, metadata, loader, chunks }
    }

    /// Writes a checkpoint; of the whole map, so that nothing that was written to the metadata log
    /// before is needed, if it is to be `whole`.
    ///
    /// Under one hold of the lock all chunks are sealed and the changed leaves are shared. What
    /// they point to is made durable before the table is written, and the table is what makes the
    /// checkpoint.
    pub(crate) fn write(&self, _: &LeavesStay<'_>, whole: bool) -> Result<(), StoreError> {
        self.try_write(whole).map_err(|error| self.core.fail(error))
    }

    /// Writes the last checkpoint of a store that is closed. If the metadata log has much that is
    /// not needed, it goes on in another zone, with a checkpoint of everything, and the others are
    /// reset.
    pub(crate) fn write_last(&self) -> Result<(), StoreError> {
        let leaves = self.loader.hold()?;
        // Twice what the map takes of pages that follow each other.
        let needed = self.core.state()?.log().valid_pages() / 32 + 2;
        let left = self.metadata.log()?.leave_zone(needed);
        self.write(&leaves, left.map_err(|error| self.core.fail(error))?)
    }

    fn try_write(&self, whole: bool) -> Result<(), StoreError> {
        let meta = self.metadata.log()?;
        let whole = whole || meta.must_free();
        let (notes_from, begin) = (meta.seq(), meta.position());
        drop(meta);
        let mut state = self.core.state()?;
        state.check_writable()?;
        let last = state.sync();
        let mut snapshot =
            CheckpointState::of(&mut state, whole, notes_from, self.metadata.usage().pages());
        state.checkpoints_mut().begun();
        self.chunks.write_out(state)?;
        self.write_snapshot_leaves(&mut snapshot)?;
        if whole {
            self.move_other_leaves(&mut snapshot)?;
        }
        self.chunks.make_durable(last)?;
        snapshot.drop_refused_chunks();
        assert!(snapshot.root.is_sorted_by_key(|(leaf, _)| *leaf), "the root is in order");
        let table = self.write_table(&snapshot)?;
        self.core.device.flush()?;
        self.core.state()?.checkpoints_mut().ended(snapshot.head.next_seq);
        let (leaves, zones) = (snapshot.leaves.len(), snapshot.zones.len());
        tracing::debug!(whole, leaves, zones, parts = table.len(), "checkpoint written");
        self.release_meta(&snapshot, &table, begin)
    }

    fn write_snapshot_leaves(&self, snapshot: &mut CheckpointState) -> Result<(), StoreError> {
        let leaves = std::mem::take(&mut snapshot.leaves);
        let mut rest = leaves.iter().map(|(leaf, bytes)| (*leaf, bytes.clone())).peekable();
        while rest.peek().is_some() {
            let places = self.metadata.write_leaves(&mut rest, snapshot.head.time)?;
            let mut state = self.core.state()?;
            for (leaf, at) in places {
                snapshot.place(leaf, at);
                state.map_mut().written(leaf, at);
            }
        }
        snapshot.leaves = leaves;
        Ok(())
    }

    /// Writes the leaves that are not in memory once more, so that nothing before this checkpoint
    /// is needed.
    fn move_other_leaves(&self, snapshot: &mut CheckpointState) -> Result<(), StoreError> {
        let taken = |leaf: u32| snapshot.leaves.binary_search_by_key(&leaf, |(leaf, _)| *leaf);
        let others =
            snapshot.root.iter().filter(|&&(leaf, at)| at.page != 0 && taken(leaf).is_err());
        let others: Vec<(u32, LeafAt)> = others.copied().collect();
        let together =
            (payload_pages(&self.core.layout.fixed) / self.core.layout.leaf.most_pages()).max(1);
        for some in others.chunks(together) {
            let read = |&(leaf, at): &(u32, LeafAt)| {
                let bytes = self.loader.read_leaf(leaf, at)?;
                let read = Leaf::of_pages(self.core.layout.leaf, &bytes);
                Ok((leaf, read.ok_or_else(|| self.loader.damaged_leaf(leaf, at, "is none"))?))
            };
            let images = some.iter().map(read).collect::<Result<Vec<_>, StoreError>>()?;
            let places = self.metadata.write_leaves(&mut images.into_iter(), snapshot.head.time)?;
            assert_eq!(places.len(), some.len(), "as many as one record has room for");
            let mut state = self.core.state()?;
            for ((leaf, moved), &(_, at)) in places.into_iter().zip(some) {
                let moved = LeafAt { time: at.time, ..moved };
                snapshot.place(leaf, moved);
                state.map_mut().moved(leaf, at, moved);
            }
        }
        Ok(())
    }

    /// Writes the table; returns the places of its parts.
    fn write_table(&self, snapshot: &CheckpointState) -> Result<Vec<u32>, StoreError> {
        let (bytes, len) = snapshot.table();
        assert!(bytes.len().is_multiple_of(PAGE) && len <= bytes.len(), "a table is whole pages");
        let most = payload_pages(&self.core.layout.fixed) * PAGE;
        let parts = bytes.len().div_ceil(most);
        let mut places = Vec::with_capacity(parts);
        let mut meta = self.metadata.log()?;
        for (part, payload) in (0u32..).zip(bytes.chunks(most)) {
            let part = TablePart { part, parts: parts as u64, bytes: len as u64 };
            places.push(meta.append::<u32>(MetaKind::Table(part), &[], payload)?);
        }
        Ok(places)
    }

    /// Resets the metadata zones that nothing needs any more.
    fn release_meta(
        &self,
        snapshot: &CheckpointState,
        table: &[u32],
        begin: Option<u32>,
    ) -> Result<(), StoreError> {
        let mut meta = self.metadata.log()?;
        let state = self.core.state()?;
        let leaves = snapshot.root.iter().copied().chain(state.map().root());
        let leaves = leaves.map(|(_, at)| at.page);
        let leaves = leaves.filter(|&page| page != 0);
        let needed: Vec<_> = leaves.chain(table.iter().copied()).collect();
        drop(state);
        meta.release(begin, needed.into_iter())
    }
}
