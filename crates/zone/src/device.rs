//! The contract of a zoned device.

use std::io::IoSlice;

use crate::{DeviceError, Geometry, ZoneInfo};

/// A zoned device, shared by any number of threads.
///
/// Offsets and pointers count bytes from the start of their zone; zones are numbered from 0.
/// Offsets and lengths are multiples of [`Geometry::block_bytes`]. Memory may lie anywhere, but
/// what is not aligned to [`crate::ALIGNMENT`] is copied by devices that bypass the page cache:
/// see [`crate::AlignedBuf`].
///
/// Appends to one zone wait for each other; appends to different zones, and reads, do not. Zones
/// open when they are written, and a device that reaches its limit of open zones closes one that
/// it opened so: there is nothing to open or close by hand. The limit of active zones (begun and
/// neither full nor reset) is the user's to keep, with [`Device::finish`] and [`Device::reset`].
///
/// Until [`Device::flush`] returns, a crash may undo the latest operations on each zone, of each
/// zone independently: of one zone a beginning of what was done to it survives. Blocks of that
/// beginning that no flush covered may be torn or hold anything, also where later ones are whole or
/// the zone was finished behind them.
///
/// That is so of a device that was just opened, too. What it holds may have been written by a
/// process that was killed, and not be durable; the first flush makes it so.
///
/// A device may be open [for reading only](crate::OpenOptions::read_only): then every change and
/// every flush is refused with [`DeviceError::ReadOnlyDevice`].
pub trait Device: Send + Sync {
    /// Shape and limits. Never changes.
    fn geometry(&self) -> &Geometry;

    /// The states of up to `count` zones from `first`, fewer at the end of the device.
    ///
    /// # Errors
    /// No zone `first`; an I/O error; a crash.
    fn report(&self, first: u32, count: u32) -> Result<Vec<ZoneInfo>, DeviceError>;

    /// The state of one zone.
    ///
    /// # Errors
    /// As for [`Device::report`].
    fn zone(&self, zone: u32) -> Result<ZoneInfo, DeviceError> {
        let zones = self.geometry().zones;
        let found = self.report(zone, 1)?;
        found.first().copied().ok_or(DeviceError::NoSuchZone { zone, zones })
    }

    /// Writes `data` at `at`, which must be the zone's write pointer.
    ///
    /// # Errors
    /// As for [`Device::append_vectored`].
    fn append(&self, zone: u32, at: u64, data: &[u8]) -> Result<(), DeviceError> {
        self.append_vectored(zone, at, &[IoSlice::new(data)])
    }

    /// Writes the parts, one behind the other, at `at`, which must be the zone's write pointer.
    /// Only their sum must be a multiple of the block size, though aligned parts save a copy.
    ///
    /// # Errors
    /// The zone is not at `at`, has too little room, or is full, read-only, offline or
    /// conventional; too many zones are open or active; `at` or the length is not aligned; an I/O
    /// error, after which the zone's report says how much of it was written; a crash.
    fn append_vectored(&self, zone: u32, at: u64, parts: &[IoSlice<'_>])
    -> Result<(), DeviceError>;

    /// Fills `buffer` from `offset`. Of a zone that was finished early, the bytes never written
    /// read as anything.
    ///
    /// # Errors
    /// The end of `buffer` lies beyond the write pointer; the zone is offline or conventional;
    /// `offset` or the length is not aligned; an I/O error; a crash.
    fn read(&self, zone: u32, offset: u64, buffer: &mut [u8]) -> Result<(), DeviceError>;

    /// Empties the zone. Nothing happens to one that is empty.
    ///
    /// # Errors
    /// The zone is read-only, offline or conventional; an I/O error; a crash.
    fn reset(&self, zone: u32) -> Result<(), DeviceError>;

    /// Makes the zone full wherever its write pointer is. Nothing happens to one that is full.
    ///
    /// # Errors
    /// As for [`Device::reset`].
    fn finish(&self, zone: u32) -> Result<(), DeviceError>;

    /// Everything that returned before this call is durable when it returns, and so is everything
    /// that was there when the device was opened.
    ///
    /// # Errors
    /// An I/O error, or one in an earlier flush: what it could not write may be lost, so no later
    /// flush succeeds; a crash.
    fn flush(&self) -> Result<(), DeviceError>;
}
