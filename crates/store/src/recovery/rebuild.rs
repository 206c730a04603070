//! The metadata of a store, made anew from the headers of its chunks.
//!
//! It is a recovery without a checkpoint: every zone that holds chunks is read from its first page,
//! and of each page the newest copy counts. What stands in no header is lost: classes of zones,
//! states that a scheme keeps, and trims, except those whose notes can still be read.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use frostline_placement::Hotness;
use frostline_zone::{AlignedBuf, Device, ZoneInfo, ZoneState};

use super::log::{Table, durable_chunks, find_superblock, last_table};
use super::run::{Gap, Recovery, Salvage};
use super::zone_epoch::ZoneEpoch;
use crate::engine::Engine;
use crate::engine::meta::MetaLog;
use crate::error::of_zone;
use crate::format::head::{BODY, ChunkHead, GROUP, Head, HeadKind};
use crate::format::layout::{Layout, check_runs};
use crate::format::records::{ROW, Sizes};
use crate::format::{BESIDE_ROWS, Group, Note, OPENED, PAGE, TRIMMED, TableHead};
use crate::recovery::meta_scan::{MetaZoneScan, scan};
use crate::state::State;
use crate::state::volume;
use crate::state::written::Written;
use crate::{Durable, Format, Loss, Open, StoreError};

/// The result of a rebuild: its sources, and the pages that are missing.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Rebuilt {
    /// Number of the store.
    pub store: u64,
    /// The options come from a superblock; otherwise they are those that were given.
    pub superblock: bool,
    /// Zones that hold chunks.
    pub zones: u64,
    /// Chunks in them.
    pub chunks: u64,
    /// Valid pages.
    pub pages: u64,
    /// Notes of trims that could be read. Pages whose trim was noted elsewhere may be back.
    pub trims: u64,
    /// Pages that are known to be missing. Older copies of them may be back.
    pub missing: Vec<Loss>,
    /// Zones with headers that can't be read, where nothing lay that is known to have been synced:
    /// those of chunks that a crash tore.
    pub torn: Vec<u32>,
}

/// The content of a zone, by the first head that can be read.
enum Content {
    Nothing,
    /// Records of the metadata log.
    Meta,
    /// Chunks.
    Chunks(FirstHeader),
    /// It is offline.
    Offline,
    /// Nothing that is known.
    Unknown,
}

/// The first header of a zone that can be read.
struct FirstHeader {
    store: u64,
    opening: u64,
    sizes: Sizes,
    /// True if it has hotness records; none if that is not known.
    hotness: Option<bool>,
    /// Time of the last write in its chunk.
    time: u64,
    /// All chunks up to this number were durable.
    durable: u64,
    /// All notes before this number (modulo 2^32) were durable.
    noted: u32,
}

/// Notes of which nothing may be left, at most.
const MOST_FORGOTTEN: u64 = 1 << 30;

/// The metadata that is left.
#[derive(Default)]
struct OldLog {
    trims: Vec<Note>,
    /// All chunks up to this number were durable, as notes tell.
    durable: u64,
    /// Those up to this number are covered by the last whole table. Recovery may have found some of
    /// them torn before it wrote the table.
    covered: u64,
    /// Zones of the device, and up to which number chunks in them are not needed: those that a note
    /// opens, and those of which the table has no page.
    unneeded: BTreeMap<u32, u64>,
    /// The last zone of the device that notes or the table name.
    last_zone: Option<u32>,
    /// The largest number of a record.
    last_seq: u64,
    /// The largest number of a note.
    last_note: u64,
    /// Places in the ring whose zones are empty, and those of the others.
    empty: VecDeque<usize>,
    others: Vec<usize>,
}

