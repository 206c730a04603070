//! Checkpoints: the map and the zones as they are at one moment, so that recovery need not go
//! further back.

use std::sync::Arc;

use crate::StoreError;
use crate::format::{Head, Kind, LeafAt, PAGE, TableHead, ZoneRow};
use crate::inner::Inner;
use crate::layout::{leaves_in_record, payload_pages};
use crate::leaves::Image;
use crate::state::State;

/// A leaf as it was read.
struct Bytes(Vec<u8>);

impl Image for Bytes {
    fn encode(&self) -> Vec<u8> {
        self.0.clone()
    }
}

/// What a checkpoint writes down.
struct Snapshot {
    /// Leaves to be written.
    leaves: Vec<(u32, Arc<dyn Image>)>,
    /// Where all leaves lie.
    root: Vec<LeafAt>,
    head: TableHead,
    zones: Vec<ZoneRow>,
    chunks: Vec<u32>,
}

impl Snapshot {
    fn of(state: &mut State, whole: bool, notes_from: u64) -> Snapshot {
        let leaves = state.placer.take_leaves(whole);
        let (mut zones, mut chunks) = (Vec::new(), Vec::new());
        for image in state.placer.images() {
            let zone = &state.zones[image.zone as usize];
            let written = |i: &usize| !zone.sick || zone.start_of(*i) < zone.written;
            let firsts = (0..zone.firsts.len()).take_while(written).map(|i| zone.firsts[i]);
            let before = chunks.len();
            chunks.extend(firsts);
            zones.push(ZoneRow {
                zone: image.zone,
                device_zone: zone.device_zone,
                class: image.class,
                opened_at: image.opened_at,
                sealed_at: image.sealed_at.unwrap_or_default(),
                sealed: u32::from(image.sealed_at.is_some()),
                used: image.used,
                garbage: image.garbage,
                opening: zone.opening,
                pages: if zone.sick { zone.written } else { zone.pages },
                chunks: (chunks.len() - before) as u32,
            });
        }
        let w = &state.written;
        let head = TableHead {
            time: state.time,
            valid: state.placer.valid_pages(),
            next_seq: state.next_seq,
            next_opening: state.next_opening,
            next_serial: state.next_serial,
            notes_from,
            written: [w.user, w.relocations, w.headers, w.checkpoints],
            leaves: state.root.len() as u32,
            zones: zones.len() as u32,
            chunks: chunks.len() as u32,
            reserved: 0,
        };
        Snapshot { leaves, root: state.root.clone(), head, zones, chunks }
    }

    /// The table, filled up to whole pages; and its length before that.
    fn table(&self) -> (Vec<u8>, usize) {
        let mut bytes = bytemuck::bytes_of(&self.head).to_vec();
        bytes.extend_from_slice(bytemuck::cast_slice(&self.root));
        bytes.extend_from_slice(bytemuck::cast_slice(&self.zones));
        bytes.extend_from_slice(bytemuck::cast_slice(&self.chunks));
        let len = bytes.len();
        bytes.resize(len.next_multiple_of(PAGE), 0);
        (bytes, len)
    }
}

impl Inner {
    /// Does what is due besides cleaning.
    pub fn keep(&self) -> Result<(), StoreError> {
        match self.checkpoint_due() {
            true => self.checkpoint(),
            false => Ok(()),
        }
    }

    /// True if a checkpoint is due.
    pub fn checkpoint_due(&self) -> bool {
        self.state().is_ok_and(|state| self.is_checkpoint_due(&state))
    }

    /// The same for whoever holds the lock.
    pub fn is_checkpoint_due(&self, state: &State) -> bool {
        // Recovery has the leaves of what was written since in memory.
        let most = self.layout.fixed.checkpoint_writes.min(self.most_leaves.max(64) as u64);
        state.since_checkpoint >= most || self.counters.meta_is_low()
    }

    /// Writes a checkpoint.
    ///
    /// Under one hold of the lock all chunks are sealed and the changed leaves are shared. What
    /// they point to is made durable before the table is written, and the table is what makes the
    /// checkpoint.
    pub fn checkpoint(&self) -> Result<(), StoreError> {
        let _one = self.lock_keeper()?;
        let written = self.write_checkpoint();
        written.map_err(|error| self.fail(error))
    }

    fn write_checkpoint(&self) -> Result<(), StoreError> {
        let meta = self.meta()?;
        let whole = meta.free_pages() < self.layout.meta_reserve();
        let (notes_from, begin) = (meta.seq(), meta.position());
        drop(meta);
        let mut state = self.state()?;
        if let Some(error) = &state.failed {
            return Err(StoreError::Failed(Box::new(error.clone())));
        }
        let last = state.seal_all();
        state.written.checkpoints = self.counters.meta_pages();
        let mut snapshot = Snapshot::of(&mut state, whole, notes_from);
        state.since_checkpoint = 0;
        let outgoing = std::mem::take(&mut state.outgoing);
        drop(state);
        self.write_out(outgoing)?;
        self.write_snapshot_leaves(&mut snapshot)?;
        if whole {
            self.move_other_leaves(&mut snapshot)?;
        }
        self.make_durable(last)?;
        let table = self.write_table(&snapshot)?;
        self.device.flush()?;
        self.release_meta(&snapshot, &table, begin)
    }

