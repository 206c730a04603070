//! A file that is written through a compressor, or through none.

use std::fs::File;
use std::io::{self, Write};

/// A file that is written through a compressor, or through none.
pub(crate) trait Encoder: Write {
    /// Writes what the compressor still holds.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

impl Encoder for File {
    fn finish(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }
}
