//! The metadata zones: the superblock, the last complete table with its leaves, and later notes.

use std::collections::{BTreeMap, HashMap};

use frostline_zone::Device;

use crate::Undecided;
use crate::page::{HEAD, LogHead, MetaPage, PAGE, PageHead, Place, read, u32_at, u64_at};

/// The records of the metadata zones that say which pages the store has.
pub(crate) struct Metadata {
    pub store: u64,
    /// Bytes of a unit.
    pub unit: u32,
    pub offset_bits: u32,
    /// Bytes of a place in a leaf, and of a row.
    pub place: usize,
    pub row: usize,
    /// Pages of a leaf.
    pub leaf: usize,
    /// User writes when the table was written.
    pub time: u64,
    /// Number of the first chunk that the table does not cover.
    pub next_chunk: u64,
    /// Zones of the table, by their number in the volume.
    pub zones: HashMap<u32, CheckpointZone>,
    pub leaves: Vec<MapLeaf>,
    /// Zones that were opened after the table: zone of the device and number of the opening.
    pub opened: Vec<(u32, u64)>,
    pub trims: Vec<TrimmedPage>,
    /// All chunks up to this number were durable, as later notes tell.
    pub durable: u64,
}

/// A zone that held pages at the checkpoint.
pub(crate) struct CheckpointZone {
    pub device_zone: u32,
    pub opening: u64,
    /// In units.
    pub used: u32,
    /// PageSums of the device's zone that were used, headers included.
    pub pages: u32,
    pub chunks: Vec<CheckpointChunk>,
}

/// A chunk of a zone at the checkpoint.
#[derive(Clone, Copy)]
pub(crate) struct CheckpointChunk {
    /// Its first page in the zone of the volume.
    first: u32,
    /// The page of the device's zone where its header begins.
    start: u32,
    header_bytes: u32,
}

/// A page that was trimmed after the checkpoint.
pub(crate) struct TrimmedPage {
    pub lba: u32,
    pub time: u64,
    pub serial: u64,
}

/// The places of a page's image, its delta and its tail.
pub(crate) type Places = [Option<Place>; 3];

/// A leaf of the map at the checkpoint.
pub(crate) struct MapLeaf {
    pub number: u32,
    bytes: Vec<u8>,
}

impl MapLeaf {
    /// Its pages, each with the places of its image, its delta and its tail: behind the rows of all
    /// images are those of the deltas and tails that there are, each behind twice the index of its
    /// page and 1, or 2 for a tail.
    pub(crate) fn pages(&self, meta: &Metadata) -> BTreeMap<u32, Places> {
        let mut pages = BTreeMap::new();
        for index in 0..meta.leaf {
            if let Some(place) = self.place(meta, index * meta.row) {
                pages.insert(self.page(meta, index), [Some(place), None, None]);
            }
        }
        let mut at = meta.leaf * meta.row;
        while at + 2 + meta.row <= self.bytes.len() {
            let key = usize::from(u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]]));
            let Some(key) = key.checked_sub(1) else { break };
            if let Some(places) = pages.get_mut(&self.page(meta, key / 2)) {
                places[1 + key % 2] = self.place(meta, at + 2);
            }
            at += 2 + meta.row;
        }
        pages
    }

    /// The page with this index.
    fn page(&self, meta: &Metadata, index: usize) -> u32 {
        self.number * meta.leaf as u32 + index as u32
    }

    /// The place that a row tells.
    fn place(&self, meta: &Metadata, row: usize) -> Option<Place> {
        let of_place = &self.bytes[row..row + meta.place];
        let place = of_place.iter().rev().fold(0u64, |place, &byte| place << 8 | u64::from(byte));
        let sum = u32_at(&self.bytes, row + meta.place);
        if place == 0 {
            return None;
        }
        // A page has a power of two of units.
        let unit_bits = (PAGE as u32 / meta.unit).trailing_zeros();
        let units = (place & ((1 << unit_bits) - 1)) as u32 + 1;
        let slot = place >> unit_bits;
        let (number, offset) = (slot >> meta.offset_bits, slot & ((1 << meta.offset_bits) - 1));
        let first_byte = offset * u64::from(meta.unit);
        let page = (first_byte / PAGE as u64) as u32;
        let mut place =
            Place { zone: 0, opening: None, at: first_byte, bytes: units * meta.unit, sum };
        if let Some(zone) = meta.zones.get(&(number as u32)) {
            if let Some(chunk) = zone.chunks.iter().rfind(|chunk| chunk.first <= page) {
                let before = PAGE as u64 * u64::from(chunk.first);
                place.at = place.at - before
                    + PAGE as u64 * u64::from(chunk.start)
                    + u64::from(chunk.header_bytes);
            }
            (place.zone, place.opening) = (zone.device_zone, Some(zone.opening));
        }
        Some(place)
    }
}

