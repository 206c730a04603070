//! `block:PATH` and `fdp:PATH`: zones that are ranges of a plain block device or of a file, for a drive without
//! zones. A zone is written in order, past the page cache where the file system allows it, and
//! discarded whole when it is reset.
//!
//! The first block describes the device, as text. Behind it lie the [write pointers](state), and
//! then the zones, each at a multiple of its size. A flush makes data durable first and then the
//! write pointers behind them, so a power cut leaves no byte below a pointer that was not written.
//! Before a zone is reset its pointer is durably 0: a discarded or overwritten zone can't come
//! back.
//!
//! With `fdp:` the drive is told which zones belong together, by [write streams](mod@streams).

mod content;
mod discard_ioctl;
mod disk;
mod rings;
mod state;
mod streams;
#[cfg(test)]
mod tests;

use std::fs::{self, File, OpenOptions as FileOptions};
use std::io::{self, ErrorKind, IoSlice};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use disk::{Disk, FileDisk, is_drive};
use rustix::fs::OFlags;
use rustix::io::Errno;
use state::{Layout, WritePointers};
use streams::Streams;

use crate::file_dir::make_directory;
use crate::files::try_lock;
use crate::geometry::BLOCK_BYTES;
use crate::waiting::when_free;
use crate::zoned::{Medium, Zoned};
use crate::{
    AlignedBuf, Device, DeviceError, Geometry, OpenOptions, Shape, ZoneInfo, ZoneRead, ZoneState,
    default_zone_bytes, geometry_file, zone_ioctl,
};

const FIRST_LINE: &str = "frostline block device 1\n";
const UNFINISHED: &str = "frostline block device, unfinished\n";

/// The description lies in one sector, which no power cut tears.
const SECTOR: usize = 512;

const DAMAGED: &str = "a damaged description of zones";

/// The content of a drive or file.
enum FoundContent {
    /// No bytes, or zeroes.
    Nothing,
    /// The remains of a process that was killed while it made a device.
    Unfinished,
    /// A device.
    Device(Geometry),
    /// A device whose description is damaged, in what way.
    Damaged(String),
    /// Something else.
    Other(&'static str),
}

/// Makes an empty device on a drive or in a file, which is made if it does not exist. The device is
/// durable when this returns.
///
/// # Errors
/// Those of [`Shape::geometry`]; the drive or file is too small, in use, or holds anything (of
/// others, unless `options.overwrite`); it can't be written; it has no write streams, if
/// `in_streams`.
pub(crate) fn create(
    path: &Path,
    shape: &Shape,
    options: &OpenOptions,
    in_streams: bool,
) -> Result<Arc<dyn Device>, DeviceError> {
    let geometry = shape.laid_out()?;
    let failed = |source| DeviceError::open(path, source);
    let is_new = is_missing(path);
    if is_new || fs::metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        make_file(path, is_new).map_err(failed)?;
    }
    let mut disk = open_disk(path, false)?;
    let streams = if in_streams { Some(streams(path, &mut disk)?) } else { None };
    let owned = || path.to_owned();
    match look(&disk).map_err(failed)? {
        FoundContent::Nothing | FoundContent::Unfinished => {}
        FoundContent::Device(_) => return Err(DeviceError::Exists { path: owned() }),
        FoundContent::Damaged(_) | FoundContent::Other(_) if options.overwrite => {}
        FoundContent::Damaged(_) => {
            return Err(DeviceError::Foreign { path: owned(), what: DAMAGED });
        }
        FoundContent::Other(what) => return Err(DeviceError::Foreign { path: owned(), what }),
    }
    let layout = Layout::new(geometry.zones, geometry.zone_bytes);
    let end = layout.zones_at + u64::from(geometry.zones) * geometry.zone_bytes;
    disk.extend(end).map_err(failed)?;
    let bytes = disk.bytes().map_err(failed)?;
    if bytes < end {
        let room = Layout::zones_on(bytes, geometry.zone_bytes) * geometry.zone_capacity;
        return Err(DeviceError::TooSmall { path: owned(), asked: shape.bytes, room });
    }
    lay_out(&disk, &geometry).map_err(failed)?;
    start(path, disk, false, streams)
}

/// Opens an existing device.
///
/// # Errors
/// It is in use; it is not a device, or is damaged; it can't be read, or written unless
/// `options.read_only`; it has no write streams, if it is to be written in them.
pub(crate) fn open(
    path: &Path,
    options: &OpenOptions,
    in_streams: bool,
) -> Result<Arc<dyn Device>, DeviceError> {
    let read_only = options.read_only;
    let mut disk = open_disk(path, read_only)?;
    let streams = if in_streams && !read_only { Some(streams(path, &mut disk)?) } else { None };
    start(path, disk, read_only, streams)
}

