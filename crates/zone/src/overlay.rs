//! An overlay: keeps changes in memory, and leaves the device below unchanged.

use std::io::{self, IoSlice};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crate::zoned::{Medium, Zoned, read_one_by_one};
use crate::{Device, DeviceError, Geometry, ZoneInfo, ZoneRead, ZoneState};

/// A copy-on-write view of another device: reads come from the device, while appends, resets and
/// finishes happen only in memory and are gone when the view is dropped. So code that repairs a
/// device when it opens it, like recovery, can run on a device that must not change: to look at it,
/// or to try what would happen.
///
/// Zones that are read-only below can be written here; offline zones stay offline. The view takes
/// memory for the bytes appended to zones since their last reset, at most `most_bytes`; an append
/// beyond that fails. The device below must not be changed meanwhile.
///
/// ```
/// use frostline_zone::{Device, Overlay, Shape, in_memory};
///
/// let below = in_memory(&Shape { bytes: 4 << 20, ..Shape::default() })?;
/// below.append(0, 0, &[1; 4096])?;
/// let view = Overlay::over(below.clone(), 1 << 20)?;
/// view.append(0, 4096, &[2; 4096])?;
/// view.reset(0)?;
/// assert_eq!((view.zone(0)?.write_pointer, below.zone(0)?.write_pointer), (0, 4096));
/// # Ok::<(), frostline_zone::DeviceError>(())
/// ```
pub struct Overlay {
    below: Arc<dyn Device>,
    zones: Box<[RwLock<OverlaidZone>]>,
    /// Bytes in memory; below, the largest number of them.
    bytes: AtomicU64,
    most_bytes: u64,
}

/// A zone: the length of the part that is below, and the bytes appended here.
struct OverlaidZone {
    below: u64,
    here: Vec<u8>,
}

impl Overlay {
    /// A view of a device, without changes.
    ///
    /// # Errors
    /// The device below can't report its zones.
    pub fn over(below: Arc<dyn Device>, most_bytes: u64) -> Result<Arc<dyn Device>, DeviceError> {
        let geometry: Geometry = below.geometry().clone();
        let zones: Vec<_> = below.report(0, geometry.zones)?.into_iter().map(writable).collect();
        let zone = |info: &ZoneInfo| OverlaidZone { below: info.write_pointer, here: Vec::new() };
        let overlay = Overlay {
            below,
            zones: zones.iter().map(zone).map(RwLock::new).collect(),
            bytes: AtomicU64::new(0),
            most_bytes,
        };
        Ok(Arc::new(Zoned::new(overlay, geometry, zones)))
    }

    /// Reserves memory for appended bytes.
    fn take(&self, bytes: u64) -> io::Result<()> {
        let most = self.most_bytes;
        let enough = |taken: u64| taken.checked_add(bytes).filter(|&all| all <= most);
        let taken = self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, enough);
        taken.map(drop).map_err(|_| {
            let what = format!("no more than {most} bytes of changes may be in memory");
            io::Error::new(io::ErrorKind::OutOfMemory, what)
        })
    }
}

/// The state of a zone in the view: a read-only zone can be written in memory.
fn writable(info: ZoneInfo) -> ZoneInfo {
    let state = match info.state {
        ZoneState::ReadOnly if info.write_pointer == 0 => ZoneState::Empty,
        ZoneState::ReadOnly if info.write_pointer == info.capacity => ZoneState::Full,
        ZoneState::ReadOnly => ZoneState::Closed,
        state => state,
    };
    ZoneInfo { state, ..info }
}

impl Medium for Overlay {
    fn write(&self, zone: u32, at: u64, parts: &[IoSlice<'_>]) -> io::Result<()> {
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        let mut zone = self.zones[zone as usize].write().unwrap_or_else(PoisonError::into_inner);
        let written = zone.below + zone.here.len() as u64;
        assert_eq!(written, at, "a zone is written at its write pointer");
        self.take(bytes as u64)?;
        // Memory is reserved, so that a refusal is an error; growing without asking would abort.
        zone.here.try_reserve(bytes).inspect_err(|_| {
            self.bytes.fetch_sub(bytes as u64, Ordering::Relaxed);
        })?;
        parts.iter().for_each(|part| zone.here.extend_from_slice(part));
        Ok(())
    }

    fn read(&self, number: u32, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let zone = self.zones[number as usize].read().unwrap_or_else(PoisonError::into_inner);
        let below = zone.below.saturating_sub(offset).min(buffer.len() as u64) as usize;
        let (old, new) = buffer.split_at_mut(below);
        if !old.is_empty() {
            self.below.read(number, offset, old).map_err(cause)?;
        }
        // If the zone was finished behind the last append, `offset` may be behind that append.
        let from = (offset + below as u64 - zone.below.min(offset + below as u64)) as usize;
        let there = zone.here.get(from..).unwrap_or_default();
        let (written, rest) = new.split_at_mut(there.len().min(new.len()));
        written.copy_from_slice(&there[..written.len()]);
        rest.fill(0);
        Ok(())
    }

    fn read_all(&self, reads: &mut [ZoneRead<'_>]) -> Result<(), (usize, io::Error)> {
        let is_below = |read: &ZoneRead<'_>| {
            let zone =
                self.zones[read.zone as usize].read().unwrap_or_else(PoisonError::into_inner);
            read.offset + read.buffer.len() as u64 <= zone.below
        };
        if reads.iter().all(is_below) && self.below.read_all(reads).is_ok() {
            return Ok(());
        }
        // This also tells which can't be read.
        read_one_by_one(self, reads)
    }

    fn reset(&self, zone: u32) -> io::Result<()> {
        let mut zone = self.zones[zone as usize].write().unwrap_or_else(PoisonError::into_inner);
        let freed = std::mem::take(&mut zone.here);
        zone.below = 0;
        let held = self.bytes.fetch_sub(freed.len() as u64, Ordering::Relaxed);
        assert!(freed.len() as u64 <= held, "the bytes of all zones are counted");
        Ok(())
    }

    fn finish(&self, _zone: u32) -> io::Result<()> {
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn read_other(&self, number: u32, at: u64, buffer: &mut [u8]) -> Result<bool, DeviceError> {
        let zone = self.zones[number as usize].read().unwrap_or_else(PoisonError::into_inner);
        match at + buffer.len() as u64 <= zone.below {
            true => self.below.read_other(number, at, buffer),
            false => Ok(false),
        }
    }

    fn rebuilt_blocks(&self) -> u64 {
        self.below.rebuilt_blocks()
    }

    /// Only a write can fail, and then it has done nothing.
    fn probe(&self, number: u32) -> io::Result<ZoneInfo> {
        let zone = self.zones[number as usize].read().unwrap_or_else(PoisonError::into_inner);
        let write_pointer = zone.below + zone.here.len() as u64;
        let state = if write_pointer == 0 { ZoneState::Empty } else { ZoneState::Closed };
        let capacity = self.below.zone(number).map_err(cause)?.capacity;
        Ok(ZoneInfo { state, write_pointer, capacity })
    }
}

/// The error of the device below, as an error of the system.
fn cause(error: DeviceError) -> io::Error {
    match error {
        DeviceError::Io { source, .. } => source,
        other => io::Error::other(other),
    }
}
