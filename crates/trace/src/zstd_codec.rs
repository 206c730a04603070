//! The zstd compressor and decompressor of trace files.

use std::fs::File;
use std::io::{self, BufRead, Read};
use std::path::Path;

use crate::encoder::Encoder;
use crate::error::TraceError;
use crate::output::unwritable;

/// The largest accepted window, as a power of two: the largest that zstd can make. Its memory is
/// reserved from a frame's header but touched only as content arrives.
const WINDOW_LOG_MAX: u32 = 31;

/// The decompressed bytes of the file at `path`.
pub(crate) fn decoder(
    path: &Path,
    bytes: impl BufRead + Send + 'static,
) -> Result<Box<dyn Read + Send>, TraceError> {
    let unreadable = |source| TraceError::Unreadable { file: path.to_owned(), source };
    let mut decoder = zstd::stream::read::Decoder::with_buffer(bytes).map_err(unreadable)?;
    decoder.window_log_max(WINDOW_LOG_MAX).map_err(unreadable)?;
    Ok(Box::new(decoder))
}

/// Compresses into a file that will get the name `to`, with a checksum.
pub(crate) fn encoder(to: &Path, file: File) -> Result<Box<dyn Encoder>, TraceError> {
    let level = zstd::DEFAULT_COMPRESSION_LEVEL;
    let encoder = zstd::stream::write::Encoder::new(file, level);
    let mut encoder = encoder.map_err(|e| unwritable(to, &e))?;
    encoder.include_checksum(true).map_err(|e| unwritable(to, &e))?;
    Ok(Box::new(encoder))
}

impl Encoder for zstd::stream::write::Encoder<'static, File> {
    fn finish(self: Box<Self>) -> io::Result<()> {
        (*self).finish().map(drop)
    }
}
