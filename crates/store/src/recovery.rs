//! Formatting, and opening after whatever happened.
//!
//! The last complete checkpoint tells what the store was at one moment. Chunks that were written
//! later are found in the zones that were open then, and in those that notes say were opened
//! since. Of each page the newest copy counts. docs/recovery.md argues why that is enough.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use frostline_log::{Slot, ZoneImage};
use frostline_zone::{AlignedBuf, Device, DeviceError, ZoneInfo, ZoneState};

use crate::chunk::rows_of;
use crate::format::{
    Head, Kind, LeafAt, Note, OPENED, PAGE, Row, Super, TRIMMED, TableHead, VERSION, ZoneRow, head,
    rows,
};
use crate::inner::Inner;
use crate::layout::Layout;
use crate::meta::{Found, MetaLog, Record, scan};
use crate::state::{DataZone, State, Written};
use crate::{Format, Open, StoreError, placer};

/// Makes an empty store.
pub fn format(device: Arc<dyn Device>, format: &Format) -> Result<(), StoreError> {
    let layout = Arc::new(Layout::divide(&*device, format)?);
    let zones = device.report(0, device.geometry().zones)?;
    for (zone, info) in (0u32..).zip(&zones) {
        let holds = info.write_pointer > 0 && info.state.is_writable()
            || matches!(info.state, ZoneState::Full);
        if holds && !format.force {
            return Err(StoreError::NotEmpty { zone });
        }
        if holds {
            device.reset(zone)?;
        }
    }
    let store = RandomState::new().hash_one(0u8) | 1;
    let mut state = State::new(build(&layout)?, layout.clone(), store);
    state.empty = layout.data.iter().copied().collect();
    let empty = (0..layout.meta.len()).collect();
    let meta = MetaLog::new(device.clone(), layout, store, 1, None, VecDeque::new(), empty);
    Inner::new(device, state, meta, &Open::default()).checkpoint()
}

fn build(layout: &Layout) -> Result<Box<dyn placer::Placer>, StoreError> {
    let options = layout.options();
    Ok(placer::build(&layout.scheme, &layout.victim, layout.fixed.seed, options)?)
}

/// Opens a store.
pub fn open(device: Arc<dyn Device>, open: &Open) -> Result<Inner, StoreError> {
    let (store, fixed, meta) = find_superblock(&*device)?;
    let layout = Arc::new(Layout::recorded(&*device, fixed, meta)?);
    let log = read_log(&*device, &layout, store)?;
    let mut state = State::new(build(&layout)?, layout.clone(), store);
    let written = log.table.head.written[3];
    let mut meta =
        MetaLog::new(device.clone(), layout, store, log.seq, log.current, log.used, log.empty);
    meta.written = written;
    state.root = log.table.root.clone();
    state.time = log.table.head.time;
    let inner = Inner::new(device, state, meta, open);
    let changed = Recovery::new(&inner, log.table, log.notes)?.run()?;
    if changed || !log.clean {
        inner.checkpoint()?;
    }
    Ok(inner)
}

/// Finds the options in the first superblock there is.
fn find_superblock(device: &dyn Device) -> Result<(u64, Super, Vec<u32>), StoreError> {
    let zones = device.report(0, device.geometry().zones)?;
    let mut page = AlignedBuf::zeroed(PAGE);
    for (zone, info) in (0u32..).zip(&zones) {
        if info.write_pointer < PAGE as u64 || info.state == ZoneState::Offline {
            continue;
        }
        match device.read(zone, 0, &mut page) {
            Err(error @ DeviceError::Crashed) => return Err(error.into()),
            Err(_) => continue,
            Ok(()) => {}
        }
        let is_super = |h: &Head| h.kind == Kind::Super as u32 && h.zone == zone;
        if let Some(head) = head(&page).filter(is_super) {
            if head.version > VERSION {
                return Err(StoreError::Newer { found: head.version, known: VERSION });
            }
            let body = &page[size_of::<Head>()..];
            let fixed: Super = bytemuck::pod_read_unaligned(&body[..size_of::<Super>()]);
            let meta = rows(&body[size_of::<Super>()..], head.count as usize);
            return Ok((head.store, fixed, meta));
        }
    }
    Err(StoreError::NotAStore)
}