    fn write_snapshot_leaves(&self, snapshot: &mut Snapshot) -> Result<(), StoreError> {
        let together = leaves_in_record(&self.layout.fixed, self.layout.state);
        let leaves = std::mem::take(&mut snapshot.leaves);
        for some in leaves.chunks(together) {
            let places = self.write_leaves(some, snapshot.head.time)?;
            let mut state = self.state()?;
            for (leaf, at) in places {
                snapshot.root[leaf as usize] = at;
                state.root[leaf as usize] = at;
                state.placer.leaf_written(leaf);
            }
        }
        snapshot.leaves = leaves;
        Ok(())
    }

    /// Writes leaves; returns where.
    pub fn write_leaves(
        &self,
        leaves: &[(u32, Arc<dyn Image>)],
        time: u64,
    ) -> Result<Vec<(u32, LeafAt)>, StoreError> {
        let numbers: Vec<_> = leaves.iter().map(|(leaf, _)| *leaf).collect();
        let images: Vec<_> = leaves.iter().map(|(_, image)| image.encode()).collect();
        let payload = images.concat();
        let head = Head { count: numbers.len() as u32, ..Head::default() };
        let mut meta = self.meta()?;
        let page = meta.append(Kind::Leaves, head, bytemuck::cast_slice(&numbers), &payload)?;
        self.counters.note_meta(&meta, self.layout.meta_reserve());
        drop(meta);
        let pages = crate::leaves::leaf_pages(self.layout.state) as u32;
        let at = |(page, image): (u32, &Vec<u8>)| LeafAt { page, sum: crc32c::crc32c(image), time };
        let places = (page..).step_by(pages as usize).zip(&images).map(at);
        Ok(numbers.into_iter().zip(places).collect())
    }

    /// Writes the leaves that are not in memory once more, so that nothing before this checkpoint
    /// is needed.
    fn move_other_leaves(&self, snapshot: &mut Snapshot) -> Result<(), StoreError> {
        let mut taken = vec![false; snapshot.root.len()];
        snapshot.leaves.iter().for_each(|(leaf, _)| taken[*leaf as usize] = true);
        let others = (0u32..).zip(&snapshot.root).zip(taken);
        let others = others.filter(|((_, at), taken)| !taken && at.page != 0);
        let others: Vec<_> = others.map(|((leaf, at), _)| (leaf, *at)).collect();
        let together = leaves_in_record(&self.layout.fixed, self.layout.state);
        for some in others.chunks(together) {
            let read = |&(leaf, at): &(u32, LeafAt)| {
                let bytes = self.read_leaf(at.page, at.sum)?;
                Ok((leaf, Arc::new(Bytes(bytes.to_vec())) as Arc<dyn Image>))
            };
            let images = some.iter().map(read).collect::<Result<Vec<_>, StoreError>>()?;
            let places = self.write_leaves(&images, snapshot.head.time)?;
            let mut state = self.state()?;
            for ((leaf, moved), (_, at)) in places.into_iter().zip(some) {
                let moved = LeafAt { time: at.time, ..moved };
                snapshot.root[leaf as usize] = moved;
                if state.root[leaf as usize] == *at {
                    state.root[leaf as usize] = moved;
                }
            }
        }
        Ok(())
    }

    /// Writes the table; returns the places of its parts.
    fn write_table(&self, snapshot: &Snapshot) -> Result<Vec<u32>, StoreError> {
        let (bytes, len) = snapshot.table();
        let most = payload_pages(&self.layout.fixed) * PAGE;
        let parts = bytes.len().div_ceil(most);
        let mut places = Vec::with_capacity(parts);
        let mut meta = self.meta()?;
        for (first, part) in (0u32..).zip(bytes.chunks(most)) {
            let head = Head { first, a: parts as u64, b: len as u64, ..Head::default() };
            places.push(meta.append(Kind::Table, head, &[], part)?);
        }
        self.counters.note_meta(&meta, self.layout.meta_reserve());
        Ok(places)
    }

    /// Resets the metadata zones that nothing needs any more.
    fn release_meta(
        &self,
        snapshot: &Snapshot,
        table: &[u32],
        begin: Option<u32>,
    ) -> Result<(), StoreError> {
        let mut meta = self.meta()?;
        let state = self.state()?;
        let leaves = snapshot.root.iter().chain(&state.root).map(|at| at.page);
        let leaves = leaves.filter(|&page| page != 0);
        let needed: Vec<_> = leaves.chain(table.iter().copied()).collect();
        drop(state);
        meta.release(begin, needed.into_iter())?;
        self.counters.note_meta(&meta, self.layout.meta_reserve());
        Ok(())
    }
}
