//! The suite over devices that need no privileges and no hardware.

mod suite;

use std::sync::Arc;

use frostline_zone::{Device, Faulty, OpenOptions, Shape, create, in_memory, open};

const CACHED: OpenOptions = OpenOptions { direct: false };
const DIRECT: OpenOptions = OpenOptions { direct: true };

/// A device of 16 zones that are a quarter smaller than their distance.
fn shape() -> Shape {
    Shape {
        bytes: 16 * (96 << 10),
        zone_bytes: Some(128 << 10),
        zone_capacity: Some(96 << 10),
        max_open: Some(5),
        max_active: Some(7),
    }
}

fn check(device: &dyn Device) {
    let mut failed = Vec::new();
    suite::run(device, |name, passed| {
        if !passed {
            failed.push(name.to_owned());
        }
    });
    assert_eq!(failed, [""; 0]);
}

#[test]
fn memory() {
    check(&*in_memory(&shape()).unwrap());
    let unlimited = Shape { max_open: None, max_active: None, ..shape() };
    check(&*in_memory(&unlimited).unwrap());
}

#[test]
fn memory_through_a_wrapper_that_injects_no_fault() {
    check(&Faulty::new(in_memory(&shape()).unwrap(), 1));
}

#[test]
fn files_through_the_page_cache_and_past_it() {
    for options in [CACHED, DIRECT] {
        let directory = tempfile::tempdir().unwrap();
        let uri = format!("file:{}", directory.path().display());
        let device = create(&uri, &shape(), &options).unwrap();
        check(&*device);
        suite::leave(&*device);
        drop(device);
        suite::check_left(&*open(&uri, &options).unwrap());
    }
}

#[test]
fn what_files_lost_in_a_crash_stays_lost() {
    let directory = tempfile::tempdir().unwrap();
    let uri = format!("file:{}", directory.path().display());
    let device = Faulty::new(create(&uri, &shape(), &CACHED).unwrap(), 3);
    suite::leave(&device);
    device.append(3, 0, &[1; 65536]).unwrap();
    drop(device.restart().unwrap());
    drop(device);
    let device: Arc<dyn Device> = open(&uri, &CACHED).unwrap();
    assert!(device.zone(3).unwrap().write_pointer <= 65536);
    suite::check_left(&*device);
}