/// The metadata log as it was found.
struct Log {
    table: Table,
    /// Notes that the table does not cover, by number.
    notes: Vec<Note>,
    current: Option<(usize, u32)>,
    used: VecDeque<usize>,
    empty: VecDeque<usize>,
    /// Number of the next record.
    seq: u64,
    /// The table is the last record.
    clean: bool,
}

/// A checkpoint's table.
struct Table {
    head: TableHead,
    root: Vec<LeafAt>,
    zones: Vec<ZoneRow>,
    chunks: Vec<u32>,
}

fn read_log(device: &dyn Device, layout: &Layout, store: u64) -> Result<Log, StoreError> {
    let mut found = Vec::new();
    let mut empty = VecDeque::new();
    for (place, &zone) in layout.meta.iter().enumerate() {
        match device.zone(zone)?.state {
            ZoneState::Empty => empty.push_back(place),
            ZoneState::Offline => {}
            _ => found.push(scan(device, layout, store, place)?),
        }
    }
    // One number is left out, so that no record seems to follow one that a crash tore.
    let seq = found.iter().map(|f| f.last_seq).max().unwrap_or(0) + 2;
    found.sort_by_key(|f| f.records.first().map(|r| r.head.seq));
    let records: Vec<&Record> = found.iter().flat_map(|f| &f.records).collect();
    let (table, parts) = last_table(device, layout, &records)?;
    let clean = parts.last() == records.last().map(|r| &r.payload);
    let needed = needed(layout, &table, &parts, &records);
    let notes = notes(&records, &table)?;
    // What else is there was begun and never finished, or should have been reset: without it
    // there is room for the next checkpoint, however often recovery is cut short.
    let (found, idle): (Vec<_>, Vec<_>) = found.into_iter().partition(|f| needed[f.place]);
    if !idle.is_empty() {
        device.flush()?;
    }
    for Found { place, .. } in idle {
        match device.reset(layout.meta[place]) {
            Ok(()) => empty.push_back(place),
            Err(error @ DeviceError::Crashed) => return Err(error.into()),
            // It is lost to the ring.
            Err(_) => {}
        }
    }
    let used = found.iter().map(|f| f.place).collect();
    let current = found.last().and_then(|f| Some((f.place, f.next?)));
    Ok(Log { table, notes, current, used, empty, seq, clean })
}

/// The metadata zones that hold the table, leaves it names, or notes that it does not cover.
fn needed(layout: &Layout, table: &Table, parts: &[u32], records: &[&Record]) -> Vec<bool> {
    let mut needed = vec![false; layout.meta.len()];
    let leaves = table.root.iter().map(|at| at.page).filter(|&page| page != 0);
    let later =
        |r: &&&Record| r.head.kind == Kind::Notes as u32 && r.head.seq >= table.head.notes_from;
    let notes = records.iter().filter(later).map(|r| r.payload - 1);
    for page in leaves.chain(parts.iter().copied()).chain(notes) {
        needed[(page / layout.fixed.device_pages) as usize] = true;
    }
    needed
}

/// The last complete table, and the places of its parts.
fn last_table(
    device: &dyn Device,
    layout: &Layout,
    records: &[&Record],
) -> Result<(Table, Vec<u32>), StoreError> {
    let is_table = |r: &Record| r.head.kind == Kind::Table as u32;
    let mut damage = None;
    for last in (0..records.len()).rev().filter(|&i| is_table(records[i])) {
        let head = &records[last].head;
        if u64::from(head.first) + 1 != head.a {
            continue;
        }
        match read_table(device, layout, records, last) {
            Ok(found) => return Ok(found),
            Err(error @ StoreError::Device(_)) => return Err(error),
            Err(error) => damage = damage.or(Some(error)),
        }
    }
    Err(damage.unwrap_or(StoreError::NotAStore))
}

