//! Chunks: a header page, and the pages it describes. In memory until they are written.

use frostline_placement::Hotness;
use frostline_zone::AlignedBuf;

use crate::format::{Group, PAGE, Row, rows};
use crate::head::{ChunkHead, Head, HeadKind};

/// A chunk that is being filled, or is on its way to the device.
pub struct Chunk {
    /// Zone of the volume.
    pub zone: u32,
    /// Offset of its first page among the zone's pages.
    pub first: u32,
    /// Page of the device's zone where its header goes.
    pub start: u32,
    /// Most pages it can take.
    pub room: u32,
    /// The header's row of each page.
    pub rows: Vec<Row>,
    /// The pages' hotness records, if the store has them.
    pub hotness: Option<Vec<Hotness>>,
    /// Number of the chunk, once it is sealed.
    pub seq: u64,
    bytes: AlignedBuf,
}

impl Chunk {
    /// An empty chunk; `bytes` has room for the header and `room` pages.
    pub fn new(
        zone: u32,
        first: u32,
        start: u32,
        room: u32,
        hotness: bool,
        bytes: AlignedBuf,
    ) -> Self {
        let rows = Vec::with_capacity(room as usize);
        Chunk { zone, first, start, room, rows, hotness: hotness.then(Vec::new), seq: 0, bytes }
    }

    /// True if it takes no more pages.
    pub fn is_full(&self) -> bool {
        self.rows.len() as u32 == self.room
    }

    /// Appends a page.
    pub fn push(&mut self, row: Row, hotness: Hotness, page: &[u8]) {
        let at = (1 + self.rows.len()) * PAGE;
        self.bytes[at..at + PAGE].copy_from_slice(page);
        self.rows.push(row);
        if let Some(all) = &mut self.hotness {
            all.push(hotness);
        }
    }

    /// The content of a page, by its offset in the zone.
    pub fn page(&self, offset: u32) -> Option<&[u8]> {
        let index = offset.checked_sub(self.first)? as usize;
        (index < self.rows.len()).then(|| &self.bytes[(1 + index) * PAGE..(2 + index) * PAGE])
    }

    /// Writes the header. All chunks up to `durable`, and all notes before `noted`, are durable, and a
    /// group may not be.
    pub fn seal(
        &mut self,
        store: u64,
        (device_zone, opening): (u32, u64),
        (durable, noted): (u64, u64),
        group: Option<Group>,
    ) {
        let mut body = bytemuck::cast_slice::<_, u8>(&self.rows).to_vec();
        if let Some(hotness) = &self.hotness {
            body.extend_from_slice(bytemuck::cast_slice(hotness));
        }
        if let Some(group) = group {
            group.put(&mut body);
        }
        let head = HeadKind::Chunk(ChunkHead {
            seq: self.seq,
            pages: self.rows.len() as u32,
            first: self.first,
            opening,
            durable,
            noted: noted as u32,
        });
        Head::new(store, device_zone, self.start, head).seal(&mut self.bytes[..PAGE], &body);
    }

    /// Header and pages, as they go to the device.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..(1 + self.rows.len()) * PAGE]
    }

    /// The memory, for another chunk.
    pub fn into_bytes(self) -> AlignedBuf {
        self.bytes
    }
}

impl ChunkHead {
    /// The rows behind the head, and the hotness records if the store has them.
    pub fn rows(&self, body: &[u8], hotness: bool) -> (Vec<Row>, Option<Vec<Hotness>>) {
        let count = self.pages as usize;
        let behind = &body[(count * size_of::<Row>()).min(body.len())..];
        (rows(body, count), hotness.then(|| rows(behind, count)))
    }
}
