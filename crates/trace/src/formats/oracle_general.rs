//! `oracle-general`: the binary traces of libCacheSim.
//!
//! Packed little-endian records of 24 bytes: `u32` seconds, `u64` object, `u32` bytes, `i64` record
//! of the object's next access (-1 for none). An object is taken for a number of units: pages, or
//! the unit that is given. Each record is taken for a write of its bytes from that unit's start,
//! because records do not distinguish reads from writes.

use std::path::Path;

use crate::error::{Place, TraceError};
use crate::request::{Op, Request};
use crate::sink::Sink;
use crate::source::TraceBytes;

/// Bytes in a record.
pub(crate) const RECORD: usize = 24;

/// Records that are read in one step.
const CHUNK: usize = 8192;

/// The used fields of a record.
pub(crate) struct OracleRequest {
    pub(crate) seconds: u32,
    pub(crate) object: u64,
    pub(crate) bytes: u32,
    pub(crate) next: i64,
}

impl OracleRequest {
    /// Decodes a record.
    #[inline]
    pub(crate) fn new(bytes: &[u8; RECORD]) -> OracleRequest {
        let u32_at = |at| u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let u64_at = |at| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        OracleRequest {
            seconds: u32_at(0),
            object: u64_at(4),
            bytes: u32_at(12),
            next: u64_at(16).cast_signed(),
        }
    }
}

/// An input file of records.
pub(crate) struct ObjectRequests {
    source: TraceBytes,
    /// Bytes in the unit of object numbers.
    unit: u32,
    buffer: Vec<u8>,
    next: usize,
    filled: usize,
    taken: u64,
    ended: bool,
}

impl ObjectRequests {
    pub(crate) fn new(source: TraceBytes, unit: u32) -> ObjectRequests {
        let buffer = vec![0; CHUNK * RECORD];
        ObjectRequests { source, unit, buffer, next: 0, filled: 0, taken: 0, ended: false }
    }

    pub(crate) fn source(&self) -> &TraceBytes {
        &self.source
    }

    pub(crate) fn read(&mut self, sink: &mut Sink<'_>) -> Result<(), TraceError> {
        while !sink.is_full() {
            if self.next == self.filled {
                if self.ended {
                    break;
                }
                self.filled = self.source.fill(&mut self.buffer)?;
                self.ended = self.filled < self.buffer.len();
                self.next = 0;
                continue;
            }
            self.taken += 1;
            let Some(record) = self.buffer[self.next..self.filled].first_chunk() else {
                return Err(cut_short(self.source.file(), self.taken));
            };
            self.next += RECORD;
            let OracleRequest { seconds, object, bytes, .. } = OracleRequest::new(record);
            let request = Request {
                time_us: u64::from(seconds) * 1_000_000,
                // If the product saturates, the object is still beyond the last LBA.
                offset: object.saturating_mul(u64::from(self.unit)),
                length: u64::from(bytes),
                volume: 0,
                op: Op::Write,
            };
            let placed =
                |c: crate::cause::Cause| c.at(self.source.file(), Place::Record(self.taken));
            sink.push(request).map_err(placed)?;
        }
        Ok(())
    }
}

fn cut_short(file: &Path, record: u64) -> TraceError {
    let cause = format!("a record has {RECORD} bytes");
    TraceError::Truncated { file: file.to_owned(), place: Place::Record(record), cause }
}