fn read_table(
    device: &dyn Device,
    layout: &Layout,
    records: &[&Record],
    last: usize,
) -> Result<(Table, Vec<u32>), StoreError> {
    let Head { zone, page, a: parts, b: len, .. } = records[last].head;
    let damaged = |why: &str| StoreError::Damaged { zone, page, why: why.to_string() };
    // Superblocks may lie in between, where the table went on in the next zone.
    let (mut bytes, mut places) = (Vec::new(), Vec::new());
    let mut wanted = parts as u32;
    for record in records[..=last].iter().rev().filter(|r| r.head.kind != Kind::Super as u32) {
        if wanted == 0 {
            break;
        }
        let Head { kind, first, payload, sum, a, .. } = record.head;
        if kind != Kind::Table as u32 || first + 1 != wanted || a != parts {
            return Err(damaged("a part of the checkpoint's table is missing"));
        }
        let part = MetaLog::read(device, layout, record.payload, payload as usize)?;
        if crc32c::crc32c(&part) != sum {
            return Err(damaged("the checkpoint's table is not what was written there"));
        }
        bytes.splice(0..0, part.iter().copied());
        places.insert(0, record.payload);
        wanted -= 1;
    }
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    let bytes = bytes.get(..len).filter(|_| wanted == 0);
    let bytes = bytes.ok_or_else(|| damaged("the checkpoint's table is too short"))?;
    let table = decode_table(layout, bytes);
    let table = table.ok_or_else(|| damaged("the checkpoint's table contradicts itself"))?;
    Ok((table, places))
}

fn decode_table(layout: &Layout, bytes: &[u8]) -> Option<Table> {
    let (first, rest) = bytes.split_at_checked(size_of::<TableHead>())?;
    let head: TableHead = bytemuck::pod_read_unaligned(first);
    let (root, rest) = rest.split_at_checked(head.leaves as usize * size_of::<LeafAt>())?;
    let (zones, rest) = rest.split_at_checked(head.zones as usize * size_of::<ZoneRow>())?;
    let (chunks, rest) = rest.split_at_checked(head.chunks as usize * 4)?;
    let table = Table {
        root: rows(root, head.leaves as usize),
        zones: rows(zones, head.zones as usize),
        chunks: rows(chunks, head.chunks as usize),
        head,
    };
    let fixed = &layout.fixed;
    let meta_pages = fixed.device_pages as usize * layout.meta.len();
    let chunks: u64 = table.zones.iter().map(|z| u64::from(z.chunks)).sum();
    let sound = rest.is_empty()
        && head.leaves == layout.leaves()
        && table.root.iter().all(|at| (at.page as usize) < meta_pages)
        && chunks == table.chunks.len() as u64
        && table.zones.iter().all(|z| {
            layout.data.contains(&z.device_zone)
                && (z.zone as usize) <= layout.data.len()
                && z.pages <= fixed.device_pages
                && z.garbage <= z.used
                && z.used <= fixed.zone_pages
        });
    sound.then_some(table)
}

/// The notes that a table does not cover, by number.
///
/// A crash takes the last ones, for what was noted in one zone is durable before the next is begun
/// ([`MetaLog`]): if one before others is missing, it is damaged.
fn notes(records: &[&Record], table: &Table) -> Result<Vec<Note>, StoreError> {
    let later =
        |r: &&&Record| r.head.kind == Kind::Notes as u32 && r.head.seq >= table.head.notes_from;
    let all = records.iter().filter(later).flat_map(|r| {
        let count = (r.head.count as usize).min(crate::layout::NOTES);
        rows::<Note>(&r.body, count)
    });
    let mut notes: Vec<Note> = all.filter(|n| n.serial >= table.head.next_serial).collect();
    notes.sort_by_key(|note| note.serial);
    notes.dedup_by_key(|note| note.serial);
    let missing = (table.head.next_serial..).zip(&notes).find(|(serial, n)| n.serial != *serial);
    match missing.and(records.last()) {
        None => Ok(notes),
        Some(Record { head, .. }) => {
            let why = "a note of zones or trims that was written before this is missing";
            Err(StoreError::Damaged { zone: head.zone, page: head.page, why: why.to_string() })
        }
    }
}

/// A zone of the device that may hold pages: one of the table's, or one that was opened since.
struct Life {
    device_zone: u32,
    opening: u64,
    class: u32,
    opened_at: u32,
    /// Of the table: its row.
    row: Option<ZoneRow>,
    /// Number in the volume; of a zone opened since, once it is known which are taken.
    zone: u32,
    firsts: Vec<u32>,
    /// Pages of the device's zone, headers included.
    pages: u32,
    used: u32,
    valid: i64,
    /// Nothing more can be appended.
    ended: bool,
    /// The chunk behind one whose header can't be read.
    behind: Option<u64>,
}

/// What recovery found out about a page.
#[derive(Clone, Copy)]
struct Latest {
    time: u64,
    /// Of equal time, a relocation is the later one, and a trim after all.
    seq: u64,
    /// Index of the life and offset; none if the page was trimmed.
    to: Option<(usize, u32)>,
    sum: u32,
}

