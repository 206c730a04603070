//! Content that is not what was written: the device may have another copy of it, made by parity.

use frostline_zone::{AlignedBuf, Device, DeviceError};

use crate::format::PAGE;

/// Reads pages. If they are not `sound`, they are taken from another copy that is; without one they
/// stay as they were read.
pub(crate) fn read_verified(
    device: &dyn Device,
    zone: u32,
    at: u64,
    pages: &mut [u8],
    sound: &dyn Fn(&[u8]) -> bool,
) -> Result<(), DeviceError> {
    device.read(zone, at, pages)?;
    if !sound(pages) {
        repair(device, zone, at, pages, sound)?;
    }
    Ok(())
}

/// Replaces the one page that is wrong by another copy of it; false if there is none with which the
/// pages are `sound`.
pub(crate) fn repair(
    device: &dyn Device,
    zone: u32,
    at: u64,
    pages: &mut [u8],
    sound: &dyn Fn(&[u8]) -> bool,
) -> Result<bool, DeviceError> {
    let mut other = AlignedBuf::zeroed(PAGE);
    for page in 0..pages.len() / PAGE {
        let (place, at) = (page * PAGE..(page + 1) * PAGE, at + (page * PAGE) as u64);
        match device.read_other(zone, at, &mut other) {
            Ok(true) => {}
            Err(error) if !error.is_of_zone() => return Err(error),
            Ok(false) | Err(_) => continue,
        }
        pages[place.clone()].swap_with_slice(&mut other);
        if sound(pages) {
            tracing::warn!(zone, at, "a page was not what was written: its parity had it");
            return Ok(true);
        }
        pages[place].swap_with_slice(&mut other);
    }
    Ok(false)
}
