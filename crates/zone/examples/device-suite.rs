//! Checks that a device keeps the promises of this crate: `device-suite URI`. It prints one line
//! for each check, and its exit status is 0 if all passed. **The content of the device is lost.**
//!
//! For `mem:`, and for a directory or file that does not exist, it makes a small device, for a
//! plain drive that holds zeroes one that fills it.

#[path = "../tests/suite/mod.rs"]
mod suite;

use std::process::ExitCode;
use std::sync::Arc;

use frostline_zone::{Device, DeviceError, OpenOptions, Shape, can_create, create, filling, open};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [uri] = &arguments[..] else {
        eprintln!("usage: device-suite URI");
        return ExitCode::from(2);
    };
    match check(uri) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("device-suite: {error}");
            ExitCode::from(2)
        }
    }
}

fn check(uri: &str) -> Result<bool, DeviceError> {
    let device = find(uri)?;
    println!("{uri}: {:?}", device.geometry());
    let tell = |name: &str, passed: bool| {
        println!("{} {name}", if passed { "ok    " } else { "FAILED" });
    };
    let passed = suite::run(&*device, tell);
    suite::leave(&*device);
    if uri.starts_with("mem:") {
        return Ok(passed);
    }
    drop(device);
    let device = open(uri, &OpenOptions::default())?;
    suite::check_left(&*device);
    tell("pages and states are there when the device is opened again", true);
    Ok(passed)
}

fn find(uri: &str) -> Result<Arc<dyn Device>, DeviceError> {
    if can_create(uri) {
        let shape = Shape { bytes: 48 << 20, ..small() };
        let shape = filling(uri, &small()).unwrap_or(shape);
        return create(uri, &shape, &OpenOptions::default());
    }
    open(uri, &OpenOptions::default())
}

fn small() -> Shape {
    let (zone_bytes, zone_capacity) = (Some(4 << 20), Some(3 << 20));
    Shape { zone_bytes, zone_capacity, max_open: Some(6), max_active: Some(8), ..Shape::default() }
}
