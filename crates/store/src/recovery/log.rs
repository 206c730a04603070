//! The content of the metadata log: the options, the last complete checkpoint, later notes.

use std::collections::VecDeque;
use std::sync::Arc;

use frostline_zone::{AlignedBuf, Device, DeviceError, Operation, ZoneInfo, ZoneState};

use crate::StoreError;
use crate::engine::meta::MetaLog;
use crate::error::of_zone;
use crate::format::chunk_place::ChunkPlace;
use crate::format::head::{Head, MetaHead, MetaKind, TablePart};
use crate::format::layout::Layout;
use crate::format::records::Sizes;
use crate::format::{
    LeafAt, MOST, MOST_MARKS, Mark, Note, PAGE, PlacedLeaf, SUPERBLOCKS, Super, TableHead,
    UnitCounts, VERSION, ZoneRow, ZoneRun, rows,
};
use crate::recovery::meta_scan::{MetaRecord, scan};
use crate::state::written::Written;

/// Finds the options in the first superblock there is.
pub(super) fn find_superblock(device: &dyn Device) -> Result<RecordedOptions, StoreError> {
    let zones = device.report(0, device.geometry().zones)?;
    let (mut unreadable, mut remains) = (None, None);
    for (zone, info) in (0u32..).zip(&zones) {
        match first_head(device, zone, info)? {
            Ok(Some((head, body))) if head.is_super() => {
                tracing::debug!(zone, page = head.page, "superblock found");
                return options(&head, &body, zones.len() as u32);
            }
            Ok(Some(_)) => remains = remains.or(Some(StoreError::NoSuperblock { zone })),
            Ok(None) => {}
            Err(cause) => {
                let what = "superblock";
                let error = || StoreError::Unreadable { what, zone, cause: Arc::new(cause) };
                unreadable.get_or_insert_with(error);
            }
        }
    }
    Err(unreadable.or(remains).unwrap_or(StoreError::NotAStore))
}

/// A head, and the bytes behind it.
type FirstHead = (Head, Vec<u8>);

/// The head of the first page of a zone that describes others, and what stands behind it: that of a
/// superblock or of a chunk, if the zone is of a store. A damaged superblock is followed by a copy.
fn first_head(
    device: &dyn Device,
    zone: u32,
    info: &ZoneInfo,
) -> Result<Result<Option<FirstHead>, DeviceError>, StoreError> {
    let offline = DeviceError::OfflineZone { operation: Operation::Read, zone };
    let mut result = if info.state == ZoneState::Offline { Err(offline) } else { Ok(None) };
    let pages = info.write_pointer / PAGE as u64;
    for at in 0..pages.min(SUPERBLOCKS.into()) {
        let mut page = AlignedBuf::zeroed(PAGE);
        match of_zone(device.read(zone, at * PAGE as u64, &mut page))? {
            Err(error) => result = Err(error),
            Ok(()) => {
                let ours = |(h, _): &(Head, _)| (h.zone, u64::from(h.page)) == (zone, at);
                if let Some((head, body)) = Head::of(&page).filter(ours) {
                    return Ok(Ok(Some((head, body.to_vec()))));
                }
            }
        }
    }
    Ok(result)
}

/// The content of a superblock of a device of so many zones: the number of the store, its options,
/// the metadata zones.
fn options(head: &Head, body: &[u8], zones: u32) -> Result<RecordedOptions, StoreError> {
    if head.version != VERSION {
        return Err(StoreError::Newer { found: head.version, known: VERSION });
    }
    let (fixed, rest) = body.split_at(size_of::<Super>());
    // As many metadata zones as the options say, if the device has so many: a layout refuses any
    // other number.
    let fixed: Super = bytemuck::pod_read_unaligned(fixed);
    let runs: Vec<ZoneRun> = rows(rest, rest.len() / size_of::<ZoneRun>());
    let all = runs.into_iter().flat_map(ZoneRun::zones);
    let meta = all.take(fixed.meta_zones.min(zones) as usize).collect();
    Ok((head.store, (fixed, meta)))
}

/// The number of a store, its options and the metadata zones.
type RecordedOptions = (u64, (Super, Vec<u32>));