struct Recovery<'a> {
    inner: &'a Inner,
    head: TableHead,
    info: Vec<ZoneInfo>,
    notes: Vec<Note>,
    lives: Vec<Life>,
    latest: BTreeMap<u32, Latest>,
    time: u64,
    last_seq: u64,
    found: Written,
}

/// A chunk that was written after the checkpoint.
struct LateChunk {
    life: usize,
    start: u32,
    head: Head,
    rows: Vec<Row>,
}

impl<'a> Recovery<'a> {
    fn new(inner: &'a Inner, table: Table, notes: Vec<Note>) -> Result<Self, StoreError> {
        let info = inner.device.report(0, inner.device.geometry().zones)?;
        let mut lives = Vec::new();
        let mut at = 0;
        for row in table.zones {
            let end = at + row.chunks as usize;
            lives.push(Life {
                device_zone: row.device_zone,
                opening: row.opening,
                class: row.class,
                opened_at: row.opened_at,
                zone: row.zone,
                firsts: table.chunks[at..end].to_vec(),
                pages: row.pages,
                used: row.used,
                valid: i64::from(row.used) - i64::from(row.garbage),
                ended: row.sealed != 0,
                behind: None,
                row: Some(row),
            });
            at = end;
        }
        let (time, last_seq) = (table.head.time, table.head.next_seq.saturating_sub(1));
        let found = Written::default();
        let (head, latest) = (table.head, BTreeMap::new());
        Ok(Recovery { inner, head, info, notes, lives, latest, time, last_seq, found })
    }

    /// Restores the store. True if anything had happened since the checkpoint.
    fn run(mut self) -> Result<bool, StoreError> {
        let data = &self.inner.layout.data;
        let opened: Vec<Note> = self.notes.iter().filter(|n| n.tag == OPENED).copied().collect();
        for note in opened.iter().filter(|n| data.contains(&n.device_zone)) {
            self.lives.push(Life {
                device_zone: note.device_zone,
                opening: note.opening,
                class: note.class,
                opened_at: note.time as u32,
                row: None,
                zone: note.target,
                firsts: Vec::new(),
                pages: 0,
                used: 0,
                valid: 0,
                ended: false,
                behind: None,
            });
        }
        let chunks = self.late_chunks()?;
        let changed = !chunks.is_empty() || !self.notes.is_empty();
        self.replay(chunks)?;
        self.count_old()?;
        let lost = self.settle_lives();
        self.number_lives();
        self.point_pages()?;
        if !lost.is_empty() {
            self.lose_pages(&lost)?;
        }
        let ended = self.restore()?;
        Ok(changed || ended || !lost.is_empty())
    }

    /// The chunks written since the checkpoint, in every zone that could hold one.
    fn late_chunks(&mut self) -> Result<Vec<LateChunk>, StoreError> {
        let mut chunks = Vec::new();
        for life in 0..self.lives.len() {
            if !self.lives[life].ended {
                self.scan_zone(life, &mut chunks)?;
            }
        }
        // What is not known to have been durable may be torn: a page counts if it is whole.
        let known = chunks.iter().map(|c| c.head.b).max().unwrap_or(0).max(self.last_seq);
        self.check_missing(&chunks, known)?;
        for chunk in chunks.iter_mut().filter(|c| c.head.seq > known) {
            self.verify(chunk)?;
        }
        let last = chunks.iter().map(|c| c.head.seq).max().unwrap_or(0);
        self.last_seq = self.last_seq.max(last);
        Ok(chunks)
    }

    /// Finds what was durable and is missing now: notes before those that chunks tell of, and
    /// headers before a chunk up to number `known`.
    fn check_missing(&self, chunks: &[LateChunk], known: u64) -> Result<(), StoreError> {
        let damaged = |zone, page, why: &str| StoreError::Damaged { zone, page, why: why.into() };
        let found = self.notes.last().map_or(self.head.next_serial, |note| note.serial + 1) as u32;
        let before = |c: &&LateChunk| (c.head.sum.wrapping_sub(found) as i32) > 0;
        if let Some(chunk) = chunks.iter().find(before) {
            let why = "notes of zones or trims that were durable before this chunk are missing";
            return Err(damaged(chunk.head.zone, chunk.head.page, why));
        }
        match self.lives.iter().find(|life| life.behind.is_some_and(|seq| seq <= known)) {
            None => Ok(()),
            Some(life) => {
                let why = "the header of a chunk is damaged, and what its pages are is not known";
                Err(damaged(life.device_zone, life.pages, why))
            }
        }
    }

