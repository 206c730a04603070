//! The metadata log: a ring of zones that holds notes, leaves of the map and checkpoints' tables.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use bytemuck::NoUninit;
use frostline_zone::{AlignedBuf, Device, DeviceError};

use crate::StoreError;
use crate::engine::other_copy::read_verified;
use crate::error::of_zone;
use crate::format::head::{Head, HeadKind, MetaHead, MetaKind};
use crate::format::layout::Layout;
use crate::format::{PAGE, SUPERBLOCKS, ZoneRun};
use crate::sync::AtomicBool;

/// A zone is left when the store is closed, if it has more pages than so many, or a share of it,
/// and so many times what a checkpoint of everything takes.
const WORTH_LEAVING: u32 = 64;
const STALE: u64 = 4;

/// Pages and free space of the metadata log, for threads that do not hold its lock.
#[derive(Default)]
pub(crate) struct MetaUsage {
    pages: AtomicU64,
    low: AtomicBool,
    failed: AtomicU64,
}

impl MetaUsage {
    /// Pages written since the store was formatted.
    pub(crate) fn pages(&self) -> u64 {
        self.pages.load(Relaxed)
    }

    /// Zones that failed since the store was opened.
    pub(crate) fn failed(&self) -> u64 {
        self.failed.load(Relaxed)
    }

    /// True if the free pages are only enough for a checkpoint that frees the rest.
    pub(crate) fn is_low(&self) -> bool {
        self.low.load(Relaxed)
    }
}

/// The end of the metadata log.
pub(crate) struct MetaLog {
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
    pub(crate) fn new(
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

    /// Sets the pages that the store has written to the log.
    pub(crate) fn with_written(self, pages: u64) -> Self {
        self.usage.pages.store(pages, Relaxed);
        self
    }

    /// Pages and free space of the log, now and later.
    pub(crate) fn usage(&self) -> Arc<MetaUsage> {
        self.usage.clone()
    }

    /// Pages were written, or zones reset.
    fn note_usage(&self, pages: u32) {
        self.usage.pages.fetch_add(pages.into(), Relaxed);
        self.usage.low.store(self.must_free(), Relaxed);
    }

    /// True if the next checkpoint is to write everything anew, so that all zones before it can be
    /// reset.
    pub(crate) fn must_free(&self) -> bool {
        self.free_pages() < self.layout.meta_reserve()
    }

    /// Goes on in another zone, if the one that is written has much more than the `needed` pages
    /// that a checkpoint of everything takes, and there is room for one behind it. True if it did.
    pub(crate) fn leave_zone(&mut self, needed: u64) -> Result<bool, StoreError> {
        let pages = self.layout.fixed.device_pages;
        let Some((place, at)) = self.current.filter(|&(_, at)| at < pages) else {
            return Ok(false);
        };
        let least = WORTH_LEAVING.max(pages / 64).min(pages / 2);
        let elsewhere = self.empty.len() as u64 * u64::from(pages - SUPERBLOCKS);
        let fits = elsewhere >= self.layout.meta_reserve();
        if !fits || u64::from(at) <= u64::from(least) + STALE * needed {
            return Ok(false);
        }
        let Some(next) = self.empty.pop_front() else { return Ok(false) };
        // So that it no longer counts as active. A refusal costs no more than that.
        let _ = self.device.finish(self.layout.meta[place]);
        self.current = None;
        self.begin(next)?;
        Ok(true)
    }

    /// Number of the next record.
    pub(crate) fn seq(&self) -> u64 {
        self.seq
    }

    /// Pages that can still be written.
    pub(crate) fn free_pages(&self) -> u64 {
        let pages = u64::from(self.layout.fixed.device_pages);
        assert!(self.current.is_none_or(|(_, at)| u64::from(at) <= pages), "past a zone's end");
        let rest = self.current.map_or(0, |(_, at)| pages - u64::from(at));
        rest + self.empty.len() as u64 * (pages - u64::from(SUPERBLOCKS))
    }

    /// Appends a record: a page of rows and the payload that belongs to it. Returns the place of
    /// the payload, counted in pages through all metadata zones.
    pub(crate) fn append<R: NoUninit>(
        &mut self,
        record: MetaKind,
        rows: &[R],
        payload: &[u8],
    ) -> Result<u32, StoreError> {
        assert!(payload.len().is_multiple_of(PAGE), "payloads are whole pages");
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
            assert_eq!(self.used.back(), Some(&place), "the newest zone is written");
            assert!(at >= SUPERBLOCKS, "a zone begins with superblocks");
            let zone = self.layout.meta[place];
            // A zone that was begun for it took numbers for its superblocks.
            let head = HeadKind::Meta(MetaHead { seq: self.seq, ..head });
            let head = Head::new(self.store, zone, at, head);
            head.seal(&mut bytes[..PAGE], bytemuck::cast_slice(rows));
            match self.device.append(zone, u64::from(at) * PAGE as u64, &bytes) {
                Ok(()) => {
                    self.seq += 1;
                    assert!(at + pages as u32 <= self.layout.fixed.device_pages);
                    self.current = Some((place, at + pages as u32));
                    self.note_usage(pages as u32);
                    return Ok(place as u32 * self.layout.fixed.device_pages + at + 1);
                }
                Err(error) => self.give_up(zone, error)?,
            }
        }
    }

