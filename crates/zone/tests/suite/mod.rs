//! The contract of every zoned device as checks, written once and run over each device.

mod checks;

use std::panic::{AssertUnwindSafe, catch_unwind};

use frostline_zone::{Device, DeviceError, ZoneState};

/// A check: the property it proves, and the proof, which panics if the device is wrong.
type Check = (&'static str, fn(&dyn Device, &[u32]));

/// Runs all checks over a device, whose content is lost. Calls `tell` with each check's name and
/// whether it passed. The checks need four zones that are neither worn nor conventional.
pub(crate) fn run(device: &dyn Device, mut tell: impl FnMut(&str, bool)) -> bool {
    let zones = usable(device);
    assert!(zones.len() >= 4, "{} usable zones are too few", zones.len());
    let mut passed = true;
    for (name, check) in checks::ALL {
        let result = catch_unwind(AssertUnwindSafe(|| {
            empty(device, &zones).unwrap();
            check(device, &zones);
        }));
        tell(name, result.is_ok());
        passed &= result.is_ok();
    }
    passed
}

/// Leaves written pages and a finished zone for [`check_left`], which runs after the device is
/// opened again.
pub(crate) fn leave(device: &dyn Device) {
    let zones = usable(device);
    empty(device, &zones).unwrap();
    let block = device.geometry().block_bytes as usize;
    device.append(zones[0], 0, &vec![0xa5; 3 * block]).unwrap();
    device.append(zones[1], 0, &vec![0x5a; block]).unwrap();
    device.finish(zones[1]).unwrap();
    device.append(zones[2], 0, &vec![1; block]).unwrap();
    device.reset(zones[2]).unwrap();
    device.flush().unwrap();
}

/// Checks the content that [`leave`] left.
pub(crate) fn check_left(device: &dyn Device) {
    let zones = usable(device);
    let block = device.geometry().block_bytes as usize;
    let states = [0, 1, 2].map(|n| device.zone(zones[n]).unwrap());
    assert_eq!(states[0].write_pointer, 3 * block as u64);
    assert!(states[0].state.is_active());
    assert_eq!((states[1].state, states[2].state), (ZoneState::Full, ZoneState::Empty));
    let mut data = vec![0; 3 * block];
    device.read(zones[0], 0, &mut data).unwrap();
    assert!(data.iter().all(|&byte| byte == 0xa5));
    device.read(zones[1], 0, &mut data[..block]).unwrap();
    assert!(data[..block].iter().all(|&byte| byte == 0x5a));
    device.append(zones[0], 3 * block as u64, &data).unwrap();
}

/// The zones that can be written and reset.
fn usable(device: &dyn Device) -> Vec<u32> {
    let zones = device.report(0, device.geometry().zones).unwrap();
    let is_usable = |state: ZoneState| state.is_writable() || state == ZoneState::Full;
    (0..).zip(&zones).filter(|(_, info)| is_usable(info.state)).map(|(zone, _)| zone).collect()
}

fn empty(device: &dyn Device, zones: &[u32]) -> Result<(), DeviceError> {
    zones.iter().try_for_each(|&zone| device.reset(zone))
}