    /// The number of the chunk behind one whose header can't be read, if there is one.
    fn chunk_behind(&self, life: &Life, written: u32) -> Result<Option<u64>, StoreError> {
        let mut bytes = AlignedBuf::zeroed(PAGE);
        let end = written.min(life.pages + 2 + self.inner.layout.fixed.chunk_pages);
        for page in life.pages + 1..end {
            let read =
                self.inner.device.read(life.device_zone, u64::from(page) * PAGE as u64, &mut bytes);
            if let Err(error @ DeviceError::Crashed) = read {
                return Err(error.into());
            }
            let ours = |h: &Head| {
                let place = (self.inner.store, life.device_zone, page, life.opening);
                h.kind == Kind::Chunk as u32 && (h.store, h.zone, h.page, h.a) == place
            };
            if let Some(head) = read.ok().and_then(|()| head(&bytes)).filter(ours) {
                return Ok(Some(head.seq));
            }
        }
        Ok(None)
    }

    fn scan_zone(&mut self, index: usize, chunks: &mut Vec<LateChunk>) -> Result<(), StoreError> {
        let fixed = self.inner.layout.fixed;
        let life = &mut self.lives[index];
        let info = self.info[life.device_zone as usize];
        let written = (info.write_pointer / PAGE as u64) as u32;
        let mut page = AlignedBuf::zeroed(PAGE);
        if info.state == ZoneState::Offline {
            life.ended = true;
            return Ok(());
        }
        while life.pages < written {
            let at = u64::from(life.pages) * PAGE as u64;
            let read = self.inner.device.read(life.device_zone, at, &mut page);
            if let Err(error @ DeviceError::Crashed) = read {
                return Err(error.into());
            }
            let ours = |h: &Head| {
                h.kind == Kind::Chunk as u32
                    && (h.store, h.zone, h.page) == (self.inner.store, life.device_zone, life.pages)
                    && (h.a, h.first) == (life.opening, life.used)
                    && (1..=fixed.chunk_pages).contains(&h.count)
                    && h.count <= fixed.zone_pages - life.used
            };
            let Some(head) = read.ok().and_then(|()| head(&page)).filter(ours) else { break };
            let (mut rows, _) = rows_of(&head, &page, fixed.hotness == 1);
            rows.truncate((written - life.pages - 1) as usize);
            rows.retain(|row| u64::from(row.lba) < fixed.logical_pages);
            chunks.push(LateChunk { life: index, start: life.pages, head, rows });
            life.firsts.push(head.first);
            life.pages += 1 + head.count;
            life.used += head.count;
        }
        let behind = self.chunk_behind(&self.lives[index], written)?;
        let life = &mut self.lives[index];
        life.behind = behind;
        let even = info.write_pointer == u64::from(life.pages) * PAGE as u64;
        let room = fixed.device_pages.saturating_sub(life.pages) >= 2;
        let more = info.state.is_writable() && even && room && life.used < fixed.zone_pages;
        life.ended = !more;
        Ok(())
    }

    /// Leaves only those rows of a chunk whose pages are whole.
    fn verify(&self, chunk: &mut LateChunk) -> Result<(), StoreError> {
        let zone = self.lives[chunk.life].device_zone;
        let mut bytes = AlignedBuf::zeroed(chunk.rows.len() * PAGE);
        let at = u64::from(chunk.start + 1) * PAGE as u64;
        match self.inner.device.read(zone, at, &mut bytes) {
            Err(error @ DeviceError::Crashed) => return Err(error.into()),
            Err(_) => chunk.rows.clear(),
            Ok(()) => {
                for (row, page) in chunk.rows.iter_mut().zip(bytes.chunks_exact(PAGE)) {
                    if crc32c::crc32c(page) != row.sum {
                        row.lba = u32::MAX;
                    }
                }
            }
        }
        Ok(())
    }

