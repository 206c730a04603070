//! Devices by name: `mem:`, `file:DIR`, `zonefs:MOUNT`, `zbd:/dev/...`.

use std::path::Path;
use std::sync::Arc;

use crate::{Device, DeviceError, OpenOptions, Shape, file_dir, in_memory};

/// Opens an existing device: `file:DIR`, `zonefs:MOUNT` or `zbd:/dev/...`.
///
/// # Errors
/// The URI names no device; the device is in use, damaged, or can't be opened.
pub fn open(uri: &str, options: &OpenOptions) -> Result<Arc<dyn Device>, DeviceError> {
    match parse(uri)? {
        Name::Memory => wrong(uri, "nothing is in memory yet: it can only be created"),
        Name::Directory(path) => file_dir::open(path, options),
        #[cfg(target_os = "linux")]
        Name::Zonefs(path) => crate::zonefs::open(path, options.read_only),
        #[cfg(target_os = "linux")]
        Name::Block(path) => crate::zbd::open(path, options.read_only),
        #[cfg(not(target_os = "linux"))]
        Name::Zonefs(_) | Name::Block(_) => wrong(uri, "only Linux has such devices"),
    }
}

/// Makes a device with a given shape: `mem:`, or `file:DIR` in a directory that does not exist, is
/// empty, or holds a device whose making was not finished. Real drives can't be made, only
/// [opened](open).
///
/// # Errors
/// The URI names no device that can be made; the shape is impossible; the directory is not empty or
/// can't be written; a new device can't be read-only.
pub fn create(
    uri: &str,
    shape: &Shape,
    options: &OpenOptions,
) -> Result<Arc<dyn Device>, DeviceError> {
    if options.read_only {
        return wrong(uri, "a device can't be made for reading only");
    }
    match parse(uri)? {
        Name::Memory => in_memory(shape),
        Name::Directory(path) => file_dir::create(path, shape, options),
        Name::Zonefs(_) | Name::Block(_) => wrong(uri, "a drive is not created, but opened"),
    }
}

/// True if [`create`] can make a device: in memory, or in a directory that does not exist, is
/// empty, or holds a device whose making was not finished.
pub fn can_create(uri: &str) -> bool {
    match parse(uri) {
        Ok(Name::Memory) => true,
        Ok(Name::Directory(path)) => file_dir::is_free(path).unwrap_or(false),
        _ => false,
    }
}

enum Name<'a> {
    Memory,
    Directory(&'a Path),
    Zonefs(&'a Path),
    Block(&'a Path),
}

fn parse(uri: &str) -> Result<Name<'_>, DeviceError> {
    let Some((kind, path)) = uri.split_once(':') else {
        return wrong(uri, "not mem:, file:DIR, zonefs:MOUNT or zbd:DEVICE");
    };
    let named = Path::new(path);
    match kind {
        "mem" if path.is_empty() => Ok(Name::Memory),
        "mem" => wrong(uri, "a device in memory has no path"),
        "file" | "zonefs" | "zbd" if path.is_empty() => wrong(uri, "the path is missing"),
        "file" => Ok(Name::Directory(named)),
        "zonefs" => Ok(Name::Zonefs(named)),
        "zbd" => Ok(Name::Block(named)),
        _ => wrong(uri, "not mem:, file:DIR, zonefs:MOUNT or zbd:DEVICE"),
    }
}

fn wrong<T>(uri: &str, why: &'static str) -> Result<T, DeviceError> {
    Err(DeviceError::Uri { uri: uri.to_owned(), why })
}
