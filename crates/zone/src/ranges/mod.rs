//! Zones on one medium that can be written anywhere: an ordinary drive, or a file.
//!
//! * `file:PATH`: a file that grows with use. A zone has [extents](space) of it, and gives them
//!   back when it is reset.
//! * `block:PATH` and `fdp:PATH`: zones that are ranges of a drive without zones, or of a file. A
//!   zone is written in order, past the page cache where the file system allows it, and discarded
//!   whole when it is reset. With `fdp:` the drive is told which zones belong together, by [write
//!   streams](mod@streams).
//!
//! The first block describes the device, as text. Behind it lies the [journal] of write pointers
//! and extents, and then the zones. A flush makes data durable and the journal's record of them,
//! which has their sum if both are synced together: a power cut leaves no byte below a pointer that
//! was not written. A zone of a drive is durably empty before it is discarded, and the extents of a
//! file are used again once a record says that they are free: a reset zone can't come back.

mod content;
#[cfg(target_os = "linux")]
mod discard_ioctl;
mod disk;
mod journal;
mod medium;
#[cfg(target_os = "linux")]
mod rings;
mod space;
mod streams;
#[cfg(test)]
mod tests;

use std::fs::{self, File, OpenOptions as FileOptions};
use std::io::{self, ErrorKind, IoSlice};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use disk::{Disk, FileDisk, is_drive};
use journal::{Journal, Layout};
use medium::{Ranges, Unopened};
use rustix::fs::OFlags;
#[cfg(target_os = "linux")]
use rustix::io::Errno;
use streams::Streams;

use crate::file_dir::make_directory;
use crate::files::try_lock;
use crate::geometry::BLOCK_BYTES;
use crate::waiting::when_free;
use crate::zoned::Zoned;
use crate::{
    AlignedBuf, Device, DeviceError, Geometry, OpenOptions, Shape, default_zone_bytes,
    geometry_file, parity,
};

/// The first line of a description.
const BLOCK_DEVICE: &str = "frostline block device 2\n";
const FILE: &str = "frostline file 1\n";
const UNFINISHED: &str = "frostline device, unfinished\n";

/// How zones get their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placing {
    /// Each has a range of the medium.
    Fixed,
    /// Each has extents of a file, as many as it needs.
    Growing,
}

impl Placing {
    fn first_line(self) -> &'static str {
        match self {
            Placing::Fixed => BLOCK_DEVICE,
            Placing::Growing => FILE,
        }
    }
}

/// What a device is to be like, beside its shape.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    pub placing: Placing,
    /// True if zones are written in streams.
    pub in_streams: bool,
}

/// A device on one medium, with zones by the rules.
type RangedDevice = Zoned<Ranges<FileDisk>>;

/// The places on a medium.
fn layout_of(geometry: &Geometry, placing: Placing) -> Layout {
    let Geometry { zones, zone_bytes, zone_capacity, .. } = *geometry;
    match placing {
        Placing::Fixed => Layout::new(zones, 0, zone_bytes),
        Placing::Growing => Layout::new(zones, space::extents_for(zone_capacity), space::UNIT),
    }
}

/// The zones of `block:` that fit on so many bytes.
fn zones_on(bytes: u64, zone_bytes: u64) -> u64 {
    let fits = |zones: u64| {
        let zones = u32::try_from(zones).ok();
        let zones = zones.map(|z| (z, Layout::new(z, 0, zone_bytes).zones_at));
        zones.is_some_and(|(z, at)| at.saturating_add(u64::from(z) * zone_bytes) <= bytes)
    };
    // The search ends soon: the journal is small beside the zones.
    let most = (bytes / zone_bytes.max(1)).min(u64::from(u32::MAX));
    (0..=most).rev().find(|&zones| fits(zones)).unwrap_or(0)
}

/// The description lies in one sector, which no power cut tears.
const SECTOR: usize = 512;
const _: () = assert!(UNFINISHED.len() < SECTOR && SECTOR <= BLOCK_BYTES as usize);

const DAMAGED: &str = "a damaged description of zones";