    /// Finds the newest state of every page that was written, copied or trimmed.
    fn replay(&mut self, chunks: Vec<LateChunk>) -> Result<(), StoreError> {
        let mut trims = Vec::new();
        for note in self.notes.iter().filter(|n| n.tag == TRIMMED) {
            trims.push((note.target, Latest { time: note.time, seq: u64::MAX, to: None, sum: 0 }));
        }
        for chunk in chunks {
            self.found.headers += 1;
            for (offset, row) in (chunk.head.first..).zip(chunk.rows) {
                self.time = self.time.max(row.time);
                match row.time > self.head.time {
                    true => self.found.user += 1,
                    false => self.found.relocations += 1,
                }
                let to = Some((chunk.life, offset));
                let seq = chunk.head.seq;
                self.take(row.lba, Latest { time: row.time, seq, to, sum: row.sum });
            }
        }
        for (lba, trim) in trims {
            self.time = self.time.max(trim.time);
            self.take(lba, trim);
        }
        self.latest.remove(&u32::MAX);
        Ok(())
    }

    fn take(&mut self, lba: u32, found: Latest) {
        let latest = self.latest.entry(lba).or_insert(found);
        if (found.time, found.seq) > (latest.time, latest.seq) {
            *latest = found;
        }
    }

    /// Counts the pages of the table's zones that have a newer state as garbage there.
    fn count_old(&mut self) -> Result<(), StoreError> {
        let by_zone: BTreeMap<u32, usize> = self
            .lives
            .iter()
            .enumerate()
            .filter(|(_, life)| life.row.is_some())
            .map(|(index, life)| (life.zone, index))
            .collect();
        let pages: Vec<u32> = self.latest.keys().copied().collect();
        for lba in pages {
            if u64::from(lba) >= self.inner.layout.fixed.logical_pages {
                self.latest.remove(&lba);
                continue;
            }
            let state = self.inner.with_leaf(self.inner.state()?, lba)?;
            let old = state.placer.find(lba).map(|(slot, _)| slot.zone);
            drop(state);
            if let Some(&index) = old.and_then(|zone| by_zone.get(&zone)) {
                self.lives[index].valid -= 1;
            }
            self.inner.drop_clean_leaves()?;
        }
        for (index, _) in self.latest.values().filter_map(|latest| latest.to) {
            self.lives[index].valid += 1;
        }
        Ok(())
    }

    /// Drops lives that hold nothing any more. Returns zones of the table whose pages are gone.
    fn settle_lives(&mut self) -> Vec<u32> {
        let mut lost = Vec::new();
        let holders: BTreeMap<u32, u64> = self
            .lives
            .iter()
            .filter(|life| !life.firsts.is_empty())
            .map(|life| (life.device_zone, life.opening))
            .collect();
        for life in &mut self.lives {
            let info = self.info[life.device_zone as usize];
            // Of what came later a crash may have torn the end.
            let durable = life.row.map_or(0, |row| u64::from(row.pages) * PAGE as u64);
            let there = info.write_pointer >= durable && info.state != ZoneState::Offline;
            // A later opening that left chunks has the zone now.
            let newer = holders.get(&life.device_zone).is_some_and(|&o| o > life.opening);
            if life.valid > 0 && (!there || newer) && life.row.is_some() {
                lost.push(life.zone);
                life.valid = 0;
            }
            if !there || newer {
                life.valid = life.valid.min(0);
            }
        }
        lost
    }

    /// Gives zones opened since the checkpoint a number that no other life has.
    fn number_lives(&mut self) {
        let live = |life: &&Life| life.valid > 0;
        let mut taken = vec![false; self.inner.layout.data.len() + 1];
        taken[0] = true;
        let of_table = |life: &&Life| life.row.is_some();
        self.lives.iter().filter(live).filter(of_table).for_each(|l| taken[l.zone as usize] = true);
        for life in self.lives.iter_mut().filter(|l| l.valid > 0 && l.row.is_none()) {
            let own = taken.get(life.zone as usize).is_some_and(|taken| !taken);
            let free = taken.iter().position(|taken| !taken).unwrap_or(0) as u32;
            life.zone = if own { life.zone } else { free };
            taken[life.zone as usize] = true;
        }
    }

    /// Points the map to the newest copies.
    fn point_pages(&mut self) -> Result<(), StoreError> {
        for (&lba, latest) in &self.latest {
            let mut state = self.inner.with_leaf(self.inner.state()?, lba)?;
            let to = latest
                .to
                .map(|(index, offset)| (Slot { zone: self.lives[index].zone, offset }, latest.sum));
            state.placer.point(lba, to);
            drop(state);
            self.inner.drop_clean_leaves()?;
        }
        Ok(())
    }

