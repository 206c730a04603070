//! A file for the Parquet library that refuses ranges beyond the file's end.
//!
//! Before it reads, the library reserves memory for the sizes in the metadata; damaged metadata
//! could ask for any amount.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};

/// A file and its size in bytes.
pub(crate) struct BoundedFile {
    file: File,
    size: u64,
}

impl BoundedFile {
    pub(crate) fn new(file: File, size: u64) -> BoundedFile {
        BoundedFile { file, size }
    }

    /// True if the last bytes are those of a Parquet file.
    pub(crate) fn ends_as_parquet(&self) -> bool {
        let mut last = [0; 4];
        let mut file = &self.file;
        let read = file.seek(SeekFrom::End(-4)).and_then(|_| file.read_exact(&mut last));
        read.is_ok() && self.size >= 12 && &last == b"PAR1"
    }
}

impl Length for BoundedFile {
    fn len(&self) -> u64 {
        self.size
    }
}

impl ChunkReader for BoundedFile {
    type T = BufReader<File>;

    fn get_read(&self, start: u64) -> Result<BufReader<File>, ParquetError> {
        self.file.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let end = start.checked_add(length as u64);
        if end.is_none_or(|end| end > self.size) {
            let cause = format!("{length} bytes at byte {start} are beyond the file's end");
            return Err(ParquetError::EOF(cause));
        }
        self.file.get_bytes(start, length)
    }
}
