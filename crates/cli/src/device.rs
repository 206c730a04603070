//! Devices by URI: opened, or made of the shape that was asked for; and stores on them.

use std::sync::Arc;
use std::time::Duration;

use frostline_db::DbError;
use frostline_db::wal::WalError;
use frostline_log::LogError;
use frostline_store::{Format, Store, StoreError};
use frostline_zone::{
    Clock, Device, DeviceError, Drive, Geometry, OpenOptions, Shape, Span, Timed, can_create,
    create, in_memory, open,
};

use crate::args::{DriveArg, PlacementArgs, ShapeArgs, SpeedArgs};
use crate::failure::Failure;
use crate::size::{Size, binary};

/// Opens a device, or makes one of the shape, and formats it by `format`. `what` is the command.
///
/// A device that is to be made is formatted in memory first: so a format that is refused, for its
/// options or for the size of the device, leaves nothing behind.
pub fn formatted(
    what: &str,
    uri: &str,
    shape: &ShapeArgs,
    format: impl Fn(&Arc<dyn Device>) -> Result<(), Failure>,
) -> Result<Arc<dyn Device>, Failure> {
    if can_create(uri) && uri != "mem:" {
        format(&open_or_create(what, uri, shape, |_, shape| in_memory(shape))?)?;
    }
    let make = |uri: &str, shape: &Shape| create(uri, shape, &OpenOptions::default());
    let device = open_or_create(what, uri, shape, make)?;
    format(&device)?;
    Ok(device)
}

/// Makes a device of the shape and formats it, in the place of the one that may be there.
pub fn made_anew(
    what: &str,
    uri: &str,
    shape: &ShapeArgs,
    format: impl Fn(&Arc<dyn Device>) -> Result<(), Failure>,
) -> Result<Arc<dyn Device>, Failure> {
    if !can_create(uri) {
        // What is refused leaves the old device as it is.
        format(&new(what, uri, shape, |_, shape| in_memory(shape))?)?;
        remove(uri)?;
    }
    formatted(what, uri, shape, format)
}

/// Opens a device, or makes one of the shape where one can be made.
fn open_or_create(
    what: &str,
    uri: &str,
    shape: &ShapeArgs,
    make: impl Fn(&str, &Shape) -> Result<Arc<dyn Device>, DeviceError>,
) -> Result<Arc<dyn Device>, Failure> {
    if can_create(uri) {
        return new(what, uri, shape, make);
    }
    let device = open(uri, &OpenOptions::default());
    let device = device.map_err(|error| device_failure(uri, &error))?;
    same_shape(what, uri, &*device, shape)?;
    Ok(device)
}

/// Makes a device of the shape.
fn new(
    what: &str,
    uri: &str,
    shape: &ShapeArgs,
    make: impl Fn(&str, &Shape) -> Result<Arc<dyn Device>, DeviceError>,
) -> Result<Arc<dyn Device>, Failure> {
    let Some(Size(bytes)) = shape.size else {
        let why = format!("{uri} does not exist yet, and no --size is given to make it");
        return Err(Failure::usage(what, &why).hint("as --size 4GiB"));
    };
    let shape = Shape {
        bytes,
        zone_bytes: shape.zone.map(|size| size.0),
        zone_capacity: shape.capacity.map(|size| size.0),
        ..Shape::default()
    };
    make(uri, &shape).map_err(|error| device_failure(uri, &error))
}

/// Removes a device of `file:` that nothing else uses, with its directory; a directory that holds
/// anything else is left alone.
fn remove(uri: &str) -> Result<(), Failure> {
    // Opening shows that it is a device, and locks it; what it holds does not matter.
    let device = open(uri, &OpenOptions::default()).map_err(|e| device_failure(uri, &e))?;
    let Some(directory) = uri.strip_prefix("file:") else { return Ok(()) };
    let failed = |error: std::io::Error| Failure::job(uri, &error.to_string());
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        if name != "geometry" && name != "seq" {
            let why = format!("it also holds {name:?}, which is no part of a device");
            return Err(Failure::usage(uri, &why).hint("remove it, or name another --device"));
        }
    }
    std::fs::remove_dir_all(directory).map_err(failed)?;
    drop(device);
    Ok(())
}

