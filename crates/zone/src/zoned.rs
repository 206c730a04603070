//! The rules of zones, implemented once for all media.

use std::io::{self, IoSlice};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};

use rustix::io::Errno;

use crate::limits::Limits;
use crate::{Device, DeviceError, Geometry, Operation, ZoneInfo, ZoneRead, ZoneState};

/// The medium that holds the bytes. It gets only operations that the rules allow, and never two
/// changes of one zone at a time.
pub(crate) trait Medium: Send + Sync {
    /// Writes the parts at the write pointer `at`.
    fn write(&self, zone: u32, at: u64, parts: &[IoSlice<'_>]) -> io::Result<()>;
    fn read(&self, zone: u32, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
    /// Fills several buffers; on an error, says which could not be filled.
    fn read_all(&self, reads: &mut [ZoneRead<'_>]) -> Result<(), (usize, io::Error)> {
        read_one_by_one(self, reads)
    }
    fn reset(&self, zone: u32) -> io::Result<()>;
    fn finish(&self, zone: u32) -> io::Result<()>;
    /// Makes all operations durable that returned before. Calls may overlap.
    fn flush(&self) -> io::Result<()>;
    /// The state of a zone after a change of it failed.
    fn probe(&self, zone: u32) -> io::Result<ZoneInfo>;
    /// Changes the states of the zones from `first` to what the medium knows better.
    fn show(&self, _first: u32, _zones: &mut [ZoneInfo]) -> Result<(), DeviceError> {
        Ok(())
    }
    /// See [`Device::read_other`].
    fn read_other(&self, _zone: u32, _at: u64, _buffer: &mut [u8]) -> Result<bool, DeviceError> {
        Ok(false)
    }
    /// See [`Device::rebuilt_blocks`].
    fn rebuilt_blocks(&self) -> u64 {
        0
    }
}

/// Fills several buffers, one after the other; on an error, says which could not be filled.
pub(crate) fn read_one_by_one<M: Medium + ?Sized>(
    medium: &M,
    reads: &mut [ZoneRead<'_>],
) -> Result<(), (usize, io::Error)> {
    for (index, read) in reads.iter_mut().enumerate() {
        let done = medium.read(read.zone, read.offset, read.buffer);
        done.map_err(|error| (index, error))?;
    }
    Ok(())
}

/// A device that keeps the rules of zones over a medium.
pub(crate) struct Zoned<M> {
    medium: M,
    geometry: Geometry,
    zones: Box<[ManagedZone]>,
    limits: Limits,
    read_only: bool,
    flush_failed: AtomicBool,
}

struct ManagedZone {
    /// Held while the zone is changed, so that changes of one zone follow each other.
    change: Mutex<()>,
    /// The state after the last change. Reads use it while a change is under way.
    info: RwLock<ZoneInfo>,
}

impl ManagedZone {
    fn info(&self) -> ZoneInfo {
        *self.info.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, info: ZoneInfo) {
        assert!(info.write_pointer <= info.capacity, "a write pointer lies in its zone");
        assert!(
            info.state != ZoneState::Empty || info.write_pointer == 0,
            "nothing is written in an empty zone"
        );
        assert!(
            info.state != ZoneState::Full || info.write_pointer == info.capacity,
            "a full zone has no room left"
        );
        *self.info.write().unwrap_or_else(PoisonError::into_inner) = info;
    }
}

impl<M: Medium> Zoned<M> {
    /// A device over a medium whose zones have these states, one for each zone of the geometry.
    pub(crate) fn new(medium: M, geometry: Geometry, zones: Vec<ZoneInfo>) -> Self {
        assert_eq!(zones.len(), geometry.zones as usize, "each zone has a state");
        for info in &zones {
            assert!(info.write_pointer <= info.capacity, "a write pointer lies in its zone");
            assert!(
                info.state == ZoneState::Conventional || info.capacity <= geometry.zone_capacity,
                "no zone holds more than the geometry says"
            );
        }
        let limits = Limits::new(&geometry, &zones);
        let zone = |info| ManagedZone { change: Mutex::new(()), info: RwLock::new(info) };
        let zones = zones.into_iter().map(zone).collect();
        let flush_failed = AtomicBool::new(false);
        Zoned { medium, geometry, zones, limits, read_only: false, flush_failed }
    }

    /// The medium below.
    pub(crate) fn medium(&self) -> &M {
        &self.medium
    }

    /// Refuses changes from now on if `read_only` is true.
    pub(crate) fn read_only(self, read_only: bool) -> Self {
        Zoned { read_only, ..self }
    }

    fn check_writable(&self, operation: Operation) -> Result<(), DeviceError> {
        match self.read_only {
            true => Err(DeviceError::ReadOnlyDevice { operation }),
            false => Ok(()),
        }
    }

    fn find(&self, zone: u32) -> Result<&ManagedZone, DeviceError> {
        let zones = self.geometry.zones;
        self.zones.get(zone as usize).ok_or(DeviceError::NoSuchZone { zone, zones })
    }

    /// The error of an append that failed. The kernel has error numbers for a drive at its limits.
    /// This happens if the drive did not tell its limits, or if other commands have opened zones.
    fn refused(&self, zone: u32, offset: u64, source: io::Error) -> DeviceError {
        let limit = |known: Option<u32>| known.unwrap_or_else(|| self.limits.active());
        match Errno::from_io_error(&source) {
            Some(Errno::TOOMANYREFS) => {
                DeviceError::TooManyOpen { zone, limit: limit(self.geometry.max_open) }
            }
            Some(Errno::OVERFLOW) => {
                DeviceError::TooManyActive { zone, limit: limit(self.geometry.max_active) }
            }
            _ => DeviceError::io(Operation::Append, zone, offset, source),
        }
    }

    fn check_aligned(
        &self,
        operation: Operation,
        zone: u32,
        offset: u64,
        bytes: u64,
    ) -> Result<(), DeviceError> {
        let block = self.geometry.block_bytes;
        if (offset | bytes).is_multiple_of(u64::from(block)) {
            return Ok(());
        }
        Err(DeviceError::Unaligned { operation, zone, offset, bytes, block })
    }

    /// Makes a change of a zone, whose state is then expected to be `after`.
    fn change(
        &self,
        zone: u32,
        before: ZoneInfo,
        after: ZoneInfo,
        change: impl FnOnce(&M) -> io::Result<()>,
    ) -> io::Result<()> {
        assert!(!self.read_only, "a device that is open for reading only is changed");
        let result = change(&self.medium);
        let after = match &result {
            Ok(()) => after,
            // The medium may have done part of the change. If it can't report the zone, the old
            // state is kept.
            Err(_) => self.medium.probe(zone).unwrap_or(before),
        };
        self.zones[zone as usize].set(after);
        result
    }

    /// Resets or finishes a zone.
    fn change_state(
        &self,
        operation: Operation,
        zone: u32,
        state: ZoneState,
        change: impl FnOnce(&M) -> io::Result<()>,
    ) -> Result<(), DeviceError> {
        assert!(
            matches!(state, ZoneState::Empty | ZoneState::Full),
            "a zone is reset or finished, and nothing else"
        );
        self.check_writable(operation)?;
        let found = self.find(zone)?;
        let _alone = found.change.lock().unwrap_or_else(PoisonError::into_inner);
        let before = found.info();
        check_state(operation, zone, before.state, true)?;
        if before.state == state {
            return Ok(());
        }
        let write_pointer = if state == ZoneState::Full { before.capacity } else { 0 };
        let after = ZoneInfo { state, write_pointer, ..before };
        let result = self.change(zone, before, after, change);
        if before.state.is_active() && !found.info().state.is_active() {
            self.limits.leave(zone);
        }
        let offset = before.write_pointer;
        result.map_err(|source| DeviceError::io(operation, zone, offset, source))
    }

    fn check_read(&self, zone: u32, offset: u64, bytes: usize) -> Result<(), DeviceError> {
        let bytes = bytes as u64;
        let info = self.find(zone)?.info();
        self.check_aligned(Operation::Read, zone, offset, bytes)?;
        check_state(Operation::Read, zone, info.state, false)?;
        let pointer = info.write_pointer;
        if offset.checked_add(bytes).is_none_or(|end| end > pointer) {
            return Err(DeviceError::ReadBeyondPointer { zone, offset, bytes, pointer });
        }
        Ok(())
    }
}

impl<M: Medium> Device for Zoned<M> {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn report(&self, first: u32, count: u32) -> Result<Vec<ZoneInfo>, DeviceError> {
        self.find(first)?;
        let zones = (first..self.geometry.zones).zip(&self.zones[first as usize..]);
        let seen = |(number, zone): (u32, &ManagedZone)| {
            let info = zone.info();
            ZoneInfo { state: self.limits.seen(number, info.state), ..info }
        };
        let mut zones: Vec<ZoneInfo> = zones.take(count as usize).map(seen).collect();
        self.medium.show(first, &mut zones)?;
        Ok(zones)
    }

    fn append_vectored(
        &self,
        zone: u32,
        at: u64,
        parts: &[IoSlice<'_>],
    ) -> Result<(), DeviceError> {
        self.check_writable(Operation::Append)?;
        let bytes = parts.iter().map(|part| part.len() as u64).sum();
        let found = self.find(zone)?;
        self.check_aligned(Operation::Append, zone, at, bytes)?;
        let _alone = found.change.lock().unwrap_or_else(PoisonError::into_inner);
        let before = found.info();
        check_append(zone, before, at, bytes)?;
        if bytes == 0 {
            return Ok(());
        }
        self.limits.enter(zone, before.state)?;
        let write_pointer = at + bytes;
        let is_full = write_pointer == before.capacity;
        let state = if is_full { ZoneState::Full } else { ZoneState::ImplicitOpen };
        let after = ZoneInfo { state, write_pointer, ..before };
        let result = self.change(zone, before, after, |medium| medium.write(zone, at, parts));
        if !found.info().state.is_active() {
            self.limits.leave(zone);
        }
        result.map_err(|source| self.refused(zone, at, source))
    }

    fn read(&self, zone: u32, offset: u64, buffer: &mut [u8]) -> Result<(), DeviceError> {
        self.check_read(zone, offset, buffer.len())?;
        let failed = |source| DeviceError::io(Operation::Read, zone, offset, source);
        self.medium.read(zone, offset, buffer).map_err(failed)
    }

    fn read_all(&self, reads: &mut [ZoneRead<'_>]) -> Result<(), DeviceError> {
        for read in &*reads {
            self.check_read(read.zone, read.offset, read.buffer.len())?;
        }
        self.medium.read_all(reads).map_err(|(index, source)| {
            let ZoneRead { zone, offset, .. } = reads[index];
            DeviceError::io(Operation::Read, zone, offset, source)
        })
    }

    fn reset(&self, zone: u32) -> Result<(), DeviceError> {
        self.change_state(Operation::Reset, zone, ZoneState::Empty, |medium| medium.reset(zone))
    }

    fn finish(&self, zone: u32) -> Result<(), DeviceError> {
        self.change_state(Operation::Finish, zone, ZoneState::Full, |medium| medium.finish(zone))
    }

    fn flush(&self) -> Result<(), DeviceError> {
        self.check_writable(Operation::Flush)?;
        // The system reports a page that it could not write only once, and then forgets it.
        if self.flush_failed.load(Ordering::Acquire) {
            return Err(DeviceError::FlushFailedBefore);
        }
        self.medium.flush().map_err(|source| {
            self.flush_failed.store(true, Ordering::Release);
            DeviceError::flush(source)
        })
    }

    fn read_other(&self, zone: u32, at: u64, buffer: &mut [u8]) -> Result<bool, DeviceError> {
        self.check_read(zone, at, buffer.len())?;
        self.medium.read_other(zone, at, buffer)
    }

    fn rebuilt_blocks(&self) -> u64 {
        self.medium.rebuilt_blocks()
    }
}

/// Refuses operations that a zone's state does not allow.
pub(crate) fn check_state(
    operation: Operation,
    zone: u32,
    state: ZoneState,
    is_change: bool,
) -> Result<(), DeviceError> {
    match state {
        ZoneState::Offline => Err(DeviceError::OfflineZone { operation, zone }),
        ZoneState::Conventional => Err(DeviceError::ConventionalZone { operation, zone }),
        ZoneState::ReadOnly if is_change => Err(DeviceError::ReadOnlyZone { operation, zone }),
        _ => Ok(()),
    }
}

fn check_append(zone: u32, info: ZoneInfo, at: u64, bytes: u64) -> Result<(), DeviceError> {
    let ZoneInfo { state, write_pointer: pointer, capacity } = info;
    assert!(pointer <= capacity, "the room of a zone is what lies behind its pointer");
    check_state(Operation::Append, zone, state, true)?;
    if state == ZoneState::Full {
        return Err(DeviceError::ZoneFull { zone });
    }
    if at != pointer {
        return Err(DeviceError::NotAtWritePointer { zone, at, pointer });
    }
    if bytes > capacity - at {
        return Err(DeviceError::BeyondCapacity { zone, at, bytes, capacity });
    }
    Ok(())
}