/// The metadata log as it was found.
pub(super) struct Log {
    pub(super) table: Table,
    /// Notes that the table does not cover, by number.
    pub(super) notes: Vec<Note>,
    /// All chunks up to this number were durable, as notes tell.
    pub(super) durable: u64,
    pub(super) current: Option<(usize, u32)>,
    pub(super) used: VecDeque<usize>,
    /// Zones that hold nothing that is needed: begun and never finished, or not reset in time.
    /// Without them there is room for the next checkpoint, however often recovery is cut short.
    pub(super) idle: Vec<usize>,
    /// A zone that is offline and may hold the latest records.
    pub(super) hidden: Option<u32>,
    pub(super) empty: VecDeque<usize>,
    /// Number of the next record.
    pub(super) seq: u64,
    /// The table is the last record.
    pub(super) clean: bool,
}

/// A checkpoint's table.
pub(super) struct Table {
    pub(super) head: TableHead,
    /// The leaves that there are, in order, and their places.
    pub(super) root: Vec<(u32, LeafAt)>,
    pub(super) zones: Vec<ZoneRow>,
    pub(super) chunks: Vec<u32>,
    pub(super) learned: Vec<u8>,
    pub(super) marks: Vec<Mark>,
}

impl Table {
    /// Written before the checkpoint, but for metadata.
    pub(super) fn written(&self, sizes: Sizes) -> Written {
        let [user, relocations, headers, _] = self.head.written;
        let units = self.head.units;
        let bytes = |units: u64| units.saturating_mul(sizes.unit().into());
        Written {
            user,
            relocations,
            headers,
            checkpoints: 0,
            user_bytes: bytes(units.user),
            relocated_bytes: bytes(units.relocated),
            header_bytes: bytes(units.headers),
            padding_bytes: bytes(units.padding),
        }
    }
}

pub(super) fn read_log(
    device: &dyn Device,
    layout: &Layout,
    store: u64,
) -> Result<Log, StoreError> {
    let (mut found, mut empty, mut offline) = (Vec::new(), VecDeque::new(), None);
    for (place, &zone) in layout.meta.iter().enumerate() {
        match device.zone(zone)?.state {
            ZoneState::Empty => empty.push_back(place),
            ZoneState::Offline => offline = Some(zone),
            _ => found.push(scan(device, layout, store, place)?),
        }
    }
    // One number is left out, so that no record seems to follow one that a crash tore.
    let seq = found.iter().map(|f| f.last_seq).max().unwrap_or(0).saturating_add(2);
    found.sort_by_key(|f| f.records.first().map(|r| r.head.seq));
    // A zone is finished before another one is begun: one that takes more is the last.
    let hidden = offline.filter(|_| found.last().is_none_or(|last| last.next.is_none()));
    let records: Vec<&MetaRecord> = found.iter().flat_map(|f| &f.records).collect();
    let (table, parts) = last_table(device, layout, &records).map_err(|error| match offline {
        Some(zone) if matches!(error, StoreError::Damaged { .. }) => {
            let cause = Arc::new(DeviceError::OfflineZone { operation: Operation::Read, zone });
            StoreError::Unreadable { what: "whole checkpoint", zone, cause }
        }
        _ => error,
    })?;
    let clean = parts.last() == records.last().map(|r| &r.payload);
    let needed = needed(layout, &table, &parts, &records);
    let notes = notes(&records, &table)?;
    let durable = later_notes(&records, &table).filter_map(durable_chunks).max();
    let (found, idle): (Vec<_>, Vec<_>) = found.into_iter().partition(|f| needed[f.place]);
    let idle = idle.into_iter().map(|f| f.place).collect();
    let used = found.iter().map(|f| f.place).collect();
    let current = found.last().and_then(|f| Some((f.place, f.next?)));
    let durable = durable.unwrap_or(0);
    Ok(Log { table, notes, durable, current, used, idle, hidden, empty, seq, clean })
}

/// The metadata zones that hold the table, leaves it names, or notes that it does not cover.
fn needed(layout: &Layout, table: &Table, parts: &[u32], records: &[&MetaRecord]) -> Vec<bool> {
    let mut needed = vec![false; layout.meta.len()];
    let leaves = table.root.iter().map(|(_, at)| at.page);
    let notes = later_notes(records, table).map(|r| r.payload - 1);
    for page in leaves.chain(parts.iter().copied()).chain(notes) {
        needed[(page / layout.fixed.device_pages) as usize] = true;
    }
    needed
}

