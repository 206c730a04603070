//! `zonefs:MOUNT`: the zones of a drive as the files of a mounted zonefs, in `seq` and `cnv`.
//!
//! Conventional zones come first in this crate's numbering. Mount without `explicit-open`: files
//! stay open for writing as long as the device is open. The limits of the drive are checked before
//! zonefs sees an append too many, because it makes the whole mount read-only after a failed write.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::files::{ZoneFile, ZoneFiles, lock};
use crate::open_files::OpenFiles;
use crate::queue::queue_limits;
use crate::zoned::Zoned;
use crate::{Device, DeviceError, Geometry, ZoneInfo, ZoneState};

/// The unit of a file's block count, in bytes.
const SECTOR: u64 = 512;

/// Opens a mounted zonefs.
///
/// # Errors
/// It is in use; it is not a zonefs; it can't be read.
pub(crate) fn open(mount: &Path, read_only: bool) -> Result<Arc<dyn Device>, DeviceError> {
    let locked = lock(mount, read_only)?;
    let conventional = find(&mount.join("cnv"))?;
    let sequential = find(&mount.join("seq"))?;
    let Some((first, _)) = sequential.first() else {
        let why = "it has no file `seq/0`".into();
        return Err(DeviceError::NotADevice { path: mount.to_owned(), why });
    };
    let metadata = fs::metadata(first).map_err(|e| cannot(first, e))?;
    let block_bytes = metadata.blksize() as u32;
    let queue = queue_limits(metadata.dev());
    let zone_capacity = sequential.iter().map(|&(_, capacity)| capacity).max().unwrap_or(0);
    if zone_capacity == 0 || block_bytes == 0 {
        let why = "its files have no blocks: is it mounted?".into();
        return Err(DeviceError::NotADevice { path: mount.to_owned(), why });
    }
    let random = conventional.len();
    let geometry = Geometry {
        zones: (random + sequential.len()) as u32,
        block_bytes,
        zone_bytes: queue.zone_bytes.unwrap_or(zone_capacity),
        zone_capacity,
        max_open: queue.max_open,
        max_active: queue.max_active,
        conventional: (0..random as u32).collect(),
        parity: None,
    };
    let all = conventional.into_iter().chain(sequential);
    let files = ZoneFiles {
        zones: all.map(|(path, capacity)| ZoneFile { path, capacity }).collect(),
        open: OpenFiles::new(geometry.zones as usize),
        block_bytes,
        direct: true,
        read_only,
        one_flush: true,
        directory: locked,
        flushed: Mutex::new(false),
    };
    let mut zones = files.scan()?;
    for zone in &mut zones[..random] {
        *zone = ZoneInfo { state: ZoneState::Conventional, write_pointer: 0, ..*zone };
    }
    Ok(Arc::new(Zoned::new(files, geometry, zones).read_only(read_only)))
}

/// The files `0`, `1` and so on of a directory, with their capacities; none if the directory does
/// not exist.
fn find(directory: &Path) -> Result<Vec<(PathBuf, u64)>, DeviceError> {
    let mut files = Vec::new();
    loop {
        let path = directory.join(files.len().to_string());
        match fs::metadata(&path) {
            Ok(metadata) => files.push((path, metadata.blocks() * SECTOR)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(files),
            Err(error) => return Err(cannot(&path, error)),
        }
    }
}

fn cannot(path: &Path, source: std::io::Error) -> DeviceError {
    DeviceError::open(path, source)
}
