//! The bytes below zones that are ranges: an ordinary drive, or a file.

use std::fs::{self, File, Metadata};
use std::io::{self, IoSlice, Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(target_os = "linux")]
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

#[cfg(target_os = "linux")]
use super::{discard_ioctl, rings::Rings};
use crate::AlignedBuf;
use crate::files::allocate;
use crate::geometry::BLOCK_BYTES;
use crate::positional;
#[cfg(target_os = "linux")]
use crate::queue::write_streams;
use crate::side_by_side::{self, FileRead};

/// A range of bytes that can be written anywhere. What was not synced may be lost in a power cut,
/// sector by sector and in any order.
pub(super) trait Disk: Send + Sync {
    fn read(&self, at: u64, buffer: &mut [u8]) -> io::Result<()>;
    /// Fills several buffers, each from its place; on an error, says which could not be filled.
    fn read_all(&self, reads: &mut [(u64, &mut [u8])]) -> Result<(), (usize, io::Error)> {
        for (index, (at, buffer)) in reads.iter_mut().enumerate() {
            self.read(*at, buffer).map_err(|error| (index, error))?;
        }
        Ok(())
    }
    /// Writes in a stream; in none if it is 0.
    fn write(&self, at: u64, parts: &[IoSlice<'_>], stream: u8) -> io::Result<()>;
    /// Tells the drive that the bytes of a range are not needed: they may read as anything then.
    fn discard(&self, at: u64, bytes: u64) -> io::Result<()>;
    /// Makes zeroes of a range.
    fn clear(&self, at: u64, bytes: u64) -> io::Result<()> {
        self.write_zeroes(at, bytes)
    }
    /// The same, where there is no shorter way.
    fn write_zeroes(&self, at: u64, bytes: u64) -> io::Result<()> {
        const MOST: u64 = 1 << 20;
        let zeroes = AlignedBuf::zeroed(bytes.min(MOST) as usize);
        for done in (0..bytes).step_by(MOST as usize) {
            let part = &zeroes[..(bytes - done).min(MOST) as usize];
            self.write(at + done, &[IoSlice::new(part)], 0)?;
        }
        Ok(())
    }
    /// Has room for a range of a file, so that a write there needs no more: an error says that
    /// there is none. Other refusals mean that the file system can't do it.
    fn reserve(&self, _at: u64, _bytes: u64) -> io::Result<()> {
        Ok(())
    }
    /// Makes a file longer, with zeroes, or shorter.
    fn set_len(&self, bytes: u64) -> io::Result<()>;
    /// Makes all writes durable that returned before.
    fn sync(&self) -> io::Result<()>;
}

/// An open drive or file.
pub(super) struct FileDisk {
    file: File,
    is_drive: bool,
    /// True if reads and writes bypass the page cache.
    direct: bool,
    /// False once the drive or file system has said that it can't discard.
    discards: AtomicBool,
    /// The way to write in streams.
    #[cfg(target_os = "linux")]
    rings: Option<Rings>,
}

impl FileDisk {
    /// A file that is open, past the page cache if `direct`.
    pub(super) fn new(file: File, direct: bool) -> io::Result<FileDisk> {
        let is_drive = is_drive(&file.metadata()?);
        Ok(FileDisk {
            file,
            is_drive,
            direct,
            discards: AtomicBool::new(true),
            #[cfg(target_os = "linux")]
            rings: None,
        })
    }

    /// Prepares writes in streams; returns the number of the drive's streams.
    ///
    /// # Errors
    /// There are none, and why.
    #[cfg(target_os = "linux")]
    pub(super) fn with_streams(&mut self) -> Result<u8, String> {
        let metadata = self.file.metadata().map_err(|error| error.to_string())?;
        if !self.is_drive {
            return Err("a file has none".into());
        }
        let streams = match write_streams(metadata.rdev()) {
            Some(0) => return Err("the drive has none, or its data placement is not set up".into()),
            Some(streams) => streams,
            None => return Err("partitions have none, nor have kernels before 6.16".into()),
        };
        let rings = Rings::new().map_err(|error| format!("io_uring is refused: {error}"))?;
        self.rings = Some(rings);
        Ok(streams)
    }

    /// Its length in bytes.
    pub(super) fn bytes(&self) -> io::Result<u64> {
        (&self.file).seek(SeekFrom::End(0))
    }

    /// True if this is the file at a path, which may have been removed or replaced since it was
    /// opened.
    pub(super) fn is_at(&self, path: &Path) -> io::Result<bool> {
        let (here, there) = (self.file.metadata()?, fs::metadata(path)?);
        Ok((here.dev(), here.ino()) == (there.dev(), there.ino()))
    }

    /// Makes an empty file as long as this. A drive, and a file with bytes, keep their length.
    pub(super) fn extend(&self, bytes: u64) -> io::Result<()> {
        if !self.is_drive && self.bytes()? == 0 {
            self.file.set_len(bytes)?;
        }
        Ok(())
    }

    #[cfg(target_os = "linux")]
    fn try_discard(&self, at: u64, bytes: u64) -> Result<(), Errno> {
        if self.is_drive {
            return discard_ioctl::discard(&self.file, at, bytes);
        }
        fallocate(&self.file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, at, bytes)
    }

    #[cfg(not(target_os = "linux"))]
    fn try_discard(&self, _at: u64, _bytes: u64) -> Result<(), Errno> {
        Err(Errno::OPNOTSUPP)
    }

    fn aligned(&self) -> Option<u32> {
        self.direct.then_some(BLOCK_BYTES)
    }
}

/// True if this is a block device, and not a file.
pub(super) fn is_drive(metadata: &Metadata) -> bool {
    metadata.file_type().is_block_device()
}

impl Disk for FileDisk {
    fn read(&self, at: u64, buffer: &mut [u8]) -> io::Result<()> {
        positional::read_exact(&self.file, at, buffer, self.aligned())
    }

    fn read_all(&self, reads: &mut [(u64, &mut [u8])]) -> Result<(), (usize, io::Error)> {
        let mut placed = Vec::with_capacity(reads.len());
        for (at, buffer) in reads {
            placed.push(FileRead { file: &self.file, at: *at, buffer });
        }
        side_by_side::read_all(&mut placed, self.aligned())
    }

    fn write(&self, at: u64, parts: &[IoSlice<'_>], stream: u8) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        if let Some(rings) = self.rings.as_ref().filter(|_| stream > 0) {
            return positional::write_all_by(at, parts, self.aligned(), |parts, at| {
                rings.write(&self.file, parts, at, stream)
            });
        }
        let _only_linux_has_streams = stream;
        positional::write_all(&self.file, at, parts, self.aligned())
    }

    fn discard(&self, at: u64, bytes: u64) -> io::Result<()> {
        if !self.discards.load(Ordering::Relaxed) {
            return Ok(());
        }
        match self.try_discard(at, bytes) {
            // The range is written anew in order all the same.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => self.discards.store(false, Ordering::Relaxed),
            result => result?,
        }
        Ok(())
    }

    #[cfg(target_os = "linux")]
    fn clear(&self, at: u64, bytes: u64) -> io::Result<()> {
        // Of a file this gives back what was reserved.
        let way =
            if self.is_drive { FallocateFlags::ZERO_RANGE } else { FallocateFlags::PUNCH_HOLE };
        match fallocate(&self.file, way | FallocateFlags::KEEP_SIZE, at, bytes) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => self.write_zeroes(at, bytes),
            cleared => Ok(cleared?),
        }
    }

    fn reserve(&self, at: u64, bytes: u64) -> io::Result<()> {
        if self.is_drive || bytes == 0 {
            return Ok(());
        }
        match allocate(&self.file, at, bytes) {
            Err(Errno::NOSPC | Errno::DQUOT) => Err(io::ErrorKind::StorageFull.into()),
            _ => Ok(()),
        }
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.file.set_len(bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}
