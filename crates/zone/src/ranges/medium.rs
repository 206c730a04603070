//! The medium: zones as ranges of a disk, or as extents of one that grows.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, IoSlice};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::disk::Disk;
use super::journal::{FoundJournal, Journal, Layout, ZoneRecord};
use super::space::{Dropped, Space, UNIT, begin_of, extent_of, extents_for};
use super::streams::Streams;
use super::{Placing, layout_of};
use crate::zoned::Medium;
use crate::{AlignedBuf, Geometry, OpenOptions, ZoneInfo, ZoneRead, ZoneState};

/// The most bytes that are made durable by one sync together with the record that tells of them:
/// the next opening reads them if they are the last ones.
const TOGETHER: u64 = 1 << 20;

/// Bytes that are reserved beyond an append, at least and at most: a file system that finds blocks
/// for each append writes its own metadata with each flush.
const AHEAD: std::ops::RangeInclusive<u64> = 16 << 10..=1 << 20;

/// Of what a zone has, one of so many bytes is reserved beyond it.
const AHEAD_SHARE: u64 = 4;

/// The most bytes that are moved when a file is closed, so that this takes no time worth
/// mentioning.
const MOVED: u64 = 16 << 20;

/// A zone as it is now.
#[derive(Debug, Default)]
struct Zone {
    pointer: u64,
    /// Bytes that were written. A zone that was finished has fewer than its pointer.
    written: u64,
    /// The pointer of the last record, or 0 if the zone was reset since; the sum of the bytes
    /// behind it.
    recorded: u64,
    sum: u32,
    /// The places of its extents, unless zones have places of their own.
    extents: Vec<u32>,
    /// Bytes that are reserved for it.
    reserved: u64,
    /// True if it is among those for the next record.
    is_changed: bool,
    /// True until it is reset: behind its bytes there may be some that a dead process wrote and did
    /// not flush.
    is_first: bool,
}

/// The room of a file whose zones grow.
struct Room {
    space: Space,
    /// Length of the file, in bytes.
    bytes: u64,
    /// Extents of zones that were reset, by place and number: they are free once a record tells of
    /// it.
    released: Vec<(u32, usize)>,
    /// Zones with extents.
    zones: u64,
    /// Blocks of each half of the journal that are reserved.
    reserved: u64,
}

/// Zones on a disk.
pub(super) struct Ranges<D: Disk> {
    disk: D,
    layout: Layout,
    zone_bytes: u64,
    capacity: u64,
    zones: Box<[RwLock<Zone>]>,
    /// The zones for the next record.
    changed: Mutex<Vec<u32>>,
    /// None if zones have places of their own.
    room: Option<Mutex<Room>>,
    /// Locked during a flush: a flush that finds nothing to do must not return before the flush
    /// that does the work.
    journal: Mutex<Journal>,
    /// The write streams, if zones are to be written in them.
    streams: Option<Mutex<Streams>>,
    read_only: bool,
}

/// The reason why zones can't be opened.
#[derive(Debug)]
pub(super) enum Unopened {
    Io(io::Error),
    /// The journal is damaged.
    Journal,
    /// The disk lacks bytes of a zone that were durable.
    Cut {
        zone: u32,
    },
}

impl From<io::Error> for Unopened {
    fn from(error: io::Error) -> Self {
        Unopened::Io(error)
    }
}

