//! A backup becomes a device again.

use std::io::{self, ErrorKind};

use frostline_zone::{AlignedBuf, Device, Shape, ZoneState};

use crate::manifest::{Manifest, ZoneCopy, ZonePart};
use crate::place::LIST;
use crate::{BackupError, Target};

/// Bytes that are written at a time.
const STEP: u64 = 1 << 20;

/// The shape of a device that takes a backup.
///
/// # Errors
/// There is no backup, or it is damaged.
pub fn shape(target: &Target) -> Result<Shape, BackupError> {
    Ok(target.list_to_restore()?.shape())
}

/// Copies a backup to an empty device of the same shape. The zones with the highest numbers come
/// first, as a store begins with those that say what it is: cut short, it is no store.
///
/// # Errors
/// No backup; a part that is missing or damaged; a device of another shape, or that is not empty;
/// an error of the device.
pub fn restore(target: &Target, device: &dyn Device) -> Result<(), BackupError> {
    let manifest = target.list_to_restore()?;
    check(&manifest, device)?;
    if let Some(copy) = manifest.copies.iter().find(|copy| !copy.has_valid_opening()) {
        let why = format!("the opening of zone {} has no valid name", copy.zone);
        return Err(target.damaged(LIST, why));
    }
    for copy in manifest.copies.iter().rev() {
        copy.parts.iter().try_for_each(|part| restore_part(target, device, copy, part))?;
        if copy.full && device.zone(copy.zone)?.state != ZoneState::Full {
            device.finish(copy.zone)?;
        }
        // Each zone is durable before the next is begun: see above.
        device.flush()?;
    }
    Ok(())
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
    target: &Target,
    device: &dyn Device,
    copy: &ZoneCopy,
    part: &ZonePart,
) -> Result<(), BackupError> {
    let name = copy.name(part);
    let failed = |error: io::Error| match error.kind() {
        ErrorKind::UnexpectedEof => target.damaged(&name, "is too short".to_string()),
        _ => target.failed(&name)(error),
    };
    let other = || target.damaged(&name, "is not what was copied".to_string());
    let mut object = target.place().open(&name).map_err(failed)?;
    let first = copy.first_bytes(part);
    let mut found = vec![0; first.len()];
    object.read_exact(&mut found).map_err(failed)?;
    if found != first.as_bytes() {
        return Err(other());
    }
    let mut bytes = AlignedBuf::zeroed(STEP.min(part.bytes()) as usize);
    let (mut at, mut sum) = (part.from, 0);
    while at < part.to {
        let step = &mut bytes[..STEP.min(part.to - at) as usize];
        object.read_exact(step).map_err(failed)?;
        sum = crc32c::crc32c_append(sum, step);
        device.append(copy.zone, at, step)?;
        at += step.len() as u64;
    }
    match sum == part.sum {
        true => Ok(()),
        false => Err(other()),
    }
}
