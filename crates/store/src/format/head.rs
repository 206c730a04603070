//! Heads of pages that describe others: typed here, and as they lie on the device.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};

use crate::format::{BESIDE_ROWS, Group, MAGIC, MOST, PAGE, VERSION, Witness};

/// Bytes of a page behind its head.
pub(crate) const BODY: usize = PAGE - size_of::<Raw>();

/// The head of a page that describes others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// Version of the format.
    pub version: u32,
    /// Number of the store, drawn when it is formatted.
    pub store: u64,
    /// Zone of the device where this page was meant to lie.
    pub zone: u32,
    /// Page in it.
    pub page: u32,
    /// The kind of thing that the page describes.
    pub kind: HeadKind,
}

/// The kind of thing that a page describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeadKind {
    /// A chunk of pages.
    Chunk(ChunkHead),
    /// A record of the metadata log.
    Meta(MetaHead),
}

/// The head of a chunk's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkHead {
    /// Number of the chunk.
    pub seq: u64,
    /// Records in it.
    pub records: u32,
    /// Pages in it.
    pub pages: u32,
    /// Offset of its first page in its zone, headers not counted.
    pub first: u32,
    /// Number of the zone's opening.
    pub opening: u64,
    /// All chunks up to this number were durable.
    pub durable: u64,
    /// All notes before this number (modulo 2^32) were durable.
    pub noted: u32,
    /// Units of the header. The records begin behind it.
    pub header: u32,
}

/// The head of a record in the metadata log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MetaHead {
    /// Number of the record.
    pub seq: u64,
    /// Rows in this page.
    pub rows: u32,
    /// Pages that follow and belong to it.
    pub payload: u32,
    /// CRC-32C of these.
    pub sum: u32,
    /// The kind of the record.
    pub record: MetaKind,
}

/// The kind of a record in the metadata log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetaKind {
    /// First pages of a metadata zone: the store's options.
    Super,
    /// Zones opened and pages trimmed.
    Notes(NotesHead),
    /// Leaves of the map.
    Leaves,
    /// Part of a checkpoint's table.
    Table(TablePart),
    /// Something that this program does not know.
    Unknown(u32),
}

/// The head of notes: what was durable when they were written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NotesHead {
    /// All notes before this number.
    pub notes: u64,
    /// All chunks up to this number.
    pub chunks: u64,
}

/// A part of a checkpoint's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TablePart {
    /// Its number, from 0.
    pub part: u32,
    /// Number of parts.
    pub parts: u64,
    /// Bytes of all parts.
    pub bytes: u64,
}

/// A head as it lies on the device.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Raw {
    magic: u32,
    /// CRC-32C of the page from byte 8 on.
    crc: u32,
    kind: u32,
    version: u32,
    store: u64,
    seq: u64,
    zone: u32,
    page: u32,
    /// A [`RawChunk`] or a [`RawMeta`], by the kind.
    rest: [u8; 32],
}

/// The end of a chunk's head.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct RawChunk {
    records: u16,
    header: u16,
    pages: u32,
    first: u32,
    noted: u32,
    opening: u64,
    durable: u64,
}

/// The end of the head of a record of the metadata log.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct RawMeta {
    rows: u32,
    payload: u32,
    /// Of a table.
    part: u32,
    sum: u32,
    /// Notes: all chunks up to the first number were durable, and all notes before the second.
    /// Table: the number of parts, and the bytes of all.
    own: [u64; 2],
}

const SUPER: u32 = 1;
const NOTES: u32 = 2;
const LEAVES: u32 = 3;
const TABLE: u32 = 4;
const CHUNK: u32 = 5;

impl Head {
    /// The head of a page that this program writes.
    pub(crate) fn new(store: u64, zone: u32, page: u32, kind: HeadKind) -> Head {
        Head { version: VERSION, store, zone, page, kind }
    }

    /// The head of a page and what stands behind it, if the page describes others and is undamaged.
    pub(crate) fn of(page: &[u8]) -> Option<(Head, &[u8])> {
        let (raw, body) = page.split_at_checked(size_of::<Raw>())?;
        let raw: Raw = bytemuck::pod_read_unaligned(raw);
        let whole = raw.magic == MAGIC
            && raw.crc == crc32c::crc32c(page.get(8..PAGE)?)
            && raw.numbers().into_iter().all(|number| number < MOST);
        whole.then(|| (raw.typed(), body))
    }

    /// The head of a page, if the page is undamaged and was meant to lie there in this store.
    pub(crate) fn at(page: &[u8], store: u64, zone: u32, at: u32) -> Option<(Head, &[u8])> {
        let ours = |head: &Head| (head.store, head.zone, head.page) == (store, zone, at);
        Head::of(page).filter(|(head, _)| ours(head))
    }

