//! Names of files: a store is to SQLite what a directory is, and its files have names in it.

use std::path::{Path, PathBuf};

use frostline_zone::{ParseSizeError, Size};

use crate::Error;
use crate::make::Shape;

/// The full name that SQLite has of a file: the store's directory, and the file's name in it. A
/// name without a store is a path whose last part is the file's.
pub(crate) fn full(name: &str, store: Option<&str>) -> Result<String, Error> {
    let wrong = || Error::Name(name.to_string());
    let file = Path::new(name).file_name().and_then(|file| file.to_str()).ok_or_else(wrong)?;
    let directory = match store {
        Some(store) => PathBuf::from(store),
        None => Path::new(name).parent().map(Path::to_owned).unwrap_or_default(),
    };
    let directory = if directory.as_os_str().is_empty() { PathBuf::from(".") } else { directory };
    let absolute = std::path::absolute(&directory).map_err(|_| wrong())?;
    // The same store by another way is the same.
    let absolute = absolute.canonicalize().unwrap_or(absolute);
    Ok(absolute.join(file).to_str().ok_or_else(wrong)?.to_string())
}

/// The store's directory and the file's name of a full name. A journal may give SQLite a name that
/// is not full: it is one of the directory that the process is in.
pub(crate) fn split(full: &str) -> (&Path, &str) {
    let (directory, file) = full.rsplit_once('/').unwrap_or((".", full));
    (Path::new(if directory.is_empty() { "/" } else { directory }), file)
}

/// Parameters of a URI that this VFS knows.
const PARAMETERS: [&str; 7] = ["store", "size", "zone", "scheme", "unit", "gp", "space"];

/// Parameters that SQLite knows itself.
const OF_SQLITE: [&str; 7] = ["vfs", "mode", "cache", "psow", "nolock", "immutable", "modeof"];

/// Refuses parameters that would mean nothing.
pub(crate) fn check_known<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<(), Error> {
    let is_known = |name: &&str| PARAMETERS.contains(name) || OF_SQLITE.contains(name);
    match names.into_iter().find(|name| !is_known(name)) {
        Some(name) => Err(Error::Unknown { name: name.to_string(), known: PARAMETERS.join(", ") }),
        None => Ok(()),
    }
}

/// The shape of a store that is made, from the parameters of a URI.
pub(crate) fn shape<'a>(
    parameter: impl Fn(&'static str) -> Option<&'a str>,
) -> Result<Shape, Error> {
    let mut shape = Shape::default();
    if let Some(size) = parameter("size") {
        shape.bytes = bytes("size", size)?;
    }
    if let Some(zone) = parameter("zone") {
        shape.zone_bytes = Some(bytes("zone", zone)?);
    }
    if let Some(scheme) = parameter("scheme") {
        shape.scheme = scheme.to_string();
    }
    if let Some(gp) = parameter("gp") {
        let why = || "not a share of garbage, as 0.15".to_string();
        let wrong = |_| Error::Parameter { name: "gp", value: gp.to_string(), why: why() };
        shape.gp = gp.parse().map_err(wrong)?;
    }
    if let Some(unit) = parameter("unit") {
        let why = || "not a number of bytes that divides 4096".to_string();
        let wrong = |_| Error::Parameter { name: "unit", value: unit.to_string(), why: why() };
        shape.unit = unit.parse().map_err(wrong)?;
    }
    Ok(shape)
}

/// The space over data that a store may take while it is open, from the parameters of a URI.
pub(crate) fn space<'a>(
    parameter: impl Fn(&'static str) -> Option<&'a str>,
) -> Result<Option<f64>, Error> {
    let Some(space) = parameter("space") else { return Ok(None) };
    let why = || "not a multiple of the data, as 1.5".to_string();
    let wrong = |_| Error::Parameter { name: "space", value: space.to_string(), why: why() };
    space.parse().map(Some).map_err(wrong)
}

/// The bytes of a size.
fn bytes(name: &'static str, value: &str) -> Result<u64, Error> {
    let Size(bytes) = value.parse().map_err(|error: ParseSizeError| Error::Parameter {
        name,
        value: value.to_string(),
        why: error.to_string(),
    })?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_in_the_store_that_is_named_or_in_the_directory_of_its_path() {
        assert_eq!(full("my.db", Some("/no/such")).unwrap(), "/no/such/my.db");
        assert_eq!(full("some/my.db", Some("/no/such")).unwrap(), "/no/such/my.db");
        assert_eq!(full("/no/such/my.db", None).unwrap(), "/no/such/my.db");
        let relative = full("my.db", Some("no-such")).unwrap();
        let (directory, file) = split(&relative);
        assert!(directory.is_absolute() && directory.ends_with("no-such"));
        assert_eq!(file, "my.db");
        assert!(full("..", None).is_err());
    }

    #[test]
    fn a_parameter_that_means_nothing_is_refused_with_those_that_are_known() {
        assert!(check_known(["vfs", "mode", "store", "size", "gp"]).is_ok());
        let refused = check_known(["vfs", "unitt"]).unwrap_err().to_string();
        assert!(refused.contains("unitt") && refused.contains("zone, scheme, unit"), "{refused}");
    }

    #[test]
    fn sizes_have_units_and_anything_else_is_refused() {
        assert_eq!(bytes("size", "4096").unwrap(), 4096);
        assert_eq!(bytes("size", "16GiB").unwrap(), 16 << 30);
        for wrong in ["", "GiB", "1.5B", "99999999999TiB"] {
            assert!(bytes("size", wrong).is_err(), "{wrong}");
        }
    }
}