/// The last complete table, and the places of its parts.
pub(super) fn last_table(
    device: &dyn Device,
    layout: &Layout,
    records: &[&MetaRecord],
) -> Result<(Table, Vec<u32>), StoreError> {
    let is_last = |part: TablePart| u64::from(part.part) + 1 == part.parts;
    let mut damage = None;
    for last in (0..records.len()).rev() {
        let part = match records[last].head.record {
            MetaKind::Table(part) if is_last(part) => part,
            _ => continue,
        };
        match read_table(device, layout, &records[..=last], part) {
            Ok(found) => return Ok(found),
            Err(error @ StoreError::Device(_)) => return Err(error),
            Err(error) => {
                tracing::warn!(%error, "a checkpoint is passed over for the one before");
                damage = damage.or(Some(error));
            }
        }
    }
    let why = || "no checkpoint is left".to_string();
    let (zone, page) = (layout.meta.first().copied().unwrap_or_default(), 0);
    Err(damage.unwrap_or_else(|| StoreError::Damaged { zone, page, why: why() }))
}

/// The table whose last part, `last`, is the last record.
fn read_table(
    device: &dyn Device,
    layout: &Layout,
    records: &[&MetaRecord],
    last: TablePart,
) -> Result<(Table, Vec<u32>), StoreError> {
    let (zone, page) = records.last().map_or((0, 0), |record| (record.zone, record.page));
    let damaged = |why: &str| StoreError::Damaged { zone, page, why: why.to_string() };
    // Superblocks may lie in between, where the table went on in the next zone.
    let (mut bytes, mut places) = (Vec::new(), Vec::new());
    let mut wanted = last.parts as u32;
    for record in records.iter().rev().filter(|r| r.head.record != MetaKind::Super) {
        let Some(part) = wanted.checked_sub(1) else { break };
        let MetaHead { payload, sum, record: kind, .. } = record.head;
        let ours = |p: TablePart| (p.part, p.parts) == (part, last.parts);
        if !matches!(kind, MetaKind::Table(p) if ours(p)) {
            return Err(damaged("a part of the checkpoint's table is missing"));
        }
        let sound = |part: &[u8]| crc32c::crc32c(part) == sum;
        let part = MetaLog::read(device, layout, record.payload, payload as usize, &sound)?;
        if !sound(&part) {
            return Err(damaged("the checkpoint's table is not what was written there"));
        }
        bytes.splice(0..0, part.iter().copied());
        places.insert(0, record.payload);
        wanted -= 1;
    }
    let len = usize::try_from(last.bytes).unwrap_or(usize::MAX);
    let bytes = bytes.get(..len).filter(|_| wanted == 0);
    let bytes = bytes.ok_or_else(|| damaged("the checkpoint's table is too short"))?;
    let table = decode_table(layout, bytes);
    let table = table.ok_or_else(|| damaged("the checkpoint's table contradicts itself"))?;
    Ok((table, places))
}

