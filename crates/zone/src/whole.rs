//! A device in a directory, which appears once what is on it is complete.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{Device, DeviceError, OpenOptions, Shape, file_dir, parity};

/// Makes a device of zones in files at `path`, where there is nothing or an empty directory: it is made and
/// filled beside that, and moved there. A crash leaves at most a directory beside `path` whose name begins with
/// `.frostline-`. If another process was quicker, its directory stays, and the result is false.
///
/// # Errors
/// Those of `fill`; the device can't be made or moved. They name `path` and what is to be in it.
pub fn create_whole<E: From<DeviceError>>(
    path: &Path,
    shape: &Shape,
    fill: impl FnOnce(Arc<dyn Device>) -> Result<(), E>,
) -> Result<bool, E> {
    let failed = |source| DeviceError::open(path, without_path(source));
    let parent = parent_of(path);
    fs::create_dir_all(&parent).map_err(failed)?;
    let beside = tempfile::Builder::new().prefix(".frostline-").tempdir_in(&parent);
    let beside = beside.map_err(failed)?;
    let device = file_dir::create(beside.path(), shape, &OpenOptions::default());
    let device = device.and_then(|device| parity::as_described(device, false));
    fill(device.map_err(|error| error.moved(beside.path(), path))?)?;
    let is_first = match fs::rename(beside.path(), path) {
        Ok(()) => {
            // It is no longer where it would be removed.
            drop(beside.keep());
            true
        }
        Err(error) if is_taken(&error) => false,
        Err(error) => return Err(failed(error).into()),
    };
    File::open(&parent).and_then(|parent| parent.sync_all()).map_err(failed)?;
    Ok(is_first)
}

/// An error without the temporary path, which says nothing to a reader.
fn without_path(error: io::Error) -> io::Error {
    match error.to_string().split_once(" at path ") {
        Some((cause, _)) => io::Error::new(error.kind(), cause),
        None => error,
    }
}

/// The directory that a path is in.
fn parent_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

fn is_taken(error: &io::Error) -> bool {
    use io::ErrorKind::{AlreadyExists, DirectoryNotEmpty};
    matches!(error.kind(), AlreadyExists | DirectoryNotEmpty)
}