    /// True if it is that of a superblock.
    pub(crate) fn is_super(&self) -> bool {
        matches!(self.kind, HeadKind::Meta(MetaHead { record: MetaKind::Super, .. }))
    }

    /// Puts the head and the bytes behind it into a page, and the sum over the page.
    pub(crate) fn seal(&self, page: &mut [u8], body: &[u8]) {
        page[..PAGE].fill(0);
        page[..size_of::<Raw>()].copy_from_slice(bytemuck::bytes_of(&Raw::of(self)));
        page[size_of::<Raw>()..][..body.len()].copy_from_slice(body);
        let crc = crc32c::crc32c(&page[8..PAGE]);
        page[4..8].copy_from_slice(&crc.to_le_bytes());
    }
}

impl ChunkHead {
    /// The head of a chunk's header, and the rows behind it, if it is that of a chunk of this store
    /// that was meant to lie there.
    pub(crate) fn at(page: &[u8], store: u64, zone: u32, at: u32) -> Option<(ChunkHead, &[u8])> {
        match Head::at(page, store, zone, at)? {
            (Head { kind: HeadKind::Chunk(chunk), .. }, body) => Some((chunk, body)),
            _ => None,
        }
    }
}

/// Where a chunk's header has the group, behind the head: the rows come after group and witness.
pub(crate) const GROUP: Range<usize> = 0..size_of::<Group>();

/// Where it has the witness.
pub(crate) const WITNESS: Range<usize> = GROUP.end..BESIDE_ROWS;

impl Group {
    /// The group that a chunk's header names, if it names one.
    pub(crate) fn of(body: &[u8]) -> Option<Group> {
        let group: Group = bytemuck::pod_read_unaligned(body.get(GROUP)?);
        (group.pages > 0).then_some(group)
    }
}

impl Witness {
    /// The witness in a chunk's header.
    pub(crate) fn of(body: &[u8]) -> Witness {
        body.get(WITNESS).map(bytemuck::pod_read_unaligned).unwrap_or_default()
    }
}

impl Raw {
    fn of(head: &Head) -> Raw {
        let Head { version, store, zone, page, kind } = *head;
        let (kind, seq, rest) = match kind {
            HeadKind::Chunk(chunk) => (CHUNK, chunk.seq, bytemuck::cast(RawChunk::of(&chunk))),
            HeadKind::Meta(MetaHead { seq, rows, payload, sum, record }) => {
                let (kind, part, own) = match record {
                    MetaKind::Super => (SUPER, 0, [0; 2]),
                    MetaKind::Notes(NotesHead { notes, chunks }) => (NOTES, 0, [chunks, notes]),
                    MetaKind::Leaves => (LEAVES, 0, [0; 2]),
                    MetaKind::Table(TablePart { part, parts, bytes }) => {
                        (TABLE, part, [parts, bytes])
                    }
                    MetaKind::Unknown(kind) => (kind, 0, [0; 2]),
                };
                (kind, seq, bytemuck::cast(RawMeta { rows, payload, part, sum, own }))
            }
        };
        Raw { magic: MAGIC, crc: 0, kind, version, store, seq, zone, page, rest }
    }

    /// The numbers of 8 bytes, whatever the kind.
    fn numbers(&self) -> [u64; 3] {
        let RawMeta { own: [a, b], .. } = bytemuck::cast(self.rest);
        [self.seq, a, b]
    }

    fn typed(&self) -> Head {
        let Raw { version, store, seq, zone, page, rest, .. } = *self;
        if self.kind == CHUNK {
            let kind = HeadKind::Chunk(bytemuck::cast::<_, RawChunk>(rest).typed(seq));
            return Head { version, store, zone, page, kind };
        }
        let RawMeta { rows, payload, part, sum, own } = bytemuck::cast(rest);
        let record = match self.kind {
            SUPER => MetaKind::Super,
            NOTES => MetaKind::Notes(NotesHead { chunks: own[0], notes: own[1] }),
            LEAVES => MetaKind::Leaves,
            TABLE => MetaKind::Table(TablePart { part, parts: own[0], bytes: own[1] }),
            unknown => MetaKind::Unknown(unknown),
        };
        let kind = HeadKind::Meta(MetaHead { seq, rows, payload, sum, record });
        Head { version, store, zone, page, kind }
    }
}

impl RawChunk {
    fn of(chunk: &ChunkHead) -> RawChunk {
        let ChunkHead { seq: _, records, pages, first, opening, durable, noted, header } = *chunk;
        let (records, header) = (records as u16, header as u16);
        RawChunk { records, header, pages, first, noted, opening, durable }
    }

    fn typed(self, seq: u64) -> ChunkHead {
        let RawChunk { records, header, pages, first, noted, opening, durable } = self;
        let (records, header) = (records.into(), header.into());
        ChunkHead { seq, records, pages, first, opening, durable, noted, header }
    }
}
