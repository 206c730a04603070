//! redb's file, past the page cache.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use frostline_zone::{ALIGNMENT, AlignedBuf};
use redb::StorageBackend;
use rustix::fs::OFlags;

const BLOCK: u64 = ALIGNMENT as u64;

/// A file that is read and written past the page cache, in whole blocks. What is not a whole block
/// is read, changed and written, which the file's only user must not do from two threads to the
/// same block.
#[derive(Debug)]
pub struct DirectFile(File);

impl DirectFile {
    /// Opens the file, which is made if there is none.
    ///
    /// # Errors
    /// Its file system can't bypass the page cache.
    pub fn open(path: &Path) -> io::Result<DirectFile> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true);
        options.custom_flags(OFlags::DIRECT.bits() as i32);
        Ok(DirectFile(options.open(path)?))
    }

    /// The blocks that hold `len` bytes from `offset`, and where the first of them begins.
    fn blocks(&self, offset: u64, len: usize) -> io::Result<(u64, AlignedBuf)> {
        let (first, buffer) = room(offset, len);
        let mut buffer = buffer;
        let mut done = 0;
        while done < buffer.len() {
            match self.0.read_at(&mut buffer[done..], first + done as u64)? {
                0 => break,
                read => done += read,
            }
        }
        Ok((first, buffer))
    }
}

/// Room for the blocks that hold `len` bytes from `offset`, and where the first of them begins.
fn room(offset: u64, len: usize) -> (u64, AlignedBuf) {
    let first = offset / BLOCK * BLOCK;
    let end = (offset + len as u64).next_multiple_of(BLOCK);
    (first, AlignedBuf::zeroed((end - first) as usize))
}

impl StorageBackend for DirectFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        if offset + out.len() as u64 > self.len()? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let (first, blocks) = self.blocks(offset, out.len())?;
        out.copy_from_slice(&blocks[(offset - first) as usize..][..out.len()]);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let whole = offset.is_multiple_of(BLOCK) && data.len().is_multiple_of(ALIGNMENT);
        let (first, mut blocks) =
            if whole { room(offset, data.len()) } else { self.blocks(offset, data.len())? };
        blocks[(offset - first) as usize..][..data.len()].copy_from_slice(data);
        self.0.write_all_at(&blocks, first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_blocks_are_written_beside_what_is_there() {
        let directory = tempfile::tempdir().unwrap();
        let file = DirectFile::open(&directory.path().join("file")).unwrap();
        file.set_len(4 * BLOCK).unwrap();
        file.write(BLOCK, &[1; 4096]).unwrap();
        file.write(BLOCK + 100, &[2; 5000]).unwrap();
        let mut found = vec![9; 6000];
        file.read(BLOCK + 50, &mut found).unwrap();
        assert!(found[..50].iter().all(|byte| *byte == 1));
        assert!(found[50..5050].iter().all(|byte| *byte == 2));
        assert!(found[5050..].iter().all(|byte| *byte == 0));
        assert!(file.read(4 * BLOCK - 10, &mut [0; 11]).is_err());
    }
}
