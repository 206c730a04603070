//! The metadata log: a ring of zones that holds notes, leaves of the map and checkpoints' tables.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use bytemuck::NoUninit;
use frostline_zone::{AlignedBuf, Device, DeviceError, ZoneState};

use crate::StoreError;
use crate::error::of_zone;
use crate::format::{Note, PAGE, VERSION, rows};
use crate::head::{Head, Kind, MetaHead, MetaKind};
use crate::layout::{Layout, NOTES};
use crate::sync::AtomicBool;

/// Pages and free space of the metadata log, for threads that do not hold its lock.
#[derive(Default)]
pub struct MetaUsage {
    pages: AtomicU64,
    low: AtomicBool,
    failed: AtomicU64,
}

impl MetaUsage {
    /// Pages written since the store was formatted.
    pub fn pages(&self) -> u64 {
        self.pages.load(Relaxed)
    }

    /// Zones that failed since the store was opened.
    pub fn failed(&self) -> u64 {
        self.failed.load(Relaxed)
    }

    /// True if what is left is for a checkpoint that frees the rest.
    pub fn is_low(&self) -> bool {
        self.low.load(Relaxed)
    }
}

/// The end of the metadata log.
pub struct MetaLog {
    device: Arc<dyn Device>,
    layout: Arc<Layout>,
    store: u64,
    /// Number of the next record.
    seq: u64,
    /// The zone that is written: its place in the ring, and the next page in it.
    current: Option<(usize, u32)>,
    /// Places in the ring whose zones are empty.
    empty: VecDeque<usize>,
    /// Places in the ring whose zones are not empty, oldest first; the last is written.
    used: VecDeque<usize>,
    usage: Arc<MetaUsage>,
}

impl MetaLog {
    /// The log of a store that is being formatted or recovered: `seq` is the number of its next
    /// record, `current` where it goes if a zone was begun; `used` and `empty` are the places in
    /// the ring whose zones hold records, oldest first, and those that do not.
    pub fn new(
        device: Arc<dyn Device>,
        layout: Arc<Layout>,
        store: u64,
        seq: u64,
        current: Option<(usize, u32)>,
        used: VecDeque<usize>,
        empty: VecDeque<usize>,
    ) -> Self {
        let usage = Arc::default();
        MetaLog { device, layout, store, seq, current, empty, used, usage }
    }

    /// The log of a store that has written so many pages of it.
    pub fn with_written(self, pages: u64) -> Self {
        self.usage.pages.store(pages, Relaxed);
        self
    }

    /// Pages and free space of the log, now and later.
    pub fn usage(&self) -> Arc<MetaUsage> {
        self.usage.clone()
    }

    /// Pages were written, or zones reset.
    fn note_usage(&self, pages: u32) {
        self.usage.pages.fetch_add(pages.into(), Relaxed);
        self.usage.low.store(self.must_free(), Relaxed);
    }

    /// True if the next checkpoint is to write everything anew, so that all zones before it can be
    /// reset.
    pub fn must_free(&self) -> bool {
        self.free_pages() < self.layout.meta_reserve()
    }

    /// Number of the next record.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// Pages that can still be written.
    pub fn free_pages(&self) -> u64 {
        let pages = u64::from(self.layout.fixed.device_pages);
        let rest = self.current.map_or(0, |(_, at)| pages - u64::from(at));
        rest + self.empty.len() as u64 * (pages - u64::from(self.layout.superblocks))
    }

