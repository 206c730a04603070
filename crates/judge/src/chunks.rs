//! Chunks that were written after the checkpoint.

use std::collections::BTreeMap;

use frostline_zone::Device;

use crate::Undecided;
use crate::metadata::Metadata;
use crate::page::{ChunkHead, HEAD, MetaPage, PAGE, PageHead, Place, bytes_of};

/// A chunk that the checkpoint does not cover.
pub(crate) struct Late {
    pub zone: u32,
    pub opening: u64,
    pub seq: u64,
    /// All chunks up to this number were durable.
    pub durable: u64,
    pub group: Option<ChunkGroup>,
    pub rows: Vec<PageRow>,
}

/// A group that was not known to be durable when a chunk was sealed.
#[derive(Clone, Copy)]
pub(crate) struct ChunkGroup {
    /// Number of the first chunk that may hold pages of it.
    pub from: u64,
    /// User writes before its first page.
    pub time: u64,
    pub pages: u32,
}

impl ChunkGroup {
    pub(crate) fn has(&self, row: &PageRow) -> bool {
        row.time > self.time && row.time - self.time <= u64::from(self.pages)
    }

    fn of(header: &MetaPage) -> Option<ChunkGroup> {
        let group = ChunkGroup {
            from: header.u64(HEAD),
            time: header.u64(HEAD + 8),
            pages: header.u32(HEAD + 16),
        };
        (group.pages > 0).then_some(group)
    }
}

/// A record of a chunk.
pub(crate) struct PageRow {
    pub lba: u32,
    pub kind: Kind,
    pub time: u64,
    pub place: Place,
    /// Of a delta the sum of its image, of a tail that of its delta. Of an image that cleaning
    /// merged the sum of the last record in it, of another 0.
    pub other: u32,
}

/// The part of its page that a record has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    Image,
    Delta,
    Tail,
}

impl Kind {
    fn of(number: u32) -> Option<Kind> {
        [Kind::Image, Kind::Delta, Kind::Tail].get(number as usize).copied()
    }
}

impl Late {
    /// Drops the pages that are not what the header says.
    pub(crate) fn leave_whole_pages(&mut self, device: &dyn Device) -> Result<(), Undecided> {
        let mut whole = Vec::new();
        for row in self.rows.drain(..) {
            let found = bytes_of(device, row.place)?;
            if found.map(|bytes| crc32c::crc32c(&bytes)) == Some(row.place.sum) {
                whole.push(row);
            }
        }
        self.rows = whole;
        Ok(())
    }
}

/// The offsets at which late chunks may begin in a zone of the device.
struct Start {
    opening: u64,
    page: u32,
    first: u32,
}

/// All late chunks: in zones of the table, those behind the covered part; in zones that notes say
/// were opened later, all from the beginning.
pub(crate) fn late_chunks(device: &dyn Device, meta: &Metadata) -> Result<Vec<Late>, Undecided> {
    let mut starts: BTreeMap<(u32, u64), Start> = BTreeMap::new();
    for zone in meta.zones.values() {
        let first = zone.used / (PAGE as u32 / meta.unit);
        let start = Start { opening: zone.opening, page: zone.pages, first };
        starts.insert((zone.device_zone, zone.opening), start);
    }
    for &(zone, opening) in &meta.opened {
        starts.entry((zone, opening)).or_insert(Start { opening, page: 0, first: 0 });
    }
    let mut late = Vec::new();
    for (&(zone, _), start) in &starts {
        scan(device, meta, zone, start, &mut late)?;
    }
    Ok(late)
}

/// The chunks of one opening of a zone, up to the first page that is not the expected header.
fn scan(
    device: &dyn Device,
    meta: &Metadata,
    zone: u32,
    start: &Start,
    late: &mut Vec<Late>,
) -> Result<(), Undecided> {
    let Start { opening, mut page, mut first } = *start;
    while let Some(header) = MetaPage::read(device, zone, page)? {
        let chunk = header.chunk_head();
        let expected = |h: &PageHead| {
            (h.kind, h.store, h.zone, h.page, chunk.opening, chunk.first)
                == (CHUNK, meta.store, zone, page, opening, first)
        };
        let Some(head) = header.head().filter(expected) else { break };
        let rows = rows(meta, &header, &chunk, (zone, page))
            .ok_or_else(|| Undecided::Damaged(format!("zone {zone}, page {page}: a row's kind")))?;
        let bytes: u32 = rows.iter().map(|row| row.place.bytes).sum();
        if head.seq >= meta.next_chunk {
            late.push(Late {
                zone,
                opening,
                seq: head.seq,
                durable: chunk.durable,
                group: ChunkGroup::of(&header),
                rows,
            });
        }
        page += 1 + chunk.pages;
        first += bytes.div_ceil(PAGE as u32);
    }
    Ok(())
}

const CHUNK: u32 = 5;

/// The rows of a header in a page: the records lie one behind the other, in whole units. None if
/// one is of no known kind.
fn rows(
    meta: &Metadata,
    header: &MetaPage,
    chunk: &ChunkHead,
    (zone, page): (u32, u32),
) -> Option<Vec<PageRow>> {
    let (count, rows_at) = (chunk.records as usize, HEAD + 48);
    let mut at = u64::from(page) * PAGE as u64 + u64::from(chunk.header * meta.unit);
    let mut rows = Vec::new();
    for i in 0..count {
        let (row, form) = (rows_at + 16 * i, rows_at + 16 * count + 8 * i);
        let (kind, length) = (header.u32(form) & 0xffff, header.u32(form) >> 16);
        let kind = Kind::of(kind)?;
        let bytes = length.next_multiple_of(meta.unit);
        let (lba, sum, time) = (header.u32(row), header.u32(row + 4), header.u64(row + 8));
        let other = header.u32(form + 4);
        let place = Place { zone, opening: None, at, bytes, sum };
        rows.push(PageRow { lba, kind, time, place, other });
        at += u64::from(bytes);
    }
    Some(rows)
}
