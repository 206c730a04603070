//! The file with the shape of a directory's zones: each line has a name and a number.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use crate::files::{metadata, plain};
use crate::geometry::above;
use crate::{DeviceError, Geometry, Shape};

const FIRST_LINE: &str = "frostline zones 1";

/// An upper bound for the file's size, in bytes.
const MOST_BYTES: u64 = 4096;

/// Writes a geometry to a file, and makes the file durable, but not its entry in the directory.
pub(crate) fn write(path: &Path, geometry: &Geometry) -> io::Result<()> {
    let mut file = plain(true).create(true).truncate(true).open(path)?;
    file.write_all(describe(geometry).as_bytes())?;
    file.sync_all()
}

/// Reads the geometry in a file.
///
/// # Errors
/// The file can't be read, is not a plain file, or has no valid geometry.
pub(crate) fn read(path: &Path) -> Result<Geometry, DeviceError> {
    let failed = |source| DeviceError::open(path, source);
    metadata(path).map_err(failed)?;
    let file = plain(false).open(path).map_err(failed)?;
    let text = text(file).map_err(failed)?;
    parse(&text).map_err(|why| DeviceError::NotADevice { path: path.to_owned(), why })
}

/// True if a plain file has a beginning of a geometry, or a geometry. A power cut may leave none of
/// it, or zeroes.
pub(crate) fn is_begun(path: &Path) -> io::Result<bool> {
    if metadata(path).is_err() {
        return Ok(false);
    }
    let text = text(plain(false).open(path)?)?;
    let text = text.trim_end_matches('\0');
    Ok(text.starts_with(FIRST_LINE) || FIRST_LINE.starts_with(text))
}

fn text(file: File) -> io::Result<String> {
    let mut text = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The text of a geometry.
pub(crate) fn describe(geometry: &Geometry) -> String {
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
    line("parity", geometry.parity.map(u64::from));
    text
}

/// Parses the text of [`describe`]; the error names the wrong line.
pub(crate) fn parse(text: &str) -> Result<Geometry, String> {
    let mut lines = text.lines();
    if lines.next() != Some(FIRST_LINE) {
        return Err(format!("its first line is not `{FIRST_LINE}`"));
    }
    let (mut zones, mut parity) = (None, None);
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
            "parity" => parity = number()?,
            _ => return Err(wrong()),
        }
    }
    let (Some(zones), Some(capacity)) = (zones, shape.zone_capacity) else {
        return Err("it does not tell `zones` or `zone_capacity`".into());
    };
    shape.bytes = u64::from(zones).saturating_mul(capacity);
    let geometry = shape.geometry().map_err(|error| error.to_string())?;
    parity.map_or(Ok(()), |data| above(&geometry, data).map(drop)).map_err(|e| e.to_string())?;
    Ok(Geometry { parity, ..geometry })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry() -> Geometry {
        let (zone_bytes, zone_capacity) = (Some(1 << 20), Some(3 << 18));
        let (max_open, max_active) = (Some(5), None);
        let bytes = 40 << 20;
        let parity = None;
        Shape { bytes, zone_bytes, zone_capacity, max_open, max_active, parity }.geometry().unwrap()
    }

    #[test]
    fn geometry_is_read_as_it_was_written() {
        assert_eq!(parse(&describe(&geometry())), Ok(geometry()));
        let with_parity = Geometry { parity: Some(2), ..geometry() };
        assert_eq!(parse(&describe(&with_parity)), Ok(with_parity));
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
            good.replace("zones 53", "zones 4294967295"),
            good.replace("zones 53", "zones 0"),
            format!("{good}parity 0\n"),
            format!("{good}parity 5\n"),
            good.replace("1048576", "18446744073709547520")
                .replace("786432", "9223372036854771712"),
        ] {
            assert!(parse(&bad).is_err(), "{bad}");
        }
    }
}