/// Rebuilds a store. Data zones stay as they are. Returns as well the pages of which a later copy
/// was found that does not count, see [`Engine::rewrite_dropped`].
pub(crate) fn rebuild(
    device: Arc<dyn Device>,
    format: &Format,
    accept_loss: bool,
) -> Result<(Rebuilt, Vec<u64>), StoreError> {
    let infos = device.report(0, device.geometry().zones)?;
    let content = |(zone, info)| content(&*device, zone, info);
    let contents: Vec<Content> = (0u32..).zip(&infos).map(content).collect::<Result<_, _>>()?;
    let (store, layout, superblock) = layout(&*device, format, &contents)?;
    let layout = Arc::new(layout);
    let old = OldLog::read(&*device, &layout, store)?;
    if !superblock {
        check_others(&layout, &contents, store, old.last_zone)?;
    }
    let state = State::new(volume::build(&layout)?, layout.clone(), store);
    let seq = old.last_seq.saturating_add(2);
    let meta =
        MetaLog::new(device.clone(), layout.clone(), store, seq, None, VecDeque::new(), old.empty);
    let engine = Engine::new(device, state, meta, &Open::default());

    let trims = old.trims.len() as u64;
    // The last word of a store that was closed is in a chunk without records, which is no late one.
    let told = chunks_of(&contents, store).map(|(_, first)| first.durable).max();
    let known = told.unwrap_or(0).max(old.covered);
    let durable = Durable { chunks: old.durable, notes: 0 };
    let mut recovery = Recovery::new(&engine, no_table(), old.trims, durable)?;
    let mut salvage = Salvage { known, unneeded: old.unneeded, ..Salvage::default() };
    recovery.epochs = epochs(&layout, &contents, store, &mut recovery.missing, &mut salvage);
    recovery.salvage = Some(salvage);
    let openings = recovery.epochs.iter().map(|epoch| epoch.opening);
    // Notes may have been made of which nothing is left. An engine may know of them, so that these
    // numbers are not given away again.
    let noted = chunks_of(&contents, store).map(|(_, first)| u64::from(first.noted)).max();
    let noted = noted.unwrap_or(0).max(old.last_note);
    recovery.head.next_serial = noted + MOST_FORGOTTEN;
    recovery.head.next_opening = openings.max().unwrap_or_default().saturating_add(1);
    let zones = recovery.epochs.len() as u64;
    recovery.find_out()?;
    if let Some(lba) = recovery.salvage.as_ref().and_then(|salvage| salvage.beyond) {
        let why = format!(
            "the store holds LBA {lba}, and is to have {}",
            engine.core.layout.fixed.logical_pages
        );
        return Err(StoreError::Options { what: "pages", why });
    }
    let missing = std::mem::take(&mut recovery.missing);
    if !missing.is_empty() && !accept_loss {
        return Err(StoreError::Missing(missing));
    }
    let torn = recovery.salvage.take().into_iter().flat_map(|salvage| salvage.torn).collect();
    let chunks = recovery.found.headers;
    let dropped = std::mem::take(&mut recovery.dropped);
    let pages = write_metadata(recovery, &old.others)?;
    Ok((Rebuilt { store, superblock, zones, chunks, pages, trims, missing, torn }, dropped))
}

/// Writes a checkpoint of the rebuilt state; returns the number of valid pages.
fn write_metadata(mut recovery: Recovery<'_>, others: &[usize]) -> Result<u64, StoreError> {
    // All zones are sealed: which ones took pages last, and of which class, is not known.
    recovery.epochs.iter_mut().for_each(|epoch| epoch.ended = true);
    let (user, found) = (recovery.time, recovery.found);
    // Records that were cleaned since are gone: the others' mean stands for all.
    let mean = found.user_bytes.checked_div(found.user).unwrap_or(0);
    let (headers, user_bytes) = (found.headers, user.saturating_mul(mean));
    let header_bytes = found.header_bytes;
    let written = Written { user, headers, user_bytes, header_bytes, ..Written::default() };
    recovery.restore_volume(written)?;
    let engine = recovery.engine;
    let pages = engine.core.state()?.valid_pages();
    // The next opening resets the old records, which bear lower numbers than the new ones.
    let mut meta = engine.metadata.log()?;
    if meta.free_pages() < engine.core.layout.checkpoint_pages() {
        meta.reset_idle(others)?;
    }
    drop(meta);
    engine.checkpoint(false)?;
    Ok(pages)
}

/// Looks for the first head in a zone.
fn content(device: &dyn Device, zone: u32, info: &ZoneInfo) -> Result<Content, StoreError> {
    let pages = (info.write_pointer / PAGE as u64) as u32;
    match info.state {
        ZoneState::Offline => return Ok(Content::Offline),
        _ if pages == 0 => return Ok(Content::Nothing),
        _ => {}
    }
    for at in 0..pages {
        let mut page = AlignedBuf::zeroed(PAGE);
        let read = of_zone(device.read(zone, u64::from(at) * PAGE as u64, &mut page))?;
        let ours = |(h, _): &(Head, _)| (h.zone, h.page) == (zone, at);
        match read.ok().and_then(|()| Head::of(&page)).filter(ours) {
            Some((Head { store, kind: HeadKind::Chunk(chunk), .. }, body)) => {
                let group: Group = bytemuck::pod_read_unaligned(&body[GROUP]);
                let first =
                    Sizes::new(group.unit).map(|sizes| FirstHeader::of(store, sizes, &chunk, body));
                return Ok(first.map_or(Content::Unknown, Content::Chunks));
            }
            Some(_) => return Ok(Content::Meta),
            None => {}
        }
    }
    Ok(Content::Unknown)
}

