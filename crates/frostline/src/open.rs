//! Making and opening a database.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use frostline_backup::{Source, Target};
use frostline_db as engine;
use frostline_store::Format;
use frostline_zone::{self as zone, Device, DeviceError, OpenOptions, Shape};

use crate::{Db, Error, Options, Result};

/// The zones of a database's device, if its size allows: enough that one open zone for each class
/// is a small share of the data.
const ZONES: u64 = 2048;

/// The smallest and the largest zone, in bytes.
const ZONE_BYTES: std::ops::RangeInclusive<u64> = 1 << 20..=1 << 30;

/// Bytes of the log that recovery reads at most, unless a transaction had more.
const RECOVERY_BYTES: u64 = 32 << 20;

/// The most pages written between two checkpoints of the store: 1 GiB, so that opening after a
/// crash reads some thousand headers.
const CHECKPOINT_WRITES: u64 = 1 << 18;

impl Db {
    /// Opens the database in a directory with the default [`Options`], and makes it if it does not
    /// exist.
    ///
    /// # Errors
    /// Those of [`Options::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Db> {
        Options::new().open(path)
    }

    /// Makes the database at `path` from a [backup](Db::back_up). It appears there once it is whole.
    ///
    /// # Errors
    /// There is no backup, or it is damaged; there is something at `path`; an error of the file
    /// system.
    pub fn restore(backup: impl AsRef<OsStr>, path: impl AsRef<Path>) -> Result<()> {
        let (backup, path) = (Target::new(backup)?, path.as_ref());
        let shape = frostline_backup::shape(&backup)?;
        let taken = || DeviceError::Exists { path: path.to_owned() };
        if !is_absent(path) {
            return Err(taken().into());
        }
        let is_first = zone::create_whole(path, &shape, |device| {
            Ok::<_, Error>(frostline_backup::restore(&backup, &*device)?)
        })?;
        if is_first { Ok(()) } else { Err(taken().into()) }
    }
}

impl Options {
    /// Opens the database in a directory, and makes it if it does not exist.
    ///
    /// A new database appears at `path` once it is complete: a crash leaves at most a directory
    /// beside it whose name begins with `.frostline-`.
    ///
    /// # Errors
    /// The options are not valid; the directory holds something else; another process has the
    /// database open; damage; an error of the file system.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Db> {
        let path = path.as_ref();
        if self.create && is_absent(path) {
            self.make(path)?;
        }
        self.open_device(zone::open(&uri(path), &OpenOptions::default())?)
    }

    /// Opens the database on a device, and makes it if the device is empty.
    ///
    /// # Errors
    /// Those of [`Options::open`].
    pub fn open_device(&self, device: Arc<dyn Device>) -> Result<Db> {
        if self.create && is_empty(&*device)? {
            engine::Db::create(&device, &self.format(&*device))?;
        }
        let source = Source::new(device);
        let device: Arc<dyn Device> = source.clone();
        let options = engine::Options {
            buffer_bytes: self.memory,
            accept_loss: self.accept_loss,
            schemes: self.schemes,
            recovery_bytes: Some(RECOVERY_BYTES),
            ..engine::Options::default()
        };
        let inner = engine::Db::open(&device, &options)?;
        Ok(Db::of(inner, source, self.serializable))
    }

    /// Makes a database in memory, which is gone when it is dropped.
    ///
    /// # Errors
    /// The options are not valid.
    pub fn in_memory(&self) -> Result<Db> {
        self.open_device(zone::in_memory(&self.shape())?)
    }

    /// Makes a database beside `path`, and moves it there.
    fn make(&self, path: &Path) -> Result<()> {
        // If another process makes the database first, that one is opened.
        let _is_first = zone::create_whole(path, &self.shape(), |device| {
            Ok::<_, Error>(engine::Db::create(&device, &self.format(&*device))?)
        })?;
        Ok(())
    }

    fn shape(&self) -> Shape {
        let share = (self.bound / ZONES).clamp(*ZONE_BYTES.start(), *ZONE_BYTES.end());
        let (bytes, zone_bytes) = (self.bound, Some(1 << share.ilog2()));
        Shape { bytes, zone_bytes, parity: self.parity, ..Shape::default() }
    }

    fn format(&self, device: &dyn Device) -> engine::Create {
        let geometry = device.geometry();
        let bytes = u64::from(geometry.zones) * geometry.zone_capacity;
        let (scheme, victim, schemes) = (self.scheme.clone(), self.victim.clone(), self.schemes);
        let checkpoint_writes = Some((bytes / 4096 / 4).clamp(1, CHECKPOINT_WRITES));
        engine::Create {
            store: Format { scheme, schemes, victim, checkpoint_writes, ..Format::default() },
            log_bytes: self.log_bytes,
            ..engine::Create::default()
        }
    }
}

fn uri(path: &Path) -> String {
    format!("file:{}", path.display())
}

/// True if nothing exists at the path, or an empty directory, which a rename replaces.
fn is_absent(path: &Path) -> bool {
    match fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

fn is_empty(device: &dyn Device) -> Result<bool> {
    let zones = device.report(0, device.geometry().zones)?;
    Ok(zones.iter().all(|zone| zone.write_pointer == 0))
}
