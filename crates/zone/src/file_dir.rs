//! `dir:DIR`: zones emulated in ordinary files, without privileges.
//!
//! The directory has the zones in `seq/0`, `seq/1` and so on, like zonefs, and their shape in
//! `geometry`. While a device is being made, that file is called `geometry.new`. So a process that
//! is killed meanwhile leaves a directory that is not a device yet, and in which one can be made.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::files::{ZoneFile, ZoneFiles, lock};
use crate::geometry_file;
use crate::open_files::OpenFiles;
use crate::zoned::Zoned;
use crate::{Device, DeviceError, Geometry, OpenOptions, Shape, ZoneInfo, ZoneState};

const ZONES: &str = "seq";
const GEOMETRY: &str = "geometry";
const UNFINISHED: &str = "geometry.new";

/// Makes an empty device in a directory that is [free](is_free). The device is durable when this
/// returns.
///
/// # Errors
/// Those of [`Shape::geometry`]; the directory is not empty, or can't be written.
pub(crate) fn create(
    directory: &Path,
    shape: &Shape,
    options: &OpenOptions,
) -> Result<Arc<dyn Device>, DeviceError> {
    let geometry = shape.laid_out()?;
    let failed = |source| DeviceError::open(directory, source);
    make_directory(directory).map_err(failed)?;
    let locked = lock(directory, false)?;
    if !is_free(directory).map_err(failed)? {
        return Err(DeviceError::Exists { path: directory.to_owned() });
    }
    lay_out(directory, &locked, &geometry).map_err(failed)?;
    start(directory, geometry, locked, options)
}

/// Opens an existing device.
///
/// # Errors
/// It is in use; it is not a device, or is damaged; it can't be read.
pub(crate) fn open(
    directory: &Path,
    options: &OpenOptions,
) -> Result<Arc<dyn Device>, DeviceError> {
    let locked = lock(directory, options.read_only)?;
    let path = directory.join(GEOMETRY);
    if !path.exists() && directory.join(UNFINISHED).exists() {
        let why = "it was not finished when it was made: make it again".into();
        return Err(DeviceError::NotADevice { path: directory.to_owned(), why });
    }
    let geometry = geometry_file::read(&path)?;
    let zones = directory.join(ZONES);
    match fs::symlink_metadata(&zones) {
        Ok(metadata) if metadata.is_dir() => start(directory, geometry, locked, options),
        Ok(_) => Err(DeviceError::NotPlain { path: zones }),
        Err(source) => Err(DeviceError::open(&zones, source)),
    }
}

/// True if a device can be made in the directory: it does not exist, is empty, or holds the remains
/// of a process that was killed while it made a device.
pub(crate) fn is_free(directory: &Path) -> io::Result<bool> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        entries => entries?,
    };
    let names = entries.map(|entry| Ok(entry?.file_name()));
    let names: BTreeSet<OsString> = names.collect::<io::Result<_>>()?;
    let is_ours = |name: &OsString| name == UNFINISHED || name == ZONES;
    let is_unfinished = names.contains(&OsString::from(UNFINISHED)) && names.iter().all(is_ours);
    Ok(names.is_empty() || is_unfinished && is_proven(directory)?)
}

/// True if what looks like the remains of a device in the making is that, so that it may be
/// removed: the geometry begins as one does, and there are no zones but empty files.
fn is_proven(directory: &Path) -> io::Result<bool> {
    let zones = match fs::read_dir(directory.join(ZONES)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        zones => Some(zones?),
    };
    for zone in zones.into_iter().flatten() {
        // Of links, too, what is there is told, and not where they lead.
        let metadata = zone?.metadata()?;
        if !metadata.is_file() || metadata.len() > 0 {
            return Ok(false);
        }
    }
    geometry_file::is_begun(&directory.join(UNFINISHED))
}

fn start(
    directory: &Path,
    geometry: Geometry,
    locked: File,
    options: &OpenOptions,
) -> Result<Arc<dyn Device>, DeviceError> {
    let capacity = geometry.zone_capacity;
    let file = |zone| ZoneFile { path: zone_path(directory, zone), capacity };
    let files = ZoneFiles {
        zones: (0..geometry.zones).map(file).collect(),
        open: OpenFiles::new(geometry.zones as usize),
        block_bytes: geometry.block_bytes,
        direct: options.direct,
        read_only: options.read_only,
        one_flush: false,
        directory: locked,
        flushed: Mutex::new(false),
    };
    let zones = files.scan()?;
    let is_lost = |zone: &ZoneInfo| matches!(zone.state, ZoneState::ReadOnly | ZoneState::Offline);
    if !options.read_only && zones.iter().all(is_lost) {
        // Permissions stand for what becomes of single zones of a drive.
        let source = io::ErrorKind::PermissionDenied.into();
        return Err(DeviceError::Open { path: directory.join(ZONES), source });
    }
    Ok(Arc::new(Zoned::new(files, geometry, zones).read_only(options.read_only)))
}

/// Makes a directory and the missing ones above it, from the top; each is durable before the next
/// is made. The last existing one is synced too: its maker may have been killed before it was
/// durable.
pub(crate) fn make_directory(directory: &Path) -> io::Result<()> {
    let directory = std::path::absolute(directory)?;
    let is_missing = |path: &&Path| !path.exists();
    let missing = directory.ancestors().take_while(is_missing).count();
    let paths: Vec<&Path> = directory.ancestors().take(missing + 1).collect();
    for path in paths.into_iter().rev() {
        fs::create_dir_all(path)?;
        let above = path.parent().unwrap_or(path);
        match File::open(above).and_then(|above| above.sync_all()) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
            result => result?,
        }
    }
    Ok(())
}

fn zone_path(directory: &Path, zone: u32) -> PathBuf {
    directory.join(ZONES).join(zone.to_string())
}

/// Makes the files of a device. Each step is durable before the next, so a crash leaves a
/// [free](is_free) directory or a device.
fn lay_out(directory: &Path, locked: &File, geometry: &Geometry) -> io::Result<()> {
    let unfinished = directory.join(UNFINISHED);
    geometry_file::write(&unfinished, geometry)?;
    locked.sync_all()?;
    let zones = directory.join(ZONES);
    match fs::remove_dir_all(&zones) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        result => result?,
    }
    fs::create_dir(&zones)?;
    for zone in 0..geometry.zones {
        File::create_new(zone_path(directory, zone))?;
    }
    File::open(&zones)?.sync_all()?;
    locked.sync_all()?;
    fs::rename(unfinished, directory.join(GEOMETRY))?;
    locked.sync_all()
}
