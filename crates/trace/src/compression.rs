//! The compression of an input file, recognised by its first bytes.

use std::io::{BufRead, Read};
use std::path::Path;

use crate::error::TraceError;
use crate::zstd_codec;

/// The compressions that are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    /// The compression of a file with these first bytes.
    pub(crate) fn of(bytes: &[u8]) -> Compression {
        match bytes {
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
            // A skippable frame, which pzstd and seekable zstd put first.
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Compression::Zstd,
            // Reserved flags are clear, and the level and system have valid values: page number
            // 559,903 begins like gzip, so the magic number alone is not enough.
            [0x1f, 0x8b, 8, flags, _, _, _, _, 0 | 2 | 4, 0..=13 | 255, ..]
                if flags & 0xe0 == 0 =>
            {
                Compression::Gzip
            }
            _ => Compression::None,
        }
    }

    /// The decompressed bytes of the file at `path`.
    pub(crate) fn decoder(
        self,
        path: &Path,
        bytes: impl BufRead + Send + 'static,
    ) -> Result<Box<dyn Read + Send>, TraceError> {
        match self {
            Compression::None => Ok(Box::new(bytes)),
            Compression::Gzip => Ok(Box::new(flate2::bufread::MultiGzDecoder::new(bytes))),
            Compression::Zstd => zstd_codec::decoder(path, bytes),
        }
    }
}
