//! The contract of a zoned device.

use std::io::IoSlice;

use crate::{DeviceError, Geometry, ZoneInfo};

/// A part of a zone, and the buffer that it is read to.
#[derive(Debug)]
pub struct ZoneRead<'a> {
    /// The zone.
    pub zone: u32,
    /// The beginning of the part.
    pub offset: u64,
    /// As many bytes as are read.
    pub buffer: &'a mut [u8],
}

/// A zoned device, shared by any number of threads.
///
/// Offsets and pointers count bytes from the start of their zone; zones are numbered from 0.
/// Offsets and lengths are multiples of [`Geometry::block_bytes`]. Memory may lie anywhere, but
/// devices that bypass the page cache copy memory that is not aligned to [`crate::ALIGNMENT`]: see
/// [`crate::AlignedBuf`].
///
/// Appends to one zone wait for each other; appends to different zones, and reads, do not. A zone
/// is opened by its first write. A device at its limit of open zones closes one of these, so users
/// need not open or close zones. The user must keep the limit of active zones (begun, and neither
/// full nor reset), with [`Device::finish`] and [`Device::reset`].
///
/// Until [`Device::flush`] returns, a crash may undo the latest operations on each zone,
/// independently of other zones: of the operations on a zone, a beginning survives. Unflushed
/// blocks of that beginning may be torn or hold anything, even if later blocks are whole or the
/// zone was finished behind them.
///
/// This also holds for a device that was just opened: its content may have been written by a
/// process that was killed, and not be durable. The first flush makes it durable.
///
/// A device may be open [for reading only](crate::OpenOptions::read_only): then every change and
/// every flush is refused with [`DeviceError::ReadOnlyDevice`].
pub trait Device: Send + Sync {
    /// Shape and limits. They never change.
    fn geometry(&self) -> &Geometry;

    /// The states of up to `count` zones from `first`, fewer at the end of the device.
    ///
    /// # Errors
    /// There is no zone `first`; an I/O error; a crash.
    fn report(&self, first: u32, count: u32) -> Result<Vec<ZoneInfo>, DeviceError>;

    /// The state of one zone.
    ///
    /// # Errors
    /// Those of [`Device::report`].
    fn zone(&self, zone: u32) -> Result<ZoneInfo, DeviceError> {
        let zones = self.geometry().zones;
        let found = self.report(zone, 1)?;
        found.first().copied().ok_or(DeviceError::NoSuchZone { zone, zones })
    }

    /// Writes `data` at `at`, which must be the zone's write pointer.
    ///
    /// # Errors
    /// Those of [`Device::append_vectored`].
    fn append(&self, zone: u32, at: u64, data: &[u8]) -> Result<(), DeviceError> {
        self.append_vectored(zone, at, &[IoSlice::new(data)])
    }

    /// Writes the parts, one behind the other, at `at`, which must be the zone's write pointer.
    /// Only the sum of their lengths must be a multiple of the block size, though aligned parts
    /// save a copy.
    ///
    /// # Errors
    /// The zone's write pointer is not `at`, or the zone has too little room, or is full,
    /// read-only, offline or conventional; too many zones are open or active; `at` or the length is
    /// not aligned; an I/O error, after which the zone's report says how much was written; a crash.
    fn append_vectored(&self, zone: u32, at: u64, parts: &[IoSlice<'_>])
    -> Result<(), DeviceError>;

    /// Fills `buffer` from `offset`. In a zone that was finished early, bytes that were never
    /// written may read as anything, but not as an append that a crash took.
    ///
    /// # Errors
    /// The end of `buffer` lies beyond the write pointer; the zone is offline or conventional;
    /// `offset` or the length is not aligned; an I/O error; a crash.
    fn read(&self, zone: u32, offset: u64, buffer: &mut [u8]) -> Result<(), DeviceError>;

    /// Fills several buffers, side by side if the device can.
    ///
    /// # Errors
    /// Those of [`Device::read`]; which buffers are filled then is not known.
    fn read_all(&self, reads: &mut [ZoneRead<'_>]) -> Result<(), DeviceError> {
        reads.iter_mut().try_for_each(|read| self.read(read.zone, read.offset, read.buffer))
    }

    /// Empties the zone. An empty zone stays as it is.
    ///
    /// # Errors
    /// The zone is read-only, offline or conventional; an I/O error; a crash.
    fn reset(&self, zone: u32) -> Result<(), DeviceError>;

    /// Makes the zone full, wherever its write pointer is. A full zone stays as it is.
    ///
    /// # Errors
    /// Those of [`Device::reset`].
    fn finish(&self, zone: u32) -> Result<(), DeviceError>;

    /// When it returns, all operations that returned before this call are durable, and so is
    /// everything that the device held when it was opened.
    ///
    /// # Errors
    /// An I/O error in this flush or an earlier one: data that an earlier flush could not write may
    /// be lost, so no later flush succeeds; a crash.
    fn flush(&self) -> Result<(), DeviceError>;

    /// Fills `buffer` with what the device can tell of these bytes without reading them where they
    /// lie: what its parity says. False if there is no such copy. It is for readers who know by a
    /// checksum that [`Device::read`] returned wrong bytes; they must compare it with that checksum
    /// too.
    ///
    /// # Errors
    /// Those of [`Device::read`], but for errors of a zone, which mean that there is no copy.
    fn read_other(
        &self,
        _zone: u32,
        _offset: u64,
        _buffer: &mut [u8],
    ) -> Result<bool, DeviceError> {
        Ok(false)
    }

    /// Blocks that could not be read since the device was opened, and whose content was made of
    /// others by parity.
    fn rebuilt_blocks(&self) -> u64 {
        0
    }
}
