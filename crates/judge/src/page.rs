//! A page of the device, and the head of pages that describe other pages.

use frostline_zone::Device;

use crate::Undecided;

/// Bytes in a page.
pub(crate) const PAGE: usize = 4096;
/// Bytes of a head.
pub(crate) const HEAD: usize = 72;

/// The bytes of a page.
pub(crate) struct MetaPage(Vec<u8>);

/// The fields that all heads have, with the names of docs/recovery.md.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageHead {
    pub kind: u32,
    pub store: u64,
    pub seq: u64,
    pub zone: u32,
    pub page: u32,
}

/// The other fields of a chunk's head.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkHead {
    pub records: u32,
    /// In units.
    pub header: u32,
    pub pages: u32,
    pub first: u32,
    pub opening: u64,
    pub durable: u64,
}

/// The other fields of the head of a record of the metadata log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogHead {
    pub rows: u32,
    pub payload: u32,
    pub sum: u32,
}

impl MetaPage {
    /// Reads a page of a zone; `None` if it is not before the write pointer.
    pub(crate) fn read(
        device: &dyn Device,
        zone: u32,
        page: u32,
    ) -> Result<Option<MetaPage>, Undecided> {
        Ok(read(device, zone, page, 1)?.map(MetaPage))
    }

    pub(crate) fn u32(&self, at: usize) -> u32 {
        u32_at(&self.0, at)
    }

    pub(crate) fn u64(&self, at: usize) -> u64 {
        u64_at(&self.0, at)
    }

    /// The head of the page; `None` if the page is damaged or does not describe other pages.
    pub(crate) fn head(&self) -> Option<PageHead> {
        let whole = self.0[..4] == *b"FRST" && self.u32(4) == crc32c::crc32c(&self.0[8..]);
        whole.then(|| PageHead {
            kind: self.u32(8),
            store: self.u64(16),
            seq: self.u64(24),
            zone: self.u32(32),
            page: self.u32(36),
        })
    }

    pub(crate) fn chunk_head(&self) -> ChunkHead {
        ChunkHead {
            records: self.u32(40) & 0xffff,
            header: self.u32(40) >> 16,
            pages: self.u32(44),
            first: self.u32(48),
            opening: self.u64(56),
            durable: self.u64(64),
        }
    }

    pub(crate) fn log_head(&self) -> LogHead {
        LogHead { rows: self.u32(40), payload: self.u32(44), sum: self.u32(52) }
    }

    /// Of a table: number of the part, number of parts, bytes of all.
    pub(crate) fn table_part(&self) -> (u32, u64, u64) {
        (self.u32(48), self.u64(56), self.u64(64))
    }

    /// Of notes: all chunks up to this number were durable.
    pub(crate) fn chunks_durable(&self) -> u64 {
        self.u64(56)
    }
}

/// Reads `pages` pages of a zone; `None` unless all of them are before the write pointer.
pub(crate) fn read(
    device: &dyn Device,
    zone: u32,
    page: u32,
    count: u32,
) -> Result<Option<Vec<u8>>, Undecided> {
    let (from, bytes) = (u64::from(page) * PAGE as u64, count as usize * PAGE);
    if from + bytes as u64 > device.zone(zone)?.write_pointer {
        return Ok(None);
    }
    let mut buffer = vec![0; bytes];
    device.read(zone, from, &mut buffer)?;
    Ok(Some(buffer))
}

/// The place of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// CheckpointZone of the device.
    pub zone: u32,
    /// The opening of the zone that the checkpoint knows; of a later record none.
    pub opening: Option<u64>,
    /// First byte in the zone, and the number of bytes.
    pub at: u64,
    pub bytes: u32,
    /// CRC-32C of these bytes.
    pub sum: u32,
}

/// The bytes of a record; `None` if they are not before the write pointer.
pub(crate) fn bytes_of(device: &dyn Device, place: Place) -> Result<Option<Vec<u8>>, Undecided> {
    let Place { zone, at, bytes, .. } = place;
    let (page, skip) = ((at / PAGE as u64) as u32, at as usize % PAGE);
    let pages = (skip + bytes as usize).div_ceil(PAGE);
    let mut read = read(device, zone, page, pages as u32)?;
    if let Some(read) = &mut read {
        read.truncate(skip + bytes as usize);
        read.drain(..skip);
    }
    Ok(read)
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
