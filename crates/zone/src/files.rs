//! Zones that are files: the length of a file is its write pointer, truncating it to 0 resets the
//! zone, and extending it to the capacity finishes the zone. zonefs shows the zones of a drive in
//! this way, and a directory of ordinary files emulates a device in the same way.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, IoSlice};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ScopedJoinHandle};

use rustix::fs::{Access, AtFlags, CWD, OFlags, accessat};
#[cfg(target_os = "linux")]
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use crate::open_files::OpenFiles;
use crate::positional;
use crate::side_by_side::{self, FileRead};
use crate::waiting::when_free;
use crate::zoned::Medium;
use crate::{DeviceError, ZoneInfo, ZoneRead, ZoneState};

/// The number of threads that sync files when there are many.
const SYNCING_THREADS: usize = 16;

/// The files of a device's zones.
pub(crate) struct ZoneFiles {
    pub zones: Box<[ZoneFile]>,
    pub open: OpenFiles,
    pub block_bytes: u32,
    /// True if reads and writes bypass the page cache.
    pub direct: bool,
    /// True if files are opened for reading only.
    pub read_only: bool,
    /// True if a flush of one file flushes the whole device.
    pub one_flush: bool,
    /// The directory, locked.
    pub directory: File,
    /// True once the directory's entries are durable. It is locked during a flush: a flush that
    /// finds nothing to do must not return before the flush that does the work.
    pub flushed: Mutex<bool>,
}

/// A zone's file.
pub(crate) struct ZoneFile {
    pub path: PathBuf,
    /// Its largest length, in bytes.
    pub capacity: u64,
}

impl ZoneFile {
    fn open(&self, direct: bool, read_only: bool) -> io::Result<File> {
        let mut options = plain(!read_only);
        #[cfg(target_os = "linux")]
        if direct {
            options.custom_flags((OFlags::NOFOLLOW | OFlags::DIRECT).bits() as i32);
        }
        let _only_linux_reads_past_its_cache = direct;
        match options.open(&self.path) {
            Err(error) if is_refusal_to_write(&error) => options.write(false).open(&self.path),
            result => result,
        }
    }
}

/// Options that open a plain file, and refuse anything else in its place.
pub(crate) fn plain(write: bool) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(write).custom_flags(OFlags::NOFOLLOW.bits() as i32);
    options
}

/// Reserves the blocks of a zone that is begun, beyond the end of its file: a file system that
/// finds blocks for each append writes its own metadata with each flush. It may refuse, as zonefs
/// does, which has no need of it.
fn reserve(file: &File, capacity: u64) {
    let _refused = allocate(file, 0, capacity);
}

/// Finds blocks for bytes of a file, whose length stays.
#[cfg(target_os = "linux")]
pub(crate) fn allocate(file: &File, at: u64, bytes: u64) -> Result<(), Errno> {
    fallocate(file, FallocateFlags::KEEP_SIZE, at, bytes)
}

/// Elsewhere blocks are found as bytes are written.
#[cfg(not(target_os = "linux"))]
pub(crate) fn allocate(_file: &File, _at: u64, _bytes: u64) -> Result<(), Errno> {
    Err(Errno::OPNOTSUPP)
}

/// The metadata of a plain file; anything else in its place is refused.
pub(crate) fn metadata(path: &Path) -> io::Result<Metadata> {
    let metadata = fs::symlink_metadata(path)?;
    if metadata.is_file() { Ok(metadata) } else { Err(Errno::LOOP.into()) }
}

/// Fails if this process may not write a file that exists.
fn may_be_written(path: &Path) -> io::Result<()> {
    Ok(accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS)?)
}

/// True if the error says that the file can be opened only for reading.
fn is_refusal_to_write(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    matches!(errno, Some(Errno::ACCESS | Errno::PERM | Errno::ROFS))
}

/// Opens a directory and locks it against other processes while it is open. For reading only, the
/// lock is shared with others that read only.
///
/// # Errors
/// It can't be opened; it is in use.
pub(crate) fn lock(directory: &Path, read_only: bool) -> Result<File, DeviceError> {
    let file = File::open(directory).map_err(|source| DeviceError::open(directory, source))?;
    when_free(|| try_lock(&file, directory, read_only))?;
    Ok(file)
}

/// Locks an open file or directory against other processes, shared for reading only.
///
/// # Errors
/// It is in use.
pub(crate) fn try_lock(file: &File, path: &Path, read_only: bool) -> Result<(), DeviceError> {
    match if read_only { file.try_lock_shared() } else { file.try_lock() } {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(DeviceError::InUse { path: path.to_owned() }),
        Err(TryLockError::Error(source)) => Err(DeviceError::open(path, source)),
    }
}

impl ZoneFiles {
    /// The state of all zones. Offline zones can't be opened, and need no flush.
    pub(crate) fn scan(&self) -> Result<Vec<ZoneInfo>, DeviceError> {
        let probe = |(number, zone): (u32, &ZoneFile)| {
            let open = |source| DeviceError::open(&zone.path, source);
            let info = self.probe(number).map_err(open)?;
            if !self.read_only && !matches!(info.state, ZoneState::ReadOnly | ZoneState::Offline) {
                may_be_written(&zone.path).map_err(open)?;
            }
            self.open.set_changed(number, !self.read_only && info.state != ZoneState::Offline);
            Ok(info)
        };
        (0..).zip(&self.zones).map(probe).collect()
    }