/// The number of the store and its division: those of a superblock, if there is one.
fn layout(
    device: &dyn Device,
    format: &Format,
    contents: &[Content],
) -> Result<(u64, Layout, bool), StoreError> {
    match find_superblock(device) {
        Ok((store, options)) => {
            let layout = Layout::recorded(device, options, format.schemes)?;
            return Ok((store, layout, true));
        }
        Err(
            StoreError::NotAStore | StoreError::NoSuperblock { .. } | StoreError::Unreadable { .. },
        ) => {}
        Err(error) => return Err(error),
    }
    let mut stores: BTreeMap<u64, usize> = BTreeMap::new();
    for content in contents {
        if let Content::Chunks(first) = content {
            *stores.entry(first.store).or_default() += 1;
        }
    }
    let most = stores.into_iter().max_by_key(|&(_, zones)| zones);
    let (store, _) = most.ok_or(StoreError::NotAStore)?;
    let headers = || chunks_of(contents, store).map(|(_, first)| first);
    let hotness = headers().find_map(|first| first.hotness).unwrap_or(format.hotness);
    let unit = headers().next().map_or(format.unit, |first| first.sizes.unit());
    let mut layout = Layout::divide(device, &Format { hotness, unit, ..format.clone() })?;
    let ring = ring(&layout, contents)?;
    let other = |zone: &u32| !ring.contains(zone) && !device.geometry().conventional.contains(zone);
    layout.data = (0..device.geometry().zones).filter(other).collect();
    layout.meta = ring;
    Ok((store, layout, false))
}

/// Zones for the metadata log: the first ones that hold no pages. Those that are offline or hold
/// nothing known are metadata if they lie before the first pages; behind them they may
/// be of pages, or another's.
fn ring(layout: &Layout, contents: &[Content]) -> Result<Vec<u32>, StoreError> {
    let pages = contents.iter().position(|content| matches!(content, Content::Chunks(..)));
    let first = pages.unwrap_or(contents.len()) as u32;
    let usable = |zone: &u32| layout.meta.contains(zone) || layout.data.contains(zone);
    let fits = |zone: &u32| match contents[*zone as usize] {
        Content::Nothing | Content::Meta => usable(zone),
        Content::Unknown => usable(zone) && *zone < first,
        Content::Offline => *zone < first,
        Content::Chunks(..) => false,
    };
    let zones = (0..contents.len() as u32).filter(fits);
    let usable: Vec<u32> = zones.take(layout.meta.len()).collect();
    if usable.len() < layout.meta.len() {
        let why = format!(
            "metadata takes {} zones with these, and {} hold no pages",
            layout.meta.len(),
            usable.len()
        );
        return Err(StoreError::Options { what: "options", why });
    }
    check_runs(&usable)?;
    Ok(usable)
}

/// The zones with chunks of a store.
fn chunks_of(contents: &[Content], store: u64) -> impl Iterator<Item = (u32, &FirstHeader)> {
    (0u32..).zip(contents).filter_map(move |(zone, content)| match content {
        Content::Chunks(first) if first.store == store => Some((zone, first)),
        _ => None,
    })
}

/// Refuses a device whose later zones may be another's: the log of a database, say. All zones up to
/// the last one with chunks of the store, or to one that its metadata `named`, are the store's.
fn check_others(
    layout: &Layout,
    contents: &[Content],
    store: u64,
    named: Option<u32>,
) -> Result<(), StoreError> {
    let last = chunks_of(contents, store).map(|(zone, _)| zone).max().max(named);
    let is_other = |content: &Content| match content {
        Content::Unknown => true,
        Content::Chunks(first) => first.store != store,
        _ => false,
    };
    let other = |zone: &&u32| Some(**zone) > last && is_other(&contents[**zone as usize]);
    match layout.data.iter().find(other) {
        None => Ok(()),
        Some(zone) => {
            let why = format!(
                "zone {zone} holds something else than pages of the store, and lies behind them all; if it is \
                 not of the store, the store has {zone} zones at most"
            );
            Err(StoreError::Options { what: "zones", why })
        }
    }
}

/// The zones that hold chunks of the store. Zones that are offline are noted as missing, those with
/// other content as gaps.
fn epochs(
    layout: &Layout,
    contents: &[Content],
    store: u64,
    missing: &mut Vec<Loss>,
    salvage: &mut Salvage,
) -> Vec<ZoneEpoch> {
    let mut epochs = Vec::new();
    for (zone, number) in layout.data.iter().copied().zip(1..) {
        match &contents[zone as usize] {
            Content::Chunks(first) if first.store == store => {
                epochs.push(ZoneEpoch::opened(zone, number, first.opening, 0, first.time as u32));
            }
            Content::Offline => missing.push(Loss::new(zone, "is offline")),
            Content::Unknown => {
                let what = "has no header that can be read, and may have held what was synced";
                let after = salvage.unneeded.get(&zone).copied().unwrap_or(0);
                salvage.gaps.push(Gap { loss: Loss::new(zone, what), after });
            }
            _ => {}
        }
    }
    epochs
}