/// The streams of a drive.
fn streams(path: &Path, disk: &mut FileDisk) -> Result<Streams, DeviceError> {
    let no_streams = |why| DeviceError::NoStreams { path: path.to_owned(), why };
    Ok(Streams::new(disk.with_streams().map_err(no_streams)?))
}

/// True if a device can be made there: a file that does not exist, or a drive or file that holds
/// zeroes, or the remains of a process that was killed while it made a device.
pub(crate) fn is_free(path: &Path) -> bool {
    is_missing(path) || matches!(seen(path), Some(FoundContent::Nothing | FoundContent::Unfinished))
}

/// True if there is a drive or file that holds anything but a device.
pub(crate) fn is_foreign(path: &Path) -> bool {
    matches!(seen(path), Some(FoundContent::Damaged(_) | FoundContent::Other(_)))
}

/// The shape with which a device fills a drive or a file, with zones as `shape` has them; `None` if
/// there is none, or an empty file.
pub(crate) fn filling(path: &Path, shape: &Shape) -> Option<Shape> {
    let bytes = unlocked(path).ok()?.bytes().ok().filter(|&bytes| bytes > 0)?;
    let zone_bytes = shape.zone_bytes.unwrap_or_else(|| default_zone_bytes(bytes));
    let zones = Layout::zones_on(bytes, shape.on_medium(zone_bytes));
    let bytes = zones * shape.on_medium(shape.zone_capacity.unwrap_or(zone_bytes));
    Some(Shape { bytes, zone_bytes: Some(zone_bytes), ..shape.clone() })
}

fn seen(path: &Path) -> Option<FoundContent> {
    look(&unlocked(path).ok()?).ok()
}

/// Opens a drive or file to see what it holds. Others may open it meanwhile.
fn unlocked(path: &Path) -> io::Result<FileDisk> {
    let (file, direct) = open_file(path, true, OFlags::empty())?;
    FileDisk::new(file, direct)
}