/// A record of the metadata log: its head, its rows, and the pages that follow it.
struct LogRecord {
    head: PageHead,
    log: LogHead,
    rows: MetaPage,
    /// The place of its payload in the ring, in pages counted through all metadata zones.
    payload_at: u32,
    payload: Vec<u8>,
}

impl Metadata {
    pub(crate) fn read(device: &dyn Device) -> Result<Metadata, Undecided> {
        let (block, head) = superblock(device)?;
        let device_pages = block.u32(112);
        let records = records(device, &block, &head, device_pages)?;
        let table = last_table(&records)
            .ok_or_else(|| Undecided::Damaged("no table is complete".to_string()))?;
        let unit = block.u32(120);
        if unit == 0 || !(PAGE as u32).is_multiple_of(unit) {
            return Err(Undecided::Damaged(format!("a unit of {unit} bytes")));
        }
        let zone_units = block.u32(116) * (PAGE as u32 / unit);
        let mut meta = Metadata {
            store: head.store,
            unit,
            offset_bits: u32::BITS - (zone_units - 1).leading_zeros(),
            place: block.u32(144) as usize & 0xffff,
            row: block.u32(144) as usize >> 16,
            leaf: block.u32(148) as usize,
            time: u64_at(&table, 0),
            next_chunk: u64_at(&table, 16),
            zones: HashMap::new(),
            leaves: Vec::new(),
            opened: Vec::new(),
            trims: Vec::new(),
            durable: 0,
        };
        meta.read_table(&records, &table)?;
        meta.read_notes(&records, &table);
        Ok(meta)
    }

    fn read_table(&mut self, records: &[LogRecord], table: &[u8]) -> Result<(), Undecided> {
        let (leaves, zones) = (u32_at(table, 80), u32_at(table, 84));
        let mut at = 152;
        for _ in 0..leaves {
            let [number, page, pages, sum] = [0, 4, 8, 12].map(|field| u32_at(table, at + field));
            let (pages, counted) = (pages & 0xffff, pages >> 16);
            at += 24;
            let bytes = leaf(records, page, pages, number, sum).ok_or_else(|| {
                Undecided::Damaged(format!("leaf {number} of the map is not there"))
            })?;
            let leaf = MapLeaf { number, bytes };
            let count = leaf.pages(self).len() as u32;
            if counted > 0 && counted != count + 1 {
                let what = format!("leaf {number} of the map has {count} pages, and others count");
                return Err(Undecided::Damaged(what));
            }
            self.leaves.push(leaf);
        }
        let mut first_at = at + 48 * zones as usize;
        for _ in 0..zones {
            let chunks = u32_at(table, at + 44) as usize;
            let words = (0..chunks).map(|i| u32_at(table, first_at + 4 * i));
            let chunks_of_zone = self.chunks(words);
            first_at += 4 * chunks;
            let zone = CheckpointZone {
                device_zone: u32_at(table, at + 4),
                used: u32_at(table, at + 24),
                opening: u64_at(table, at + 32),
                pages: u32_at(table, at + 40),
                chunks: chunks_of_zone,
            };
            self.zones.insert(u32_at(table, at), zone);
            at += 48;
        }
        Ok(())
    }

    /// The chunks of a zone: 24 bits are the first page, 7 the units of the header less one, and
    /// the highest says that the chunk before has no page for its header on the device.
    fn chunks(&self, words: impl Iterator<Item = u32>) -> Vec<CheckpointChunk> {
        let mut chunks: Vec<CheckpointChunk> = Vec::new();
        for word in words {
            let (first, shared) = (word & 0xff_ffff, word >> 31);
            let header_bytes = ((word >> 24 & 0x7f) + 1) * self.unit;
            let start = chunks
                .last()
                .map_or(0, |before| before.start + (first - before.first) + 1 - shared);
            chunks.push(CheckpointChunk { first, start, header_bytes });
        }
        chunks
    }

