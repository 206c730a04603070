//! Checkpoints: the map and the zones as they are at one moment, so that recovery need not go
//! further back.

use std::sync::{Arc, OnceLock};

use frostline_log::ZoneImage;
use frostline_placement::Scheme;

use crate::StoreError;
use crate::engine::inner::Inner;
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
    fn settle(&mut self, time: u64) {
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
        let leaves = state.volume.map_mut().take(whole);
        let zone = |image: ZoneImage| {
            let zone = state.zones.get(image.zone);
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
        let zones: Vec<Zone> = state.volume.images().into_iter().map(zone).collect();
        let learned = state.volume.scheme().memory();
        let most = state.layout.scheme.entry.most_memory;
        debug_assert!(learned.len() <= most, "more than the layout has room for");
        let root: Vec<_> = state.volume.map().root().collect();
        let w = state.written(metadata);
        let unit = u64::from(state.layout.sizes.unit());
        let head = TableHead {
            time: state.time(),
            valid: state.volume.valid_pages(),
            next_seq: state.chunks.next_seq(),
            next_opening: state.zones.next_opening(),
            next_serial: state.notes.next_serial(),
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
                excess: state.excess(),
            },
        };
        let marks = state.marks();
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
    fn settle(&mut self) {
        self.root.retain(|(_, at)| at.page != 0);
        self.head.leaves = self.root.len() as u32;
        for zone in &mut self.zones {
            zone.settle(self.head.time);
            zone.row.chunks = zone.chunks.len() as u32;
        }
        self.head.chunks = self.zones.iter().map(|zone| zone.row.chunks).sum();
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

impl Inner {
    /// Writes a checkpoint if one is due.
    pub fn checkpoint_if_due(&self) -> Result<(), StoreError> {
        if !self.is_checkpoint_due(&*self.state()?) {
            return Ok(());
        }
        let _one = self.lock_checkpointer()?;
        // The thread that held it may have written it.
        let due = self.is_checkpoint_due(&*self.state()?);
        if due { self.write_checkpoint(false) } else { Ok(()) }
    }

    /// True if a checkpoint is due.
    pub fn is_checkpoint_due(&self, state: &State) -> bool {
        // Recovery has the leaves of what was written since in memory.
        let most_leaves = (self.map_bytes / self.layout.leaf.images()).max(64) as u64;
        let most = self.layout.fixed.checkpoint_writes.min(most_leaves);
        state.is_checkpoint_due(most) || self.meta_usage.is_low()
    }

    /// Writes a checkpoint.
    ///
    /// Under one hold of the lock all chunks are sealed and the changed leaves are shared. What
    /// they point to is made durable before the table is written, and the table is what makes the
    /// checkpoint.
    pub fn checkpoint(&self) -> Result<(), StoreError> {
        let _one = self.lock_checkpointer()?;
        self.write_checkpoint(false)
    }

    /// Writes the last checkpoint of a store that is closed. If the metadata log has much that is
    /// not needed, it goes on in another zone, with a checkpoint of everything, and the others are
    /// reset.
    pub fn checkpoint_at_end(&self) -> Result<(), StoreError> {
        let _one = self.lock_checkpointer()?;
        // Twice what the map takes of pages that follow each other.
        let needed = self.state()?.volume.valid_pages() / 32 + 2;
        let left = self.meta()?.leave_zone(needed);
        self.write_checkpoint(left.map_err(|error| self.fail(error))?)
    }

    /// Writes a checkpoint of everything: nothing that was written to the metadata log before is
    /// needed.
    pub fn checkpoint_whole(&self) -> Result<(), StoreError> {
        let _one = self.lock_checkpointer()?;
        self.write_checkpoint(true)
    }

    fn write_checkpoint(&self, whole: bool) -> Result<(), StoreError> {
        self.try_checkpoint(whole).map_err(|error| self.fail(error))
    }

    fn try_checkpoint(&self, whole: bool) -> Result<(), StoreError> {
        let meta = self.meta()?;
        let whole = whole || meta.must_free();
        let (notes_from, begin) = (meta.seq(), meta.position());
        drop(meta);
        let mut state = self.state()?;
        state.check_writable()?;
        let last = state.sync();
        let mut snapshot =
            CheckpointState::of(&mut state, whole, notes_from, self.meta_usage.pages());
        state.checkpoint_begun();
        let outgoing = state.chunks.take_outgoing();
        drop(state);
        self.write_out(outgoing)?;
        self.write_snapshot_leaves(&mut snapshot)?;
        if whole {
            self.move_other_leaves(&mut snapshot)?;
        }
        self.make_durable(last)?;
        snapshot.settle();
        let table = self.write_table(&snapshot)?;
        self.device.flush()?;
        self.state()?.checkpoint_ended(snapshot.head.next_seq);
        let (leaves, zones) = (snapshot.leaves.len(), snapshot.zones.len());
        tracing::debug!(whole, leaves, zones, parts = table.len(), "checkpoint written");
        self.release_meta(&snapshot, &table, begin)
    }

    fn write_snapshot_leaves(&self, snapshot: &mut CheckpointState) -> Result<(), StoreError> {
        let leaves = std::mem::take(&mut snapshot.leaves);
        let mut rest = leaves.iter().map(|(leaf, bytes)| (*leaf, bytes.clone())).peekable();
        while rest.peek().is_some() {
            let places = self.write_leaves(&mut rest, snapshot.head.time)?;
            let mut state = self.state()?;
            for (leaf, at) in places {
                snapshot.place(leaf, at);
                state.volume.map_mut().written(leaf, at);
            }
        }
        snapshot.leaves = leaves;
        Ok(())
    }

    /// Writes a record of the first of these leaves, as many as it has room for but one at least.
    /// Returns their places.
    pub fn write_leaves(
        &self,
        leaves: &mut dyn Iterator<Item = (u32, Leaf)>,
        time: u64,
    ) -> Result<Vec<(u32, LeafAt)>, StoreError> {
        let room = (payload_pages(&self.layout.fixed) * PAGE)
            .saturating_sub(self.layout.leaf.most_pages() * PAGE);
        let (mut payload, mut numbers, mut places) = (Vec::new(), Vec::new(), Vec::new());
        for (leaf, bytes) in leaves {
            let begin = payload.len();
            let pages = bytes.append_pages(&mut payload);
            let sum = crc32c::crc32c(&payload[begin..]);
            numbers.push(leaf);
            places.push((leaf, LeafAt { page: (begin / PAGE) as u32, pages, sum, time }));
            if payload.len() > room {
                break;
            }
        }
        let mut meta = self.meta()?;
        let first = meta.append(MetaKind::Leaves, &numbers, &payload)?;
        drop(meta);
        places.iter_mut().for_each(|(_, at)| at.page += first);
        Ok(places)
    }

    /// Writes the leaves that are not in memory once more, so that nothing before this checkpoint
    /// is needed.
    fn move_other_leaves(&self, snapshot: &mut CheckpointState) -> Result<(), StoreError> {
        let taken = |leaf: u32| snapshot.leaves.binary_search_by_key(&leaf, |(leaf, _)| *leaf);
        let others =
            snapshot.root.iter().filter(|&&(leaf, at)| at.page != 0 && taken(leaf).is_err());
        let others: Vec<(u32, LeafAt)> = others.copied().collect();
        let together = (payload_pages(&self.layout.fixed) / self.layout.leaf.most_pages()).max(1);
        for some in others.chunks(together) {
            let read = |&(leaf, at): &(u32, LeafAt)| {
                let bytes = self.read_leaf(leaf, at)?;
                let read = Leaf::of_pages(self.layout.leaf, &bytes);
                Ok((leaf, read.ok_or_else(|| self.damaged_leaf(leaf, at, "is none"))?))
            };
            let images = some.iter().map(read).collect::<Result<Vec<_>, StoreError>>()?;
            let places = self.write_leaves(&mut images.into_iter(), snapshot.head.time)?;
            debug_assert_eq!(places.len(), some.len(), "as many as one record has room for");
            let mut state = self.state()?;
            for ((leaf, moved), &(_, at)) in places.into_iter().zip(some) {
                let moved = LeafAt { time: at.time, ..moved };
                snapshot.place(leaf, moved);
                state.volume.map_mut().moved(leaf, at, moved);
            }
        }
        Ok(())
    }

    /// Writes the table; returns the places of its parts.
    fn write_table(&self, snapshot: &CheckpointState) -> Result<Vec<u32>, StoreError> {
        let (bytes, len) = snapshot.table();
        let most = payload_pages(&self.layout.fixed) * PAGE;
        let parts = bytes.len().div_ceil(most);
        let mut places = Vec::with_capacity(parts);
        let mut meta = self.meta()?;
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
        let mut meta = self.meta()?;
        let state = self.state()?;
        let leaves = snapshot.root.iter().copied().chain(state.volume.map().root());
        let leaves = leaves.map(|(_, at)| at.page);
        let leaves = leaves.filter(|&page| page != 0);
        let needed: Vec<_> = leaves.chain(table.iter().copied()).collect();
        drop(state);
        meta.release(begin, needed.into_iter())
    }
}