/// Checks that a device that exists has the shape that is asked for, if one is.
fn same_shape(
    what: &str,
    uri: &str,
    device: &dyn Device,
    asked: &ShapeArgs,
) -> Result<(), Failure> {
    let Some(Size(bytes)) = asked.size else { return Ok(()) };
    let has = device.geometry();
    let zone = asked.zone.map_or(has.zone_bytes, |size| size.0);
    let capacity = asked.capacity.map_or(has.zone_capacity, |size| size.0);
    let same = (zone, capacity) == (has.zone_bytes, has.zone_capacity)
        && bytes / has.zone_capacity == u64::from(has.zones);
    if same {
        return Ok(());
    }
    let why = format!("{uri} is there already, with {}", describe(device));
    Err(Failure::usage(what, &why).hint("leave out --size, or choose another place"))
}

/// There is no device, but what it holds is to be kept.
pub fn nothing_to_keep(what: &str, uri: &str) -> Failure {
    Failure::usage(what, &format!("--keep: there is nothing in {uri}"))
}

/// A device's shape in words.
pub fn describe(device: &dyn Device) -> String {
    let has = device.geometry();
    let text = format!("{} zones of {}", has.zones, binary(has.zone_bytes));
    match has.zone_capacity < has.zone_bytes {
        true => format!("{text}, which hold {}", binary(has.zone_capacity)),
        false => text,
    }
}

/// A device as slow as is asked for.
pub fn slowed(
    what: &str,
    device: Arc<dyn Device>,
    speed: &SpeedArgs,
) -> Result<Arc<dyn Device>, Failure> {
    const AT_ONCE: Drive = Drive {
        append_latency: Duration::ZERO,
        append_bytes_per_second: u64::MAX,
        read_latency: Duration::ZERO,
        read_bytes_per_second: u64::MAX,
        reads_per_second: u64::MAX,
        reset_bytes_per_second: u64::MAX,
        flush_latency: Duration::ZERO,
    };
    let drive = speed.drive.map(|DriveArg::Zn540| Drive::ZN540);
    let drive = match (drive, speed.bandwidth) {
        (None, None) => return Ok(device),
        (_, Some(Size(0))) => {
            return Err(Failure::usage(what, "--bandwidth 0: nothing would be written"));
        }
        (drive, Some(Size(bytes))) => Drive {
            append_bytes_per_second: bytes,
            read_bytes_per_second: bytes,
            ..drive.unwrap_or(AT_ONCE)
        },
        (Some(drive), None) => drive,
    };
    Ok(Arc::new(Timed::new(device, drive, Clock::Real)))
}

/// The options of a store, as on the command line.
pub fn placement(what: &str, args: &PlacementArgs) -> Result<Format, Failure> {
    if !(0.0001..=0.9).contains(&args.gp) {
        return Err(Failure::usage(what, &format!("--gp {}: must be from 0.0001 to 0.9", args.gp)));
    }
    Ok(Format {
        scheme: args.scheme.clone(),
        victim: args.victim.clone(),
        gp: args.gp,
        seed: args.seed,
        ..Format::default()
    })
}

/// Opens a device to look at it. Others may look meanwhile, and it may be one that can't be
/// written.
pub fn open_to_look(uri: &str) -> Result<Arc<dyn Device>, Failure> {
    let options = OpenOptions { read_only: true, ..OpenOptions::default() };
    open(uri, &options).map_err(|error| device_failure(uri, &error))
}

/// Opens a store to look into it: nothing on the device changes.
pub fn open_store(uri: &str) -> Result<Store, Failure> {
    let device = open_to_look(uri)?;
    let failed = |error| store_failure(uri, error);
    let zones = Store::zones_on(&*device).map_err(failed)?;
    let device = first_zones(device, zones).map_err(|error| device_failure(uri, &error))?;
    Store::inspect(device).map_err(failed)
}

/// The first zones of a device: behind them there may be the logs of databases.
pub fn first_zones(device: Arc<dyn Device>, zones: u32) -> Result<Arc<dyn Device>, DeviceError> {
    let Geometry { zones: all, max_open, max_active, .. } = *device.geometry();
    match zones < all {
        true => Ok(Arc::new(Span::new(device, 0, zones, max_open, max_active)?)),
        false => Ok(device),
    }
}