impl<D: Disk> Ranges<D> {
    /// The zones that the journal on a disk of so many bytes tells.
    pub(super) fn open(
        disk: D,
        bytes: u64,
        geometry: &Geometry,
        placing: Placing,
        options: &OpenOptions,
        streams: Option<Streams>,
    ) -> Result<(Ranges<D>, Vec<ZoneInfo>), Unopened> {
        let &OpenOptions { read_only, accept_loss, .. } = options;
        let &Geometry { zone_bytes, zone_capacity: capacity, .. } = geometry;
        let layout = layout_of(geometry, placing);
        let found = Journal::read(&disk, layout, geometry)?.ok_or(Unopened::Journal)?;
        let FoundJournal { mut journal, last } = found;
        let places = Places { zones_at: layout.zones_at, zone_bytes, placing };
        for (zone, record) in last {
            if places.sum(&disk, zone, &record) == record.sum {
                journal.put(zone, record);
            }
        }
        // The journal tells of bytes once they are durable: no crash takes them.
        for zone in 0..geometry.zones {
            let record = &journal.zones()[zone as usize];
            let pointer = places.there(zone, record, bytes);
            if pointer < record.pointer {
                if !accept_loss {
                    return Err(Unopened::Cut { zone });
                }
                let extents = record.extents[..extents_for(pointer)].to_vec();
                journal.put(zone, ZoneRecord { pointer, extents, from: 0, sum: 0 });
            }
        }
        let room = match placing {
            Placing::Fixed => None,
            Placing::Growing => {
                let space = space_of(journal.zones()).ok_or(Unopened::Journal)?;
                let zones = journal.zones().iter().filter(|zone| !zone.extents.is_empty());
                let zones = zones.count() as u64;
                Some(Mutex::new(Room { space, bytes, released: Vec::new(), zones, reserved: 0 }))
            }
        };
        if !read_only {
            journal.take_over(&disk)?;
        }
        let zone = |record: &ZoneRecord| {
            let (pointer, extents) = (record.pointer, record.extents.clone());
            let (written, recorded, reserved) = (pointer, pointer, pointer);
            let is_first = true;
            Zone { pointer, written, recorded, reserved, extents, is_first, ..Zone::default() }
        };
        let zones = journal.zones().iter().map(zone).map(RwLock::new).collect();
        let ranges = Ranges {
            disk,
            layout,
            zone_bytes,
            capacity,
            zones,
            changed: Mutex::default(),
            room,
            journal: Mutex::new(journal),
            streams: streams.map(Mutex::new),
            read_only,
        };
        if !read_only && let Some(mut room) = ranges.room() {
            ranges.trim(&mut room, false)?;
        }
        let zones = (0..geometry.zones).map(|zone| ranges.info(zone)).collect();
        Ok((ranges, zones))
    }

    /// The disk below.
    pub(super) fn disk(&self) -> &D {
        &self.disk
    }

    fn info(&self, zone: u32) -> ZoneInfo {
        let write_pointer = self.zone(zone).pointer;
        let state = match write_pointer {
            0 => ZoneState::Empty,
            pointer if pointer == self.capacity => ZoneState::Full,
            _ => ZoneState::Closed,
        };
        ZoneInfo { state, write_pointer, capacity: self.capacity }
    }

