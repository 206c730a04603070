//! `u32`: little-endian 32-bit page numbers, each a write of one page.
//!
//! There are no times: write `i`, counted from 0, counts as happening after `i + 1` microseconds.
//! The page size is the simulator's.

use crate::error::{Place, TraceError};
use crate::request::{Op, Request};
use crate::sink::Sink;
use crate::source::TraceBytes;

/// Page numbers that are read in one step: 256 KiB, which stays in a core's cache until it is
/// copied.
const CHUNK: usize = 64 << 10;

/// An input file of page numbers.
pub(crate) struct PageNumbers {
    source: TraceBytes,
    buffer: Vec<u32>,
    next: usize,
    filled: usize,
    /// Page numbers taken from the file before those in the buffer.
    before: u64,
    ended: bool,
}

impl PageNumbers {
    pub(crate) fn new(source: TraceBytes) -> PageNumbers {
        let buffer = vec![0; CHUNK];
        PageNumbers { source, buffer, next: 0, filled: 0, before: 0, ended: false }
    }

    pub(crate) fn source(&self) -> &TraceBytes {
        &self.source
    }

    /// The number of page numbers, if it is known in advance.
    pub(crate) fn expected(&self) -> usize {
        self.source.content_size().map_or(0, |bytes| (bytes / 4) as usize)
    }

    /// The next page numbers, at most `most`; none at the end of the file.
    pub(crate) fn lbas(&mut self, most: usize) -> Result<&[u32], TraceError> {
        if self.next == self.filled && !self.ended {
            self.refill()?;
        }
        let begin = self.next;
        self.next += most.min(self.filled - begin);
        Ok(&self.buffer[begin..self.next])
    }

    pub(crate) fn read(&mut self, sink: &mut Sink<'_>) -> Result<(), TraceError> {
        let page_size = u64::from(sink.bounds.page_size());
        while !sink.is_full() {
            let mut time_us = self.before + self.next as u64;
            let lbas = self.lbas(sink.full - sink.requests.len())?;
            if lbas.is_empty() {
                break;
            }
            sink.requests.extend(lbas.iter().map(|&lba| {
                time_us += 1;
                let offset = u64::from(lba) * page_size;
                Request { time_us, offset, length: page_size, volume: 0, op: Op::Write }
            }));
        }
        Ok(())
    }

    fn refill(&mut self) -> Result<(), TraceError> {
        assert_eq!(self.next, self.filled, "all page numbers in the buffer were taken");
        self.before += self.filled as u64;
        let bytes = self.source.fill(bytemuck::cast_slice_mut(&mut self.buffer))?;
        self.ended = bytes < CHUNK * 4;
        if !bytes.is_multiple_of(4) {
            let place = Place::Byte(self.before * 4 + bytes as u64);
            let cause = "its length is not a multiple of 4 bytes".to_owned();
            return Err(TraceError::Truncated { file: self.source.file().into(), place, cause });
        }
        (self.next, self.filled) = (0, bytes / 4);
        for lba in &mut self.buffer[..self.filled] {
            *lba = u32::from_le(*lba);
        }
        Ok(())
    }
}
