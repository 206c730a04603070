//! A backup becomes a device again.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use frostline_zone::{AlignedBuf, Device, Shape, ZoneState};

use crate::BackupError;
use crate::directory::Directory;
use crate::manifest::{Manifest, ZoneCopy, ZonePart};

/// Bytes that are written at a time.
const STEP: u64 = 1 << 20;

/// The shape of a device that takes a backup.
///
/// # Errors
/// There is no backup, or it is damaged.
pub fn shape(directory: &Path) -> Result<Shape, BackupError> {
    Ok(read(directory)?.shape())
}

/// Copies a backup to an empty device of the same shape. The zones with the highest numbers come
/// first, as a store begins with those that say what it is: cut short, it is no store.
///
/// # Errors
/// No backup; a part that is missing or damaged; a device of another shape, or that is not empty;
/// an error of the device.
pub fn restore(directory: &Path, device: &dyn Device) -> Result<(), BackupError> {
    let manifest = read(directory)?;
    check(&manifest, device)?;
    let is_digit = |byte: u8| byte.is_ascii_hexdigit();
    if let Some(copy) = manifest.copies.iter().find(|copy| !copy.opening.bytes().all(is_digit)) {
        let why = format!("the opening of zone {} has no valid name", copy.zone);
        return Err(BackupError::Damaged { path: directory.to_owned(), why });
    }
    for copy in manifest.copies.iter().rev() {
        copy.parts.iter().try_for_each(|part| restore_part(directory, device, copy, part))?;
        if copy.full && device.zone(copy.zone)?.state != ZoneState::Full {
            device.finish(copy.zone)?;
        }
        // Each zone is durable before the next is begun: see above.
        device.flush()?;
    }
    Ok(())
}

fn read(directory: &Path) -> Result<Manifest, BackupError> {
    let found = Directory::at(directory).read()?;
    found.ok_or_else(|| BackupError::NoBackup { path: directory.to_owned() })
}

/// Compares the backup with itself and with the device.
fn check(manifest: &Manifest, device: &dyn Device) -> Result<(), BackupError> {
    let geometry = device.geometry();
    let unsuitable = |why| Err(BackupError::Unsuitable { why });
    if (geometry.zones, geometry.zone_capacity) != (manifest.zones, manifest.zone_capacity) {
        return unsuitable(format!(
            "it has {} zones of {} bytes, and the backup {} of {}",
            geometry.zones, geometry.zone_capacity, manifest.zones, manifest.zone_capacity
        ));
    }
    let zones = device.report(0, geometry.zones)?;
    if let Some(zone) = zones.iter().position(|info| info.write_pointer > 0) {
        return unsuitable(format!("zone {zone} is not empty"));
    }
    Ok(())
}

fn restore_part(
    directory: &Path,
    device: &dyn Device,
    copy: &ZoneCopy,
    part: &ZonePart,
) -> Result<(), BackupError> {
    let path = Directory::at(directory).part(&copy.name(part));
    let mut file = File::open(&path).map_err(BackupError::file(&path))?;
    let len = part.to.saturating_sub(part.from);
    let mut bytes = AlignedBuf::zeroed(STEP.min(len) as usize);
    let (mut at, mut sum) = (part.from, 0);
    while at < part.to {
        let step = &mut bytes[..STEP.min(part.to - at) as usize];
        file.read_exact(step).map_err(BackupError::file(&path))?;
        sum = crc32c::crc32c_append(sum, step);
        device.append(copy.zone, at, step)?;
        at += step.len() as u64;
    }
    match sum == part.sum {
        true => Ok(()),
        false => Err(BackupError::Damaged { path, why: "is not what was copied".to_string() }),
    }
}