/// The content of a drive or file.
enum FoundContent {
    /// No bytes, or zeroes.
    Nothing,
    /// The remains of a process that was killed while it made a device.
    Unfinished,
    /// A device.
    Device(Geometry, Placing),
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
/// others, unless `options.overwrite`); it can't be written; it has no write streams, if it is to
/// be written in them.
pub(crate) fn create(
    path: &Path,
    shape: &Shape,
    options: &OpenOptions,
    kind: Kind,
) -> Result<Arc<dyn Device>, DeviceError> {
    let (device, _) = begin(path, shape, options, kind)?;
    finish(path, &device, shape, kind)?;
    Ok(device)
}

/// Makes a device in a file, which others find once `fill` has succeeded. Until then, and after a
/// crash in it, one can be made there. False if another process was quicker, whose device stays.
///
/// # Errors
/// Those of `fill` and of [`create`](crate::create); then nothing is left of a file that was not
/// there.
pub fn create_whole<E: From<DeviceError>>(
    path: &Path,
    shape: &Shape,
    fill: impl FnOnce(Arc<dyn Device>) -> Result<(), E>,
) -> Result<bool, E> {
    let kind = Kind { placing: Placing::Growing, in_streams: false };
    let (device, is_new) = match begin(path, shape, &OpenOptions::default(), kind) {
        Err(DeviceError::Exists { .. }) => return Ok(false),
        begun => begun?,
    };
    let whole = parity::as_described(device.clone(), false).map_err(E::from);
    let done = whole.and_then(fill).and_then(|()| Ok(finish(path, &device, shape, kind)?));
    if done.is_err() && is_new {
        // The lock is still held.
        let _gone = fs::remove_file(path);
    }
    done.map(|()| true)
}

/// Makes an unfinished device, with its zones; also says whether the file is new.
fn begin(
    path: &Path,
    shape: &Shape,
    options: &OpenOptions,
    kind: Kind,
) -> Result<(Arc<RangedDevice>, bool), DeviceError> {
    let geometry = shape.laid_out()?;
    let failed = |source| DeviceError::open(path, source);
    let is_new = is_missing(path);
    if is_new || fs::metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        make_file(path, is_new).map_err(failed)?;
    }
    let open = OpenOptions { read_only: false, ..*options };
    let mut disk = open_disk(path, &open, kind)?;
    let streams = if kind.in_streams { Some(streams(path, &mut disk)?) } else { None };
    let owned = || path.to_owned();
    match look(&disk).map_err(failed)? {
        FoundContent::Nothing | FoundContent::Unfinished => {}
        FoundContent::Device(..) => return Err(DeviceError::Exists { path: owned() }),
        FoundContent::Damaged(_) | FoundContent::Other(_) if options.overwrite => {}
        FoundContent::Damaged(_) => {
            return Err(DeviceError::Foreign { path: owned(), what: DAMAGED });
        }
        FoundContent::Other(what) => return Err(DeviceError::Foreign { path: owned(), what }),
    }
    if kind.placing == Placing::Fixed {
        let layout = layout_of(&geometry, kind.placing);
        let end = layout.zones_at + u64::from(geometry.zones) * geometry.zone_bytes;
        disk.extend(end).map_err(failed)?;
        let bytes = disk.bytes().map_err(failed)?;
        if bytes < end {
            let room = zones_on(bytes, geometry.zone_bytes) * geometry.zone_capacity;
            return Err(DeviceError::TooSmall { path: owned(), asked: shape.bytes, room });
        }
    }
    if let Err(error) = lay_out(&disk, &geometry, kind.placing) {
        if is_new {
            // The lock is still held.
            let _gone = fs::remove_file(path);
        }
        return Err(failed(error));
    }
    Ok((start_ranges(path, disk, geometry, kind.placing, &open, streams)?, is_new))
}

/// Describes a device that is complete.
fn finish(
    path: &Path,
    device: &RangedDevice,
    shape: &Shape,
    kind: Kind,
) -> Result<(), DeviceError> {
    let text = description(&shape.laid_out()?, kind.placing);
    let described = describe(device.medium().disk(), &text);
    described.map_err(|source| DeviceError::open(path, source))
}

