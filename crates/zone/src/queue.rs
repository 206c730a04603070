//! The attributes of a block device's zones in `/sys/block/*/queue`.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{major, minor};

/// Size and limits of zones, as far as the kernel tells them.
#[derive(Debug, Default)]
pub(crate) struct QueueLimits {
    /// Size of a zone in bytes.
    pub zone_bytes: Option<u64>,
    /// Unit of writes to zones, in bytes.
    pub write_bytes: Option<u32>,
    pub max_open: Option<u32>,
    pub max_active: Option<u32>,
}

/// The attributes of a device.
pub(crate) fn queue_limits(device: u64) -> QueueLimits {
    let disk = PathBuf::from(format!("/sys/dev/block/{}:{}", major(device), minor(device)));
    let paths = nvme_paths(&disk);
    let limit = |name| {
        let all = std::iter::once(&disk).chain(&paths);
        all.filter_map(|disk| number(disk, name)).min()
    };
    QueueLimits {
        zone_bytes: number(&disk, "chunk_sectors").map(|sectors| u64::from(sectors) * 512),
        write_bytes: number(&disk, "zone_write_granularity"),
        max_open: limit("max_open_zones"),
        max_active: limit("max_active_zones"),
    }
}

/// The write streams that requests to a device can name, at most 255; `None` if the kernel has no
/// such number for it.
pub(crate) fn write_streams(device: u64) -> Option<u8> {
    let disk = format!("/sys/dev/block/{}:{}", major(device), minor(device));
    let text = fs::read_to_string(Path::new(&disk).join("queue/max_write_streams")).ok()?;
    let streams: u32 = text.trim().parse().ok()?;
    Some(streams.min(u8::MAX.into()) as u8)
}

/// A number in a disk's queue directory; `None` if it is 0, which means no limit.
fn number(disk: &Path, name: &str) -> Option<u32> {
    let text = fs::read_to_string(disk.join("queue").join(name)).ok()?;
    text.trim().parse().ok().filter(|&number| number > 0)
}

/// The paths to an NVMe drive that may have several: `nvme0c0n1`, `nvme0c1n1` for `nvme0n1`. The
/// kernel (6.12) gives the limits of zones for the paths, but not for the drive itself.
fn nvme_paths(disk: &Path) -> Vec<PathBuf> {
    let find = || {
        let disk = fs::canonicalize(disk).ok()?;
        let name = disk.file_name()?.to_str()?;
        let (controller, namespace) = name.strip_prefix("nvme")?.split_once('n')?;
        let (first, last) = (format!("nvme{controller}c"), format!("n{namespace}"));
        let is_path = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with(&first) && name.ends_with(&last))
        };
        let disks = fs::read_dir("/sys/block").ok()?.flatten().map(|entry| entry.path());
        Some(disks.filter(is_path).collect())
    };
    find().unwrap_or_default()
}
