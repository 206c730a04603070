//! Heads of pages that describe others: typed here, and as they lie on the device.

use bytemuck::{Pod, Zeroable};

use crate::format::{BESIDE_ROWS, Group, MAGIC, MOST, PAGE, WHOLE_PAGES, Witness};
use crate::records::Sizes;

/// Bytes of a page behind its head.
pub const BODY: usize = PAGE - size_of::<Raw>();

/// Where superblocks have the bytes of a unit, behind the head: at the end of the page. A store whose pages take
/// 4,096 bytes each has none there.
pub const UNIT_AT: usize = BODY - 4;

/// Bits of a head's `count` in which a chunk of a store in units has its records; above them are the units of its
/// header.
const RECORDS_BITS: u32 = 16;

/// The head of a page that describes others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
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
pub enum HeadKind {
    /// A chunk of pages.
    Chunk(ChunkHead),
    /// A record of the metadata log.
    Meta(MetaHead),
}

/// The head of a chunk's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkHead {
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
    /// Slots of the header: one page, but in a store in units as many units as it needs. The records begin behind it.
    pub header: u32,
}

/// The head of a record in the metadata log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetaHead {
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
pub enum MetaKind {
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
pub struct NotesHead {
    /// All notes before this number.
    pub notes: u64,
    /// All chunks up to this number.
    pub chunks: u64,
}

/// A part of a checkpoint's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TablePart {
    /// Its number, from 0.
    pub part: u32,
    /// Number of parts.
    pub parts: u64,
    /// Bytes of all parts.
    pub bytes: u64,
}

/// A head as it lies on the device. docs/recovery.md says what the last four fields are in each kind.
#[derive(Clone, Copy, Default, Pod, Zeroable)]
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
    count: u32,
    payload: u32,
    first: u32,
    sum: u32,
    a: u64,
    b: u64,
}

const SUPER: u32 = 1;
const NOTES: u32 = 2;
const LEAVES: u32 = 3;
const TABLE: u32 = 4;
const CHUNK: u32 = 5;

impl Head {
    /// The head of a page that this program writes, of a store of these sizes.
    pub fn new(store: u64, sizes: Sizes, zone: u32, page: u32, kind: HeadKind) -> Head {
        Head { version: sizes.version(), store, zone, page, kind }
    }

    /// The head of a page and what stands behind it, if the page describes others and is undamaged.
    pub fn of(page: &[u8]) -> Option<(Head, &[u8])> {
        let (raw, body) = page.split_at_checked(size_of::<Raw>())?;
        let raw: Raw = bytemuck::pod_read_unaligned(raw);
        let whole = raw.magic == MAGIC
            && raw.crc == crc32c::crc32c(page.get(8..PAGE)?)
            && raw.seq.max(raw.a).max(raw.b) < MOST;
        whole.then(|| (raw.typed(), body))
    }

    /// The head of a page, if the page is undamaged and was meant to lie there in this store.
    pub fn at(page: &[u8], store: u64, zone: u32, at: u32) -> Option<(Head, &[u8])> {
        let ours = |head: &Head| (head.store, head.zone, head.page) == (store, zone, at);
        Head::of(page).filter(|(head, _)| ours(head))
    }

    /// True if it is that of a superblock.
    pub fn is_super(&self) -> bool {
        matches!(self.kind, HeadKind::Meta(MetaHead { record: MetaKind::Super, .. }))
    }

    /// Puts the head and the bytes behind it into a page, and the sum over the page.
    pub fn seal(&self, page: &mut [u8], body: &[u8]) {
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
    pub fn at(page: &[u8], store: u64, zone: u32, at: u32) -> Option<(ChunkHead, &[u8])> {
        match Head::at(page, store, zone, at)? {
            (Head { kind: HeadKind::Chunk(chunk), .. }, body) => Some((chunk, body)),
            _ => None,
        }
    }
}

impl Group {
    /// Where it lies behind the head of a chunk's header: at the end of the page, in a store in units before the rows.
    pub fn at(sizes: Sizes) -> usize {
        if sizes.unit().is_some() { 0 } else { BODY - size_of::<Group>() }
    }

    /// The group that a chunk's header names, if it names one.
    pub fn of(body: &[u8], sizes: Sizes) -> Option<Group> {
        let at = Group::at(sizes);
        let group: Group = bytemuck::pod_read_unaligned(body.get(at..at + size_of::<Group>())?);
        (group.pages > 0).then_some(group)
    }
}

impl Witness {
    /// Where it lies behind the head of a chunk's header.
    pub fn at(sizes: Sizes) -> usize {
        if sizes.unit().is_some() { size_of::<Group>() } else { BODY - BESIDE_ROWS }
    }

    /// The witness in a chunk's header.
    pub fn of(body: &[u8], sizes: Sizes) -> Witness {
        let at = Witness::at(sizes);
        let bytes = body.get(at..at + size_of::<Witness>());
        bytes.map(bytemuck::pod_read_unaligned).unwrap_or_default()
    }
}

impl Raw {
    fn of(head: &Head) -> Raw {
        let Head { version, store, zone, page, kind } = *head;
        let raw = Raw { magic: MAGIC, version, store, zone, page, ..Raw::default() };
        match kind {
            HeadKind::Chunk(chunk) => {
                let ChunkHead { seq, records, pages, first, opening, durable, noted, header } =
                    chunk;
                let in_units = version > WHOLE_PAGES;
                Raw {
                    kind: CHUNK,
                    seq,
                    count: records | if in_units { header << RECORDS_BITS } else { 0 },
                    payload: pages,
                    first,
                    sum: noted,
                    a: opening,
                    b: durable,
                    ..raw
                }
            }
            HeadKind::Meta(MetaHead { seq, rows, payload, sum, record }) => {
                let raw = Raw { seq, count: rows, payload, sum, ..raw };
                match record {
                    MetaKind::Super => Raw { kind: SUPER, ..raw },
                    MetaKind::Notes(NotesHead { notes, chunks }) => {
                        Raw { kind: NOTES, a: chunks, b: notes, ..raw }
                    }
                    MetaKind::Leaves => Raw { kind: LEAVES, ..raw },
                    MetaKind::Table(TablePart { part, parts, bytes }) => {
                        Raw { kind: TABLE, first: part, a: parts, b: bytes, ..raw }
                    }
                    MetaKind::Unknown(kind) => Raw { kind, ..raw },
                }
            }
        }
    }

    fn typed(&self) -> Head {
        let Raw { version, store, seq, zone, page, count, payload, first, sum, a, b, .. } = *self;
        let meta = |record| HeadKind::Meta(MetaHead { seq, rows: count, payload, sum, record });
        let kind = match self.kind {
            SUPER => meta(MetaKind::Super),
            NOTES => meta(MetaKind::Notes(NotesHead { notes: b, chunks: a })),
            LEAVES => meta(MetaKind::Leaves),
            TABLE => meta(MetaKind::Table(TablePart { part: first, parts: a, bytes: b })),
            CHUNK => {
                let (pages, opening, durable, noted) = (payload, a, b, sum);
                let (records, header) = match version > WHOLE_PAGES {
                    true => (count & ((1 << RECORDS_BITS) - 1), count >> RECORDS_BITS),
                    false => (count, 1),
                };
                HeadKind::Chunk(ChunkHead {
                    seq,
                    records,
                    pages,
                    first,
                    opening,
                    durable,
                    noted,
                    header,
                })
            }
            unknown => meta(MetaKind::Unknown(unknown)),
        };
        Head { version, store, zone, page, kind }
    }
}
