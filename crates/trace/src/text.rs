//! Drives the readers of text formats: finds lines, counts them, and adds places to errors.

use crate::cause::Cause;
use crate::digits::SLACK;
use crate::error::{Place, TraceError};
use crate::request::Request;
use crate::sink::Sink;
use crate::source::TraceBytes;
use crate::volumes::Volumes;

/// The longest line accepted, in bytes.
pub(crate) const LONGEST_LINE: usize = 64 << 10;

/// Text held in memory, in bytes; more than two of the longest lines, and within a core's cache.
const BUFFER: usize = 256 << 10;

/// The mark that some programs put at the start of UTF-8 text.
pub(crate) const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The reader of one text format.
pub(crate) trait Lines: Send {
    /// Reads a line, which is not blank and comes without its end; `None` if it is not a request.
    ///
    /// `first` is true for the file's first line, which may be a header.
    fn line(
        &mut self,
        line: &[u8],
        first: bool,
        volumes: &mut Volumes,
    ) -> Result<Option<Request>, Cause>;

    /// Reads ordinary lines fast, and stops before the first other line.
    ///
    /// The first `end` bytes of `text` are whole lines; [`SLACK`] or more bytes follow. Returns the
    /// numbers of bytes and lines read.
    fn ordinary(&mut self, text: &[u8], end: usize, sink: &mut Sink<'_>) -> (usize, u64) {
        let _ = (text, end, sink);
        (0, 0)
    }
}

/// An input file of text.
pub(crate) struct Text {
    source: TraceBytes,
    lines: Box<dyn Lines>,
    buffer: Vec<u8>,
    /// Offsets in the buffer: the next line; below, the end of the last whole line and the end of
    /// the text.
    next: usize,
    whole: usize,
    filled: usize,
    /// Lines read so far.
    taken: u64,
    ended: bool,
}

impl Text {
    pub(crate) fn new(mut source: TraceBytes, lines: Box<dyn Lines>) -> Text {
        source.skip(BYTE_ORDER_MARK);
        let buffer = vec![0; BUFFER + 1 + SLACK];
        Text { source, lines, buffer, next: 0, whole: 0, filled: 0, taken: 0, ended: false }
    }

    pub(crate) fn source(&self) -> &TraceBytes {
        &self.source
    }

    /// Reads lines until the sink is full or the file ends.
    pub(crate) fn read(&mut self, sink: &mut Sink<'_>) -> Result<(), TraceError> {
        while !sink.is_full() {
            if self.next < self.whole {
                self.read_ordinary(sink);
                if self.next < self.whole && !sink.is_full() {
                    self.read_line(sink)?;
                }
            } else if self.ended {
                break;
            } else {
                self.refill()?;
            }
        }
        Ok(())
    }

    fn read_ordinary(&mut self, sink: &mut Sink<'_>) {
        let text = &self.buffer[self.next..self.whole + SLACK];
        let (bytes, lines) = self.lines.ordinary(text, self.whole - self.next, sink);
        self.next += bytes;
        self.taken += lines;
        assert!(self.next <= self.whole, "ordinary lines are whole");
    }

    fn read_line(&mut self, sink: &mut Sink<'_>) -> Result<(), TraceError> {
        let text = &self.buffer[self.next..self.whole];
        let length = memchr::memchr(b'\n', text).unwrap_or(text.len() - 1);
        if length > LONGEST_LINE {
            return Err(self.long_line());
        }
        let line = text[..length].trim_ascii();
        self.taken += 1;
        self.next += length + 1;
        if line.is_empty() {
            return Ok(());
        }
        let placed = |cause: Cause| cause.at(self.source.file(), Place::Line(self.taken));
        let request = self.lines.line(line, self.taken == 1, sink.volumes).map_err(placed)?;
        match request {
            Some(request) => sink.push(request).map_err(placed),
            None => Ok(()),
        }
    }

    /// Moves the incomplete line to the front and reads more text behind it.
    fn refill(&mut self) -> Result<(), TraceError> {
        assert!(self.next >= self.whole && self.whole <= self.filled, "all whole lines were read");
        self.buffer.copy_within(self.whole..self.filled, 0);
        self.filled -= self.whole;
        self.next = 0;
        if self.filled > LONGEST_LINE {
            return Err(self.long_line());
        }
        let room = BUFFER - self.filled;
        let read = self.source.fill(&mut self.buffer[self.filled..BUFFER])?;
        self.filled += read;
        if read < room {
            self.ended = true;
            if self.filled > 0 && self.buffer[self.filled - 1] != b'\n' {
                self.buffer[self.filled] = b'\n';
                self.filled += 1;
            }
        }
        let text = &self.buffer[..self.filled];
        self.whole = memchr::memrchr(b'\n', text).map_or(0, |i| i + 1);
        assert!(self.filled + SLACK <= self.buffer.len(), "a number may be looked past");
        Ok(())
    }

    fn long_line(&self) -> TraceError {
        let file = self.source.file().to_owned();
        TraceError::LongLine { file, place: Place::Line(self.taken + 1), limit: LONGEST_LINE }
    }
}