fn no_table() -> Table {
    let first = TableHead { next_seq: 1, next_opening: 1, next_serial: 1, ..TableHead::default() };
    Table {
        head: first,
        root: Vec::new(),
        zones: Vec::new(),
        chunks: Vec::new(),
        learned: Vec::new(),
        marks: Vec::new(),
    }
}

impl FirstHeader {
    fn of(store: u64, sizes: Sizes, head: &ChunkHead, body: &[u8]) -> FirstHeader {
        let sizes = sizes.with_unknown_pages();
        let (records, hotness) = head.records(body, sizes, true).unwrap_or_default();
        let any = |all: &Vec<_>| bytemuck::cast_slice::<_, u8>(all).iter().any(|&byte| byte != 0);
        let images = records.iter().filter(|record| !sizes.is_delta(record.lba)).count();
        let rows = records.len() * ROW + images * size_of::<Hotness>();
        // Records begin behind the units of the header.
        let header = head.header as usize * sizes.unit() as usize;
        let hotness = match rows > header.saturating_sub(PAGE - BODY + BESIDE_ROWS) {
            true => Some(false),
            false => hotness.filter(any).map(|_| true),
        };
        let time = records.iter().map(|record| record.time).max().unwrap_or_default();
        let ChunkHead { opening, durable, noted, .. } = *head;
        FirstHeader { store, opening, sizes, hotness, time, durable, noted }
    }
}

impl OldLog {
    /// Reads the intact records of the metadata log.
    fn read(device: &dyn Device, layout: &Layout, store: u64) -> Result<OldLog, StoreError> {
        let mut log = OldLog::default();
        let mut found = Vec::new();
        for (place, &zone) in layout.meta.iter().enumerate() {
            match device.zone(zone)?.state {
                ZoneState::Empty => log.empty.push_back(place),
                ZoneState::Offline => {}
                _ => found.extend(log.read_zone(device, layout, store, place)?),
            }
        }
        found.sort_by_key(|zone: &MetaZoneScan| zone.records.first().map(|first| first.head.seq));
        let records: Vec<_> = found.iter().flat_map(|zone| &zone.records).collect();
        if let Ok((table, _)) = last_table(device, layout, &records) {
            log.take_table(layout, &table);
        }
        Ok(log)
    }

    /// Takes what a table tells of zones. It may be an old one, and what it says held then.
    fn take_table(&mut self, layout: &Layout, table: &Table) {
        let last = table.head.next_seq.saturating_sub(1);
        self.covered = last;
        let full: BTreeSet<u32> = table.zones.iter().map(|row| row.device_zone).collect();
        self.last_zone = self.last_zone.max(full.last().copied());
        layout.data.iter().filter(|zone| !full.contains(zone)).for_each(|&zone| {
            self.not_needed(zone, last);
        });
    }

    /// No chunk up to number `last` is needed in a zone.
    fn not_needed(&mut self, zone: u32, last: u64) {
        let known = self.unneeded.entry(zone).or_default();
        *known = last.max(*known);
    }

    fn read_zone(
        &mut self,
        device: &dyn Device,
        layout: &Layout,
        store: u64,
        place: usize,
    ) -> Result<Option<MetaZoneScan>, StoreError> {
        self.others.push(place);
        let found = match scan(device, layout, store, place) {
            // Trims in a zone that can't be read are lost.
            Err(StoreError::Device(error)) if error.is_of_zone() => return Ok(None),
            found => found?,
        };
        self.last_seq = self.last_seq.max(found.last_seq);
        let durable = found.records.iter().filter_map(durable_chunks).max();
        self.durable = self.durable.max(durable.unwrap_or(0));
        for record in &found.records {
            // The note of an opening is written before the zone's first chunk.
            let durable = durable_chunks(record).unwrap_or(0);
            for note in record.notes() {
                self.last_note = self.last_note.max(note.serial);
                match note.tag {
                    TRIMMED => self.trims.push(note),
                    OPENED => {
                        self.last_zone = self.last_zone.max(Some(note.device_zone));
                        self.not_needed(note.device_zone, durable);
                    }
                    _ => {}
                }
            }
        }
        Ok(Some(found))
    }
}
