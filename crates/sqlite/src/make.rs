//! Opening the store in a file, and making it.

use std::path::Path;

use frostline_store::{Format, Open, Store};
use frostline_zone::{OpenOptions, can_create, create_whole, open};

use crate::Error;

/// Zones of a store that is made, if it is large enough: a database is small beside the device that
/// it may grow to, and has to have more zones than are open.
const ZONES: u64 = 32_768;

/// Bytes of a zone, at least and at most.
const ZONE_BYTES: std::ops::RangeInclusive<u64> = 512 << 10..=1 << 30;

/// Pages written between two checkpoints, at most: 1 GiB.
const CHECKPOINT_WRITES: u64 = 1 << 18;

/// One of so many zones is kept free, so that a group of that size always fits.
const GROUP_SHARE: u32 = 32;

/// The scheme. A group is a chunk in each class that it has pages of, and each ends in padding: one
/// class for what commits write costs least with a sync a commit. Copies wait for no commit, and have
/// another.
const SCHEME: &str = "sepgc";

/// Garbage above which a store is cleaned: databases of some megabytes then take half as much space
/// again as SQLite's own files.
const GP: f64 = 0.2;

/// What a store that is made is like.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shape {
    /// Bytes of its device.
    pub bytes: u64,
    /// Bytes of a zone.
    pub zone_bytes: Option<u64>,
    /// Scheme.
    pub scheme: String,
    /// Garbage proportion above which it is cleaned.
    pub gp: f64,
    /// Bytes of a unit.
    pub unit: u32,
}

impl Default for Shape {
    fn default() -> Self {
        let (scheme, unit) = (SCHEME.to_string(), Format::default().unit);
        Shape { bytes: 16 << 30, zone_bytes: None, scheme, gp: GP, unit }
    }
}

/// The file of the store of a directory.
const STORE_OF_DIRECTORY: &str = "store.frost";

/// Opens the store in a file, or that of a directory, with so much space over its data if that is
/// given. If it is absent it is made, if a shape for it is given.
pub(crate) fn open_store(
    path: &Path,
    make: Option<&Shape>,
    space: Option<f64>,
) -> Result<Store, Error> {
    let path = &match path.is_dir() {
        true => path.join(STORE_OF_DIRECTORY),
        false => path.to_owned(),
    };
    let uri = format!("file:{}", path.display());
    match make {
        // If another process makes it first, that one is opened.
        Some(shape) if can_create(&uri) => drop(self::make(path, shape)?),
        None if can_create(&uri) => return Err(Error::Absent(path.display().to_string())),
        _ => {}
    }
    let device = open(&uri, &OpenOptions::default())?;
    Ok(Store::open(device, Open { space, ..Open::default() })?)
}

fn make(path: &Path, shape: &Shape) -> Result<bool, Error> {
    let share = (shape.bytes / ZONES).clamp(*ZONE_BYTES.start(), *ZONE_BYTES.end());
    let zone_bytes = Some(shape.zone_bytes.unwrap_or(1 << share.ilog2()));
    let of_device = frostline_zone::Shape {
        bytes: shape.bytes,
        zone_bytes,
        ..frostline_zone::Shape::default()
    };
    create_whole(path, &of_device, |device| {
        let geometry = device.geometry();
        let pages = u64::from(geometry.zones) * geometry.zone_capacity / 4096;
        let format = Format {
            scheme: shape.scheme.clone(),
            gp: shape.gp,
            unit: shape.unit,
            reserve: Format::default().reserve.max(geometry.zones / GROUP_SHARE),
            checkpoint_writes: Some((pages / 4).clamp(1, CHECKPOINT_WRITES)),
            ..Format::default()
        };
        Store::format(device, &format)?;
        Ok(())
    })
}