    /// Appends a record: a page of rows and the payload that belongs to it. Returns the place of
    /// the payload, counted in pages through all metadata zones.
    pub fn append<R: NoUninit>(
        &mut self,
        record: MetaKind,
        rows: &[R],
        payload: &[u8],
    ) -> Result<u32, StoreError> {
        let pages = 1 + payload.len() / PAGE;
        let mut bytes = AlignedBuf::zeroed(pages * PAGE);
        bytes[PAGE..].copy_from_slice(payload);
        let head = MetaHead {
            seq: self.seq,
            rows: rows.len() as u32,
            payload: payload.len() as u32 / PAGE as u32,
            sum: crc32c::crc32c(payload),
            record,
        };
        loop {
            let (place, at) = self.room(pages as u32)?;
            let zone = self.layout.meta[place];
            // A zone that was begun for it took numbers for its superblocks.
            let head = Kind::Meta(MetaHead { seq: self.seq, ..head });
            let head = Head::new(self.store, zone, at, head);
            head.seal(&mut bytes[..PAGE], bytemuck::cast_slice(rows));
            match self.device.append(zone, u64::from(at) * PAGE as u64, &bytes) {
                Ok(()) => {
                    self.seq += 1;
                    self.current = Some((place, at + pages as u32));
                    self.note_usage(pages as u32);
                    return Ok(place as u32 * self.layout.fixed.device_pages + at + 1);
                }
                Err(error) => self.give_up(zone, error)?,
            }
        }
    }

    /// A place with room for so many pages in one zone.
    fn room(&mut self, pages: u32) -> Result<(usize, u32), StoreError> {
        let capacity = self.layout.fixed.device_pages;
        loop {
            if let Some((place, at)) = self.current.filter(|(_, at)| at + pages <= capacity) {
                return Ok((place, at));
            }
            if let Some((place, at)) = self.current.take()
                && at < capacity
            {
                // So that it no longer counts as active. A refusal costs no more than that.
                let _ = self.device.finish(self.layout.meta[place]);
            }
            let place = self.empty.pop_front().ok_or(StoreError::NoMetadataZone)?;
            self.begin(place)?;
        }
    }

    /// Begins a zone with superblocks. The records before it are made durable first, so that a
    /// crash takes the last ones of all, and what is missing in between is known to be damaged.
    fn begin(&mut self, place: usize) -> Result<(), StoreError> {
        self.device.flush()?;
        self.used.push_back(place);
        let zone = self.layout.meta[place];
        let copies = self.layout.superblocks;
        let mut body = bytemuck::bytes_of(&self.layout.fixed).to_vec();
        body.extend_from_slice(bytemuck::cast_slice(&self.layout.meta));
        let mut pages = AlignedBuf::zeroed(copies as usize * PAGE);
        for (page, bytes) in (0u32..).zip(pages.chunks_exact_mut(PAGE)) {
            let (seq, rows) = (self.seq + u64::from(page), self.layout.meta.len() as u32);
            let head = MetaHead { seq, rows, payload: 0, sum: 0, record: MetaKind::Super };
            Head::new(self.store, zone, page, Kind::Meta(head)).seal(bytes, &body);
        }
        match self.device.append(zone, 0, &pages) {
            Ok(()) => {
                self.seq += u64::from(copies);
                self.current = Some((place, copies));
                self.note_usage(copies);
                Ok(())
            }
            Err(error) => self.give_up(zone, error),
        }
    }

    /// An append to a zone failed: another zone is taken, unless it is the whole device.
    fn give_up(&mut self, zone: u32, error: DeviceError) -> Result<(), StoreError> {
        if !error.is_of_zone() {
            return Err(error.into());
        }
        self.note_failure(zone, &error);
        // It stays among those in use, for what it holds.
        self.current = None;
        match self.empty.is_empty() {
            true => Err(error.into()),
            false => Ok(()),
        }
    }

    /// Reads pages that were appended.
    pub fn read(
        device: &dyn Device,
        layout: &Layout,
        page: u32,
        pages: usize,
    ) -> Result<AlignedBuf, StoreError> {
        let capacity = layout.fixed.device_pages;
        let mut bytes = AlignedBuf::zeroed(pages * PAGE);
        let place = (page / capacity) as usize;
        let at = u64::from(page % capacity) * PAGE as u64;
        let zone = layout.meta.get(place).copied().unwrap_or(u32::MAX);
        device.read(zone, at, &mut bytes)?;
        Ok(bytes)
    }

