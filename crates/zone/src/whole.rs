//! A directory that appears once what is in it is complete.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::DeviceError;

/// Makes a directory at `path`, where there is nothing or an empty one: `fill` makes it beside that, and it is
/// moved there. A crash leaves at most a directory beside `path` whose name begins with `.frostline-`. If
/// another process was quicker, its directory stays.
///
/// # Errors
/// Those of `fill`; the directory can't be made or moved.
pub fn create_whole<E: From<DeviceError>>(
    path: &Path,
    fill: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<(), E> {
    let failed = |source| DeviceError::open(path, source);
    let parent = parent_of(path);
    fs::create_dir_all(&parent).map_err(failed)?;
    let beside = tempfile::Builder::new().prefix(".frostline-").tempdir_in(&parent);
    let beside = beside.map_err(failed)?;
    fill(beside.path())?;
    match fs::rename(beside.path(), path) {
        // It is no longer where it would be removed.
        Ok(()) => drop(beside.keep()),
        Err(error) if is_taken(&error) => {}
        Err(error) => return Err(failed(error).into()),
    }
    Ok(File::open(&parent).and_then(|parent| parent.sync_all()).map_err(failed)?)
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