    /// A place with room for `pages` pages in one zone.
    fn room(&mut self, pages: u32) -> Result<(usize, u32), StoreError> {
        let capacity = self.layout.fixed.device_pages;
        loop {
            assert!(pages <= capacity - SUPERBLOCKS, "a record fits into a zone");
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
        assert!(self.current.is_none() && !self.used.contains(&place), "an empty zone is begun");
        self.used.push_back(place);
        let zone = self.layout.meta[place];
        let mut body = bytemuck::bytes_of(&self.layout.fixed).to_vec();
        let runs = ZoneRun::of(&self.layout.meta);
        body.extend_from_slice(bytemuck::cast_slice(&runs));
        let mut pages = AlignedBuf::zeroed(SUPERBLOCKS as usize * PAGE);
        for (page, bytes) in (0u32..).zip(pages.chunks_exact_mut(PAGE)) {
            let (seq, rows) = (self.seq + u64::from(page), runs.len() as u32);
            let head = MetaHead { seq, rows, payload: 0, sum: 0, record: MetaKind::Super };
            let head = HeadKind::Meta(head);
            Head::new(self.store, zone, page, head).seal(bytes, &body);
        }
        match self.device.append(zone, 0, &pages) {
            Ok(()) => {
                self.seq += u64::from(SUPERBLOCKS);
                self.current = Some((place, SUPERBLOCKS));
                self.note_usage(SUPERBLOCKS);
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

    /// Reads pages that were appended, and are `sound` if they are what was written.
    pub(crate) fn read(
        device: &dyn Device,
        layout: &Layout,
        page: u32,
        pages: usize,
        sound: &dyn Fn(&[u8]) -> bool,
    ) -> Result<AlignedBuf, StoreError> {
        let capacity = layout.fixed.device_pages;
        let mut bytes = AlignedBuf::zeroed(pages * PAGE);
        let place = (page / capacity) as usize;
        let at = u64::from(page % capacity) * PAGE as u64;
        let zone = layout.meta.get(place).copied().unwrap_or(u32::MAX);
        read_verified(device, zone, at, &mut bytes, sound)?;
        Ok(bytes)
    }

    /// Resets every zone that holds none of these pages and lies before `begin`, where the
    /// checkpoint that is now complete began.
    pub(crate) fn release(
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
        debug_assert!(
            self.current.is_none_or(|(current, _)| !old.contains(&current)),
            "the zone that is written is newer than a checkpoint"
        );
        for place in old.into_iter().filter(|&place| !keep[place]) {
            self.used.retain(|&used| used != place);
            self.reset(place)?;
        }
        self.note_usage(0);
        Ok(())
    }

    /// Resets zones in which recovery found nothing that is needed.
    pub(crate) fn reset_idle(&mut self, places: &[usize]) -> Result<(), StoreError> {
        if places.is_empty() {
            return Ok(());
        }
        // Records that were found elsewhere may still be on their way to the medium.
        self.device.flush()?;
        places.iter().try_for_each(|&place| self.reset(place))
    }

    /// Empties a zone of the ring. One that refuses is lost to it.
    fn reset(&mut self, place: usize) -> Result<(), StoreError> {
        assert!(!self.empty.contains(&place) && !self.used.contains(&place));
        assert!(self.current.is_none_or(|(current, _)| current != place));
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
    pub(crate) fn position(&self) -> Option<u32> {
        let (place, at) = self.current?;
        Some(place as u32 * self.layout.fixed.device_pages + at)
    }
}
