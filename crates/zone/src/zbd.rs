//! `zbd:/dev/...`: a zoned block device, with the kernel's zone commands and without the page
//! cache. It is opened exclusively, so it must not be mounted.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::OFlags;

use crate::queue::queue_limits;
use crate::side_by_side::{self, FileRead};
use crate::waiting::when_free;
use crate::zone_ioctl::{self, BlkZone, Range};
use crate::zoned::{Medium, Zoned};
use crate::{Device, DeviceError, Geometry, ZoneInfo, ZoneRead, ZoneState, positional};

const SECTOR: u64 = 512;

/// Opens a zoned block device.
///
/// # Errors
/// It is in use; it has no zones; it can't be opened for reading, or for writing unless
/// `read_only`.
pub(crate) fn open(path: &Path, read_only: bool) -> Result<Arc<dyn Device>, DeviceError> {
    let failed = |source| DeviceError::open(path, source);
    let flags = (OFlags::DIRECT | OFlags::EXCL).bits() as i32;
    let mut options = OpenOptions::new();
    options.read(true).write(!read_only).custom_flags(flags);
    let file = when_free(|| options.open(path).map_err(failed))?;
    let zone_sectors = zone_ioctl::zone_sectors(&file).unwrap_or(0);
    if zone_sectors == 0 {
        let why = "it has no zones".into();
        return Err(DeviceError::NotADevice { path: path.to_owned(), why });
    }
    let zone_bytes = u64::from(zone_sectors) * SECTOR;
    let zones = scan(&file, zone_bytes).map_err(failed)?;
    let queue = queue_limits(file.metadata().map_err(failed)?.rdev());
    let is_conventional = |zone: &ZoneInfo| zone.state == ZoneState::Conventional;
    let sequential = zones.iter().filter(|zone| !is_conventional(zone));
    let conventional = (0..).zip(&zones).filter(|(_, zone)| is_conventional(zone));
    let geometry = Geometry {
        zones: zones.len() as u32,
        block_bytes: queue.write_bytes.unwrap_or(4096),
        zone_bytes,
        zone_capacity: sequential.map(|zone| zone.capacity).max().unwrap_or(0),
        max_open: queue.max_open,
        max_active: queue.max_active,
        conventional: conventional.map(|(number, _)| number).collect(),
        parity: None,
    };
    let drive = Drive { file, zone_bytes, block_bytes: geometry.block_bytes };
    Ok(Arc::new(Zoned::new(drive, geometry, zones).read_only(read_only)))
}

struct Drive {
    file: File,
    zone_bytes: u64,
    block_bytes: u32,
}

impl Drive {
    fn start(&self, zone: u32) -> u64 {
        u64::from(zone) * self.zone_bytes
    }

    fn range(&self, zone: u32) -> Range {
        Range { sector: self.start(zone) / SECTOR, sectors: self.zone_bytes / SECTOR }
    }
}

impl Medium for Drive {
    fn write(&self, zone: u32, at: u64, parts: &[IoSlice<'_>]) -> io::Result<()> {
        let place = self.start(zone) + at;
        positional::write_all(&self.file, place, parts, Some(self.block_bytes))
    }

    fn read(&self, zone: u32, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let place = self.start(zone) + offset;
        positional::read_exact(&self.file, place, buffer, Some(self.block_bytes))
    }

    fn read_all(&self, reads: &mut [ZoneRead<'_>]) -> Result<(), (usize, io::Error)> {
        let mut placed = Vec::with_capacity(reads.len());
        for ZoneRead { zone, offset, buffer } in reads {
            placed.push(FileRead { file: &self.file, at: self.start(*zone) + *offset, buffer });
        }
        side_by_side::read_all(&mut placed, Some(self.block_bytes))
    }

    fn reset(&self, zone: u32) -> io::Result<()> {
        Ok(zone_ioctl::reset(&self.file, self.range(zone))?)
    }

    fn finish(&self, zone: u32) -> io::Result<()> {
        Ok(zone_ioctl::finish(&self.file, self.range(zone))?)
    }

    fn flush(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    fn probe(&self, zone: u32) -> io::Result<ZoneInfo> {
        let (zones, has_capacity) = zone_ioctl::report(&self.file, self.range(zone).sector)?;
        let found = zones.first().ok_or(io::ErrorKind::NotFound)?;
        Ok(info(found, has_capacity))
    }
}

/// All zones of a device.
fn scan(file: &File, zone_bytes: u64) -> io::Result<Vec<ZoneInfo>> {
    let count = zone_ioctl::zones(file)? as usize;
    let mut all = Vec::with_capacity(count);
    while all.len() < count {
        let sector = all.len() as u64 * zone_bytes / SECTOR;
        let (zones, has_capacity) = zone_ioctl::report(file, sector)?;
        if zones.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        all.extend(zones.iter().map(|zone| info(zone, has_capacity)));
    }
    all.truncate(count);
    Ok(all)
}

/// A zone in this crate's terms. A zone also counts as sequential if the drive only prefers
/// sequential writes.
fn info(zone: &BlkZone, has_capacity: bool) -> ZoneInfo {
    let capacity = SECTOR * if has_capacity { zone.capacity } else { zone.len };
    let state = match zone.condition {
        _ if zone.kind == 1 => ZoneState::Conventional,
        1 => ZoneState::Empty,
        3 => ZoneState::ExplicitOpen,
        4 => ZoneState::Closed,
        13 => ZoneState::ReadOnly,
        14 => ZoneState::Full,
        15 => ZoneState::Offline,
        // 2, and 255 from kernels that only know that the zone is active.
        _ => ZoneState::ImplicitOpen,
    };
    let write_pointer = match state {
        ZoneState::Full => capacity,
        ZoneState::Empty | ZoneState::Offline | ZoneState::Conventional => 0,
        _ => (zone.write_pointer.saturating_sub(zone.start) * SECTOR).min(capacity),
    };
    ZoneInfo { state, write_pointer, capacity }
}