    /// Resets every zone that holds none of these pages and lies before `begin`, where the
    /// checkpoint that is now complete began.
    pub fn release(
        &mut self,
        begin: Option<u32>,
        needed: impl Iterator<Item = u32>,
    ) -> Result<(), StoreError> {
        let capacity = self.layout.fixed.device_pages;
        let mut keep = vec![false; self.layout.meta.len()];
        needed.for_each(|page| keep[(page / capacity) as usize] = true);
        let begin = begin.map(|page| (page / capacity) as usize);
        let before = self.used.iter().position(|place| Some(*place) == begin);
        let old: Vec<_> = self.used.iter().take(before.unwrap_or(0)).copied().collect();
        for place in old.into_iter().filter(|&place| !keep[place]) {
            self.used.retain(|&used| used != place);
            self.reset(place)?;
        }
        self.note_usage(0);
        Ok(())
    }

    /// Resets zones in which recovery found nothing that is needed.
    pub fn reset_idle(&mut self, places: &[usize]) -> Result<(), StoreError> {
        if places.is_empty() {
            return Ok(());
        }
        // Records that were found elsewhere may still be on their way to the medium.
        self.device.flush()?;
        places.iter().try_for_each(|&place| self.reset(place))
    }

    /// Empties a zone of the ring. One that refuses is lost to it.
    fn reset(&mut self, place: usize) -> Result<(), StoreError> {
        debug_assert!(!self.empty.contains(&place) && !self.used.contains(&place));
        let zone = self.layout.meta[place];
        match of_zone(self.device.reset(zone))? {
            Ok(()) => self.empty.push_back(place),
            Err(error) => self.note_failure(zone, &error),
        }
        Ok(())
    }

    fn note_failure(&self, zone: u32, error: &DeviceError) {
        self.usage.failed.fetch_add(1, Relaxed);
        tracing::warn!(zone, %error, "a metadata zone failed: it is not used any more");
    }

    /// The place that is written now, as a page of the metadata zones.
    pub fn position(&self) -> Option<u32> {
        let (place, at) = self.current?;
        Some(place as u32 * self.layout.fixed.device_pages + at)
    }
}

/// A record as it was found.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its head.
    pub head: MetaHead,
    /// Version of the format that it was written in.
    pub version: u32,
    /// Zone of the device where it lies.
    pub zone: u32,
    /// Page in it.
    pub page: u32,
    /// The bytes behind the head.
    pub body: Vec<u8>,
    /// Place of the payload, counted in pages through all metadata zones.
    pub payload: u32,
}

impl Record {
    /// The notes in it, if it is one of notes.
    pub fn notes(&self) -> Vec<Note> {
        match self.head.record {
            MetaKind::Notes => rows(&self.body, (self.head.rows as usize).min(NOTES)),
            _ => Vec::new(),
        }
    }
}

/// The content of a metadata zone.
pub struct Found {
    /// Its place in the ring.
    pub place: usize,
    /// Its records in order, the superblock first.
    pub records: Vec<Record>,
    /// The page of its next record; none if it takes no more.
    pub next: Option<u32>,
    /// The largest number that stands in it, that of a torn record included.
    pub last_seq: u64,
}

/// Reads the records of a metadata zone, and passes over what a crash tore.
///
/// A torn record may have a whole head, and later ones may have been appended where its payload
/// should be. So a payload is trusted if the record behind it has the next number, which
/// recovery never gives to the first record that it appends; otherwise its sum decides.
pub fn scan(
    device: &dyn Device,
    layout: &Layout,
    store: u64,
    place: usize,
) -> Result<Found, StoreError> {
    let info = device.zone(layout.meta[place])?;
    let pages = match info.state {
        ZoneState::Offline => 0,
        _ => (info.write_pointer / PAGE as u64) as u32,
    };
    let scanner = Scanner { device, layout, store, place, pages };
    let (mut at, mut last_seq, mut records) = (0, 0, Vec::<Record>::new());
    while at < pages {
        let record = scanner.record_at(at, last_seq)?;
        let Some(record) = record else {
            at += 1;
            continue;
        };
        if record.version > VERSION {
            return Err(StoreError::Newer { found: record.version, known: VERSION });
        }
        last_seq = record.head.seq;
        let whole = scanner.is_whole(at, &record)?;
        at += 1 + if whole { record.head.payload } else { 0 };
        if whole {
            records.push(record);
        }
    }
    let even = info.write_pointer.is_multiple_of(PAGE as u64) && pages > 0;
    let next = (info.state.is_writable() && even).then_some(pages);
    Ok(Found { place, records, next, last_seq })
}