/// Opens an existing device.
///
/// # Errors
/// It is in use; it is not a device, or is damaged; it can't be read, or written unless
/// `options.read_only`; it has no write streams, if it is to be written in them.
pub(crate) fn open(
    path: &Path,
    options: &OpenOptions,
    kind: Kind,
) -> Result<Arc<dyn Device>, DeviceError> {
    let mut disk = open_disk(path, options, kind)?;
    let in_streams = kind.in_streams && !options.read_only;
    let streams = if in_streams { Some(streams(path, &mut disk)?) } else { None };
    let failed = |source| DeviceError::open(path, source);
    let no_device = |why| DeviceError::NotADevice { path: path.to_owned(), why };
    match look(&disk).map_err(failed)? {
        FoundContent::Device(geometry, placing) => {
            Ok(start_ranges(path, disk, geometry, placing, options, streams)?)
        }
        FoundContent::Nothing => Err(no_device("it holds nothing yet".into())),
        FoundContent::Unfinished => {
            Err(no_device("it was not finished when it was made: make it again".into()))
        }
        FoundContent::Damaged(why) => Err(no_device(why)),
        FoundContent::Other(what) => Err(DeviceError::Foreign { path: path.to_owned(), what }),
    }
}

/// The streams of a drive.
#[cfg(target_os = "linux")]
fn streams(path: &Path, disk: &mut FileDisk) -> Result<Streams, DeviceError> {
    let no_streams = |why| DeviceError::NoStreams { path: path.to_owned(), why };
    Ok(Streams::new(disk.with_streams().map_err(no_streams)?))
}

#[cfg(not(target_os = "linux"))]
fn streams(path: &Path, _disk: &mut FileDisk) -> Result<Streams, DeviceError> {
    let why = "only Linux has them".into();
    Err(DeviceError::NoStreams { path: path.to_owned(), why })
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
    let zones = zones_on(bytes, shape.on_medium(zone_bytes));
    let bytes = zones * shape.on_medium(shape.zone_capacity.unwrap_or(zone_bytes));
    Some(Shape { bytes, zone_bytes: Some(zone_bytes), ..shape.clone() })
}

fn seen(path: &Path) -> Option<FoundContent> {
    look(&unlocked(path).ok()?).ok()
}

/// Opens a drive or file to see what it holds. Others may open it meanwhile.
fn unlocked(path: &Path) -> io::Result<FileDisk> {
    let (file, direct) = open_file(path, true, true, OFlags::empty())?;
    FileDisk::new(file, direct)
}