    /// Marks the pages that lay in zones which are gone, and which no newer copy was found of.
    fn lose_pages(&mut self, zones: &[u32]) -> Result<(), StoreError> {
        for leaf in 0..self.inner.layout.leaves() {
            let first = leaf * crate::leaves::LEAF as u32;
            let mut state = self.inner.with_leaf(self.inner.state()?, first)?;
            for (lba, slot) in state.placer.slots(leaf) {
                if zones.contains(&slot.zone) && !self.latest.contains_key(&lba) {
                    state.placer.lose(lba);
                }
            }
            drop(state);
            self.inner.drop_clean_leaves()?;
        }
        Ok(())
    }

    /// Restores volume and zones. True if a zone had to be ended.
    fn restore(self) -> Result<bool, StoreError> {
        let inner = self.inner;
        let fixed = inner.layout.fixed;
        let mut state = inner.state()?;
        let mut newest: BTreeMap<u32, u64> = BTreeMap::new();
        for life in self.lives.iter().filter(|l| l.valid > 0 && !l.ended) {
            let opening = newest.entry(life.class).or_default();
            *opening = life.opening.max(*opening);
        }
        let (mut images, mut finish, mut live) = (Vec::new(), Vec::new(), Vec::new());
        for life in self.lives.iter().filter(|l| l.valid > 0) {
            let open = !life.ended && newest.get(&life.class) == Some(&life.opening);
            let was_sealed = life.row.is_some_and(|row| row.sealed != 0);
            let used = if open { life.used } else { fixed.zone_pages };
            let sealed_at = match life.row {
                Some(row) if was_sealed => row.sealed_at,
                _ => self.time as u32,
            };
            if !open && !was_sealed {
                finish.push(life.device_zone);
            }
            live.push(life.device_zone);
            images.push(ZoneImage {
                zone: life.zone,
                class: life.class,
                opened_at: life.opened_at,
                sealed_at: (!open).then_some(sealed_at),
                used,
                garbage: used - (life.valid as u32).min(used),
            });
            state.zones[life.zone as usize] = DataZone {
                device_zone: life.device_zone,
                opening: life.opening,
                firsts: life.firsts.clone(),
                pages: life.pages,
                written: life.pages,
                ..DataZone::default()
            };
        }
        images.sort_by_key(|image| image.sealed_at.is_none());
        let valid: i64 = self.lives.iter().map(|l| l.valid.max(0)).sum();
        state.placer.restore(self.time as u32, valid as u64, &images)?;
        state.time = self.time;
        let w = self.head.written;
        state.written = Written {
            user: w[0] + self.found.user,
            relocations: w[1] + self.found.relocations,
            headers: w[2] + self.found.headers,
            checkpoints: w[3],
        };
        state.next_seq = self.last_seq + 1;
        state.durable = self.last_seq;
        let last = |f: fn(&Note) -> u64| self.notes.iter().map(f).max().map_or(0, |last| last + 1);
        let opening = last(|n| if n.tag == OPENED { n.opening } else { 0 });
        state.next_opening = self.head.next_opening.max(opening);
        state.next_serial = self.head.next_serial.max(last(|n| n.serial));
        state.noted = state.next_serial;
        state.withhold();
        drop(state);
        inner.counters.restore(&Written { checkpoints: w[3], ..Written::default() });
        for &zone in &finish {
            inner.finish(zone)?;
        }
        self.empty_others(&live)?;
        Ok(!finish.is_empty())
    }

    /// Resets every data zone that holds nothing.
    fn empty_others(&self, live: &[u32]) -> Result<(), StoreError> {
        let inner = self.inner;
        let others = inner.layout.data.iter().filter(|zone| !live.contains(zone));
        let (empty, full): (Vec<u32>, Vec<u32>) =
            others.partition(|&&zone| self.info[zone as usize].state == ZoneState::Empty);
        if !full.is_empty() {
            // What was found may still be on its way to the medium.
            inner.device.flush()?;
        }
        let mut state = inner.state()?;
        state.empty = empty.into();
        let any = !full.is_empty();
        for zone in full {
            match inner.device.reset(zone) {
                Ok(()) => state.empty.push_back(zone),
                Err(error @ DeviceError::Crashed) => return Err(error.into()),
                Err(_) => state.lose_zone(),
            }
        }
        if any {
            // Numbers of chunks and openings that only these zones knew are given away again: what
            // bore them before must not come back.
            inner.device.flush()?;
        }
        Ok(())
    }
}
