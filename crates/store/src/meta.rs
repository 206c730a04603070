//! The metadata log: a ring of zones that holds notes, leaves of the map and checkpoints' tables.

use std::collections::VecDeque;
use std::sync::Arc;

use frostline_zone::{AlignedBuf, Device, DeviceError, ZoneState};

use crate::StoreError;
use crate::format::{Head, Kind, PAGE, VERSION, head, seal};
use crate::layout::Layout;

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
    /// Pages written.
    pub written: u64,
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
        MetaLog { device, layout, store, seq, current, empty, used, written: 0 }
    }

    /// Number of the next record.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// Pages that can still be written.
    pub fn free_pages(&self) -> u64 {
        let pages = u64::from(self.layout.fixed.device_pages);
        let rest = self.current.map_or(0, |(_, at)| pages - u64::from(at));
        rest + self.empty.len() as u64 * (pages - 1)
    }

    /// Appends a record: a page of rows and the payload that belongs to it. Returns the place of
    /// the payload, counted in pages through all metadata zones.
    pub fn append(
        &mut self,
        kind: Kind,
        head: Head,
        rows: &[u8],
        payload: &[u8],
    ) -> Result<u32, StoreError> {
        let pages = 1 + payload.len() / PAGE;
        let mut bytes = AlignedBuf::zeroed(pages * PAGE);
        bytes[PAGE..].copy_from_slice(payload);
        loop {
            let (place, at) = self.room(pages as u32)?;
            let zone = self.layout.meta[place];
            let head = Head {
                kind: kind as u32,
                store: self.store,
                seq: self.seq,
                zone,
                page: at,
                payload: payload.len() as u32 / PAGE as u32,
                ..head
            };
            bytes[..PAGE].fill(0);
            seal(&mut bytes[..PAGE], head, rows);
            match self.device.append(zone, u64::from(at) * PAGE as u64, &bytes) {
                Ok(()) => {
                    self.seq += 1;
                    self.current = Some((place, at + pages as u32));
                    self.written += pages as u64;
                    return Ok(place as u32 * self.layout.fixed.device_pages + at + 1);
                }
                Err(error) => self.give_up(error)?,
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

    /// Begins a zone with a superblock.
    fn begin(&mut self, place: usize) -> Result<(), StoreError> {
        self.used.push_back(place);
        let zone = self.layout.meta[place];
        let head = Head {
            kind: Kind::Super as u32,
            store: self.store,
            seq: self.seq,
            zone,
            page: 0,
            count: self.layout.meta.len() as u32,
            ..Head::default()
        };
        let mut body = bytemuck::bytes_of(&self.layout.fixed).to_vec();
        body.extend_from_slice(bytemuck::cast_slice(&self.layout.meta));
        let mut page = AlignedBuf::zeroed(PAGE);
        seal(&mut page, head, &body);
        match self.device.append(zone, 0, &page) {
            Ok(()) => {
                self.written += 1;
                self.seq += 1;
                self.current = Some((place, 1));
                Ok(())
            }
            Err(error) => self.give_up(error),
        }
    }

    /// A zone failed: another one is taken, unless it is the whole device.
    fn give_up(&mut self, error: DeviceError) -> Result<(), StoreError> {
        use DeviceError::{Crashed, NotAtWritePointer, TooManyActive, TooManyOpen};
        if matches!(
            error,
            Crashed | NotAtWritePointer { .. } | TooManyOpen { .. } | TooManyActive { .. }
        ) {
            return Err(error.into());
        }
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
            match self.device.reset(self.layout.meta[place]) {
                Ok(()) => self.empty.push_back(place),
                Err(DeviceError::Crashed) => return Err(DeviceError::Crashed.into()),
                // It is lost to the ring.
                Err(_) => {}
            }
        }
        Ok(())
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
    pub head: Head,
    /// What stands behind the head.
    pub body: Vec<u8>,
    /// Place of the payload, counted in pages through all metadata zones.
    pub payload: u32,
}

/// What a metadata zone holds.
pub struct Found {
    /// Its place in the ring.
    pub place: usize,
    /// Its records in order, the superblock first.
    pub records: Vec<Record>,
    /// Where its next record goes; none if it takes no more.
    pub next: Option<u32>,
}

/// Reads the records of a metadata zone. What a crash tore is passed over.
pub fn scan(
    device: &dyn Device,
    layout: &Layout,
    store: u64,
    place: usize,
) -> Result<Found, StoreError> {
    let zone = layout.meta[place];
    let info = device.zone(zone)?;
    let pages = (info.write_pointer / PAGE as u64) as u32;
    let mut page = AlignedBuf::zeroed(PAGE);
    let (mut at, mut records) = (0, Vec::<Record>::new());
    while at < pages && info.state != ZoneState::Offline {
        device.read(zone, u64::from(at) * PAGE as u64, &mut page)?;
        let later = |h: &Head| records.last().is_none_or(|r| r.head.seq < h.seq);
        let ours = |h: &Head| {
            (h.store, h.zone, h.page) == (store, zone, at) && h.kind != Kind::Chunk as u32
        };
        match head(&page).filter(|h| ours(h) && later(h)) {
            Some(head) => {
                if head.version > VERSION {
                    return Err(StoreError::Newer { found: head.version, known: VERSION });
                }
                let payload = place as u32 * layout.fixed.device_pages + at + 1;
                let body = page[size_of::<Head>()..].to_vec();
                let whole = head.payload < pages - at;
                if whole {
                    records.push(Record { head, body, payload });
                }
                at += if whole { 1 + head.payload } else { 1 };
            }
            None => at += 1,
        }
    }
    let even = info.write_pointer.is_multiple_of(PAGE as u64) && pages > 0;
    let next = (info.state.is_writable() && even).then_some(pages);
    Ok(Found { place, records, next })
}