    fn read_notes(&mut self, records: &[LogRecord], table: &[u8]) {
        let (next_note, notes_from) = (u64_at(table, 32), u64_at(table, 40));
        for record in records.iter().filter(|r| r.head.kind == NOTES && r.head.seq >= notes_from) {
            self.durable = self.durable.max(record.rows.chunks_durable());
            for i in 0..record.log.rows as usize {
                let row = HEAD + 40 * i;
                let (tag, target) = (record.rows.u32(row), record.rows.u32(row + 4));
                let serial = record.rows.u64(row + 32);
                match tag {
                    _ if serial < next_note => {}
                    1 => self.opened.push((record.rows.u32(row + 8), record.rows.u64(row + 16))),
                    2 => {
                        let time = record.rows.u64(row + 24);
                        self.trims.push(TrimmedPage { lba: target, time, serial });
                    }
                    _ => {}
                }
            }
        }
    }
}

const SUPER: u32 = 1;
const NOTES: u32 = 2;
const LEAVES: u32 = 3;
const TABLE: u32 = 4;

/// The first readable superblock.
fn superblock(device: &dyn Device) -> Result<(MetaPage, PageHead), Undecided> {
    for zone in 0..device.geometry().zones {
        for page in 0..2 {
            let Some(found) = MetaPage::read(device, zone, page)? else { break };
            if let Some(head) = found.head().filter(|h| h.kind == SUPER && h.zone == zone) {
                return Ok((found, head));
            }
        }
    }
    Err(Undecided::Damaged("there is no superblock".to_string()))
}

/// All records except superblocks, in the order of their numbers.
fn records(
    device: &dyn Device,
    block: &MetaPage,
    of: &PageHead,
    device_pages: u32,
) -> Result<Vec<LogRecord>, Undecided> {
    let mut records = Vec::new();
    let runs = (0..block.log_head().rows as usize).flat_map(|run| {
        let first = block.u32(408 + 8 * run);
        first..first + block.u32(412 + 8 * run)
    });
    for (index, zone) in (0u32..).zip(runs) {
        let (mut page, mut last_seq) = (0, 0);
        while let Some(rows) = MetaPage::read(device, zone, page)? {
            let (payload_at, at) = (index * device_pages + page + 1, page);
            page += 1;
            let ours = |h: &PageHead| (h.store, h.zone, h.page) == (of.store, zone, at);
            let Some(head) = rows.head().filter(|h| ours(h) && h.seq > last_seq) else { continue };
            last_seq = head.seq;
            // If a crash tore a record's payload, the next record may lie where the payload should
            // be.
            let log = rows.log_head();
            let payload = read(device, zone, page, log.payload)?;
            let whole = |p: &Vec<u8>| log.payload == 0 || crc32c::crc32c(p) == log.sum;
            if let Some(payload) = payload.filter(whole) {
                page += log.payload;
                records.push(LogRecord { head, log, rows, payload_at, payload });
            }
        }
    }
    records.retain(|record| record.head.kind != SUPER);
    records.sort_by_key(|record| record.head.seq);
    Ok(records)
}

/// The bytes of the last table that has all its parts.
fn last_table(records: &[LogRecord]) -> Option<Vec<u8>> {
    (0..records.len()).rev().find_map(|at| table_at(&records[at..]))
}

/// The bytes of the table that begins with the first of these records; `None` if parts are missing.
fn table_at(records: &[LogRecord]) -> Option<Vec<u8>> {
    let (first, count, bytes_of_all) = records[0].rows.table_part();
    let is_first = records[0].head.kind == TABLE && first == 0;
    let parts = records.get(..count as usize).filter(|_| is_first)?;
    let in_order = |(part, record): (u32, &LogRecord)| {
        record.head.kind == TABLE && record.rows.table_part().0 == part
    };
    let mut bytes = Vec::new();
    (0..).zip(parts).all(in_order).then(|| {
        parts.iter().for_each(|part| bytes.extend(&part.payload));
        bytes.truncate(bytes_of_all as usize);
        bytes
    })
}

/// The leaf at a page of the metadata zones.
fn leaf(records: &[LogRecord], page: u32, pages: u32, number: u32, sum: u32) -> Option<Vec<u8>> {
    let holds = |r: &&LogRecord| (r.payload_at..r.payload_at + r.log.payload).contains(&page);
    let record = records.iter().filter(|r| r.head.kind == LEAVES).find(holds)?;
    let from = (page - record.payload_at) as usize * PAGE;
    let bytes = record.payload.get(from..from + pages as usize * PAGE)?;
    let numbers = (0..record.log.rows as usize).map(|i| record.rows.u32(HEAD + 4 * i));
    let is_it = numbers.into_iter().any(|n| n == number) && crc32c::crc32c(bytes) == sum;
    is_it.then(|| bytes.to_vec())
}
