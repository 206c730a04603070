//! Making and opening a database.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use frostline_backup::{Source, Target};
use frostline_db as engine;
use frostline_store::Format;
use frostline_zone::{self as zone, Device, DeviceError, OpenOptions, Shape};
use tempfile::TempDir;

use crate::{Db, Options, Result};

/// The zones of a database's device, if its size allows: enough that one open zone for each class
/// is a small share of the data.
const ZONES: u64 = 2048;

/// The smallest and the largest zone, in bytes.
const ZONE_BYTES: std::ops::RangeInclusive<u64> = 1 << 20..=1 << 30;

/// The largest log, in bytes: recovery reads it.
const LOG_BYTES: u64 = 64 << 20;

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
        let failed = |source| DeviceError::Open { path: path.to_owned(), source };
        let shape = frostline_backup::shape(&backup)?;
        let beside = beside(path).map_err(failed)?;
        let device = zone::create(&uri(beside.path()), &shape, &OpenOptions::default())?;
        frostline_backup::restore(&backup, &*device)?;
        drop(device);
        Ok(move_to(beside, path).map_err(failed)?)
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
        let failed = |source| DeviceError::Open { path: path.to_owned(), source };
        let beside = beside(path).map_err(failed)?;
        let device = zone::create(&uri(beside.path()), &self.shape(), &OpenOptions::default())?;
        engine::Db::create(&device, &self.format(&*device))?;
        drop(device);
        match move_to(beside, path) {
            // Another process made the database first; that one is opened.
            Err(error) if is_taken(&error) => Ok(()),
            moved => Ok(moved.map_err(failed)?),
        }
    }

    fn shape(&self) -> Shape {
        let share = (self.bound / ZONES).clamp(*ZONE_BYTES.start(), *ZONE_BYTES.end());
        let (bytes, zone_bytes) = (self.bound, Some(1 << share.ilog2()));
        Shape { bytes, zone_bytes, parity: self.parity, ..Shape::default() }
    }

    fn format(&self, device: &dyn Device) -> engine::Create {
        let geometry = device.geometry();
        let bytes = u64::from(geometry.zones) * geometry.zone_capacity;
        let (scheme, victim) = (self.scheme.clone(), self.victim.clone());
        let (schemes, unit) = (self.schemes, self.unit);
        let checkpoint_writes = Some((bytes / 4096 / 4).clamp(1, CHECKPOINT_WRITES));
        engine::Create {
            store: Format { scheme, schemes, victim, unit, checkpoint_writes, ..Format::default() },
            log_bytes: Some((bytes / 16).min(LOG_BYTES)),
            ..engine::Create::default()
        }
    }
}

/// A directory in the same one as `path`, which is made if it is absent.
fn beside(path: &Path) -> io::Result<TempDir> {
    let parent = parent_of(path);
    fs::create_dir_all(&parent)?;
    tempfile::Builder::new().prefix(".frostline-").tempdir_in(&parent)
}

/// Moves a directory that is whole to the place where it is to be.
fn move_to(beside: TempDir, path: &Path) -> io::Result<()> {
    fs::rename(beside.path(), path)?;
    // The directory was renamed, so there is nothing to remove.
    drop(beside.keep());
    File::open(parent_of(path))?.sync_all()
}

fn uri(path: &Path) -> String {
    format!("file:{}", path.display())
}

/// The directory above a path.
fn parent_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// True if nothing exists at the path, or an empty directory, which a rename replaces.
fn is_absent(path: &Path) -> bool {
    match fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

fn is_taken(error: &io::Error) -> bool {
    use io::ErrorKind::{AlreadyExists, DirectoryNotEmpty};
    matches!(error.kind(), AlreadyExists | DirectoryNotEmpty)
}

fn is_empty(device: &dyn Device) -> Result<bool> {
    let zones = device.report(0, device.geometry().zones)?;
    Ok(zones.iter().all(|zone| zone.write_pointer == 0))
}