/// What a device refused, as a failure.
pub fn device_failure(uri: &str, error: &DeviceError) -> Failure {
    use DeviceError::{Exists, InUse, NotADevice, NotPlain, Open, Shape, TooManyFiles, Uri};
    let text = error.to_string();
    match error {
        Shape { .. } => Failure::usage(uri, &text),
        Open { .. }
        | InUse { .. }
        | NotADevice { .. }
        | NotPlain { .. }
        | Exists { .. }
        | Uri { .. } => {
            // These name what they are about.
            let (what, why) = text.split_once(": ").unwrap_or((uri, &text));
            Failure::usage(what, why)
        }
        TooManyFiles { .. } => Failure::job(uri, &text).hint(MORE_FILES),
        _ => Failure::job(uri, &text),
    }
}

/// What helps a process that has too many files open.
const MORE_FILES: &str = "ulimit -n 65536, or another number, permits more of them";

/// What a store refused, as a failure.
pub fn store_failure(uri: &str, error: StoreError) -> Failure {
    let why = error.to_string();
    match error {
        StoreError::NotEmpty { .. } => Failure::usage(uri, &why)
            .hint("--force formats it nevertheless, and what it holds is lost"),
        StoreError::NotAStore => Failure::usage(uri, &why).hint("frostline store format makes one"),
        StoreError::Damaged { .. } | StoreError::NoSuperblock { .. } => Failure::job(uri, &why)
            .hint("frostline store rebuild makes the metadata anew from the headers of the pages"),
        StoreError::Missing(_) => Failure::job(uri, &why).hint(
            "put the zones back as they were, or --accept-loss goes on without these pages for good",
        ),
        StoreError::Device(ref error) if matches!(**error, DeviceError::TooManyFiles { .. }) => {
            Failure::job(uri, &why).hint(MORE_FILES)
        }
        StoreError::Newer { .. } => Failure::usage(uri, &why).hint("a newer frostline reads it"),
        StoreError::Build(_) => Failure::usage(uri, &why)
            .hint("frostline schemes lists all schemes and victim policies with their parameters"),
        StoreError::Options { what: "device too small", .. } => {
            Failure::usage(uri, &why).hint("a larger --size, or smaller zones (--zone)")
        }
        StoreError::Log(LogError::Full { .. }) => Failure::job(uri, &why),
        StoreError::Options { .. } | StoreError::Log(_) => Failure::usage(uri, &why),
        _ => Failure::job(uri, &why),
    }
}

/// What a database refused, as a failure.
pub fn db_failure(uri: &str, error: DbError) -> Failure {
    let why = error.to_string();
    match error {
        DbError::Store(error) => match &*error {
            StoreError::Log(LogError::Full { .. }) => Failure::job(uri, &why).hint(LARGER),
            error => store_failure(uri, error.clone()),
        },
        DbError::Full { .. } => Failure::job(uri, &why).hint(LARGER),
        DbError::TooLarge { .. } => Failure::job(uri, &why).hint("a larger --log"),
        DbError::NotADatabase => Failure::usage(uri, &why)
            .hint("frostline bench tpcc makes one, frostline store info tells of other stores"),
        DbError::NoTable { .. } => {
            Failure::usage(uri, &why).hint("frostline db stats lists the tables")
        }
        DbError::Options { what: "device too small", .. } => Failure::usage(uri, &why)
            .hint("a larger --size, smaller zones (--zone) or a smaller --log"),
        DbError::Options { .. } => Failure::usage(uri, &why),
        DbError::Wal(WalError::Unsuitable { .. }) => {
            Failure::usage(uri, &why).hint("a larger --log, or smaller zones (--zone)")
        }
        DbError::Wal(WalError::TooLarge { .. } | WalError::Full { .. }) => {
            Failure::job(uri, &why).hint("a larger --log")
        }
        _ => Failure::job(uri, &why),
    }
}

/// What helps against a full database.
const LARGER: &str = "a larger --size";