    fn file(&self, zone: u32) -> io::Result<Arc<File>> {
        let file = &self.zones[zone as usize];
        self.open.get(zone, || file.open(self.direct, self.read_only))
    }

    /// Makes files durable. If they are many, as in the first flush, several threads share them:
    /// the system then merges the syncs' requests to the drive.
    fn sync_all(&self, zones: &[u32]) -> io::Result<()> {
        let sync = |zones: &[u32]| zones.iter().try_for_each(|&zone| self.file(zone)?.sync_all());
        if zones.len() < 2 * SYNCING_THREADS {
            return sync(zones);
        }
        let next = &AtomicUsize::new(0);
        let sync_next = move || {
            while let Some(zone) = zones.get(next.fetch_add(1, Ordering::Relaxed)) {
                sync(slice::from_ref(zone))?;
            }
            Ok(())
        };
        thread::scope(|scope| {
            // This thread, and as many others as the system gives.
            let other = |_| thread::Builder::new().spawn_scoped(scope, sync_next).ok();
            let others: Vec<_> = (1..SYNCING_THREADS).map_while(other).collect();
            let panicked = |_| Err(io::Error::other("a thread that synced files panicked"));
            let join = |other: ScopedJoinHandle<'_, _>| other.join().unwrap_or_else(panicked);
            others.into_iter().map(join).fold(sync_next(), io::Result::and)
        })
    }

    fn aligned(&self) -> Option<u32> {
        self.direct.then_some(self.block_bytes)
    }

    /// Changes a zone; the next flush makes the change durable.
    fn change(&self, zone: u32, change: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
        assert!(!self.read_only, "files that are open for reading only are changed");
        // The file stays in use, and so open, until it is marked as changed.
        let file = self.file(zone)?;
        let result = change(&file);
        self.open.set_changed(zone, true);
        result
    }
}

impl Medium for ZoneFiles {
    fn write(&self, zone: u32, at: u64, parts: &[IoSlice<'_>]) -> io::Result<()> {
        let capacity = self.zones[zone as usize].capacity;
        let bytes: u64 = parts.iter().map(|part| part.len() as u64).sum();
        assert!(at + bytes <= capacity, "zone {zone} is written beyond its end");
        self.change(zone, |file| {
            if at == 0 {
                reserve(file, capacity);
            }
            positional::write_all(file, at, parts, self.aligned())
        })
    }

    fn read(&self, zone: u32, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let end = offset + buffer.len() as u64;
        assert!(end <= self.zones[zone as usize].capacity, "zone {zone} is read beyond its end");
        positional::read_exact(&*self.file(zone)?, offset, buffer, self.aligned())
    }

    fn read_all(&self, reads: &mut [ZoneRead<'_>]) -> Result<(), (usize, io::Error)> {
        let file = |(index, read): (usize, &ZoneRead<'_>)| {
            self.file(read.zone).map_err(|error| (index, error))
        };
        let files = reads.iter().enumerate().map(file).collect::<Result<Vec<_>, _>>()?;
        let mut placed = Vec::with_capacity(reads.len());
        for (read, file) in reads.iter_mut().zip(&files) {
            placed.push(FileRead { file, at: read.offset, buffer: read.buffer });
        }
        side_by_side::read_all(&mut placed, self.aligned())
    }

    fn reset(&self, zone: u32) -> io::Result<()> {
        self.change(zone, |file| file.set_len(0))
    }

    fn finish(&self, zone: u32) -> io::Result<()> {
        self.change(zone, |file| file.set_len(self.zones[zone as usize].capacity))
    }

    fn flush(&self) -> io::Result<()> {
        let mut flushed = self.flushed.lock().unwrap_or_else(PoisonError::into_inner);
        if !*flushed && !self.one_flush {
            self.directory.sync_all()?;
        }
        *flushed = true;
        let zones = 0..self.zones.len() as u32;
        let mut changed: Vec<u32> = zones.filter(|&zone| self.open.take_changed(zone)).collect();
        if self.one_flush {
            changed.truncate(1);
        }
        self.sync_all(&changed)?;
        self.open.check()
    }

    /// Permissions show that a zone is read-only or offline. A write may have been cut inside a
    /// block, for example by a full file system or a crash; that block does not count: the next
    /// append, which has whole blocks, overwrites it.
    fn probe(&self, zone: u32) -> io::Result<ZoneInfo> {
        let &ZoneFile { ref path, capacity, .. } = &self.zones[zone as usize];
        let metadata = metadata(path)?;
        let pointer = metadata.len().min(capacity);
        let write_pointer = pointer - pointer % u64::from(self.block_bytes);
        let state = match (metadata.mode() & 0o777, write_pointer) {
            (0, _) => ZoneState::Offline,
            (mode, _) if mode & 0o222 == 0 => ZoneState::ReadOnly,
            (_, 0) => ZoneState::Empty,
            (_, pointer) if pointer == capacity => ZoneState::Full,
            _ => ZoneState::Closed,
        };
        let write_pointer = if state == ZoneState::Offline { 0 } else { write_pointer };
        Ok(ZoneInfo { state, write_pointer, capacity })
    }
}
