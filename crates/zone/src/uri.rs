//! Devices by name: `mem:`, `file:PATH`, `block:PATH`, `fdp:DEVICE`, `dir:DIR`, `zonefs:MOUNT`,
//! `zbd:/dev/...`.

use std::path::Path;
use std::sync::Arc;

use crate::ranges::{self, Kind, Placing};
use crate::{Device, DeviceError, OpenOptions, Shape, file_dir, in_memory, parity};

/// Opens an existing device: `file:PATH`, `block:PATH`, `fdp:DEVICE`, `dir:DIR`, `zonefs:MOUNT` or
/// `zbd:/dev/...`.
///
/// # Errors
/// The URI names no device; the device is in use, damaged, or can't be opened.
pub fn open(uri: &str, options: &OpenOptions) -> Result<Arc<dyn Device>, DeviceError> {
    let device = match parse(uri)? {
        Name::Memory => wrong(uri, "nothing is in memory yet: it can only be created"),
        Name::Directory(path) => file_dir::open(path, options),
        Name::Ranges(path, kind) => ranges::open(path, options, kind),
        #[cfg(target_os = "linux")]
        Name::Zonefs(path) => crate::zonefs::open(path, options.read_only),
        #[cfg(target_os = "linux")]
        Name::Zoned(path) => crate::zbd::open(path, options.read_only),
    }?;
    parity::as_described(device, options.read_only)
}

/// Makes a device with a given shape: `mem:`; `file:PATH` in a new or empty file, or one with the
/// remains of a device whose making was not finished; `block:PATH` on a drive or in a file that
/// holds zeroes or such remains, or in a new file; `dir:DIR` in a directory that does not exist, is
/// empty, or holds such remains. Zoned drives can't be made, only [opened](open).
///
/// # Errors
/// The URI names no device that can be made; the shape is impossible; the place is not empty or
/// can't be written; a new device can't be read-only.
pub fn create(
    uri: &str,
    shape: &Shape,
    options: &OpenOptions,
) -> Result<Arc<dyn Device>, DeviceError> {
    if options.read_only {
        return wrong(uri, "a device can't be made for reading only");
    }
    let device = match parse(uri)? {
        // It keeps parity already.
        Name::Memory => return in_memory(shape),
        Name::Directory(path) => file_dir::create(path, shape, options),
        Name::Ranges(path, kind) => {
            // What an ordinary file holds is not lost by this.
            let overwrite = options.overwrite && kind.placing == Placing::Fixed;
            ranges::create(path, shape, &OpenOptions { overwrite, ..*options }, kind)
        }
        #[cfg(target_os = "linux")]
        Name::Zonefs(_) | Name::Zoned(_) => wrong(uri, "a zoned drive is not created, but opened"),
    }?;
    parity::as_described(device, false)
}

/// True if [`create`] can make a device: in memory, or in a place that does not exist, is empty, or
/// holds a device whose making was not finished.
pub fn can_create(uri: &str) -> bool {
    match parse(uri) {
        Ok(Name::Memory) => true,
        Ok(Name::Directory(path)) => file_dir::is_free(path).unwrap_or(false),
        Ok(Name::Ranges(path, _)) => ranges::is_free(path),
        _ => false,
    }
}

/// True if [`create`] can make a device with [`OpenOptions::overwrite`], and only so: the drive or
/// file of `block:` holds anything but a device.
pub fn can_overwrite(uri: &str) -> bool {
    match parse(uri) {
        Ok(Name::Ranges(path, kind)) => kind.placing == Placing::Fixed && ranges::is_foreign(path),
        _ => false,
    }
}

/// The shape with which a device fills the drive or file of `block:`, with zones as `shape` has
/// them; `None` for other devices, and for files that are yet to be made.
pub fn filling(uri: &str, shape: &Shape) -> Option<Shape> {
    match parse(uri) {
        Ok(Name::Ranges(path, kind)) if kind.placing == Placing::Fixed => {
            ranges::filling(path, shape)
        }
        _ => None,
    }
}

/// The kinds of names, for those who wrote another.
const NAMES: &str =
    "not mem:, file:PATH, block:PATH, fdp:DEVICE, dir:DIR, zonefs:MOUNT or zbd:DEVICE";

enum Name<'a> {
    Memory,
    Directory(&'a Path),
    /// A plain drive or file.
    Ranges(&'a Path, Kind),
    #[cfg(target_os = "linux")]
    Zonefs(&'a Path),
    #[cfg(target_os = "linux")]
    Zoned(&'a Path),
}

fn parse(uri: &str) -> Result<Name<'_>, DeviceError> {
    let Some((kind, path)) = uri.split_once(':') else {
        return wrong(uri, NAMES);
    };
    let named = Path::new(path);
    match kind {
        "mem" if path.is_empty() => Ok(Name::Memory),
        "mem" => wrong(uri, "a device in memory has no path"),
        "file" | "block" | "fdp" | "dir" | "zonefs" | "zbd" if path.is_empty() => {
            wrong(uri, "the path is missing")
        }
        "file" => Ok(Name::Ranges(named, Kind { placing: Placing::Growing, in_streams: false })),
        "block" | "fdp" => {
            let in_streams = kind == "fdp";
            Ok(Name::Ranges(named, Kind { placing: Placing::Fixed, in_streams }))
        }
        "dir" => Ok(Name::Directory(named)),
        #[cfg(target_os = "linux")]
        "zonefs" => Ok(Name::Zonefs(named)),
        #[cfg(target_os = "linux")]
        "zbd" => Ok(Name::Zoned(named)),
        #[cfg(not(target_os = "linux"))]
        "zonefs" | "zbd" => wrong(uri, "only Linux has such devices"),
        _ => wrong(uri, NAMES),
    }
}

fn wrong<T>(uri: &str, why: &'static str) -> Result<T, DeviceError> {
    Err(DeviceError::Uri { uri: uri.to_owned(), why })
}