/// True if a file can be made: a name below `/dev` that does not exist is a drive that is not
/// there.
fn is_missing(path: &Path) -> bool {
    let is_drive = path.starts_with("/dev") && !path.starts_with("/dev/shm");
    let metadata = fs::symlink_metadata(path);
    !is_drive && metadata.is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

/// Makes an empty file, and the directories above it. An existing file is only made durable: its
/// maker may have been killed before it was.
fn make_file(path: &Path, is_new: bool) -> io::Result<()> {
    let path = std::path::absolute(path)?;
    let directory = path.parent().unwrap_or(&path);
    make_directory(directory)?;
    if is_new {
        match File::create_new(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => drop(made?),
        }
    }
    File::open(&path)?.sync_all()?;
    File::open(directory)?.sync_all()
}

/// Opens a drive or file and locks it against other processes while it is open. For reading only,
/// the lock is shared with others that read only. A drive is also held against those who mount it.
fn open_disk(path: &Path, options: &OpenOptions, kind: Kind) -> Result<FileDisk, DeviceError> {
    when_free(|| try_open_disk(path, options, kind))
}

fn try_open_disk(path: &Path, options: &OpenOptions, kind: Kind) -> Result<FileDisk, DeviceError> {
    let OpenOptions { read_only, direct, .. } = *options;
    let failed = |source| DeviceError::open(path, source);
    let metadata = fs::metadata(path).map_err(failed)?;
    if !metadata.is_file() && !is_drive(&metadata) {
        let why = match metadata.is_dir() {
            true => "it is a directory, and neither a block device nor a file".into(),
            false => "it is neither a block device nor a file".into(),
        };
        return Err(DeviceError::NotADevice { path: path.to_owned(), why });
    }
    let held = if is_drive(&metadata) && !read_only { OFlags::EXCL } else { OFlags::empty() };
    let direct = direct || kind.placing == Placing::Fixed;
    let (file, direct) = open_file(path, read_only, direct, held).map_err(failed)?;
    try_lock(&file, path, read_only)?;
    #[cfg(target_os = "linux")]
    if is_drive(&metadata)
        && crate::zone_ioctl::zone_sectors(&file).is_ok_and(|sectors| sectors > 0)
    {
        let why = "it has zones of its own: zbd: uses them".into();
        return Err(DeviceError::NotADevice { path: path.to_owned(), why });
    }
    let disk = FileDisk::new(file, direct).map_err(failed)?;
    match disk.is_at(path) {
        // A process that failed to make a device has removed it meanwhile.
        Ok(false) => Err(DeviceError::InUse { path: path.to_owned() }),
        is_there => is_there.map(|_| disk).map_err(failed),
    }
}

/// Opens a file, past the page cache where that is asked for and possible; the flag says whether it
/// is.
fn open_file(
    path: &Path,
    read_only: bool,
    direct: bool,
    flags: OFlags,
) -> io::Result<(File, bool)> {
    let open = |flags: OFlags| {
        let mut options = FileOptions::new();
        options.read(true).write(!read_only).custom_flags(flags.bits() as i32).open(path)
    };
    #[cfg(target_os = "linux")]
    if direct {
        match open(flags | OFlags::DIRECT) {
            Err(error) if Errno::from_io_error(&error) == Some(Errno::INVAL) => {}
            opened => return Ok((opened?, true)),
        }
    }
    let _elsewhere_it_never_is = direct;
    Ok((open(flags)?, false))
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
    for placing in [Placing::Fixed, Placing::Growing] {
        if let Some(text) = text.strip_prefix(placing.first_line()) {
            let found = parse(text).map(|geometry| FoundContent::Device(geometry, placing));
            return Ok(found.unwrap_or_else(FoundContent::Damaged));
        }
    }
    Ok(content::found(disk, bytes)?.map_or(FoundContent::Nothing, FoundContent::Other))
}

/// The text of the first block of a device.
fn description(geometry: &Geometry, placing: Placing) -> String {
    let (first_line, text) = (placing.first_line(), geometry_file::describe(geometry));
    format!("{first_line}{text}crc32c {}\n", checksum(&text))
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
    assert!(text.len() <= SECTOR, "no power cut tears a description");
    let mut block = AlignedBuf::zeroed(BLOCK_BYTES as usize);
    block[..text.len()].copy_from_slice(text.as_bytes());
    disk.write(0, &[IoSlice::new(&block)], 0)?;
    disk.sync()
}

/// Makes the journal of a device that is not [described](describe) yet. Each step is durable before
/// the next, so a crash leaves a place that is [free](is_free).
fn lay_out(disk: &dyn Disk, geometry: &Geometry, placing: Placing) -> io::Result<()> {
    let layout = layout_of(geometry, placing);
    if placing == Placing::Growing {
        disk.set_len(0)?;
        disk.set_len(layout.zones_at)?;
    }
    describe(disk, UNFINISHED)?;
    if placing == Placing::Fixed {
        disk.discard(layout.zones_at, u64::from(geometry.zones) * geometry.zone_bytes)?;
        Journal::clear(disk, layout)?;
    }
    Journal::make(disk, layout, geometry.zones)
}

/// Begins to use the zones on a drive or in a file.
fn start_ranges(
    path: &Path,
    disk: FileDisk,
    geometry: Geometry,
    placing: Placing,
    options: &OpenOptions,
    streams: Option<Streams>,
) -> Result<Arc<RangedDevice>, DeviceError> {
    let failed = |source| DeviceError::open(path, source);
    let no_device = |why: &str| DeviceError::NotADevice { path: path.to_owned(), why: why.into() };
    let bytes = disk.bytes().map_err(failed)?;
    let layout = layout_of(&geometry, placing);
    let least = match placing {
        Placing::Fixed => layout.zones_at + u64::from(geometry.zones) * geometry.zone_bytes,
        Placing::Growing => layout.zones_at,
    };
    if bytes < least {
        return Err(no_device("it is shorter than when it was made"));
    }
    let opened = Ranges::open(disk, bytes, &geometry, placing, options, streams);
    let (ranges, zones) = opened.map_err(|why| match why {
        Unopened::Io(source) => failed(source),
        Unopened::Journal => no_device("the record of its write pointers is damaged"),
        Unopened::Cut { zone } => DeviceError::Cut { path: path.to_owned(), zone },
    })?;
    Ok(Arc::new(Zoned::new(ranges, geometry, zones).read_only(options.read_only)))
}
