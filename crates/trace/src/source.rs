//! The bytes of a trace file: plain, zstd or gzip, recognised by the first bytes.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::compression::Compression;
use crate::error::{Place, TraceError};

/// Bytes of content from which the format is found.
pub(crate) const HEAD: usize = 1 << 20;

/// Bytes per read from the operating system.
const CHUNK: usize = 256 << 10;

/// The decompressed bytes of a file, read once from start to end.
pub(crate) struct TraceBytes {
    file: PathBuf,
    content: Box<dyn Read + Send>,
    compressed: bool,
    consumed: Arc<AtomicU64>,
    size: u64,
    head: Vec<u8>,
    head_taken: usize,
}

impl TraceBytes {
    /// Opens a file and reads its head.
    pub(crate) fn open(path: &Path) -> Result<TraceBytes, TraceError> {
        let (raw, size) = open_file(path)?;
        let consumed = Arc::new(AtomicU64::new(0));
        let counted = CountedReader { raw, consumed: Arc::clone(&consumed) };
        let mut buffered = BufReader::with_capacity(CHUNK, counted);
        let unreadable = |source| TraceError::Unreadable { file: path.to_owned(), source };
        let magic = io::BufRead::fill_buf(&mut buffered).map_err(unreadable)?;
        if magic.is_empty() {
            return Err(TraceError::Empty { file: path.to_owned() });
        }
        let compression = Compression::of(magic);
        let content = compression.decoder(path, buffered)?;
        let mut source = TraceBytes {
            file: path.to_owned(),
            content,
            compressed: compression != Compression::None,
            consumed,
            size,
            head: Vec::new(),
            head_taken: 0,
        };
        source.read_head()?;
        Ok(source)
    }

    fn read_head(&mut self) -> Result<(), TraceError> {
        let mut head = vec![0; HEAD];
        let mut filled = 0;
        while filled < HEAD {
            match self.read_content(&mut head[filled..])? {
                0 => break,
                n => filled += n,
            }
        }
        if filled == 0 {
            return Err(TraceError::Empty { file: self.file.clone() });
        }
        head.truncate(filled);
        self.head = head;
        Ok(())
    }

    /// The file's path as it was given.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// The first [`HEAD`] bytes of content, or all if there are fewer.
    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }

    /// True if the file is compressed.
    pub(crate) fn compressed(&self) -> bool {
        self.compressed
    }

    /// Skips `prefix` if the content begins with it. Call it before content is taken.
    pub(crate) fn skip(&mut self, prefix: &[u8]) {
        debug_assert_eq!(self.head_taken, 0);
        if self.head.starts_with(prefix) {
            self.head_taken = prefix.len();
        }
    }

    /// Bytes of the file (not of its content) read so far.
    pub(crate) fn consumed(&self) -> u64 {
        self.consumed.load(Ordering::Relaxed)
    }

    /// Bytes of content, if they are known in advance.
    pub(crate) fn content_size(&self) -> Option<u64> {
        (!self.compressed).then_some(self.size)
    }

    /// Fills `buf` from the content; fewer bytes only at its end.
    pub(crate) fn fill(&mut self, buf: &mut [u8]) -> Result<usize, TraceError> {
        assert!(self.head_taken <= self.head.len(), "the head comes before the rest");
        let from_head = buf.len().min(self.head.len() - self.head_taken);
        buf[..from_head].copy_from_slice(&self.head[self.head_taken..][..from_head]);
        self.head_taken += from_head;
        let mut filled = from_head;
        while filled < buf.len() {
            match self.read_content(&mut buf[filled..])? {
                0 => break,
                n => filled += n,
            }
        }
        Ok(filled)
    }

    fn read_content(&mut self, buf: &mut [u8]) -> Result<usize, TraceError> {
        loop {
            match self.content.read(buf) {
                Ok(n) => return Ok(n),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(self.failed(e)),
            }
        }
    }

    fn failed(&self, source: io::Error) -> TraceError {
        let file = self.file.clone();
        let place = Place::Byte(self.consumed());
        if !self.compressed {
            TraceError::Unreadable { file, source }
        } else if source.kind() == io::ErrorKind::UnexpectedEof {
            let cause = "the compressed stream ends early".to_owned();
            TraceError::Truncated { file, place, cause }
        } else {
            TraceError::Damaged { file, place, cause: source.to_string() }
        }
    }
}

/// Opens a file for reading, and returns its size in bytes.
pub(crate) fn open_file(path: &Path) -> Result<(File, u64), TraceError> {
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => TraceError::Missing { file: path.to_owned() },
        _ => TraceError::Unreadable { file: path.to_owned(), source },
    };
    let file = File::open(path).map_err(failed)?;
    let meta = file.metadata().map_err(failed)?;
    if meta.is_dir() {
        return Err(TraceError::Directory { file: path.to_owned() });
    }
    Ok((file, meta.len()))
}

/// Counts the bytes that pass.
struct CountedReader<R> {
    raw: R,
    consumed: Arc<AtomicU64>,
}

impl<R: Read> Read for CountedReader<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.raw.read(buf)?;
        self.consumed.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}
