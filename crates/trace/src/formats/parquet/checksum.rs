//! Checksums over the content of a `parquet` trace, because the library writes none for its pages.
//!
//! CRC-32C over all requests, over all hotness records, over the bytes of pages, over the kinds of
//! records, and over what follows in requests. They are in the file's key-value metadata, and
//! compared when the last row has been read.

use frostline_placement::Hotness;

use crate::hotness::values;
use crate::kinds::RecordKind;
use crate::request::{Op, Request};

/// The name of the checksum of requests in a file's metadata.
pub(crate) const OF_REQUESTS: &str = "frostline.crc32c";

/// The name of the checksum of hotness records.
pub(crate) const OF_HOTNESS: &str = "frostline.hotness.crc32c";

/// The name of the checksum of the bytes of pages.
pub(crate) const OF_BYTES: &str = "frostline.bytes.crc32c";

/// The name of the checksum of the kinds of records.
pub(crate) const OF_KINDS: &str = "frostline.delta.crc32c";

/// The name of the checksum of what follows in requests.
pub(crate) const OF_FOLLOWING: &str = "frostline.following.crc32c";

/// A running checksum.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Checksum(u32);

impl Checksum {
    /// Adds a request of the volume with this name.
    pub(crate) fn add_request(&mut self, request: &Request, volume: &str) {
        let op = match request.op {
            Op::Read => 0,
            Op::Write => 1,
            Op::Trim => 2,
            Op::Sync => 3,
            Op::Merge => 4,
        };
        let Request { time_us, offset, length, .. } = *request;
        // The length of the name is included, so that different rows never give the same bytes.
        let numbers = [time_us, offset, length, op, volume.len() as u64];
        self.add(bytemuck::cast_slice(&numbers.map(u64::to_le)));
        self.add(volume.as_bytes());
    }

    /// Adds the hotness record of a request.
    pub(crate) fn add_hotness(&mut self, record: &Hotness) {
        self.add(bytemuck::cast_slice(&values(record).map(u32::to_le)));
    }

    /// Adds the bytes of the pages of a request.
    pub(crate) fn add_bytes(&mut self, bytes: u16) {
        self.add(&bytes.to_le_bytes());
    }

    /// Adds the kind of a request's record.
    pub(crate) fn add_kind(&mut self, kind: RecordKind) {
        self.add(&[kind as u8]);
    }

    /// Adds the pages that follow a request's own in later rows.
    pub(crate) fn add_following(&mut self, following: u8) {
        self.add(&[following]);
    }

    /// The checksum as text, for the metadata.
    pub(crate) fn text(self) -> String {
        format!("{:08x}", self.0)
    }

    fn add(&mut self, bytes: &[u8]) {
        self.0 = crc32c::crc32c_append(self.0, bytes);
    }
}