fn decode_table(layout: &Layout, bytes: &[u8]) -> Option<Table> {
    let (first, rest) = bytes.split_at_checked(size_of::<TableHead>())?;
    let head: TableHead = bytemuck::pod_read_unaligned(first);
    let (root, rest) = rest.split_at_checked(head.leaves as usize * size_of::<PlacedLeaf>())?;
    let (zones, rest) = rest.split_at_checked(head.zones as usize * size_of::<ZoneRow>())?;
    let (chunks, rest) = rest.split_at_checked(head.chunks as usize * 4)?;
    let (learned, marks) = rest.split_at_checked(head.learned as usize)?;
    let table = Table {
        root: rows(root, head.leaves as usize).into_iter().map(PlacedLeaf::place).collect(),
        zones: rows(zones, head.zones as usize),
        chunks: rows(chunks, head.chunks as usize),
        learned: learned.to_vec(),
        marks: rows(marks, MOST_MARKS as usize),
        head,
    };
    let fixed = &layout.fixed;
    let meta_pages = fixed.device_pages as usize * layout.meta.len();
    let chunks: u64 = table.zones.iter().map(|z| u64::from(z.chunks)).sum();
    let TableHead { time, valid, next_seq, next_opening, next_serial, .. } = head;
    let numbers = [time, valid, head.notes_from];
    let from_one = [next_seq, next_opening, next_serial];
    let openings = table.zones.iter().map(|zone| zone.opening);
    let UnitCounts { user, relocated, headers, padding, deltas, changes, excess } = head.units;
    let sound = marks.len() == table.marks.len() * size_of::<Mark>()
        && numbers.iter().all(|&number| number < MOST)
        && from_one.into_iter().chain(openings).all(|number| (1..MOST).contains(&number))
        && head
            .written
            .iter()
            .chain(&[user, relocated, headers, padding, deltas, changes, excess])
            .all(|&units| units < MOST / PAGE as u64)
        && table.root.is_sorted_by(|(a, _), (b, _)| a < b)
        && table.root.last().is_none_or(|&(leaf, _)| leaf < layout.leaves())
        && table.root.iter().all(|(_, at)| (1..meta_pages).contains(&(at.page as usize)))
        && table.root.iter().all(|(_, at)| at.count() <= Some(layout.leaf.pages()))
        && chunks == table.chunks.len() as u64
        && table.zones.iter().all(|z| {
            layout.data.contains(&z.device_zone)
                && (z.zone as usize) <= layout.data.len()
                && z.pages <= fixed.device_pages
                && u64::from(z.garbage) + u64::from(z.padding()) <= z.used.into()
                && z.used <= layout.zone_units()
        });
    (sound && has_possible_chunks(layout, &table)).then_some(table)
}

/// True if the chunks of each zone lie one behind the other, within what was written there. A
/// rebuild counts some without pages.
fn has_possible_chunks(layout: &Layout, table: &Table) -> bool {
    let mut rest = &table.chunks[..];
    table.zones.iter().all(|row| {
        let Some((chunks, behind)) = rest.split_at_checked(row.chunks as usize) else {
            return false;
        };
        rest = behind;
        let chunks = ChunkPlace::decode(chunks);
        let follow =
            |pair: &[ChunkPlace]| pair[0].first <= pair[1].first && pair[0].start < pair[1].start;
        let units = layout.sizes.page_units();
        chunks.windows(2).all(follow)
            && chunks.iter().all(|chunk| chunk.header <= units)
            && chunks.last().is_none_or(|c| c.start < row.pages && c.first <= row.used / units)
    })
}

/// The records of notes that a table may not cover.
fn later_notes<'a>(
    records: &'a [&'a MetaRecord],
    table: &'a Table,
) -> impl Iterator<Item = &'a MetaRecord> {
    let later = |r: &&MetaRecord| {
        matches!(r.head.record, MetaKind::Notes(_)) && r.head.seq >= table.head.notes_from
    };
    records.iter().copied().filter(later)
}

/// All chunks up to this number were durable, if the record tells.
pub(super) fn durable_chunks(record: &MetaRecord) -> Option<u64> {
    match record.head.record {
        MetaKind::Notes(head) => Some(head.chunks),
        _ => None,
    }
}

/// The notes that a table does not cover, by number. A crash may have taken any that were not
/// durable: if one is missing that later ones say was, it is damaged.
fn notes(records: &[&MetaRecord], table: &Table) -> Result<Vec<Note>, StoreError> {
    let all = later_notes(records, table).flat_map(|record| record.notes());
    let mut notes: Vec<Note> = all.filter(|n| n.serial >= table.head.next_serial).collect();
    notes.sort_by_key(|note| note.serial);
    notes.dedup_by_key(|note| note.serial);
    let missing = first_missing(&notes, table.head.next_serial);
    let tells =
        |r: &&MetaRecord| matches!(r.head.record, MetaKind::Notes(head) if head.notes > missing);
    match later_notes(records, table).find(tells) {
        None => Ok(notes),
        Some(&MetaRecord { zone, page, .. }) => {
            let why = "a note of zones or trims that was durable before this is missing";
            Err(StoreError::Damaged { zone, page, why: why.to_string() })
        }
    }
}

/// The first number from `next` on that none of these notes has.
pub(super) fn first_missing(notes: &[Note], next: u64) -> u64 {
    let there = (next..).zip(notes).take_while(|(serial, note)| note.serial == *serial);
    next + there.count() as u64
}