    fn zone(&self, zone: u32) -> RwLockReadGuard<'_, Zone> {
        self.zones[zone as usize].read().unwrap_or_else(PoisonError::into_inner)
    }

    fn zone_mut(&self, zone: u32) -> RwLockWriteGuard<'_, Zone> {
        self.zones[zone as usize].write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes a zone, which the next record tells.
    fn change(&self, number: u32, change: impl FnOnce(&mut Zone)) {
        let mut zone = self.zone_mut(number);
        change(&mut zone);
        if !std::mem::replace(&mut zone.is_changed, true) {
            self.changed.lock().unwrap_or_else(PoisonError::into_inner).push(number);
        }
    }

    fn places(&self) -> Places {
        let placing = if self.room.is_some() { Placing::Growing } else { Placing::Fixed };
        Places { zones_at: self.layout.zones_at, zone_bytes: self.zone_bytes, placing }
    }

    fn room(&self) -> Option<MutexGuard<'_, Room>> {
        Some(self.room.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn streams(&self) -> Option<MutexGuard<'_, Streams>> {
        let streams = self.streams.as_ref()?;
        Some(streams.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A zone that is full or empty needs no stream.
    fn give_back(&self, zone: u32) {
        if let Some(mut streams) = self.streams() {
            streams.give_back(zone);
        }
    }

    fn journal(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a zone the extents for so many bytes, and reserves what an append up to there needs.
    ///
    /// # Errors
    /// The disk is full.
    fn grow(&self, number: u32, end: u64) -> io::Result<()> {
        if self.room.is_none() {
            return Ok(());
        }
        let mut zone = self.zone_mut(number);
        while zone.extents.len() < extents_for(end) {
            let Some(mut room) = self.room() else { return Ok(()) };
            if zone.extents.is_empty() {
                let blocks = self.layout.used_blocks(room.zones + 1);
                self.layout.reserve(&self.disk, room.reserved, blocks)?;
                room.reserved = room.reserved.max(blocks);
            }
            let extent = zone.extents.len();
            let place = room.space.take(extent).ok_or(ErrorKind::FileTooLarge)?;
            if let Err(error) = self.set_len(&mut room, true) {
                room.space.give_back(place, extent);
                return Err(error);
            }
            room.zones += u64::from(extent == 0);
            assert!(room.zones <= self.zones.len() as u64, "zones with extents are counted once");
            zone.extents.push(place);
        }
        if end > zone.reserved {
            let ahead = (end / AHEAD_SHARE).clamp(*AHEAD.start(), *AHEAD.end());
            let to = (end + ahead).next_multiple_of(UNIT).min(self.capacity);
            let (mut from, places) = (zone.reserved, self.places());
            while from < to
                && let (Some(at), bytes) = places.of(number, &zone.extents, from)
            {
                let bytes = bytes.min(to - from);
                // If there is no room, the append says so.
                let _refused = self.disk.reserve(at, bytes);
                from += bytes;
            }
            zone.reserved = from.max(end);
        }
        Ok(())
    }

    /// Makes zeroes of what a dead process may have left behind the bytes of a zone. From the finish
    /// on it would be read, and taken for what was written last.
    fn clear_rest(&self, number: u32) -> io::Result<()> {
        let zone = self.zone(number);
        let (mut from, places) = (zone.written, self.places());
        while zone.is_first
            && from < self.capacity
            && let (Some(at), bytes) = places.of(number, &zone.extents, from)
        {
            let bytes = bytes.min(self.capacity - from);
            self.disk.clear(at, bytes)?;
            from += bytes;
        }
        Ok(())
    }

    /// Makes the file as long as its units need, if it is shorter, or if it may become shorter.
    fn set_len(&self, room: &mut Room, longer: bool) -> io::Result<()> {
        let bytes = self.layout.zones_at + u64::from(room.space.units()) * UNIT;
        let is_due = if longer { bytes > room.bytes } else { bytes < room.bytes };
        if is_due {
            self.disk.set_len(bytes)?;
            room.bytes = bytes;
        }
        Ok(())
    }

    /// Moves extents from the end of a file with much free room to places below them, as far as
    /// that takes little time. Nobody uses the zones any more.
    fn pack(&self, room: &mut Room) -> io::Result<()> {
        let mut journal = self.journal();
        let Some(space) = space_of(journal.zones()) else { return Ok(()) };
        room.space = space;
        let extents = |(zone, record): (u32, &ZoneRecord)| {
            let places = record.extents.clone().into_iter().enumerate();
            places.map(move |(extent, place)| (place, zone, extent)).collect::<Vec<_>>()
        };
        let mut all: Vec<_> = (0..).zip(journal.zones()).flat_map(extents).collect();
        all.sort_unstable();
        let mut records = BTreeMap::<u32, ZoneRecord>::new();
        let (mut moved, places) = (0, self.places());
        while room.space.is_loose()
            && let Some((place, zone, extent)) = all.pop()
            && let Some(to) = room.space.take_below(extent, place)
        {
            let was = &journal.zones()[zone as usize];
            let record = records.entry(zone).or_insert_with(|| was.clone());
            let begins = begin_of(extent);
            let (_, size) = places.of(zone, &record.extents, begins);
            let bytes = was.pointer.saturating_sub(begins).min(size);
            moved += bytes;
            if moved > MOVED {
                break;
            }
            assert!(to < place, "extents move to the front of the file");
            self.copy(place, to, bytes)?;
            record.extents[extent] = to;
            // Those that follow go to places below their own, and so not over this one.
            room.space.give_back(place, extent);
        }
        if records.is_empty() {
            return Ok(());
        }
        journal.sync(&self.disk)?;
        let durable = |record: ZoneRecord| ZoneRecord { from: record.pointer, ..record };
        let records = records.into_iter().map(|(zone, record)| (zone, durable(record)));
        journal.record(&self.disk, records.collect())
    }

    /// Copies bytes of one unit to another.
    fn copy(&self, from: u32, to: u32, bytes: u64) -> io::Result<()> {
        let at = |place: u32| self.layout.zones_at + u64::from(place) * UNIT;
        let mut done = 0;
        while done < bytes {
            let mut buffer = AlignedBuf::zeroed((bytes - done).min(TOGETHER) as usize);
            self.disk.read(at(from) + done, &mut buffer)?;
            self.disk.write(at(to) + done, &[IoSlice::new(&buffer)], 0)?;
            done += buffer.len() as u64;
        }
        Ok(())
    }

    /// Gives free units back to the file system: those that are too many, or all of them.
    fn trim(&self, room: &mut Room, all: bool) -> io::Result<()> {
        let dropped = room.space.drop_kept(all);
        self.set_len(room, false)?;
        let there = |&(place, _): &Dropped| self.layout.zones_at + u64::from(place) * UNIT;
        for dropped in dropped.iter().filter(|dropped| there(dropped) < room.bytes) {
            self.disk.discard(there(dropped), u64::from(dropped.1) * UNIT)?;
        }
        Ok(())
    }
}

impl<D: Disk> Medium for Ranges<D> {
    fn write(&self, zone: u32, at: u64, parts: &[IoSlice<'_>]) -> io::Result<()> {
        let bytes: u64 = parts.iter().map(|part| part.len() as u64).sum();
        let end = at + bytes;
        assert!(!self.read_only, "zones that are open for reading only are written");
        assert!(end <= self.capacity, "zone {zone} is written beyond its end");
        self.grow(zone, end)?;
        let stream = self.streams().map_or(0, |mut streams| streams.of(zone));
        let extents = self.zone(zone).extents.clone();
        let places = self.places();
        let mut rest = parts.to_vec();
        let (mut rest, mut from) = (&mut rest[..], at);
        while from < end {
            let (place, room) = places.of(zone, &extents, from);
            let place = place.ok_or(ErrorKind::UnexpectedEof)?;
            let bytes = room.min(end - from);
            match from + bytes == end {
                true => self.disk.write(place, rest, stream)?,
                false => self.disk.write(place, &beginning(rest, bytes as usize), stream)?,
            }
            IoSlice::advance_slices(&mut rest, bytes as usize);
            from += bytes;
        }
        self.change(zone, |zone| {
            assert_eq!((zone.pointer, zone.written), (at, at), "appends follow each other");
            let add = |sum, part: &IoSlice<'_>| crc32c::crc32c_append(sum, part);
            zone.sum = parts.iter().fold(zone.sum, add);
            (zone.pointer, zone.written) = (end, end);
        });
        if end == self.capacity {
            self.give_back(zone);
        }
        Ok(())
    }

    fn read(&self, zone: u32, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let read = ZoneRead { zone, offset, buffer };
        self.read_all(&mut [read]).map_err(|(_, error)| error)
    }

    fn read_all(&self, reads: &mut [ZoneRead<'_>]) -> Result<(), (usize, io::Error)> {
        let places = self.places();
        let mut placed: Vec<(u64, &mut [u8])> = Vec::with_capacity(reads.len());
        let mut numbers = Vec::with_capacity(reads.len());
        for (number, ZoneRead { zone, offset, buffer }) in reads.iter_mut().enumerate() {
            let found = self.zone(*zone);
            let (mut rest, mut offset) = (&mut **buffer, *offset);
            while !rest.is_empty() {
                let (place, room) = places.of(*zone, &found.extents, offset);
                let (part, behind) = rest.split_at_mut(room.min(rest.len() as u64) as usize);
                (offset, rest) = (offset + part.len() as u64, behind);
                match place {
                    Some(at) => {
                        placed.push((at, part));
                        numbers.push(number);
                    }
                    // Only a zone that was finished has bytes that it never had room for.
                    None => part.fill(0),
                }
            }
        }
        let done = match &mut placed[..] {
            [(at, buffer)] => self.disk.read(*at, buffer).map_err(|error| (0, error)),
            all => self.disk.read_all(all),
        };
        done.map_err(|(index, error)| (numbers.get(index).copied().unwrap_or(0), error))
    }

    fn reset(&self, zone: u32) -> io::Result<()> {
        self.give_back(zone);
        if self.room.is_some() {
            let mut extents = Vec::new();
            self.change(zone, |zone| {
                extents = std::mem::take(&mut zone.extents);
                *zone = Zone { is_changed: zone.is_changed, ..Zone::default() };
            });
            if let Some(mut room) = self.room() {
                assert!(extents.is_empty() || room.zones > 0, "zones with extents are counted");
                room.zones -= u64::from(!extents.is_empty());
                room.released.extend((0..).zip(extents).map(|(extent, place)| (place, extent)));
            }
            return Ok(());
        }
        let mut journal = self.journal();
        // A zone that was never flushed is empty after a power cut anyway.
        if journal.zones()[zone as usize].pointer > 0 {
            journal.record(&self.disk, vec![(zone, ZoneRecord::default())])?;
        }
        {
            let mut zone = self.zone_mut(zone);
            *zone = Zone { is_changed: zone.is_changed, ..Zone::default() };
        }
        drop(journal);
        let (Some(at), bytes) = self.places().of(zone, &[], 0) else { return Ok(()) };
        self.disk.discard(at, bytes)
    }

    fn finish(&self, zone: u32) -> io::Result<()> {
        self.clear_rest(zone)?;
        self.change(zone, |zone| zone.pointer = self.capacity);
        self.give_back(zone);
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        let mut journal = self.journal();
        // Zones are noted as changed before their extents are released.
        let released = self.room().map(|mut room| std::mem::take(&mut room.released));
        let changed = &self.changed;
        let changed = std::mem::take(&mut *changed.lock().unwrap_or_else(PoisonError::into_inner));
        let mut records = Vec::with_capacity(changed.len());
        let (mut bytes, mut is_sum_known) = (0, true);
        for number in changed {
            let mut zone = self.zone_mut(number);
            zone.is_changed = false;
            let Zone { pointer, written, recorded: from, sum, ref extents, .. } = *zone;
            let was = &journal.zones()[number as usize];
            if (was.pointer, &was.extents) == (pointer, extents) {
                continue;
            }
            assert!(written <= pointer, "a zone's bytes lie before its pointer");
            assert!(from <= written, "what was recorded was written before");
            bytes += written - from;
            is_sum_known &= pointer == written;
            let extents = if pointer > 0 { extents.clone() } else { Vec::new() };
            records.push((number, ZoneRecord { pointer, from, sum, extents }));
            (zone.recorded, zone.sum) = (pointer, 0);
        }
        if !records.is_empty() {
            let count = records.len() as u64;
            if bytes > TOGETHER || !is_sum_known || !journal.has_room_for(count) {
                journal.sync(&self.disk)?;
                for (_, record) in &mut records {
                    (record.from, record.sum) = (record.pointer, 0);
                }
            }
            journal.record(&self.disk, records)?;
        }
        if let (Some(mut room), Some(released)) = (self.room(), released)
            && !released.is_empty()
        {
            released.iter().for_each(|&(place, extent)| room.space.give_back(place, extent));
            self.trim(&mut room, false)?;
        }
        Ok(())
    }

    fn probe(&self, zone: u32) -> io::Result<ZoneInfo> {
        Ok(self.info(zone))
    }
}

impl<D: Disk> Drop for Ranges<D> {
    /// What was appended is there for the next opening, and a file that nobody uses takes no more
    /// than it holds.
    fn drop(&mut self) {
        if self.read_only || self.flush().is_err() {
            return;
        }
        if let Some(mut room) = self.room() {
            // If it can't be, the next opening does it.
            let _refused = self.pack(&mut room).and_then(|()| self.trim(&mut room, true));
        }
    }
}

/// The room of a file whose zones were recorded so; `None` if that is impossible.
fn space_of(zones: &[ZoneRecord]) -> Option<Space> {
    let extents = zones.iter().flat_map(|zone| zone.extents.iter().copied().zip(0..));
    Space::new(extents)
}

/// Where zones lie on a disk.
#[derive(Clone, Copy)]
struct Places {
    zones_at: u64,
    zone_bytes: u64,
    placing: Placing,
}

impl Places {
    /// The place of a byte of a zone, none if the zone has no room for it, and the bytes that
    /// follow it there.
    fn of(&self, zone: u32, extents: &[u32], offset: u64) -> (Option<u64>, u64) {
        match self.placing {
            Placing::Fixed => {
                assert!(
                    offset <= self.zone_bytes,
                    "a place in zone {zone} lies before the next zone"
                );
                let start = self.zones_at + u64::from(zone) * self.zone_bytes;
                (Some(start + offset), self.zone_bytes - offset)
            }
            Placing::Growing => {
                let (extent, begins, bytes) = extent_of(offset);
                let inside = offset - begins;
                let place = extents.get(extent);
                let place = place.map(|&place| self.zones_at + u64::from(place) * UNIT + inside);
                (place, bytes - inside)
            }
        }
    }

    /// The sum of the bytes that may not have been durable before a record, as they are now.
    fn sum(&self, disk: &dyn Disk, zone: u32, record: &ZoneRecord) -> u32 {
        let (mut sum, mut from) = (0, record.from);
        while from < record.pointer
            && let (Some(at), bytes) = self.of(zone, &record.extents, from)
        {
            let bytes = bytes.min(record.pointer - from).min(TOGETHER);
            let mut buffer = AlignedBuf::zeroed(bytes as usize);
            match disk.read(at, &mut buffer) {
                // The file is shorter: they are not there.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return !record.sum,
                // Those who read the zone will say so.
                Err(_) => return record.sum,
                Ok(()) => {}
            }
            sum = crc32c::crc32c_append(sum, &buffer);
            from += bytes;
        }
        sum
    }

    /// The write pointer of a zone on a disk of so many bytes: a zone whose end was cut off ends
    /// there.
    fn there(&self, zone: u32, record: &ZoneRecord, disk_bytes: u64) -> u64 {
        let mut from = 0;
        while from < record.pointer
            && let (Some(at), bytes) = self.of(zone, &record.extents, from)
        {
            if at + bytes > disk_bytes && self.placing == Placing::Growing {
                let left = disk_bytes.saturating_sub(at);
                let block = u64::from(crate::geometry::BLOCK_BYTES);
                return record.pointer.min(from + left - left % block);
            }
            from += bytes;
        }
        record.pointer
    }
}

/// The first bytes of some parts.
fn beginning<'a>(parts: &'a [IoSlice<'_>], bytes: usize) -> Vec<IoSlice<'a>> {
    let mut left = bytes;
    let mut taken = Vec::with_capacity(parts.len());
    for part in parts {
        let part = &part[..part.len().min(left)];
        left -= part.len();
        taken.push(IoSlice::new(part));
    }
    assert_eq!(left, 0, "the parts have the bytes that are taken");
    taken
}
