//! `file:DIR`: zones emulated in ordinary files, without privileges.
//!
//! The directory has the zones in `seq/0`, `seq/1` and so on, as zonefs has, and their shape in
//! `geometry`: lines of a name and a number, written last, so that a directory that was not
//! completed is not taken for a device.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::files::{ZoneFile, ZoneFiles, lock};
use crate::zoned::Zoned;
use crate::{Device, DeviceError, Geometry, OpenOptions, Shape};

const FIRST_LINE: &str = "frostline zones 1";

/// Makes an empty device in a directory that is empty or does not exist.
///
/// # Errors
/// As for [`Shape::geometry`]; the directory has something in it, or can't be written.
pub(crate) fn create(
    directory: &Path,
    shape: &Shape,
    options: &OpenOptions,
) -> Result<Arc<dyn Device>, DeviceError> {
    let geometry = shape.geometry()?;
    let failed = |source| DeviceError::Open { path: directory.to_owned(), source };
    fs::create_dir_all(directory).map_err(failed)?;
    let locked = lock(directory, false)?;
    if fs::read_dir(directory).map_err(failed)?.next().is_some() {
        return Err(DeviceError::Exists { path: directory.to_owned() });
    }
    lay_out(directory, &geometry).map_err(failed)?;
    start(directory, geometry, locked, options)
}

/// Opens a device that was made before.
///
/// # Errors
/// It is in use; it is not a device, or a damaged one; it can't be read.
pub(crate) fn open(
    directory: &Path,
    options: &OpenOptions,
) -> Result<Arc<dyn Device>, DeviceError> {
    let locked = lock(directory, options.read_only)?;
    let path = directory.join("geometry");
    let text = fs::read_to_string(&path)
        .map_err(|source| DeviceError::Open { path: path.clone(), source })?;
    let geometry = parse(&text).map_err(|why| DeviceError::NotADevice { path, why })?;
    start(directory, geometry, locked, options)
}

fn start(
    directory: &Path,
    geometry: Geometry,
    locked: File,
    options: &OpenOptions,
) -> Result<Arc<dyn Device>, DeviceError> {
    let file = |zone| ZoneFile::new(zone_path(directory, zone), geometry.zone_capacity);
    let files = ZoneFiles {
        zones: (0..geometry.zones).map(file).collect(),
        block_bytes: geometry.block_bytes,
        direct: options.direct,
        read_only: options.read_only,
        one_flush: false,
        flushing: Mutex::new(()),
        _lock: locked,
    };
    let zones = files.scan()?;
    Ok(Arc::new(Zoned::new(files, geometry, zones).read_only(options.read_only)))
}

fn zone_path(directory: &Path, zone: u32) -> PathBuf {
    directory.join("seq").join(zone.to_string())
}

fn lay_out(directory: &Path, geometry: &Geometry) -> io::Result<()> {
    let zones = directory.join("seq");
    fs::create_dir(&zones)?;
    for zone in 0..geometry.zones {
        File::create_new(zone_path(directory, zone))?;
    }
    File::open(&zones)?.sync_all()?;
    let unfinished = directory.join("geometry.new");
    fs::write(&unfinished, describe(geometry))?;
    File::open(&unfinished)?.sync_all()?;
    fs::rename(unfinished, directory.join("geometry"))?;
    File::open(directory)?.sync_all()
}

fn describe(geometry: &Geometry) -> String {
    let mut text = format!("{FIRST_LINE}\n");
    let mut line = |name, value: Option<u64>| {
        if let Some(value) = value {
            let _ = writeln!(text, "{name} {value}");
        }
    };
    line("zones", Some(geometry.zones.into()));
    line("zone_bytes", Some(geometry.zone_bytes));
    line("zone_capacity", Some(geometry.zone_capacity));
    line("max_open", geometry.max_open.map(u64::from));
    line("max_active", geometry.max_active.map(u64::from));
    text
}

/// Reads what [`describe`] writes; says what is wrong otherwise.
fn parse(text: &str) -> Result<Geometry, String> {
    let mut lines = text.lines();
    if lines.next() != Some(FIRST_LINE) {
        return Err(format!("its first line is not `{FIRST_LINE}`"));
    }
    let mut zones = None;
    let mut shape = Shape::default();
    for line in lines {
        let wrong = || format!("`{}`", line.escape_debug());
        let (name, value) = line.split_once(' ').ok_or_else(wrong)?;
        let value: u64 = value.parse().map_err(|_| wrong())?;
        let number = || u32::try_from(value).map(Some).map_err(|_| wrong());
        match name {
            "zones" => zones = number()?,
            "zone_bytes" => shape.zone_bytes = Some(value),
            "zone_capacity" => shape.zone_capacity = Some(value),
            "max_open" => shape.max_open = number()?,
            "max_active" => shape.max_active = number()?,
            _ => return Err(wrong()),
        }
    }
    let (Some(zones), Some(capacity)) = (zones, shape.zone_capacity) else {
        return Err("it does not tell `zones` or `zone_capacity`".into());
    };
    shape.bytes = u64::from(zones).saturating_mul(capacity);
    shape.geometry().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry() -> Geometry {
        let (zone_bytes, zone_capacity) = (Some(1 << 20), Some(3 << 18));
        let (max_open, max_active) = (Some(5), None);
        let bytes = 40 << 20;
        Shape { bytes, zone_bytes, zone_capacity, max_open, max_active }.geometry().unwrap()
    }

    #[test]
    fn geometry_is_read_as_it_was_written() {
        assert_eq!(parse(&describe(&geometry())), Ok(geometry()));
    }

    #[test]
    fn damaged_geometry_is_refused() {
        let good = describe(&geometry());
        for bad in [
            String::new(),
            good.replace("zones 1", "zones 2"),
            good.replace("zone_capacity", "capacity"),
            good.replace("zone_capacity 786432", "zone_capacity 0"),
            good.replace("zone_capacity 786432", "zone_capacity 99999999999999999999"),
            good.replace("zone_bytes 1048576\n", "zone_bytes\n"),
            good.replace("max_open 5", "max_open 5000000000"),
            good.replace("zones 53\n", ""),
        ] {
            assert!(parse(&bad).is_err(), "{bad}");
        }
    }
}