struct Scanner<'a> {
    device: &'a dyn Device,
    layout: &'a Layout,
    store: u64,
    place: usize,
    pages: u32,
}

impl Scanner<'_> {
    /// The record whose head is this page, if it is one with a number after `last_seq`.
    fn record_at(&self, at: u32, last_seq: u64) -> Result<Option<Record>, StoreError> {
        let zone = self.layout.meta[self.place];
        let mut page = AlignedBuf::zeroed(PAGE);
        self.device.read(zone, u64::from(at) * PAGE as u64, &mut page)?;
        let payload = self.place as u32 * self.layout.fixed.device_pages + at + 1;
        Ok(match Head::at(&page, self.store, zone, at) {
            Some((Head { version, kind: Kind::Meta(head), .. }, body)) if head.seq > last_seq => {
                let body = body.to_vec();
                Some(Record { head, version, zone, page: at, body, payload })
            }
            _ => None,
        })
    }

    fn is_whole(&self, at: u32, record: &Record) -> Result<bool, StoreError> {
        let MetaHead { payload, seq, sum, .. } = record.head;
        if payload == 0 || payload >= self.pages - at {
            return Ok(payload == 0);
        }
        let behind = at + 1 + payload;
        if behind < self.pages
            && let Some(next) = self.record_at(behind, seq)?
            && next.head.seq == seq + 1
        {
            return Ok(true);
        }
        let bytes = MetaLog::read(self.device, self.layout, record.payload, payload as usize)?;
        Ok(crc32c::crc32c(&bytes) == sum)
    }
}

#[cfg(test)]
mod tests {
    use frostline_zone::{Shape, in_memory};

    use super::*;
    use crate::Format;

    /// A power cut may leave the head of a record, and of its payload nothing. What recovery
    /// appended behind it was once taken for that payload, and lost at the next opening.
    #[test]
    fn records_behind_a_torn_one_are_found() {
        let shape = Shape { bytes: 8 << 20, zone_bytes: Some(1 << 18), ..Shape::default() };
        let device = in_memory(&shape).unwrap();
        let layout = Arc::new(Layout::divide(&*device, &Format::default()).unwrap());
        let empty = || (0..layout.meta.len()).collect();
        let log = |seq, current, empty| {
            MetaLog::new(device.clone(), layout.clone(), 7, seq, current, VecDeque::new(), empty)
        };
        let mut before = log(1, None, empty());
        before.append::<u32>(MetaKind::Notes, &[], &[]).unwrap();
        let record = MetaKind::Leaves;
        let torn = Kind::Meta(MetaHead { seq: 4, rows: 0, payload: 3, sum: 1, record });
        let mut page = AlignedBuf::zeroed(PAGE);
        Head::new(7, layout.meta[0], 3, torn).seal(&mut page, &[]);
        device.append(layout.meta[0], 3 * PAGE as u64, &page).unwrap();

        let seqs = |found: &Found| found.records.iter().map(|r| r.head.seq).collect::<Vec<_>>();
        let found = scan(&*device, &layout, 7, 0).unwrap();
        assert_eq!((seqs(&found), found.last_seq, found.next), (vec![1, 2, 3], 4, Some(4)));
        for payload in 0..5 {
            let current = Some((0, scan(&*device, &layout, 7, 0).unwrap().next.unwrap()));
            let last = scan(&*device, &layout, 7, 0).unwrap().last_seq;
            let mut after = log(last + 2, current, VecDeque::new());
            let bytes = vec![payload; usize::from(payload) * PAGE];
            after.append::<u32>(MetaKind::Leaves, &[], &bytes).unwrap();
        }
        let found = scan(&*device, &layout, 7, 0).unwrap();
        assert_eq!(seqs(&found), [1, 2, 3, 6, 8, 10, 12, 14]);
    }
}