/// True if a file can be made: a name below `/dev` that does not exist is a drive that is not
/// there.
fn is_missing(path: &Path) -> bool {
    let is_drive = path.starts_with("/dev") && !path.starts_with("/dev/shm");
    let metadata = fs::symlink_metadata(path);
    !is_drive && metadata.is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

/// Makes an empty file, and the directories above it. An existing file is only made durable: its maker
/// may have been killed before it was.
fn make_file(path: &Path, is_new: bool) -> io::Result<()> {
    let path = std::path::absolute(path)?;
    let directory = path.parent().unwrap_or(&path);
    make_directory(directory)?;
    if is_new {
        File::create_new(&path)?;
    }
    File::open(&path)?.sync_all()?;
    File::open(directory)?.sync_all()
}

/// Opens a drive or file and locks it against other processes while it is open. For reading only,
/// the lock is shared with others that read only. A drive is also held against those who mount it.
fn open_disk(path: &Path, read_only: bool) -> Result<FileDisk, DeviceError> {
    when_free(|| try_open_disk(path, read_only))
}

fn try_open_disk(path: &Path, read_only: bool) -> Result<FileDisk, DeviceError> {
    let failed = |source| DeviceError::open(path, source);
    let metadata = fs::metadata(path).map_err(failed)?;
    if !metadata.is_file() && !is_drive(&metadata) {
        let why = "it is neither a block device nor a file".into();
        return Err(DeviceError::NotADevice { path: path.to_owned(), why });
    }
    let held = if is_drive(&metadata) && !read_only { OFlags::EXCL } else { OFlags::empty() };
    let (file, direct) = open_file(path, read_only, held).map_err(failed)?;
    try_lock(&file, path, read_only)?;
    if is_drive(&metadata) && zone_ioctl::zone_sectors(&file).is_ok_and(|sectors| sectors > 0) {
        let why = "it has zones of its own: zbd: uses them".into();
        return Err(DeviceError::NotADevice { path: path.to_owned(), why });
    }
    FileDisk::new(file, direct).map_err(failed)
}

/// Opens a file past the page cache where that is possible; the flag says whether it is.
fn open_file(path: &Path, read_only: bool, flags: OFlags) -> io::Result<(File, bool)> {
    let open = |flags: OFlags| {
        let mut options = FileOptions::new();
        options.read(true).write(!read_only).custom_flags(flags.bits() as i32).open(path)
    };
    match open(flags | OFlags::DIRECT) {
        Err(error) if Errno::from_io_error(&error) == Some(Errno::INVAL) => {
            Ok((open(flags)?, false))
        }
        opened => Ok((opened?, true)),
    }
}

/// Finds out what a drive or file holds.
fn look(disk: &FileDisk) -> io::Result<FoundContent> {
    let bytes = disk.bytes()?;
    if bytes == 0 {
        return Ok(FoundContent::Nothing);
    }
    if bytes < u64::from(BLOCK_BYTES) {
        return Ok(FoundContent::Other("data"));
    }
    let mut block = AlignedBuf::zeroed(BLOCK_BYTES as usize);
    disk.read(0, &mut block)?;
    let text = block[..SECTOR].split(|&byte| byte == 0).next().unwrap_or_default();
    let text = String::from_utf8_lossy(text);
    if text == UNFINISHED {
        return Ok(FoundContent::Unfinished);
    }
    match text.strip_prefix(FIRST_LINE) {
        Some(text) => Ok(parse(text).map_or_else(FoundContent::Damaged, FoundContent::Device)),
        None => Ok(content::found(disk, bytes)?.map_or(FoundContent::Nothing, FoundContent::Other)),
    }
}

/// The text of the first block of a device.
fn description(geometry: &Geometry) -> String {
    let text = geometry_file::describe(geometry);
    format!("{FIRST_LINE}{text}crc32c {}\n", checksum(&text))
}

/// Parses a description, without its first line; the error says what is wrong.
fn parse(text: &str) -> Result<Geometry, String> {
    match text.rsplit_once("crc32c ") {
        Some((text, sum)) if sum.trim_end() == checksum(text) => geometry_file::parse(text),
        _ => Err("the checksum of its description is wrong".into()),
    }
}

fn checksum(text: &str) -> String {
    format!("{:08x}", crc32c::crc32c(text.as_bytes()))
}

/// Writes the first block, durably.
fn describe(disk: &dyn Disk, text: &str) -> io::Result<()> {
    let mut block = AlignedBuf::zeroed(BLOCK_BYTES as usize);
    block[..text.len()].copy_from_slice(text.as_bytes());
    disk.write(0, &[IoSlice::new(&block)], 0)?;
    disk.sync()
}

/// Makes a device. Each step is durable before the next, so a crash leaves a place that is
/// [free](is_free) or a device.
fn lay_out(disk: &dyn Disk, geometry: &Geometry) -> io::Result<()> {
    describe(disk, UNFINISHED)?;
    let layout = Layout::new(geometry.zones, geometry.zone_bytes);
    disk.discard(layout.zones_at, u64::from(geometry.zones) * geometry.zone_bytes)?;
    WritePointers::make(disk, layout, geometry.zones)?;
    describe(disk, &description(geometry))
}

/// Begins to use the device on a drive or in a file.
fn start(
    path: &Path,
    disk: FileDisk,
    read_only: bool,
    streams: Option<Streams>,
) -> Result<Arc<dyn Device>, DeviceError> {
    let failed = |source| DeviceError::open(path, source);
    let no_device = |why| DeviceError::NotADevice { path: path.to_owned(), why };
    let bytes = disk.bytes().map_err(failed)?;
    let geometry = match look(&disk).map_err(failed)? {
        FoundContent::Device(geometry) => geometry,
        FoundContent::Nothing => return Err(no_device("it holds nothing yet".into())),
        FoundContent::Unfinished => {
            return Err(no_device("it was not finished when it was made: make it again".into()));
        }
        FoundContent::Damaged(why) => return Err(no_device(why)),
        FoundContent::Other(what) => {
            return Err(DeviceError::Foreign { path: path.to_owned(), what });
        }
    };
    let layout = Layout::new(geometry.zones, geometry.zone_bytes);
    if bytes < layout.zones_at + u64::from(geometry.zones) * geometry.zone_bytes {
        return Err(no_device("it is shorter than when it was made".into()));
    }
    match Ranges::open(disk, &geometry, read_only, streams).map_err(failed)? {
        None => Err(no_device("the record of its write pointers is damaged".into())),
        Some((ranges, zones)) => {
            Ok(Arc::new(Zoned::new(ranges, geometry, zones).read_only(read_only)))
        }
    }
}

/// Zones that are ranges of a disk.
struct Ranges<D> {
    disk: D,
    zones_at: u64,
    zone_bytes: u64,
    capacity: u64,
    /// The write pointer of each zone.
    written: Box<[AtomicU64]>,
    /// Locked during a flush: a flush that finds nothing to do must not return before the flush
    /// that does the work.
    state: Mutex<WritePointers>,
    /// The write streams, if zones are to be written in them.
    streams: Option<Mutex<Streams>>,
}

impl<D: Disk> Ranges<D> {
    /// The zones that the state on a disk tells; `None` if it is damaged.
    fn open(
        disk: D,
        geometry: &Geometry,
        read_only: bool,
        streams: Option<Streams>,
    ) -> io::Result<Option<(Ranges<D>, Vec<ZoneInfo>)>> {
        let &Geometry { zone_bytes, zone_capacity: capacity, .. } = geometry;
        let layout = Layout::new(geometry.zones, zone_bytes);
        let Some(mut state) = WritePointers::read(&disk, layout, geometry)? else {
            return Ok(None);
        };
        if !read_only {
            state.take_over(&disk)?;
        }
        let written = state.pointers().iter().copied().map(AtomicU64::new).collect();
        let (zones_at, state) = (layout.zones_at, Mutex::new(state));
        let streams = streams.map(Mutex::new);
        let ranges = Ranges { disk, zones_at, zone_bytes, capacity, written, state, streams };
        let zones = (0..geometry.zones).map(|zone| ranges.info(zone)).collect();
        Ok(Some((ranges, zones)))
    }

    fn info(&self, zone: u32) -> ZoneInfo {
        let write_pointer = self.pointer(zone).load(Ordering::Acquire);
        let state = match write_pointer {
            0 => ZoneState::Empty,
            pointer if pointer == self.capacity => ZoneState::Full,
            _ => ZoneState::Closed,
        };
        ZoneInfo { state, write_pointer, capacity: self.capacity }
    }

    fn pointer(&self, zone: u32) -> &AtomicU64 {
        &self.written[zone as usize]
    }

    fn start(&self, zone: u32) -> u64 {
        self.zones_at + u64::from(zone) * self.zone_bytes
    }

    fn streams(&self) -> Option<MutexGuard<'_, Streams>> {
        let streams = self.streams.as_ref()?;
        Some(streams.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A zone that is full or empty needs no stream.
    fn give_back(&self, zone: u32) {
        if let Some(mut streams) = self.streams() {
            streams.give_back(zone);
        }
    }

    fn state(&self) -> MutexGuard<'_, WritePointers> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<D: Disk> Medium for Ranges<D> {
    fn write(&self, zone: u32, at: u64, parts: &[IoSlice<'_>]) -> io::Result<()> {
        let stream = self.streams().map_or(0, |mut streams| streams.of(zone));
        self.disk.write(self.start(zone) + at, parts, stream)?;
        let bytes: u64 = parts.iter().map(|part| part.len() as u64).sum();
        self.pointer(zone).store(at + bytes, Ordering::Release);
        if at + bytes == self.capacity {
            self.give_back(zone);
        }
        Ok(())
    }

    fn read(&self, zone: u32, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.disk.read(self.start(zone) + offset, buffer)
    }

    fn read_all(&self, reads: &mut [ZoneRead<'_>]) -> Result<(), (usize, io::Error)> {
        let mut placed = Vec::with_capacity(reads.len());
        for ZoneRead { zone, offset, buffer } in reads {
            placed.push((self.start(*zone) + *offset, &mut **buffer));
        }
        self.disk.read_all(&mut placed)
    }

    fn reset(&self, zone: u32) -> io::Result<()> {
        let mut state = self.state();
        // A zone that was never flushed is empty after a power cut anyway.
        if state.pointers()[zone as usize] > 0 {
            state.record(&self.disk, &[(zone, 0)])?;
        }
        self.pointer(zone).store(0, Ordering::Release);
        drop(state);
        self.give_back(zone);
        self.disk.discard(self.start(zone), self.zone_bytes)
    }

    fn finish(&self, zone: u32) -> io::Result<()> {
        self.pointer(zone).store(self.capacity, Ordering::Release);
        self.give_back(zone);
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        let mut state = self.state();
        let pointers = (0..).zip(&self.written).zip(state.pointers());
        let changed = pointers.filter_map(|((zone, written), &recorded)| {
            let written = written.load(Ordering::Acquire);
            (written != recorded).then_some((zone, written))
        });
        let changed: Vec<(u32, u64)> = changed.collect();
        if changed.is_empty() {
            return Ok(());
        }
        self.disk.sync()?;
        state.record(&self.disk, &changed)
    }

    fn probe(&self, zone: u32) -> io::Result<ZoneInfo> {
        Ok(self.info(zone))
    }
}
