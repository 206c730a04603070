//! An output file, with or without a compressor.

use std::fs::File;
use std::io::{self, Write};

/// An output file, with or without a compressor.
pub(crate) trait Encoder: Write {
    /// Writes what the compressor still holds.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

impl Encoder for File {
    fn finish(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }
}
