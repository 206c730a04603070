//! A process that may open few files. It is the only test in this file, because the limit is the
//! process's.

use std::fs::File;
use std::thread;

use frostline_zone::{Device, DeviceError, OpenOptions, Shape, create};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that the process may have open.
const LIMIT: u64 = 32;
const ZONES: u32 = 70;

fn files_left() -> Vec<File> {
    std::iter::from_fn(|| File::open("/dev/null").ok()).collect()
}

fn append(device: &dyn Device, zone: u32) -> Result<(), DeviceError> {
    let at = device.zone(zone)?.write_pointer;
    device.append(zone, at, &[zone as u8; 4096])
}

#[test]
fn a_device_has_more_zones_than_a_process_may_have_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(LIMIT), maximum }).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let uri = format!("dir:{}", directory.path().display());
    let bytes = u64::from(ZONES) * (64 << 10);
    let shape = Shape { bytes, zone_bytes: Some(64 << 10), ..Shape::default() };
    let device = create(&uri, &shape, &OpenOptions::default()).unwrap();
    let all = |first: u32| (first..ZONES).step_by(3);
    for _ in 0..2 {
        thread::scope(|scope| {
            for thread in 0..3 {
                let device = &device;
                scope.spawn(move || {
                    all(thread).for_each(|zone| append(&**device, zone).unwrap());
                    device.flush().unwrap();
                });
            }
        });
    }
    assert!(files_left().len() > 12, "the device leaves files for others");
    for zone in (0..ZONES).rev() {
        let mut pages = vec![0; 2 * 4096];
        device.read(zone, 0, &mut pages).unwrap();
        assert_eq!(pages, [zone as u8; 2 * 4096]);
    }

    // If other users have all files, the device's files make room for each other.
    let others = files_left();
    (0..ZONES).for_each(|zone| append(&*device, zone).unwrap());
    device.flush().unwrap();
    drop((others, device));

    // If not even one file is left, the error says so.
    let device = frostline_zone::open(&uri, &OpenOptions::default()).unwrap();
    let others = files_left();
    for refused in [append(&*device, 7), device.read(7, 0, &mut [0; 4096])] {
        assert!(matches!(refused, Err(DeviceError::TooManyFiles { zone: 7, .. })), "{refused:?}");
    }
    drop(others);
    append(&*device, 7).unwrap();
    assert_eq!(device.zone(7).unwrap().write_pointer, 4 * 4096);
}
