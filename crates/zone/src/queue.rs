//! What the kernel tells of a block device's zones in `/sys/dev/block/*/queue`.

use std::fs;

use rustix::fs::{major, minor};

/// Size and limits of zones, where the kernel tells them and there are any.
#[derive(Debug, Default)]
pub(crate) struct QueueLimits {
    /// Size of a zone in bytes.
    pub zone_bytes: Option<u64>,
    /// Unit of writes to zones, in bytes.
    pub write_bytes: Option<u32>,
    pub max_open: Option<u32>,
    pub max_active: Option<u32>,
}

/// What the kernel tells of a device.
pub(crate) fn queue_limits(device: u64) -> QueueLimits {
    let read = |name: &str| -> Option<u64> {
        let (major, minor) = (major(device), minor(device));
        let path = format!("/sys/dev/block/{major}:{minor}/queue/{name}");
        let value = fs::read_to_string(path).ok()?.trim().parse().ok()?;
        (value > 0).then_some(value)
    };
    let number = |name| read(name).and_then(|value| u32::try_from(value).ok());
    QueueLimits {
        zone_bytes: read("chunk_sectors").map(|sectors| sectors * 512),
        write_bytes: number("zone_write_granularity"),
        max_open: number("max_open_zones"),
        max_active: number("max_active_zones"),
    }
}
